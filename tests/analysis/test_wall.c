/* SPDX-License-Identifier: Apache-2.0 */
/* The corners of "where the wall time went"; wall_oracle.py compares whole traces. */
#include "../unit.h"

#include "analysis/wall/wall.h"
#include "region/tree.h"
#include "trace/trace.h"

enum { OPS = 5, CALLS = 6 };

/* A GPU operation; `launch` is a row of the calls, counted from 1; 0: no launch record. */
struct op {
    const char *name; /* "copy": a copy; else a kernel */
    int64_t start, end;
    int launch;
};

struct call {
    const char *name;
    int64_t start, end;
    int thread;
};

static const struct wall_case {
    const char *name;
    struct op ops[OPS];
    struct call calls[CALLS];
    int64_t parts[4]; /* compute, exposed communication, exposed copy, idle */
    int64_t idle[LPO_IDLE_CAUSES];
    const char *blocked; /* the first of the calls */
} cases[] = {
    { "one operation is all span", { { "a", 10, 20, 0 } }, { { 0 } }, { 10 }, { 0 }, NULL },
    { "touching operations leave no gap",
      { { "a", 0, 10, 0 }, { "b", 10, 20, 0 } },
      { { 0 } },
      { 20 },
      { 0 },
      NULL },
    { "no launch record is unknown",
      { { "a", 0, 10, 0 }, { "b", 30, 40, 0 } },
      { { "cudaStreamSynchronize", 10, 30, 1 } },
      { 20, 0, 0, 20 },
      { 0, 0, 0, 20 },
      NULL },
    { "launched after the gap began is the host",
      { { "a", 0, 10, 0 }, { "b", 30, 40, 1 } },
      { { "cudaLaunchKernel", 11, 12, 1 } },
      { 20, 0, 0, 20 },
      { 0, 20 },
      NULL },
    { "launched when the gap began is queued",
      { { "a", 0, 10, 0 }, { "b", 30, 40, 1 } },
      { { "cudaLaunchKernel", 10, 12, 1 } },
      { 20, 0, 0, 20 },
      { 0, 0, 20 },
      NULL },
    { "half of the gap in a call is blocked, though it was queued",
      { { "a", 0, 10, 0 }, { "b", 30, 40, 1 } },
      { { "cudaLaunchKernel", 5, 6, 1 }, { "cudaStreamSynchronize", 20, 50, 1 } },
      { 20, 0, 0, 20 },
      { 20 },
      "cudaStreamSynchronize" },
    { "a nanosecond less than half is not",
      { { "a", 0, 10, 0 }, { "b", 31, 40, 1 } },
      { { "cudaLaunchKernel", 5, 6, 1 }, { "cudaStreamSynchronize", 21, 50, 1 } },
      { 19, 0, 0, 21 },
      { 0, 0, 21 },
      NULL },
    { "another thread's call does not count",
      { { "a", 0, 10, 0 }, { "b", 30, 40, 1 } },
      { { "cudaLaunchKernel", 25, 26, 1 }, { "cudaStreamSynchronize", 0, 50, 2 } },
      { 20, 0, 0, 20 },
      { 0, 20 },
      NULL },
    { "a long launch call is the host, in any case of its name",
      { { "a", 0, 10, 0 }, { "b", 30, 40, 1 } },
      { { "hipExtModuleLAUNCHKernel", 11, 30, 1 } },
      { 20, 0, 0, 20 },
      { 0, 20 },
      NULL },
    { "a graph launch that covers the gap hides the call inside it",
      { { "a", 0, 10, 0 }, { "b", 30, 40, 1 } },
      { { "cudaGraphLaunch", 5, 40, 1 }, { "cuMemcpyAsync", 10, 30, 1 } },
      { 20, 0, 0, 20 },
      { 0, 0, 20 },
      NULL },
    { "of equal overlap the call that began first",
      { { "a", 0, 10, 0 }, { "b", 30, 40, 3 } },
      { { "cuStreamSynchronize", 7, 35, 1 },
        { "cudaStreamSynchronize", 6, 36, 1 },
        { "cudaLaunchKernel", 2, 3, 1 } },
      { 20, 0, 0, 20 },
      { 20 },
      "cudaStreamSynchronize" },
    { "two halves: the first",
      { { "a", 0, 10, 0 }, { "b", 30, 40, 3 } },
      { { "cudaMalloc", 20, 30, 1 }, { "cudaFree", 10, 20, 1 }, { "cudaLaunchKernel", 30, 31, 1 } },
      { 20, 0, 0, 20 },
      { 20 },
      "cudaFree" },
    { "a call that began before an early short one",
      { { "a", 0, 10, 0 }, { "b", 30, 40, 3 } },
      { { "cudaFree", 1, 29, 1 }, { "cuMemFree", 2, 12, 1 }, { "cudaLaunchKernel", 29, 31, 1 } },
      { 20, 0, 0, 20 },
      { 20 },
      "cudaFree" },
    { "of several that start together the first launched",
      { { "a", 0, 10, 0 }, { "b", 30, 40, 2 }, { "c", 30, 50, 1 }, { "d", 30, 31, 0 } },
      { { "cudaLaunchKernel", 8, 9, 1 }, { "cudaLaunchKernel", 20, 21, 1 } },
      { 30, 0, 0, 20 },
      { 0, 0, 20 },
      NULL },
    { "an operation without length parts a gap",
      { { "a", 0, 10, 0 }, { "b", 15, 15, 1 }, { "c", 30, 40, 2 } },
      { { "cudaLaunchKernel", 1, 2, 1 }, { "cudaLaunchKernel", 16, 17, 1 } },
      { 20, 0, 0, 20 },
      { 0, 15, 5 },
      NULL },
    { "communication and copies count where nothing covers them",
      { { "ncclDevKernel_AllReduce", 0, 30, 0 },
        { "a", 10, 20, 0 },
        { "copy", 15, 50, 0 },
        { "b", 45, 48, 0 } },
      { { 0 } },
      { 13, 20, 17 },
      { 0 },
      NULL },
    { "a gap that only one stream has is none",
      { { "a", 0, 10, 0 }, { "copy", 5, 35, 0 }, { "b", 30, 40, 1 } },
      { { "cudaLaunchKernel", 11, 12, 1 } },
      { 20, 0, 20 },
      { 0 },
      NULL },
};

