/* SPDX-License-Identifier: Apache-2.0 */
/* What the critical GPU did over time, in LPO_DIFF_STRIP equal pieces of its span: the part of the
 * wall time that most of a piece went to. For a picture; the sums are elsewhere. */
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"
#include "analysis/diff/private.h"
#include "region/tree.h"
#include "trace/trace.h"

static size_t part_of(const struct lpo_diff_builder *b, const struct lpo_gpu_op *op)
{
    if (op->kind != LPO_KERNEL)
        return LPO_DIFF_PART_COPY;
    size_t class = lpo_region_tree_class(b->a->tree, op->name);

    return class == LPO_CLASS_COLLECTIVE ? LPO_DIFF_PART_COMMUNICATION : class;
}

/* Adds an operation to every piece that it touches. */
static void add_op(double (*pieces)[LPO_DIFF_PARTS], const struct lpo_wall_device *v, size_t part,
                   const struct lpo_gpu_op *op)
{
    double piece_ns = (double)v->span_ns / LPO_DIFF_STRIP;
    double from = (double)(op->start_ns - v->start_ns), to = (double)(op->end_ns - v->start_ns);
    size_t first = from > 0 ? (size_t)(from / piece_ns) : 0;

    for (size_t i = first; i < LPO_DIFF_STRIP && (double)i * piece_ns < to; i++) {
        double low = (double)i * piece_ns, high = low + piece_ns;

        pieces[i][part] += (to < high ? to : high) - (from > low ? from : low);
    }
}

void lpo_diff_digest_strip(struct lpo_diff_builder *b)
{
    const struct lpo_wall *w = lpo_analysis_wall(b->a);
    const struct lpo_trace *t = b->a->trace;
    double(*pieces)[LPO_DIFF_PARTS];

    if (!w || !w->devices.len || w->devices.at[0].span_ns <= 0)
        return;
    pieces = lpo_xcalloc(LPO_DIFF_STRIP, sizeof *pieces);
    for (size_t i = 0; i < t->gpu_ops.len; i++) {
        const struct lpo_gpu_op *op = &t->gpu_ops.at[i];

        if (op->device == w->devices.at[0].device && !(op->flags & LPO_GPU_OP_UNTIMED))
            add_op(pieces, &w->devices.at[0], part_of(b, op), op);
    }
    for (size_t i = 0; i < LPO_DIFF_STRIP; i++) {
        double busy = 0, most = 0;

        b->out->strip[i] = LPO_DIFF_PART_IDLE;
        for (size_t k = 0; k < LPO_DIFF_PARTS; k++)
            busy += pieces[i][k];
        for (size_t k = 0; k < LPO_DIFF_PARTS; k++)
            if (pieces[i][k] > most &&
                busy * 2 >= (double)w->devices.at[0].span_ns / LPO_DIFF_STRIP) {
                most = pieces[i][k];
                b->out->strip[i] = (uint8_t)k;
            }
    }
    b->out->has_strip = true;
    free(pieces);
}
