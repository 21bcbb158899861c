/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/merge.h"

#include "trace/trace.h"
#include "util/path.h"

/* ncu's pages of one capture list the same kernels in the same order. Where they do not, which row
 * belongs to which would be a guess. */
static bool same_kernels(const struct lpo_trace *t, uint32_t first, uint32_t count,
                         const struct lpo_trace *from)
{
    if (from->gpu_ops.len != count || (size_t)first + count > t->gpu_ops.len)
        return false;
    return !lpo_any(i, count,
                    strcmp(lpo_trace_text(t, t->gpu_ops.at[first + i].name),
                           lpo_trace_text(from, from->gpu_ops.at[i].name)) != 0);
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

/* From the first to the last moment of one process in one file. */
struct window {
    int64_t start_ns, end_ns;
    uint16_t process;
};

struct lpo_trace_duplicates {
    LPO_VEC(struct window) windows; /* of the files so far */
    size_t gpu_ops, ranges;         /* rows of those files */
};

void lpo_trace_duplicates_destroy(struct lpo_trace_duplicates *o)
{
    if (!o)
        return;
    lpo_vec_free(&o->windows);
    free(o);
}

static void widen(struct window *w, int64_t start_ns, int64_t end_ns)
{
    bool first = w->start_ns > w->end_ns;

    w->start_ns = first || start_ns < w->start_ns ? start_ns : w->start_ns;
    w->end_ns = first || end_ns > w->end_ns ? end_ns : w->end_ns;
}

static struct window *windows_of_rows(const struct lpo_trace_duplicates *o,
                                      const struct lpo_trace *t)
{
    struct window *now = lpo_xcalloc(t->processes.len + 1, sizeof *now);

    for (size_t i = 0; i < t->processes.len; i++)
        now[i] = (struct window){ 1, 0, (uint16_t)i };
    for (size_t i = o->gpu_ops; i < t->gpu_ops.len; i++) {
        const struct lpo_gpu_op *w = &t->gpu_ops.at[i];
        if (!(w->flags & LPO_GPU_OP_UNTIMED) && w->process < t->processes.len)
            widen(&now[w->process], w->start_ns, w->end_ns);
    }
    for (size_t i = o->ranges; i < t->ranges.len; i++) {
        const struct lpo_range *r = &t->ranges.at[i];
        uint16_t process =
            r->thread < t->threads.len ? t->threads.at[r->thread].process : UINT16_MAX;
        if (process < t->processes.len)
            widen(&now[process], r->start_ns, r->end_ns);
    }
    return now;
}

static void compare(const struct lpo_trace_duplicates *o, struct lpo_trace *t,
                    const struct window *w, const char *path)
{
    int64_t pid = t->processes.at[w->process].pid;

    for (size_t i = 0; pid >= 0 && i < o->windows.len; i++) {
        const struct window *before = &o->windows.at[i];

        if (before->process != w->process || w->end_ns <= before->start_ns ||
            w->start_ns >= before->end_ns)
            continue;
        lpo_trace_note(t, 0,
                       "'%s' and a file before it describe process %lld at the same time: was one "
                       "file given twice, or do they come from two machines? They are taken as one "
                       "process, and ranges that overlap as nested",
                       lpo_path_base(path), (long long)pid);
        return;
    }
}

void lpo_trace_duplicates_note(struct lpo_trace *t, const char *path)
{
    struct lpo_trace_duplicates *o = t->duplicates ? t->duplicates : lpo_xcalloc(1, sizeof *o);
    LPO_FREED struct window *now = windows_of_rows(o, t);
    size_t count = t->processes.len;

    for (size_t i = 0; i < count; i++)
        if (now[i].start_ns <= now[i].end_ns)
            compare(o, t, &now[i], path);
    for (size_t i = 0; i < count; i++)
        if (now[i].start_ns <= now[i].end_ns)
            lpo_vec_push(&o->windows, now[i]);
    t->duplicates = o;
    o->gpu_ops = t->gpu_ops.len;
    o->ranges = t->ranges.len;
}
