/* SPDX-License-Identifier: Apache-2.0 */
/* cli/mcp/mcp.h - the Model Context Protocol over standard input and output. */
#pragma once

struct lpo_app;
struct lpo_args;
struct lpo_err;

/* Until the client hangs up. Words are the folders and files that may be read. */
int lpo_cli_mcp_serve(struct lpo_app *app, const struct lpo_args *args, struct lpo_err *err);
