/* SPDX-License-Identifier: Apache-2.0 */
/* Annotations on the streams of a GPU (`gpu_user_annotation`).
 *
 * The profiler draws each range of the host a second time, around the GPU operations launched in
 * it. Where the ranges of the host are in the trace they say it better; where they are not, what
 * lies in an annotation on its stream ran in it. */

#include "trace/kineto/private.h"
#include "trace/trace.h"

/* One annotation, or one GPU operation among them. */
struct item {
    int64_t start_ns, end_ns;
    int32_t device;
    uint32_t stream;
    uint32_t row; /* name of an annotation; row of gpu_ops */
    bool is_op;
};

struct lpo_kineto_gpu_ranges {
    LPO_VEC(struct item) items;
};

struct lpo_kineto_gpu_ranges *lpo_kineto_gpu_ranges_create(void)
{
    return lpo_xcalloc(1, sizeof(struct lpo_kineto_gpu_ranges));
}

void lpo_kineto_gpu_ranges_destroy(struct lpo_kineto_gpu_ranges *g)
{
    if (!g)
        return;
    lpo_vec_free(&g->items);
    free(g);
}

void lpo_kineto_gpu_ranges_add(struct lpo_kineto_gpu_ranges *g, int32_t device, uint32_t stream,
                               int64_t start_ns, int64_t end_ns, uint32_t name)
{
    lpo_vec_push(&g->items, (struct item){ start_ns, end_ns, device, stream, name, false });
}

/* Outer annotations first, operations after those that begin with them. */
LPO_COMPARE(by_stream_and_time, struct item,
            LPO_UP(device) ?: LPO_UP(stream) ?: LPO_UP(start_ns) ?: LPO_UP(is_op) ?: LPO_DOWN(end_ns) ?: LPO_UP(row));

/* Those that are open, outermost first. */
struct open {
    const struct item *at[LPO_PATH_DEPTH];
    size_t count;
};

static bool same_stream(const struct item *a, const struct item *b)
{
    return a->device == b->device && a->stream == b->stream;
}

/* Those that end before this one are over; what is around it stays. */
static void close_before(struct open *o, const struct item *next)
{
    size_t kept = 0;

    for (size_t i = 0; i < o->count; i++)
        if (same_stream(o->at[i], next) && o->at[i]->end_ns >= next->end_ns)
            o->at[kept++] = o->at[i];
    o->count = kept;
}

static uint32_t stack_of(struct lpo_trace *t, const struct open *o)
{
    struct lpo_frame frames[LPO_PATH_DEPTH];

    for (size_t i = 0; i < o->count; i++)
        frames[i] = (struct lpo_frame){ .name = o->at[i]->row, .kind = LPO_PUSH_POP };
    return lpo_trace_stack(t, frames, o->count);
}

void lpo_kineto_gpu_ranges_settle(struct lpo_kineto_gpu_ranges *g, struct lpo_trace *t,
                                  size_t first_gpu_op, const int32_t *devices)
{
    struct open o = { .count = 0 };

    if (!g->items.len)
        return;
    for (size_t i = first_gpu_op; i < t->gpu_ops.len; i++) {
        const struct lpo_gpu_op *op = &t->gpu_ops.at[i];

        lpo_vec_push(&g->items, (struct item){ op->start_ns, op->end_ns, devices[op->device],
                                               op->stream, (uint32_t)i, true });
    }
    qsort(g->items.at, g->items.len, sizeof *g->items.at, by_stream_and_time);
    for (size_t i = 0; i < g->items.len; i++) {
        const struct item *next = &g->items.at[i];

        close_before(&o, next);
        if (next->is_op && o.count)
            t->gpu_ops.at[next->row].stack = stack_of(t, &o);
        else if (!next->is_op && o.count < LPO_PATH_DEPTH)
            o.at[o.count++] = next;
    }
    t->has_ranges = true;
}
