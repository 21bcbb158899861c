/* SPDX-License-Identifier: Apache-2.0 */
/* report/trace_notes.h - what the user should know before trusting a table: lost records, ranges
 * never closed, patterns that matched nothing. One list for every command and report. */
#pragma once

#include "util/base.h"

struct lpo_analysis;
struct lpo_doc;
struct lpo_region_selection;

/* Calls `add` once per note, in a fixed order. `select` may be NULL. */
void lpo_report_notes_each(const struct lpo_analysis *a, const struct lpo_region_selection *select,
                           void (*add)(void *ctx, bool warning, const char *text), void *ctx);
void lpo_report_notes_doc(struct lpo_doc *doc, const struct lpo_analysis *a,
                          const struct lpo_region_selection *select);
