/* SPDX-License-Identifier: Apache-2.0 */
/* analysis/ladder/ladder.h - from the measured time down to the floor, one change at a time.
 *
 * A rung is an experiment in the graph of what waited for what (analysis/critical): the trace is
 * replayed with one thing changed. Candidates come from the trace, each with the evidence that it
 * is there. The one that saves most is taken, then the one that saves most on top of it, until the
 * best one left saves less than 1 % of the window. So the savings of the rungs add up: the window
 * less all of them is `after_ns` of the last. Numbers and codes only; report/findings has the
 * words, docs/findings.md a paragraph for each kind. */
#pragma once

#include "util/base.h"

struct lpo_analysis;
struct lpo_rundir;
struct lpo_source;

enum lpo_rung_kind {
    LPO_RUNG_BLOCKED,       /* the host waits for the GPU in a call, and launches nothing */
    LPO_RUNG_DATA,          /* loading, decoding, tokenizing, preprocessing */
    LPO_RUNG_HOST,          /* other work of the host */
    LPO_RUNG_PAUSE,         /* the same, in few of the steps */
    LPO_RUNG_COMPILE,       /* compilation and tuning in steady steps */
    LPO_RUNG_FIRST,         /* code is loaded, things run for the first time */
    LPO_RUNG_ALLOCATOR,     /* calls that allocate or free memory */
    LPO_RUNG_LAUNCH,        /* the host launches more slowly than the GPU works */
    LPO_RUNG_COMMUNICATION, /* nothing is computed meanwhile */
    LPO_RUNG_SAME_STREAM,   /* nor could it: it runs on the stream of the computing */
    LPO_RUNG_MESSAGES,      /* many small collectives one after another */
    LPO_RUNG_PAGEABLE,      /* copies from or to host memory that is not pinned */
    LPO_RUNG_COPIES,        /* other copies, alone */
    LPO_RUNG_LAYOUT,        /* kernels that only copy, cast or transpose */
    LPO_RUNG_ATTENTION,     /* scores go through memory between two products */
    LPO_RUNG_FUSE,          /* runs of element-wise kernels */
    LPO_RUNG_FP32,          /* products without tensor cores */
    LPO_RUNG_SIBLING,       /* one of N equal layers takes longer */
    LPO_RUNG_ROOF,          /* an operator far below what its kind reaches */
    LPO_RUNG_BEST,          /* the same, below what its shape reaches where it is done best */
    LPO_RUNG_COLLECTIVE,    /* a collective below what NCCL reaches with its size */
    LPO_RUNG_REGION,        /* the same of a region, by its model */
    LPO_RUNG_TAIL,          /* the last wave of blocks leaves SMs idle */
    LPO_RUNG_OCCUPANCY,     /* few warps fit on an SM, and neither roof is near */
    LPO_RUNG_GRID,          /* far fewer blocks than SMs */
    LPO_RUNG_RECOMPUTATION, /* forward work that the backward pass does again */
    LPO_RUNG_THROTTLING,    /* the GPU itself says that it was slowed down */
    LPO_RUNG_RANK,          /* one rank computes longer than the others */
    LPO_RUNG_RANK_HOST,     /* the GPU of one rank waits for its host */
    LPO_RUNG_RANK_PAUSE,    /* one rank, once */
    LPO_RUNG_LINK,          /* one group of ranks sends slower than others */
    LPO_RUNG_EXPERTS,       /* one rank has more to do for its experts */
    LPO_RUNG_BUBBLES,       /* stages of a pipeline wait for each other */
    LPO_RUNG_RANKS_UNEVEN,  /* now one rank is last, now another */
    LPO_RUNG_MISMATCH, /* of flight recorders, as enum lpo_flight_verdict_kind: what a job hangs in
                        */
    LPO_RUNG_MISSING,
    LPO_RUNG_SILENT,
    LPO_RUNG_STUCK,
    LPO_RUNG_REFUSED, /* of a memory snapshot: a request failed for want of memory */
    LPO_RUNG_MEMORY,  /* of a memory snapshot: what the peak consists of */
    LPO_RUNG_KERNEL,  /* of an ncu report: what holds its longest kernel back */
    LPO_RUNG_KINDS
};

