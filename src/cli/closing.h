/* cli/closing.h - what `lpo run` prints last: the stages, the regions that took the time, and where
 * the report is. */
#pragma once

struct lpo_app;
struct lpo_manifest;

void lpo_cli_closing_print(struct lpo_app *app, const struct lpo_manifest *m);
