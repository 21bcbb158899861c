/* report/analysis.h - traces read and attributed, ready for tables: what every report starts from.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "util/auto.h"

struct lpo_err;
struct lpo_region_tree;
struct lpo_selection;
struct lpo_timeline;
struct lpo_trace;
struct lpo_work_cells;

struct lpo_analysis {
    struct lpo_trace *trace;
    struct lpo_region_tree *tree;
    struct lpo_work_cells *cells;
    struct lpo_timeline *timeline;
};

/* Reads all the files into one trace. `select` may be NULL; it must outlive nothing. */
int lpo_analysis_create(const char *const *files, size_t count, struct lpo_selection *select,
                        struct lpo_analysis **out, struct lpo_err *err);
void lpo_analysis_destroy(struct lpo_analysis *a); /* NULL is fine */
LPO_AUTO_DEFINE(lpo_analysis);
