/* SPDX-License-Identifier: Apache-2.0 */
/* analysis/counters/layer.h - one GPU while its samples are laid over its operations. Private to
 * the files of sampled.h. */
#pragma once

#include "analysis/counters/least_squares.h"
#include "analysis/counters/sampled.h"
#include "analysis/counters/sweep.h"
#include "region/classes.h"
#include "trace/trace.h"

enum {
    LPO_LAYER_CLASSES = LPO_CLASSES + LPO_MEMSET, /* of kernels, then copies, then memsets */
    LPO_LAYER_FEW = 40 + LPO_LAYER_CLASSES,       /* unknowns while the shift is searched */
};

/* Counters whose samples lie ahead of the operations by the same time. */
enum lpo_sampled_family {
    LPO_FAMILY_MEMORY,
    LPO_FAMILY_SM,
    LPO_FAMILY_TENSOR,
    LPO_FAMILIES,
};

/* What least squares look for: the amount of one launch of a configuration, or of a microsecond of
 * any in a class. */
struct lpo_sampled_unknown {
    double unit_ns; /* time of one: the mean launch, or a microsecond */
    bool by_time;   /* launches differ in length: each counts by its time */
    uint8_t class;  /* enum lpo_region_kernel_class, then copies, then memsets */
};

/* Operations that share a row of metrics. */
struct lpo_sampled_group {
    uint64_t count;
    int64_t ns;
    double covered_ns;
    uint32_t old_row, row; /* of the trace's metrics */
};

struct lpo_layer {
    struct lpo_trace *trace;
    const struct lpo_region_tree *tree;
    const struct lpo_sample_source *source;
    struct lpo_sweep_ops ops;
    uint32_t *rows;               /* per entry of ops: of gpu_ops */
    struct lpo_sweep_time *times; /* owned; ops.times */
    uint32_t *config;             /* per entry of ops: into gpu->configs */
    uint32_t *group;              /* per entry of ops */
    uint32_t *place;              /* per entry of ops: into tree->places */
    LPO_VEC(struct lpo_sampled_group) groups;
    LPO_VEC(struct lpo_sampled_unknown) unknowns;
    double *amounts;  /* per group and metric */
    double *baseline; /* per metric: what sampling itself moves in a ns, at the first interval */
    size_t nmetrics;
    size_t family_first[LPO_FAMILIES + 1]; /* into by_family */
    size_t *by_family;                     /* metrics, those of one family together */
    int64_t shift_ns[LPO_FAMILIES];
    bool shift_sure[LPO_FAMILIES];
    struct lpo_sampled_gpu *gpu;
    /* of one equation */
    double *factor; /* per unknown; 0: not in it */
    LPO_VEC(struct lpo_term) terms;
};

/* Operations of the device, their configurations, unknowns and groups. False: there is none. */
bool lpo_counters_layer_open(struct lpo_layer *l, uint16_t device);
void lpo_counters_layer_close(struct lpo_layer *l);
/* The terms of the equation of the sample that a sweep is at, with unknowns mapped by `to` (NULL:
 * as they are). */
void lpo_counters_layer_terms(struct lpo_layer *l, const struct lpo_sample_sweep *s,
                              const uint32_t *to);
/* The value of a metric as an amount, without what sampling itself moves; NAN: unknown. */
double lpo_counters_layer_amount(const struct lpo_layer *l, const struct lpo_counters_sample *s,
                                 size_t metric);
/* How many times the first interval that of this sample is. */
double lpo_counters_layer_slower(const struct lpo_layer *l, const struct lpo_counters_sample *s);
enum lpo_sampled_family lpo_counters_family(enum lpo_counters_meaning meaning);

/* into_trace.c: the metrics of the GPU and their names; the bins over time; and at the end,
 * columns, rows and series of the trace. */
void lpo_counters_layer_metrics(struct lpo_layer *l);
void lpo_counters_layer_series(struct lpo_layer *l);
void lpo_counters_layer_widen_series(struct lpo_layer *l); /* bins hold the longest interval */
void lpo_counters_layer_put(struct lpo_layer *l);
/* baseline.c: what sampling itself moves, from samples in which nothing ran. */
void lpo_counters_layer_baseline(struct lpo_layer *l);
/* clock.c: fills clock_… of the GPU, shift_ns and shift_sure; moves the operations when the clocks
 * differ for sure. */
void lpo_counters_layer_clock(struct lpo_layer *l);
