/* SPDX-License-Identifier: Apache-2.0 */
/* trace/merge.h - one capture in several files: what the second says of the launches of the first.
 */
#pragma once

#include "util/base.h"

struct lpo_trace;
struct lpo_trace_duplicates;

/* Adds the metrics of `from` to GPU operations [first, first + count) of `t`, one after the other;
 * what they have already stays, and so does a duration or a shape that is known. False, and nothing
 * is changed: the two do not have the same kernels in the same order. */
bool lpo_trace_merge_metrics(struct lpo_trace *t, uint32_t first, uint32_t count,
                             const struct lpo_trace *from);

/* One process in two files: the same file given twice, or two machines whose
 * processes have one number and no rank. Their ranges would nest into regions that never existed.
 */

/* Call after each file of several. Notes a process that this file and one before it describe at the
 * same time. */
void lpo_trace_duplicates_note(struct lpo_trace *t, const char *path);
void lpo_trace_duplicates_destroy(struct lpo_trace_duplicates *o); /* NULL is fine */
