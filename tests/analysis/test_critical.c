/* SPDX-License-Identifier: Apache-2.0 */
/* The critical path: traces of a few calls and kernels whose path and savings are worked out by
 * hand. Times are microseconds. */
#include "../unit.h"

#include "analysis/critical/critical.h"
#include "analysis/critical/private.h"
#include "analysis/steps/steps.h"
#include "region/tree.h"
#include "trace/trace.h"

enum { US = 1000 };

/* What a row puts into the trace. */
enum kind { END, KERNEL, COLLECTIVE, COPY, CALL, OP, RANGE };

struct event {
    enum kind kind;
    const char *name;
    int thread; /* 1, 2 */
    int64_t start, end;
    int stream; /* GPU operations: and when they ran; launch at start … end */
    int64_t gpu_start, gpu_end;
};

struct part {
    enum lpo_critical_part part;
    int64_t us;
    int64_t removed, halved; /* what it saves; NOT: not asked */
};

#define NOT -1

static const struct path_case {
    const char *name;
    struct event events[12];
    int64_t wall;
    struct part parts[8];
    uint64_t inferred, handovers;
} path_cases[] = {
    { "the host is late: kernels hide behind it",
      { { KERNEL, "a", 1, 0, 10, 7, 20, 30 },
        { KERNEL, "b", 1, 100, 110, 7, 120, 130 },
        { KERNEL, "c", 1, 200, 210, 7, 220, 230 } },
      230,
      { { LPO_PATH_HOST, 180, 180, 90 },
        { LPO_PATH_CALLS, 30, 30, 15 },
        /* each kernel follows its launch after 10 us */
        { LPO_PATH_LAUNCH_DELAY, 10, 10, 5 },
        { LPO_PATH_COMPUTE, 10, 10, 5 } },
      0,
      0 },
    { "the GPU is late: the host is far ahead, and waits at the end",
      { { KERNEL, "a", 1, 0, 10, 7, 15, 115 },
        { KERNEL, "b", 1, 20, 30, 7, 116, 216 },
        { CALL, "cudaDeviceSynchronize", 1, 40, 220 } },
      220,
      { { LPO_PATH_CALLS, 10, 10, 5 },
        { LPO_PATH_LAUNCH_DELAY, 5, 5, NOT },
        /* with no kernels the host is last: at 40, and 4 to return */
        { LPO_PATH_COMPUTE, 200, 176, 100 },
        { LPO_PATH_GAP, 1, NOT, NOT },
        /* without waiting the last kernel ends it */
        { LPO_PATH_RETURN, 4, 4, NOT } },
      0,
      0 },
    { "a wait between kernels holds the host back",
      { { KERNEL, "a", 1, 0, 10, 7, 10, 110 },
        { CALL, "cudaStreamSynchronize", 1, 20, 112 },
        { KERNEL, "b", 1, 150, 160, 7, 160, 260 } },
      260,
      { { LPO_PATH_CALLS, 20, NOT, NOT },
        { LPO_PATH_COMPUTE, 200, NOT, NOT },
        { LPO_PATH_RETURN, 2, 50, NOT },
        { LPO_PATH_HOST, 38, NOT, NOT } },
      0,
      0 },
    { "a stream that waits for another one",
      { { KERNEL, "a", 1, 0, 5, 7, 5, 105 },
        { COLLECTIVE, "ncclDevKernel_AllReduce", 1, 10, 15, 20, 106, 206 },
        { KERNEL, "b", 1, 20, 25, 7, 207, 307 } },
      307,
      { { LPO_PATH_CALLS, 5, NOT, NOT },
        { LPO_PATH_COMPUTE, 200, NOT, NOT },
        { LPO_PATH_COMMUNICATION, 100, 100, 50 },
        { LPO_PATH_GAP, 2, NOT, NOT } },
      2,
      0 },
    { "streams that run beside each other do not wait",
      { { KERNEL, "a", 1, 0, 5, 7, 5, 105 }, { KERNEL, "b", 1, 10, 15, 20, 15, 60 } },
      105,
      { { LPO_PATH_CALLS, 5, NOT, NOT }, { LPO_PATH_COMPUTE, 100, 90, 50 } },
      0,
      0 },
    { "the backward thread works while the main one rests",
      { { KERNEL, "a", 1, 0, 10, 7, 10, 20 },
        { KERNEL, "b", 2, 100, 110, 7, 110, 120 },
        { KERNEL, "c", 2, 180, 190, 7, 190, 200 },
        { KERNEL, "d", 1, 300, 310, 7, 310, 320 } },
      320,
      { { LPO_PATH_HOST, 270, 270, 135 },
        { LPO_PATH_CALLS, 40, 40, 20 },
        { LPO_PATH_COMPUTE, 10, 10, 5 } },
      0,
      1 },
    { "a thread in an operator does not rest",
      { { KERNEL, "a", 1, 0, 10, 7, 10, 20 },
        { OP, "aten::sort", 1, 20, 290 },
        { KERNEL, "b", 2, 100, 110, 7, 110, 120 },
        { KERNEL, "d", 1, 300, 310, 7, 310, 320 } },
      320,
      { { LPO_PATH_HOST, 290, NOT, NOT },
        { LPO_PATH_CALLS, 20, NOT, NOT },
        { LPO_PATH_COMPUTE, 10, NOT, NOT } },
      0,
      0 },
    { "a copy that its call waits for",
      { { COPY, "Memcpy DtoH (Device -> Pageable)", 1, 0, 100, 7, 20, 96 },
        { KERNEL, "b", 1, 120, 130, 7, 130, 140 } },
      140,
      { { LPO_PATH_LAUNCH_DELAY, 20, 20, 10 },
        { LPO_PATH_COPY, 76, 76, 38 },
        { LPO_PATH_RETURN, 4, NOT, NOT },
        { LPO_PATH_HOST, 20, 20, 10 },
        { LPO_PATH_CALLS, 10, 10, 5 },
        { LPO_PATH_COMPUTE, 10, 10, 5 } },
      0,
      0 },
    { "what could start and did not has no known cause",
      { { KERNEL, "a", 1, 0, 10, 7, 10, 20 }, { KERNEL, "b", 1, 12, 15, 7, 100, 120 } },
      120,
      { { LPO_PATH_CALLS, 10, NOT, NOT },
        { LPO_PATH_COMPUTE, 30, NOT, NOT },
        { LPO_PATH_UNEXPLAINED, 80, 80, NOT } },
      0,
      0 },
    { "a kernel that begins before the one that it follows ends",
      { { KERNEL, "a", 1, 0, 10, 7, 10, 50 }, { KERNEL, "b", 1, 12, 20, 7, 48, 90 } },
      90,
      { { LPO_PATH_CALLS, 10, NOT, NOT }, { LPO_PATH_COMPUTE, 80, NOT, NOT } },
      0,
      0 },
    { "a launch after the start of its kernel: two clocks",
      { { KERNEL, "a", 1, 20, 30, 7, 10, 50 } },
      40,
      { { LPO_PATH_COMPUTE, 40, 20, 20 } /* then the call is last */ },
      0,
      0 },
};

