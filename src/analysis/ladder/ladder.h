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

#define LPO_RUNG_LIST(X)                                                                           \
    X(BLOCKED, "blocked-in-call") /* the host waits for the GPU in a call, and launches nothing */ \
    X(DATA, "data-loading")       /* loading, decoding, tokenizing, preprocessing */               \
    X(HOST, "host-work")          /* other work of the host */                                     \
    X(PAUSE, "pause")             /* the same, in few of the steps */                              \
    X(COMPILE, "recompilation")   /* compilation and tuning in steady steps */                     \
    X(FIRST, "first-calls")       /* code is loaded, things run for the first time */              \
    X(ALLOCATOR, "allocator")     /* calls that allocate or free memory */                         \
    X(LAUNCH, "launch-bound")     /* the host launches more slowly than the GPU works */           \
    X(COMMUNICATION, "exposed-communication") /* nothing is computed meanwhile */                  \
    X(SAME_STREAM, "same-stream")     /* nor could it: it runs on the stream of the computing */   \
    X(MESSAGES, "small-collectives")  /* many small collectives one after another */               \
    X(PAGEABLE, "pageable-copies")    /* copies from or to host memory that is not pinned */       \
    X(COPIES, "exposed-copies")       /* other copies, alone */                                    \
    X(LAYOUT, "layout-copies")        /* kernels that only copy, cast or transpose */              \
    X(ATTENTION, "unfused-attention") /* scores go through memory between two products */          \
    X(FUSE, "unfused-kernels")        /* runs of element-wise kernels */                           \
    X(FP32, "no-tensor-cores")        /* products without tensor cores */                          \
    X(SIBLING, "slow-sibling")        /* one of N equal layers takes longer */                     \
    X(ROOF, "operator-below-roof")    /* an operator far below what its kind reaches */            \
    X(BEST,                                                                                        \
      "operator-below-best") /* the same, below what its shape reaches where it is done best */    \
    X(COLLECTIVE,                                                                                  \
      "collective-below-best")           /* a collective below what NCCL reaches with its size */  \
    X(REGION, "far-from-roof")           /* the same of a region, by its model */                  \
    X(TAIL, "tail-effect")               /* the last wave of blocks leaves SMs idle */             \
    X(OCCUPANCY, "low-occupancy")        /* few warps fit on an SM, and neither roof is near */    \
    X(GRID, "small-grid")                /* far fewer blocks than SMs */                           \
    X(RECOMPUTATION, "recomputation")    /* forward work that the backward pass does again */      \
    X(THROTTLING, "throttling")          /* the GPU itself says that it was slowed down */         \
    X(RANK, "slow-rank")                 /* one rank computes longer than the others */            \
    X(RANK_HOST, "late-host")            /* the GPU of one rank waits for its host */              \
    X(RANK_PAUSE, "rank-pause")          /* one rank, once */                                      \
    X(LINK, "slow-link")                 /* one group of ranks sends slower than others */         \
    X(EXPERTS, "uneven-experts")         /* one rank has more to do for its experts */             \
    X(BUBBLES, "pipeline-bubbles")       /* stages of a pipeline wait for each other */            \
    X(RANKS_UNEVEN, "uneven-ranks")      /* now one rank is last, now another */                   \
    X(MISMATCH, "mismatched-collective") /* of flight recorders, as enum lpo_flight_verdict_kind:  \
                                            what a job hangs in */                                 \
    X(MISSING, "missing-rank")                                                                     \
    X(SILENT, "missing-dump")                                                                      \
    X(STUCK, "stuck-collective")                                                                   \
    X(REFUSED, "out-of-memory") /* of a memory snapshot: a request failed for want of memory */    \
    X(MEMORY, "memory-peak")    /* of a memory snapshot: what the peak consists of */              \
    X(KERNEL, "kernel-limit")   /* of an ncu report: what holds its longest kernel back */
#define LPO_RUNG_LIST_OF(name, id) LPO_RUNG_##name,

enum lpo_rung_kind { LPO_RUNG_LIST(LPO_RUNG_LIST_OF) LPO_RUNG_KINDS };

