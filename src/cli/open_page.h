/* SPDX-License-Identifier: Apache-2.0 */
/* cli/open_page.h - `--open`: the page of a report in the user's browser. */
#pragma once

struct lpo_app;

/* The same for an address. */
void lpo_cli_open_address(struct lpo_app *app, const char *url);
/* Starts xdg-open and does not wait for it. Where the machine has no screen or no xdg-open, says
 * where the page is instead: a report that was made never becomes a failure. */
void lpo_cli_open_page(struct lpo_app *app, const char *dir);
