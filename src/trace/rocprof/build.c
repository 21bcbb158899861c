/* SPDX-License-Identifier: Apache-2.0 */
/* Rows into the trace. What they refer to (agents, kernels, names of calls) stands before them in
 * every file that rocprofv3 writes. */

#include "trace/link.h"
#include "trace/rocprof/private.h"
#include "trace/trace.h"

enum { AGENT_GPU = 2, MOST_GPUS = 1024 };

struct kernel {
    uint32_t name, linker, vgprs;
};

struct lpo_rocprof_build {
    struct lpo_trace *t;
    struct lpo_trace_links *links;
    uint16_t process;
    struct lpo_map_u64 *agents;  /* handle of a GPU to the row of its device */
    struct lpo_map_u64 *kernels; /* id to the row of `all` */
    struct lpo_map_u64 *marks;   /* correlation id to the name of what was marked */
    LPO_VEC(struct kernel) all;
    LPO_VEC(uint32_t) kinds;      /* the first of `operations` of each */
    LPO_VEC(uint32_t) operations; /* names */
    struct lpo_str scratch;
    uint64_t without_time;
};

struct lpo_rocprof_build *lpo_rocprof_build_create(struct lpo_trace *t)
{
    struct lpo_rocprof_build *b = lpo_xcalloc(1, sizeof *b);

    b->t = t;
    b->links = lpo_trace_links_create(0);
    b->agents = lpo_map_u64_create(0);
    b->kernels = lpo_map_u64_create(0);
    b->marks = lpo_map_u64_create(0);
    b->process = lpo_trace_process(t, -1, -1);
    return b;
}

void lpo_rocprof_build_destroy(struct lpo_rocprof_build *b)
{
    if (!b)
        return;
    lpo_trace_links_destroy(b->links);
    lpo_map_u64_destroy(b->agents);
    lpo_map_u64_destroy(b->kernels);
    lpo_map_u64_destroy(b->marks);
    lpo_vec_free(&b->all);
    lpo_vec_free(&b->kinds);
    lpo_vec_free(&b->operations);
    lpo_str_free(&b->scratch);
    free(b);
}

/* Ids are of a process: kernels, kinds and marks of the one before are forgotten. */
void lpo_rocprof_build_process(struct lpo_rocprof_build *b, int64_t pid)
{
    b->process = lpo_trace_process(b->t, pid, -1);
}

static uint32_t text_of(struct lpo_rocprof_build *b, const struct lpo_json_pull_text *text)
{
    if (!text->escaped)
        return lpo_trace_namen(b->t, text->at, text->len);
    lpo_str_clear(&b->scratch);
    lpo_json_pull_unescape(text, LPO_PULL_LENIENT, &b->scratch, NULL);
    return lpo_trace_namen(b->t, lpo_str_text(&b->scratch), b->scratch.len);
}

/* --- what rows refer to --------------------------------------------------------------------- */

void lpo_rocprof_build_kind(struct lpo_rocprof_build *b)
{
    lpo_vec_push(&b->kinds, (uint32_t)b->operations.len);
}

void lpo_rocprof_build_operation(struct lpo_rocprof_build *b, const struct lpo_json_pull_text *name)
{
    lpo_vec_push(&b->operations, text_of(b, name));
}

static uint32_t operation_name(struct lpo_rocprof_build *b, const struct rocprof_row *r)
{
    uint64_t kind = (uint64_t)r->n[R_KIND], at = (uint64_t)r->n[R_OPERATION], end;

    if (kind >= b->kinds.len || at >= b->operations.len)
        return lpo_trace_name(b->t, "(call without a name)");
    end = kind + 1 < b->kinds.len ? b->kinds.at[kind + 1] : b->operations.len;
    at += b->kinds.at[kind];
    return at < end ? b->operations.at[at] : lpo_trace_name(b->t, "(call without a name)");
}

static void add_agent(struct lpo_rocprof_build *b, const struct rocprof_row *r)
{
    int64_t ordinal = r->n[R_ORDINAL];
    struct lpo_device *d;
    uint32_t row;

    if (r->n[R_TYPE] != AGENT_GPU || ordinal < 0 || ordinal >= MOST_GPUS)
        return;
    row = lpo_trace_device(b->t, (int32_t)ordinal, -1);
    *lpo_map_u64_put(b->agents, (uint64_t)r->n[R_ID], NULL) = row;
    d = &b->t->devices.at[row];
    if (r->text[R_NAME].len)
        d->name = text_of(b, &r->text[R_NAME]);
    if (r->n[R_CUS] > 0)
        d->sms = (uint32_t)r->n[R_CUS];
    if (r->n[R_CLOCK] > 0)
        d->sm_clock_khz = (uint32_t)(r->n[R_CLOCK] * 1000);
}

