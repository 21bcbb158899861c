/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/native/regions.h - native/regions.json: every region the workload entered.
 *
 * Other stages use it to know which regions exist; docs/run.md lists its fields. */
#pragma once

#include <stddef.h>

struct lpo_analysis;
struct lpo_err;

/* From the stage's traces, into `path`. *regions is how many there were. */
int lpo_pipeline_native_regions_write(const struct lpo_analysis *a, const char *path,
                                      size_t *regions, struct lpo_err *err);
