/* SPDX-License-Identifier: Apache-2.0 */
/* What belongs to no region, adopted neither: by the outermost operator that launched it, else by
 * kernel. A user who knows its name knows where to put a range. */
#include <stdlib.h>

#include "analysis/analysis.h"
#include "analysis/findings/private.h"
#include "region/thread_rows.h"
#include "region/tree.h"
#include "util/map.h"
#include "util/xmalloc.h"

enum { NAMED = 2, LEAST_PART = 10 /* of what is outside */ };

struct name_sum {
    int64_t ns;
    uint32_t name;
    bool kernel; /* else an operator */
};

struct sums {
    LPO_VEC(struct name_sum) all;
    struct lpo_map_pair rows; /* by name and whether it is a kernel */
    int64_t ns;
};

static void add(struct sums *s, uint32_t name, bool kernel, int64_t ns)
{
    bool fresh;
    uint32_t row = lpo_map_pair_put(&s->rows, name, kernel, &fresh);

    if (fresh)
        lpo_vec_push(&s->all, ((struct name_sum){ 0, name, kernel }));
    s->all.at[row].ns += ns;
    s->ns += ns;
}

static bool is_outside(const struct lpo_findings_work *w, const struct lpo_gpu_op *op)
{
    return op->kind == LPO_KERNEL && op->launch != LPO_NONE &&
           lpo_region_place(w->a->tree, op) == 0 &&
           w->a->tree->links.at[lpo_region_links_of(w->a->tree, op)].adopted == LPO_NONE;
}

static bool op_before(const void *trace, uint32_t x, uint32_t y)
{
    const struct lpo_op *a = &((const struct lpo_trace *)trace)->ops.at[x],
                        *b = &((const struct lpo_trace *)trace)->ops.at[y];

    if (a->thread != b->thread)
        return a->thread < b->thread;
    return a->start_ns != b->start_ns ? a->start_ns < b->start_ns : a->end_ns > b->end_ns;
}

static bool launched_before(const void *trace, uint32_t x, uint32_t y)
{
    const struct lpo_trace *t = trace;
    const struct lpo_launch *a = &t->launches.at[t->gpu_ops.at[x].launch],
                            *b = &t->launches.at[t->gpu_ops.at[y].launch];

    return a->thread != b->thread ? a->thread < b->thread : a->start_ns < b->start_ns;
}

/* Kernels by launch and operators by start, thread after thread: an operator that begins in no
 * other is an outermost one. */
static void sweep(const struct lpo_trace *t, const uint32_t *kernels, size_t count,
                  const uint32_t *ops, struct sums *out)
{
    const struct lpo_op *outer = NULL;
    size_t next = 0;

    for (size_t i = 0; i < count; i++) {
        const struct lpo_gpu_op *k = &t->gpu_ops.at[kernels[i]];
        const struct lpo_launch *l = &t->launches.at[k->launch];

        for (; next < t->ops.len; next++) {
            const struct lpo_op *o = &t->ops.at[ops[next]];

            if (o->thread > l->thread || (o->thread == l->thread && o->start_ns > l->start_ns))
                break;
            if (!outer || outer->thread != o->thread || o->start_ns >= outer->end_ns)
                outer = o;
        }
        if (outer && outer->thread == l->thread && outer->end_ns >= l->end_ns)
            add(out, outer->name, false, lpo_trace_gpu_op_ns(k));
        else
            add(out, k->name, true, lpo_trace_gpu_op_ns(k));
    }
}

static void sum_up(const struct lpo_findings_work *w, struct sums *out)
{
    const struct lpo_trace *t = w->trace;
    uint32_t *ops = lpo_xrealloc(NULL, t->ops.len + 1, sizeof *ops);
    LPO_VEC(uint32_t) kernels = { 0 };

    for (size_t i = 0; i < t->gpu_ops.len; i++)
        if (is_outside(w, &t->gpu_ops.at[i]))
            lpo_vec_push(&kernels, (uint32_t)i);
    for (size_t i = 0; i < t->ops.len; i++)
        ops[i] = (uint32_t)i;
    lpo_region_order_sort(kernels.at, kernels.len, launched_before, t);
    lpo_region_order_sort(ops, t->ops.len, op_before, t);
    sweep(t, kernels.at, kernels.len, ops, out);
    lpo_vec_free(&kernels);
    free(ops);
}

void lpo_findings_name_outside(const struct lpo_findings_work *w, struct lpo_caution *c,
                               int64_t all_ns)
{
    struct sums s = { 0 };
    const struct name_sum *before = NULL;

    sum_up(w, &s);
    for (int n = 0; n < NAMED; n++) {
        const struct name_sum *best = NULL;

        for (size_t i = 0; i < s.all.len; i++) {
            const struct name_sum *x = &s.all.at[i];

            if (x != before && (!before || x->ns <= before->ns) && (!best || x->ns > best->ns))
                best = x;
        }
        if (!best || best->ns < s.ns / LEAST_PART || !best->ns)
            break;
        before = best;
        c->evidence[c->nevidence++] =
            (struct lpo_evidence){ best->kernel ? LPO_FACT_OUTSIDE_KERNEL
                                                : LPO_FACT_OUTSIDE_OPERATOR,
                                   (double)best->ns / (double)all_ns, best->name };
    }
    lpo_vec_free(&s.all);
    lpo_map_pair_free(&s.rows);
}