static void add_kernel(struct lpo_rocprof_build *b, const struct rocprof_row *r)
{
    const struct lpo_json_pull_text *name = &r->text[R_NAME];
    struct kernel k = { .vgprs = r->n[R_VGPRS] >= 0 ? (uint32_t)r->n[R_VGPRS] : LPO_NONE };

    if (!name->len)
        name = r->text[R_OTHER_NAME].len ? &r->text[R_OTHER_NAME] : &r->text[R_LINKER];
    if (!name->len)
        return;
    k.name = text_of(b, name);
    k.linker = r->text[R_LINKER].len ? text_of(b, &r->text[R_LINKER]) : 0;
    *lpo_map_u64_put(b->kernels, (uint64_t)r->n[R_KERNEL], NULL) = (uint32_t)b->all.len;
    lpo_vec_push(&b->all, k);
}

static void add_mark(struct lpo_rocprof_build *b, const struct rocprof_row *r)
{
    if (r->text[R_VALUE].len)
        *lpo_map_u64_put(b->marks, (uint64_t)r->n[R_KEY], NULL) = text_of(b, &r->text[R_VALUE]);
}

/* --- GPU operations ------------------------------------------------------------------------- */

static int64_t launch_id(const struct lpo_rocprof_build *b, int64_t correlation)
{
    return (int64_t)((uint64_t)b->process << 48 | ((uint64_t)correlation & 0xffffffffffff));
}

static bool begin_op(struct lpo_rocprof_build *b, const struct rocprof_row *r, int64_t agent,
                     struct lpo_gpu_op *w)
{
    const uint32_t *device = lpo_map_u64_find(b->agents, (uint64_t)agent);
    /* the stream of HIP; where it is the default one or not recorded, the queue */
    int64_t stream = r->n[R_STREAM] > 0 ? r->n[R_STREAM] : r->n[R_QUEUE];

    *w = (struct lpo_gpu_op){ LPO_GPU_OP_UNKNOWN, .start_ns = r->n[R_START], .end_ns = r->n[R_END],
                              .stream = stream > 0 ? (uint32_t)stream : 0, .process = b->process };
    if (w->start_ns < 0 || w->end_ns < w->start_ns) {
        b->without_time++;
        return false;
    }
    w->device = device ? (uint16_t)*device : lpo_trace_device(b->t, 0, -1);
    return true;
}

static void push_op(struct lpo_rocprof_build *b, const struct rocprof_row *r,
                    const struct lpo_gpu_op *w)
{
    if (r->n[R_CORRELATION] > 0 && !(b->t->skip & LPO_SKIP_LAUNCHES))
        lpo_trace_links_op(b->links, (uint32_t)b->t->gpu_ops.len,
                           launch_id(b, r->n[R_CORRELATION]));
    lpo_vec_push(&b->t->gpu_ops, *w);
}

static uint32_t small(int64_t v)
{
    return v >= 0 && v < LPO_NONE ? (uint32_t)v : LPO_NONE;
}

/* HSA counts the grid in work items. */
static uint32_t shape_of(struct lpo_rocprof_build *b, const struct rocprof_row *r, uint32_t vgprs)
{
    struct lpo_shape s = { .registers = vgprs,
                           .static_smem = small(r->n[R_GROUP_SEGMENT]),
                           .dynamic_smem = LPO_NONE };

    for (int i = 0; i < 3; i++) {
        int64_t group = r->n[R_GROUP + i], grid = r->n[R_GRID + i];

        s.block[i] = small(group);
        s.grid[i] = group > 0 && grid >= 0 ? small(grid / group + (grid % group != 0)) : LPO_NONE;
    }
    return lpo_trace_shape(b->t, &s);
}

static void add_dispatch(struct lpo_rocprof_build *b, const struct rocprof_row *r)
{
    const uint32_t *row = lpo_map_u64_find(b->kernels, (uint64_t)r->n[R_KERNEL]);
    struct kernel k = { .vgprs = LPO_NONE };
    struct lpo_gpu_op w;

    if (!begin_op(b, r, r->n[R_AGENT], &w))
        return;
    if (row)
        k = b->all.at[*row];
    else
        k.name = lpo_trace_name(b->t, "(kernel without a name)");
    w.kind = LPO_KERNEL;
    w.name = k.name;
    w.linker = k.linker;
    w.shape = shape_of(b, r, k.vgprs);
    push_op(b, r, &w);
}