static void put(struct lpo_trace *t, const struct event *e)
{
    uint32_t thread = lpo_trace_thread(t, lpo_trace_process(t, 1, -1), e->thread);
    uint32_t name = lpo_trace_name(t, e->name);

    if (e->kind == CALL)
        lpo_vec_push(&t->calls, (struct lpo_api_call){ e->start * US, e->end * US, name, thread });
    else if (e->kind == OP)
        lpo_vec_push(&t->ops, (struct lpo_op){ e->start * US, e->end * US, name, thread, LPO_NONE,
                                               LPO_NONE });
    else if (e->kind == RANGE)
        lpo_vec_push(&t->ranges, (struct lpo_range){ e->start * US, e->end * US, name, thread });
    else {
        lpo_vec_push(&t->gpu_ops,
                     (struct lpo_gpu_op){ .start_ns = e->gpu_start * US,
                                          .end_ns = e->gpu_end * US,
                                          .name = name,
                                          .launch = (uint32_t)t->launches.len,
                                          .stack = LPO_NONE,
                                          .capture = LPO_NONE,
                                          .shape = LPO_NONE,
                                          .metrics = LPO_NONE,
                                          .stream = (uint32_t)e->stream,
                                          .device = lpo_trace_device(t, 0, -1),
                                          .kind = e->kind == COPY ? LPO_COPY : LPO_KERNEL });
        lpo_vec_push(&t->launches, (struct lpo_launch){ e->start * US, e->end * US, thread });
    }
}

