/* SPDX-License-Identifier: Apache-2.0 */
/* A vision part: its numbers from a config, and the walk over any row of conf/rules/families.yaml:
 * patches, layers, and what follows them. */

#include "model/count.h"
#include "model/family/fields.h"
#include "model/model.h"
#include "util/json.h"

/* Far above any published model: a hostile config must not make us walk for ever. */
enum { MAX_LAYERS = 1024, MAX_HEADS = 1024, MAX_SIZE = 1 << 26, MAX_IMAGE = 1 << 20 };

static int read_inter(struct lpo_model_vision *v, struct lpo_err *err)
{
    const struct lpo_fields *f = v->fields;
    double wide = (double)v->hidden * lpo_model_field_real(f, "mlp_ratio", 4);
    int rc;

    if (!(wide >= 1 && wide < MAX_SIZE))
        return lpo_fail(err, LPO_E_RANGE, "'mlp_ratio' gives a width of %g", wide);
    rc = lpo_model_size(f, "intermediate_size|mlp_dim|vt_intermediate_size", (int64_t)wide, 1,
                        MAX_SIZE, &v->inter, err);
    v->swiglu = lpo_model_family_says(f, v->family->swiglu_when) ||
                (v->family == lpo_model_vision_family_generic() &&
                 strcmp(lpo_json_text(lpo_model_field_json(f, "hidden_act"), ""), "silu") == 0);
    if (rc == 0 && v->swiglu &&
        !lpo_model_field_has(f, "intermediate_size")) /* two thirds, rounded up to a multiple of
                                                         eight, as DINOv2 does */
        v->inter = ((uint64_t)((double)v->inter * 2 / 3) + 7) / 8 * 8;
    return rc;
}

static int read_windows(struct lpo_arena *a, struct lpo_model_vision *v, struct lpo_err *err)
{
    const struct lpo_fields *f = v->fields;
    const struct lpo_json *list = lpo_model_field_json(f, "global_attn_indexes");
    int rc = lpo_model_size(f, "window_size", 14, 0, MAX_IMAGE, &v->window, err);

    if (rc == 0)
        rc = lpo_model_size(f, "output_channels", 256, 1, MAX_SIZE, &v->neck, err);
    v->global = lpo_arena_array(a, v->layers, sizeof *v->global);
    if (!list) /* the class's own choice: 2, 5, 8, 11 of 12 */
        for (uint64_t l = 2; l < v->layers; l += 3)
            v->global[l] = true;
    LPO_JSON_EACH(item, list)
    {
        int64_t l = lpo_json_int(item, -1);

        if (l >= 0 && l < (int64_t)v->layers)
            v->global[l] = true;
    }
    return rc;
}

/* Where no size is given, the table of positions tells: it has one for each patch. */
static int read_image(struct lpo_model_vision *v, struct lpo_err *err)
{
    const struct lpo_fields *f = v->fields;
    const struct lpo_json *deep = lpo_model_field_json(f, "deepstack_visual_indexes");
    double places = lpo_model_field_real(f, "num_position_embeddings", 2304);
    int64_t side = lpo_model_field_int(f, "init_pos_emb_height", 0);
    int rc;

    if (side <= 0)
        side = places > 0 && places < 1e9 ? (int64_t)sqrt(places) : 0;
    side = v->family->merger || v->family == lpo_model_vision_family_generic() ||
                   v->family->swiglu_when
               ? side
               : 0;
    rc = lpo_model_size(f, "image_size", side * (int64_t)v->patch, 1, MAX_IMAGE, &v->image, err);
    if (rc == 0 && v->family->merger)
        rc = lpo_model_size(f, "spatial_merge_size|merge_kernel_size", 1, 1, 64, &v->merge, err);
    if (rc == 0)
        rc = lpo_model_size(f, "out_hidden_size|text_hidden_size", 0, 0, MAX_SIZE, &v->out, err);
    v->deep = deep && deep->kind == LPO_JSON_ARRAY && v->merge ? deep->count : 0;
    return rc;
}

