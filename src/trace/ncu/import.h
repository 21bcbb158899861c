/* trace/ncu/import.h - what this lpo cannot read of a report, by way of ncu's own CSV. */
#pragma once

#include <stdbool.h>

struct lpo_err;
struct lpo_trace;

/* Is there an ncu on PATH that could convert it? */
bool lpo_ncu_can_import(void);
/* ncu --import path --page raw --csv, read as ncu-csv. */
int lpo_ncu_import(const char *path, struct lpo_trace *into, struct lpo_err *err);
