/* SPDX-License-Identifier: Apache-2.0 */
/* Events into the trace. */
#include "trace/kineto/build.h"

#include <stdlib.h>
#include <string.h>

#include "trace/link.h"
#include "trace/trace.h"
#include "util/map.h"
#include "util/str.h"
#include "util/vec.h"

/* What is beyond these is no time (the year 2096) and no duration (31 years); within them, start +
 * duration + shift of the clock cannot overflow. */
static const int64_t max_time = 4000000000000000000, max_length = 1000000000000000000;

enum { MAX_LABELS = 65536, MAX_RANKS = 1 << 20 };

/* Elements of a message: more is damage. Exact as a double. */
static const int64_t max_bytes = (int64_t)1 << 52;

struct lpo_kineto_build *lpo_kineto_build_create(struct lpo_trace *t)
{
    struct lpo_kineto_build *b = lpo_xcalloc(1, sizeof *b);

    b->t = t;
    b->links = lpo_trace_links_create(0);
    b->process_rows = lpo_map_create();
    b->thread_rows = lpo_map_create();
    b->device_rows = lpo_map_create();
    b->args = lpo_kineto_args_create(t);
    b->waits = lpo_kineto_waits_create();
    b->flows = lpo_kineto_flows_create();
    b->captures = lpo_kineto_captures_create();
    b->allocations = lpo_kineto_allocations_create(t);
    b->last_thread = LPO_NONE;
    b->first_gpu_op = t->gpu_ops.len;
    b->first_launch = t->launches.len;
    b->first_range = t->ranges.len;
    b->first_op = t->ops.len;
    b->first_call = t->calls.len;
    b->first_python = t->python.len;
    return b;
}

void lpo_kineto_build_destroy(struct lpo_kineto_build *b)
{
    if (!b)
        return;
    lpo_trace_links_destroy(b->links);
    lpo_map_destroy(b->process_rows);
    lpo_map_destroy(b->thread_rows);
    lpo_map_destroy(b->device_rows);
    lpo_kineto_args_destroy(b->args);
    lpo_kineto_waits_destroy(b->waits);
    lpo_kineto_flows_destroy(b->flows);
    lpo_kineto_captures_destroy(b->captures);
    lpo_vec_free(&b->processes);
    lpo_vec_free(&b->threads);
    lpo_vec_free(&b->devices);
    lpo_vec_free(&b->labels);
    lpo_vec_free(&b->nodes);
    lpo_kineto_allocations_destroy(b->allocations);
    lpo_str_free(&b->scratch);
    free(b);
}

static uint32_t text_of(struct lpo_kineto_build *b, const struct lpo_json_pull_text *text)
{
    if (!text->escaped)
        return lpo_trace_namen(b->t, text->at, text->len);
    lpo_str_clear(&b->scratch);
    lpo_json_pull_unescape(text, LPO_PULL_LENIENT, &b->scratch, NULL);
    return lpo_trace_namen(b->t, lpo_str_text(&b->scratch), b->scratch.len);
}

static bool holds(const struct lpo_json_pull_text *text, const char *part)
{
    /* asked for every call: the first letter alone rules most of them out, in a tenth of the time
     */
    const char *at = memchr(text->at, *part, text->len);

    return at && memmem(at, (size_t)(text->at + text->len - at), part, strlen(part));
}

static uint16_t process_of(struct lpo_kineto_build *b, int64_t pid)
{
    bool fresh;
    uint64_t *row = lpo_map_put(b->process_rows, (const char *)&pid, sizeof pid, &fresh);

    if (fresh && b->processes.len < UINT16_MAX) {
        *row = b->processes.len;
        lpo_vec_push(&b->processes, (struct kineto_process){ .pid = pid, .end_ns = LPO_NO_TIME });
    } else if (fresh) {
        *row = b->processes.len - 1;
    }
    return (uint16_t)*row;
}

static uint32_t thread_of(struct lpo_kineto_build *b, const struct kineto_event *e)
{
    int64_t key[2] = { e->pid.number, e->tid.number };
    uint64_t *row;
    bool fresh;

    if (b->last_thread != LPO_NONE && key[0] == b->last_pid && key[1] == b->last_tid)
        return b->last_thread;
    row = lpo_map_put(b->thread_rows, (const char *)key, sizeof key, &fresh);
    if (fresh) {
        uint16_t process = process_of(b, key[0]);

        *row = b->threads.len;
        lpo_vec_push(&b->threads, (struct kineto_thread){ key[1], process });
    }
    b->last_pid = key[0];
    b->last_tid = key[1];
    b->last_thread = (uint32_t)*row;
    return b->last_thread;
}

static uint16_t device_of(struct lpo_kineto_build *b, int64_t id)
{
    int32_t small = id < INT32_MIN || id > INT32_MAX ? -1 : (int32_t)id;
    bool fresh;
    uint64_t *row = lpo_map_put(b->device_rows, (const char *)&small, sizeof small, &fresh);

    if (fresh && b->devices.len < UINT16_MAX) {
        *row = b->devices.len;
        lpo_vec_push(&b->devices, small);
    } else if (fresh) {
        *row = b->devices.len - 1;
    }
    return (uint16_t)*row;
}

