/* analysis/limits/stated.h - what regions need, as the user states it: config `report.needs`.
 *
 *     report:
 *       needs:
 *         gemm: { flops: 1099511627776, bytes: 402653184, dtype: bf16 }
 *         decode/step/layer*: { bytes: 14155776 }
 *
 * For programs without a model, and for regions that the user knows better. A key is the path of a
 * region, or a pattern of paths (util/pattern.h); the figures are those of one visit. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "util/dtype.h"
#include "util/measure.h"

struct lpo_arena;
struct lpo_err;
struct lpo_limits_region;
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
#define LPO_NOT_STATED UINT32_MAX

/* Checks every entry; the error names the key and what is right. Borrows from `config`. */
int lpo_limits_stated_read(struct lpo_arena *a, const struct lpo_node *config,
                           struct lpo_stated_needs *out, struct lpo_err *err);

/* For each region the entry that speaks of it, or LPO_NOT_STATED: its own path before any pattern,
 * a longer pattern before a shorter one. Regions inside it need a part of it that nobody stated. */
uint32_t *lpo_limits_stated_match(struct lpo_arena *a, const struct lpo_stated_needs *s,
                                  const struct lpo_limits_region *regions, size_t nregions);

/* A sentence about an entry of a config key that speaks of no region, with the nearest there is. */
const char *lpo_limits_region_unmatched(struct lpo_arena *a, const char *key, const char *region,
                                        const struct lpo_limits_region *regions, size_t nregions);
