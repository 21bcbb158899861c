/* SPDX-License-Identifier: Apache-2.0 */
/* A config becomes parts: decoder, vision, projector. Models of several parts are nested configs
 * joined by a projector: one row each. */
#include "model/model.h"

#include <ctype.h>

#include "model/count.h"
#include "model/family/fields.h"
#include "util/json.h"

static int add_decoder(struct lpo_arena *a, struct lpo_model *m, const struct lpo_json *config,
                       const char *model_type, struct lpo_err *err);
static int add_vision(struct lpo_arena *a, struct lpo_model *m, const struct lpo_json *config,
                      const char *model_type, struct lpo_err *err);
static void add_projector(struct lpo_model *m, const struct lpo_projector *p);

struct composite {
    const char *model_type;
    const char *label;
    const char *text_type, *vision_type; /* when the nested config does not say */
    const char *text_root, *vision_root;
    enum lpo_projector_kind projector;
    const char *projector_root;
    const char *projector_in, *projector_out; /* dotted keys; NULL: the parts' hidden sizes */
    const char *projector_tokens;
    const char *extra[LPO_MODEL_EXTRA]; /* single numbers */
};

static const struct composite composites[] = {
    { .model_type = "gemma3",
      .label = "Gemma 3 with SigLIP",
      .text_type = "gemma3_text",
      .vision_type = "siglip_vision_model",
      .text_root = "model.language_model",
      .vision_root = "model.vision_tower",
      .projector = LPO_PROJECTOR_POOLED,
      .projector_root = "model.multi_modal_projector",
      .projector_tokens = "mm_tokens_per_image" },
    { .model_type = "llava",
      .label = "LLaVA",
      .text_type = "llama",
      .vision_type = "clip_vision_model",
      .text_root = "model.language_model",
      .vision_root = "model.vision_tower",
      .projector = LPO_PROJECTOR_MLP,
      .projector_root = "model.multi_modal_projector" },
    { .model_type = "clip",
      .label = "CLIP",
      .text_type = "clip_text_model",
      .vision_type = "clip_vision_model",
      .text_root = "text_model",
      .vision_root = "vision_model",
      .projector = LPO_PROJECTOR_DUAL,
      .projector_out = "projection_dim",
      .extra = { "logit_scale" } },
    { .model_type = "siglip",
      .label = "SigLIP",
      .text_type = "siglip_text_model",
      .vision_type = "siglip_vision_model",
      .text_root = "text_model",
      .vision_root = "vision_model",
      .extra = { "logit_scale", "logit_bias" } },
    { .model_type = "sam", .label = "SAM (image encoder only)", .vision_type = "sam_vision_model" },
};

/* Any other config with nested ones: the text part, and the vision part where it is known. */
static const struct composite any = { .label = "nested config" };

static const struct lpo_json *nested(const struct lpo_json *config, const char *keys)
{
    struct lpo_fields f = { config, NULL };
    const struct lpo_json *found = lpo_model_field_json(&f, keys);

    return found && found->kind == LPO_JSON_OBJECT ? found : NULL;
}

static const char *type_or(const struct lpo_json *config, const char *fallback)
{
    const char *type = lpo_json_text(lpo_json_get(config, "model_type"), "");

    return *type ? type : fallback ? fallback : "";
}

static uint64_t number(const struct lpo_json *config, const char *dotted, uint64_t fallback)
{
    int64_t n = dotted ? lpo_json_int(lpo_json_at(config, dotted), -1) : -1;

    return n > 0 && n < 1 << 26 ? (uint64_t)n : fallback;
}

static void join(const struct lpo_json *config, const struct composite *c, struct lpo_model *m)
{
    struct lpo_projector p = { .kind = c->projector, .root = c->projector_root };

    if (p.kind == LPO_PROJECTOR_NONE || !m->decoder || !m->visions)
        return;
    p.in = number(config, c->projector_in, m->vision[m->visions - 1]->hidden);
    p.out = number(config, c->projector_out,
                   c->projector == LPO_PROJECTOR_DUAL ? 512 : m->decoder->hidden);
    p.text_in = m->decoder->hidden;
    p.tokens = c->projector_tokens ? number(config, c->projector_tokens, 256) : 0;
    add_projector(m, &p);
}

