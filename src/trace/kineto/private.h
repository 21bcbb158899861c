/* SPDX-License-Identifier: Apache-2.0 */
/* trace/kineto/private.h - the pieces of the Kineto reader.
 *
 * kineto.c walks the file; event.c reads one event of the text, facts.c what stands around the
 * events; build.c turns events into the event model, with op_args.c, allocations.c, waits.c,
 * flows.c and captures.c; memory.c is a pass of its own. */
#pragma once

#include "util/json_pull.h"

struct lpo_trace;

/* What an event is to us, by its category. */
enum kineto_kind {
    KINETO_OTHER, /* most flows, instants, …: not kept */
    KINETO_KERNEL,
    KINETO_COPY,
    KINETO_MEMSET,
    KINETO_CALL, /* runtime and driver calls */
    KINETO_OP,
    KINETO_OLD_OP, /* "Operator", before 2022: an operator, or a step of the profiler */
    KINETO_RANGE,
    KINETO_PYTHON,    /* functions of with_stack=True */
    KINETO_MEMORY,    /* an instant: the totals of an allocator, from profile_memory=True */
    KINETO_SYNC,      /* a stream or the host waits */
    KINETO_FLOW,      /* one end of an arrow from a forward operator to its backward operator */
    KINETO_GPU_RANGE, /* what the host ran in, drawn on the stream */
    KINETO_COUNTED,   /* counters of one kernel, of which only the number is kept */
    KINETO_META,      /* names of processes and threads */
    KINETO_BAD,       /* one of ours, but without a time that can be read */
};

#define KINETO_BIT(kind) (1u << (kind))

/* pid and tid are numbers, numbers in quotes, or words. */
struct kineto_id {
    int64_t number;
    struct lpo_json_pull_text word; /* len 0 unless it is a word */
};

/* Text points into the window: good until the next event is read. */
struct kineto_event {
    enum kineto_kind kind;
    bool python;     /* of KINETO_OTHER: a Python function, which nobody asked for */
    bool counted;    /* of KINETO_OTHER: counters of one kernel */
    bool flow;       /* of KINETO_OTHER: one end of some arrow */
    bool flow_end;   /* of KINETO_FLOW: the arrow ends here */
    int64_t flow_id; /* the same at both ends */
    struct lpo_json_pull_text name;
    struct kineto_id pid, tid;
    int64_t start_ns; /* before the base time is added */
    int64_t dur_ns;   /* LPO_NO_TIME: not recorded */
    /* of args; LPO_NO_TIME where absent */
    int64_t device, stream, correlation, external, bytes, sequence, forward_thread, graph_id,
        graph_node;
    int64_t registers, shared_memory;
    int64_t device_type, device_id, allocated, reserved, address;   /* of KINETO_MEMORY */
    int64_t in_count, out_count, ranks, from_rank, to_rank, number; /* of collectives */
    int64_t on_stream, recorded_by; /* of KINETO_SYNC: the event's stream; the id of its record */
    struct lpo_json_pull_text collective, dtype, group, members;
    int64_t grid[3], block[3];
    struct lpo_json_pull_text dims;   /* the JSON of "Input Dims", len 0 when absent */
    struct lpo_json_pull_text types;  /* of "Input type" */
    struct lpo_json_pull_text values; /* of "Concrete Inputs" */
    struct lpo_json_pull_text label;  /* args.name of metadata */
    struct lpo_json_pull_text kernel; /* what a call launches, where the profiler says it (AMD) */
};

/* Events of one kind have the same members in the same order: those of the one before. */
enum { KINETO_KEYS = 24 };

struct kineto_keys {
    struct {
        struct lpo_pull_likely member;
        const void *row; /* of event.c's tables; NULL: nobody wants it */
    } at[KINETO_KEYS];
};

struct kineto_order {
    struct kineto_keys event;
    struct kineto_keys args[KINETO_BAD + 1]; /* by kind; of collectives last */
};

/* Reads one event object. Kinds outside `wanted` (bits) come back as KINETO_OTHER, unread. `order`
 * starts as { 0 } and stays from event to event. */
int lpo_kineto_event_read(struct lpo_pull *q, unsigned wanted, struct kineto_order *order,
                          struct kineto_event *e);

/* The number that comes next, bare or in quotes, times 10^power, exactly. Any other value is
 * passed over and gives LPO_NO_TIME. */
int lpo_kineto_number(struct lpo_pull *q, int power, int64_t *out);

/* A GPU as "deviceProperties" describes it; 0 means not given. */
struct kineto_device {
    int64_t id;
    uint32_t sms, cc_major, cc_minor;
    uint64_t memory_bytes;
    char name[96];
};

enum { KINETO_DEVICES = 64 };

/* Facts that stand around the events. */
struct kineto_facts {
    int64_t base_ns; /* 0 when absent */
    bool has_base;
    int32_t rank;   /* -1 when absent */
    uint32_t ranks; /* of the job; 0 when absent */
    struct kineto_device devices[KINETO_DEVICES];
    size_t ndevices;
};

/* Each reads one value (an lpo_json_fn); `facts` is a struct kineto_facts. */
int lpo_kineto_read_base(struct lpo_pull *q, void *facts);
int lpo_kineto_read_distributed(struct lpo_pull *q, void *facts);
int lpo_kineto_read_devices(struct lpo_pull *q, void *facts);
int lpo_kineto_read_other(struct lpo_pull *q, void *facts); /* passes over it */

/* Arguments of operators (op_args.c): the row of op_args of the trace, or LPO_NONE. `name` is the
 * id of the operator's name. */
struct lpo_kineto_args;

