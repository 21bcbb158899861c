/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/native/preload.h - liblpo-count.so, which counts launches while CUPTI is not there. */
#pragma once

struct lpo_arena;
struct lpo_err;
struct lpo_step;

/* Into LD_PRELOAD of the step, in front of what the workload or the user has there. The library is
 * the one beside the collector, else the one beside lpo. */
int lpo_pipeline_native_preload(struct lpo_arena *a, const char *collector, struct lpo_step *step,
                                struct lpo_err *err);
