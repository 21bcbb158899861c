/* SPDX-License-Identifier: Apache-2.0 */
/* region/classes.h - what kind of computation a kernel does, read from its name.
 *
 * The rules are data, conf/rules/kernels.yaml. It stays a guess: reports say so, and `other` is an
 * honest answer. */
#pragma once

#include "util/base.h"

enum lpo_region_kernel_class {
    LPO_CLASS_GEMM,
    LPO_CLASS_ATTENTION,
    LPO_CLASS_CONVOLUTION,
    LPO_CLASS_NORM,
    LPO_CLASS_SOFTMAX,
    LPO_CLASS_ROTARY,
    LPO_CLASS_ELEMENTWISE,
    LPO_CLASS_REDUCTION,
    LPO_CLASS_INDEXING,
    LPO_CLASS_SORTING,
    LPO_CLASS_COPY,
    LPO_CLASS_OPTIMIZER,
    LPO_CLASS_RANDOM,
    LPO_CLASS_COLLECTIVE,
    LPO_CLASS_QUANTIZE,
    LPO_CLASS_MOE,
    LPO_CLASS_OTHER,
    LPO_CLASSES,
};

enum lpo_region_kernel_class lpo_region_kernel_class(const char *name);
const char *lpo_region_class_name(enum lpo_region_kernel_class c); /* "GEMM", "attention", … */
/* In any case of letters; false: there is no such class. */
bool lpo_region_class_from_name(const char *text, enum lpo_region_kernel_class *out);

/* Rules of the user, "CLASS=PATTERN" with a pattern of util/pattern.h over the whole name, or
 * "file:PATH" of a file like conf/rules/kernels.yaml; the first that fits decides, before ours. */
struct lpo_region_own_rules;

/* *out is NULL where there are none. */
int lpo_region_own_rules_read(const char *const *rules, size_t count,
                              struct lpo_region_own_rules **out, struct lpo_err *err);
void lpo_region_own_rules_destroy(struct lpo_region_own_rules *r); /* NULL is fine */
LPO_AUTO_DEFINE(lpo_region_own_rules);
/* The class of a kernel: by those rules (NULL: there are none), else by its name. */
enum lpo_region_kernel_class lpo_region_class_by(const struct lpo_region_own_rules *r,
                                                 const char *name);
