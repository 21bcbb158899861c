/* trace/nsys/stats.h - private to the reader of `nsys stats` CSVs. */
#pragma once

#include "trace/trace.h"
#include "util/csv.h"
#include "util/str.h"

/* What a column holds. */
enum lpo_nsys_role {
    LPO_NSYS_NOTHING,
    LPO_NSYS_TOTAL,
    LPO_NSYS_COUNT,
    LPO_NSYS_MIN,
    LPO_NSYS_MAX,
    LPO_NSYS_NAME,
    LPO_NSYS_CATEGORY,
    LPO_NSYS_START,
    LPO_NSYS_END,
    LPO_NSYS_DURATION,
    LPO_NSYS_CORRELATION,
    LPO_NSYS_PID,
    LPO_NSYS_TID,
    LPO_NSYS_DEVICE,
    LPO_NSYS_STREAM,
    LPO_NSYS_BYTES,
    LPO_NSYS_GRID_X,
    LPO_NSYS_GRID_Y,
    LPO_NSYS_GRID_Z,
    LPO_NSYS_BLOCK_X,
    LPO_NSYS_BLOCK_Y,
    LPO_NSYS_BLOCK_Z,
    LPO_NSYS_GRID,
    LPO_NSYS_BLOCK,
    LPO_NSYS_CALL_START,
    LPO_NSYS_CALL_DURATION,
    LPO_NSYS_KERNEL_START,
    LPO_NSYS_KERNEL_DURATION,
    LPO_NSYS_PROJECTED,
    LPO_NSYS_RANGE_START,
    LPO_NSYS_RANGE_DURATION,
    LPO_NSYS_STYLE,
    LPO_NSYS_CALLS,
    LPO_NSYS_ROLES,
};

struct lpo_nsys_table {
    struct lpo_trace *t;
    struct lpo_csv *csv;
    int at[LPO_NSYS_ROLES]; /* column of a role, -1 when absent */
    int power[LPO_NSYS_ROLES];
    struct lpo_str text;
    bool domains; /* names are written "domain:name" */
    size_t first_range;
    uint64_t odd_rows;
};

/* The row in s->csv is the header. */
void lpo_nsys_set_columns(struct lpo_nsys_table *s);

struct lpo_csv_cell lpo_nsys_cell(const struct lpo_nsys_table *s, enum lpo_nsys_role role);
/* Times in ns and sizes in bytes, whatever the header's unit; exact. */
bool lpo_nsys_quantity(const struct lpo_nsys_table *s, enum lpo_nsys_role role, int64_t *out);

/* A row of each kind of report; false when it cannot be understood. */
bool lpo_nsys_sum_row(struct lpo_nsys_table *s);
bool lpo_nsys_gpu_op_row(struct lpo_nsys_table *s);
bool lpo_nsys_exec_row(struct lpo_nsys_table *s);
bool lpo_nsys_range_row(struct lpo_nsys_table *s);
bool lpo_nsys_projected_row(struct lpo_nsys_table *s);
/* After all rows of ranges. */
void lpo_nsys_split_domains(struct lpo_nsys_table *s);
