/* SPDX-License-Identifier: Apache-2.0 */
/* report/summary/private.h - what the chapters of the summary share. */
#pragma once

#include "util/base.h"

struct lpo_doc;
struct lpo_fold_row;
struct lpo_region_fold;
struct lpo_region_scope;
struct lpo_rundir;
struct lpo_source;
struct lpo_wall_device;
struct lpo_wall_steady;

enum { LPO_SUMMARY_ROWS = 3 }; /* of each list: the page is half a page */

struct lpo_summary_page {
    struct lpo_doc *doc;
    const struct lpo_rundir *d;
    const struct lpo_source *s;
    const struct lpo_wall_steady *steady; /* loading and warm-up are left out: they happen once */
    const struct lpo_region_scope *all;
    struct lpo_region_fold *fold;
    const struct lpo_wall_device *wall; /* of the GPU with the longest span, steady; NULL: none.
                                           Times of several GPUs are never added */
    bool gpu; /* some GPU time is known; else the times of the host are shown */
};

/* "12 %". All of it is said only of all of it. */
const char *lpo_summary_percent(const struct lpo_summary_page *t, int64_t part, int64_t whole);
const char *lpo_summary_duration(const struct lpo_summary_page *t, int64_t ns);
/* Is this line a region of the program, and neither loading nor warm-up? */
bool lpo_summary_counts(const struct lpo_summary_page *t, const struct lpo_fold_row *r);
/* Copies and memsets are GPU work as kernels are. */
int64_t lpo_summary_copies_ns(const struct lpo_summary_page *t);
/* Time of a part: of the GPU, copies included, or of the host where no GPU time is known. */
int64_t lpo_summary_part_ns(const struct lpo_summary_page *t, const struct lpo_fold_row *r);
/* A line about what the largest of `parts` marked parts consists of, where it is nearly all; with
 * none, about modules. `whole`: of what shares are shown. */
void lpo_summary_add_inside(const struct lpo_summary_page *t, size_t parts, int64_t whole);
/* Was anything recorded beside loading and warm-up? */
bool lpo_summary_has_steady_time(const struct lpo_summary_page *t);
void lpo_summary_add_time(struct lpo_summary_page *t);
/* Environment, aggregates, parts, MFU, operators, kernels, stages. */
void lpo_summary_add_tables(const struct lpo_summary_page *t);
