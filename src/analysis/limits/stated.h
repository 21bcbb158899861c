/* analysis/limits/stated.h - which entry of report.needs states the need of a region. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "rundir/needs.h"

struct lpo_limits_region;

#define LPO_NOT_STATED UINT32_MAX

/* For each region the entry that states its need, or LPO_NOT_STATED: its own path before any
 * pattern, a longer pattern before a shorter one. Regions inside it need a part of it that nobody
 * stated. */
uint32_t *lpo_limits_stated_match(struct lpo_arena *a, const struct lpo_stated_needs *s,
                                  const struct lpo_limits_region *regions, size_t nregions);

/* A sentence about an entry of a config key that fits no region, with the nearest there is. */
const char *lpo_limits_region_unmatched(struct lpo_arena *a, const char *key, const char *region,
                                        const struct lpo_limits_region *regions, size_t nregions);
