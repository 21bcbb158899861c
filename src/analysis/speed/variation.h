/* SPDX-License-Identifier: Apache-2.0 */
/* analysis/speed/variation.h - how much the figures of a run vary between repeats. */
#pragma once

#include "util/base.h"

struct lpo_json;
struct lpo_rundir;

/* How much one figure varies between repeats of the same sample. */
struct lpo_variation {
    const char *stage, *figure; /* "native", "prefill_ms" */
    double cv;                  /* std / mean, of the sample that varies most */
    size_t repeats;             /* of that sample */
};

/* The figure of this stage that varies most; repeats is 0 when nothing was repeated. Samples are
 * never compared with each other: they may be of different lengths. */
struct lpo_variation lpo_speed_variation(const struct lpo_json *metrics, const char *stage);
/* Of the stage without a profiler; where that was not repeated, of all but the one that measures
 * kernel by kernel, whose times are its own. */
struct lpo_variation lpo_speed_run_variation(const struct lpo_rundir *d);