static struct lpo_trace *make_trace(const struct wall_case *c, bool with_calls)
{
    struct lpo_trace *t = lpo_trace_create();
    uint16_t process = lpo_trace_process(t, 1, -1), device = lpo_trace_device(t, 0, -1);

    t->processes.at[process].has_calls = with_calls;
    for (int i = 0; i < CALLS && c->calls[i].name; i++) {
        const struct call *k = &c->calls[i];
        uint32_t thread = lpo_trace_thread(t, process, k->thread);

        lpo_vec_push(&t->launches, (struct lpo_launch){ k->start, k->end, thread });
        if (with_calls)
            lpo_vec_push(&t->calls, (struct lpo_api_call){ k->start, k->end,
                                                           lpo_trace_name(t, k->name), thread });
    }
    for (int i = 0; i < OPS && c->ops[i].name; i++) {
        const struct op *o = &c->ops[i];

        lpo_vec_push(
            &t->gpu_ops,
            (struct lpo_gpu_op){ .start_ns = o->start,
                                 .end_ns = o->end,
                                 .name = lpo_trace_name(t, o->name),
                                 .launch = o->launch ? (uint32_t)o->launch - 1 : LPO_NONE,
                                 .stack = LPO_NONE,
                                 .capture = LPO_NONE,
                                 .shape = LPO_NONE,
                                 .metrics = LPO_NONE,
                                 .stream = (uint32_t)i,
                                 .process = process,
                                 .device = device,
                                 .kind = strcmp(o->name, "copy") == 0 ? LPO_COPY : LPO_KERNEL });
    }
    return t;
}

