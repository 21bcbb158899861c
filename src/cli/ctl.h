/* SPDX-License-Identifier: Apache-2.0 */
/* cli/ctl.h - parts of `lpo ctl`: figures for a monitoring system, a trace of a running PyTorch. */
#pragma once

struct lpo_app;
struct lpo_args;
struct lpo_control_answers;
struct lpo_err;
struct lpo_str;

/* The text format of Prometheus: what the collectors answered, and what the traces in `dir` hold so
 * far. A folder without a readable trace gives the first part alone. */
void lpo_cli_ctl_metrics(struct lpo_app *app, const char *dir,
                         const struct lpo_control_answers *answers, struct lpo_str *out);

/* `lpo ctl PID trace`: asks Kineto inside the process for a trace, waits for it and reports on it.
 * Returns only where that failed. */
int lpo_cli_ctl_trace(struct lpo_app *app, const struct lpo_args *args, struct lpo_err *err);
