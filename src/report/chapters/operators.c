/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of operators (what the host called, and the GPU operations inside), and operators.md. */
#include "report/tables/tables.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"
#include "analysis/operators/operators.h"
#include "report/chapters/chapters.h"
#include "report/doc/doc.h"
#include "report/documents.h"
#include "report/operator_records.h"
#include "report/stage_results.h"
#include "rundir/rundir.h"
#include "trace/trace.h"
#include "util/arena.h"
#include "util/err.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

enum { IN_REPORT = 20, LEAST_ROWS = 10, OPERATORS = 200, WITH_KERNELS = 40, KERNELS_EACH = 8 };

static const struct lpo_column operator_columns[] = {
    { "calls", "Calls", LPO_CELL_COUNT, NULL },
    { "cpu_total_ns", "CPU total", LPO_CELL_NS, NULL, 1 },
    { "cpu_self_ns", "CPU self", LPO_CELL_NS, NULL, 0 },
    { "cpu_mean_ns", "CPU mean", LPO_CELL_NS, NULL, 4 },
    { "gpu_total_ns", "GPU total", LPO_CELL_NS, NULL, 0 },
    { "gpu_self_ns", "GPU self", LPO_CELL_NS, NULL, 0 },
    { "gpu_mean_ns", "GPU mean", LPO_CELL_NS, NULL, 3 },
    { "share", "Share of GPU self", LPO_CELL_PERCENT, NULL, 0 },
    { "gpu_ops", "GPU operations", LPO_CELL_COUNT, NULL, 2 },
    { "replayed_self_ns", "In CUDA graphs", LPO_CELL_NS, NULL },
    { "operator", "Operator", LPO_CELL_TEXT, NULL },
};

/* Without graphs the column of them is left out. */
static struct lpo_table *add_table(struct lpo_doc *doc, const char *id, bool graphs)
{
    struct lpo_column *columns = lpo_arena_alloc(doc->arena, sizeof operator_columns);
    size_t n = 0;

    for (size_t i = 0; i < COUNT(operator_columns); i++)
        if (graphs || strcmp(operator_columns[i].key, "replayed_self_ns") != 0)
            columns[n++] = operator_columns[i];
    return lpo_doc_table(doc, id, "", columns, n);
}

/* Without any GPU operation in the trace the profiler did not record the GPU: that is unknown, not
 * 0.
 */
static void row_gpu(struct lpo_table *t, const struct lpo_operator *o,
                    const struct lpo_trace *trace, int64_t all_ns)
{
    if (!trace->gpu_ops.len) {
        for (int i = 0; i < 5; i++)
            lpo_doc_row_unknown(t);
        return;
    }
    lpo_doc_row_ns(t, o->gpu_total_ns);
    lpo_doc_row_ns(t, o->gpu_self_ns);
    if (o->calls)
        lpo_doc_row_ns(t, o->gpu_total_ns / (int64_t)o->calls);
    else
        lpo_doc_row_unknown(t);
    lpo_doc_row_share(t, (double)o->gpu_self_ns, (double)all_ns);
    lpo_doc_row_count(t, o->gpu_ops_self);
}

static int by_own_time(const void *a, const void *b)
{
    const struct lpo_operator *x = *(const struct lpo_operator *const *)a;
    const struct lpo_operator *y = *(const struct lpo_operator *const *)b;

    if (x->gpu_self_ns != y->gpu_self_ns)
        return x->gpu_self_ns > y->gpu_self_ns ? -1 : 1;
    if (x->cpu_self_ns != y->cpu_self_ns)
        return x->cpu_self_ns > y->cpu_self_ns ? -1 : 1;
    return (x > y) - (x < y);
}

/* The same with what graphs replayed of them. */
static int by_own_and_replayed(const void *a, const void *b)
{
    const struct lpo_operator *x = *(const struct lpo_operator *const *)a;
    const struct lpo_operator *y = *(const struct lpo_operator *const *)b;
    int64_t of_x = x->gpu_self_ns + x->replayed_self_ns;
    int64_t of_y = y->gpu_self_ns + y->replayed_self_ns;

    return of_x != of_y ? (of_x > of_y ? -1 : 1) : by_own_time(a, b);
}

const struct lpo_operator **lpo_report_operators_in_order(const struct lpo_operators *ops)
{
    const struct lpo_operator **order = lpo_xcalloc(ops->rows.len + 1, sizeof *order);

    for (size_t i = 0; i < ops->rows.len; i++)
        order[i] = &ops->rows.at[i];
    qsort(order, ops->rows.len, sizeof *order, by_own_time);
    return order;
}

struct lpo_table *lpo_report_add_operators(struct lpo_doc *doc, const struct lpo_analysis *a,
                                           const char *id, size_t most)
{
    const struct lpo_operators *ops = lpo_analysis_operators(a, false);
    const struct lpo_trace *trace = a->trace;
    bool graphs = ops->replays.joined_kernels > 0;
    struct lpo_table *t = add_table(doc, id, graphs);
    const struct lpo_operator **order = lpo_report_operators_in_order(ops);

    if (graphs)
        qsort(order, ops->rows.len, sizeof *order, by_own_and_replayed);
    for (size_t i = 0; i < ops->rows.len && i < most; i++) {
        const struct lpo_operator *o = order[i];

        lpo_doc_row_count(t, o->calls);
        lpo_doc_row_ns(t, o->cpu_total_ns);
        lpo_doc_row_ns(t, o->cpu_self_ns);
        if (o->calls)
            lpo_doc_row_ns(t, o->cpu_total_ns / (int64_t)o->calls);
        else
            lpo_doc_row_unknown(t);
        row_gpu(t, o, trace, ops->all.ns);
        if (graphs)
            lpo_doc_row_ns(t, o->replayed_self_ns);
        lpo_doc_row_textn(t, lpo_trace_text(trace, o->name), lpo_trace_text_len(trace, o->name));
    }
    if (ops->rows.len > most)
        t->total_rows = ops->rows.len;
    free(order);
    return t;
}

