/* trace/ncu_import.h - a report in a format this lpo does not know, by way of ncu's own CSV. */
#pragma once

#include <stdbool.h>

struct lpo_err;
struct lpo_trace;

/* Is there an ncu on PATH that could convert it? */
bool lpo_ncu_can_import(void);
/* ncu --import path --page raw --csv, read as ncu-csv. Leaves a note that it came that way. */
int lpo_ncu_import(const char *path, struct lpo_trace *into, struct lpo_err *err);