static int add_nested(struct lpo_arena *a, const struct lpo_json *config, const struct composite *c,
                      struct lpo_model *m, struct lpo_err *err)
{
    const struct lpo_json *text = nested(config, "text_config|language_config|llm_config");
    const struct lpo_json *vision = nested(config, "vision_config|vision_tower_config");
    static const struct lpo_json empty = { .kind = LPO_JSON_OBJECT };
    struct lpo_fields f = { vision, NULL };
    int rc = 0;

    if (vision || c->vision_type) {
        const char *type = type_or(vision, c->vision_type ? c->vision_type : m->model_type);

        if (!lpo_model_vision_family_find(type, &f) && c->vision_type)
            type = c->vision_type;
        rc = add_vision(a, m, vision ? vision : &empty, type, err);
        if (rc == 0 && m->visions && c->vision_root)
            m->vision[0]->root = c->vision_root;
    }
    if (rc == 0 && (text || c->text_type)) {
        rc = add_decoder(a, m, text ? text : &empty,
                         type_or(text, c->text_type ? c->text_type : m->model_type), err);
        if (rc == 0 && c->text_root)
            m->decoder->root = c->text_root;
        if (rc == 0 && m->visions && !m->vision[0]->out)
            m->vision[0]->out = m->decoder->hidden;
        if (rc == 0)
            m->decoder->tied =
                lpo_json_bool(lpo_json_get(config, "tie_word_embeddings"), m->decoder->tied);
    }
    return rc;
}

/* Channels of the two convolutions after SAM, which also quarter the side of its output. */
static int read_downsampling(struct lpo_model *m, const struct lpo_json *down, struct lpo_err *err)
{
    const struct lpo_json *item = down && down->kind == LPO_JSON_ARRAY ? down->first : NULL;
    static const int64_t usual[] = { 512, 1024 };

    for (int i = 0; i < 2; i++) {
        int64_t n = lpo_json_int(item, usual[i]);

        if (n < 1 || n > 1 << 20)
            return lpo_fail(err, LPO_E_RANGE,
                            "'downsample_channels' has %lld; expected 1 to 1048576", (long long)n);
        m->vision[0]->down[i] = (uint64_t)n;
        item = item ? item->next : NULL;
    }
    m->vision[1]->fed = m->vision[0]->patch * 4;
    return 0;
}

/* DeepSeek-OCR: SAM-B, two convolutions, CLIP-L on their output, both joined by one product. */
static int create_ocr(struct lpo_arena *a, const struct lpo_json *config,
                      const struct lpo_json *widths, struct lpo_model *m, struct lpo_err *err)
{
    const struct lpo_json *sam = nested(widths, "sam_vit_b");
    const struct lpo_json *clip = nested(widths, "clip-l-14-224");
    struct lpo_projector p = { .kind = LPO_PROJECTOR_LINEAR, .root = "model.projector" };
    int rc;

    m->family = "deepseek_ocr";
    m->label = "DeepSeek-OCR";
    rc = add_vision(a, m, sam, "deepseek_ocr_sam", err);
    if (rc == 0)
        rc = add_vision(a, m, clip, "deepseek_ocr_clip", err);
    if (rc == 0)
        rc = add_decoder(a, m, nested(config, "language_config|text_config"), "deepseek_v2", err);
    if (rc == 0)
        rc = read_downsampling(m, lpo_json_get(sam, "downsample_channels"), err);
    if (rc < 0)
        return rc;
    p.in = number(config, "projector_config.input_dim", 2048);
    p.out = number(config, "projector_config.n_embed", m->decoder->hidden);
    add_projector(m, &p);
    m->extra[0].name = "model.image_newline";
    m->extra[1].name = "model.view_seperator"; /* as the checkpoint spells it */
    m->extra[0].count = m->extra[1].count = p.out;
    return 0;
}

