/* SPDX-License-Identifier: Apache-2.0 */
/* model/family/fields.h - a Hugging Face config.json as its class would see it.
 *
 * A field that is absent takes the default of its model class; a field that is there and null is
 * null, which is something else (head_dim: null asks for hidden_size / heads). Defaults are text,
 * "key=value key=value", so that a family is data. Several spellings of one field are given as one
 * string, "hidden_size|n_embd|d_model": the first that is there wins. */
#pragma once

#include "util/base.h"

struct lpo_json;

struct lpo_fields {
    const struct lpo_json *config; /* an object */
    const char *defaults;          /* may be NULL */
};

/* Is there a value that is not null, in the config or among the defaults? */
bool lpo_model_field_has(const struct lpo_fields *f, const char *keys);
/* The fallback is used for absent and for null. A list gives its first item ([224, 224]). */
int64_t lpo_model_field_int(const struct lpo_fields *f, const char *keys, int64_t fallback);
double lpo_model_field_real(const struct lpo_fields *f, const char *keys, double fallback);
bool lpo_model_field_bool(const struct lpo_fields *f, const char *keys, bool fallback);
/* From the config alone; NULL when absent or null. */
const struct lpo_json *lpo_model_field_json(const struct lpo_fields *f, const char *keys);

/* Do all terms of "key=value key=value" hold? Values: true, false, null or a number. */
bool lpo_model_field_match(const struct lpo_fields *f, const char *terms);

/* A size from the config, between `least` and `most`; the error names the key. */
int lpo_model_size(const struct lpo_fields *f, const char *keys, int64_t fallback, int64_t least,
                   int64_t most, uint64_t *out, struct lpo_err *err);
