/* SPDX-License-Identifier: Apache-2.0 */
/* trace/nsys/db.h - the tables of an nsys export, which is an SQLite file.
 *
 * A file may be made to hurt: processor time, rows and text are bounded (util/budget.h), and
 * nothing that the file brings along is run. Private to the nsys reader. */
#pragma once

#include "trace/nsys/tables.h"

struct lpo_nsys;

/* Read-only, without locks or journals: the file may lie on a read-only disk. */
int lpo_nsys_open(const char *path, struct lpo_nsys **out, struct lpo_err *err);
void lpo_nsys_destroy(struct lpo_nsys *db); /* NULL is fine */
LPO_AUTO_DEFINE(lpo_nsys);

const struct lpo_nsys_tables *lpo_nsys_tables_of(const struct lpo_nsys *db);
bool lpo_nsys_cut(const struct lpo_nsys *db);
/* The name in this file of `table`: itself or with a suffix _V2, _V3, …; NULL when absent. */
const char *lpo_nsys_table(struct lpo_nsys *db, const char *table);
const char *lpo_nsys_table_at(const struct lpo_nsys *db, size_t i); /* NULL past the last */
size_t lpo_nsys_count_tables(const struct lpo_nsys *db); /* of nsys; 0: another SQLite file */
