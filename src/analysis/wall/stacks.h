/* SPDX-License-Identifier: Apache-2.0 */
/* analysis/wall/stacks.h - what the host was in during the longest gaps. Private to wall/. */
#pragma once

struct lpo_trace;
struct lpo_wall;

/* Fills `operators` and `python` of the longest gaps, for the first devices: 64 gaps in all. */
void lpo_wall_stacks_fill(struct lpo_wall *w, const struct lpo_trace *t);