enum lpo_rung_basis {
    LPO_BASIS_MEASURED,
    LPO_BASIS_SIMULATED,
    LPO_BASIS_ESTIMATED,
    LPO_BASIS_REFERENCE
};

/* What makes any rung less sure; reports say it first. */
enum lpo_caution_kind {
    LPO_CAUTION_JOBS,      /* the traces are of different jobs */
    LPO_CAUTION_OTHER_RUN, /* one of them is of another run of the same program */
    LPO_CAUTION_NOISE,     /* repeats vary more than run.max_cv */
    LPO_CAUTION_SHORT,     /* too little time was recorded */
    LPO_CAUTION_FEW,       /* too few kernels were recorded */
    LPO_CAUTION_NO_LAUNCH, /* operations without a launch record, as when a capture begins late */
    LPO_CAUTION_UNKNOWN,   /* idle time without a cause */
    LPO_CAUTION_OUTSIDE,   /* work outside every region */
    LPO_CAUTION_LOST,      /* the source lost records */
    LPO_CAUTION_STACKS,    /* Python calls were recorded, and the GPU waits for the host */
    LPO_CAUTION_RANGES,    /* the same of a range around every operator */
    LPO_CAUTION_PROFILER,  /* what that costs was taken out before the first rung */
    LPO_CAUTION_COUNTED,   /* the profiler counted something of each kernel meanwhile */
    LPO_CAUTION_EARLIER,   /* the host waits for work that was launched before the capture began */
    LPO_CAUTION_BUSY,      /* the GPU was busy with such work at first: left out of the window */
    LPO_CAUTION_GRAPH_NODES, /* stretches of CUDA graphs in which no node was recorded */
    LPO_CAUTION_CAPTURED,    /* CUDA graphs were being captured */
    LPO_CAUTION_UNEXPLAINED, /* part of the window has no cause in the graph */
    LPO_CAUTION_KINDS
};

/* A sentence of evidence: which one, and the numbers and the name in it (report/findings/facts.c
 * has the sentences). */
struct lpo_evidence {
    uint16_t fact; /* enum lpo_fact */
    uint32_t name; /* of the trace; LPO_NONE: none */
    double value[3];
};