static int create_composite(struct lpo_arena *a, const struct lpo_json *config, struct lpo_model *m,
                            struct lpo_err *err)
{
    const struct lpo_json *widths = lpo_json_at(config, "vision_config.width");
    const struct composite *c = NULL;
    int rc;

    if (nested(widths, "sam_vit_b") && nested(widths, "clip-l-14-224") &&
        nested(config, "language_config|text_config"))
        return create_ocr(a, config, widths, m, err);
    for (size_t i = 0; i < sizeof composites / sizeof *composites; i++)
        if (strcmp(composites[i].model_type, m->model_type) == 0)
            c = &composites[i];
    if (!c && nested(config, "text_config|language_config|llm_config"))
        c = &any;
    if (!c)
        return 0;
    if (c != &any) {
        m->family = c->model_type;
        m->label = c->label;
    }
    if (nested(config, "audio_config|speech_config|talker_config"))
        m->unknown = "the part for sound";
    rc = add_nested(a, config, c, m, err);
    if (rc < 0)
        return rc;
    if (c == &any && m->decoder) { /* the text part says what the model is */
        m->family = m->guessed ? "generic" : m->model_type;
        m->label = m->decoder->family->name;
    }
    join(config, c, m);
    for (int i = 0; i < LPO_MODEL_EXTRA && c->extra[i]; i++) {
        m->extra[i].name = c->extra[i];
        m->extra[i].count = 1;
    }
    return 0;
}

static int add_part(struct lpo_model *m, const char *name)
{
    m->parts[m->nparts] = name;
    return m->nparts++;
}

static int add_decoder(struct lpo_arena *a, struct lpo_model *m, const struct lpo_json *config,
                       const char *model_type, struct lpo_err *err)
{
    struct lpo_fields fields = { config, NULL };
    const struct lpo_decoder_family *f = lpo_model_decoder_family_find(model_type, &fields);
    int rc;

    if (!f) {
        f = lpo_model_decoder_family_generic();
        m->guessed = true;
    }
    rc = lpo_model_decoder_create(a, config, f, &m->decoder, err);
    if (rc < 0)
        return rc;
    m->decoder->part = add_part(m, "decoder");
    if (!m->family) {
        m->family = m->guessed ? "generic" : model_type;
        m->label = f->name;
    }
    return 0;
}

static int add_vision(struct lpo_arena *a, struct lpo_model *m, const struct lpo_json *config,
                      const char *model_type, struct lpo_err *err)
{
    struct lpo_fields fields = { config, NULL };
    const struct lpo_vision_family *f = lpo_model_vision_family_find(model_type, &fields);
    int rc;

    if (!f) {
        f = lpo_model_vision_family_generic();
        m->vision_guessed = true;
    }
    rc = lpo_model_vision_create(a, config, f, &m->vision[m->visions], err);
    if (rc < 0)
        return rc;
    m->vision[m->visions++]->part = add_part(m, f->part);
    if (!m->family) {
        m->family = model_type;
        m->label = f->name;
    }
    return 0;
}

static void add_projector(struct lpo_model *m, const struct lpo_projector *p)
{
    m->projector = *p;
    m->projector.part = add_part(m, "projector");
}

/* "LlamaForCausalLM" begins with "llama", "Qwen2MoeModel" with "qwen2_moe": the longest wins. */
static size_t prefix_len(const char *architecture, const char *model_type)
{
    const char *p = architecture;

    for (const char *t = model_type; *t && *t != '|'; t++) {
        if (*t == '_')
            continue;
        while (*p == '_')
            p++;
        if (tolower((unsigned char)*p++) != *t)
            return 0;
    }
    return strncmp(p, "For", 3) == 0 || strncmp(p, "Model", 5) == 0 || strncmp(p, "LM", 2) == 0
               ? (size_t)(p - architecture)
               : 0;
}

