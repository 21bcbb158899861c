/* SPDX-License-Identifier: Apache-2.0 */
/* By how much the program would end sooner if one GPU operation took no time. */
#include <stdlib.h>

#include "analysis/analysis.h"
#include "analysis/findings/private.h"
#include "analysis/wall/order.h"
#include "region/cells.h"
#include "region/classes.h"
#include "region/thread_rows.h"
#include "region/tree.h"
#include "util/search.h"
#include "util/xmalloc.h"

static int64_t min64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* `op` runs alone from the latest end before it to the next start; the next operation cannot start
 * before its launch call began. Without a launch record of the next, nothing is promised. */
static int64_t slack_of(const struct lpo_trace *t, const struct lpo_gpu_op *op, int64_t before_ns,
                        const struct lpo_gpu_op *next)
{
    int64_t from = op->start_ns > before_ns ? op->start_ns : before_ns, to = op->end_ns;

    if (next) {
        int64_t launched;

        if (next->launch == LPO_NONE)
            return 0;
        launched = t->launches.at[next->launch].start_ns;
        to = min64(to, next->start_ns);
        from = launched > from ? launched : from;
    }
    return to > from ? to - from : 0;
}

static bool computes(const struct lpo_findings_work *w, const struct lpo_gpu_op *op)
{
    return op->kind == LPO_KERNEL &&
           lpo_region_cells_class(w->a->cells, op->name) != LPO_CLASS_COLLECTIVE;
}

void lpo_findings_device_rows(const struct lpo_findings_work *w, size_t *from, size_t *to)
{
    const struct lpo_trace *t = w->trace;
    const struct lpo_wall_order *o = w->order;

    size_t low = 0, high = o->count;

    lpo_search(low, high, i, t->gpu_ops.at[o->rows[i]].device < w->critical->device);
    *from = low;
    high = o->count;
    lpo_search(low, high, i, t->gpu_ops.at[o->rows[i]].device <= w->critical->device);
    *to = low;
}

static bool stream_before(const void *ctx, uint32_t a, uint32_t b)
{
    const struct lpo_findings_work *w = ctx;
    const struct lpo_gpu_op *x = &w->trace->gpu_ops.at[w->slack.rows[a]],
                            *y = &w->trace->gpu_ops.at[w->slack.rows[b]];

    return x->process != y->process ? x->process < y->process : x->stream < y->stream;
}

static void order_by_stream(struct lpo_findings_work *w)
{
    struct lpo_findings_slack *s = &w->slack;

    s->by_stream = lpo_xrealloc(NULL, s->count + 1, sizeof *s->by_stream);
    for (size_t i = 0; i < s->count; i++)
        s->by_stream[i] = (uint32_t)i;
    lpo_region_order_sort(s->by_stream, s->count, stream_before, w);
}

void lpo_findings_slack_find(struct lpo_findings_work *w)
{
    const struct lpo_trace *t = w->trace;
    const struct lpo_wall_order *order = w->order;
    struct lpo_findings_slack s = { 0 };
    int64_t before_ns = INT64_MIN;
    size_t first, end;

    lpo_findings_device_rows(w, &first, &end);
    s.count = end - first;
    s.rows = order->rows + first;
    s.ns = lpo_xrealloc(NULL, s.count + 1, sizeof *s.ns);
    for (size_t i = 0; i < s.count; i++) {
        const struct lpo_gpu_op *op = &t->gpu_ops.at[s.rows[i]];
        const struct lpo_gpu_op *next = i + 1 < s.count ? &t->gpu_ops.at[s.rows[i + 1]] : NULL;
        bool aside = w->aside && w->aside[lpo_region_place(w->a->tree, op)];

        s.ns[i] = aside || !computes(w, op) ? 0 : slack_of(t, op, before_ns, next);
        w->out->kernels_slack_ns += s.ns[i];
        before_ns = op->end_ns > before_ns ? op->end_ns : before_ns;
    }
    s.most_ns = lpo_findings_simulated(w, LPO_PATH_COMPUTE, w->out->kernels_slack_ns);
    if (s.most_ns < w->out->kernels_slack_ns)
        s.less_ns = lpo_xcalloc(t->gpu_ops.len + 1, sizeof *s.less_ns);
    w->out->kernels_simulated = s.less_ns != NULL;
    w->out->kernels_slack_ns = s.most_ns;
    w->slack = s;
    order_by_stream(w);
}