enum lpo_fact {
    LPO_FACT_HOST_TIME,     /* time, times, longest */
    LPO_FACT_STEPS,         /* steps that have it, of how many; time a step */
    LPO_FACT_OPERATOR,      /* name */
    LPO_FACT_INSIDE,        /* name: what most of it is in; time */
    LPO_FACT_WAITS,         /* calls, time in them */
    LPO_FACT_WAITS_BYTES,   /* calls that fetch that many bytes or less */
    LPO_FACT_LAUNCHES,      /* launches, host time a launch, GPU time a kernel */
    LPO_FACT_GRAPHS,        /* kernels from CUDA graphs */
    LPO_FACT_MOST_LAUNCHES, /* name: outermost operator; its host time on the path */
    LPO_FACT_COMPILED,
    LPO_FACT_FIRST,       /* name; time; median of later ones */
    LPO_FACT_KERNELS,     /* kernels, GPU time, share of the window */
    LPO_FACT_KERNEL,      /* name: the most expensive of them; time */
    LPO_FACT_EXPOSED,     /* time, exposed */
    LPO_FACT_CANNOT_HIDE, /* time of computing */
    LPO_FACT_STREAM,      /* stream, kernels that compute there, collectives there */
    LPO_FACT_MESSAGES,    /* collectives, in a step, half send no more than */
    LPO_FACT_RATE,        /* bytes, rate */
    LPO_FACT_PINNED_RATE, /* of pinned copies in this trace */
    LPO_FACT_LINK_RATE,   /* as usual on such a GPU */
    LPO_FACT_ATTENTIONS,  /* times, time between, time of the products */
    LPO_FACT_FUSED,       /* what the products would take in one kernel */
    LPO_FACT_RUNS,        /* runs, kernels, time */
    LPO_FACT_FP32,        /* TFLOP/s reached, rate of tensor cores */
    LPO_FACT_SIBLINGS,    /* kernels, their time, time of equal ones */
    LPO_FACT_ROOF,        /* share, usual from, usual to */
    LPO_FACT_BEST,        /* best time of a call, its error, time here */
    LPO_FACT_BEST_RATE,   /* name: what GPU op; message, rate here, rate at best */
    LPO_FACT_OTHER_RATE,  /* the same by GPUs of another kind */
    LPO_FACT_BEST_REGION, /* time of its kernels as measured best */
    LPO_FACT_SHAPE,       /* name: input shapes */
    LPO_FACT_COMPUTES,    /* FLOPs of a call, FLOPs a byte */
    LPO_FACT_MOVES,       /* bytes of a call */
    LPO_FACT_ROOF_CALLS,  /* calls, time of all, share of the window */
    LPO_FACT_FEW_TILES,   /* tiles, SMs */
    LPO_FACT_ODD_SIDE,    /* side, tile */
    LPO_FACT_SKINNY,      /* M, N, K */
    LPO_FACT_DEPTHWISE,   /* groups, channels a group */
    LPO_FACT_LARGE_HEADS, /* size of a head */
    LPO_FACT_FEW_BLOCKS,  /* blocks of queries, SMs, queries of a head */
    LPO_FACT_FEW_TOKENS,  /* tokens, experts, tokens an expert */
    LPO_FACT_SHORT_SIDE,  /* K */
    LPO_FACT_LIMIT,       /* GPU time, what the hardware allows */
    LPO_FACT_COUNTERS,    /* SMs, memory, occupancy: shares of their peaks */
    LPO_FACT_WAVES,       /* waves */
    LPO_FACT_GRID,        /* blocks of the kernel that it costs most, SMs */
    LPO_FACT_LIMITER,     /* enum lpo_rung_limiter, theoretical occupancy */
    LPO_FACT_AGAIN,       /* kernels, time */
    LPO_FACT_CLOCK,       /* share of samples, clock, highest clock */
    LPO_FACT_REASONS,
    LPO_FACT_RANK,        /* rank, what it has more than the others, of how much */
    LPO_FACT_RANK_KERNEL, /* name: kernel; its time there, on the others */
    LPO_FACT_GROUP,       /* name: its ranks; the first, how many */
    LPO_FACT_LINK,        /* bytes of a message, time of sending there, on other groups */
    LPO_FACT_BUBBLES,     /* waiting of a rank, mean */
    LPO_FACT_FEW_RANKS,   /* ranks that were recorded */
    LPO_FACT_BOUND,       /* share that is not explained */
    LPO_FACT_ALONE_LESS,  /* saving by itself, where it is under half of the rung's */
    LPO_FACT_ALONE_MORE,  /* the same, where the rung's is under half of it */
    LPO_FACT_REFUSED,     /* name: place; bytes asked for */
    LPO_FACT_HELD,        /* allocated, reserved, free on the GPU */
    LPO_FACT_PEAK,        /* bytes, reserved */
    LPO_FACT_HOLDER,      /* name; bytes; share of the peak */
    LPO_FACT_ROLE,        /* name: enum lpo_memory_category; bytes; share; blocks */
    LPO_FACT_FRAGMENTS,   /* reserved, unused in it */
    LPO_FACT_FLIGHT,      /* verdict, which sentence about it */
    LPO_FACT_KERNEL_TIME, /* of an ncu report: launches, time, share of all kernels */
    LPO_FACT_BOUND_BY,    /* name: enum lpo_bound; SMs and memory, shares of their peaks */
    LPO_FACT_LEVELS,      /* L1, L2, DRAM: shares of their peaks */
    LPO_FACT_SCATTERED,   /* L1 alone is busy */
    LPO_FACT_FEW_WAVES,   /* waves */
    LPO_FACT_RULE,        /* name: the message of ncu; share */
    LPO_FACT_VALUE,       /* of a caution: a share, a count or a time */
    LPO_FACTS
};

