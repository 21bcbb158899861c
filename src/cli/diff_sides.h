/* SPDX-License-Identifier: Apache-2.0 */
/* cli/diff_sides.h - the runs of one side of a comparison, each read alone and released before the
 * next. */
#pragma once

#include <stddef.h>

#include "analysis/diff/budgets.h"

struct lpo_app;
struct lpo_diff_digest;
struct lpo_err;
struct lpo_record;

#define LPO_CLI_HISTORY "lpo-history.sqlite" /* in the working folder */

struct lpo_diff_reading {
    struct lpo_diff_digest **at;
    size_t len;
    struct lpo_record *flame;  /* where the stacks of the first run go; NULL: nowhere */
    lpo_diff_budgets *budgets; /* where those of a run's config go; NULL: nowhere */
};

/* Appends `count` runs. What was read before a failure stays, for lpo_cli_runs_free(). */
int lpo_cli_runs_read(struct lpo_app *app, const char *const *paths, size_t count,
                      struct lpo_diff_reading *out, struct lpo_err *err);
/* Appends the newest `last` runs of a name in a history. */
int lpo_cli_runs_baseline(struct lpo_app *app, const char *store, const char *name, size_t last,
                          struct lpo_diff_reading *out, struct lpo_err *err);
void lpo_cli_runs_free(struct lpo_diff_reading *r);
