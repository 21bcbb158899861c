/* report/summary/summary.h - what stakeholder_summary.md is told from: measured once, told in
 * summary.c, turned into advice in summary_ideas.c. Of what the GPU did only what somebody waits
 * for (waited.h). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/wall/timeline.h"
#include "region/classes.h"

struct lpo_doc;
struct lpo_region_fold;
struct lpo_rundir;
struct lpo_region_scope;
struct lpo_source;
struct lpo_wall_steady;

enum { LPO_STORY_WORST = 3 }; /* rows of a list that a reader of half a page bears */

struct lpo_summary_facts {
    struct lpo_doc *doc;
    const struct lpo_rundir *d;
    const struct lpo_source *s;
    const struct lpo_wall_steady *waited;
    struct lpo_region_scope *all;
    struct lpo_region_fold *fold;
    int64_t span_ns, busy_ns, exposed_ns, copy_ns;
    struct lpo_gaps gaps;
    int64_t class_ns[LPO_CLASSES], kernel_ns;
    uint64_t launches, short_launches;
    bool gpu; /* some GPU time is known; else the host's times are told */
};

struct lpo_fold_row;

const char *lpo_summary_percent(struct lpo_summary_facts *t, int64_t part,
                                int64_t whole); /* "12 %" */
const char *lpo_summary_duration(struct lpo_summary_facts *t, int64_t ns);
/* Is this line a region of the program that somebody waits for? */
bool lpo_summary_counts(const struct lpo_summary_facts *t, const struct lpo_fold_row *r);

/* "What to do first": at most three, dearest first. False where nothing can be advised. */
bool lpo_summary_advise(struct lpo_summary_facts *t);