static struct lpo_trace *make_trace(const struct event *events, size_t most)
{
    struct lpo_trace *t = lpo_trace_create();

    t->has_ranges = true;
    for (size_t i = 0; i < most && events[i].kind != END; i++)
        put(t, &events[i]);
    return t;
}

static void check_path(void **state)
{
    const struct path_case *c = *state;
    LPO_AUTO(lpo_trace) t = make_trace(c->events, sizeof c->events / sizeof *c->events);
    LPO_AUTO(lpo_region_tree) tree = lpo_region_tree_create(t);
    LPO_AUTO(lpo_critical) all = lpo_critical_create(tree, NULL);
    const struct lpo_critical_path *p;
    int64_t sum = 0, named = 0;

    assert_int_equal(all->paths.len, 1);
    p = &all->paths.at[0];
    assert_int_equal(p->end_ns - p->start_ns, c->wall * US);
    assert_int_equal(p->simulated_ns, c->wall * US);
    assert_true(p->fits);
    for (size_t i = 0; i < sizeof c->parts / sizeof *c->parts && c->parts[i].us; i++) {
        const struct part *want = &c->parts[i];
        const struct lpo_critical_saving *s = &p->savings[want->part];

        assert_int_equal(p->parts.ns[want->part], want->us * US);
        sum += want->us;
        if (want->removed != NOT)
            assert_int_equal(s->removed_ns, want->removed * US);
        if (want->halved != NOT)
            assert_int_equal(s->halved_ns, want->halved * US);
    }
    assert_int_equal(sum, c->wall); /* the rows of the case are the whole path */
    for (size_t i = 0; i < p->entries.len; i++)
        named += p->entries.at[i].ns;
    assert_int_equal(named, p->parts.ns[LPO_PATH_HOST] + p->parts.ns[LPO_PATH_CALLS] +
                                p->parts.ns[LPO_PATH_COMPUTE] +
                                p->parts.ns[LPO_PATH_COMMUNICATION] + p->parts.ns[LPO_PATH_COPY]);
    assert_int_equal(p->inferred_waits, c->inferred);
    assert_int_equal(p->handovers, c->handovers);
}

static const struct wait_case {
    const char *name, *call;
    bool waits;
} wait_cases[] = {
    { "the device", "cudaDeviceSynchronize", true },
    { "the driver's", "cuStreamSynchronize", true },
    { "nsys writes a version", "cudaEventSynchronize_v3020", true },
    { "HIP", "hipDeviceSynchronize", true },
    { "freeing waits", "cudaFree", true },
    { "freeing, as nsys writes it", "cudaFree_v3020", true },
    { "freeing in order of a stream does not", "cudaFreeAsync", false },
    { "memory of the host does not", "cudaFreeHost", false },
    { "a query does not", "cudaEventQuery", false },
    { "a launch does not", "cudaLaunchKernel", false },
};

static void check_waits(void **state)
{
    const struct wait_case *c = *state;

    assert_int_equal(lpo_critical_waits(c->call), c->waits);
}

