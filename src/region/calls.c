/* SPDX-License-Identifier: Apache-2.0 */
#include "region/calls.h"

#include <stdlib.h>

#include "region/thread_rows.h"
#include "region/tree.h"
#include "trace/trace.h"
#include "util/xmalloc.h"

/* A range that is open at the moment that a thread is swept at. */
struct open {
    int64_t start_ns, end_ns;
    uint32_t range, row; /* of the trace; of the calls, LPO_NONE until a launch is found in it */
};

struct sweep {
    const struct lpo_region_tree *tree;
    struct lpo_region_call_list *calls;
    struct lpo_group ranges, launches;
    struct lpo_process_ends ends;
    LPO_VEC(struct open) stack;
};

struct order {
    const struct lpo_trace *t;
    const struct lpo_process_ends *ends;
};

/* The one around comes before those inside it. */
static bool range_before(const void *ctx, uint32_t a, uint32_t b)
{
    const struct order *o = ctx;
    const struct lpo_range *x = &o->t->ranges.at[a], *y = &o->t->ranges.at[b];

    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns;
    return lpo_region_range_end(o->ends, o->t, x) > lpo_region_range_end(o->ends, o->t, y);
}

static void leave(struct sweep *s, int64_t now_ns)
{
    while (s->stack.len && s->stack.at[s->stack.len - 1].end_ns < now_ns)
        s->stack.len--;
}

static void enter(struct sweep *s, uint32_t row)
{
    const struct lpo_trace *t = s->tree->trace;
    const struct lpo_range *r = &t->ranges.at[row];

    if (r->flags & LPO_RANGE_SUMMED)
        return;
    leave(s, r->start_ns);
    lpo_vec_push(&s->stack,
                 (struct open){ r->start_ns, lpo_region_range_end(&s->ends, t, r), row, LPO_NONE });
}

/* Rows for the open ranges that hold [start_ns, end_ns], outermost first; the innermost one. */
static uint32_t call_at(struct sweep *s, int64_t end_ns)
{
    const struct lpo_trace *t = s->tree->trace;
    uint32_t parent = LPO_NONE, node = LPO_NONE;

    for (size_t i = 0; i < s->stack.len && i < LPO_REGION_DEPTH; i++) {
        struct open *o = &s->stack.at[i];
        const struct lpo_range *r = &t->ranges.at[o->range];

        if (o->end_ns < end_ns)
            continue;
        if (o->row == LPO_NONE) {
            node = lpo_region_node_find(s->tree, node, r->name, r->domain, r->kind);
            if (node == LPO_NONE)
                return LPO_NONE;
            o->row = (uint32_t)s->calls->rows.len;
            lpo_vec_push(&s->calls->rows, (struct lpo_region_call){ r->start_ns, node, parent });
        }
        if (s->calls->rows.at[o->row].parent != parent)
            return LPO_NONE; /* it was entered inside another range than it is in now */
        parent = o->row;
        node = s->calls->rows.at[parent].node;
    }
    return parent;
}

static void sweep_thread(struct sweep *s, uint32_t thread)
{
    const struct lpo_trace *t = s->tree->trace;
    size_t r = s->ranges.starts[thread], rend = s->ranges.starts[thread + 1];

    s->stack.len = 0;
    for (size_t i = s->launches.starts[thread]; i < s->launches.starts[thread + 1]; i++) {
        uint32_t row = s->launches.rows[i], call;
        const struct lpo_launch *l = &t->launches.at[row];

        while (r < rend && t->ranges.at[s->ranges.rows[r]].start_ns <= l->start_ns)
            enter(s, s->ranges.rows[r++]);
        leave(s, l->start_ns);
        call = l->path ? LPO_NONE : call_at(s, l->end_ns);
        /* too deep, or paths too long: the tree has put it elsewhere */
        if (call != LPO_NONE &&
            s->calls->rows.at[call].node == s->tree->places.at[s->tree->launch_place[row]].leaf)
            s->calls->launch[row] = call;
    }
}

static void sort_thread(struct sweep *s, uint32_t thread)
{
    const struct lpo_trace *t = s->tree->trace;
    struct order order = { t, &s->ends };
    size_t r = s->ranges.starts[thread], l = s->launches.starts[thread];

    lpo_region_order_sort(s->ranges.rows + r, s->ranges.starts[thread + 1] - r, range_before,
                          &order);
    lpo_region_order_sort(s->launches.rows + l, s->launches.starts[thread + 1] - l,
                          lpo_region_launch_before, t);
}

struct lpo_region_call_list *lpo_region_call_list_create(const struct lpo_region_tree *tree)
{
    const struct lpo_trace *t = tree->trace;
    struct lpo_region_call_list *c = lpo_xcalloc(1, sizeof *c);
    struct sweep s = { .tree = tree,
                       .calls = c,
                       .ranges = lpo_region_group_ranges(t, LPO_PUSH_POP),
                       .launches = lpo_region_group_launches(t),
                       .ends = lpo_region_ends_find(t) };

    c->launch = lpo_xcalloc(t->launches.len + 1, sizeof *c->launch);
    for (size_t i = 0; i < t->launches.len; i++)
        c->launch[i] = LPO_NONE;
    for (uint32_t i = 0; i < t->threads.len; i++) {
        if (s.launches.starts[i] == s.launches.starts[i + 1])
            continue;
        sort_thread(&s, i);
        sweep_thread(&s, i);
    }
    lpo_region_group_free(&s.ranges);
    lpo_region_group_free(&s.launches);
    lpo_region_ends_free(&s.ends);
    lpo_vec_free(&s.stack);
    return c;
}

void lpo_region_call_list_destroy(struct lpo_region_call_list *c)
{
    if (!c)
        return;
    lpo_vec_free(&c->rows);
    free(c->launch);
    free(c);
}
