/* SPDX-License-Identifier: Apache-2.0 */
/* report/diff/history.h - a history of runs as documents: what is in it, one name, one figure over
 * time. */
#pragma once

#include "util/base.h"

struct lpo_doc;

#define LPO_HISTORY_SCHEMA "lpo.history/1"

struct lpo_json;

/* One run of a history, with what is shown of it. */
struct lpo_report_history_run {
    int64_t id, unix_s;
    const char *name, *label, *revision;
    const struct lpo_json *figures; /* an object of numbers */
    double value;                   /* of the figure that is asked for; NAN: it does not have it */
};

typedef LPO_VEC(struct lpo_report_history_run) lpo_report_history_runs;

/* NAN: it does not have it. */
double lpo_report_history_figure(const struct lpo_report_history_run *x, const char *key);

/* The names, and how many runs each has. */
struct lpo_doc *lpo_report_history_list(const lpo_report_history_runs *runs);
/* Every run; of one name every figure, too, with its spark and its last change. */
struct lpo_doc *lpo_report_history_show(const lpo_report_history_runs *runs, const char *name);
/* `value` over the runs that have it, and where it changed for good. */
struct lpo_doc *lpo_report_history_trend(const lpo_report_history_runs *runs, const char *name,
                                         const char *what);
/* A page of every figure of a name as a line. */
struct lpo_doc *lpo_report_history_page(const lpo_report_history_runs *runs, const char *name);
