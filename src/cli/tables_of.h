/* SPDX-License-Identifier: Apache-2.0 */
/* cli/tables_of.h - the tables of traces that a command has opened (cmd_sql.c). */
#pragma once

struct lpo_analysis_run;
struct lpo_app;
struct lpo_tables_of;

/* Of the source that says most about where time goes. Lives as long as the command. */
struct lpo_tables_of lpo_cli_tables_of(struct lpo_app *app, struct lpo_analysis_run *run);