static void check(void **state)
{
    const struct wall_case *c = *state;
    LPO_AUTO(lpo_trace) t = make_trace(c, true);
    LPO_AUTO(lpo_region_tree) tree = lpo_region_tree_create(t);
    LPO_AUTO(lpo_wall) w = lpo_wall_create(tree);
    const struct lpo_wall_device *d;
    int64_t compute_ns = 0;

    assert_int_equal(w->devices.len, 1);
    d = &w->devices.at[0];
    assert_int_equal(d->compute_ns, c->parts[0]);
    assert_int_equal(d->exposed_communication_ns, c->parts[1]);
    assert_int_equal(d->exposed_copy_ns, c->parts[2]);
    assert_int_equal(d->idle_ns, c->parts[3]);
    assert_int_equal(d->span_ns, c->parts[0] + c->parts[1] + c->parts[2] + c->parts[3]);
    assert_int_equal(d->span_ns, d->end_ns - d->start_ns);
    for (int i = 0; i < LPO_IDLE_CAUSES; i++)
        assert_int_equal(d->idle[i].ns, c->idle[i]);
    for (int i = 0; i < LPO_CLASSES; i++)
        compute_ns += d->class_ns[i];
    assert_int_equal(compute_ns, c->parts[0]);
    assert_int_equal(d->calls.len, c->blocked != NULL);
    if (c->blocked)
        assert_string_equal(lpo_trace_text(t, d->calls.at[0].name), c->blocked);
}

/* Launch records alone: a late launch may have come out of a call, nobody knows. */
static void without_calls_a_late_launch_is_unknown(void **state)
{
    const struct wall_case late = { "",
                                    { { "a", 0, 10, 0 }, { "b", 30, 40, 1 }, { "c", 50, 60, 2 } },
                                    { { "cudaLaunchKernel", 11, 12, 1 },
                                      { "cudaLaunchKernel", 13, 14, 1 } },
                                    { 0 },
                                    { 0 },
                                    NULL };
    LPO_AUTO(lpo_trace) t = make_trace(&late, false);
    LPO_AUTO(lpo_region_tree) tree = lpo_region_tree_create(t);
    LPO_AUTO(lpo_wall) w = lpo_wall_create(tree);

    (void)state;
    assert_true(w->no_calls);
    assert_int_equal(w->devices.at[0].idle[LPO_IDLE_UNKNOWN].ns, 20);
    assert_int_equal(w->devices.at[0].idle[LPO_IDLE_QUEUED].ns, 10);
    assert_int_equal(w->devices.at[0].idle[LPO_IDLE_HOST].ns, 0);
}

static void push_op(struct lpo_trace *t, const char *name, int64_t start, int64_t end)
{
    lpo_vec_push(&t->ops,
                 (struct lpo_op){ start, end, lpo_trace_name(t, name), 0, LPO_NONE, LPO_NONE });
}

/* What covers at least half of the gap, outermost first. */
static void a_gap_names_what_the_host_was_in(void **state)
{
    const struct wall_case host = { "",
                                    { { "a", 0, 10, 0 }, { "b", 110, 120, 1 } },
                                    { { "cudaLaunchKernel", 105, 106, 1 } },
                                    { 0 },
                                    { 0 },
                                    NULL };
    LPO_AUTO(lpo_trace) t = make_trace(&host, true);
    LPO_AUTO(lpo_region_tree) tree = lpo_region_tree_create(t);
    LPO_AUTO(lpo_wall) w = NULL;
    const struct lpo_wall_gap *gap;

    (void)state;
    push_op(t, "inner", 50, 112);
    push_op(t, "short", 12, 61);
    push_op(t, "outer", 0, 200);
    lpo_vec_push(&t->python,
                 (struct lpo_python_call){ 60, 120, lpo_trace_name(t, "a.py(1): f"), 0 });
    w = lpo_wall_create(tree);
    assert_int_equal(w->devices.at[0].longest.len, 1);
    gap = &w->devices.at[0].longest.at[0];
    assert_int_equal(gap->start_ns, 10);
    assert_int_equal(gap->ns, 100);
    assert_int_equal(gap->operators.count, 2);
    assert_string_equal(lpo_trace_text(t, gap->operators.names[0]), "outer");
    assert_string_equal(lpo_trace_text(t, gap->operators.names[1]), "inner");
    assert_int_equal(gap->python.count, 1);
}

