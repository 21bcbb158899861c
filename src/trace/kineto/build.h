/* trace/kineto/build.h - private to kineto_build.c and kineto_settle.c: a trace half built.
 *
 * Ranks and the base time may stand behind the events, so rows first get numbers of this file
 * (process, thread, device) and relative times; kineto_build_finish() puts both right. */
#pragma once

#include "trace/kineto/kineto.h"
#include "trace/link.h"
#include "trace/trace.h"
#include "util/map.h"
#include "util/str.h"
#include "util/vec.h"

struct process {
    int64_t pid;
    uint64_t calls, others; /* events seen, to find the main process */
    int64_t end_ns;
};

struct thread {
    int64_t tid;
    uint16_t process;
};

/* A name for a process or thread, from metadata. */
struct label {
    int64_t pid, tid;
    uint32_t text;
    bool whole_process;
};

struct lpo_kineto_build {
    struct lpo_trace *t;
    struct lpo_trace_links *links;
    struct lpo_map *process_rows, *thread_rows, *device_rows;
    LPO_VEC(struct process) processes;
    LPO_VEC(struct thread) threads;
    LPO_VEC(int32_t) devices;
    LPO_VEC(struct label) labels;
    struct lpo_str scratch;
    int64_t last_pid, last_tid; /* the thread of the event before, most often the same */
    uint32_t last_thread;
    size_t first_gpu_op, first_launch, first_range, first_op;
    int64_t some_ns; /* of any event: tells times since 1970 from relative ones */
    uint64_t without_time, without_length;
};
