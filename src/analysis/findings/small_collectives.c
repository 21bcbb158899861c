/* SPDX-License-Identifier: Apache-2.0 */
/* Many small collectives one after another, as where each gradient is sent for itself. Nothing that
 * computes stands between two of them, only what fills and empties messages, so none of them waits
 * for another one's result, and one larger message could take their place. What that saves is the
 * idle time between them: the host launches each of them, and the GPU waits for that. How much
 * faster one large message is than many small ones is not known.
 *
 * Layers that are split over GPUs send small messages too, but their products stand in between:
 * those cannot be merged. */
#include <stdlib.h>

#include "analysis/analysis.h"
#include "analysis/findings/private.h"
#include "analysis/steps/steps.h"
#include "analysis/wall/collectives.h"
#include "region/cells.h"
#include "region/classes.h"
#include "region/tree.h"
#include "util/search.h"
#include "util/str.h"

enum {
    MANY = 50,             /* in one row */
    SMALL_BYTES = 1 << 20, /* buckets of frameworks have some 25 MB */
    SMALL_NS = 100000,     /* where sizes are not known */
};

struct scan {
    const struct lpo_findings_work *w;
    struct lpo_findings_messages *out;
    LPO_VEC(uint32_t) row; /* of gpu_ops: collectives */
    LPO_VEC(uint32_t) all; /* the same, of all rows that are long enough */
};

enum role { MEMBER, BETWEEN, FOREIGN };

static enum role role_of(const struct lpo_findings_work *w, const struct lpo_gpu_op *op)
{
    if (op->flags & (LPO_GPU_OP_WHOLE | LPO_GPU_OP_SHARE) ||
        (w->aside && w->aside[lpo_region_place(w->a->tree, op)]))
        return FOREIGN;
    if (op->kind != LPO_KERNEL)
        return BETWEEN;
    switch (lpo_region_cells_class(w->a->cells, op->name)) {
    case LPO_CLASS_COLLECTIVE:
        return MEMBER;
    case LPO_CLASS_ELEMENTWISE: /* casts, and division by the number of ranks */
    case LPO_CLASS_COPY:
        return BETWEEN;
    default:
        return FOREIGN;
    }
}

static const char *kind_of(const struct lpo_trace *t, uint32_t row)
{
    const struct lpo_collective *said = lpo_wall_collective_said(t, row);

    return lpo_wall_collective_kind(lpo_trace_text(t, said ? said->kind : t->gpu_ops.at[row].name));
}

/* Of these, one over several tensors gives the same results. */
static bool can_be_merged(const char *kind)
{
    static const char *const kinds[] = { "all-reduce", "reduce-scatter", "all-gather", "broadcast",
                                         "reduce" };

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (lpo_streq(kind, kinds[i]))
            return true;
    return false;
}

static bool goes_on(const struct lpo_trace *t, uint32_t last, uint32_t row)
{
    const struct lpo_collective *a = lpo_wall_collective_said(t, last),
                                *b = lpo_wall_collective_said(t, row);

    return lpo_streq(kind_of(t, last), kind_of(t, row)) && (!a || !b || a->group == b->group);
}

static void close_row(struct scan *s)
{
    const struct lpo_gpu_op *ops = s->w->trace->gpu_ops.at;

    if (s->row.len >= MANY) {
        struct lpo_findings_stretch x = { ops[s->row.at[0]].start_ns, INT64_MIN };

        for (size_t i = 0; i < s->row.len; i++) {
            int64_t end_ns = ops[s->row.at[i]].end_ns;

            x.end_ns = end_ns > x.end_ns ? end_ns : x.end_ns;
            lpo_vec_push(&s->all, s->row.at[i]);
        }
        lpo_vec_push(&s->out->rows, x);
        s->out->rows_ns += x.end_ns - x.start_ns;
    }
    s->row.len = 0;
}

static void find_rows(struct scan *s)
{
    const struct lpo_findings_slack *order = &s->w->slack;
    const struct lpo_trace *t = s->w->trace;

    for (size_t i = 0; i < order->count; i++) {
        uint32_t row = order->rows[i];
        enum role role = role_of(s->w, &t->gpu_ops.at[row]);

        if (role == BETWEEN)
            continue;
        if (role == FOREIGN || !can_be_merged(kind_of(t, row)) ||
            (s->row.len && !goes_on(t, s->row.at[s->row.len - 1], row)))
            close_row(s);
        if (role == MEMBER && can_be_merged(kind_of(t, row)))
            lpo_vec_push(&s->row, row);
    }
    close_row(s);
}

static int by_size(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;

    return a < b ? -1 : a > b;
}