/* A deep stack keeps its innermost frames, whatever the order of the file. */
static void a_deep_stack_keeps_its_inner_end(void **state)
{
    const struct wall_case host = { "",
                                    { { "a", 0, 10, 0 }, { "b", 110, 120, 1 } },
                                    { { "cudaLaunchKernel", 105, 106, 1 } },
                                    { 0 },
                                    { 0 },
                                    NULL };

    (void)state;
    for (int backwards = 0; backwards < 2; backwards++) {
        LPO_AUTO(lpo_trace) t = make_trace(&host, true);
        LPO_AUTO(lpo_region_tree) tree = lpo_region_tree_create(t);
        LPO_AUTO(lpo_wall) w = NULL;
        const struct lpo_wall_stack *s;

        for (int i = 0; i < 40; i++) {
            int depth = backwards ? 39 - i : i;
            char name[16];

            snprintf(name, sizeof name, "op%d", depth);
            push_op(t, name, depth - 50, 300 - depth);
        }
        w = lpo_wall_create(tree);
        s = &w->devices.at[0].longest.at[0].operators;
        assert_int_equal(s->count, LPO_WALL_FRAMES);
        assert_string_equal(lpo_trace_text(t, s->names[0]), "op24");
        assert_string_equal(lpo_trace_text(t, s->names[LPO_WALL_FRAMES - 1]), "op39");
    }
}

/* One row for each device, longest span first; shares of graphs leave the parts unknown. */
static void devices_stand_apart(void **state)
{
    const struct wall_case both = { "",
                                    { { "a", 0, 10, 0 },
                                      { "b", 30, 40, 0 },
                                      { "c", 5, 60, 0 },
                                      { "ncclDevKernel_AllReduce", 70, 90, 0 } },
                                    { { 0 } },
                                    { 0 },
                                    { 0 },
                                    NULL };
    LPO_AUTO(lpo_trace) t = make_trace(&both, true);
    uint16_t second = lpo_trace_device(t, 1, 3);
    LPO_AUTO(lpo_region_tree) tree = NULL;
    LPO_AUTO(lpo_wall) w = NULL;

    (void)state;
    t->gpu_ops.at[2].device = t->gpu_ops.at[3].device = second;
    t->gpu_ops.at[3].flags |= LPO_GPU_OP_SHARE;
    tree = lpo_region_tree_create(t);
    w = lpo_wall_create(tree);
    assert_int_equal(w->devices.len, 2);
    assert_int_equal(w->devices.at[0].device, second);
    assert_int_equal(w->devices.at[0].span_ns, 85);
    assert_int_equal(w->devices.at[0].idle_ns, 10);
    assert_true(w->devices.at[0].parts_unknown);
    assert_int_equal(w->devices.at[1].span_ns, 40);
    assert_int_equal(w->devices.at[1].idle_ns, 20);
    assert_false(w->devices.at[1].parts_unknown);
    assert_int_equal(w->regions[0].ns[LPO_IDLE_UNKNOWN], 30); /* no nodes: all of it is outside */
    assert_int_equal(w->regions[0].gaps, 2);
}

struct seen {
    int64_t ns;
    size_t count;
};

static void see(void *ctx, uint16_t device, const struct lpo_wall_gap *gap)
{
    struct seen *s = ctx;

    (void)device;
    s->ns += gap->ns;
    s->count++;
}

/* "load" 0-100 launches the first, "step" 200-400 the others: idle time beside "load" goes with it.
 */
