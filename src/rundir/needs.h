/* SPDX-License-Identifier: Apache-2.0 */
/* rundir/needs.h - what regions need, and which part of the model they are, as the user states it:
 * config `report.needs` and `report.mapping`.
 *
 *     report:
 *       needs:
 *         gemm: { flops: 1099511627776, bytes: 402653184, dtype: bf16 }
 *         decode/step/layer*: { bytes: 14155776 }
 *
 * For programs without a model, and for regions that the user knows better. A key is the path of a
 * region, or a pattern (region/pattern/pattern.h); the figures are those of one visit. */
#pragma once

#include "util/dtype.h"

struct lpo_node;

struct lpo_stated_need {
    const char *region;              /* as written */
    struct lpo_measure flops, bytes; /* of one visit; one of them may be unknown */
    enum lpo_dtype dtype;            /* LPO_DTYPE_NONE: as the run's */
};

struct lpo_stated_needs {
    struct lpo_stated_need *at;
    size_t len;
};

enum { LPO_STATED_MOST = 4096 };

/* An entry of report.mapping: a region path (or its beginning) and what it stands for. */
struct lpo_stated_mapping {
    const char *region, *means; /* "generate/forward", "decode/step" */
};

struct lpo_stated_mappings {
    struct lpo_stated_mapping *at;
    size_t len;
};

/* Checks every entry; the error names the key and what is right. Borrows from `config`. */
int lpo_rundir_needs_read(struct lpo_arena *a, const struct lpo_node *config,
                          struct lpo_stated_needs *out, struct lpo_err *err);
void lpo_rundir_mappings_read(struct lpo_arena *a, const struct lpo_node *config,
                              struct lpo_stated_mappings *out);
