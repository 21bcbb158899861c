/* SPDX-License-Identifier: Apache-2.0 */
/* After the last event of a file: its numbers of processes, threads and devices become those of the
 * trace, its times those of the trace's clock, and operations find their launches. */
#include "trace/kineto/private.h"

#include "trace/link.h"
#include "trace/trace.h"

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
    struct lpo_kineto_gpu_ranges *gpu_ranges;
    int64_t last_pid, last_tid; /* the thread of the event before, most often the same */
    uint32_t last_thread;
    size_t first_gpu_op, first_launch, first_range, first_op, first_call, first_python;
    int64_t some_ns; /* of any event: whether times count from 1970 */
    uint64_t without_time, without_length;
};

/* --- after the last event ------------------------------------------------------------------------
 */

/* Before the base time existed, times counted from 1970: such numbers are larger than this. */
static const int64_t since_1970 = 1000000000000000000;

/* A file's clock further away than this is no clock; see max_time in build.c. */
static const int64_t max_shift = 4000000000000000000;

/* GPU operations do not name their process: without a launch, it is the one that calls the GPU
 * most. */
static uint16_t main_process(const struct lpo_kineto_build *b)
{
    size_t best = 0;

    for (size_t i = 1; i < b->processes.len; i++) {
        const struct kineto_process *p = &b->processes.at[i], *m = &b->processes.at[best];

        if (p->calls > m->calls || (p->calls == m->calls && p->others > m->others))
            best = i;
    }
    return (uint16_t)best;
}

/* Numbers of this file to numbers of the trace. */
struct renumber {
    uint16_t *processes, *devices;
    uint32_t *threads;
};

static void renumber_create(struct lpo_kineto_build *b, int32_t rank, struct renumber *r)
{
    r->processes = lpo_xcalloc(b->processes.len + 1, sizeof *r->processes);
    r->devices = lpo_xcalloc(b->devices.len + 1, sizeof *r->devices);
    r->threads = lpo_xcalloc(b->threads.len + 1, sizeof *r->threads);
    if (b->processes.len == 0 && b->t->gpu_ops.len > b->first_gpu_op)
        r->processes[0] = lpo_trace_process(b->t, -1, rank);
    for (size_t i = 0; i < b->processes.len; i++)
        r->processes[i] = lpo_trace_process(b->t, b->processes.at[i].pid, rank);
    for (size_t i = 0; i < b->devices.len; i++)
        r->devices[i] = lpo_trace_device(b->t, b->devices.at[i], rank);
    for (size_t i = 0; i < b->threads.len; i++)
        r->threads[i] =
            lpo_trace_thread(b->t, r->processes[b->threads.at[i].process], b->threads.at[i].tid);
}

static void renumber_free(struct renumber *r)
{
    free(r->processes);
    free(r->devices);
    free(r->threads);
}

static void settle_gpu_ops(struct lpo_kineto_build *b, const struct renumber *r, int64_t shift)
{
    struct lpo_trace *t = b->t;

    for (size_t i = b->first_gpu_op; i < t->gpu_ops.len; i++) {
        struct lpo_gpu_op *w = &t->gpu_ops.at[i];

        w->start_ns += shift;
        w->end_ns += shift;
        w->process = r->processes[w->process];
        w->device = r->devices[w->device];
    }
    for (size_t i = b->first_launch; i < t->launches.len; i++) {
        struct lpo_launch *l = &t->launches.at[i];

        l->start_ns += shift;
        l->end_ns += shift;
        l->thread = r->threads[l->thread];
        t->processes.at[t->threads.at[l->thread].process].has_calls |= l->name != 0;
    }
}

static void settle_host(struct lpo_kineto_build *b, const struct renumber *r, int64_t shift)
{
    struct lpo_trace *t = b->t;

    for (size_t i = b->first_range; i < t->ranges.len; i++) {
        struct lpo_range *g = &t->ranges.at[i];

        if (g->flags & LPO_RANGE_OPEN)
            g->end_ns = b->processes.at[b->threads.at[g->thread].process].end_ns;
        g->start_ns += shift;
        g->end_ns += shift;
        g->thread = r->threads[g->thread];
    }
    for (size_t i = b->first_op; i < t->ops.len; i++) {
        struct lpo_op *o = &t->ops.at[i];

        o->start_ns += shift;
        o->end_ns += shift;
        o->thread = r->threads[o->thread];
    }
    for (size_t i = b->first_call; i < t->calls.len; i++) {
        struct lpo_api_call *c = &t->calls.at[i];

        c->start_ns += shift;
        c->end_ns += shift;
        c->thread = r->threads[c->thread];
        t->processes.at[t->threads.at[c->thread].process].has_calls = true;
    }
    for (size_t i = b->first_python; i < t->python.len; i++) {
        struct lpo_python_call *c = &t->python.at[i];

        c->start_ns += shift;
        c->end_ns += shift;
        c->thread = r->threads[c->thread];
    }
    for (size_t i = 0; i < b->processes.len; i++) {
        struct lpo_process *p = &t->processes.at[r->processes[i]];
        int64_t end = b->processes.at[i].end_ns + shift;

        if (p->end_ns == LPO_NO_TIME || end > p->end_ns)
            p->end_ns = end;
    }
}

