/* SPDX-License-Identifier: Apache-2.0 */
/* report/region_rows.h - the rows of ncu's raw page that belong to one region, as ncu wrote them.
 *
 * Every region's folder has a raw.csv: of a capture of its own, which ncu made, or these rows of
 * the captures that hold the region. */
#pragma once

#include "util/base.h"

struct lpo_region_rows;
struct lpo_rundir;

/* From raw.csv beside each report of the stage that measured counters; NULL: there is none. */
struct lpo_region_rows *lpo_report_region_rows_create(const struct lpo_rundir *d);
void lpo_report_region_rows_destroy(struct lpo_region_rows *rows); /* NULL is fine */
static inline void lpo_region_rows_destroy(struct lpo_region_rows *rows)
{
    lpo_report_region_rows_destroy(rows);
}
LPO_AUTO_DEFINE(lpo_region_rows);

/* Appends ncu's two header lines and the rows of the region at `path`, as reports print it. */
void lpo_report_region_rows_add(const struct lpo_region_rows *rows, const char *path, size_t len,
                                struct lpo_str *out);
