/* SPDX-License-Identifier: Apache-2.0 */
/* Launches that wait: delays, depths, graphs, two clocks. */
#include "../unit.h"

#include "analysis/queue/queue.h"
#include "trace/trace.h"

/* One launch call, and its operation. */
struct wait {
    int64_t launch, start;
    int stream;
    bool again; /* a further operation of the launch before it: a graph */
};

static const struct queue_case {
    const char *name;
    struct wait waits[6];
    struct lpo_queue_sum want;
    uint64_t skewed;
} cases[] = {
    { "each starts at once",
      { { 10, 15, 7 }, { 20, 25, 7 } },
      { .launches = 2,
        .min_ns = 5,
        .median_ns = 5,
        .p90_ns = 5,
        .p99_ns = 5,
        .max_ns = 5,
        .median = 1,
        .p90 = 1,
        .most = 1,
        .waiting_ns = 10,
        .span_ns = 15,
        .empty_ns = 5 },
      0 },
    { "three wait at one time",
      { { 10, 40, 7 }, { 20, 50, 7 }, { 30, 110, 7 } },
      { .launches = 3,
        .min_ns = 30,
        .median_ns = 30,
        .p90_ns = 80,
        .p99_ns = 80,
        .max_ns = 80,
        .median = 1,
        .p90 = 2,
        .most = 3,
        .waiting_ns = 140,
        .span_ns = 100,
        .empty_ns = 0 },
      0 },
    { "a graph is one launch, and waits for its first kernel",
      { { 10, 40, 7 }, { 10, 60, 7, true }, { 10, 80, 7, true } },
      { .launches = 1,
        .min_ns = 30,
        .median_ns = 30,
        .p90_ns = 30,
        .p99_ns = 30,
        .max_ns = 30,
        .median = 1,
        .p90 = 1,
        .most = 1,
        .waiting_ns = 30,
        .span_ns = 30,
        .empty_ns = 0 },
      0 },
    { "work before its launch is left out",
      { { 10, 5, 7 }, { 20, 25, 7 } },
      { .launches = 1,
        .min_ns = 5,
        .median_ns = 5,
        .p90_ns = 5,
        .p99_ns = 5,
        .max_ns = 5,
        .median = 1,
        .p90 = 1,
        .most = 1,
        .waiting_ns = 5,
        .span_ns = 5,
        .empty_ns = 0 },
      1 },
};

static struct lpo_trace *make_trace(const struct wait *waits, size_t count)
{
    struct lpo_trace *t = lpo_trace_create();
    uint32_t thread = lpo_trace_thread(t, lpo_trace_process(t, 1, -1), 1);

    lpo_trace_device(t, 0, -1);
    for (size_t i = 0; i < count && waits[i].stream; i++) {
        bool graph = waits[i].again || (i + 1 < count && waits[i + 1].again);

        if (!waits[i].again)
            lpo_vec_push(&t->launches,
                         (struct lpo_launch){ waits[i].launch, waits[i].launch + 1, thread });
        lpo_vec_push(&t->gpu_ops, (struct lpo_gpu_op){ .start_ns = waits[i].start,
                                                       .end_ns = waits[i].start + 1,
                                                       .launch = (uint32_t)t->launches.len - 1,
                                                       .stream = (uint32_t)waits[i].stream,
                                                       .flags = graph ? LPO_GPU_OP_GRAPH : 0 });
    }
    return t;
}

static void check_queue(void **state)
{
    const struct queue_case *c = *state;
    LPO_AUTO(lpo_trace) t = make_trace(c->waits, sizeof c->waits / sizeof *c->waits);
    LPO_AUTO(lpo_queue) q = lpo_queue_create(t);

    assert_int_equal(q->devices.len, 1);
    assert_memory_equal(&q->devices.at[0].all, &c->want, sizeof c->want);
    assert_int_equal(q->devices.at[0].streams.len, 1);
    assert_memory_equal(&q->devices.at[0].streams.at[0].sum, &c->want, sizeof c->want);
    assert_int_equal(q->devices.at[0].skewed, c->skewed);
}

/* The GPU's queue holds those of its streams. */
static void streams_together(void **state)
{
    static const struct wait waits[] = { { 10, 40, 20 }, { 20, 50, 7 }, { 60, 70, 20 } };
    LPO_AUTO(lpo_trace) t = make_trace(waits, 3);
    LPO_AUTO(lpo_queue) q = lpo_queue_create(t);
    const struct lpo_queue_device *d = &q->devices.at[0];

    assert_int_equal(d->all.most, 2);
    assert_int_equal(d->streams.len, 2);
    assert_int_equal(d->streams.at[0].stream, 7);
    assert_int_equal(d->streams.at[0].sum.most, 1);
    assert_int_equal(d->streams.at[1].sum.launches, 2);
    assert_int_equal(d->depth.points.len, 6);
    assert_true(d->depth.points.at[1].value == 2);
    assert_true(d->delay.points.at[0].value == 0.03);
}

static void no_launches(void **state)
{
    LPO_AUTO(lpo_trace) t = make_trace(NULL, 0);
    LPO_AUTO(lpo_queue) q = NULL;

    lpo_vec_push(&t->gpu_ops, (struct lpo_gpu_op){ .end_ns = 5, .launch = LPO_NONE });
    q = lpo_queue_create(t);
    assert_int_equal(q->devices.len, 0);
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_ROWS(&u, cases, check_queue);
    UNIT_TEST(&u, streams_together);
    UNIT_TEST(&u, no_launches);
    return unit_run(&u);
}