/* Operators, calls and regions that the path goes through, and what each would save. */
static void names_and_regions(void **state)
{
    static const struct event events[] = {
        { RANGE, "step", 1, 0, 400 },
        { RANGE, "attn", 1, 95, 250 },
        { OP, "aten::mm", 1, 20, 90 },
        { KERNEL, "a", 1, 0, 10, 7, 10, 20 },
        { CALL, "cudaMalloc", 1, 30, 80 },
        { KERNEL, "b", 1, 100, 110, 7, 110, 210 },
        { CALL, "cudaStreamSynchronize", 1, 115, 210 },
        { KERNEL, "b", 1, 300, 310, 7, 310, 410 },
    };
    LPO_AUTO(lpo_trace) t = make_trace(events, sizeof events / sizeof *events);
    LPO_AUTO(lpo_region_tree) tree = lpo_region_tree_create(t);
    LPO_AUTO(lpo_critical) all = lpo_critical_create(tree, NULL);
    const struct lpo_critical_path *p = &all->paths.at[0];
    const struct lpo_critical_entry *e = p->entries.at;

    assert_int_equal(p->end_ns - p->start_ns, 410 * US);
    assert_string_equal(lpo_trace_text(t, e[0].name), "b");
    assert_int_equal(e[0].ns, 200 * US);
    assert_int_equal(e[0].count, 2);
    /* the host has launched the second by 205: 310 less the 95 of the wait */
    assert_int_equal(e[0].saving.removed_ns, 195 * US);
    assert_int_equal(e[0].saving.halved_ns, 100 * US);
    assert_int_equal(e[1].name, LPO_NONE);
    assert_int_equal(e[1].part, LPO_PATH_HOST);
    assert_int_equal(e[1].ns, 110 * US);
    assert_string_equal(lpo_trace_text(t, e[2].name), "cudaMalloc");
    assert_int_equal(e[2].part, LPO_PATH_CALLS);
    assert_int_equal(e[2].ns, 50 * US);
    assert_int_equal(e[2].saving.removed_ns, 50 * US);
    assert_int_equal(e[2].saving.halved_ns, 25 * US);
    /* without what calls take of it */
    assert_string_equal(lpo_trace_text(t, e[4].name), "aten::mm");
    assert_int_equal(e[4].ns, 20 * US);

    assert_int_equal(p->regions.len, 2);
    assert_string_equal(lpo_trace_text(t, tree->nodes.at[p->regions.at[0].node].name), "step");
    assert_int_equal(p->regions.at[0].ns, 410 * US);
}

/* Each step has the part of the path that lies in it. */
static void steps_cut_the_path(void **state)
{
    static const struct event events[] = {
        { RANGE, "ProfilerStep#1", 1, 0, 100 },    { RANGE, "ProfilerStep#2", 1, 100, 300 },
        { KERNEL, "a", 1, 0, 10, 7, 10, 150 },     { CALL, "cudaDeviceSynchronize", 1, 20, 150 },
        { KERNEL, "b", 1, 200, 210, 7, 210, 300 },
    };
    LPO_AUTO(lpo_trace) t = make_trace(events, sizeof events / sizeof *events);
    LPO_AUTO(lpo_region_tree) tree = lpo_region_tree_create(t);
    struct lpo_program_steps *steps = lpo_steps_create(tree);
    LPO_AUTO(lpo_critical) all = lpo_critical_create(tree, steps);
    const struct lpo_critical_path *p = &all->paths.at[0];

    assert_int_equal(p->steps.len, 2);
    assert_int_equal(p->steps.at[0].parts.ns[LPO_PATH_CALLS], 10 * US);
    assert_int_equal(p->steps.at[0].parts.ns[LPO_PATH_COMPUTE], 90 * US);
    assert_int_equal(p->steps.at[1].parts.ns[LPO_PATH_COMPUTE], 140 * US);
    assert_int_equal(p->steps.at[1].parts.ns[LPO_PATH_HOST], 50 * US);
    assert_int_equal(p->steps.at[1].parts.ns[LPO_PATH_CALLS], 10 * US);
    lpo_steps_destroy(steps);
}

