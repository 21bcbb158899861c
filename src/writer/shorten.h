/* SPDX-License-Identifier: Apache-2.0 */
/* writer/shorten.h - a long table cut where its rows stop mattering.
 *
 * What is left out is under 1 % of the table's time together (of the first column by which its rows
 * are sorted; in a tree, by the own share of each row), whatever else the page holds. At least
 * `least_rows` of a table stay. A table that is sorted by nothing keeps its first rows. */
#pragma once

#include "util/base.h"

struct lpo_table;

struct lpo_writer_short {
    size_t left_out; /* rows */
    double rest;     /* their part of all, 0 … 1; negative: the table is sorted by nothing */
};

/* `out` borrows everything from `t` but its cells: free those with lpo_vec_free(). */
struct lpo_writer_short lpo_writer_shorten(const struct lpo_table *t, struct lpo_table *out);
