/* SPDX-License-Identifier: Apache-2.0 */
/* Events into the trace.
 *
 * Processes of the file are planes: "/device:GPU:0" has a thread for each stream, and others that
 * XProf derives from those ("XLA Ops", "Steps"): only streams count, or time would count twice.
 * "/host:CPU" has the threads of the program. Names of all of them come before the events. */

#include "trace/link.h"
#include "trace/trace.h"
#include "trace/xla_names.h"
#include "trace/xprof/private.h"

enum plane_kind { HOST, GPU };

struct plane {
    int64_t pid;
    enum plane_kind kind;
    uint16_t device;
};

struct stream {
    int64_t pid, tid;
    uint32_t number;
};

struct lpo_xprof_build {
    struct lpo_trace *t;
    struct lpo_trace_links *links;
    LPO_VEC(struct plane) planes;
    LPO_VEC(struct stream) streams;
    struct lpo_map_pair threads; /* (pid, tid) to a row of `thread_rows` */
    LPO_VEC(uint32_t) thread_rows;
    struct lpo_str scratch;
    uint16_t process, domain;
    size_t first_op;
    uint64_t stretches, without_time, nowhere;
};

/* What is beyond is no time, and start + duration cannot overflow: as for Kineto. */
static const int64_t max_time = 4000000000000000000, max_length = 1000000000000000000;

enum {
    MOST_PLANES = 128, /* looked through for every event */
    MOST_STREAMS = 512,
    MOST_GPU = 1 << 20,
    XPROF_MOST_EVENTS = 1000000, /* XProf leaves the others out and does not say so */
};

struct lpo_xprof_build *lpo_xprof_build_create(struct lpo_trace *t)
{
    struct lpo_xprof_build *b = lpo_xcalloc(1, sizeof *b);

    b->t = t;
    b->links = lpo_trace_links_create(0);
    b->process = lpo_trace_process(t, -1, -1);
    b->domain = lpo_trace_domain(t, LPO_XLA_DOMAIN, strlen(LPO_XLA_DOMAIN));
    b->first_op = t->gpu_ops.len;
    return b;
}

void lpo_xprof_build_destroy(struct lpo_xprof_build *b)
{
    if (!b)
        return;
    lpo_trace_links_destroy(b->links);
    lpo_vec_free(&b->planes);
    lpo_vec_free(&b->streams);
    lpo_vec_free(&b->thread_rows);
    lpo_map_pair_free(&b->threads);
    lpo_str_free(&b->scratch);
    free(b);
}

static uint32_t text_of(struct lpo_xprof_build *b, const struct lpo_json_pull_text *text)
{
    if (!text->escaped)
        return lpo_trace_namen(b->t, text->at ? text->at : "", text->len);
    lpo_str_clear(&b->scratch);
    lpo_json_pull_unescape(text, LPO_PULL_LENIENT, &b->scratch, NULL);
    return lpo_trace_namen(b->t, lpo_str_text(&b->scratch), b->scratch.len);
}

static bool begins(const struct lpo_json_pull_text *text, const char *with)
{
    return text->len >= strlen(with) && memcmp(text->at, with, strlen(with)) == 0;
}

/* The number behind `with`; -1: the text does not begin so. */
static int64_t number_behind(const struct lpo_json_pull_text *text, const char *with)
{
    size_t i = strlen(with), from = i;
    int64_t n = 0;

    if (!begins(text, with))
        return -1;
    for (; i < text->len && text->at[i] >= '0' && text->at[i] <= '9' && n < MOST_GPU; i++)
        n = n * 10 + (text->at[i] - '0');
    return i > from ? n : -1;
}

static const struct plane *plane_of(const struct lpo_xprof_build *b, int64_t pid)
{
    return lpo_find(i, b->planes.at, b->planes.len, b->planes.at[i].pid == pid);
}

static void add_plane(struct lpo_xprof_build *b, const struct xprof_event *e)
{
    int64_t gpu = number_behind(&e->label, "/device:GPU:");

    if (b->planes.len == MOST_PLANES || plane_of(b, e->pid))
        return;
    if (gpu >= 0)
        lpo_vec_push(&b->planes,
                     (struct plane){ e->pid, GPU, lpo_trace_device(b->t, (int32_t)gpu, -1) });
    else if (begins(&e->label, "/host:"))
        lpo_vec_push(&b->planes, (struct plane){ e->pid, HOST, 0 });
}

