/* SPDX-License-Identifier: Apache-2.0 */
/* analysis/limits/limits.h - needed, measured, possible: how far each region is from what the
 * hardware allows.
 *
 * The static analysis (static_compute.json) says what a part of the model needs; the regions say
 * what it took. A region maps to a part of the model by its name: `prefill` and `decode` are
 * phases, `step` one decode step, `layer3`, `attn`, `mlp`, `lm_head` parts of the decoder, `sam`,
 * `clip`, `vision`, `projector` parts of the vision side; config `report.mapping` renames others.
 * For any other program the user states what regions need (config `report.needs`); what is stated
 * wins over the model. A region of which nobody says anything keeps its measurements and has no
 * need.
 *
 * Everything comes from artifacts, so the report of a run can be rebuilt anywhere. */
#pragma once

#include "rundir/needs.h"

struct lpo_analysis;
struct lpo_hardware;
struct lpo_json;
struct lpo_rundir;
struct lpo_source;

/* What ncu counted in a region, or sampled counters where ncu did not; else unknown. */
struct lpo_counters {
    struct lpo_measure flops, dram_bytes;
    struct lpo_measure sm_percent, dram_percent, occupancy_percent; /* of their peaks, 0 … 100 */
    /* Sampled alone: the time that tensor cores worked and that SMs had a warp, in percent; DRAM
     * bytes of a second of GPU time. */
    struct lpo_measure tensor_percent, sm_active_percent, dram_rate;
    bool sampled; /* dram_bytes and dram_percent are */
};

/* A region as measured. Parents come before their children. */
struct lpo_limits_region {
    const char *path;
    uint32_t parent; /* row, or UINT32_MAX */
    uint64_t visits; /* 0: not known */
    int64_t gpu_ns;  /* kernels, children included; -1: no GPU operation recorded */
    int64_t host_ns; /* -1: not known */
    int64_t host_gap_ns, other_gap_ns; /* GPU idle inside the region: the host was late, or not */
    /* First visits that take longer than later ones, and their part of the times above; 0: none
     * do. Less than `visits`. */
    uint64_t firsts;
    int64_t first_gpu_ns, first_host_ns, first_host_gap_ns, first_other_gap_ns;
    int64_t launch_gap_ns; /* of host_gap_ns, in no such visit: around first launches of kernels */
    /* Regions that differ in numbers only have the same `line`, which is not 0 where one of them
     * (`is_first`, "step0") is the first call of all. */
    uint32_t line;
    bool is_first;
    struct lpo_counters counters;
};

struct lpo_limits_input {
    const struct lpo_json *needed;       /* static_compute.json, parsed; NULL: no model */
    struct lpo_stated_needs stated;      /* report.needs */
    const struct lpo_hardware *hardware; /* hardware.json; NULL: only what `needed` says of it */
    enum lpo_dtype dtype;                /* of stated needs that name none */
    const struct lpo_limits_region *regions;
    size_t nregions;
    struct lpo_stated_mappings mappings; /* report.mapping */
    uint64_t steps; /* decode steps of one visit to `decode`, where no range `step` shows them; 0:
                       unknown */
};

enum lpo_held {
    LPO_HELD_UNKNOWN,
    LPO_HELD_COMPUTE,
    LPO_HELD_MEMORY,
    LPO_HELD_LAUNCH, /* the GPU waits for the host */
    LPO_HELD_IDLE,   /* the GPU waits for something else */
    LPO_HELD_OCCUPANCY,
    LPO_HELD_OVERHEAD, /* far from both roofs, and no counter says why */
};

/* What that rests on; its numbers are those of the row. Words: report/limits/words.c. */
enum lpo_limits_reason {
    LPO_REASON_NONE,
    LPO_REASON_IDLE,      /* idle_ns of measured_ns, and which gap is larger */
    LPO_REASON_COUNTERS,  /* sm_percent and dram_percent */
    LPO_REASON_WARPS,     /* occupancy_percent, beside those two */
    LPO_REASON_SAMPLES,   /* tensor_percent and dram_percent, sampled */
    LPO_REASON_FEW_SMS,   /* sm_active_percent, sampled */
    LPO_REASON_NEAR_ROOF, /* share of the roof that need_compute_ns and need_memory_ns give */
    LPO_REASON_FAR_FROM_ROOF,
};

/* Where first calls take longer than later ones, all but `counters`, `all_busy_ns` and what
 * begins with `first` is about the later calls. A row that is a first call as a whole ("step0", and
 * the regions inside it) has neither a need nor a time but `first_ns`, and is not ranked. */