/* GPU operations without args.stream: the tid, or the number at the end of "stream 7". */
static uint32_t stream_of(const struct kineto_event *e)
{
    uint32_t n = 0;
    size_t i = e->tid.word.len;

    if (e->stream != LPO_NO_TIME)
        return (uint32_t)e->stream;
    if (i == 0)
        return (uint32_t)e->tid.number;
    while (i > 0 && e->tid.word.at[i - 1] >= '0' && e->tid.word.at[i - 1] <= '9')
        i--;
    for (; i < e->tid.word.len; i++)
        n = n * 10 + (uint32_t)(e->tid.word.at[i] - '0');
    return n;
}

static uint32_t small(int64_t v)
{
    return v < 0 || v >= LPO_NONE ? LPO_NONE : (uint32_t)v;
}

static uint32_t shape_row(struct lpo_kineto_build *b, const struct kineto_event *e)
{
    struct lpo_shape s = { .registers = small(e->registers),
                           .static_smem = LPO_NONE, /* the source gives the sum alone */
                           .dynamic_smem = small(e->shared_memory) };

    if (e->grid[0] == LPO_NO_TIME && e->block[0] == LPO_NO_TIME)
        return LPO_NONE;
    for (int i = 0; i < 3; i++) {
        s.grid[i] = small(e->grid[i]);
        s.block[i] = small(e->block[i]);
    }
    return lpo_trace_shape(b->t, &s);
}

static int64_t plausible(int64_t v)
{
    return v < 0 || v > max_bytes ? LPO_NO_TIME : v;
}

static void add_collective(struct lpo_kineto_build *b, const struct kineto_event *e)
{
    bool ranks = e->ranks > 0 && e->ranks <= MAX_RANKS;

    lpo_vec_push(&b->t->collectives,
                 (struct lpo_collective){
                     .op = (uint32_t)b->t->gpu_ops.len,
                     .kind = text_of(b, &e->collective),
                     .dtype = e->dtype.len ? text_of(b, &e->dtype) : LPO_NONE,
                     .ranks = ranks ? (uint32_t)e->ranks : 0,
                     .group = e->group.len ? text_of(b, &e->group) : LPO_NONE,
                     .members = e->members.len ? text_of(b, &e->members) : LPO_NONE,
                     .peer = plausible(e->to_rank != LPO_NO_TIME ? e->to_rank : e->from_rank),
                     .number = plausible(e->number),
                     .in_count = plausible(e->in_count),
                     .out_count = plausible(e->out_count),
                 });
}

/* A launch and what it launched have one number: where ROCm writes no correlation, the external id,
 * which is also that of the arrow between them. */
static int64_t join_of(const struct kineto_event *e)
{
    return e->correlation != LPO_NO_TIME ? e->correlation : e->external;
}

static void add_gpu_op(struct lpo_kineto_build *b, const struct kineto_event *e, int64_t end_ns)
{
    struct lpo_gpu_op w = { .start_ns = e->start_ns,
                            .end_ns = end_ns,
                            .name = text_of(b, &e->name),
                            .launch = LPO_NONE,
                            .stack = LPO_NONE,
                            .capture = LPO_NONE,
                            .shape = LPO_NONE,
                            .metrics = LPO_NONE,
                            .kind = (uint8_t)(e->kind - KINETO_KERNEL + LPO_KERNEL) };

    if (e->device == LPO_NO_TIME && e->pid.word.len) { /* the legacy profiler: tid is the device */
        w.device = device_of(b, e->tid.number);
    } else {
        w.device = device_of(b, e->device != LPO_NO_TIME ? e->device : e->pid.number);
        w.stream = stream_of(e);
    }
    if (e->kind == KINETO_KERNEL && e->collective.len)
        add_collective(b, e);
    if (e->kind == KINETO_KERNEL)
        w.shape = shape_row(b, e);
    else if (e->bytes > 0)
        w.bytes = (uint64_t)e->bytes;
    if (e->dur_ns == LPO_NO_TIME)
        w.flags |= LPO_GPU_OP_NO_LENGTH;
    if (e->graph_id != LPO_NO_TIME && e->graph_id != 0)
        w.flags |= LPO_GPU_OP_GRAPH;
    if (b->t->graph_nodes.len && e->graph_node > 0)
        lpo_vec_push(&b->nodes, (struct kineto_node){ (uint32_t)b->t->gpu_ops.len,
                                                      e->graph_id > 0 ? (uint64_t)e->graph_id : 0,
                                                      (uint64_t)e->graph_node });
    if (join_of(e) != LPO_NO_TIME && !(b->t->skip & LPO_SKIP_LAUNCHES))
        lpo_trace_links_op(b->links, (uint32_t)b->t->gpu_ops.len, join_of(e));
    lpo_vec_push(&b->t->gpu_ops, w);
}