static uint32_t thread_of(struct lpo_xprof_build *b, const struct xprof_event *e)
{
    bool fresh;
    uint32_t row = lpo_map_pair_put(&b->threads, (uint64_t)e->pid, (uint64_t)e->tid, &fresh);

    if (fresh)
        lpo_vec_push(&b->thread_rows, lpo_trace_thread(b->t, b->process, e->tid));
    return b->thread_rows.at[row];
}

static void add_thread(struct lpo_xprof_build *b, const struct xprof_event *e)
{
    const struct plane *p = plane_of(b, e->pid);
    int64_t stream = number_behind(&e->label, "Stream #");

    if (p && p->kind == GPU && stream >= 0 && b->streams.len < MOST_STREAMS)
        lpo_vec_push(&b->streams, (struct stream){ e->pid, e->tid, (uint32_t)stream });
    if (p && p->kind == HOST) {
        uint32_t row = thread_of(b, e); /* may move the threads */

        b->t->threads.at[row].name = text_of(b, &e->label);
    }
}

static const struct stream *stream_of(const struct lpo_xprof_build *b, const struct xprof_event *e)
{
    return lpo_find(i, b->streams.at, b->streams.len,
                    b->streams.at[i].pid == e->pid && b->streams.at[i].tid == e->tid);
}

/* --- GPU operations ------------------------------------------------------------------------- */

static uint32_t small(uint64_t v)
{
    return v >= LPO_NONE ? LPO_NONE : (uint32_t)v;
}

/* "key:12" or "key:12,1,1", at the beginning or behind a space. */
static bool read_detail(const struct lpo_json_pull_text *text, const char *key, uint64_t out[3])
{
    const char *p = text->at, *end = text->at + text->len;
    size_t len = strlen(key);

    out[0] = out[1] = out[2] = 0;
    while (p < end && !((size_t)(end - p) > len && memcmp(p, key, len) == 0 && p[len] == ':')) {
        p = memchr(p, ' ', (size_t)(end - p));
        p = p ? p + 1 : end;
    }
    if (p >= end)
        return false;
    p += len + 1;
    for (int i = 0; i < 3; i++) {
        const char *from = p;

        for (; p < end && *p >= '0' && *p <= '9' && p - from < 18; p++)
            out[i] = out[i] * 10 + (uint64_t)(*p - '0');
        if (p == from)
            return i > 0;
        if (p >= end || *p != ',')
            return true;
        p++;
    }
    return true;
}

static uint32_t shape_of(struct lpo_xprof_build *b, const struct lpo_json_pull_text *details)
{
    struct lpo_shape s = { 0 };
    uint64_t n[3];

    if (!read_detail(details, "grid", n))
        return LPO_NONE;
    for (int i = 0; i < 3; i++)
        s.grid[i] = small(n[i]);
    read_detail(details, "block", n);
    for (int i = 0; i < 3; i++)
        s.block[i] = small(n[i]);
    s.registers = read_detail(details, "regs", n) ? small(n[0]) : LPO_NONE;
    s.static_smem = read_detail(details, "static_shared", n) ? small(n[0]) : LPO_NONE;
    s.dynamic_smem = read_detail(details, "dynamic_shared", n) ? small(n[0]) : LPO_NONE;
    return lpo_trace_shape(b->t, &s);
}

/* Where the op comes from, as JAX says it; a type follows in "tf_op", behind a colon. */
static size_t scopes_of(struct lpo_xprof_build *b, const struct xprof_event *e,
                        uint32_t out[LPO_XLA_SCOPES])
{
    const struct lpo_json_pull_text *from = e->label.len ? &e->label : &e->place;
    size_t len = from->len;

    if (from == &e->place && len && from->at[len - 1] == ':')
        len--;
    return from->escaped ? 0 : lpo_trace_xla_scopes(b->t, from->at, len, out);
}

