/* SPDX-License-Identifier: Apache-2.0 */
/* region/kernel_name/short_text.h - pieces of short names, between short.c, short_words.c and
 * short_set.c. */
#pragma once

#include <stdbool.h>

#include "region/kernel_name/parts.h"

struct lpo_map;
struct lpo_str;

/* The words of conf/rules/kernels.yaml that short names need, made once. */
struct lpo_short_rules {
    const struct lpo_map *types, *carriers, *wrappers, *noise, *common;
};

const struct lpo_short_rules *lpo_region_short_rules(void);

/* "c10::BFloat16" without its scope is "bf16"; false: not a type of numbers. */
bool lpo_region_short_type(struct lpo_kernel_span s, struct lpo_kernel_span *out);
/* Without "_kernel" and the like at its end. */
struct lpo_kernel_span lpo_region_short_word(struct lpo_kernel_span s);
/* The bytes of the first `columns` characters. */
size_t lpo_region_short_cut(const char *text, size_t len, size_t columns);
/* Cuts what stands behind `from` to that many columns, with "…" as the last. */
void lpo_region_short_fit(struct lpo_str *s, size_t from, size_t columns);

/* Families of names that are one word; false: not of this family. */
bool lpo_region_short_one_word(const struct lpo_kernel_parts *p, struct lpo_str *out);
bool lpo_region_short_cute(const struct lpo_kernel_parts *p, struct lpo_str *out);
bool lpo_region_short_long_word(const struct lpo_kernel_parts *p, struct lpo_str *out);