int lpo_model_vision_create(struct lpo_arena *a, const struct lpo_json *config,
                            const struct lpo_vision_family *family, struct lpo_model_vision **out,
                            struct lpo_err *err)
{
    struct lpo_model_vision *v = LPO_NEW(a, struct lpo_model_vision);
    const struct lpo_fields *f;
    int rc;

    v->family = family;
    v->root = family->root;
    v->fields = LPO_NEW(a, struct lpo_fields);
    *v->fields = (struct lpo_fields){ config, family->defaults };
    f = v->fields;
    rc = lpo_model_size(f, "hidden_size|width|embed_dim|vt_hidden_size", 0, 1, MAX_SIZE, &v->hidden,
                        err);
    if (rc == 0)
        rc = lpo_model_size(f, "num_hidden_layers|layers|depth|vt_num_hidden_layers", 0, 1,
                            MAX_LAYERS, &v->layers, err);
    if (rc == 0)
        rc = lpo_model_size(f, "num_attention_heads|heads|num_heads|vt_num_attention_heads", 0, 1,
                            MAX_HEADS, &v->heads, err);
    if (rc == 0)
        rc = lpo_model_size(f, "patch_size", 0, 1, MAX_IMAGE, &v->patch, err);
    if (rc == 0)
        rc = read_image(v, err);
    if (rc == 0)
        rc = lpo_model_size(f, "num_channels|in_channels", 3, 1, MAX_SIZE, &v->channels, err);
    /* of a video, so many pictures are one patch */
    v->channels *= (uint64_t)(lpo_model_field_int(f, "temporal_patch_size", 1) & 15);
    if (rc == 0)
        rc = read_inter(v, err);
    if (rc == 0 && family->windowed)
        rc = read_windows(a, v, err);
    if (rc < 0)
        return rc;
    if (v->patch > v->image)
        return lpo_fail(err, LPO_E_RANGE, "a patch of %llu pixels is larger than the image of %llu",
                        (unsigned long long)v->patch, (unsigned long long)v->image);
    *out = v;
    return 0;
}

/* The walk. */

uint64_t lpo_model_vision_side(const struct lpo_model_vision *v, uint64_t image)
{
    return image / (v->fed ? v->fed : v->patch);
}

uint64_t lpo_model_vision_tokens(const struct lpo_model_vision *v, uint64_t image)
{
    uint64_t side = lpo_model_vision_side(v, image);

    return lpo_model_mul(side, side) + (v->family->cls ? 1 : 0);
}

/* Positions per side that the weights were trained for. An image of another size interpolates the
 * table, which changes what is computed but not what is stored. */
static uint64_t stored_side(const struct lpo_model_vision *v)
{
    return v->image / v->patch;
}

/* Tokens that go through the layers, of one image; 0 when nothing runs. */
static uint64_t tokens_of(const struct lpo_model_vision *v, const struct lpo_walk *w)
{
    return w->phase->batch ? lpo_model_vision_tokens(v, w->phase->image) : 0;
}

static void dense(struct lpo_walk *w, const char *name, uint64_t in, uint64_t out, bool bias,
                  enum lpo_op_kind kind, uint64_t ways, uint64_t vectors)
{
    lpo_model_walk_linear(
        w,
        &(struct lpo_linear){
            .name = name, .in = in, .out = out, .bias = bias, .kind = kind, .ways = ways },
        vectors);
}

