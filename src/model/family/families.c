/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of conf/rules/families.yaml, read when one is first asked for. */
#include "model/family/family.h"

#include "model/family/fields.h"
#include "rules/rules.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

static const char *const windows[] = { "all", "none", "pattern", "above", NULL };
static const char *const qk_norms[] = { "head", "head_ln", "wide", "matrix", "per_head", NULL };
static const char *const mlps[] = { "gated", "gated_fused", "plain", NULL };

/* clang-format off */
#define OF(family, kind, member, words) { #member, offsetof(struct family, member), LPO_RULES_##kind, words }
#define T(member) OF(lpo_moe_names, TEXT, member, NULL)
#define F(member) OF(lpo_moe_names, FLAG, member, NULL)
static const struct lpo_rules_member moe_members[] = {
    T(module), T(router), T(experts), F(router_bias), F(in_first), F(expert_bias), T(shared),
    T(shared_gate), T(correction),
};
#undef T
#undef F

#define TABLE(name, bases, members, family)                                                        \
    { "families", name, bases, members, COUNT(members), sizeof(struct family), NULL }
static const struct lpo_rules_table moes = TABLE("moe", "moe", moe_members, lpo_moe_names);

#define T(member)        OF(lpo_decoder_family, TEXT, member, NULL)
#define F(member)        OF(lpo_decoder_family, FLAG, member, NULL)
#define N(member, words) OF(lpo_decoder_family, INT, member, words)
static const struct lpo_rules_member decoder_members[] = {
    T(model_type), T(name), T(when), T(defaults), T(root), T(embed), T(positions), T(layers),
    T(final_norm), T(head), T(head_bias), T(pooled), T(attn), T(qkv), T(q), T(k), T(v), T(o),
    T(qkv_bias), T(o_bias), F(in_first), F(bias_after), T(qk_norm), N(qk_norm_form, qk_norms),
    T(q_norm), T(k_norm), T(sinks), T(norms), F(norm_bias), T(mlp), N(mlp_form, mlps), T(gate),
    T(up), T(down), T(mlp_bias), { "moe", offsetof(struct lpo_decoder_family, moe), LPO_RULES_ROW, NULL, &moes }, F(no_rotary),
    F(rotary_per_type), N(window, windows), N(window_every, NULL), F(bidirectional),
    F(no_cache),
};
#undef T
#undef F
#undef N

#define T(member) OF(lpo_vision_family, TEXT, member, NULL)
#define F(member) OF(lpo_vision_family, FLAG, member, NULL)
static const struct lpo_rules_member vision_members[] = {
    T(model_type), T(name), T(part), T(when), T(defaults), T(root), T(patch), F(patch_bias),
    T(cls), T(mask), T(positions), T(mask_when), F(cls_flat), F(mask_flat),
    F(positions_embedding), T(pre_norm), T(post_norm), F(post_norm_pooled), T(layers), T(attn),
    T(qkv), T(q), T(k), T(v), T(o), T(qkv_bias), T(norm1), T(norm2), T(scale1), T(scale2),
    T(mlp), T(up), T(down), T(swiglu_when), T(swiglu_up), T(swiglu_down), T(merger), T(pooler),
    T(pool_head), T(pool_when), F(windowed), T(classifier_root), F(classifier_doubled),
};
#undef T
#undef F

static struct lpo_rules_table decoders = TABLE("decoders", "decoder_bases", decoder_members, lpo_decoder_family);
static struct lpo_rules_table visions = TABLE("visions", "vision_bases", vision_members, lpo_vision_family);
/* clang-format on */

/* NULL past the last row of a known model. */
static const void *row_at(struct lpo_rules_table *t, size_t i)
{
    size_t count;
    const char *rows = lpo_rules_rows(t, &count);

    return i + 1 < count ? rows + i * t->size : NULL;
}

/* The last one is for models that no row names. */
static const void *generic_row(struct lpo_rules_table *t)
{
    size_t count;
    const char *rows = lpo_rules_rows(t, &count);

    return rows + (count - 1) * t->size;
}

/* Is `model_type` one of "this|that"? */
static bool family_is(const char *types, const char *model_type)
{
    size_t len = strlen(model_type);

    for (const char *p = types; *p; p += strcspn(p, "|"), p += *p == '|')
        if (strcspn(p, "|") == len && strncmp(p, model_type, len) == 0)
            return true;
    return false;
}

bool lpo_model_family_says(const struct lpo_fields *fields, const char *key_or_yes)
{
    if (!key_or_yes)
        return false;
    return strcmp(key_or_yes, "yes") == 0 || lpo_model_field_bool(fields, key_or_yes, false);
}

static bool fits(const struct lpo_fields *fields, const char *types, const char *when,
                 const char *defaults, const char *model_type)
{
    struct lpo_fields with = { fields->config, defaults };

    return family_is(types, model_type) && lpo_model_field_match(&with, when);
}

const struct lpo_decoder_family *lpo_model_decoder_family_at(size_t i)
{
    return row_at(&decoders, i);
}

const struct lpo_vision_family *lpo_model_vision_family_at(size_t i)
{
    return row_at(&visions, i);
}

const struct lpo_decoder_family *lpo_model_decoder_family_find(const char *model_type,
                                                               const struct lpo_fields *fields)
{
    const struct lpo_decoder_family *f;

    for (size_t i = 0; (f = row_at(&decoders, i)); i++)
        if (fits(fields, f->model_type, f->when, f->defaults, model_type))
            break;
    return f;
}

const struct lpo_vision_family *lpo_model_vision_family_find(const char *model_type,
                                                             const struct lpo_fields *fields)
{
    const struct lpo_vision_family *f;

    for (size_t i = 0; (f = row_at(&visions, i)); i++)
        if (fits(fields, f->model_type, f->when, f->defaults, model_type))
            break;
    return f;
}

const struct lpo_decoder_family *lpo_model_decoder_family_generic(void)
{
    return generic_row(&decoders);
}

const struct lpo_vision_family *lpo_model_vision_family_generic(void)
{
    return generic_row(&visions);
}
