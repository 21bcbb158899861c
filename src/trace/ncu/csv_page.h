/* SPDX-License-Identifier: Apache-2.0 */
/* trace/ncu/csv_page.h - a page of `ncu --csv` while it is read; csv.c and csv_details.c share it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/ncu/private.h"
#include "util/csv.h"
#include "util/str.h"
#include "util/vec.h"

struct lpo_map;

enum ncu_role {
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
    LPO_NCU_RULE,
    LPO_NCU_RULE_KIND,
    LPO_NCU_RULE_TEXT,
    LPO_NCU_SPEEDUP_KIND,
    LPO_NCU_SPEEDUP,
    LPO_NCU_ROLES,
};

struct ncu_column {
    uint8_t role, fact;
    uint32_t name, unit; /* as names of the trace; the unit is the base one, or LPO_NONE */
    uint32_t metric;     /* LPO_NONE until the first number in this column */
    double scale;        /* from the printed unit to the base one */
};

struct ncu_page {
    struct lpo_trace *t;
    struct lpo_csv *csv;
    LPO_VEC(struct ncu_column) columns; /* details: behind those of the header, its metrics */
    int at[LPO_NCU_ROLES];              /* column of a role, -1 when absent */
    struct lpo_str text, key;           /* scratch */
    struct lpo_map *stacks;             /* NVTX cells to stack + 1 */
    struct lpo_map *gpu_ops;            /* details: process and ID to GPU operation */
    struct lpo_map *labels;             /* details: section, name and unit to row of `columns` */
    LPO_VEC(struct lpo_ncu_result)
    results; /* details: one for each GPU operation from first_gpu_op */
    uint32_t first_gpu_op;
    int64_t last_pid;
    uint32_t last_process;
    uint64_t values;                     /* numbers in the table of metrics */
    uint64_t bare_results, left_metrics; /* kernels and values that the table has no room for */
    uint64_t several_threads, odd_rows;
};

/* The cell of a role in the present row; empty when absent. */
static inline struct lpo_csv_cell lpo_ncu_csv_cell(const struct ncu_page *p, enum ncu_role role)
{
    int at = p->at[role];

    if (at < 0 || (size_t)at >= p->csv->count)
        return (struct lpo_csv_cell){ "", 0, false };
    return p->csv->cells[at];
}

/* What the present row says about its kernel. */
struct lpo_gpu_op lpo_ncu_csv_gpu_op(struct ncu_page *p, struct lpo_ncu_result *r, int32_t *device);
/* LPO_NONE when metrics are not wanted, or there is no room for more kernels. */
uint32_t lpo_ncu_csv_metric_row(struct ncu_page *p);
/* A cell as a fact of the result and, unless `row` is LPO_NONE, as a metric. */
void lpo_ncu_csv_set_value(struct ncu_page *p, struct ncu_column *c, uint32_t row,
                           struct lpo_ncu_result *r, struct lpo_csv_cell cell);

/* A row of the details page (csv_details.c): one metric of one kernel, or what a rule advises. */
void lpo_ncu_details_row(struct ncu_page *p);
