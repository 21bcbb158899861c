/* SPDX-License-Identifier: Apache-2.0 */
#include "model/composite.h"

#include <string.h>

#include "model/count.h"
#include "model/family/fields.h"
#include "model/model.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/json.h"

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
    lpo_model_add_projector(m, &p);
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
        rc = lpo_model_add_vision(a, m, vision ? vision : &empty, type, err);
        if (rc == 0 && m->visions && c->vision_root)
            m->vision[0]->root = c->vision_root;
    }
    if (rc == 0 && (text || c->text_type)) {
        rc = lpo_model_add_decoder(a, m, text ? text : &empty,
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
    rc = lpo_model_add_vision(a, m, sam, "deepseek_ocr_sam", err);
    if (rc == 0)
        rc = lpo_model_add_vision(a, m, clip, "deepseek_ocr_clip", err);
    if (rc == 0)
        rc = lpo_model_add_decoder(a, m, nested(config, "language_config|text_config"),
                                   "deepseek_v2", err);
    if (rc == 0)
        rc = read_downsampling(m, lpo_json_get(sam, "downsample_channels"), err);
    if (rc < 0)
        return rc;
    p.in = number(config, "projector_config.input_dim", 2048);
    p.out = number(config, "projector_config.n_embed", m->decoder->hidden);
    lpo_model_add_projector(m, &p);
    m->extra[0].name = "model.image_newline";
    m->extra[1].name = "model.view_seperator"; /* as the checkpoint spells it */
    m->extra[0].count = m->extra[1].count = p.out;
    return 0;
}

int lpo_model_composite_create(struct lpo_arena *a, const struct lpo_json *config,
                               struct lpo_model *m, struct lpo_err *err)
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
