/* SPDX-License-Identifier: Apache-2.0 */
/* analysis/findings/findings.h - what costs wall time, how much of it could be saved, and why we
 * think so. Numbers and codes only; report/findings/words.c has the words.
 *
 * All findings are about one device, the critical one: that with the longest span. A program on
 * several GPUs ends no sooner than it does, and clocks of several devices are never added. What was
 * loaded or warmed up before (analysis/wall/steady.h) is left out.
 *
 * Savings are wall time and never overlap. The span of a device has four parts that add up to it
 * (analysis/wall/wall.h). A gap of idle time belongs to one finding; exposed communication and
 * exposed copies to one each; findings about kernels share the compute part, of which each
 * nanosecond is claimed once, kernel by kernel. So all savings together are at most the span.
 *
 * A shorter kernel ends a program sooner only where the GPU was the slower side. Of an operation,
 * at most the time counts in which nothing else ran and the next operation had already been
 * launched (struct lpo_findings_slack). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/phases/phases.h"
#include "util/auto.h"
#include "util/vec.h"

struct lpo_analysis;
struct lpo_rundir;
struct lpo_source;

enum lpo_finding_kind {
    LPO_FINDING_BLOCKED,       /* the host waited in a call while the GPU was idle */
    LPO_FINDING_LAUNCH_BOUND,  /* many short gaps: the host launches too slowly */
    LPO_FINDING_HOST_WORK,     /* long gaps: the host did something else */
    LPO_FINDING_PING_PONG,     /* small results fetched by the host, again and again */
    LPO_FINDING_ALLOCATOR,     /* memory was allocated or freed meanwhile */
    LPO_FINDING_FIRST_CALLS,   /* code was loaded or built, or a region ran for the first time */
    LPO_FINDING_MESSAGES,      /* many small collectives one after another */
    LPO_FINDING_COMMUNICATION, /* nothing was computed meanwhile */
    LPO_FINDING_COPIES,        /* nothing was computed and nothing was sent meanwhile */
    LPO_FINDING_ATTENTION,     /* scores go through memory between two products */
    LPO_FINDING_SMALL_KERNELS, /* runs of short kernels that could be one */
    LPO_FINDING_UNFUSED,       /* the same of long ones: results go through memory */
    LPO_FINDING_TAIL,          /* the last wave of blocks leaves SMs idle */
    LPO_FINDING_OCCUPANCY,     /* few warps fit on an SM, and neither roof is near */
    LPO_FINDING_ROOF,          /* a region is far from what the hardware allows */
    LPO_FINDING_RECOMPUTATION, /* forward work that was done again in the backward pass */
    LPO_FINDING_SLOW_RANK,     /* one rank computes longer than the others */
    LPO_FINDING_THROTTLING,    /* the GPU itself says that it was slowed down */
    LPO_FINDING_KINDS
};

/* What makes any finding less sure; reports say it first. */
enum lpo_caution_kind {
    LPO_CAUTION_JOBS,      /* the traces are of different jobs */
    LPO_CAUTION_NOISE,     /* repeats vary more than run.max_cv */
    LPO_CAUTION_SHORT,     /* too little time was recorded */
    LPO_CAUTION_FEW,       /* too few kernels were recorded */
    LPO_CAUTION_NO_LAUNCH, /* operations without a launch record, as when a capture begins late */
    LPO_CAUTION_UNKNOWN,   /* idle time without a cause */
    LPO_CAUTION_OUTSIDE,   /* work outside every region */
    LPO_CAUTION_LOST,      /* the source lost records */
    LPO_CAUTION_STACKS,    /* Python calls were recorded, and the GPU waits for the host */
    LPO_CAUTION_COUNTED,   /* the profiler counted something of each kernel meanwhile */
    LPO_CAUTION_KINDS
};

