/* SPDX-License-Identifier: Apache-2.0 */
/* trace/kineto/build.h - one file on its way into the trace.
 *
 * Ranks and the base time may stand behind the events, so rows first get numbers of this file
 * (process, thread, device) and relative times (build.c); at the end both are put right
 * (settle.c). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/kineto/private.h"
#include "util/str.h"
#include "util/vec.h"

struct lpo_map;
struct lpo_trace_links;

struct kineto_process {
    int64_t pid;
    uint64_t calls, others; /* events seen, to find the main process */
    int64_t end_ns;
};

struct kineto_thread {
    int64_t tid;
    uint16_t process;
};

/* A name for a process or thread, from metadata. */
struct kineto_label {
    int64_t pid, tid;
    uint32_t text;
    bool whole_process;
};

/* A GPU operation of a node of a CUDA graph. */
struct kineto_node {
    uint32_t op;          /* row of gpu_ops */
    uint64_t graph, node; /* ids; graph is 0 where it is not said */
};

struct lpo_kineto_build {
    struct lpo_trace *t;
    struct lpo_trace_links *links;
    struct lpo_map *process_rows, *thread_rows, *device_rows;
    LPO_VEC(struct kineto_process) processes;
    LPO_VEC(struct kineto_thread) threads;
    LPO_VEC(int32_t) devices;
    LPO_VEC(struct kineto_label) labels;
    LPO_VEC(struct kineto_node) nodes; /* where another file says what they were captured in */
    struct lpo_kineto_allocations *allocations;
    struct lpo_str scratch;
    struct lpo_kineto_args *args;
    struct lpo_kineto_waits *waits;
    struct lpo_kineto_flows *flows;
    struct lpo_kineto_captures *captures;
    int64_t last_pid, last_tid; /* the thread of the event before, most often the same */
    uint32_t last_thread;
    size_t first_gpu_op, first_launch, first_range, first_op, first_call, first_python;
    int64_t some_ns; /* of any event: whether times count from 1970 */
    uint64_t without_time, without_length;
};
