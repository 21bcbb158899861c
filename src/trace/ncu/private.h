/* SPDX-License-Identifier: Apache-2.0 */
/* trace/ncu/private.h - what the two readers of Nsight Compute (CSV pages, .ncu-rep) have in
 * common.
 *
 * Both give GPU operations without a place on the clock, a row of metrics in base units (ns, byte,
 * hz, %), the launch's shape, the ranges around it, and what the metrics say about the device. */
#pragma once

#include "trace/trace.h"
#include "util/csv.h"

enum { LPO_NCU_UNIT = 48 };

/* A printed unit in base units: "Mbyte/s" is 1e6 and "byte/s", "us" is 1e3 and "ns". What is not
 * known stays as it is, times 1. */
double lpo_ncu_unit_scale(const char *unit, size_t len, char base[LPO_NCU_UNIT]);
/* The base unit of a metric, by its name; "" when the name does not say. Reports hold no units. */
const char *lpo_ncu_metric_unit(const char *name, char base[LPO_NCU_UNIT]);

/* Metrics that are facts about the launch or the GPU and not about the run. */
enum lpo_ncu_fact {
    LPO_NCU_NONE, /* an ordinary metric */
    LPO_NCU_DURATION,
    LPO_NCU_DURATION_OTHER, /* .avg, .max, …: used where there is no .sum */
    LPO_NCU_REGISTERS,
    LPO_NCU_STATIC_SMEM,
    LPO_NCU_DYNAMIC_SMEM,
    LPO_NCU_DEVICE_ID,
    LPO_NCU_DEVICE_NAME,  /* text */
    LPO_NCU_DEVICE_OTHER, /* a device attribute that we keep no place for */
    LPO_NCU_SMS,
    LPO_NCU_CC_MAJOR,
    LPO_NCU_CC_MINOR,
    LPO_NCU_MEMORY,
    LPO_NCU_L2,
    LPO_NCU_SM_CLOCK,
    LPO_NCU_MEM_CLOCK,
    LPO_NCU_BUS,
};

enum lpo_ncu_fact lpo_ncu_fact_of(const char *name, size_t len);
/* Facts of the launch are metrics too; those of the device are not. */
static inline bool lpo_ncu_is_metric(enum lpo_ncu_fact fact)
{
    return fact < LPO_NCU_DEVICE_ID;
}

/* One result while it is being read. */
struct lpo_ncu_result {
    double fact[LPO_NCU_BUS + 1]; /* NaN: not given */
    uint32_t device_name;         /* LPO_NONE */
    uint32_t grid[3], block[3];
    bool has_shape;
};

void lpo_ncu_result_reset(struct lpo_ncu_result *r);
/* Appends the GPU operation; `w` brings name, process, stream, stack and metrics. Where the result
 * does not name the device, `device` does. Returns its index. */
uint32_t lpo_ncu_push(struct lpo_trace *t, struct lpo_gpu_op w, const struct lpo_ncu_result *r,
                      int32_t device);
/* As lpo_ncu_push, for a GPU operation that grows row by row. */
void lpo_ncu_update(struct lpo_trace *t, uint32_t gpu_op, const struct lpo_ncu_result *r);

/* The stack that the two NVTX cells of a CSV row show. `threads` counts the threads listed in the
 * push/pop cell: with more than one, the first is taken. */
uint32_t lpo_ncu_cells_stack(struct lpo_trace *t, const char *push_pop, size_t push_pop_len,
                             const char *start_end, size_t start_end_len, unsigned *threads);

/* --- rules: rules.c ------------------------------------------------------------------------ */

/* The name of a text of a rule. ncu marks references in it: "@section:Id:Title@" becomes
 * the title and "@url:Title:https://…@" title and address, as its details page prints them. */
uint32_t lpo_ncu_rule_text(struct lpo_trace *t, const char *text, size_t len);
/* Keeps it, unless there are far too many. */
void lpo_ncu_rule_add(struct lpo_trace *t, const struct lpo_rule *rule);

/* A page of `ncu --csv` while it is read; csv.c and csv_details.c share it.
 */
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