/* cudaGraphLaunch; cudaLaunchKernel, cuLaunchKernelEx, hipExtModuleLaunchKernel. */
static uint8_t call_kind(const struct lpo_json_pull_text *name)
{
    if (!holds(name, "Launch"))
        return 0;
    return holds(name, "GraphLaunch") ? LPO_CALL_GRAPH
           : holds(name, "Kernel")    ? LPO_CALL_KERNEL
                                      : 0;
}

static void add_call(struct lpo_kineto_build *b, const struct kineto_event *e, uint32_t thread,
                     uint16_t process, int64_t end_ns)
{
    if (join_of(e) != LPO_NO_TIME) {
        struct lpo_call call = { e->start_ns, end_ns, thread, process, call_kind(&e->name), 0 };

        lpo_trace_links_call(b->links, join_of(e), &call);
        lpo_kineto_waits_call(b->waits, e);
        if (e->kernel.len && call.kind == LPO_CALL_KERNEL)
            lpo_kineto_captures_kernel(b->captures, e->start_ns, thread, text_of(b, &e->kernel));
    }
    lpo_kineto_captures_call(b->captures, e, thread, end_ns);
    if (!(b->t->skip & LPO_SKIP_CALLS))
        lpo_vec_push(&b->t->calls,
                     (struct lpo_api_call){ e->start_ns, end_ns, text_of(b, &e->name), thread });
}

/* Events of the host side: the thread exists from here on. */
static void add_host(struct lpo_kineto_build *b, const struct kineto_event *e, int64_t end_ns)
{
    uint32_t thread = thread_of(b, e);
    uint16_t process = b->threads.at[thread].process;
    struct kineto_process *p = &b->processes.at[process];

    if (e->kind == KINETO_PYTHON) { /* says nothing about the process: see LPO_SKIP_CALLS */
        lpo_vec_push(&b->t->python,
                     (struct lpo_python_call){ e->start_ns, end_ns, text_of(b, &e->name), thread });
        return;
    }
    if (e->kind == KINETO_CALL)
        p->calls++;
    else
        p->others++;
    if (end_ns > p->end_ns)
        p->end_ns = end_ns;

    if (e->kind == KINETO_CALL) {
        add_call(b, e, thread, process, end_ns);
    } else if (e->kind == KINETO_OP) {
        uint32_t name = text_of(b, &e->name);

        lpo_vec_push(&b->t->ops,
                     (struct lpo_op){ e->start_ns, end_ns, name, thread,
                                      lpo_kineto_args_row(b->args, e, name), small(e->sequence),
                                      e->forward_thread > 0 ? small(e->forward_thread) : 0 });
    } else if (e->kind == KINETO_RANGE) {
        lpo_vec_push(&b->t->ranges, (struct lpo_range){
                                        .start_ns = e->start_ns,
                                        .end_ns = end_ns,
                                        .name = text_of(b, &e->name),
                                        .thread = thread,
                                        .kind = LPO_PUSH_POP,
                                        .flags = e->dur_ns == LPO_NO_TIME ? LPO_RANGE_OPEN : 0,
                                    });
    }
}

static void add_label(struct lpo_kineto_build *b, const struct kineto_event *e)
{
    bool process = lpo_json_pull_is(&e->name, "process_name");

    if (!e->label.len || b->labels.len >= MAX_LABELS)
        return;
    if (process || lpo_json_pull_is(&e->name, "thread_name"))
        lpo_vec_push(&b->labels, (struct kineto_label){ e->pid.number, e->tid.number,
                                                        text_of(b, &e->label), process });
}

void lpo_kineto_build_add(struct lpo_kineto_build *b, struct kineto_event *e)
{
    int64_t end_ns;

    if (e->kind == KINETO_META) {
        add_label(b, e);
        return;
    }
    if (e->kind == KINETO_MEMORY) {
        if (e->start_ns <= max_time && e->start_ns >= -max_time && lpo_kineto_allocations_wanted(e))
            lpo_kineto_allocations_add(b->allocations, e, thread_of(b, e));
        return;
    }
    if (e->kind == KINETO_FLOW) {
        if (e->start_ns <= max_time && e->start_ns >= -max_time)
            lpo_kineto_flows_add(b->flows, e);
        return;
    }
    if (e->kind == KINETO_SYNC) {
        if (e->start_ns <= max_time && e->start_ns >= -max_time && e->device >= 0 &&
            e->device <= INT32_MAX)
            lpo_kineto_waits_add(b->waits, e);
        return;
    }
    if (e->kind == KINETO_PYTHON && e->dur_ns < 0) /* only shown beside idle time: no loss */
        return;
    if (e->kind == KINETO_BAD || e->start_ns > max_time || e->start_ns < -max_time ||
        e->dur_ns > max_length) {
        b->without_time++;
        return;
    }
    end_ns = e->start_ns + (e->dur_ns < 0 ? 0 : e->dur_ns);
    if (e->dur_ns < 0) {
        e->dur_ns = LPO_NO_TIME;
        b->without_length++;
    }
    b->some_ns = e->start_ns;
    if (e->kind == KINETO_KERNEL || e->kind == KINETO_COPY || e->kind == KINETO_MEMSET)
        add_gpu_op(b, e, end_ns);
    else if (e->kind != KINETO_OTHER)
        add_host(b, e, end_ns);
}