/* What a number of a finding means. */
enum lpo_fact {
    LPO_FACT_IDLE_NS,      /* idle time of the critical device */
    LPO_FACT_GAPS,         /* stretches of it */
    LPO_FACT_LONGEST_NS,   /* the longest of them */
    LPO_FACT_IN_CALL,      /* name: the call */
    LPO_FACT_IN_OPERATOR,  /* name: innermost on the host; value: idle time in which it was */
    LPO_FACT_IN_PYTHON,    /* the same of Python functions */
    LPO_FACT_IN_FRAMEWORK, /* value: idle time in which it was in any operator of the framework */
    LPO_FACT_LAUNCHED_NS,  /* idle time whose next work had been launched before the call began */
    LPO_FACT_CALLED_ONCE,  /* the region: first calls cannot be told apart there */
    LPO_FACT_COMPILED,     /* torch.compile is used already */
    LPO_FACT_NOT_FUSED,    /* compiled graphs ran, but no kernel of the compiler */
    LPO_FACT_GRAPHS,       /* kernels that came from CUDA graphs already */
    LPO_FACT_HIDES_NS,     /* all computing, where it is too short to hide them */
    LPO_FACT_FEW_RANKS,    /* GPUs that were recorded; most of those that communicate were not */
    LPO_FACT_ALL_NS,       /* the same, hidden time too */
    LPO_FACT_KERNEL,       /* name: the kernel with most of that time; value: its time */
    LPO_FACT_EXPOSED_NS,   /* communication or copies that nothing covered */
    LPO_FACT_SIMULATED_NS, /* what the program would end sooner without them: less than that */
    LPO_FACT_SHORTER_NS,   /* what kernels could take less; the saving was simulated with that */
    LPO_FACT_MESSAGES,     /* small collectives one after another */
    LPO_FACT_MESSAGES_IN_STEP,
    LPO_FACT_MESSAGE_BYTES, /* half of them send no more */
    LPO_FACT_MESSAGE_NS,    /* half of them take no longer */
    LPO_FACT_MESSAGES_NS,   /* from the first to the last of each row, of all rows together */
    LPO_FACT_BYTES_TO_DEVICE,
    LPO_FACT_BYTES_TO_HOST,
    LPO_FACT_BYTES_ON_DEVICE,
    LPO_FACT_RATE_TO_DEVICE, /* bytes a second while such a copy ran */
    LPO_FACT_RATE_TO_HOST,
    LPO_FACT_RATE_ON_DEVICE,
    LPO_FACT_PAGEABLE_NS,     /* exposed copies from or to host memory that is not pinned */
    LPO_FACT_PINNED_RATE,     /* bytes a second of pinned copies in this trace */
    LPO_FACT_LINK_RATE,       /* the same as usual for such a GPU, where the trace has none */
    LPO_FACT_PINNED_SAVES_NS, /* at that rate */
    LPO_FACT_LAUNCHES,        /* kernels in question */
    LPO_FACT_LOST,            /* records */
    LPO_FACT_RUNS,            /* sequences of them */
    LPO_FACT_SEQUENCE,        /* the same kernels again: how often; name: the first of them */
    LPO_FACT_SEQUENCE_NS,     /* their time, with the gaps between them */
    LPO_FACT_GPU_NS,          /* their time */
    LPO_FACT_MAIN_RUN,        /* the run that could save most: how often; name: its first kernel */
    LPO_FACT_MAIN_RUN_LENGTH, /* kernels in it */
    LPO_FACT_MAIN_RUN_NS,     /* the time of all that are like it */
    LPO_FACT_ATTENTIONS,      /* times that attention ran as separate kernels */
    LPO_FACT_BETWEEN_NS,      /* their time between the two products */
    LPO_FACT_PRODUCTS_NS,     /* the time of those */
    LPO_FACT_LIMIT_NS,        /* the least time that the hardware allows */
    LPO_FACT_STEADY,          /* both are without this many first calls */
    LPO_FACT_ROOF,            /* value: enum lpo_held */
    LPO_FACT_SM,              /* shares of their peaks, as ncu counted them */
    LPO_FACT_DRAM,
    LPO_FACT_OCCUPANCY,
    LPO_FACT_TENSOR, /* shares of the time, sampled */
    LPO_FACT_SM_ACTIVE,
    LPO_FACT_MEMORY,       /* caches too */
    LPO_FACT_THEORETICAL,  /* occupancy that the launch allows */
    LPO_FACT_LIMITER,      /* value: enum lpo_finding_limiter */
    LPO_FACT_WAVES,        /* of blocks, of that kernel */
    LPO_FACT_EQUAL_BLOCKS, /* what the saving takes for granted */
    LPO_FACT_TO_ROOF,
    LPO_FACT_FIRST_NS,     /* first visit of a region; name: the range */
    LPO_FACT_LATER_NS,     /* median of its later visits */
    LPO_FACT_MEMBER_NS,    /* the first of ranges that differ in numbers; name: that one */
    LPO_FACT_MEMBERS_NS,   /* median of the others */
    LPO_FACT_NEW_KERNELS,  /* gaps that a kernel ended which had not run before */
    LPO_FACT_RANK,         /* the slow one */
    LPO_FACT_RANKS_NS,     /* median of the ranks */
    LPO_FACT_RANKS,        /* how many were recorded */
    LPO_FACT_RANK_WAIT_NS, /* exposed communication that slow-rank counts */
    LPO_FACT_OTHER_GPUS,   /* how many other devices show the same */
    LPO_FACT_OTHER_NS,     /* of the only one */
    LPO_FACT_OTHER_MIN_NS,
    LPO_FACT_OTHER_MAX_NS,
    LPO_FACT_SHARE,            /* 0 … 1, of a caution */
    LPO_FACT_OUTSIDE_OPERATOR, /* the same: name of the outermost operator that launched it */
    LPO_FACT_OUTSIDE_KERNEL,
    LPO_FACT_REPEATS,
    LPO_FACT_SPAN_NS,
    LPO_FACT_SLOWED,    /* share of the samples */
    LPO_FACT_CLOCK_MHZ, /* mean while slowed */
    LPO_FACT_MAX_CLOCK_MHZ,
    LPO_FACT_REASONS, /* NVML's bits */
    LPO_FACTS
};

