/* SPDX-License-Identifier: Apache-2.0 */
/* util/spool.h - a pipe, a FIFO or standard input as a file.
 *
 * A trace is read more than once: its first bytes say which format it has, and some formats need
 * seeking. What can be read only once is therefore copied into a temporary file. */
#pragma once

#include "util/base.h"

struct lpo_spool;

/* Is it "-" or something that can be read only once? */
bool lpo_spool_needed(const char *path);

/* Reads everything there is; "-" is standard input. LPO_E_LIMIT when nobody opens a FIFO for the
 * budget's open_seconds, nothing comes for wait_seconds, or more than pipe_bytes (util/budget.h).
 */
int lpo_spool_create(const char *path, struct lpo_spool **out, struct lpo_err *err);
/* Called once, with its path, when a source keeps us waiting for longer than people like to look
 * at nothing. The command line sets it; NULL: nothing is said. */
void lpo_spool_on_wait(void (*tell)(const char *path, double limit_seconds));
/* A path that opens the copy, good while the spool lives. */
const char *lpo_spool_path(const struct lpo_spool *s);
void lpo_spool_destroy(struct lpo_spool *s); /* NULL is fine */
LPO_AUTO_DEFINE(lpo_spool);
