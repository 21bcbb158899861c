/* SPDX-License-Identifier: Apache-2.0 */
/* analysis/windows/windows.h - runs that were recorded in part: how much of them, and how the
 * recorded calls of a range differ among each other.
 *
 * All that is told of the rest of the run is what was counted there: calls of the chosen range, and
 * where asked for the kernels launched in them. A total over all calls is the mean of the recorded
 * ones times their number: an estimate, and marked as one. */
#pragma once

#include "util/base.h"

struct lpo_trace;

/* One process. */
struct lpo_windows_row {
    uint32_t range; /* name or pattern; LPO_NONE: windows by time, signal or lpo ctl */
    uint16_t process;
    uint64_t calls, recorded; /* of the range */
    uint64_t windows;
    int64_t recorded_ns; /* all windows together */
    uint64_t launches;   /* kernels in them */
    int64_t gpu_ns;      /* of those */
    /* GPU time of a recorded call. Unknown where windows are not calls, or several calls ran at
     * once and share a window; the deviation also for one call. */
    struct lpo_measure mean_ns, least_ns, most_ns, deviation_ns;
    struct lpo_measure all_gpu_ns;   /* of all calls: estimated where not all were recorded */
    struct lpo_measure all_launches; /* in all calls: exact; unknown where they were not counted */
};

struct lpo_windows {
    LPO_VEC(struct lpo_windows_row) rows;
};

struct lpo_windows *lpo_windows_create(const struct lpo_trace *t);
void lpo_windows_destroy(struct lpo_windows *w); /* NULL is fine */
LPO_AUTO_DEFINE(lpo_windows);