/* Half of them are no larger. Uses the order of `values` up. */
static double lower_half(double *values, size_t count)
{
    qsort(values, count, sizeof *values, by_size);
    return values[(count - 1) / 2];
}

/* Lengths, and sizes where the source has them of all. */
static void measure(struct scan *s)
{
    const struct lpo_trace *t = s->w->trace;
    double *values = lpo_xrealloc(NULL, s->all.len + 1, sizeof *values);
    size_t sizes = 0;

    for (size_t i = 0; i < s->all.len; i++)
        values[i] = (double)lpo_trace_gpu_op_ns(&t->gpu_ops.at[s->all.at[i]]);
    s->out->half_ns = lower_half(values, s->all.len);
    for (; sizes < s->all.len; sizes++) {
        struct lpo_measure bytes =
            lpo_wall_collective_bytes(t, lpo_wall_collective_said(t, s->all.at[sizes]));

        if (!lpo_measure_known(bytes))
            break;
        values[sizes] = bytes.value;
    }
    s->out->half_bytes = sizes == s->all.len ? lower_half(values, sizes) : -1;
    free(values);
}

/* The step whose process launched this; SIZE_MAX: none. */
static size_t step_of(const struct lpo_program_steps *steps, const struct lpo_trace *t,
                      const struct lpo_gpu_op *op)
{
    const struct lpo_program_step *rows = steps->rows.at;
    int64_t ns = op->launch == LPO_NONE ? op->start_ns : t->launches.at[op->launch].start_ns;
    size_t low = 0, high = steps->rows.len;

    lpo_search(low, high, i,
               rows[i].process < op->process ||
                   (rows[i].process == op->process && rows[i].start_ns <= ns));
    if (!low || rows[low - 1].process != op->process ||
        ns >= rows[low - 1].start_ns + rows[low - 1].wall_ns)
        return SIZE_MAX;
    return low - 1;
}

/* Of the steps that have any: half of them have so many or fewer. 0: there are no steps. */
static double count_in_step(const struct scan *s)
{
    const struct lpo_program_steps *steps = lpo_analysis_steps(s->w->a);
    const struct lpo_trace *t = s->w->trace;
    LPO_VEC(double) counts = { 0 };
    size_t last = SIZE_MAX;
    double half;

    for (size_t i = 0; steps && i < s->all.len; i++) { /* in order of time, so step after step */
        size_t step = step_of(steps, t, &t->gpu_ops.at[s->all.at[i]]);

        if (step == SIZE_MAX)
            continue;
        if (step != last)
            lpo_vec_push(&counts, 0);
        counts.at[counts.len - 1]++;
        last = step;
    }
    half = counts.len ? lower_half(counts.at, counts.len) : 0;
    lpo_vec_free(&counts);
    return half;
}

void lpo_findings_messages_find(const struct lpo_findings_work *w,
                                struct lpo_findings_messages *out)
{
    struct scan s = { .w = w, .out = out };

    *out = (struct lpo_findings_messages){ 0 };
    find_rows(&s);
    if (s.all.len) {
        measure(&s);
        out->count = s.all.len;
        out->in_step = w->other ? 0 : count_in_step(&s);
        if (out->half_bytes >= 0 ? out->half_bytes > SMALL_BYTES : out->half_ns > SMALL_NS)
            lpo_findings_messages_free(out);
    }
    lpo_vec_free(&s.row);
    lpo_vec_free(&s.all);
}

bool lpo_findings_messages_around(const struct lpo_findings_messages *m, int64_t start_ns,
                                  int64_t end_ns)
{
    size_t low = 0, high = m->rows.len;

    lpo_search(low, high, i, m->rows.at[i].start_ns <= start_ns);
    return low && m->rows.at[low - 1].end_ns >= end_ns;
}

void lpo_findings_messages_facts(const struct lpo_findings_messages *m, struct lpo_finding *f)
{
    if (!m->count)
        return;
    lpo_findings_fact(f, LPO_FACT_MESSAGES, (double)m->count);
    if (m->in_step > 0)
        lpo_findings_fact(f, LPO_FACT_MESSAGES_IN_STEP, m->in_step);
    if (m->half_bytes >= 0)
        lpo_findings_fact(f, LPO_FACT_MESSAGE_BYTES, m->half_bytes);
    lpo_findings_fact(f, LPO_FACT_MESSAGE_NS, m->half_ns);
    lpo_findings_fact(f, LPO_FACT_MESSAGES_NS, (double)m->rows_ns);
}

void lpo_findings_messages_free(struct lpo_findings_messages *m)
{
    lpo_vec_free(&m->rows);
    *m = (struct lpo_findings_messages){ 0 };
}