enum lpo_rung_basis {
    LPO_BASIS_MEASURED,
    LPO_BASIS_SIMULATED,
    LPO_BASIS_ESTIMATED,
    LPO_BASIS_REFERENCE
};

/* What makes any rung less sure; reports say it first. */
#define LPO_CAUTION_LIST(X)                                                                        \
    X(JOBS, "several-jobs")     /* the traces are of different jobs */                             \
    X(OTHER_RUN, "another-run") /* one of them is of another run of the same program */            \
    X(NOISE, "too-noisy")       /* repeats vary more than run.max_cv */                            \
    X(SHORT, "too-short")       /* too little time was recorded */                                 \
    X(FEW, "few-kernels")       /* too few kernels were recorded */                                \
    X(NO_LAUNCH,                                                                                   \
      "no-launch-records") /* operations without a launch record, as when a capture begins late */ \
    X(UNKNOWN, "idle-unknown")    /* idle time without a cause */                                  \
    X(OUTSIDE, "outside-regions") /* work outside every region */                                  \
    X(LOST, "records-lost")       /* the source lost records */                                    \
    X(STACKS, "python-stacks")    /* Python calls were recorded, and the GPU waits for the host */ \
    X(RANGES, "ranges-around-operators") /* the same of a range around every operator */           \
    X(PROFILER, "profiler-cost")         /* what that costs was taken out before the first rung */ \
    X(COUNTED, "counters-recorded") /* the profiler counted something of each kernel meanwhile */  \
    X(EARLIER, "work-before-capture") /* the host waits for work that was launched before the      \
                                         capture began */                                          \
    X(BUSY, "busy-before-capture")    /* the GPU was busy with such work at first: left out of the \
                                         window */                                                 \
    X(GRAPH_NODES,                                                                                 \
      "unrecorded-graph-nodes")   /* stretches of CUDA graphs in which no node was recorded */     \
    X(CAPTURED, "graph-capture")  /* CUDA graphs were being captured */                            \
    X(UNEXPLAINED, "unexplained") /* part of the window has no cause in the graph */
#define LPO_CAUTION_LIST_OF(name, id) LPO_CAUTION_##name,

enum lpo_caution_kind { LPO_CAUTION_LIST(LPO_CAUTION_LIST_OF) LPO_CAUTION_KINDS };

/* A sentence of evidence: which one, and the numbers and the name in it (report/findings/facts.c
 * has the sentences). */
struct lpo_evidence {
    uint16_t fact; /* enum lpo_fact */
    uint32_t name; /* of the trace; LPO_NONE: none */
    double value[3];
};

