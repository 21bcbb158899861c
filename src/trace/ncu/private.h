/* SPDX-License-Identifier: Apache-2.0 */
/* trace/ncu/private.h - what the two readers of Nsight Compute (CSV pages, .ncu-rep) have in
 * common.
 *
 * Both give GPU operations without a place on the clock, a row of metrics in base units (ns, byte,
 * hz, %), the launch's shape, the ranges around it, and what the metrics say about the device. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/trace.h"

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
