/* SPDX-License-Identifier: Apache-2.0 */
/* report/diff/history.h - a history of runs as documents: what is in it, one name, one figure over
 * time. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "util/vec.h"

struct lpo_doc;

#define LPO_HISTORY_SCHEMA "lpo.history/1"

/* One run of a history, with what is shown of it. */
struct lpo_report_history_run {
    int64_t id, unix_s;
    const char *name, *label;
    double value; /* of the figure that is asked for; NAN: it does not have it */
    double wall_ns, gpu_ns, tokens_per_s;
};

typedef LPO_VEC(struct lpo_report_history_run) lpo_report_history_runs;

/* The names, and how many runs each has. */
struct lpo_doc *lpo_report_history_list(const lpo_report_history_runs *runs);
/* Every run. */
struct lpo_doc *lpo_report_history_show(const lpo_report_history_runs *runs);
/* `value` over the runs that have it, and where it changed for good. */
struct lpo_doc *lpo_report_history_trend(const lpo_report_history_runs *runs, const char *name,
                                         const char *what);