/* What the first process takes less when each of its operations takes so much less. */
static int64_t shorter(const struct lpo_region_tree *tree, const int64_t *less_ns)
{
    struct critical_rows rows;
    struct critical_input in;
    struct critical_graph g;
    struct critical_replay replay = { .g = &g };
    int64_t out[2];

    lpo_critical_rows_find(&rows, tree->trace);
    in = lpo_critical_input(tree, &rows, 0);
    lpo_critical_graph_build(&g, &in);
    for (uint32_t i = 0; i < g.ops.len; i++)
        lpo_critical_replay_edit(&replay, CRITICAL_EDIT_OP, i, 0, less_ns[g.op_rows[i]]);
    lpo_critical_replay_prepare(&replay);
    lpo_critical_replay_run(&replay, (const uint64_t[]){ 0, 1 }, 2, out);
    lpo_critical_replay_free(&replay);
    lpo_critical_graph_free(&g);
    lpo_critical_rows_free(&rows);
    return out[0] - out[1];
}

/* Waits that the source has: of a stream for another one long after its event, and of the host for
 * the stream that it names and not for the one that ended later. */
static void recorded_waits(void **state)
{
    static const struct event events[] = {
        { KERNEL, "a", 1, 0, 5, 7, 5, 105 },
        { KERNEL, "b", 1, 10, 15, 20, 15, 60 },
        /* waits for b, and starts 50 us later: too late to be inferred */
        { KERNEL, "c", 1, 20, 25, 21, 110, 120 },
        { CALL, "cudaStreamSynchronize", 1, 30, 108 },
    };
    LPO_AUTO(lpo_trace) t = make_trace(events, sizeof events / sizeof *events);
    LPO_AUTO(lpo_region_tree) tree = NULL;
    LPO_AUTO(lpo_critical) all = NULL;
    const struct lpo_critical_path *p;
    int64_t less[3] = { 0 };

    lpo_vec_push(&t->waits, (struct lpo_wait){ .ns = 18 * US,
                                               .record_ns = 17 * US,
                                               .stream = 21,
                                               .on_stream = 20,
                                               .kind = LPO_WAIT_STREAM_FOR_EVENT });
    lpo_vec_push(&t->waits, (struct lpo_wait){ .ns = 31 * US,
                                               .record_ns = LPO_NO_TIME,
                                               .stream = 20,
                                               .kind = LPO_WAIT_HOST_FOR_STREAM });
    tree = lpo_region_tree_create(t);
    all = lpo_critical_create(tree, NULL);
    p = &all->paths.at[0];
    assert_int_equal(p->recorded_waits, 2);
    assert_int_equal(p->simulated_ns, 120 * US);
    less[1] = 10 * US;
    assert_int_equal(shorter(tree, less), 10 * US);
    less[1] = 45 * US; /* all of b: then a, which ends at 105, is the longest */
    assert_int_equal(shorter(tree, less), 15 * US);
    less[0] = 100 * US; /* and a: then the call, which begins at 30, takes 48 to return */
    assert_int_equal(shorter(tree, less), 42 * US);
    /* c 10, unexplained 50, b 45, its launch at 15: nothing of a */
    assert_int_equal(p->parts.ns[LPO_PATH_COMPUTE], 55 * US);
    assert_int_equal(p->parts.ns[LPO_PATH_UNEXPLAINED], 50 * US);
}

/* Work that was launched before the recording began, and that the host waits for. */
static void waits_for_what_was_launched_before(void **state)
{
    static const struct event events[] = {
        { KERNEL, "a", 1, 0, 5, 7, 5, 10 },
        { KERNEL, "old", 1, 0, 0, 7, 20, 90 },
        { KERNEL, "b", 1, 120, 125, 7, 125, 130 },
        { CALL, "cudaStreamSynchronize", 1, 15, 92 },
    };
    LPO_AUTO(lpo_trace) t = make_trace(events, sizeof events / sizeof *events);
    LPO_AUTO(lpo_region_tree) tree = NULL;
    LPO_AUTO(lpo_critical) all = NULL;
    const struct lpo_critical_path *p;

    t->gpu_ops.at[1].launch = LPO_NONE;
    lpo_vec_push(&t->waits, (struct lpo_wait){ .ns = 16 * US,
                                               .record_ns = LPO_NO_TIME,
                                               .stream = 7,
                                               .kind = LPO_WAIT_HOST_FOR_STREAM });
    tree = lpo_region_tree_create(t);
    all = lpo_critical_create(tree, NULL);
    p = &all->paths.at[0];
    assert_int_equal(p->recorded_waits, 1);
    assert_int_equal(p->parts.ns[LPO_PATH_RETURN], 2 * US); /* of the old one, not of a */
}

