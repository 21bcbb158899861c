/* SPDX-License-Identifier: Apache-2.0 */
/* analysis/diff/digest.h - all that a comparison needs to know of one run, without its traces.
 *
 * Two traces of a gigabyte do not fit into memory together. So each run is read, analysed, reduced
 * to a digest and released before the next one is read. Every number is one that analysis/ made;
 * only the spread over calls (`calls` below) is found here, in one more sweep. */
#pragma once

#include "analysis/diff/significance.h"
#include "analysis/ladder/ladder.h"
#include "analysis/wall/wall.h"

struct lpo_analysis_run;
struct lpo_diff_digest;
struct lpo_history_numbers;

/* The parts of a wall time: they add up to the span of a device. */
enum {
    LPO_DIFF_PART_COMMUNICATION = LPO_CLASSES, /* before it compute, one for each class */
    LPO_DIFF_PART_COPY,
    LPO_DIFF_PART_IDLE, /* from here on, one for each cause */
    LPO_DIFF_PARTS = LPO_DIFF_PART_IDLE + LPO_IDLE_CAUSES
};

/* What a measure of the whole run has in place of a region's path. */
#define LPO_DIFF_WHOLE_RUN "(whole run)"

/* "compute.GEMM", "exposed_communication", "exposed_copy", "idle.host" */
const char *lpo_diff_part_name(size_t part);

struct lpo_diff_device {
    const char *scope; /* "device:0", "rank:3/device:0" */
    int64_t span_ns;
    int64_t parts[LPO_DIFF_PARTS];
    double idle_squares; /* see struct lpo_wall_device */
    bool parts_unknown;
};

enum lpo_diff_table {
    LPO_DIFF_KERNELS,   /* by name; strata are launch shapes */
    LPO_DIFF_REGIONS,   /* by folded path */
    LPO_DIFF_OPERATORS, /* by name and input shapes */
    LPO_DIFF_TABLES
};

/* Calls of one kind: of one launch shape, or all. */
struct lpo_diff_stratum {
    uint32_t grid[3], block[3]; /* all 0: not known, or not a kernel */
    uint64_t count;
    int64_t ns;
    struct lpo_diff_sample calls; /* GPU time of one call; host time where `host` of the item */
};

/* One row of a table in one run. */
struct lpo_diff_item {
    const char *key;    /* the same in every run */
    const char *name;   /* of the kernel, path of the region, name of the operator */
    const char *detail; /* kernels: short name; operators: input shapes; else "" */
    const char *linker; /* kernels: mangled name; operators: input types; "": not given */
    enum lpo_region_kernel_class class;
    uint64_t count;    /* launches, visits, calls */
    uint64_t launches; /* of kernels */
    int64_t ns;        /* GPU time, of what is inside too */
    int64_t self_ns;   /* GPU time without what is inside */
    int64_t host_ns;   /* -1: not known */
    bool known;        /* the time is */
    bool estimated;    /* shares of CUDA graphs that were timed as a whole */
    bool host;         /* no GPU time: calls have host times */
    uint32_t parent;   /* regions: row, or UINT32_MAX */
    unsigned depth;
    LPO_VEC(struct lpo_diff_stratum) strata;
};

/* What a unit of work is. */
enum lpo_diff_unit_kind { LPO_DIFF_RUN, LPO_DIFF_STEP, LPO_DIFF_CALL, LPO_DIFF_LAUNCH };

/* Units of one kind, one after another: the time from the end of one to the end of the next. */
struct lpo_diff_series {
    enum lpo_diff_unit_kind kind;
    uint32_t row; /* calls: of regions; launches: of kernels */
    uint64_t count;
    int64_t total_ns;
    LPO_VEC(double) ns; /* of one; where there are many, each value is the mean of several */
};

#define LPO_DIFF_IS_COPY 0x80000000u

/* What one kernel, or kind of copy, did in the window for one operator in one region. */
struct lpo_diff_cell {
    uint32_t region, op_row; /* rows of the tables; LPO_NONE */
    uint32_t kernel;         /* row of kernels; with LPO_DIFF_IS_COPY of copies */
    uint64_t launches;
    int64_t ns;
    int64_t wall_ns; /* of it, what nothing else owns: see window.c */
};

/* A path of slices that were open while the GPU was idle; the row of its parent stands before it.
 * Row 0 is all idle time. */