static const char *type_of_architecture(struct lpo_arena *a, const char *architecture)
{
    const struct lpo_decoder_family *d;
    const struct lpo_vision_family *v;
    const char *best = "";
    size_t longest = 0;

    for (size_t i = 0; (d = lpo_model_decoder_family_at(i)); i++)
        if (prefix_len(architecture, d->model_type) > longest) {
            longest = prefix_len(architecture, d->model_type);
            best = d->model_type;
        }
    for (size_t i = 0; (v = lpo_model_vision_family_at(i)); i++)
        if (prefix_len(architecture, v->model_type) > longest) {
            longest = prefix_len(architecture, v->model_type);
            best = v->model_type;
        }
    return lpo_arena_strndup(a, best, strcspn(best, "|"));
}

static const char *first_architecture(const struct lpo_json *config)
{
    const struct lpo_json *list = lpo_json_get(config, "architectures");

    return list && list->kind == LPO_JSON_ARRAY ? lpo_json_text(list->first, "") : "";
}

static const char *find_type(struct lpo_arena *a, const struct lpo_json *config)
{
    const char *type = lpo_json_text(lpo_json_get(config, "model_type"), "");

    return *type ? type : type_of_architecture(a, first_architecture(config));
}

/* What `architectures` changes: a base model has no head, a classifier has one of its own. */
static void apply_architecture(const struct lpo_json *config, struct lpo_model *m)
{
    const char *name = first_architecture(config);
    const struct lpo_json *labels = lpo_json_get(config, "id2label");
    struct lpo_model_vision *v = m->visions == 1 ? m->vision[0] : NULL;

    if (m->decoder && lpo_str_ends(name, "Model") && !lpo_str_ends(name, "LMHeadModel")) {
        m->decoder->headless = true;
        m->decoder->root = "";
    }
    if (v && v->family->classifier_root && lpo_str_ends(name, "ForImageClassification")) {
        int64_t n = lpo_json_int(lpo_json_get(config, "num_labels"),
                                 labels && labels->count ? (int64_t)labels->count : 2);

        /* transformers assumes two labels where the config lists none */
        v->classes = n > 0 && n < 1 << 24 ? (uint64_t)n : 0;
        v->root = v->family->classifier_root;
    }
}

static int create_single(struct lpo_arena *a, const struct lpo_json *config, struct lpo_model *m,
                         struct lpo_err *err)
{
    struct lpo_fields fields = { config, NULL };
    int rc = lpo_model_vision_family_find(m->model_type, &fields)
                 ? add_vision(a, m, config, m->model_type, err)
                 : add_decoder(a, m, config, m->model_type, err);

    if (rc == 0)
        apply_architecture(config, m);
    return rc;
}

static int refuse_guess(const struct lpo_model *m, struct lpo_err *err)
{
    if (!*m->model_type)
        return lpo_fail(
            err, LPO_E_NOTFOUND,
            "the config has no 'model_type' and no architecture that lpo recognises, and "
            "use_analytic_fallback=false forbids a guess");
    return lpo_fail(
        err, LPO_E_NOTFOUND,
        "lpo does not have the model family '%s', and use_analytic_fallback=false forbids "
        "a guess",
        m->model_type);
}

/* transformers renamed torch_dtype to dtype; composite models keep it in the text part. */
static enum lpo_dtype find_dtype(const struct lpo_json *config)
{
    static const char *const places[] = { "torch_dtype", "dtype", "text_config.torch_dtype",
                                          "text_config.dtype", "language_config.torch_dtype" };

    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        const char *text = lpo_json_text(lpo_json_at(config, places[i]), NULL);

        if (text)
            return lpo_dtype_parse(text);
    }
    return LPO_DTYPE_NONE;
}

int lpo_model_create(struct lpo_arena *a, const struct lpo_json *config,
                     const struct lpo_model_options *options, struct lpo_model **out,
                     struct lpo_err *err)
{
    struct lpo_model *m = LPO_NEW(a, struct lpo_model);
    int rc;

    if (!config || config->kind != LPO_JSON_OBJECT)
        return lpo_fail(err, LPO_E_FORMAT, "a model config must be a JSON object");
    m->model_type = find_type(a, config);
    m->dtype = find_dtype(config);
    rc = create_composite(a, config, m, err);
    if (rc == 0 && m->nparts == 0)
        rc = create_single(a, config, m, err);
    if (rc < 0)
        return m->guessed && !*m->model_type
                   ? lpo_ctx(err, "this is not the config of a model that lpo recognises")
                   : rc;
    if (m->guessed && options && options->strict)
        return refuse_guess(m, err);
    *out = m;
    return 0;
}