/* What keeps more blocks from an SM. */
enum lpo_rung_limiter {
    LPO_LIMITER_REGISTERS,
    LPO_LIMITER_SHARED_MEMORY,
    LPO_LIMITER_BLOCK_SIZE,
    LPO_LIMITERS
};

enum { LPO_MOST_EVIDENCE = 10 };

struct lpo_rung {
    enum lpo_rung_kind kind;
    enum lpo_rung_basis basis;
    int64_t saving_ns, alone_ns, after_ns;
    int64_t bytes; /* of memory, what would lower the peak; 0: not about memory */
    uint32_t name; /* what the title names: a call, a function, an operator; LPO_NONE */
    uint32_t code; /* "model.py(12): forward"; LPO_NONE */
    uint32_t node; /* region of the tree; LPO_NONE: no single one */
    uint16_t device;
    struct lpo_evidence evidence[LPO_MOST_EVIDENCE];
    size_t nevidence;
};

struct lpo_caution {
    enum lpo_caution_kind kind;
    struct lpo_evidence evidence[4];
    size_t nevidence;
};

enum lpo_window_basis { LPO_WINDOW_STEPS, LPO_WINDOW_EVENTS };

/* What a person waits for. */
struct lpo_time_window {
    int64_t start_ns, wall_ns;
    int64_t before_gpu_ns,
        after_gpu_ns;   /* of it, before the first and after the last GPU operation */
    int64_t earlier_ns; /* left out before it: the GPU was busy with work from before the capture */
    uint64_t steps;     /* in it */
    enum lpo_window_basis basis;
};

enum lpo_floor_basis { LPO_FLOOR_NONE, LPO_FLOOR_MODEL, LPO_FLOOR_OPERATORS, LPO_FLOOR_GPU };

/* Of one process. */
struct lpo_ladder {
    uint16_t process;
    struct lpo_time_window window;
    int64_t profiler_ns; /* of the window: the profiler's own, an estimate, taken out first */
    int64_t wall_ns;     /* the window without it: where the first rung begins */
    int64_t unexplained_ns;
    int64_t compute_ns, communication_ns, copy_ns; /* of the window; the last two alone */
    int64_t floor_ns;                              /* 0: not known */
    enum lpo_floor_basis floor_basis;
    LPO_VEC(struct lpo_rung) rungs;
};

struct lpo_ladders {
    LPO_VEC(struct lpo_ladder) all; /* longest window first */
    LPO_VEC(struct lpo_rung) other; /* without a window: memory, single kernels */
    LPO_VEC(struct lpo_caution) cautions;
    double noise; /* variation between repeats, 0 … ; 0: not known */
};

/* `d` and `s` may be NULL: then nothing is said about hardware, noise and clocks. */
struct lpo_ladders *lpo_ladder_create(const struct lpo_rundir *d, const struct lpo_source *s,
                                      const struct lpo_analysis *a);
void lpo_ladder_destroy(struct lpo_ladders *l); /* NULL is fine */

/* By kind, and NULL at the end: "blocked-in-call", "too-noisy". */
extern const char *const lpo_ladder_ids[LPO_RUNG_KINDS + 1];
extern const char *const lpo_ladder_caution_ids[LPO_CAUTION_KINDS + 1];
const char *lpo_ladder_basis_name(enum lpo_rung_basis basis); /* "simulated" */
