/* SPDX-License-Identifier: Apache-2.0 */
/* region/kernel_name/class_rules.h - the rules by which names of kernels are put into classes.
 *
 * A rule is a pattern over words (parts.h). In each table the first rule that fits decides: narrow
 * ones come before wide ones. Every rule has a name that it decides; a test goes through them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "region/classes.h"

struct lpo_class_rule {
    const char *part;
    enum lpo_region_kernel_class class;
    const char *also;    /* must be in the words as well; NULL: nothing */
    const char *example; /* a whole name that this rule decides */
};

struct lpo_class_rules {
    const struct lpo_class_rule *at;
    size_t len;
};

/* A function that says how, not what: its template arguments have the functor that decides. */
struct lpo_class_carrier {
    const char *function; /* pattern over the words of the function */
    const char *scope;    /* pattern over the words of the scope; NULL: any */
    struct lpo_class_rules functors;
    enum lpo_region_kernel_class otherwise;
    const char *example; /* decided by `otherwise` */
};

/* Kernels of compilers, whose names list operators: "triton_poi_fused_add_mul_3". `words` are those
 * of the function; false: not such a name, or it says nothing. */
bool lpo_region_class_compiled(const char *words, enum lpo_region_kernel_class *out);

extern const struct lpo_class_carrier lpo_region_class_carriers[];
extern const size_t lpo_region_class_carrier_count;
/* over the function's own name, in this order: what names a large operation comes first */
extern const struct lpo_class_rules lpo_region_class_functions, lpo_region_class_layer,
    lpo_region_class_simple;
extern const struct lpo_class_rules lpo_region_class_scopes;    /* where that says nothing */
extern const struct lpo_class_rules lpo_region_class_leftovers; /* where nothing else does */
