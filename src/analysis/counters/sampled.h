/* SPDX-License-Identifier: Apache-2.0 */
/* analysis/counters/sampled.h - hardware counters that were sampled beside a trace, laid over it.
 *
 * A sample says what one GPU did in some 50 us: bytes moved, pipes busy. The trace says which
 * operations ran in that time. Three walks over the samples, none of which keeps them:
 *
 * 1. clock.h: are both on one clock, and does a counter run ahead of the operations?
 * 2. How much of each counter belongs to one launch of each kernel configuration: least squares
 *    over all samples, one equation each (least_squares.h).
 * 3. What each sample counted is divided among the operations that ran in it, by the time they ran
 *    in it times the rate of their configuration from step 2. So the sum over all operations is
 *    what was counted, exactly; only the borders between neighbours are an estimate.
 *
 * A sample in which nothing of the trace ran belongs to nobody here: another process, or work
 * that the trace did not record.
 *
 * The amounts go into the trace as metrics of its operations (struct lpo_metric, `sampled`), so
 * that every table of every scope has them. Operations of one place, name and launch shape share a
 * row, which holds their mean: sums over regions stay what they are, and a million operations cost
 * no more memory than the places they were launched from. */
#pragma once

#include "analysis/counters/calls.h"
#include "trace/counters/counters.h"

struct lpo_region_tree;
struct lpo_trace;

enum {
    LPO_SAMPLED_BINS = 2000,     /* of the series over time */
    LPO_SAMPLED_UNKNOWNS = 1024, /* configurations with a figure of their own */
    LPO_SAMPLED_INTERVALS = 16,  /* more are those of a damaged file */
};

/* Where samples come from: a file, or a table of a test. */
struct lpo_sample_source {
    const struct lpo_counters_about *about;
    bool (*next)(void *ctx, struct lpo_counters_sample *out); /* false: the end */
    void (*rewind)(void *ctx);
    void *ctx;
};

struct lpo_sample_source lpo_counters_source_of_file(struct lpo_counters_file *file);

/* A counter over the whole time. Shares are kept as percent times nanoseconds, so that they add up
 * like amounts. */
struct lpo_sampled_metric {
    const char *name;    /* ours: "dram_bytes_read"; owned by the trace */
    const char *counter; /* CUPTI's: "dram__bytes_read.sum"; the same */
    const char *unit;
    enum lpo_counters_meaning meaning;
    enum lpo_counters_kind kind;
    uint32_t column; /* metric of the trace */
    double total;    /* of all samples between the first and the last operation */
    double others;   /* of it, in samples without an operation of the trace */
    double quiet;    /* of `others`: no SM worked in the sample; the driver clears memory so */
    double outside;  /* in samples before the first and after the last operation */
    /* of a ns, at the first interval: what sampling itself moves; it is in none of the above */
    double baseline;
    int64_t shift_ns; /* the counter runs ahead of the operations by this */
    bool shift_sure;
    double r2, fitted; /* of the least squares; fitted is its total over the true one */
};

/* One launch of a kernel in one configuration, or a copy of one size. */
struct lpo_sampled_config {
    uint32_t name, shape; /* of the trace; shape LPO_NONE: a copy, memset or not known */
    uint64_t bytes;       /* copies and memsets: what the call asked for */
    uint8_t kind;         /* enum lpo_gpu_op_kind */
    uint64_t launches;    /* in the trace */
    int64_t ns;           /* of all of them */
    uint32_t op;          /* one of them: of gpu_ops */
    uint32_t unknown;     /* row of values */
    bool single;          /* this configuration has an unknown of its own */
};

/* What of a region's time and bytes lies in samples that another region had a part in. */
struct lpo_sampled_border {
    double ns;    /* GPU time of its operations in such samples */
    double bytes; /* DRAM bytes of such samples that it was given */
};

/* A sampler with a budget makes its interval longer (docs/counters.md). */
struct lpo_sampled_interval {
    int64_t from_ns;     /* the start of its first sample, in Unix ns */
    int64_t interval_ns; /* as asked for */
    uint64_t samples;
};

