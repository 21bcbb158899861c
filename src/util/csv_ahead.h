/* SPDX-License-Identifier: Apache-2.0 */
/* util/csv_ahead.h - private to util/csv: rows split on a second thread. */
#pragma once

struct lpo_csv;
struct lpo_csv_ahead;
struct lpo_err;

/* Takes `from` over; NULL, and `from` untouched, when no thread is to be had. */
struct lpo_csv_ahead *lpo_csv_ahead_start(struct lpo_csv *from);
void lpo_csv_ahead_stop(struct lpo_csv_ahead *a); /* destroys `from` too */
/* As lpo_csv_next, into the public fields of `to`. */
int lpo_csv_ahead_next(struct lpo_csv_ahead *a, struct lpo_csv *to, struct lpo_err *err);
