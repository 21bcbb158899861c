/* report/ncu_regions.h - ncu/regions/: counters by region, a folder for each. */
#pragma once

struct lpo_err;
struct lpo_rundir;

/* Writes ncu/regions/report.{md,json} and <region>/report.{md,json}; nothing when the run has no
 * counters. */
int lpo_report_ncu_regions_write(const struct lpo_rundir *d, struct lpo_err *err);