/* The module and the HLO op that XLA itself names, and the scopes of the program between them. */
static uint32_t stack_of(struct lpo_xprof_build *b, const struct xprof_event *e)
{
    struct lpo_frame frames[LPO_XLA_SCOPES + 2];
    uint32_t scopes[LPO_XLA_SCOPES];
    size_t n = 0, count = e->op.len ? scopes_of(b, e, scopes) : 0;

    if (e->module.len)
        frames[n++] = (struct lpo_frame){ text_of(b, &e->module), b->domain, LPO_PUSH_POP, 0 };
    for (size_t i = 0; i < count; i++)
        frames[n++] = (struct lpo_frame){ scopes[i], b->domain, LPO_PUSH_POP, 0 };
    if (e->op.len)
        frames[n++] = (struct lpo_frame){ text_of(b, &e->op), b->domain, LPO_PUSH_POP, 0 };
    return n ? lpo_trace_stack(b->t, frames, n) : LPO_NONE;
}

/* Copies as every other source names them. */
static uint32_t op_name(struct lpo_xprof_build *b, const struct xprof_event *e)
{
    static const char *const copies[][2] = {
        { "MemcpyH2D", "Memcpy HtoD" }, { "MemcpyD2H", "Memcpy DtoH" },
        { "MemcpyD2D", "Memcpy DtoD" }, { "MemcpyH2H", "Memcpy HtoH" },
        { "MemcpyP2P", "Memcpy PtoP" },
    };

    for (size_t i = 0; i < sizeof copies / sizeof *copies; i++)
        if (e->name.len == strlen(copies[i][0]) && begins(&e->name, copies[i][0]))
            return lpo_trace_name(b->t, copies[i][1]);
    return text_of(b, &e->name);
}

static void add_gpu_op(struct lpo_xprof_build *b, const struct plane *p,
                       const struct xprof_event *e, int64_t end_ns)
{
    const struct stream *stream = stream_of(b, e);
    struct lpo_gpu_op w = { LPO_GPU_OP_UNKNOWN,    .start_ns = e->start_ns, .end_ns = end_ns,
                            .process = b->process, .device = p->device,     .kind = LPO_KERNEL };
    uint64_t n[3];

    if (!stream) {
        b->nowhere++;
        return;
    }
    w.name = op_name(b, e);
    w.stream = stream->number;
    if (e->copy.len || begins(&e->name, "Memcpy"))
        w.kind = LPO_COPY;
    else if (e->fill.len || begins(&e->name, "Memset"))
        w.kind = LPO_MEMSET;
    if (w.kind == LPO_KERNEL)
        w.shape = shape_of(b, &e->kernel);
    else if (read_detail(&e->copy, "size", n) || read_detail(&e->fill, "num_bytes", n) ||
             read_detail(&e->copy, "num_bytes", n))
        w.bytes = n[0];
    if (e->dur_ns == LPO_NO_TIME)
        w.flags |= LPO_GPU_OP_NO_LENGTH;
    if (e->graph > 0)
        w.flags |= LPO_GPU_OP_GRAPH;
    if (!(b->t->skip & LPO_SKIP_RANGES))
        w.stack = stack_of(b, e);
    if (e->correlation != LPO_NO_TIME && !(b->t->skip & LPO_SKIP_LAUNCHES))
        lpo_trace_links_op(b->links, (uint32_t)b->t->gpu_ops.len, e->correlation);
    lpo_vec_push(&b->t->gpu_ops, w);
}

/* --- the host ------------------------------------------------------------------------------- */

static void add_step(struct lpo_xprof_build *b, const struct xprof_event *e, uint32_t thread,
                     int64_t end_ns)
{
    char name[32];
    int n = snprintf(name, sizeof name, "step %lld", (long long)e->step);

    lpo_vec_push(&b->t->ranges, (struct lpo_range){ .start_ns = e->start_ns,
                                                    .end_ns = end_ns,
                                                    .name = lpo_trace_namen(b->t, name, (size_t)n),
                                                    .thread = thread,
                                                    .kind = LPO_PUSH_POP });
}

/* XProf names the launch of a kernel by the kernel, and that of a graph with its number. What is
 * called decides whether a thread was blocked in it, so the call gets its own name. */
