/* analysis/analysis.h - traces read and attributed, ready for tables: what every report starts
 * from.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "util/auto.h"

struct lpo_err;
struct lpo_region_tree;
struct lpo_region_selection;
struct lpo_wall_timeline;
struct lpo_trace;
struct lpo_region_cells;

struct lpo_analysis {
    struct lpo_trace *trace;
    struct lpo_region_tree *tree;
    struct lpo_region_cells *cells;
    struct lpo_wall_timeline *timeline; /* NULL when launches were skipped */
};

/* Reads all the files into one trace. `select` may be NULL and is not kept. */
int lpo_analysis_create(const char *const *files, size_t count, struct lpo_region_selection *select,
                        struct lpo_analysis **out, struct lpo_err *err);
/* The same without what `skip` (enum lpo_skip) names: quicker where only sums are wanted. */
int lpo_analysis_create_skip(const char *const *files, size_t count, unsigned skip,
                             struct lpo_region_selection *select, struct lpo_analysis **out,
                             struct lpo_err *err);
/* Of a trace that is already read; takes it over. */
struct lpo_analysis *lpo_analysis_of(struct lpo_trace *trace, struct lpo_region_selection *select);
void lpo_analysis_destroy(struct lpo_analysis *a); /* NULL is fine */
LPO_AUTO_DEFINE(lpo_analysis);