/* What keeps more blocks from an SM. */
enum lpo_finding_limiter {
    LPO_LIMITER_REGISTERS,
    LPO_LIMITER_SHARED_MEMORY,
    LPO_LIMITER_BLOCK_SIZE,
    LPO_LIMITERS
};

struct lpo_evidence {
    enum lpo_fact fact;
    double value;
    uint32_t name; /* of the trace; LPO_NONE: none */
};

enum { LPO_MOST_EVIDENCE = 16 };

/* The same finding on another device: evidence, never added. */
struct lpo_finding_other {
    int64_t saving_ns; /* at least as large a share of that device's span as a finding needs */
    uint16_t device;   /* row of devices of the trace */
};

struct lpo_finding {
    enum lpo_finding_kind kind;
    int64_t saving_ns; /* more than 0, at most the span */
    bool estimated;    /* else a time that was measured: an upper bound of what can be saved */
    uint16_t device;   /* row of devices: where it is; all but slow-rank: the critical one */
    uint32_t node;     /* region of the tree; LPO_NONE: no single one */
    uint32_t name;     /* of the trace: the call; LPO_NONE: none */
    struct lpo_evidence evidence[LPO_MOST_EVIDENCE];
    size_t nevidence;
    /* What its kernels could take less, where the saving is what a simulation made of that: the
     * program waits for its host. 0: nothing was simulated. */
    int64_t shorter_ns;
    LPO_VEC(struct lpo_finding_other) others; /* longest span first */
};

struct lpo_caution {
    enum lpo_caution_kind kind;
    struct lpo_evidence evidence[LPO_MOST_EVIDENCE];
    size_t nevidence;
};

/* Communication or copies that run alone, but without which the program would not end that much
 * sooner. exposed_ns 0: none. */
struct lpo_findings_masked {
    int64_t exposed_ns, saving_ns;
};

struct lpo_findings {
    LPO_VEC(struct lpo_finding) all; /* largest saving first */
    LPO_VEC(struct lpo_caution) cautions;
    lpo_first_calls first; /* at least 1 % of the span longer than later ones; longest first */
    bool any_device;       /* else nothing below is known */
    uint16_t device;       /* the critical one: row of devices of the trace */
    int64_t span_ns;       /* of it */
    /* of it: kernels that compute, and by how much the program would end sooner without any of
     * them. Less than half: faster kernels are not what it needs */
    int64_t compute_ns, kernels_slack_ns;
    bool kernels_simulated; /* the latter is less than what the kernels say one by one */
    /* of it: idle in which the host was blocked in a call, but the next work had been submitted
     * before, as between the kernels of a CUDA graph. No finding counts it. */
    int64_t submitted_ns;
    uint64_t submitted_gaps;
    struct lpo_findings_masked masked[2]; /* of the device: communication, copies */
    bool kernels_judged; /* counters or limits say whether kernels could be faster */
    double noise;        /* variation between repeats, 0 … ; 0: not known */
};

/* `d` and `s` may be NULL: then nothing is said about limits, noise and clocks. */
struct lpo_findings *lpo_findings_create(const struct lpo_rundir *d, const struct lpo_source *s,
                                         const struct lpo_analysis *a);
void lpo_findings_destroy(struct lpo_findings *f); /* NULL is fine */
LPO_AUTO_DEFINE(lpo_findings);

/* Is the saving larger than what repeats of the same run differ by? */
bool lpo_findings_above_noise(const struct lpo_findings *f, const struct lpo_finding *x);
const char *lpo_findings_id(enum lpo_finding_kind kind);         /* "blocked-in-call" */
const char *lpo_findings_caution_id(enum lpo_caution_kind kind); /* "too-noisy" */