struct lpo_limit_row {
    const char *path;  /* as measured */
    const char *means; /* "prefill/decoder/layer3/attn"; NULL: no part of the model, or stated */
    bool stated;       /* its need was, by the user */
    uint32_t parent;   /* row of `rows`, or UINT32_MAX */
    bool top;          /* mapped or stated, and no region around it is */
    int phase;         /* of enum lpo_phase_kind, or -1 */
    double runs;       /* passes of the phase, or visits, that the need was multiplied by */
    const char *dtype; /* whose dense rate is the roof; NULL: not known, or several */
    double peak, sheet_peak; /* that rate; 0: not known, or several */
    struct lpo_measure needed_flops, needed_bytes, limit_ns;
    struct lpo_measure best_ns, to_best; /* as its kernels were measured best; over measured_ns */
    struct lpo_measure sheet_ns;         /* the FLOPs alone at the sheet's rate: MFU */
    double need_compute_ns, need_memory_ns; /* the two roofs, summed; 0 without hardware */
    struct lpo_measure
        measured_ns; /* GPU operations and the idle time inside; host time without a GPU */
    struct lpo_measure busy_ns, idle_ns;
    double host_gap_ns, other_gap_ns; /* the parts of idle_ns */
    bool own_first;     /* its own first calls are left out, else those of regions inside */
    double first_calls; /* that are left out, of regions inside too; 0: none */
    struct lpo_measure first_ns; /* of them, and idle time around first launches of kernels: what
                   measured_ns leaves out; unknown: nothing */
    double all_busy_ns;          /* busy_ns of all calls; 0 without a GPU */
    struct lpo_measure flop_rate, byte_rate;      /* needed over measured: what was achieved */
    struct lpo_measure mfu, bandwidth_use, share; /* 0 … 1; share is limit over measured */
    struct lpo_measure saving_ns;
    struct lpo_counters counters;
    enum lpo_held held;
    enum lpo_limits_reason reason;
};

/* What the user should know about the limits, and could change. */
enum lpo_limits_note_kind {
    LPO_LIMITS_NO_REGION,       /* no region fits this key of report.needs or report.mapping */
    LPO_LIMITS_NO_VISITS,       /* a stated region whose visits are not in the trace */
    LPO_LIMITS_NO_DTYPE,        /* a stated region without a number format: no MFU */
    LPO_LIMITS_NO_PART,         /* report.mapping names something that is no part of a model */
    LPO_LIMITS_NO_NAMED_REGION, /* no region is named after a part of the model */
    LPO_LIMITS_NO_STEPS,        /* how many steps `decode` holds is not known */
    LPO_LIMITS_NO_HARDWARE,
};

struct lpo_limits_note {
    enum lpo_limits_note_kind kind;
    bool mapping;       /* of report.mapping, else of report.needs */
    const char *region; /* its key; NULL: of no entry */
    const char *means;  /* its value, where that is what is wrong */
    const char *near;   /* what may have been meant; NULL: nothing is near */
};

struct lpo_limits {
    struct lpo_arena *arena;
    LPO_VEC(struct lpo_limit_row) rows; /* in the regions' order */
    uint32_t *by_saving; /* rows with a need and a time, largest saving first; `ranked` of them */
    size_t ranked;
    struct lpo_limit_row model;            /* all top rows together */
    bool has_model;                        /* a static analysis was given */
    const char *hardware, *source, *dtype; /* NULL without hardware */
    double peak, sheet_peak, bandwidth;    /* per second; 0 without hardware */
    LPO_VEC(struct lpo_limits_note) notes;
};

/* Copies what it keeps. Fails only when a `needed` that was given is not a static analysis. */
int lpo_limits_create(const struct lpo_limits_input *in, struct lpo_limits **out,
                      struct lpo_err *err);
void lpo_limits_destroy(struct lpo_limits *l); /* NULL is fine */
LPO_AUTO_DEFINE(lpo_limits);

/* Puts the sums of another row to those of the first: what is not known of one is not known of
 * both. Judge the row when it is complete. */
void lpo_limits_row_add(struct lpo_limit_row *to, const struct lpo_limit_row *r);
/* Rates, shares and what holds a row back, from its sums: for rows that were put together. */
void lpo_limits_row_judge(const struct lpo_limits *l, struct lpo_limit_row *r);

typedef LPO_VEC(struct lpo_limits_region) lpo_limits_regions;

/* All regions of a trace, as lpo_limits_create() wants them. Paths live in the arena; free the
 * vector. */
void lpo_limits_regions_of(struct lpo_arena *a, const struct lpo_analysis *analysis,
                           lpo_limits_regions *out);

/* NULL when the run has no trace, or neither a static analysis nor report.needs; with `err` set
 * when one of its files cannot be read. Use lpo_analysis_limits(), which computes them once. */
struct lpo_limits *lpo_limits_of_run(const struct lpo_rundir *d, const struct lpo_source *s,
                                     struct lpo_err *err);
