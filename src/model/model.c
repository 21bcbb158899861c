/* SPDX-License-Identifier: Apache-2.0 */
#include "model/model.h"

#include <ctype.h>
#include <string.h>

#include "model/composite.h"
#include "model/count.h"
#include "model/family/fields.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/json.h"
#include "util/str.h"

static int add_part(struct lpo_model *m, const char *name)
{
    m->parts[m->nparts] = name;
    return m->nparts++;
}

int lpo_model_add_decoder(struct lpo_arena *a, struct lpo_model *m, const struct lpo_json *config,
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

int lpo_model_add_vision(struct lpo_arena *a, struct lpo_model *m, const struct lpo_json *config,
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

void lpo_model_add_projector(struct lpo_model *m, const struct lpo_projector *p)
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
                 ? lpo_model_add_vision(a, m, config, m->model_type, err)
                 : lpo_model_add_decoder(a, m, config, m->model_type, err);

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
    rc = lpo_model_composite_create(a, config, m, err);
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
