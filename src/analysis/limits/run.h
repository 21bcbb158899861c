/* analysis/limits/run.h - the limits of a run: its regions, its static analysis, its config.
 *
 * The chapter that a report's reader should look at first: what could be won, and where. */
#pragma once

#include "analysis/limits/limits.h"

struct lpo_analysis;
struct lpo_err;
struct lpo_rundir;
struct lpo_region_selection;
struct lpo_source;

typedef LPO_VEC(struct lpo_limits_region) lpo_limits_regions;

/* All regions of a trace, as the join wants them. Paths live in the arena; free the vector. */
void lpo_limits_regions_of(struct lpo_arena *a, const struct lpo_analysis *analysis,
                           struct lpo_region_selection *select, lpo_limits_regions *out);

/* NULL when the run has no trace, or neither a static analysis nor report.needs; with `err` set
 * when one of its files cannot be read. */
struct lpo_limits *lpo_limits_of_run(const struct lpo_rundir *d, const struct lpo_source *s,
                                     struct lpo_err *err);
