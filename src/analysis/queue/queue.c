/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/queue/queue.h"

#include "analysis/wall/order.h"
#include "trace/series.h"

/* A queue deeper than that counts as that deep: CUDA's holds a thousand or so. */
enum { DEEPEST = 1 << 16, ALL_POINTS = 1 << 17, LEAST_POINTS = 256 };

/* A launch and the start of its work on one stream. */
struct wait {
    int64_t launch_ns, start_ns;
    uint32_t stream; /* row of streams */
};

typedef LPO_VEC(struct wait) wait_vec;

struct work {
    const struct lpo_trace *t;
    struct lpo_map_pair streams, graphs;
    wait_vec waits;             /* of the device at hand, by start */
    LPO_VEC(uint32_t) numbers;  /* of its streams */
    int64_t *launches, *starts; /* of what is summed, each in order */
    int64_t *depth_ns;          /* time at each depth */
};

/* Nearly in order already; a sorted array is one pass. */
static void sort(int64_t *values, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (values[i] < values[i - 1]) {
            lpo_order_sort_ns(values, count);
            return;
        }
}

/* Of sorted values the smallest that `percent` of them do not exceed. */
static int64_t percentile(const int64_t *values, size_t count, size_t percent)
{
    size_t rank = (count * percent + 99) / 100;

    return values[rank ? rank - 1 : 0];
}

static uint64_t depth_at(const int64_t *depth_ns, size_t most, int64_t all_ns, int64_t percent)
{
    int64_t sum = 0;
    size_t d = 0;

    /* all_ns times percent might not fit: a part of a hundred is enough for times */
    for (; d < most; d++) {
        sum += depth_ns[d];
        if (sum >= all_ns / 100 * percent + all_ns % 100 * percent / 100)
            break;
    }
    return d;
}

/* The depth as launches come and start; both are in order. */
static void sum_depth(struct work *w, size_t count, struct lpo_queue_sum *out,
                      struct lpo_series *series)
{
    const int64_t *launches = w->launches, *starts = w->starts;
    size_t l = 0, s = 0, depth = 0;
    int64_t at = launches[0];

    out->span_ns = starts[count - 1] - at;
    while (s < count) {
        bool launch = l < count && launches[l] <= starts[s];
        int64_t ns = launch ? launches[l] : starts[s];

        w->depth_ns[depth < DEEPEST ? depth : DEEPEST] += ns - at;
        at = ns;
        l += launch;
        s += !launch;
        depth = l - s;
        out->most = depth > out->most ? depth : out->most;
        if (series)
            lpo_trace_series_add(series, ns, (double)depth);
    }
}

static void summarize(struct work *w, const struct wait *waits, size_t count,
                      struct lpo_queue_sum *out, struct lpo_series *series)
{
    size_t most;

    out->launches = count;
    for (size_t i = 0; i < count; i++) {
        w->launches[i] = waits[i].launch_ns;
        w->starts[i] = waits[i].start_ns;
        /* of a damaged clock each may be decades */
        if (__builtin_add_overflow(out->waiting_ns, waits[i].start_ns - waits[i].launch_ns,
                                   &out->waiting_ns))
            out->waiting_ns = INT64_MAX;
    }
    sort(w->launches, count);
    sort(w->starts, count);
    sum_depth(w, count, out, series);
    most = out->most < DEEPEST ? out->most : DEEPEST;
    out->empty_ns = w->depth_ns[0];
    out->median = depth_at(w->depth_ns, most, out->span_ns, 50);
    out->p90 = depth_at(w->depth_ns, most, out->span_ns, 90);
    memset(w->depth_ns, 0, (most + 1) * sizeof *w->depth_ns);
    for (size_t i = 0; i < count; i++)
        w->launches[i] = waits[i].start_ns - waits[i].launch_ns;
    lpo_order_sort_ns(w->launches, count);
    out->min_ns = w->launches[0];
    out->median_ns = percentile(w->launches, count, 50);
    out->p90_ns = percentile(w->launches, count, 90);
    out->p99_ns = percentile(w->launches, count, 99);
    out->max_ns = w->launches[count - 1];
}

/* The first operation of a launch on its stream; of a graph many follow. */
static bool first_of_launch(struct work *w, const struct lpo_gpu_op *op)
{
    bool fresh = true;

    if (op->flags & LPO_GPU_OP_GRAPH)
        lpo_map_pair_put(&w->graphs, op->launch, op->stream, &fresh);
    return fresh;
}

