/* SPDX-License-Identifier: Apache-2.0 */
#include "model/family/family.h"

#include <string.h>

#include "model/family/fields.h"
#include "model/family/like_llama.h"

static const struct lpo_decoder_rows *const tables[] = { &lpo_model_dense_families,
                                                         &lpo_model_moe_families };

enum { TABLES = sizeof tables / sizeof *tables };

static const struct lpo_moe_names generic_moe = {
    .router = "gate",
    .experts = "experts",
    .shared = "shared_experts",
};

static const struct lpo_decoder_family generic = {
    .model_type = "generic",
    .name = "generic decoder",
    LIKE_LLAMA,
    .qkv_bias = "attention_bias|qkv_bias|use_bias|bias",
    .o_bias = "attention_bias|use_bias|bias",
    .mlp_bias = "mlp_bias|use_bias|bias",
    .moe = &generic_moe,
};

bool lpo_model_family_is(const char *types, const char *model_type)
{
    size_t len = strlen(model_type);

    for (const char *p = types; *p; p += strcspn(p, "|"), p += *p == '|')
        if (strcspn(p, "|") == len && strncmp(p, model_type, len) == 0)
            return true;
    return false;
}

const struct lpo_decoder_family *lpo_model_decoder_family_at(size_t i)
{
    for (int t = 0; t < TABLES; t++) {
        if (i < tables[t]->count)
            return &tables[t]->at[i];
        i -= tables[t]->count;
    }
    return NULL;
}

const struct lpo_decoder_family *lpo_model_decoder_family_find(const char *model_type,
                                                               const struct lpo_fields *fields)
{
    const struct lpo_decoder_family *f;

    for (size_t i = 0; (f = lpo_model_decoder_family_at(i)); i++) {
        struct lpo_fields with = { fields->config, f->defaults };

        if (lpo_model_family_is(f->model_type, model_type) && lpo_model_field_match(&with, f->when))
            return f;
    }
    return NULL;
}

const struct lpo_decoder_family *lpo_model_decoder_family_generic(void)
{
    return &generic;
}

bool lpo_model_family_says(const struct lpo_fields *fields, const char *key_or_yes)
{
    if (!key_or_yes)
        return false;
    return strcmp(key_or_yes, "yes") == 0 || lpo_model_field_bool(fields, key_or_yes, false);
}
