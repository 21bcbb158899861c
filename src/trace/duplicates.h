/* SPDX-License-Identifier: Apache-2.0 */
/* trace/duplicates.h - one process in two files: the same file given twice, or two machines whose
 * processes have one number and no rank. Their ranges would nest into regions that never existed.
 */
#pragma once

struct lpo_trace_duplicates;
struct lpo_trace;

/* Call after each file of several. Notes a process that this file and one before it describe at the
 * same time. */
void lpo_trace_duplicates_note(struct lpo_trace *t, const char *path);
void lpo_trace_duplicates_destroy(struct lpo_trace_duplicates *o); /* NULL is fine */
