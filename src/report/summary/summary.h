/* SPDX-License-Identifier: Apache-2.0 */
/* report/summary/summary.h - the facts behind stakeholder_summary.md.
 *
 * summary.c writes the sentences; advice.c makes advice of them. Loading and
 * warm-up are left out (analysis/wall/steady.h): they happen once, and a reader of this page
 * asks about the time that passes every time. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/wall/steady.h"

struct lpo_doc;
struct lpo_region_fold;
struct lpo_rundir;
struct lpo_region_scope;
struct lpo_source;

enum { LPO_SUMMARY_ROWS = 3 }; /* of each list: the page is half a page */

struct lpo_summary_facts {
    struct lpo_doc *doc;
    const struct lpo_rundir *d;
    const struct lpo_source *s;
    const struct lpo_wall_steady *steady;
    const struct lpo_region_scope *all;
    struct lpo_region_fold *fold;
    const struct lpo_wall_device *wall; /* of the GPU with the longest span, steady; NULL: none.
                                           Times of several GPUs are never added */
    bool gpu; /* some GPU time is known; else the times of the host are shown */
};

struct lpo_fold_row;

const char *lpo_summary_percent(struct lpo_summary_facts *t, int64_t part,
                                int64_t whole); /* "12 %" */
const char *lpo_summary_duration(struct lpo_summary_facts *t, int64_t ns);
/* Is this line a region of the program, and neither loading nor warm-up? */
bool lpo_summary_counts(const struct lpo_summary_facts *t, const struct lpo_fold_row *r);

/* "What to do first": at most three, largest saving first. False where there is no advice. */
bool lpo_summary_advise(struct lpo_summary_facts *t);