static void walk_embeddings(struct lpo_walk *w, const struct lpo_model_vision *v)
{
    const struct lpo_vision_family *f = v->family;
    uint64_t side = lpo_model_vision_side(v, w->phase->image), own = stored_side(v);
    uint64_t places = lpo_model_mul(own, own) + (f->cls ? 1 : 0);
    struct lpo_conv patch = { .name = f->patch,
                              .in = v->channels,
                              .out = v->hidden,
                              .kernel = v->patch,
                              .bias = f->patch_bias };

    w->at.block = LPO_BLOCK_EMBED;
    /* a part that is fed by another (CLIP in DeepSeek-OCR) stores this convolution without using it
     */
    lpo_model_walk_conv(w, &patch, v->fed || w->phase->batch == 0 ? 0 : lpo_model_mul(side, side));
    if (f->cls)
        lpo_model_walk_tensor(w, f->cls, f->cls_flat ? v->hidden : 1, f->cls_flat ? 0 : 1,
                              f->cls_flat ? 0 : v->hidden, 0);
    if (f->mask && lpo_model_family_says(v->fields, f->mask_when))
        lpo_model_walk_tensor(w, f->mask, 1, f->mask_flat ? v->hidden : 1,
                              f->mask_flat ? 0 : v->hidden, 0);
    if (f->positions && f->positions_embedding)
        lpo_model_walk_embedding(w, f->positions, places, v->hidden, 0);
    else if (f->positions)
        lpo_model_walk_tensor(w, f->positions, 1, places, v->hidden, 0);
    else if (f->windowed && lpo_model_field_bool(v->fields, "use_abs_pos", true))
        lpo_model_walk_tensor(w, "pos_embed", 1, own, own, v->hidden);
    if (f->pre_norm)
        lpo_model_walk_norm(w, f->pre_norm, v->hidden, true,
                            lpo_model_mul(w->phase->batch, tokens_of(v, w)));
}

/* SAM's decomposed relative positions: every query times a row of heights and one of widths. */
static void relative_positions(struct lpo_walk *w, const struct lpo_model_vision *v,
                               uint64_t stored, uint64_t side, uint64_t groups)
{
    uint64_t dim = v->hidden / v->heads, queries = lpo_model_mul3(groups, side, side);

    if (!lpo_model_field_bool(v->fields, "use_rel_pos", true))
        return;
    lpo_model_walk_tensor(w, "rel_pos_h", 2 * stored - 1, dim, 0, 0);
    lpo_model_walk_tensor(w, "rel_pos_w", 2 * stored - 1, dim, 0, 0);
    lpo_model_walk_product(
        w, "rel_pos", LPO_OP_SCORES, LPO_ATEN_BMM,
        lpo_model_mul(2 * 2, lpo_model_mul(lpo_model_mul3(w->phase->batch, v->heads, queries),
                                           lpo_model_mul(side, dim))),
        v->heads);
}

static void walk_attention(struct lpo_walk *w, const struct lpo_model_vision *v, int layer)
{
    const struct lpo_vision_family *f = v->family;
    bool windowed = f->windowed && v->window && !v->global[layer];
    uint64_t side = lpo_model_vision_side(v, w->phase->image), tokens = tokens_of(v, w), groups = 1;
    uint64_t stored = stored_side(v), vectors;
    bool bias = lpo_model_family_says(v->fields, f->qkv_bias);

    if (windowed) { /* the image is padded to whole windows */
        uint64_t across = (side + v->window - 1) / v->window;

        groups = w->phase->batch ? lpo_model_mul(across, across) : 0;
        side = stored = v->window;
        tokens = groups ? lpo_model_mul(side, side) : 0;
    }
    vectors = lpo_model_mul3(w->phase->batch, groups, tokens);
    if (f->qkv) {
        dense(w, f->qkv, v->hidden, 3 * v->hidden, bias, LPO_OP_PROJECTION, v->heads, vectors);
    } else {
        dense(w, f->q, v->hidden, v->hidden, bias, LPO_OP_PROJECTION, v->heads, vectors);
        dense(w, f->k, v->hidden, v->hidden, bias, LPO_OP_PROJECTION, v->heads, vectors);
        dense(w, f->v, v->hidden, v->hidden, bias, LPO_OP_PROJECTION, v->heads, vectors);
    }
    if (f->windowed)
        relative_positions(w, v, stored, side, tokens ? groups : 0);
    lpo_model_walk_attention(w, &(struct lpo_attention){ .heads = v->heads,
                                                         .kv_heads = v->heads,
                                                         .qk_dim = v->hidden / v->heads,
                                                         .v_dim = v->hidden / v->heads,
                                                         .tokens = tokens,
                                                         .groups = groups });
    dense(w, f->o, v->hidden, v->hidden, true, LPO_OP_PROJECTION, v->heads, vectors);
}