static uint32_t call_name(struct lpo_xprof_build *b, const struct xprof_event *e)
{
    static const char *const calls[] = { "cu", "hip", "Mem" };
    static const char graph_mark[] = " (CudaGraph:";
    struct lpo_json_pull_text name = e->name;
    const char *graph = memmem(name.at, name.len, graph_mark, sizeof graph_mark - 1);

    if (graph)
        name.len = (size_t)(graph - name.at);
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (begins(&name, calls[i]))
            return text_of(b, &name);
    return lpo_trace_name(b->t, "cuLaunchKernel");
}

/* Calls of the driver have a correlation id, functions of Python begin with '$', steps have their
 * number; what is left are the annotations of the framework and the program: its operators. */
static void add_host(struct lpo_xprof_build *b, const struct xprof_event *e, int64_t end_ns)
{
    struct lpo_trace *t = b->t;
    uint32_t thread = thread_of(b, e);
    struct lpo_process *p = &t->processes.at[b->process];

    if (end_ns > p->end_ns || p->end_ns == LPO_NO_TIME)
        p->end_ns = end_ns;
    if (e->correlation != LPO_NO_TIME) {
        struct lpo_call call = { .start_ns = e->start_ns,
                                 .end_ns = end_ns,
                                 .thread = thread,
                                 .process = b->process,
                                 .kind = begins(&e->name, "cuGraphLaunch") ? LPO_CALL_GRAPH : 0 };

        if (!(t->skip & LPO_SKIP_LAUNCHES))
            lpo_trace_links_call(b->links, e->correlation, &call);
        if (!(t->skip & LPO_SKIP_CALLS)) {
            lpo_vec_push(&t->calls,
                         (struct lpo_api_call){ e->start_ns, end_ns, call_name(b, e), thread });
            p->has_calls = true;
        }
    } else if (e->step >= 0) {
        if (!(t->skip & LPO_SKIP_RANGES))
            add_step(b, e, thread, end_ns);
    } else if (e->name.len && e->name.at[0] == '$') {
        if (!(t->skip & LPO_SKIP_CALLS))
            lpo_vec_push(&t->python, (struct lpo_python_call){ e->start_ns, end_ns,
                                                               text_of(b, &e->name), thread });
    } else if (!(t->skip & LPO_SKIP_OPS)) {
        lpo_vec_push(&t->ops, (struct lpo_op){ e->start_ns, end_ns, text_of(b, &e->name), thread,
                                               LPO_NONE, LPO_NONE });
    }
}

void lpo_xprof_build_add(struct lpo_xprof_build *b, const struct xprof_event *e)
{
    const struct plane *p;
    int64_t end_ns;

    if (e->ph == 'M' && lpo_json_pull_is(&e->name, "process_name"))
        add_plane(b, e);
    if (e->ph == 'M' && lpo_json_pull_is(&e->name, "thread_name"))
        add_thread(b, e);
    if (e->ph != 'X')
        return;
    b->stretches++;
    p = plane_of(b, e->pid);
    if (!p)
        return;
    if (e->start_ns == LPO_NO_TIME || e->start_ns > max_time || e->start_ns < -max_time ||
        e->dur_ns > max_length || (e->dur_ns < 0 && e->dur_ns != LPO_NO_TIME)) {
        b->without_time++;
        return;
    }
    end_ns = e->start_ns + (e->dur_ns == LPO_NO_TIME ? 0 : e->dur_ns);
    if (p->kind == GPU)
        add_gpu_op(b, p, e, end_ns);
    else
        add_host(b, e, end_ns);
}

void lpo_xprof_build_finish(struct lpo_xprof_build *b)
{
    lpo_trace_links_resolve(b->links, b->t);
    if (b->without_time)
        lpo_trace_note(b->t, b->without_time, "events without a time that can be read");
    if (b->stretches >= XPROF_MOST_EVENTS)
        lpo_trace_note(b->t, 0,
                       "the file has a million events: XProf leaves out what is more, so "
                       "that GPU operations may be missing; trace fewer steps");
    if (b->t->gpu_ops.len == b->first_op)
        lpo_trace_note(b->t, 0, "no stream of a GPU is in this trace of jax.profiler");
}
