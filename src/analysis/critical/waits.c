/* SPDX-License-Identifier: Apache-2.0 */
/* Waits that the source recorded, as edges: the operation that an event or a stream stands for is
 * the last one launched into that stream before. */

#include "analysis/critical/private.h"

/* Operations by stream, each in order of start. */
struct streams {
    const struct critical_graph *g;
    struct lpo_map_pair rows; /* (device, stream) */
    LPO_VEC(size_t) ends;     /* stream i ends where the next begins */
    uint32_t *ops;
};

static void streams_find(struct streams *s, const struct critical_graph *g)
{
    LPO_FREED uint32_t *stream_of = lpo_xrealloc(NULL, g->ops.len + 1, sizeof *stream_of);

    s->g = g;
    s->ops = lpo_xrealloc(NULL, g->ops.len + 1, sizeof *s->ops);
    for (uint32_t i = 0; i < g->ops.len; i++) {
        bool fresh;

        stream_of[i] = lpo_map_pair_put(&s->rows, lpo_critical_gpu_op(g, i)->device,
                                        lpo_critical_gpu_op(g, i)->stream, &fresh);
        if (fresh)
            lpo_vec_push(&s->ends, 0);
        s->ends.at[stream_of[i]]++;
    }
    for (size_t i = 0, sum = 0; i < s->ends.len; i++) { /* counts to starts */
        size_t n = s->ends.at[i];

        s->ends.at[i] = sum;
        sum += n;
    }
    for (uint32_t i = 0; i < g->ops.len; i++) /* and starts to ends */
        s->ops[s->ends.at[stream_of[i]]++] = i;
}

static void streams_free(struct streams *s)
{
    lpo_map_pair_free(&s->rows);
    lpo_vec_free(&s->ends);
    free(s->ops);
}

/* Without a launch record it was launched before the recording began. */
static int64_t launched_ns(const struct critical_graph *g, uint32_t op)
{
    uint32_t call = g->ops.at[op].call;

    return call == LPO_NONE ? INT64_MIN : lpo_critical_times(g, call).start_ns;
}

/* The place in `ops` of the first operation of a stream that was launched after `ns`; *from is the
 * first of the stream, *to behind its last. */
static size_t launched_after(const struct streams *s, uint16_t device, uint32_t stream, int64_t ns,
                             size_t *from, size_t *to)
{
    uint32_t row = lpo_map_pair_find(&s->rows, device, stream);
    size_t low, high;

    *from = *to = 0;
    if (row == UINT32_MAX)
        return 0;
    low = *from = row ? s->ends.at[row - 1] : 0;
    high = *to = s->ends.at[row];
    lpo_search(low, high, mid, launched_ns(s->g, s->ops[mid]) <= ns);
    return low;
}

/* The last operation that was launched into a stream by then; LPO_NONE. */
static uint32_t last_by(const struct streams *s, uint16_t device, uint32_t stream, int64_t ns)
{
    size_t from, to, at = launched_after(s, device, stream, ns, &from, &to);

    return at > from ? s->ops[at - 1] : LPO_NONE;
}

/* What is launched into the stream from now on starts after what the event stands for. */
static void stream_waits(struct critical_graph *g, const struct streams *s,
                         const struct lpo_wait *w)
{
    size_t from, to, at = launched_after(s, w->device, w->stream, w->ns, &from, &to);
    uint32_t source = last_by(s, w->device, w->on_stream, w->record_ns);
    struct critical_op *op;

    if (at == to || source == LPO_NONE || source >= s->ops[at])
        return;
    op = &g->ops.at[s->ops[at]];
    if (lpo_critical_gpu_op(g, source)->end_ns > lpo_critical_gpu_op(g, s->ops[at])->start_ns)
        return; /* two clocks, or the event was recorded again */
    g->recorded_waits++;
    if (op->other == LPO_NONE ||
        lpo_critical_gpu_op(g, source)->end_ns > lpo_critical_gpu_op(g, op->other)->end_ns)
        op->other = source;
}

static bool before(const void *trace, uint32_t a, uint32_t b)
{
    const struct lpo_trace *t = trace;

    return t->waits.at[a].ns < t->waits.at[b].ns;
}

/* A call of the host that waits for one stream or event: not for what another stream did. */
static void host_waits(struct critical_graph *g, const struct streams *s, const struct lpo_wait *w,
                       uint32_t call)
{
    struct critical_span c = lpo_critical_times(g, call);
    bool event = w->kind == LPO_WAIT_HOST_FOR_EVENT;
    uint32_t source =
        last_by(s, w->device, event ? w->on_stream : w->stream, event ? w->record_ns : c.start_ns);
    int64_t end_ns;

    if (source == LPO_NONE)
        return;
    end_ns = lpo_critical_gpu_op(g, source)->end_ns;
    if (end_ns > c.end_ns || lpo_critical_gpu_op(g, source)->start_ns >= c.end_ns)
        return;
    g->calls.at[call].waits = end_ns > c.start_ns ? source : LPO_NONE;
    g->recorded_waits++;
}

static void find_host_waits(struct critical_graph *g, const struct streams *s, const uint32_t *rows,
                            size_t count)
{
    for (uint32_t i = 0; i < g->calls.len; i++) {
        struct critical_span c = lpo_critical_times(g, i);
        size_t low = 0, high = count;

        if (lpo_critical_launch(g, i) != LPO_NONE)
            continue;
        lpo_search(low, high, mid, g->t->waits.at[rows[mid]].ns < c.start_ns);
        if (low < count && g->t->waits.at[rows[low]].ns <= c.end_ns)
            host_waits(g, s, &g->t->waits.at[rows[low]], i);
    }
}

void lpo_critical_recorded_waits(struct critical_graph *g, uint16_t process)
{
    struct streams s = { 0 };
    LPO_FREED LPO_VEC(uint32_t) host = { 0 };

    if (!g->t->waits.len)
        return;
    streams_find(&s, g);
    for (uint32_t i = 0; i < g->t->waits.len; i++) {
        const struct lpo_wait *w = &g->t->waits.at[i];

        if (w->process != process ||
            (w->kind != LPO_WAIT_HOST_FOR_STREAM && w->record_ns == LPO_NO_TIME))
            continue;
        if (w->kind == LPO_WAIT_STREAM_FOR_EVENT)
            stream_waits(g, &s, w);
        else
            lpo_vec_push(&host, i);
    }
    lpo_order_sort(host.at, host.len, before, g->t);
    find_host_waits(g, &s, host.at, host.len);
    streams_free(&s);
}
