/* SPDX-License-Identifier: Apache-2.0 */
/* The first visit of each region, apart from the later ones. */
#include "region/tree.h"
#include "trace/host.h"
#include "trace/recorded.h"
#include "util/checked.h"
#include "util/xmalloc.h"

void lpo_region_count_visit(struct lpo_region_tree *tree, uint32_t row, const struct lpo_slice *s)
{
    struct lpo_visits *v = &tree->visits.at[row];
    int64_t ns = lpo_trace_recorded_ns(tree->recorded, v->process, s->start_ns, s->end_ns);

    v->count++;
    v->host_ns = lpo_ns_add(v->host_ns, ns);
    if (v->first_start_ns == LPO_NO_TIME || v->first_start_ns > s->start_ns) {
        v->first_start_ns = s->start_ns;
        v->first_end_ns = s->end_ns;
        v->first_host_ns = ns;
        v->first_thread = s->thread;
    }
    if (s->kind & (LPO_HOST_RANGE | LPO_HOST_START_END) &&
        tree->trace->ranges.at[s->row].flags & LPO_RANGE_OPEN) {
        v->open++;
        tree->open++;
    }
}

/* The row of visits whose first one holds this launch; NULL: a later one does. */
static struct lpo_visits *first_with(const struct lpo_region_tree *tree, uint32_t node,
                                     const struct lpo_launch *l)
{
    struct lpo_visits *v =
        lpo_region_visits_find(tree, node, tree->trace->threads.at[l->thread].process);
    bool any_thread = tree->nodes.at[node].kind == LPO_START_END;

    if (v && v->count > 1 && v->first_start_ns != LPO_NO_TIME && l->start_ns >= v->first_start_ns &&
        l->end_ns <= v->first_end_ns && (any_thread || l->thread == v->first_thread))
        return v;
    return NULL;
}

static void add(struct lpo_region_tree *tree, uint32_t node, const struct lpo_launch *l, int64_t ns)
{
    struct lpo_visits *v = first_with(tree, node, l);

    if (v)
        v->first_gpu_ns += ns;
}

bool lpo_region_in_first_visit(const struct lpo_region_tree *tree, uint32_t node,
                               const struct lpo_launch *l)
{
    return l->end_ns <= tree->last_firsts[tree->trace->threads.at[l->thread].process] &&
           first_with(tree, node, l);
}

/* Most launches come after every first visit of what is visited again: they are not looked up. */
static int64_t *last_firsts(const struct lpo_region_tree *tree)
{
    int64_t *last = lpo_xcalloc(tree->trace->processes.len + 1, sizeof *last);

    for (size_t i = 0; i < tree->trace->processes.len; i++)
        last[i] = INT64_MIN;
    for (size_t i = 0; i < tree->visits.len; i++) {
        const struct lpo_visits *v = &tree->visits.at[i];

        if (v->count > 1 && v->first_start_ns != LPO_NO_TIME && v->first_end_ns > last[v->process])
            last[v->process] = v->first_end_ns;
    }
    return last;
}

void lpo_region_first_visits_sum(struct lpo_region_tree *tree)
{
    const struct lpo_trace *t = tree->trace;
    int64_t *last = tree->last_firsts = last_firsts(tree);

    for (size_t i = 0; i < t->gpu_ops.len; i++) {
        const struct lpo_gpu_op *op = &t->gpu_ops.at[i];
        const struct lpo_launch *l = op->launch == LPO_NONE ? NULL : &t->launches.at[op->launch];
        const struct lpo_place *place;
        const struct lpo_region_set *set;

        if (!l || op->kind != LPO_KERNEL || l->end_ns > last[t->threads.at[l->thread].process])
            continue;
        place = &tree->places.at[lpo_region_place(tree, op)];
        set = &tree->sets.at[place->set];
        for (uint32_t n = place->leaf; n != LPO_NONE; n = tree->nodes.at[n].parent)
            add(tree, n, l, lpo_trace_gpu_op_ns(op));
        for (uint32_t k = 0; k < set->count; k++)
            add(tree, tree->set_nodes.at[set->first + k], l, lpo_trace_gpu_op_ns(op));
    }
}
