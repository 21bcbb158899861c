/* SPDX-License-Identifier: Apache-2.0 */
/* Attention that runs as separate kernels: a product that writes the scores to memory, a softmax
 * that reads and writes all of them, a product that reads them again. A fused kernel keeps the
 * scores on the chip and computes the same two products, so what stands between them is what could
 * be saved.
 * A softmax elsewhere has no product right behind it: routers sort, samplers and losses reduce. */
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"
#include "analysis/findings/private.h"
#include "region/cells.h"
#include "region/classes.h"
#include "util/checked.h"
#include "util/vec.h"

enum { MOST_BETWEEN = 8 }; /* scale, mask, casts, dropout: on each side of the softmax */

enum role { PRODUCT, SOFTMAX, BESIDE, FOREIGN };

struct scan {
    enum role last;         /* SOFTMAX: one has been seen since the product; FOREIGN: no product */
    uint32_t product;       /* row of slack */
    LPO_VEC(uint32_t) rows; /* the same, since the product */
    size_t softmax_at;      /* entry of them */
};

struct totals {
    uint64_t times, kernels;
    int64_t gpu_ns, products_ns, *want; /* per row of slack */
};

static int64_t length(const struct lpo_findings_work *w, uint32_t row)
{
    return lpo_trace_gpu_op_ns(&w->trace->gpu_ops.at[w->slack.rows[row]]);
}

static enum role role_of(const struct lpo_findings_work *w, const struct lpo_gpu_op *op)
{
    if (op->kind != LPO_KERNEL || op->flags & (LPO_GPU_OP_WHOLE | LPO_GPU_OP_SHARE))
        return FOREIGN;
    switch (lpo_region_cells_class(w->a->cells, op->name)) {
    case LPO_CLASS_GEMM:
        return PRODUCT;
    case LPO_CLASS_SOFTMAX: /* the logarithm is that of a loss */
        return strstr(lpo_trace_text(w->trace, op->name), "LogSoftMax") ? FOREIGN : SOFTMAX;
    case LPO_CLASS_ELEMENTWISE:
    case LPO_CLASS_COPY:
    case LPO_CLASS_RANDOM:
        return BESIDE;
    default:
        return FOREIGN;
    }
}

static void take(const struct lpo_findings_work *w, const struct scan *s, uint32_t second,
                 struct totals *t)
{
    t->times++;
    t->kernels += s->rows.len;
    t->products_ns =
        lpo_ns_add(t->products_ns, lpo_ns_add(length(w, s->product), length(w, second)));
    for (size_t i = 0; i < s->rows.len; i++) {
        t->want[s->rows.at[i]] = length(w, s->rows.at[i]);
        t->gpu_ns = lpo_ns_add(t->gpu_ns, length(w, s->rows.at[i]));
    }
}

static void begin(struct scan *s, enum role role, uint32_t row)
{
    s->last = role == PRODUCT ? PRODUCT : FOREIGN;
    s->product = row;
    s->rows.len = 0;
}

static void step(const struct lpo_findings_work *w, struct scan *s, enum role role, uint32_t row,
                 struct totals *t)
{
    size_t side = s->last == SOFTMAX ? s->rows.len - s->softmax_at - 1 : s->rows.len;

    if (role == PRODUCT && s->last == SOFTMAX)
        take(w, s, row, t);
    if (s->last == FOREIGN || role == PRODUCT || role == FOREIGN ||
        (role == SOFTMAX && s->last == SOFTMAX) || (role == BESIDE && side == MOST_BETWEEN)) {
        begin(s, role, row);
        return;
    }
    if (role == SOFTMAX) {
        s->last = SOFTMAX;
        s->softmax_at = s->rows.len;
    }
    lpo_vec_push(&s->rows, row);
}

static void find_all(const struct lpo_findings_work *w, struct totals *t)
{
    const uint32_t *rows = w->slack.by_stream;
    const struct lpo_gpu_op *before = NULL;
    struct scan s = { .last = FOREIGN };

    for (size_t i = 0; i < w->slack.count; i++) {
        const struct lpo_gpu_op *op = &w->trace->gpu_ops.at[w->slack.rows[rows[i]]];

        if (before && !lpo_findings_same_stream(before, op))
            begin(&s, FOREIGN, 0);
        step(w, &s, role_of(w, op), rows[i], t);
        before = op;
    }
    lpo_vec_free(&s.rows);
}

void lpo_findings_attention(struct lpo_findings_work *w)
{
    struct totals t = { .want = lpo_findings_wants(w) };
    struct lpo_finding *f;

    find_all(w, &t);
    f = t.times ? lpo_findings_claim(w, LPO_FINDING_ATTENTION, t.want) : NULL;
    if (f) {
        lpo_findings_fact(f, LPO_FACT_ATTENTIONS, (double)t.times);
        lpo_findings_fact(f, LPO_FACT_BETWEEN_NS, (double)t.gpu_ns);
        lpo_findings_fact(f, LPO_FACT_PRODUCTS_NS, (double)t.products_ns);
    }
    free(t.want);
}
