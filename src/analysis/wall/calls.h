/* SPDX-License-Identifier: Apache-2.0 */
/* analysis/wall/calls.h - which call a thread was in during a stretch of time. Private to wall/. */
#pragma once

#include <stdint.h>

#include "util/auto.h"

struct lpo_trace;
struct lpo_wall_calls;

struct lpo_wall_calls *lpo_wall_calls_create(const struct lpo_trace *t);
void lpo_wall_calls_destroy(struct lpo_wall_calls *c); /* NULL is fine */
LPO_AUTO_DEFINE(lpo_wall_calls);

/* The call on `thread` with the largest overlap with [start, end): row of t->calls, LPO_NONE where
 * none overlaps; of equals the one that began first, then the longer, then the first of the file.
 * Several calls may be open at once: a driver call inside a runtime call. */
uint32_t lpo_wall_calls_largest(const struct lpo_wall_calls *all, uint32_t thread, int64_t start_ns,
                                int64_t end_ns, int64_t *overlap_ns);
