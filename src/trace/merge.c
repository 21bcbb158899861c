/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/merge.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "trace/trace.h"
#include "util/xmalloc.h"

/* ncu's pages of one capture list the same kernels in the same order. Where they do not, which row
 * belongs to which would be a guess. */
static bool same_kernels(const struct lpo_trace *t, uint32_t first, uint32_t count,
                         const struct lpo_trace *from)
{
    if (from->gpu_ops.len != count || (size_t)first + count > t->gpu_ops.len)
        return false;
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(lpo_trace_text(t, t->gpu_ops.at[first + i].name),
                   lpo_trace_text(from, from->gpu_ops.at[i].name)) != 0)
            return false;
    return true;
}

/* What is known stays: the other page only fills holes. */
static void merge_op(struct lpo_trace *t, struct lpo_gpu_op *to, const struct lpo_trace *from,
                     const struct lpo_gpu_op *op, const uint32_t *columns)
{
    if (to->flags & LPO_GPU_OP_NO_LENGTH && !(op->flags & LPO_GPU_OP_NO_LENGTH)) {
        to->flags &= (uint8_t)~LPO_GPU_OP_NO_LENGTH;
        to->start_ns = op->start_ns;
        to->end_ns = op->end_ns;
    }
    if (to->shape == LPO_NONE && op->shape != LPO_NONE)
        to->shape = lpo_trace_shape(t, &from->shapes.at[op->shape]);
    if (op->metrics == LPO_NONE)
        return;
    if (to->metrics == LPO_NONE)
        to->metrics = lpo_trace_metric_row(t);
    for (size_t i = 0; i < from->metrics.len; i++) {
        double v = lpo_trace_metric_get(from, op->metrics, (uint32_t)i);

        if (!isnan(v) && isnan(lpo_trace_metric_get(t, to->metrics, columns[i])))
            lpo_trace_metric_set(t, to->metrics, columns[i], v);
    }
}

static uint32_t same_name(struct lpo_trace *t, const struct lpo_trace *from, uint32_t name)
{
    return name == LPO_NONE
               ? name
               : lpo_trace_namen(t, lpo_trace_text(from, name), lpo_trace_text_len(from, name));
}

/* Pages have all rules or none. */
static void merge_rules(struct lpo_trace *t, uint32_t first, uint32_t count,
                        const struct lpo_trace *from)
{
    for (size_t i = 0; i < t->rules.len; i++)
        if (t->rules.at[i].op >= first && t->rules.at[i].op - first < count)
            return;
    for (size_t i = 0; i < from->rules.len; i++) {
        struct lpo_rule r = from->rules.at[i];

        r.op += first;
        r.section = same_name(t, from, r.section);
        r.rule = same_name(t, from, r.rule);
        r.title = same_name(t, from, r.title);
        r.text = same_name(t, from, r.text);
        lpo_vec_push(&t->rules, r);
    }
}

bool lpo_trace_merge_metrics(struct lpo_trace *t, uint32_t first, uint32_t count,
                             const struct lpo_trace *from)
{
    uint32_t *columns;

    if (!same_kernels(t, first, count, from))
        return false;
    columns = lpo_xrealloc(NULL, from->metrics.len + 1, sizeof *columns);
    for (size_t i = 0; i < from->metrics.len; i++) {
        const struct lpo_metric *m = &from->metrics.at[i];

        columns[i] =
            lpo_trace_metric(t, lpo_trace_text(from, m->name), lpo_trace_text_len(from, m->name),
                             m->unit == LPO_NONE ? NULL : lpo_trace_text(from, m->unit));
    }
    for (uint32_t i = 0; i < count; i++)
        merge_op(t, &t->gpu_ops.at[first + i], from, &from->gpu_ops.at[i], columns);
    free(columns);
    merge_rules(t, first, count, from);
    return true;
}