static const struct lpo_column kernel_columns[] = {
    { "operator", "Operator", LPO_CELL_TEXT, NULL },
    { "launches", "Launches", LPO_CELL_COUNT, NULL },
    { "gpu_ns", "GPU time", LPO_CELL_NS, NULL },
    { "mean_ns", "Mean", LPO_CELL_NS, NULL },
    { "share", "Share", LPO_CELL_PERCENT, NULL },
    { "kernel", "GPU operation", LPO_CELL_TEXT, NULL },
};

void lpo_report_add_operator_kernels(struct lpo_doc *doc, const struct lpo_analysis *a,
                                     const struct lpo_operators *ops, size_t most, size_t kernels)
{
    const struct lpo_trace *trace = a->trace;
    struct lpo_table *t =
        lpo_doc_table(doc, "operator_kernels", "", kernel_columns, COUNT(kernel_columns));
    const struct lpo_operator **order = lpo_report_operators_in_order(ops);

    for (size_t i = 0; i < ops->rows.len && i < most; i++) {
        const struct lpo_operator *o = order[i];

        for (size_t k = 0; k < o->nkernels && k < kernels; k++) {
            const struct lpo_operator_kernel *w = &ops->kernels.at[o->kernels + k];

            lpo_doc_row_textn(t, lpo_trace_text(trace, o->name),
                              lpo_trace_text_len(trace, o->name));
            lpo_doc_row_count(t, w->count);
            lpo_doc_row_ns(t, w->ns);
            lpo_doc_row_ns(t, w->ns / (int64_t)(w->count ? w->count : 1));
            lpo_doc_row_share(t, (double)w->ns, (double)ops->all.ns);
            lpo_report_row_kernel(t, a->cells, w->name);
        }
    }
    free(order);
}

/* NULL: not known; the chapter of limits says why. */
static const struct lpo_hardware *hardware_of(const struct lpo_rundir *d,
                                              const struct lpo_source *s)
{
    const struct lpo_hardware *hw = NULL;
    struct lpo_err ignored = { 0 };

    return lpo_rundir_hardware(d, s, &hw, &ignored) < 0 ? NULL : hw;
}

void lpo_report_chapter_operators(struct lpo_doc *doc, const struct lpo_rundir *d)
{
    const struct lpo_source *s = lpo_rundir_source_with(d, LPO_ROLE_OPERATORS);
    struct lpo_table *t;

    if (!s || !s->analysis->trace->ops.len)
        return;
    lpo_doc_section(doc, "operators", "Most expensive operators", 1);
    lpo_doc_section_page(doc, "operators.md");
    lpo_doc_paragraph(doc,
                      "From %s. Total includes the operators called inside, self does not; "
                      "operators.md has all, and what they launched.",
                      s->what);
    t = lpo_report_add_operator_shapes(doc, s->analysis, hardware_of(d, s), IN_REPORT);
    t->least_rows = LEAST_ROWS;
    t = lpo_report_add_operators(doc, s->analysis, "operators", IN_REPORT);
    t->detail = true;
}

struct lpo_doc *lpo_report_operators_doc(const struct lpo_rundir *d, const struct lpo_source *s)
{
    struct lpo_doc *doc = lpo_doc_create("operators", "Operators");
    const char *stage = lpo_rundir_stage_with(d, LPO_ROLE_OPERATORS);
    const struct lpo_hardware *hw;
    const char *why = !s && stage ? lpo_report_why_stage_left_no_trace(d, stage) : NULL;

    if (why) {
        lpo_doc_paragraph(doc, "No operators were recorded in this run. %s: %s.", stage, why);
        return doc;
    }
    if (!s || !s->analysis->trace->ops.len) {
        lpo_doc_paragraph(doc, s ? "The PyTorch profiler recorded no operators: add cpu to "
                                   "pipeline.torch_profiler.activities."
                                 : "No operators were recorded in this run: they come from the "
                                   "PyTorch profiler (pipeline.torch_profiler.enable=true).");
        return doc;
    }
    lpo_doc_section(doc, "operators", "By operator", 1);
    lpo_doc_paragraph(doc,
                      "From %s. Total includes the operators called inside, self does not; "
                      "GPU time is that of the GPU operations launched inside.",
                      s->what);
    if (!s->analysis->trace->gpu_ops.len)
        lpo_doc_note(doc, LPO_NOTE_INFO,
                     "No GPU operations were recorded, so GPU times are not known.");
    lpo_report_add_operators(doc, s->analysis, "operators", OPERATORS);
    lpo_doc_section(doc, "shapes", "By operator and input shapes", 1);
    hw = hardware_of(d, s);
    lpo_report_add_operator_shapes(doc, s->analysis, hw, OPERATORS);
    lpo_report_add_replays(doc, s->analysis, hw, OPERATORS);
    if (s->analysis->trace->gpu_ops.len) {
        lpo_doc_section(doc, "operator_kernels", "GPU operations by operator", 1);
        lpo_doc_paragraph(doc, "What an operator launched itself, not through others.");
        lpo_report_add_operator_kernels(doc, s->analysis,
                                        lpo_analysis_operators(s->analysis, false), WITH_KERNELS,
                                        KERNELS_EACH);
    }
    return doc;
}