uint64_t lpo_model_image(const struct lpo_model *m)
{
    return m->visions ? m->vision[0]->image : 0;
}

uint64_t lpo_model_image_tokens(const struct lpo_model *m, uint64_t image)
{
    const struct lpo_model_vision *last = m->visions ? m->vision[m->visions - 1] : NULL;
    uint64_t side = last ? lpo_model_vision_side(last, image) : 0;

    if (last && last->merge > 1)
        side /= last->merge;
    return m->projector.tokens ? m->projector.tokens : lpo_model_mul(side, side);
}

static void walk_projector(const struct lpo_model *m, struct lpo_walk *w)
{
    const struct lpo_projector *p = &m->projector;
    uint64_t vectors = lpo_model_mul(w->phase->batch, lpo_model_image_tokens(m, w->phase->image));
    struct lpo_linear l = { .in = p->in, .out = p->out, .kind = LPO_OP_PROJECTION };
    size_t mark = lpo_model_walk_enter(w, "%s", p->root ? p->root : "");

    w->at = (struct lpo_model_place){ .part = p->part, .layer = -1, .block = LPO_BLOCK_PROJECTOR };
    switch (p->kind) {
    case LPO_PROJECTOR_NONE:
        break;
    case LPO_PROJECTOR_LINEAR:
        l.name = "layers";
        l.bias = true;
        lpo_model_walk_linear(w, &l, vectors);
        break;
    case LPO_PROJECTOR_POOLED:
        l.name = "mm_input_projection";
        l.weight = "mm_input_projection_weight";
        l.in_first = true;
        lpo_model_walk_norm(w, "mm_soft_emb_norm", p->in, false, vectors);
        lpo_model_walk_linear(w, &l, vectors);
        break;
    case LPO_PROJECTOR_MLP:
        l.name = "linear_1";
        l.bias = true;
        lpo_model_walk_linear(w, &l, vectors);
        l.name = "linear_2";
        l.in = p->out;
        lpo_model_walk_linear(w, &l, vectors);
        break;
    case LPO_PROJECTOR_DUAL:
        l.name = "visual_projection";
        lpo_model_walk_linear(w, &l, w->phase->batch);
        break;
    }
    lpo_model_walk_leave(w, mark);
}

static void walk_extra(const struct lpo_model *m, struct lpo_walk *w)
{
    w->at = (struct lpo_model_place){ .part = 0, .layer = -1, .block = LPO_BLOCK_OTHER };
    for (int i = 0; i < LPO_MODEL_EXTRA && m->extra[i].name; i++)
        lpo_model_walk_tensor(w, m->extra[i].name, m->extra[i].count, 0, 0, 0);
}

void lpo_model_walk(const struct lpo_model *m, int sides, struct lpo_walk *w)
{
    if (sides & LPO_VISION) {
        for (int i = 0; i < m->visions; i++)
            lpo_model_vision_walk(m->vision[i], w);
        if (m->projector.kind != LPO_PROJECTOR_NONE)
            walk_projector(m, w);
    }
    if ((sides & LPO_TEXT) && m->decoder) {
        lpo_model_decoder_walk(m->decoder, w);
        if (m->projector.kind == LPO_PROJECTOR_DUAL) {
            w->at = (struct lpo_model_place){ m->projector.part, -1, LPO_BLOCK_PROJECTOR };
            lpo_model_walk_linear(w,
                                  &(struct lpo_linear){ .name = "text_projection",
                                                        .in = m->projector.text_in,
                                                        .out = m->projector.out,
                                                        .kind = LPO_OP_PROJECTION },
                                  w->phase->tokens ? w->phase->batch : 0);
        }
    }
    if ((sides & LPO_TEXT) || !m->decoder)
        walk_extra(m, w);
}