/* Beside GPUs that worked, one of which only memory is known would be a GPU more than ran. */
static void settle_memory(struct lpo_kineto_build *b, const struct renumber *r, int32_t rank,
                          int64_t shift)
{
    for (size_t i = 0; i < lpo_kineto_allocations_count(b->allocations); i++) {
        int32_t id = lpo_kineto_allocations_device(b->allocations, i);
        const uint64_t *row = lpo_map_find(b->device_rows, (const char *)&id, sizeof id);

        if (row || !b->devices.len)
            lpo_kineto_allocations_settle(b->allocations, i,
                                          row ? r->devices[*row] : lpo_trace_device(b->t, id, rank),
                                          shift);
    }
    lpo_kineto_allocations_finish(b->allocations, r->threads, shift);
}

/* Labels come for every pid and tid there is, streams too: only those of our threads are used. */
static void settle_labels(struct lpo_kineto_build *b, const struct renumber *r)
{
    for (size_t i = 0; i < b->labels.len; i++) {
        const struct kineto_label *l = &b->labels.at[i];
        int64_t key[2] = { l->pid, l->tid };
        const uint64_t *row =
            l->whole_process ? lpo_map_find(b->process_rows, (const char *)&l->pid, sizeof l->pid)
                             : lpo_map_find(b->thread_rows, (const char *)key, sizeof key);

        if (row && l->whole_process)
            b->t->processes.at[r->processes[*row]].name = l->text;
        else if (row)
            b->t->threads.at[r->threads[*row]].name = l->text;
    }
}

/* The clock of the trace is that of its first file with a base, so ranks lie side by side. */
static int64_t clock_shift(const struct lpo_kineto_build *b, const struct kineto_facts *facts)
{
    struct lpo_trace *t = b->t;
    int64_t epoch = t->epoch_ns, shift;

    if (!facts->has_base && b->some_ns < since_1970)
        return 0;
    if (epoch == LPO_NO_TIME && t->sources <= 1)
        epoch = t->epoch_ns = 0;
    if (epoch == LPO_NO_TIME || __builtin_sub_overflow(facts->base_ns, epoch, &shift) ||
        shift > max_shift || shift < -max_shift) {
        lpo_trace_note(t, 0,
                       "this file has no clock in common with the others: times of "
                       "different files cannot be compared");
        return 0;
    }
    return shift;
}

/* Two files say something of one node: its annotations, then the lines of Python in them. */
static uint32_t join_stacks(struct lpo_trace *t, uint32_t a, uint32_t b)
{
    struct lpo_frame frames[LPO_PATH_DEPTH];
    size_t count = 0;

    for (int lines = 0; lines < 2; lines++)
        for (int i = 0; i < 2; i++) {
            const struct lpo_stack *s = &t->stacks.at[i ? b : a];

            for (uint32_t k = s->first; k < s->first + s->count && count < LPO_PATH_DEPTH; k++)
                if ((t->frames.at[k].kind == LPO_PYTHON) == lines)
                    frames[count++] = t->frames.at[k];
        }
    return lpo_trace_stack(t, frames, count);
}

/* What another file says of the nodes of this rank: its row of captures by id. */
static struct lpo_map_u64 *captures_of_nodes(struct lpo_trace *t, int32_t rank)
{
    struct lpo_map_u64 *rows = lpo_map_u64_create(0);
    bool one_file = true, fresh;

    for (size_t i = 1; i < t->graph_nodes.len; i++)
        one_file &= t->graph_nodes.at[i].rank == t->graph_nodes.at[0].rank;
    for (size_t i = 0; i < t->graph_nodes.len; i++) {
        const struct lpo_graph_node *n = &t->graph_nodes.at[i];
        uint32_t *row;

        if (!one_file && n->rank != rank)
            continue;
        row = lpo_map_u64_put(rows, n->id, &fresh);
        if (!fresh) {
            t->captures.at[*row].stack =
                join_stacks(t, t->captures.at[*row].stack - 1, n->stack) + 1;
            continue;
        }
        *row = (uint32_t)t->captures.len;
        lpo_vec_push(&t->captures,
                     (struct lpo_capture){ .thread = LPO_NONE, .stack = n->stack + 1 });
    }
    return rows;
}

