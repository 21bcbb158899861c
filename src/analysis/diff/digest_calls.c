/* SPDX-License-Identifier: Apache-2.0 */
/* What each visit of a region and each call of an operator cost: one sweep per thread over ranges
 * (or operators) and launches in order of time, with what is open on a stack. The sums of regions
 * and operators are made elsewhere; this finds only how much single calls differ. */
#include <stdlib.h>

#include "analysis/analysis.h"
#include "analysis/diff/private.h"
#include "analysis/operators/operators.h"
#include "region/tree.h"
#include "trace/host.h"
#include "trace/trace.h"
#include "util/map.h"

struct open {
    int64_t start_ns, end_ns, gpu_ns;
    uint32_t key; /* node of the tree or row of operators; LPO_NONE: none */
};

struct sweep {
    struct lpo_diff_builder *b;
    const struct lpo_trace *t;
    int64_t *launched; /* per launch: time of what it started */
    LPO_VEC(struct open) stack;
    enum lpo_diff_table table;
    struct lpo_map_pair map; /* to rows of `keys` */
    LPO_VEC(uint32_t) keys;
};

static void sum_launches(struct sweep *s, bool kernels_only)
{
    for (size_t i = 0; i < s->t->launches.len; i++)
        s->launched[i] = 0;
    for (size_t i = 0; i < s->t->gpu_ops.len; i++) {
        const struct lpo_gpu_op *op = &s->t->gpu_ops.at[i];

        if (op->launch != LPO_NONE && (!kernels_only || op->kind == LPO_KERNEL))
            s->launched[op->launch] += lpo_trace_gpu_op_ns(op);
    }
}

static void put_key(struct sweep *s, uint64_t a, uint64_t b, uint32_t key)
{
    bool fresh;

    lpo_map_pair_put(&s->map, a, b, &fresh);
    if (fresh)
        lpo_vec_push(&s->keys, key);
}

static uint32_t key_at(struct sweep *s, uint64_t a, uint64_t b)
{
    uint32_t row = lpo_map_pair_find(&s->map, a, b);

    return row == UINT32_MAX ? LPO_NONE : s->keys.at[row];
}

static uint64_t both_names(uint32_t dims, uint32_t types)
{
    return (uint64_t)dims << 32 | types;
}

static uint64_t dims_and_types(const struct lpo_trace *t, const struct lpo_op *op)
{
    if (op->args == LPO_NONE)
        return both_names(LPO_NONE, LPO_NONE);
    return both_names(t->op_args.at[op->args].dims, t->op_args.at[op->args].types);
}

static void leave(struct sweep *s)
{
    const struct open o = s->stack.at[--s->stack.len];
    uint32_t row = o.key == LPO_NONE                ? LPO_NONE
                   : s->table == LPO_DIFF_OPERATORS ? o.key
                                                    : s->b->region_of[o.key];

    if (s->stack.len)
        s->stack.at[s->stack.len - 1].gpu_ns += o.gpu_ns;
    if (row != LPO_NONE) {
        struct lpo_diff_item *item = &s->b->out->items[s->table].at[row];

        lpo_diff_keep(s->b, &item->strata.at[0].calls,
                      item->host ? o.end_ns - o.start_ns : o.gpu_ns);
        if (s->table == LPO_DIFF_REGIONS && row == s->b->out->step)
            lpo_diff_keep(s->b, &s->b->out->step_calls, o.end_ns - o.start_ns);
    }
}

static void enter(struct sweep *s, const struct lpo_slice *now)
{
    struct open o = { .start_ns = now->start_ns, .end_ns = now->end_ns };

    while (s->stack.len && s->stack.at[s->stack.len - 1].end_ns < o.end_ns)
        leave(s);
    if (s->table == LPO_DIFF_OPERATORS)
        o.key = key_at(s, now->name, dims_and_types(s->t, &s->t->ops.at[now->row]));
    else
        o.key = lpo_region_node_find(s->b->a->tree,
                                     s->stack.len ? s->stack.at[s->stack.len - 1].key : LPO_NONE,
                                     now->name, s->t->ranges.at[now->row].domain, LPO_PUSH_POP);
    lpo_vec_push(&s->stack, o);
}

static void launch(struct sweep *s, const struct lpo_slice *call)
{
    size_t i = s->stack.len;

    while (i && s->stack.at[i - 1].end_ns < call->end_ns)
        i--;
    if (i)
        s->stack.at[i - 1].gpu_ns += s->launched[call->row];
}

static void sweep_table(struct sweep *s, enum lpo_diff_table table, enum lpo_host_kind kind)
{
    s->table = table;
    sum_launches(s, table == LPO_DIFF_REGIONS);
    for (uint32_t i = 0; i < s->t->threads.len; i++) {
        struct lpo_host_walk walk = lpo_host_walk(s->t, i, kind | LPO_HOST_LAUNCH);
        struct lpo_slice now;

        while (lpo_host_next(&walk, &now))
            if (now.kind == LPO_HOST_LAUNCH)
                launch(s, &now);
            else if (kind == LPO_HOST_OP || !s->t->ranges.at[now.row].flags)
                enter(s, &now); /* neither never closed nor summed by the reader */
        while (s->stack.len)
            leave(s);
    }
}

void lpo_diff_digest_calls(struct lpo_diff_builder *b)
{
    const struct lpo_operators *ops = lpo_analysis_operators(b->a, true);
    struct sweep s = { .b = b, .t = b->a->trace };

    s.launched = lpo_xcalloc(s.t->launches.len + 1, sizeof *s.launched);
    if (s.t->ranges.len)
        sweep_table(&s, LPO_DIFF_REGIONS, LPO_HOST_RANGE);
    for (uint32_t i = 0; i < ops->rows.len; i++)
        put_key(&s, ops->rows.at[i].name, both_names(ops->rows.at[i].shapes, ops->rows.at[i].types),
                i);
    if (s.t->ops.len)
        sweep_table(&s, LPO_DIFF_OPERATORS, LPO_HOST_OP);
    lpo_map_pair_free(&s.map);
    lpo_vec_free(&s.stack);
    lpo_vec_free(&s.keys);
    free(s.launched);
}
