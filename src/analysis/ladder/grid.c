/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels with far fewer blocks than the GPU has SMs, by the launch shapes of the trace alone. */

#include "analysis/ladder/private.h"
#include "gpu/hardware.h"
#include "region/tree.h"

enum { SHORT_NS = 10000, NEIGHBOURS = 8 };

static double blocks_of(const struct ladder_work *w, uint32_t op)
{
    const struct lpo_gpu_op *k = lpo_critical_gpu_op(&w->g, op);
    const uint32_t *grid;

    if (k->kind != LPO_KERNEL || k->shape == LPO_NONE ||
        k->flags & (LPO_GPU_OP_WHOLE | LPO_GPU_OP_SHARE) ||
        lpo_region_tree_class(w->tree, k->name) == LPO_CLASS_COLLECTIVE)
        return 0;
    grid = w->t->shapes.at[k->shape].grid;
    return (double)grid[0] * grid[1] * grid[2];
}

static uint32_t sms_of(const struct ladder_work *w, uint32_t op)
{
    uint32_t sms = w->t->devices.at[lpo_critical_gpu_op(&w->g, op)->device].sms;

    return sms || !w->hw ? sms : w->hw->sms;
}

/* The other SMs have something to do: another kernel runs for half of the time and more. */
static bool has_company(const struct ladder_work *w, uint32_t op)
{
    const struct lpo_gpu_op *k = lpo_critical_gpu_op(&w->g, op);
    uint32_t first = op > NEIGHBOURS ? op - NEIGHBOURS : 0;
    int64_t beside = 0;

    for (uint32_t i = first; i < w->g.ops.len && i <= op + NEIGHBOURS; i++) {
        const struct lpo_gpu_op *x = lpo_critical_gpu_op(&w->g, i);
        int64_t from = x->start_ns > k->start_ns ? x->start_ns : k->start_ns;
        int64_t to = x->end_ns < k->end_ns ? x->end_ns : k->end_ns;

        if (i != op && x->kind == LPO_KERNEL && x->device == k->device && to > from)
            beside += to - from;
    }
    return 2 * beside >= lpo_trace_gpu_op_ns(k);
}

/* Half of the SMs can be enough for the memory, so no more than those is asked for. */
void lpo_ladder_grids(struct ladder_work *w)
{
    int64_t *less = lpo_ladder_wants(w), most = 0;
    LPO_FREED bool *in = lpo_xcalloc(w->g.ops.len + 1, sizeof *in);
    double most_blocks = 0;
    uint32_t most_sms = 0, name = LPO_NONE;
    struct lpo_rung *r;

    for (uint32_t i = 0; i < w->g.ops.len; i++) {
        double blocks = blocks_of(w, i);
        uint32_t sms = sms_of(w, i);

        if (!(blocks > 0) || 2 * blocks >= sms || lpo_ladder_op_ns(w, i) < SHORT_NS ||
            w->attends[i] || has_company(w, i))
            continue;
        in[i] = true;
        less[i] = (int64_t)((double)lpo_ladder_op_ns(w, i) * (1 - 2 * blocks / sms));
        if (less[i] > most) {
            most = less[i];
            most_blocks = blocks;
            most_sms = sms;
            name = lpo_critical_gpu_op(&w->g, i)->name;
        }
    }
    r = lpo_ladder_add_ops(w, LPO_RUNG_GRID, less);
    if (r) {
        r->basis = LPO_BASIS_ESTIMATED;
        r->name = name;
        lpo_ladder_describe(w, r, in);
        lpo_ladder_fact(r, LPO_FACT_GRID, LPO_NONE, most_blocks, most_sms, 0);
    }
}