/* One GPU. */
struct lpo_sampled_gpu {
    uint16_t device;         /* into devices of the trace */
    const char *chip, *host; /* copies */
    int64_t interval_ns;     /* of the first samples */
    /* in the order of time, at most LPO_SAMPLED_INTERVALS; none: the samples do not say it */
    LPO_VEC(struct lpo_sampled_interval) intervals;
    int64_t sampler_cpu_ns, sampler_wall_ns; /* what sampling took; -1 unknown */
    uint64_t samples, busy, lost; /* all; with an operation; as the file counts its losses */
    int64_t lost_ns;
    int64_t covered_ns;     /* GPU time of operations that samples cover */
    int64_t gpu_ns;         /* of all operations of the device */
    int64_t clock_ns;       /* what was added to times of the trace, besides its epoch */
    int64_t clock_found_ns; /* where SM activity and busy time fit best */
    double clock_fit;       /* correlation there, 0 … 1 */
    bool clock_sure;
    struct lpo_sampled_metric *metrics;
    size_t nmetrics;
    LPO_VEC(struct lpo_sampled_config) configs; /* most GPU time first */
    size_t unknowns;
    double *value, *error; /* per metric and unknown: of one launch, and its standard error */
    uint64_t left_out;     /* operations: too many at one time */
    uint64_t shares;       /* operations timed by their share of a CUDA graph: no figure each */
    /* Over time: bins of equal length from first_ns, each metric's amount in it, then the time
     * that samples cover of it: [bin * (nmetrics + 1)] */
    int64_t first_ns, bin_ns;
    size_t bins;
    double *series;
    /* Single calls of regions (calls.h): those with figures, by node, the first one before the
     * others; and how many there are of each node. */
    LPO_VEC(struct lpo_sampled_call) calls;
    uint64_t *node_calls;
};

struct lpo_counters_sampled {
    LPO_VEC(struct lpo_sampled_gpu) gpus;
    struct lpo_sampled_border *borders; /* per node of the tree; sums of all GPUs */
    size_t nodes;
};

/* Lays the samples of one GPU over the operations of `device`, adding metrics to the trace of the
 * tree. False: not one sample has an operation, and nothing was changed. */
bool lpo_counters_lay_samples(struct lpo_counters_sampled *s, struct lpo_trace *trace,
                              const struct lpo_region_tree *tree, uint16_t device,
                              const struct lpo_sample_source *source);
struct lpo_counters_sampled *lpo_counters_sampled_create(const struct lpo_region_tree *tree);
void lpo_counters_sampled_destroy(struct lpo_counters_sampled *s); /* NULL is fine */
LPO_AUTO_DEFINE(lpo_counters_sampled);

static inline bool lpo_counters_is_dram(enum lpo_counters_meaning m)
{
    return m == LPO_COUNTER_DRAM_READ || m == LPO_COUNTER_DRAM_WRITE || m == LPO_COUNTER_DRAM_BYTES;
}

/* The figure of one launch of a configuration: unknown where its standard error is more than a
 * fifth of it, where it shares its unknown with others, or where the least squares explain less
 * than nine tenths. */
bool lpo_counters_config_known(const struct lpo_sampled_gpu *g, size_t metric,
                               const struct lpo_sampled_config *c);
/* DRAM bytes of one launch, both ways, and their standard error; false: not known. */
bool lpo_counters_config_dram(const struct lpo_sampled_gpu *g, const struct lpo_sampled_config *c,
                              double *bytes, double *error);
/* The percentage of a share while a launch of the configuration runs; false: not known. */
bool lpo_counters_config_share(const struct lpo_sampled_gpu *g, const struct lpo_sampled_config *c,
                               enum lpo_counters_meaning meaning, double *percent, double *error);
/* How much of the DRAM bytes was counted while nothing of the trace ran, 0 … 1; and how much of it
 * while no SM worked, where that is known. */
double lpo_counters_others_share(const struct lpo_sampled_gpu *g);
double lpo_counters_quiet_share(const struct lpo_sampled_gpu *g);
/* The metric of this meaning; NULL: it was not sampled. */
const struct lpo_sampled_metric *lpo_counters_sampled_find(const struct lpo_sampled_gpu *g,
                                                           enum lpo_counters_meaning meaning);