/* Two processes are two paths; one without GPU operations has none. */
static void processes_apart(void **state)
{
    static const struct event events[] = { { KERNEL, "a", 1, 0, 10, 7, 10, 20 } };
    LPO_AUTO(lpo_trace) t = make_trace(events, 1);
    uint32_t other = lpo_trace_thread(t, lpo_trace_process(t, 2, -1), 1);
    LPO_AUTO(lpo_region_tree) tree = NULL;
    LPO_AUTO(lpo_critical) all = NULL;

    lpo_trace_process(t, 3, -1);
    put(t, &(struct event){ KERNEL, "b", 1, 0, 10, 7, 50, 90 });
    t->launches.at[1].thread = other;
    t->gpu_ops.at[1].process = t->threads.at[other].process;
    tree = lpo_region_tree_create(t);
    all = lpo_critical_create(tree, NULL);
    assert_int_equal(all->paths.len, 2);
    assert_int_equal(all->paths.at[0].end_ns, 20 * US);
    assert_int_equal(all->paths.at[1].end_ns, 90 * US);
    assert_int_equal(all->paths.at[1].parts.ns[LPO_PATH_UNEXPLAINED], 40 * US);
}

/* More launches under way than all changes have room for at once: they are worked out in groups,
 * and give what the sum of the kernels says. */
static void launches_far_ahead(void **state)
{
    static const char *const names[] = { "a", "b", "c", "d", "e", "f", "g", "h" };
    enum { LAUNCHES = 60000, NAMES = sizeof names / sizeof *names, KERNEL_US = 100 };
    LPO_AUTO(lpo_trace) t = lpo_trace_create();
    LPO_AUTO(lpo_region_tree) tree = NULL;
    LPO_AUTO(lpo_critical) all = NULL;
    const struct lpo_critical_path *p;

    t->has_ranges = true;
    for (int i = 0; i < LAUNCHES; i++)
        put(t, &(struct event){ KERNEL, names[i % NAMES], 1, i, i + 1, 7,
                                LAUNCHES + (int64_t)i * KERNEL_US,
                                LAUNCHES + (int64_t)(i + 1) * KERNEL_US });
    put(t, &(struct event){ CALL, "cudaDeviceSynchronize", 1, LAUNCHES,
                            LAUNCHES + (int64_t)LAUNCHES * KERNEL_US + 10 });
    tree = lpo_region_tree_create(t);
    all = lpo_critical_create(tree, NULL);
    p = &all->paths.at[0];
    assert_true(p->fits);
    assert_int_equal(p->savings[LPO_PATH_COMPUTE].halved_ns,
                     (int64_t)LAUNCHES * KERNEL_US / 2 * US);
    assert_int_equal(p->entries.len, NAMES + 1); /* and the first launch */
    for (size_t i = 0; i < NAMES; i++) {
        const struct lpo_critical_entry *e = &p->entries.at[i];

        assert_int_equal(e->ns, (int64_t)LAUNCHES / NAMES * KERNEL_US * US);
        assert_int_equal(e->saving.removed_ns, e->ns);
        assert_int_equal(e->saving.halved_ns, e->ns / 2);
    }
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_ROWS(&u, path_cases, check_path);
    UNIT_ROWS(&u, wait_cases, check_waits);
    UNIT_TEST(&u, names_and_regions);
    UNIT_TEST(&u, steps_cut_the_path);
    UNIT_TEST(&u, recorded_waits);
    UNIT_TEST(&u, waits_for_what_was_launched_before);
    UNIT_TEST(&u, processes_apart);
    UNIT_TEST(&u, launches_far_ahead);
    return unit_run(&u);
}