static void walk_mlp(struct lpo_walk *w, const struct lpo_model_vision *v, uint64_t vectors)
{
    const struct lpo_vision_family *f = v->family;

    if (v->swiglu) {
        dense(w, f->swiglu_up, v->hidden, 2 * v->inter, true, LPO_OP_MLP, v->inter, vectors);
        dense(w, f->swiglu_down, v->inter, v->hidden, true, LPO_OP_MLP, v->inter, vectors);
    } else {
        dense(w, f->up, v->hidden, v->inter, true, LPO_OP_MLP, v->inter, vectors);
        dense(w, f->down, v->inter, v->hidden, true, LPO_OP_MLP, v->inter, vectors);
    }
}

static void walk_layer(struct lpo_walk *w, const struct lpo_model_vision *v, int layer)
{
    const struct lpo_vision_family *f = v->family;
    uint64_t vectors = lpo_model_mul(w->phase->batch, tokens_of(v, w));
    size_t mark;

    w->at.block = LPO_BLOCK_NORM;
    lpo_model_walk_norm(w, f->norm1, v->hidden, true, vectors);
    lpo_model_walk_norm(w, f->norm2, v->hidden, true, vectors);
    if (f->scale1) {
        lpo_model_walk_tensor(w, f->scale1, v->hidden, 0, 0, 0);
        lpo_model_walk_tensor(w, f->scale2, v->hidden, 0, 0, 0);
    }
    w->at.block = LPO_BLOCK_ATTN;
    mark = lpo_model_walk_enter(w, "%s", f->attn);
    walk_attention(w, v, layer);
    lpo_model_walk_leave(w, mark);
    w->at.block = LPO_BLOCK_MLP;
    mark = lpo_model_walk_enter(w, "%s", f->mlp);
    walk_mlp(w, v, vectors);
    lpo_model_walk_leave(w, mark);
}

/* SAM's neck, and the two convolutions that DeepSeek-OCR puts after it. */
static void walk_neck(struct lpo_walk *w, const struct lpo_model_vision *v)
{
    uint64_t side = w->phase->batch ? lpo_model_vision_side(v, w->phase->image) : 0;
    uint64_t pixels = lpo_model_mul(side, side), vectors = lpo_model_mul(w->phase->batch, pixels);
    uint64_t from = v->neck;
    bool numbered = v->down[0]; /* a plain list of modules in DeepSeek-OCR's code */

    w->at.block = LPO_BLOCK_NECK;
    lpo_model_walk_conv(w,
                        &(struct lpo_conv){ .name = numbered ? "neck.0" : "neck.conv1",
                                            .in = v->hidden,
                                            .out = v->neck,
                                            .kernel = 1 },
                        pixels);
    lpo_model_walk_norm(w, numbered ? "neck.1" : "neck.layer_norm1", v->neck, true, vectors);
    lpo_model_walk_conv(w,
                        &(struct lpo_conv){ .name = numbered ? "neck.2" : "neck.conv2",
                                            .in = v->neck,
                                            .out = v->neck,
                                            .kernel = 3 },
                        pixels);
    lpo_model_walk_norm(w, numbered ? "neck.3" : "neck.layer_norm2", v->neck, true, vectors);
    for (int i = 0; i < 2 && v->down[i]; i++) {
        side = (side + 1) / 2; /* stride 2, padded */
        lpo_model_walk_conv(
            w,
            &(struct lpo_conv){
                .name = i ? "net_3" : "net_2", .in = from, .out = v->down[i], .kernel = 3 },
            lpo_model_mul(side, side));
        from = v->down[i];
    }
}

/* A probe attends to all tokens, then an MLP: torch's MultiheadAttention, so the query is one
 * product and keys with values another. */