static void what_is_set_aside_takes_its_idle_time_along(void **state)
{
    const struct wall_case steps = {
        "",
        { { "a", 10, 20, 1 }, { "b", 220, 230, 2 }, { "c", 250, 260, 3 } },
        { { "cudaLaunchKernel", 5, 6, 1 },
          { "cudaLaunchKernel", 210, 211, 1 },
          { "cudaLaunchKernel", 240, 241, 1 } },
        { 0 },
        { 0 },
        NULL
    };
    LPO_AUTO(lpo_trace) t = make_trace(&steps, true);
    LPO_AUTO(lpo_region_tree) tree = NULL;
    LPO_AUTO(lpo_wall) all = NULL;
    LPO_AUTO(lpo_wall) rest = NULL;
    bool aside[8] = { 0 };
    struct seen seen = { 0 };
    uint32_t step;

    (void)state;
    lpo_vec_push(&t->ranges, (struct lpo_range){ 0, 100, lpo_trace_name(t, "load"), 0, 0, 0, 0 });
    lpo_vec_push(&t->ranges, (struct lpo_range){ 200, 400, lpo_trace_name(t, "step"), 0, 0, 0, 0 });
    tree = lpo_region_tree_create(t);
    all = lpo_wall_create(tree);
    assert_int_equal(all->devices.at[0].idle_ns, 220);
    step = tree->places.at[lpo_region_place(tree, &t->gpu_ops.at[1])].leaf;
    assert_int_equal(all->regions[step].ns[LPO_IDLE_HOST], 220);

    aside[lpo_region_place(tree, &t->gpu_ops.at[0])] = true;
    rest = lpo_wall_create_without(tree, aside);
    lpo_wall_each_gap(tree, aside, see, &seen);
    assert_int_equal(rest->devices.at[0].span_ns, 40);
    assert_int_equal(rest->devices.at[0].compute_ns, 20);
    assert_int_equal(rest->devices.at[0].idle_ns, 20);
    assert_int_equal(seen.count, 1);
    assert_int_equal(seen.ns, 20);
}

/* Only the longest gaps are kept, longest first, of equals the earlier. */
static void the_longest_gaps_are_kept(void **state)
{
    LPO_AUTO(lpo_trace) t = lpo_trace_create();
    LPO_AUTO(lpo_region_tree) tree = NULL;
    LPO_AUTO(lpo_wall) w = NULL;
    const struct lpo_wall_device *d;
    int64_t at = 0;

    (void)state;
    lpo_trace_process(t, 1, -1);
    lpo_trace_device(t, 0, -1);
    for (int i = 0; i < 40; i++) {
        lpo_vec_push(&t->gpu_ops, (struct lpo_gpu_op){ .start_ns = at,
                                                       .end_ns = at + 1,
                                                       .name = lpo_trace_name(t, "k"),
                                                       .launch = LPO_NONE,
                                                       .stack = LPO_NONE,
                                                       .capture = LPO_NONE,
                                                       .shape = LPO_NONE,
                                                       .metrics = LPO_NONE });
        at += 1 + 10 + i * 7 % 20; /* each length but the last comes twice */
    }
    tree = lpo_region_tree_create(t);
    w = lpo_wall_create(tree);
    d = &w->devices.at[0];
    assert_int_equal(d->longest.len, LPO_WALL_GAPS);
    for (size_t i = 0; i < d->longest.len; i++)
        assert_int_equal(d->longest.at[i].ns, 29 - (int64_t)i / 2);
    assert_true(d->longest.at[0].start_ns < d->longest.at[1].start_ns);
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_ROWS(&u, cases, check);
    UNIT_TEST(&u, without_calls_a_late_launch_is_unknown);
    UNIT_TEST(&u, devices_stand_apart);
    UNIT_TEST(&u, what_is_set_aside_takes_its_idle_time_along);
    UNIT_TEST(&u, the_longest_gaps_are_kept);
    UNIT_TEST(&u, a_gap_names_what_the_host_was_in);
    UNIT_TEST(&u, a_deep_stack_keeps_its_inner_end);
    return unit_run(&u);
}
