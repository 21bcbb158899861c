/* SPDX-License-Identifier: Apache-2.0 */
/* analysis/critical/critical.h - the critical path of each process: the one chain of work and
 * waiting that its wall time consists of, and what the wall time would be without a part of it.
 *
 * The graph of a process has two kinds of points:
 * - calls of the host that launch work or wait for the GPU, thread by thread;
 * - GPU operations, stream by stream.
 * Its edges:
 * - a call begins when the one before it on its thread has returned and the host time between them
 *   has passed; where a thread rests while another one works (autograd's), the other thread's call
 *   is the one before;
 * - an operation starts after its launch, after the operation before it on its stream, and after
 *   one of another stream that it waited for;
 * - a call that waits returns after the operation that it waits for.
 * Edges that the source does not record (an event between two streams) are inferred from times, and
 * counted.
 *
 * Of all edges into a point, the one that was over last is the critical one; the rest of the time
 * up to the point is its lag, and stays as measured. So the graph, simulated as it is, gives the
 * measured wall time. With a part removed or halved it gives the time that would be left: work that
 * ran beside the path takes its place, which the length of the path alone does not say. A lag of an
 * edge that was not critical is the usual one of the process (a median), or less where less time
 * passed. */
#pragma once

#include "util/base.h"

struct lpo_program_steps;
struct lpo_region_tree;

/* What a stretch of the path is. Together they are the whole wall time. */
enum lpo_critical_part {
    LPO_PATH_HOST,          /* the program, and operators of the framework, on the host */
    LPO_PATH_CALLS,         /* inside calls of the runtime or driver that do not wait */
    LPO_PATH_LAUNCH_DELAY,  /* from a launch to the start of its work on an idle stream */
    LPO_PATH_COMPUTE,       /* kernels that are not communication */
    LPO_PATH_COMMUNICATION, /* kernels of class collective */
    LPO_PATH_COPY,          /* copies and memsets */
    LPO_PATH_GAP,           /* from the end of an operation to the start of the one that followed */
    LPO_PATH_RETURN,        /* from the end of an operation to the return of a call that waited */
    LPO_PATH_UNEXPLAINED,   /* an operation could have started and did not, for 30 us and more */
    LPO_PATH_NOT_RECORDED,  /* between the parts of a run that were recorded */
    LPO_PATH_PARTS
};

const char *lpo_critical_part_name(enum lpo_critical_part part); /* "host", "launch_delay", … */

struct lpo_critical_parts {
    int64_t ns[LPO_PATH_PARTS];
};

/* What the wall time would be less by; unknown where the simulation does not fit the measurement,
 * and not worked out for what is below one percent of the path. */
struct lpo_critical_saving {
    bool known;
    int64_t removed_ns, halved_ns; /* LPO_NO_TIME: it cannot be halved */
};

/* A name that the path goes through: a kernel, an operator, a call. */
struct lpo_critical_entry {
    enum lpo_critical_part part; /* HOST, CALLS, COMPUTE, COMMUNICATION or COPY */
    uint32_t name;               /* LPO_NONE: the host outside every operator, a launch call */
    uint64_t count;              /* stretches of the path */
    int64_t ns;
    struct lpo_critical_saving saving;
};

/* A region that the path goes through; what its children have counts for it too. */
struct lpo_critical_region {
    uint32_t node; /* of the tree; LPO_NODE_OUTSIDE */
    int64_t ns;    /* of its launches: the host before them, their delay, their work */
    struct lpo_critical_saving saving;
};

/* The path inside one step. */
struct lpo_critical_step {
    uint32_t step; /* row of the steps */
    struct lpo_critical_parts parts;
};

struct lpo_critical_path {
    uint16_t process;
    int64_t start_ns, end_ns; /* first and last moment of the graph */
    int64_t simulated_ns;     /* of the unchanged graph */
    bool fits;                /* within one percent of end_ns - start_ns */
    struct lpo_critical_parts parts;
    struct lpo_critical_saving savings[LPO_PATH_PARTS];
    uint64_t calls, operations; /* points of the graph */
    uint64_t stretches;         /* of the path */
    uint64_t recorded_waits;    /* edges between streams that the source has */
    uint64_t inferred_waits;    /* edges between streams by times */
    uint64_t handovers;         /* edges between threads by times */
    uint64_t without_launch;    /* operations without a launch, or with one that is later */
    int64_t usual_launch_ns;    /* median delay of a launch on an idle stream; 0: none */
    int64_t usual_gap_ns;       /* median gap behind an operation on the same stream; 0: none */
    LPO_VEC(struct lpo_critical_entry) entries;  /* most time first */
    LPO_VEC(struct lpo_critical_region) regions; /* most time first */
    LPO_VEC(struct lpo_critical_step) steps;     /* in order of time */
};

struct lpo_critical {
    LPO_VEC(struct lpo_critical_path) paths; /* of processes with GPU operations, in their order */
};

/* `steps` may be NULL. Memory, while it works: some 30 bytes for each GPU operation and launch, and
 * 4 for each operator and call. */
struct lpo_critical *lpo_critical_create(const struct lpo_region_tree *tree,
                                         const struct lpo_program_steps *steps);
void lpo_critical_destroy(struct lpo_critical *c); /* NULL is fine */
LPO_AUTO_DEFINE(lpo_critical);