/* PyTorch names a node by its id, or by that of its graph too: (graph << 32) | node. */
static void join_nodes(struct lpo_kineto_build *b, int32_t rank)
{
    struct lpo_map_u64 *rows;
    uint64_t unknown = 0;

    if (!b->nodes.len)
        return;
    rows = captures_of_nodes(b->t, rank >= 0 ? rank : (int32_t)b->t->file_rank - 1);
    for (size_t i = 0; i < b->nodes.len; i++) {
        const struct kineto_node *n = &b->nodes.at[i];
        const uint32_t *row = lpo_map_u64_find(rows, n->node);

        row = row ? row : lpo_map_u64_find(rows, n->graph << 32 | n->node);
        if (row)
            b->t->gpu_ops.at[n->op].capture = *row;
        else
            unknown++;
    }
    if (unknown)
        lpo_trace_note(b->t, unknown, "GPU operations of CUDA graphs have no annotation");
    lpo_map_u64_destroy(rows);
}

void lpo_kineto_build_finish(struct lpo_kineto_build *b, const struct kineto_facts *facts)
{
    uint16_t own = main_process(b);
    struct renumber r;
    int64_t shift;

    for (size_t i = b->first_gpu_op; i < b->t->gpu_ops.len; i++)
        b->t->gpu_ops.at[i].process = own;
    lpo_trace_links_resolve(b->links, b->t);
    if (lpo_kineto_captures_any(b->captures))
        lpo_trace_links_idle(b->links, lpo_kineto_captures_launch, b->captures);
    if (b->t->ranges.len == b->first_range)
        lpo_kineto_gpu_ranges_settle(b->gpu_ranges, b->t, b->first_gpu_op, b->devices.at);
    shift = clock_shift(b, facts);
    renumber_create(b, facts->rank, &r);
    settle_gpu_ops(b, &r, shift);
    settle_host(b, &r, shift);
    lpo_kineto_captures_settle(b->captures, b->t, r.threads, shift);
    lpo_kineto_flows_settle(b->flows, b->t, b->first_op, b->thread_rows, r.threads, shift);
    settle_memory(b, &r, facts->rank, shift);
    lpo_kineto_waits_settle(b->waits, b->t, b->device_rows, r.devices, r.processes[own], shift);
    settle_labels(b, &r);
    join_nodes(b, facts->rank);
    renumber_free(&r);
    if (b->without_time)
        lpo_trace_note(b->t, b->without_time, "events without a time that can be read");
    if (b->without_length)
        lpo_trace_note(b->t, b->without_length, "events without a duration");
}

/* --- events into the trace -----------------------------------------------------------------------
 */

/* Events into the trace. */

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
    b->gpu_ranges = lpo_kineto_gpu_ranges_create();
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
    lpo_kineto_gpu_ranges_destroy(b->gpu_ranges);
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

/* A launch and what it launched have one number: where ROCm writes no correlation or 0, the
 * external id, which is also that of the arrow between them. */
static int64_t join_of(const struct kineto_event *e)
{
    return e->correlation > 0 ? e->correlation : e->external > 0 ? e->external : LPO_NO_TIME;
}

static void add_gpu_op(struct lpo_kineto_build *b, const struct kineto_event *e, int64_t end_ns)
{
    struct lpo_gpu_op w = { LPO_GPU_OP_UNKNOWN, .start_ns = e->start_ns, .end_ns = end_ns,
                            .name = text_of(b, &e->name),
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
        struct lpo_call call = { e->start_ns, end_ns, thread, process, call_kind(&e->name), 0, 0 };

        if (!(b->t->skip & LPO_SKIP_CALLS))
            call.call = (uint32_t)b->t->calls.len + 1;
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

/* Only where the ranges of the host are missing: one that cannot be read is no loss. */
static void add_gpu_range(struct lpo_kineto_build *b, const struct kineto_event *e)
{
    int64_t device = e->device != LPO_NO_TIME ? e->device : e->pid.number;

    if (e->start_ns > max_time || e->start_ns < -max_time || e->dur_ns < 0 ||
        e->dur_ns > max_length || device < 0 || device > INT32_MAX)
        return;
    lpo_kineto_gpu_ranges_add(b->gpu_ranges, (int32_t)device, stream_of(e), e->start_ns,
                              e->start_ns + e->dur_ns, text_of(b, &e->name));
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
    if (e->kind == KINETO_GPU_RANGE) {
        add_gpu_range(b, e);
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
