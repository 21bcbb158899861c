/* trace/ncu/csv.h - private to the reader of ncu's CSV pages: what each column means. */
#pragma once

#include "trace/ncu/ncu.h"
#include "util/csv.h"
#include "util/str.h"

struct lpo_err;
struct lpo_map;

enum lpo_ncu_role {
    LPO_NCU_SKIP,
    LPO_NCU_METRIC, /* raw page: the column's name is the metric's */
    LPO_NCU_FACT,   /* raw page: a fact of the launch or the device */
    LPO_NCU_ID,
    LPO_NCU_PID,
    LPO_NCU_PROGRAM,
    LPO_NCU_KERNEL,
    LPO_NCU_STREAM,
    LPO_NCU_BLOCK,
    LPO_NCU_GRID,
    LPO_NCU_DEVICE,
    LPO_NCU_CC,
    LPO_NCU_PUSH_POP,
    LPO_NCU_START_END,
    LPO_NCU_SECTION,
    LPO_NCU_NAME,
    LPO_NCU_PRINTED_UNIT,
    LPO_NCU_VALUE,
    LPO_NCU_INVOCATIONS,
    LPO_NCU_ROLES,
};

struct lpo_ncu_column {
    uint8_t role, fact;
    uint32_t name, unit; /* as names of the trace; the unit is the base one, or LPO_NONE */
    uint32_t metric;     /* LPO_NONE until the first number in this column */
    double scale;        /* from the printed unit to the base one */
};

struct lpo_ncu_page {
    struct lpo_trace *t;
    struct lpo_csv *csv;
    LPO_VEC(struct lpo_ncu_column) columns; /* details: behind those of the header, its metrics */
    int at[LPO_NCU_ROLES];                  /* column of a role, -1 when absent */
    struct lpo_str text, key;               /* scratch */
    struct lpo_map *stacks;                 /* NVTX cells to stack + 1 */
    struct lpo_map *gpu_ops;                /* details: process and ID to work */
    struct lpo_map *labels; /* details: section, name and unit to row of `columns` */
    LPO_VEC(struct lpo_ncu_result) results; /* details: beside works, from first_work */
    uint32_t first_gpu_op;
    int64_t last_pid;
    uint32_t last_process;
    uint64_t several_threads, odd_rows;
};

/* The row in p->csv names the columns. */
void lpo_ncu_set_header(struct lpo_ncu_page *p);
/* The row in p->csv holds the units of a raw page. */
void lpo_ncu_set_units(struct lpo_ncu_page *p);

/* The cell of a role in the present row; empty when absent. */
static inline struct lpo_csv_cell lpo_ncu_cell(const struct lpo_ncu_page *p, enum lpo_ncu_role role)
{
    int at = p->at[role];

    if (at < 0 || (size_t)at >= p->csv->count)
        return (struct lpo_csv_cell){ "", 0, false };
    return p->csv->cells[at];
}

/* A number of this column: to the metric matrix, or to the facts. */
void lpo_ncu_set_value(struct lpo_ncu_page *p, struct lpo_ncu_column *c, uint32_t row,
                       struct lpo_ncu_result *r, struct lpo_csv_cell cell);

/* What a row says of its kernel, everything but metrics. */
struct lpo_gpu_op lpo_ncu_row_gpu_op(struct lpo_ncu_page *p, struct lpo_ncu_result *r,
                                     int32_t *device);
