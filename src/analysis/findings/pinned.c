/* SPDX-License-Identifier: Apache-2.0 */
/* What pinned host memory would save: only copies between the GPU and host memory that is not
 * pinned, and of them only the time that nothing covers. A copy of b bytes would take b over the
 * rate that pinned copies reach in this trace; where there are none, over the usual rate of the
 * GPU's link. */
#include <string.h>

#include "analysis/analysis.h"
#include "analysis/findings/private.h"
#include "analysis/wall/order.h"
#include "region/tree.h"

/* Smaller copies are mostly latency: they show no bandwidth, and pinned memory changes little. */
enum { LEAST_BYTES = 1 << 20 };

/* What pinned copies reach of PCIe x16, four fifths of its rate, by compute capability. */
static const struct {
    uint32_t least_cc_major;
    double rate;
} links[] = {
    { 9, 50e9 },  /* 5.0: Hopper and later */
    { 8, 25e9 },  /* 4.0: Ampere, Ada */
    { 6, 12.5e9 } /* 3.0 */
};

struct cover_part {
    int64_t start_ns, end_ns;
};

/* Times in which a kernel ran, in order, none touching the next. */
struct cover {
    LPO_VEC(struct cover_part) parts;
    size_t at;
};

/* Copies of one direction between the GPU and pinned memory. */
struct rate {
    double bytes, ns;
};

static bool is_aside(const struct lpo_findings_work *w, const struct lpo_gpu_op *op)
{
    return w->aside && w->aside[lpo_region_place(w->a->tree, op)];
}

static void cover_kernel(struct cover *c, const struct lpo_gpu_op *op)
{
    struct cover_part *last = c->parts.len ? &c->parts.at[c->parts.len - 1] : NULL;

    if (!last || op->start_ns > last->end_ns)
        lpo_vec_push(&c->parts, ((struct cover_part){ op->start_ns, op->end_ns }));
    else if (op->end_ns > last->end_ns)
        last->end_ns = op->end_ns;
}

/* The part of [from, to) in which no kernel ran. Each call begins where the last one ended or
 * later. */
static int64_t exposed(struct cover *c, int64_t from, int64_t to)
{
    int64_t ns = to - from;

    while (c->at < c->parts.len && c->parts.at[c->at].end_ns <= from)
        c->at++;
    for (size_t i = c->at; i < c->parts.len && c->parts.at[i].start_ns < to; i++) {
        int64_t start = c->parts.at[i].start_ns, end = c->parts.at[i].end_ns;

        ns -= (end < to ? end : to) - (start > from ? start : from);
    }
    return ns;
}

static void look_at_pinned(const struct lpo_trace *t, const struct lpo_gpu_op *op,
                           struct rate rates[3])
{
    const char *name = lpo_trace_text(t, op->name);
    struct rate *r = &rates[lpo_findings_direction(name)];

    if (op->bytes < LEAST_BYTES || !strstr(name, "Pinned"))
        return;
    r->bytes += (double)op->bytes;
    r->ns += (double)lpo_trace_gpu_op_ns(op);
}

/* Of this direction, else of the other: a link is as fast both ways. 0: none was seen. */
static double seen(const struct rate rates[3], enum lpo_findings_direction direction)
{
    const struct rate *r = &rates[direction];

    if (!(r->ns > 0))
        r = &rates[direction == LPO_TO_HOST ? LPO_TO_DEVICE : LPO_TO_HOST];
    return r->ns > 0 ? r->bytes * 1e9 / r->ns : 0;
}

static double usual(const struct lpo_device *d)
{
    for (size_t i = 0; i < sizeof links / sizeof *links; i++)
        if (d->cc_major >= links[i].least_cc_major)
            return links[i].rate;
    return 0;
}

static void add_copy(const struct lpo_findings_work *w, const struct lpo_gpu_op *op,
                     int64_t exposed_ns, const struct rate rates[3],
                     struct lpo_findings_pinned *out)
{
    double ns = (double)lpo_trace_gpu_op_ns(op), rate, needs;

    out->pageable_ns += exposed_ns;
    if (op->bytes < LEAST_BYTES)
        return;
    rate = seen(rates, lpo_findings_direction(lpo_trace_text(w->trace, op->name)));
    out->from_trace = rate > 0;
    if (!out->from_trace)
        rate = usual(&w->trace->devices.at[w->critical->device]);
    if (!(rate > 0))
        return;
    needs = (double)op->bytes * 1e9 / rate;
    out->rate = rate > out->rate ? rate : out->rate;
    if (needs < ns)
        out->saving_ns += (int64_t)((double)exposed_ns * (1 - needs / ns));
}

void lpo_findings_pinned(const struct lpo_findings_work *w, struct lpo_findings_pinned *out)
{
    const struct lpo_trace *t = w->trace;
    struct rate rates[3] = { 0 };
    struct cover kernels = { 0 };
    int64_t copied_to = INT64_MIN; /* copies beside each other count once */
    size_t from, to;

    *out = (struct lpo_findings_pinned){ 0 };
    lpo_findings_device_rows(w, &from, &to);
    for (size_t i = from; i < to; i++) {
        const struct lpo_gpu_op *op = &t->gpu_ops.at[w->order->rows[i]];

        if (op->kind == LPO_KERNEL && !is_aside(w, op))
            cover_kernel(&kernels, op);
        else if (op->kind == LPO_COPY)
            look_at_pinned(t, op, rates);
    }
    for (size_t i = from; i < to; i++) {
        const struct lpo_gpu_op *op = &t->gpu_ops.at[w->order->rows[i]];
        int64_t start = op->start_ns > copied_to ? op->start_ns : copied_to, ns;

        if (op->kind == LPO_KERNEL || is_aside(w, op) || op->end_ns <= start)
            continue;
        ns = exposed(&kernels, start, op->end_ns);
        copied_to = op->end_ns;
        if (ns > 0 && op->kind == LPO_COPY && strstr(lpo_trace_text(t, op->name), "Pageable"))
            add_copy(w, op, ns, rates, out);
    }
    lpo_vec_free(&kernels.parts);
}
