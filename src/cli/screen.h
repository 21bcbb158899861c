/* SPDX-License-Identifier: Apache-2.0 */
/* cli/screen.h - documents on a terminal: as wide as it is, with colour and bars.
 *
 * The width is that of the terminal, else of COLUMNS, else 100. Colour needs a terminal that is not
 * "dumb", and no NO_COLOR. Files and pipes get neither colour nor bars. */
#pragma once

#include <stddef.h>

struct lpo_app;
struct lpo_doc;
struct lpo_writer;

size_t lpo_cli_screen_width(void);
void lpo_cli_print_doc(struct lpo_app *app, const struct lpo_doc *doc,
                       const struct lpo_writer *writer);
