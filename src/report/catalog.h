/* SPDX-License-Identifier: Apache-2.0 */
/* report/catalog.h - every table that can be asked for: `lpo sql`, `lpo export`, docs/tables.md. */
#pragma once

#include "table/sql.h"

/* Ends with a kind of NULL. They are opened of a struct lpo_tables_of. */
extern const struct lpo_table_source lpo_report_catalog[];
