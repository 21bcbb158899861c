/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/wall/private.h"

#include "region/tree.h"

static bool starts_before(const void *trace, uint32_t a, uint32_t b)
{
    const struct lpo_trace *t = trace;

    return t->gpu_ops.at[a].start_ns < t->gpu_ops.at[b].start_ns;
}

static bool has_times(const struct lpo_gpu_op *w)
{
    return !(w->flags & (LPO_GPU_OP_UNTIMED | LPO_GPU_OP_NO_LENGTH));
}

/* By device first, by counting: a file has the operations of its GPUs mixed in order of time, and
 * those of one GPU alone are nearly sorted, which the sort by time takes in one pass. */
struct lpo_wall_order lpo_wall_order_find(const struct lpo_trace *t)
{
    struct lpo_wall_order o = { .rows = lpo_xcalloc(t->gpu_ops.len + 1, sizeof *o.rows) };
    LPO_FREED size_t *ends =
        lpo_xcalloc(t->devices.len + 1, sizeof *ends); /* of the rows of each device */

    for (size_t i = 0; i < t->gpu_ops.len; i++) {
        if (has_times(&t->gpu_ops.at[i]))
            ends[t->gpu_ops.at[i].device + 1]++;
        else
            o.untimed++;
    }
    for (size_t d = 0; d < t->devices.len; d++)
        ends[d + 1] += ends[d];
    o.count = ends[t->devices.len];
    for (size_t i = 0; i < t->gpu_ops.len; i++) /* from here on ends[d] moves up to its name */
        if (has_times(&t->gpu_ops.at[i]))
            o.rows[ends[t->gpu_ops.at[i].device]++] = (uint32_t)i;
    for (size_t d = 0, from = 0; d < t->devices.len; from = ends[d++])
        lpo_order_sort(o.rows + from, ends[d] - from, starts_before, t);
    return o;
}

size_t lpo_wall_order_device(const struct lpo_wall_order *o, const struct lpo_trace *t, size_t from)
{
    uint16_t device = t->gpu_ops.at[o->rows[from]].device;

    while (from < o->count && t->gpu_ops.at[o->rows[from]].device == device)
        from++;
    return from;
}

size_t lpo_wall_window(const struct lpo_trace *t, const struct lpo_gpu_op *op)
{
    int64_t ns = op->launch == LPO_NONE ? op->start_ns : t->launches.at[op->launch].start_ns;
    size_t low, high;

    /* of a job each process has one, in their order */
    bool in_order = op->process < t->window_ranges.len &&
                    t->window_ranges.at[op->process].process == op->process;

    for (size_t i = in_order ? op->process : 0; i < t->window_ranges.len; i++) {
        const struct lpo_window_range *r = &t->window_ranges.at[i];

        if (r->process != op->process)
            continue;
        low = r->first;
        high = r->first + r->count;
        lpo_search(low, high, k, t->windows.at[k].start_ns <= ns);
        return low + 1;
    }
    return 0;
}

void lpo_wall_order_free(struct lpo_wall_order *o)
{
    free(o->rows);
    *o = (struct lpo_wall_order){ 0 };
}

bool lpo_wall_communicates(const struct lpo_region_tree *t, uint32_t name)
{
    return lpo_region_tree_class(t, name) == LPO_CLASS_COLLECTIVE;
}
