/* SPDX-License-Identifier: Apache-2.0 */
/* cli/screen.h - documents on a terminal: as wide as it is, with colour and bars.
 *
 * The width is that of the terminal, else of COLUMNS, else 100. Colour needs a terminal that is not
 * "dumb", and no NO_COLOR. What is shown whole has no width where there is neither terminal nor
 * COLUMNS. Files and pipes get neither colour nor bars. */
#pragma once

#include "util/base.h"

struct lpo_app;
struct lpo_doc;
struct lpo_writer;

/* The rest of a line that has `column` characters, wrapped below its own beginning. */
void lpo_cli_print_wrapped(const struct lpo_app *app, const char *text, size_t column);
void lpo_cli_print_doc(struct lpo_app *app, const struct lpo_doc *doc,
                       const struct lpo_writer *writer);

/* `--open`: the page of a report in the user's browser. */

/* Starts xdg-open and does not wait for it. Where the machine has no screen or no xdg-open, says
 * where the page is instead: a report that was made never becomes a failure. */
void lpo_cli_open_page(struct lpo_app *app, const char *dir);
/* The same for an address. */
void lpo_cli_open_address(struct lpo_app *app, const char *url);