static void add_copy(struct lpo_rocprof_build *b, const struct rocprof_row *r)
{
    const uint32_t *from = lpo_map_u64_find(b->agents, (uint64_t)r->n[R_SOURCE]);
    const uint32_t *to = lpo_map_u64_find(b->agents, (uint64_t)r->n[R_TARGET]);
    const char *name = !from && !to   ? "Memcpy HtoH"
                       : !from        ? "Memcpy HtoD"
                       : !to          ? "Memcpy DtoH"
                       : *from == *to ? "Memcpy DtoD"
                                      : "Memcpy PtoP";
    struct lpo_gpu_op w;

    if (!begin_op(b, r, r->n[to ? R_TARGET : R_SOURCE], &w))
        return;
    w.kind = LPO_COPY;
    w.name = lpo_trace_name(b->t, name);
    w.bytes = r->n[R_BYTES] > 0 ? (uint64_t)r->n[R_BYTES] : 0;
    push_op(b, r, &w);
}

/* --- the host ------------------------------------------------------------------------------- */

static bool begin_host(struct lpo_rocprof_build *b, const struct rocprof_row *r, uint32_t *thread)
{
    struct lpo_process *p = &b->t->processes.at[b->process];

    if (r->n[R_START] < 0 || r->n[R_END] < r->n[R_START]) {
        b->without_time++;
        return false;
    }
    if (r->n[R_END] > p->end_ns)
        p->end_ns = r->n[R_END];
    *thread = lpo_trace_thread(b->t, b->process, r->n[R_THREAD]);
    return true;
}

static void add_call(struct lpo_rocprof_build *b, const struct rocprof_row *r)
{
    uint32_t thread;

    if (!begin_host(b, r, &thread))
        return;
    if (r->n[R_CORRELATION] > 0 && !(b->t->skip & LPO_SKIP_LAUNCHES))
        lpo_trace_links_call(b->links, launch_id(b, r->n[R_CORRELATION]),
                             &(struct lpo_call){ .start_ns = r->n[R_START],
                                                 .end_ns = r->n[R_END],
                                                 .thread = thread,
                                                 .process = b->process });
    if (b->t->skip & LPO_SKIP_CALLS)
        return;
    b->t->processes.at[b->process].has_calls = true;
    lpo_vec_push(&b->t->calls,
                 (struct lpo_api_call){ r->n[R_START], r->n[R_END], operation_name(b, r), thread });
}

/* ROCTx: a record is a whole range, of the call that began it; what was marked is a moment. */
static void add_range(struct lpo_rocprof_build *b, const struct rocprof_row *r)
{
    const char *call = lpo_trace_text(b->t, operation_name(b, r));
    const uint32_t *name = lpo_map_u64_find(b->marks, (uint64_t)r->n[R_CORRELATION]);
    bool process = strstr(call, "Start") || strstr(call, "ProcessRange");
    uint32_t thread;

    if (strstr(call, "Mark") || strstr(call, "Name") || strstr(call, "Profiler") ||
        strstr(call, "Pop") || strstr(call, "Stop") || !begin_host(b, r, &thread) ||
        b->t->skip & LPO_SKIP_RANGES)
        return;
    lpo_vec_push(&b->t->ranges,
                 (struct lpo_range){ .start_ns = r->n[R_START],
                                     .end_ns = r->n[R_END],
                                     .name = name ? *name : lpo_trace_name(b->t, "(unnamed)"),
                                     .thread = thread,
                                     .kind = process ? LPO_START_END : LPO_PUSH_POP });
}

/* --- by list -------------------------------------------------------------------------------- */

static const struct list {
    const char *name;
    void (*add)(struct lpo_rocprof_build *b, const struct rocprof_row *r);
} lists[] = {
    { "agents", add_agent },
    { "kernel_symbols", add_kernel },
    { "marker_api of strings", add_mark },
    { "kernel_dispatch", add_dispatch },
    { "memory_copy", add_copy },
    { "hip_api", add_call },
    { "hsa_api", add_call },
    { "marker_api", add_range },
};

static const struct list *find_list(const char *name)
{
    return lpo_find(i, lists, sizeof lists / sizeof *lists, strcmp(lists[i].name, name) == 0);
}

bool lpo_rocprof_build_wants(const char *list)
{
    return find_list(list) != NULL;
}

void lpo_rocprof_build_row(struct lpo_rocprof_build *b, const char *list,
                           const struct rocprof_row *row)
{
    const struct list *l = find_list(list);

    if (l)
        l->add(b, row);
}

void lpo_rocprof_build_finish(struct lpo_rocprof_build *b)
{
    lpo_trace_links_resolve(b->links, b->t);
    if (b->without_time)
        lpo_trace_note(b->t, b->without_time, "records without a time that can be read");
}
