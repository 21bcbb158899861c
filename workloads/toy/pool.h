/* SPDX-License-Identifier: Apache-2.0 */
/* toy/pool.h - a few threads that run one job in parts, then wait for the next.
 *
 * The caller does part 0 itself. Each worker opens an NVTX range named after the job around its
 * part, so that a trace of a threaded run has ranges on more than one thread. */
#pragma once

#include <stdbool.h>

#include "util/auto.h"

struct lpo_err;
struct toy_pool;

/* Called once per part with the same `job`; parts must not write to the same memory. */
typedef void toy_part_fn(void *job, int part, int parts);

/* threads <= 1 starts none: jobs then run on the caller alone. */
int toy_pool_create(int threads, struct toy_pool **out, struct lpo_err *err);
void toy_pool_destroy(struct toy_pool *p); /* NULL is fine */
LPO_AUTO_DEFINE(toy_pool);

/* Returns when every part is done. `name` must outlive the call. */
void toy_pool_run(struct toy_pool *p, const char *name, bool ranges, toy_part_fn *fn, void *job);