struct lpo_kineto_args *lpo_kineto_args_create(struct lpo_trace *t);
void lpo_kineto_args_destroy(struct lpo_kineto_args *a); /* NULL is fine */
uint32_t lpo_kineto_args_row(struct lpo_kineto_args *a, const struct kineto_event *e,
                             uint32_t name);

/* What the allocators of the GPUs did (allocations.c). */
struct lpo_kineto_allocations;

struct lpo_kineto_allocations *lpo_kineto_allocations_create(struct lpo_trace *t);
void lpo_kineto_allocations_destroy(struct lpo_kineto_allocations *a); /* NULL is fine */
/* Of a GPU: memory of the host is torch's device type 0. */
bool lpo_kineto_allocations_wanted(const struct kineto_event *e);
void lpo_kineto_allocations_add(struct lpo_kineto_allocations *a, const struct kineto_event *e,
                                uint32_t thread);
/* Allocators so far, and the GPU of each, as the file numbers it. */
size_t lpo_kineto_allocations_count(const struct lpo_kineto_allocations *a);
int32_t lpo_kineto_allocations_device(const struct lpo_kineto_allocations *a, size_t i);
/* The `i`th belongs to this GPU of the trace; those that get none are left out. */
void lpo_kineto_allocations_settle(struct lpo_kineto_allocations *a, size_t i, uint16_t device,
                                   int64_t shift);
/* After them: rows of threads of this file to those of the trace. */
void lpo_kineto_allocations_finish(struct lpo_kineto_allocations *a, const uint32_t *threads,
                                   int64_t shift);

/* Waits between streams and of the host (waits.c). */
struct lpo_kineto_waits;

struct lpo_kineto_waits *lpo_kineto_waits_create(void);
void lpo_kineto_waits_destroy(struct lpo_kineto_waits *w); /* NULL is fine */
/* A call that may record an event. */
void lpo_kineto_waits_call(struct lpo_kineto_waits *w, const struct kineto_event *e);
void lpo_kineto_waits_add(struct lpo_kineto_waits *w, const struct kineto_event *e);
/* Into the trace. `rows` has the GPUs that worked, by their number in the file, and `devices` their
 * rows in the trace: one that only was waited for is no GPU more. */
void lpo_kineto_waits_settle(const struct lpo_kineto_waits *w, struct lpo_trace *t,
                             const struct lpo_map *rows, const uint16_t *devices, uint16_t process,
                             int64_t shift);

/* Launches that became nodes of CUDA graphs (captures.c). */
struct lpo_call;
struct lpo_kineto_captures;

struct lpo_kineto_captures *lpo_kineto_captures_create(void);
void lpo_kineto_captures_destroy(struct lpo_kineto_captures *c); /* NULL is fine */
/* A call that may begin or end a capture. */
void lpo_kineto_captures_call(struct lpo_kineto_captures *c, const struct kineto_event *e,
                              uint32_t thread, int64_t end_ns);
/* A call that launches `kernel`, a name of the trace. */
void lpo_kineto_captures_kernel(struct lpo_kineto_captures *c, int64_t start_ns, uint32_t thread,
                                uint32_t kernel);
bool lpo_kineto_captures_any(const struct lpo_kineto_captures *c);
/* `ctx` is a struct lpo_kineto_captures: a call that launched a kernel which did not run. */
void lpo_kineto_captures_launch(void *ctx, const struct lpo_call *call);
/* Into the trace; `threads` has rows of threads of this file in the trace. */
void lpo_kineto_captures_settle(struct lpo_kineto_captures *c, struct lpo_trace *t,
                                const uint32_t *threads, int64_t shift);

/* Annotations on the streams of GPUs (gpu_ranges.c). */
struct lpo_kineto_gpu_ranges;

struct lpo_kineto_gpu_ranges *lpo_kineto_gpu_ranges_create(void);
void lpo_kineto_gpu_ranges_destroy(struct lpo_kineto_gpu_ranges *g); /* NULL is fine */
void lpo_kineto_gpu_ranges_add(struct lpo_kineto_gpu_ranges *g, int32_t device, uint32_t stream,
                               int64_t start_ns, int64_t end_ns, uint32_t name);
/* GPU operations from `first_gpu_op` on get the annotations around them as their stack; `devices`
 * has the numbers of their GPUs in the file. */
void lpo_kineto_gpu_ranges_settle(struct lpo_kineto_gpu_ranges *g, struct lpo_trace *t,
                                  size_t first_gpu_op, const int32_t *devices);

/* Arrows from forward to backward operators (flows.c). */
struct lpo_kineto_flows;

struct lpo_kineto_flows *lpo_kineto_flows_create(void);
void lpo_kineto_flows_destroy(struct lpo_kineto_flows *f); /* NULL is fine */
void lpo_kineto_flows_add(struct lpo_kineto_flows *f, const struct kineto_event *e);
/* Into the trace, once its operators from `first_op` on have their final threads and times. `rows`
 * has the threads with events, by pid and tid of the file, and `threads` their rows in the trace.
 */
void lpo_kineto_flows_settle(struct lpo_kineto_flows *f, struct lpo_trace *t, size_t first_op,
                             const struct lpo_map *rows, const uint32_t *threads, int64_t shift);

struct lpo_kineto_build;

struct lpo_kineto_build *lpo_kineto_build_create(struct lpo_trace *t);
void lpo_kineto_build_destroy(struct lpo_kineto_build *b);
void lpo_kineto_build_add(struct lpo_kineto_build *b, struct kineto_event *e);
/* Joins launches, puts ranks, devices and the clock in place. Call once, after the last event. */
void lpo_kineto_build_finish(struct lpo_kineto_build *b, const struct kineto_facts *facts);