static void walk_pool_head(struct lpo_walk *w, const struct lpo_model_vision *v)
{
    uint64_t d = v->hidden, batch = w->phase->batch, tokens = tokens_of(v, w);
    size_t mark = lpo_model_walk_enter(w, "%s", v->family->pool_head), inner;

    lpo_model_walk_tensor(w, "probe", 1, 1, d, 0);
    lpo_model_walk_tensor(w, "attention.in_proj_weight", 3 * d, d, 0, 0);
    lpo_model_walk_tensor(w, "attention.in_proj_bias", 3 * d, 0, 0, 0);
    lpo_model_walk_product(
        w, "attention.in_proj", LPO_OP_PROJECTION, LPO_ATEN_ADDMM,
        lpo_model_mul(2, lpo_model_mul3(batch, d, lpo_model_mul(d, 1 + 2 * tokens))), v->heads);
    if (tokens && w->ops) {
        lpo_model_walk_product(w, "attention.scores", LPO_OP_SCORES, LPO_ATEN_BMM,
                               lpo_model_mul(2, lpo_model_mul3(batch, tokens, d)), v->heads);
        lpo_model_walk_product(w, "attention.values", LPO_OP_VALUES, LPO_ATEN_BMM,
                               lpo_model_mul(2, lpo_model_mul3(batch, tokens, d)), v->heads);
    }
    dense(w, "attention.out_proj", d, d, true, LPO_OP_PROJECTION, v->heads, batch);
    lpo_model_walk_norm(w, "layernorm", d, true, batch);
    inner = lpo_model_walk_enter(w, "mlp");
    walk_mlp(w, v, batch);
    lpo_model_walk_leave(w, inner);
    lpo_model_walk_leave(w, mark);
}

/* Two products over the joined vectors of neighbouring patches. */
static void walk_merger(struct lpo_walk *w, const struct lpo_model_vision *v)
{
    uint64_t area = lpo_model_mul(v->merge, v->merge), wide = lpo_model_mul(area, v->hidden);
    uint64_t vectors = lpo_model_mul(w->phase->batch, tokens_of(v, w) / (area ? area : 1));

    for (uint64_t i = 0; v->merge && v->out && i <= v->deep && i < MAX_LAYERS; i++) {
        size_t mark = i ? lpo_model_walk_enter(w, "deepstack_merger_list.%d", (int)i - 1)
                        : lpo_model_walk_enter(w, "%s", v->family->merger);

        lpo_model_walk_norm(w, "norm", i ? wide : v->hidden, true,
                            lpo_model_mul(vectors, i ? 1 : area));
        dense(w, "linear_fc1", wide, wide, true, LPO_OP_PROJECTION, 1, vectors);
        dense(w, "linear_fc2", wide, v->out, true, LPO_OP_PROJECTION, 1, vectors);
        lpo_model_walk_leave(w, mark);
    }
}

static void walk_after(struct lpo_walk *w, const struct lpo_model_vision *v)
{
    const struct lpo_vision_family *f = v->family;
    uint64_t vectors = f->post_norm_pooled ? 1 : tokens_of(v, w);

    w->at.block = LPO_BLOCK_NORM;
    if (f->post_norm)
        lpo_model_walk_norm(w, f->post_norm, v->hidden, true,
                            lpo_model_mul(w->phase->batch, vectors));
    w->at.block = LPO_BLOCK_HEAD;
    if (f->pooler && !v->classes)
        dense(w, f->pooler, v->hidden,
              (uint64_t)lpo_model_field_int(v->fields, "pooler_output_size", (int64_t)v->hidden),
              true, LPO_OP_HEAD, 1, w->phase->batch);
    if (f->pool_head && lpo_model_family_says(v->fields, f->pool_when))
        walk_pool_head(w, v);
    if (f->windowed)
        walk_neck(w, v);
    if (f->merger)
        walk_merger(w, v);
}

void lpo_model_vision_walk(const struct lpo_model_vision *v, struct lpo_walk *w)
{
    size_t root;

    w->at = (struct lpo_model_place){ .part = v->part, .layer = -1, .block = LPO_BLOCK_EMBED };
    root = lpo_model_walk_enter(w, "%s", v->root);
    walk_embeddings(w, v);
    for (int l = 0; l < (int)v->layers; l++) {
        size_t mark = lpo_model_walk_enter(w, "%s.%d", v->family->layers, l);

        w->at.layer = l;
        walk_layer(w, v, l);
        lpo_model_walk_leave(w, mark);
    }
    w->at.layer = -1;
    walk_after(w, v);
    lpo_model_walk_leave(w, root);
    if (v->classes) {
        w->at.block = LPO_BLOCK_HEAD;
        dense(w, "classifier", v->family->classifier_doubled ? 2 * v->hidden : v->hidden,
              v->classes, true, LPO_OP_HEAD, 1, w->phase->batch);
    }
}