#define LPO_FACT_LIST(X)                                                                           \
    X(HOST_TIME)     /* time, times, longest */                                                    \
    X(STEPS)         /* steps that have it, of how many; time a step */                            \
    X(OPERATOR)      /* name */                                                                    \
    X(INSIDE)        /* name: what most of it is in; time */                                       \
    X(WAITS)         /* calls, time in them */                                                     \
    X(WAITS_BYTES)   /* calls that fetch that many bytes or less */                                \
    X(LAUNCHES)      /* launches, host time a launch, GPU time a kernel */                         \
    X(GRAPHS)        /* kernels from CUDA graphs */                                                \
    X(MOST_LAUNCHES) /* name: outermost operator; its host time on the path */                     \
    X(COMPILED)                                                                                    \
    X(FIRST)       /* name; time; median of later ones */                                          \
    X(KERNELS)     /* kernels, GPU time, share of the window */                                    \
    X(KERNEL)      /* name: the most expensive of them; time */                                    \
    X(EXPOSED)     /* time, exposed */                                                             \
    X(CANNOT_HIDE) /* time of computing */                                                         \
    X(STREAM)      /* stream, kernels that compute there, collectives there */                     \
    X(MESSAGES)    /* collectives, in a step, half send no more than */                            \
    X(RATE)        /* bytes, rate */                                                               \
    X(PINNED_RATE) /* of pinned copies in this trace */                                            \
    X(LINK_RATE)   /* as usual on such a GPU */                                                    \
    X(ATTENTIONS)  /* times, time between, time of the products */                                 \
    X(FUSED)       /* what the products would take in one kernel */                                \
    X(RUNS)        /* runs, kernels, time */                                                       \
    X(FP32)        /* TFLOP/s reached, rate of tensor cores */                                     \
    X(SIBLINGS)    /* kernels, their time, time of equal ones */                                   \
    X(ROOF)        /* share, usual from, usual to */                                               \
    X(BEST)        /* best time of a call, its error, time here */                                 \
    X(BEST_RATE)   /* name: what GPU op; message, rate here, rate at best */                       \
    X(OTHER_RATE)  /* the same by GPUs of another kind */                                          \
    X(BEST_REGION) /* time of its kernels as measured best */                                      \
    X(SHAPE)       /* name: input shapes */                                                        \
    X(COMPUTES)    /* FLOPs of a call, FLOPs a byte */                                             \
    X(MOVES)       /* bytes of a call */                                                           \
    X(ROOF_CALLS)  /* calls, time of all, share of the window */                                   \
    X(FEW_TILES)   /* tiles, SMs */                                                                \
    X(ODD_SIDE)    /* side, tile */                                                                \
    X(SKINNY)      /* M, N, K */                                                                   \
    X(DEPTHWISE)   /* groups, channels a group */                                                  \
    X(LARGE_HEADS) /* size of a head */                                                            \
    X(FEW_BLOCKS)  /* blocks of queries, SMs, queries of a head */                                 \
    X(FEW_TOKENS)  /* tokens, experts, tokens an expert */                                         \
    X(SHORT_SIDE)  /* K */                                                                         \
    X(LIMIT)       /* GPU time, what the hardware allows */                                        \
    X(COUNTERS)    /* SMs, memory, occupancy: shares of their peaks */                             \
    X(WAVES)       /* waves */                                                                     \
    X(GRID)        /* blocks of the kernel that it costs most, SMs */                              \
    X(LIMITER)     /* enum lpo_rung_limiter, theoretical occupancy */                              \
    X(AGAIN)       /* kernels, time */                                                             \
    X(CLOCK)       /* share of samples, clock, highest clock */                                    \
    X(REASONS)                                                                                     \
    X(RANK)        /* rank, what it has more than the others, of how much */                       \
    X(RANK_KERNEL) /* name: kernel; its time there, on the others */                               \
    X(GROUP)       /* name: its ranks; the first, how many */                                      \
    X(LINK)        /* bytes of a message, time of sending there, on other groups */                \
    X(BUBBLES)     /* waiting of a rank, mean */                                                   \
    X(FEW_RANKS)   /* ranks that were recorded */                                                  \
    X(BOUND)       /* share that is not explained */                                               \
    X(ALONE_LESS)  /* saving by itself, where it is under half of the rung's */                    \
    X(ALONE_MORE)  /* the same, where the rung's is under half of it */                            \
    X(REFUSED)     /* name: place; bytes asked for */                                              \
    X(HELD)        /* allocated, reserved, free on the GPU */                                      \
    X(PEAK)        /* bytes, reserved */                                                           \
    X(HOLDER)      /* name; bytes; share of the peak */                                            \
    X(ROLE)        /* name: enum lpo_memory_category; bytes; share; blocks */                      \
    X(FRAGMENTS)   /* reserved, unused in it */                                                    \
    X(FLIGHT)      /* verdict, which sentence about it */                                          \
    X(KERNEL_TIME) /* of an ncu report: launches, time, share of all kernels */                    \
    X(BOUND_BY)    /* name: enum lpo_bound; SMs and memory, shares of their peaks */               \
    X(LEVELS)      /* L1, L2, DRAM: shares of their peaks */                                       \
    X(SCATTERED)   /* L1 alone is busy */                                                          \
    X(FEW_WAVES)   /* waves */                                                                     \
    X(RULE)        /* name: the message of ncu; share */                                           \
    X(VALUE)       /* of a caution: a share, a count or a time */
#define LPO_FACT_LIST_OF(name) LPO_FACT_##name,
#define LPO_FACT_NAME(name)    #name,

enum lpo_fact { LPO_FACT_LIST(LPO_FACT_LIST_OF) LPO_FACTS };

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
