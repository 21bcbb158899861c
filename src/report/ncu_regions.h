/* SPDX-License-Identifier: Apache-2.0 */
/* report/ncu_regions.h - ncu/regions/: hardware counters by region, a document for each.
 *
 *     LPO_AUTO(lpo_report_ncu) n = lpo_report_ncu_create(d);
 *     doc = lpo_report_ncu_doc(n);                     ncu/regions/report.{md,json}
 *     doc = lpo_report_ncu_region_doc(n, i, &folder);  ncu/regions/<folder>/report.{md,json}
 *     lpo_report_ncu_region_csv(n, i, &text);          ncu/regions/<folder>/raw.csv
 */
#pragma once

#include "util/base.h"

struct lpo_doc;
struct lpo_report_ncu;
struct lpo_rundir;

/* NULL when the run has no counters, or no region mode. The run folder must outlive it. */
struct lpo_report_ncu *lpo_report_ncu_create(const struct lpo_rundir *d);
void lpo_report_ncu_destroy(struct lpo_report_ncu *n); /* NULL is fine */
LPO_AUTO_DEFINE(lpo_report_ncu);

struct lpo_doc *lpo_report_ncu_doc(const struct lpo_report_ncu *n);
/* Regions that may have a document: folders are bounded, however many regions a program marks. */
size_t lpo_report_ncu_rows(const struct lpo_report_ncu *n);
/* The `i`th region; *folder is a safe name of it. NULL: `(outside)` without kernels. */
struct lpo_doc *lpo_report_ncu_region_doc(const struct lpo_report_ncu *n, size_t i,
                                          const char **folder);
/* Appends its rows of ncu's raw page. False: there is no such page. */
bool lpo_report_ncu_region_csv(const struct lpo_report_ncu *n, size_t i, struct lpo_str *out);