int64_t *lpo_findings_wants(const struct lpo_findings_work *w)
{
    return lpo_xcalloc(w->slack.count + 1, sizeof(int64_t));
}

/* The innermost region with more than half of what is claimed. */
static uint32_t where(const struct lpo_findings_work *w, const int64_t *want)
{
    const struct lpo_region_tree *tree = w->a->tree;
    int64_t *sums = lpo_xcalloc(tree->nodes.len + 1, sizeof *sums), whole = 0;
    uint32_t region;

    for (size_t i = 0; i < w->slack.count; i++) {
        const struct lpo_gpu_op *op = &w->trace->gpu_ops.at[w->slack.rows[i]];
        int64_t ns = min64(want[i], w->slack.ns[i]);
        uint32_t leaf = ns ? tree->places.at[lpo_region_place(tree, op)].leaf : LPO_NONE;

        whole += ns;
        if (leaf != LPO_NONE)
            sums[leaf] += ns;
    }
    region = lpo_findings_main_region(tree, sums, whole);
    free(sums);
    return region;
}

static struct lpo_finding *estimated(struct lpo_findings_work *w, enum lpo_finding_kind kind,
                                     int64_t saving_ns)
{
    struct lpo_finding *f = lpo_findings_add(w, kind, saving_ns);

    if (f) {
        f->estimated = true;
        w->slack.claimed_ns += saving_ns;
    }
    return f;
}

/* Where all kernels together save less than they do one by one, those of one finding do too. What
 * earlier findings took is gone already. Too little is not worth a simulation. */
static int64_t simulated(const struct lpo_findings_work *w, const int64_t *want, int64_t sum)
{
    const struct lpo_findings_slack *s = &w->slack;
    int64_t ns;

    if (!s->less_ns || sum < w->critical->span_ns / 50)
        return sum;
    for (size_t i = 0; i < s->count; i++)
        s->less_ns[s->rows[i]] += min64(want[i], s->ns[i]);
    ns = lpo_findings_simulated_shorter(w, s->less_ns) - s->claimed_ns;
    for (size_t i = 0; i < s->count; i++)
        s->less_ns[s->rows[i]] -= min64(want[i], s->ns[i]);
    return min64(ns, sum);
}

struct lpo_finding *lpo_findings_claim(struct lpo_findings_work *w, enum lpo_finding_kind kind,
                                       const int64_t *want)
{
    struct lpo_findings_slack *s = &w->slack;
    struct lpo_finding *f;
    int64_t sum = 0;

    for (size_t i = 0; i < s->count; i++)
        sum += min64(want[i], s->ns[i]);
    f = estimated(w, kind, min64(simulated(w, want, sum), s->most_ns - s->claimed_ns));
    if (f) {
        f->node = where(w, want);
        f->shorter_ns = s->less_ns ? sum : 0;
    }
    for (size_t i = 0; f && i < s->count; i++) {
        int64_t ns = min64(want[i], s->ns[i]);

        s->ns[i] -= ns;
        if (s->less_ns)
            s->less_ns[s->rows[i]] += ns;
    }
    return f;
}

struct lpo_finding *lpo_findings_claim_compute(struct lpo_findings_work *w,
                                               enum lpo_finding_kind kind, int64_t saving_ns)
{
    int64_t most_ns = lpo_findings_simulated(w, LPO_PATH_COMPUTE, w->critical->compute_ns);

    struct lpo_finding *f = estimated(w, kind, min64(saving_ns, most_ns - w->slack.claimed_ns));

    if (f)
        f->shorter_ns = f->saving_ns < saving_ns ? saving_ns : 0;
    return f;
}

void lpo_findings_slack_free(struct lpo_findings_slack *s)
{
    free(s->ns);
    free(s->less_ns);
    free(s->by_stream);
}
