/* SPDX-License-Identifier: Apache-2.0 */
/* What each visit of a region and each call of an operator cost: one sweep per thread over ranges
 * (or operators) and launches in order of time, with what is open on a stack. The sums of regions
 * and operators are made elsewhere; this finds only how much single calls differ. */
#include <stdlib.h>

#include "analysis/analysis.h"
#include "analysis/diff/private.h"
#include "analysis/operators/operators.h"
#include "region/thread_rows.h"
#include "region/tree.h"
#include "trace/trace.h"
#include "util/map.h"

struct open {
    int64_t start_ns, end_ns, gpu_ns;
    uint32_t key; /* node of the tree or row of operators; LPO_NONE: none */
};

struct sweep {
    struct lpo_diff_builder *b;
    const struct lpo_trace *t;
    struct lpo_process_ends ends;
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

static uint64_t domain_and_name(uint16_t domain, uint32_t name)
{
    return (uint64_t)domain << 32 | name;
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

static void enter(struct sweep *s, uint32_t row)
{
    struct open o = { .gpu_ns = 0 };

    if (s->table == LPO_DIFF_OPERATORS) {
        const struct lpo_op *op = &s->t->ops.at[row];

        o.start_ns = op->start_ns;
        o.end_ns = op->end_ns;
        o.key = key_at(s, op->name, dims_and_types(s->t, op));
    } else {
        o.start_ns = s->t->ranges.at[row].start_ns;
        o.end_ns = lpo_region_range_end(&s->ends, s->t, &s->t->ranges.at[row]);
    }
    while (s->stack.len && (s->stack.at[s->stack.len - 1].end_ns <= o.start_ns ||
                            s->stack.at[s->stack.len - 1].end_ns < o.end_ns))
        leave(s);
    if (s->table == LPO_DIFF_REGIONS)
        o.key = key_at(s, s->stack.len ? s->stack.at[s->stack.len - 1].key : LPO_NONE,
                       domain_and_name(s->t->ranges.at[row].domain, s->t->ranges.at[row].name));
    lpo_vec_push(&s->stack, o);
}

static void launch(struct sweep *s, uint32_t row)
{
    const struct lpo_launch *l = &s->t->launches.at[row];
    size_t i;

    while (s->stack.len && s->stack.at[s->stack.len - 1].end_ns < l->start_ns)
        leave(s);
    i = s->stack.len;
    while (i && s->stack.at[i - 1].end_ns < l->end_ns)
        i--;
    if (i)
        s->stack.at[i - 1].gpu_ns += s->launched[row];
}

static int64_t start_of(const struct sweep *s, uint32_t row)
{
    return s->table == LPO_DIFF_OPERATORS ? s->t->ops.at[row].start_ns
                                          : s->t->ranges.at[row].start_ns;
}

/* Outer before inner: earlier start, then later end. */
static bool outer_before(const void *ctx, uint32_t a, uint32_t b)
{
    const struct sweep *s = ctx;

    if (start_of(s, a) != start_of(s, b))
        return start_of(s, a) < start_of(s, b);
    if (s->table == LPO_DIFF_OPERATORS)
        return s->t->ops.at[a].end_ns > s->t->ops.at[b].end_ns;
    return lpo_region_range_end(&s->ends, s->t, &s->t->ranges.at[a]) >
           lpo_region_range_end(&s->ends, s->t, &s->t->ranges.at[b]);
}

static void sweep_thread(struct sweep *s, uint32_t *rows, size_t count, uint32_t *launches,
                         size_t nlaunches)
{
    size_t l = 0;

    lpo_region_order_sort(rows, count, outer_before, s);
    lpo_region_order_sort(launches, nlaunches, lpo_region_launch_before, s->t);
    for (size_t i = 0; i < count; i++) {
        if (s->table == LPO_DIFF_REGIONS && s->t->ranges.at[rows[i]].flags)
            continue; /* never closed, or summed by the reader */
        while (l < nlaunches && s->t->launches.at[launches[l]].start_ns < start_of(s, rows[i]))
            launch(s, launches[l++]);
        enter(s, rows[i]);
    }
    while (l < nlaunches)
        launch(s, launches[l++]);
    while (s->stack.len)
        leave(s);
}

static void sweep_table(struct sweep *s, enum lpo_diff_table table, struct lpo_group *rows,
                        struct lpo_group *launches)
{
    s->table = table;
    for (size_t i = 0; i < s->t->threads.len; i++)
        sweep_thread(s, rows->rows + rows->starts[i], rows->starts[i + 1] - rows->starts[i],
                     launches->rows + launches->starts[i],
                     launches->starts[i + 1] - launches->starts[i]);
    lpo_region_group_free(rows);
    lpo_map_pair_free(&s->map);
    s->keys.len = 0;
}

void lpo_diff_digest_calls(struct lpo_diff_builder *b)
{
    const struct lpo_region_tree *tree = b->a->tree;
    const struct lpo_operators *ops = lpo_analysis_operators(b->a, true);
    struct sweep s = { .b = b, .t = b->a->trace, .ends = lpo_region_ends_find(b->a->trace) };
    struct lpo_group launches = lpo_region_group_launches(s.t), rows;

    s.launched = lpo_xcalloc(s.t->launches.len + 1, sizeof *s.launched);
    if (s.t->ranges.len) {
        sum_launches(&s, true);
        for (uint32_t i = 0; i < tree->nodes.len; i++)
            if (tree->nodes.at[i].kind == LPO_PUSH_POP)
                put_key(&s, tree->nodes.at[i].parent,
                        domain_and_name(tree->nodes.at[i].domain, tree->nodes.at[i].name), i);
        rows = lpo_region_group_ranges(s.t, LPO_PUSH_POP);
        sweep_table(&s, LPO_DIFF_REGIONS, &rows, &launches);
    }
    if (s.t->ops.len) {
        sum_launches(&s, false);
        for (uint32_t i = 0; i < ops->rows.len; i++)
            put_key(&s, ops->rows.at[i].name,
                    both_names(ops->rows.at[i].shapes, ops->rows.at[i].types), i);
        rows = lpo_region_group_ops(s.t);
        sweep_table(&s, LPO_DIFF_OPERATORS, &rows, &launches);
    }
    lpo_region_group_free(&launches);
    lpo_region_ends_free(&s.ends);
    lpo_vec_free(&s.stack);
    lpo_vec_free(&s.keys);
    free(s.launched);
}
