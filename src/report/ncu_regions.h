/* report/ncu_regions.h - ncu/regions/: counters by region, a folder for each. */
#pragma once

struct lpo_err;
struct lpo_run_data;

/* Writes ncu/regions/report.{md,json} and <region>/report.{md,json}; nothing when the run has no
 * counters. */
int lpo_ncu_regions_write(const struct lpo_run_data *d, struct lpo_err *err);