static void take_op(struct work *w, const struct lpo_gpu_op *op, struct lpo_queue_device *out)
{
    int64_t launch_ns;
    uint32_t stream;
    bool fresh;

    if (op->launch == LPO_NONE || !first_of_launch(w, op))
        return;
    launch_ns = w->t->launches.at[op->launch].start_ns;
    if (launch_ns > op->start_ns) {
        out->skewed++;
        return;
    }
    stream = lpo_map_pair_put(&w->streams, op->stream, 0, &fresh);
    if (fresh)
        lpo_vec_push(&w->numbers, op->stream);
    lpo_vec_push(&w->waits, (struct wait){ launch_ns, op->start_ns, stream });
    lpo_trace_series_add(&out->delay, op->start_ns, (double)(op->start_ns - launch_ns) / 1e3);
}

LPO_COMPARE(by_number, struct lpo_queue_stream, LPO_UP(stream));

/* Waits of one stream together, in the order that they have. */
static void sum_streams(struct work *w, struct lpo_queue_device *out)
{
    size_t streams = w->numbers.len, *at;
    LPO_FREED struct wait *sorted = NULL;

    if (streams == 1) { /* most programs: it is all of the GPU */
        lpo_vec_push(&out->streams,
                     (struct lpo_queue_stream){ .stream = w->numbers.at[0], .sum = out->all });
        return;
    }
    at = lpo_xcalloc(streams + 1, sizeof *at);
    sorted = lpo_xrealloc(NULL, w->waits.len + 1, sizeof *sorted);
    for (size_t i = 0; i < w->waits.len; i++)
        at[w->waits.at[i].stream + 1]++;
    for (size_t i = 0; i < streams; i++)
        at[i + 1] += at[i];
    for (size_t i = 0; i < w->waits.len; i++) /* from here on at[i] moves to the end of i */
        sorted[at[w->waits.at[i].stream]++] = w->waits.at[i];
    for (size_t i = 0; i < streams; i++) {
        size_t from = i ? at[i - 1] : 0;
        struct lpo_queue_stream s = { .stream = w->numbers.at[i] };

        summarize(w, sorted + from, at[i] - from, &s.sum, NULL);
        lpo_vec_push(&out->streams, s);
    }
    lpo_vec_sort(&out->streams, by_number);
    free(at);
}

/* A thousand ranks together take no more points than some GPUs. */
static size_t points_of_device(const struct lpo_trace *t)
{
    size_t points = ALL_POINTS / (t->devices.len + 1);

    return points > LEAST_POINTS ? points : LEAST_POINTS;
}

static void add_device(struct work *w, struct lpo_queue *q, struct lpo_queue_device *d)
{
    size_t count = w->waits.len;

    if (!count) {
        lpo_vec_free(&d->delay.points);
        lpo_map_pair_free(&w->graphs);
        return;
    }
    w->launches = lpo_xrealloc(w->launches, count, sizeof *w->launches);
    w->starts = lpo_xrealloc(w->starts, count, sizeof *w->starts);
    summarize(w, w->waits.at, count, &d->all, &d->depth);
    sum_streams(w, d);
    lpo_trace_series_thin(&d->depth, points_of_device(w->t));
    lpo_trace_series_thin(&d->delay, points_of_device(w->t));
    lpo_vec_push(&q->devices, *d);
    lpo_map_pair_free(&w->streams);
    lpo_map_pair_free(&w->graphs);
    w->waits.len = w->numbers.len = 0;
}

struct lpo_queue *lpo_queue_create(const struct lpo_trace *t)
{
    struct lpo_queue *q = lpo_xcalloc(1, sizeof *q);
    struct work w = { .t = t, .depth_ns = lpo_xcalloc(DEEPEST + 1, sizeof *w.depth_ns) };
    struct lpo_wall_order order = lpo_wall_order_find(t);

    for (size_t i = 0; i < order.count;) {
        size_t end = lpo_wall_order_device(&order, t, i);
        uint16_t device = t->gpu_ops.at[order.rows[i]].device;
        struct lpo_queue_device d = { .device = device,
                                      .depth.device = device,
                                      .delay.device = device };

        for (; i < end; i++)
            take_op(&w, &t->gpu_ops.at[order.rows[i]], &d);
        add_device(&w, q, &d);
    }
    lpo_wall_order_free(&order);
    lpo_vec_free(&w.waits);
    lpo_vec_free(&w.numbers);
    free(w.launches);
    free(w.starts);
    free(w.depth_ns);
    return q;
}

void lpo_queue_destroy(struct lpo_queue *q)
{
    if (!q)
        return;
    for (size_t i = 0; i < q->devices.len; i++) {
        lpo_vec_free(&q->devices.at[i].streams);
        lpo_vec_free(&q->devices.at[i].depth.points);
        lpo_vec_free(&q->devices.at[i].delay.points);
    }
    lpo_vec_free(&q->devices);
    free(q);
}
