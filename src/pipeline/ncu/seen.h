/* pipeline/ncu/seen.h - what earlier stages of the same run saw: which regions, which kernels. */
#pragma once

#include <stddef.h>

#include "pipeline/ncu/expr.h"

struct lpo_arena;

/* From native/regions.json of this run; leaves `out` empty where there is none. */
void lpo_pipeline_ncu_seen_regions_read(struct lpo_arena *a, const char *run_dir,
                                        struct lpo_seen_regions *out);
/* An expression for every region that has no parent. False, and none, where they are too many for
 * one command. */
bool lpo_pipeline_ncu_seen_add_outermost(struct lpo_arena *a, const struct lpo_seen_regions *seen,
                                         struct lpo_exprs *out);
/* "regex:^(a|b|c)$" over the function names of the n kernels with the most GPU time, from native,
 * else from nsys; NULL where neither saw a kernel. */
const char *lpo_pipeline_ncu_seen_top_kernels(struct lpo_arena *a, const char *run_dir, size_t n);