struct lpo_diff_idle {
    uint32_t parent, name; /* name: row of names */
    unsigned kind;         /* enum lpo_host_kind */
    uint64_t count;
    int64_t ns;
};

/* `key` is the same in every run. */
struct lpo_diff_name {
    const char *key, *name;
};

/* One of several regions or modules that differ in numbers only. */
struct lpo_diff_member {
    const char *family, *name;
    int64_t ns; /* GPU time of what it launched */
};

/* Something that should be the same on both sides. */
struct lpo_diff_fact {
    const char *key; /* "gpu"; "config.infer.max_new_tokens" */
    const char *value;
};

/* The GPUs while they were in use, by the samples of NVML: medians, NAN where not known. */
struct lpo_diff_load {
    uint64_t samples; /* 0: there are none, or too few */
    double sm_mhz, watts, celsius;
    double slowed;    /* share of samples with a reason that makes the GPU slower */
    uint64_t reasons; /* all of those, see lpo_power_throttle_add() */
};

/* Figures of a memory snapshot: its peak, and what an owner held then. */
#define LPO_DIFF_SNAPSHOT_PEAK  "snapshot_peak_bytes"
#define LPO_DIFF_SNAPSHOT_OWNER "snapshot_bytes at "

/* A figure of speed, memory or energy, one value for each repeat. */
struct lpo_diff_figure {
    const char *key; /* "tokens_per_s", "ttft_ms", "peak_device_bytes" */
    LPO_VEC(double) values;
};

struct lpo_diff_finding {
    enum lpo_rung_kind kind;
    const char *where; /* folded path of the region; "": no single one */
    const char *call;  /* "": none */
    int64_t saving_ns;
};

/* A hardware counter, or the distance from a limit, of one region or the whole run. */
struct lpo_diff_measure {
    uint32_t region;         /* row of regions; UINT32_MAX: the whole run */
    const char *name, *unit; /* "dram_bytes_read", "mfu"; unit "" where there is none */
    double value;
};

const char *lpo_diff_measure_path(const struct lpo_diff_digest *d,
                                  const struct lpo_diff_measure *m);

enum { LPO_DIFF_STRIP = 400 };

struct lpo_diff_digest {
    struct lpo_arena *arena;
    const char *label; /* the path as given */
    LPO_VEC(struct lpo_diff_item) items[LPO_DIFF_TABLES];
    LPO_VEC(struct lpo_diff_series) series; /* the best one first */
    int64_t window_ns;                      /* what cells and idle time add up to; 0: no clock */
    LPO_VEC(struct lpo_diff_cell) cells;
    LPO_VEC(const char *) copies;
    LPO_VEC(struct lpo_diff_name) names;
    LPO_VEC(struct lpo_diff_idle) idle;
    LPO_VEC(struct lpo_diff_member) members;
    LPO_VEC(struct lpo_diff_device) devices; /* longest span first */
    LPO_VEC(struct lpo_diff_fact) facts;
    struct lpo_diff_load load;
    LPO_VEC(struct lpo_diff_figure) figures;
    LPO_VEC(struct lpo_diff_finding) findings;
    LPO_VEC(struct lpo_diff_measure) measures;
    uint8_t strip[LPO_DIFF_STRIP]; /* a part for each piece of the critical GPU's span */
    bool has_strip;
    int64_t gpu_ns; /* of all kernels */
    double flops;   /* of operators whose need is known; 0: of none */
    uint64_t launches, lost;
    bool replay, sums;  /* times of ncu's replay; sums alone, without a clock */
    uint32_t step;      /* row of regions whose visits are steps; UINT32_MAX: none */
    uint64_t steps;     /* of one process; 0: not known */
    double noise;       /* variation between repeats; 0: not known */
    double noise_limit; /* run.max_cv */
};

/* NULL where the run has no trace. Copies what it keeps. */
struct lpo_diff_digest *lpo_diff_digest_create(struct lpo_analysis_run *run, const char *label);
/* Of numbers that another program measured: figures alone. */
struct lpo_diff_digest *lpo_diff_digest_of_numbers(const struct lpo_history_numbers *n,
                                                   const char *label);
void lpo_diff_digest_destroy(struct lpo_diff_digest *d); /* NULL is fine */
/* Of the facts; NULL: not known. */
const char *lpo_diff_digest_fact(const struct lpo_diff_digest *d, const char *key);
LPO_AUTO_DEFINE(lpo_diff_digest);
