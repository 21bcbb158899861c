/* SPDX-License-Identifier: Apache-2.0 */
/* analysis/steps/steps.h - the steps of a program: iterations of a training, batches of a server.
 *
 * A step is a range whose name a framework gives to its steps (conf/rules/steps.yaml has them),
 * with what the name says: prefill or decode, requests, tokens. Everything that its process
 * launches while it is open belongs to it, whichever thread launches (autograd has a thread of its
 * own). The GPU part of a step runs from the first start to the last end of that work on one GPU,
 * the one where it is longest, and is divided as the wall time is: compute, exposed communication,
 * exposed copy, idle. The wall time of a step goes to the start of the next one of its process;
 * that of the last one to its own end. */
#pragma once

#include "util/base.h"

struct lpo_region_tree;

enum lpo_step_kind {
    LPO_STEP_ANY,
    LPO_STEP_PREFILL,
    LPO_STEP_DECODE,
    LPO_STEP_MIXED,
    LPO_STEP_KINDS
};

const char *lpo_steps_kind_name(enum lpo_step_kind kind); /* "step", "prefill", "decode", "mixed" */

/* What the name of a step says; -1: nothing. */
struct lpo_step_facts {
    enum lpo_step_kind kind;
    int64_t number, requests, tokens, context_requests, generation_requests;
};

struct lpo_program_step {
    uint32_t name;
    uint32_t range;   /* row of ranges */
    uint16_t process; /* into processes */
    uint16_t device;  /* whose GPU part it is; UINT16_MAX: nothing was launched */
    struct lpo_step_facts facts;
    int64_t start_ns, wall_ns, host_ns;
    int64_t gpu_ns;       /* span of the GPU part */
    int64_t gpu_start_ns; /* where it begins */
    int64_t last_ns;      /* when the last operation that it launched ended, on any GPU */
    int64_t compute_ns, exposed_communication_ns, exposed_copy_ns, idle_ns; /* its parts */
    uint64_t operations, graph_operations;
    bool slow; /* far above the others of its group */
    bool cut;  /* by the end of the recording: in no group */
};

/* Steps of one kind with the same number of requests. Medians; half a nanosecond is rounded down.
 * A last step of a process that launched nothing, where the one before did, was cut by the end of
 * the recording and is in no group. */
struct lpo_step_group {
    enum lpo_step_kind kind;
    int64_t requests; /* -1: the names do not say */
    uint64_t count, slow;
    int64_t wall_ns, min_ns, max_ns; /* median, least and most of the wall times */
    int64_t gpu_ns, compute_ns, exposed_communication_ns, exposed_copy_ns, idle_ns;
    int64_t tokens;                        /* of all its steps; -1: the names do not say */
    uint64_t operations, graph_operations; /* of all its steps */
};

struct lpo_program_steps {
    const char *family;                    /* "vLLM", "PyTorch profiler"; static */
    LPO_VEC(struct lpo_program_step) rows; /* by process and time */
    LPO_VEC(struct lpo_step_group) groups; /* most wall time first */
};

/* NULL when no range is a step. */
struct lpo_program_steps *lpo_steps_create(const struct lpo_region_tree *tree);
void lpo_steps_destroy(struct lpo_program_steps *s); /* NULL is fine */

/* How long the sequences of a step are, summed over its requests: what servers write into the name
 * so that attention over a paged cache can be counted. */
struct lpo_step_sums {
    double queries, keys, queries_squared, queries_by_keys;
};

struct lpo_step_lengths {
    struct lpo_step_sums context, generation;
};

/* False: the name has none (lengths.c). */
bool lpo_steps_read_lengths(const char *name, struct lpo_step_lengths *out);

enum { LPO_STEP_FAMILIES = 32 }; /* at most */

/* Does this name mean a step? `family` is a row of the table of names, lower ones first. */
bool lpo_steps_read_name(const char *name, int *family, struct lpo_step_facts *out);
const char *lpo_steps_family_name(int family);
