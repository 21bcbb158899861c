/* SPDX-License-Identifier: Apache-2.0 */
#include "report/trace_notes.h"

#include "analysis/analysis.h"
#include "analysis/wall/timeline.h"
#include "region/select.h"
#include "report/doc/doc.h"
#include "util/budget.h"

/* Where notes go. */
struct note_sink {
    void (*add)(void *ctx, bool warning, const char *text);
    void *ctx;
};

static void counted(const struct note_sink *v, bool warning, uint64_t n, const char *one,
                    const char *many)
{
    LPO_STR s = { 0 };

    if (!n)
        return;
    lpo_str_addf(&s, "%llu %s", (unsigned long long)n, n == 1 ? one : many);
    v->add(v->ctx, warning, s.at);
}

/* A note of a reader may have a count: 12 and "ranges have no name". */
static void reader_notes(const struct lpo_trace *t, const struct note_sink *v)
{
    for (size_t i = 0; i < t->notes.len; i++) {
        const struct lpo_trace_note *note = &t->notes.at[i];
        LPO_STR s = { 0 };

        if (note->count)
            lpo_str_addf(&s, "%llu ", (unsigned long long)note->count);
        lpo_str_add(&s, lpo_trace_text(t, note->text));
        v->add(v->ctx, true, s.at);
    }
    counted(v, true, t->dropped, "record was lost by the profiler, by its own count",
            "records were lost by the profiler, by its own count");
}

static bool mentions(const struct lpo_trace *t, const char *part)
{
    return lpo_any(i, t->notes.len, strstr(lpo_trace_text(t, t->notes.at[i].text), part));
}

static void tree_notes(const struct lpo_region_tree *tree, const struct note_sink *v)
{
    if (!mentions(tree->trace, "never closed"))
        counted(v, false, tree->open,
                "range was never closed and is counted up to the end of its process",
                "ranges were never closed and are counted up to the end of their process");
    counted(v, false, tree->crooked,
            "range overlaps another without being inside it: a launch counts in all ranges that "
            "contain it, and the one that started first is the outermost",
            "ranges overlap another without being inside it: a launch counts in all ranges that "
            "contain it, and the one that started first is the outermost");
    counted(v, true, tree->too_deep,
            "range is deeper than 256 levels and is counted in the region at that depth",
            "ranges are deeper than 256 levels and are counted in the region at that depth");
    counted(v, true, tree->too_long,
            "range is counted in the region around it: the paths of all regions would take more "
            "than the limit (" LPO_BUDGET_HINT ")",
            "ranges are counted in the region around them: the paths of all regions would take "
            "more than the limit (" LPO_BUDGET_HINT ")");
    counted(v, true, tree->too_many,
            "start/end range was opened while 1024 others were open, and gets no launches",
            "start/end ranges were opened while 1024 others were open, and get no launches");
}

/* ncu measures only the metrics that were asked for; durations may not be among them. */
static uint64_t untimed(const struct lpo_region_cells *cells)
{
    uint64_t n = 0;

    for (size_t i = 0; i < cells->cells.len; i++)
        if (cells->cells.at[i].kind == LPO_KERNEL)
            n += cells->cells.at[i].sum.unknown;
    return n;
}

static void add_selection_note(void *ctx, const char *text)
{
    const struct note_sink *v = ctx;

    v->add(v->ctx, false, text);
}

static bool overlap_unknown(const struct lpo_analysis *a)
{
    for (size_t i = 0; a->timeline && i < a->timeline->devices.len; i++)
        if (a->timeline->devices.at[i].overlap_unknown)
            return true;
    return false;
}

/* Tables that would be many times larger than the trace. */
static void bound_notes(const struct lpo_analysis *a, const struct note_sink *v)
{
    const uint64_t scopes = lpo_budget()->scopes;

    if (a->trace->skip & LPO_SKIP_RANGES) /* only `top`, which shows neither */
        return;
    if (a->trace->processes.len + a->trace->devices.len >= scopes)
        v->add(v->ctx, true,
               "the trace has more processes and devices than have a table of their own "
               "(" LPO_BUDGET_HINT ")");
    if (a->timeline && a->timeline->streams.len > scopes)
        v->add(v->ctx, true,
               "the trace has more streams than are listed one by one (" LPO_BUDGET_HINT ")");
    if (lpo_analysis_top(a, LPO_KERNEL)->len > lpo_budget()->listed_kernels)
        v->add(v->ctx, true,
               "the trace has more kernels than are listed one by one: the most expensive are "
               "listed, the others are summed (" LPO_BUDGET_HINT ")");
    counted(v, true, lpo_analysis_all(a)->kernels_left_out,
            "kernel is listed only in the region that launched it, not in the regions around that "
            "one (" LPO_BUDGET_HINT ")",
            "kernels are listed only in the region that launched them, not in the regions around "
            "that one (" LPO_BUDGET_HINT ")");
}

void lpo_report_notes_each(const struct lpo_analysis *a, const struct lpo_region_selection *select,
                           void (*add)(void *ctx, bool warning, const char *text), void *ctx)
{
    struct note_sink v = { add, ctx };

    reader_notes(a->trace, &v);
    tree_notes(a->tree, &v);
    bound_notes(a, &v);
    lpo_region_selection_notes(select, a->tree, add_selection_note, &v);
    counted(&v, false, a->cells->left_out, "kernel launch was left out by the kernel patterns",
            "kernel launches were left out by the kernel patterns");
    counted(&v, false, untimed(a->cells),
            "kernel launch has no duration in this file; with ncu, collect gpu__time_duration.sum "
            "(--metrics, or --set basic)",
            "kernel launches have no duration in this file; with ncu, collect "
            "gpu__time_duration.sum (--metrics, or --set basic)");
    counted(
        &v, false, a->cells->whole,
        "GPU operation stands for many kernels: a graph or a range that was measured as a whole",
        "GPU operations stand for many kernels each: graphs or ranges that were measured as a "
        "whole");
    counted(&v, false, a->cells->shares,
            "kernel ran in a CUDA graph that was timed as a whole: its time is its share of the "
            "graph's, an estimate",
            "kernels ran in CUDA graphs that were timed as a whole: their number is exact, the "
            "time of each is its share of its graph's, an estimate (~); "
            "pipeline.native.graphs=nodes times every kernel");
    if (overlap_unknown(a))
        add(ctx, false,
            "communication ran in CUDA graphs that were timed as a whole: how much of it overlaps "
            "with compute is not known; pipeline.native.graphs=nodes measures it");
    if (a->tree->nodes.len == 0 && a->trace->python_unread)
        add(ctx, false,
            "there are no ranges in this trace, but calls of Python functions: lpo regions "
            "--modules shows those of PyTorch modules as regions");
    else if (a->tree->nodes.len == 0 && !(a->trace->skip & LPO_SKIP_RANGES))
        add(ctx, false,
            "there are no ranges in this trace: mark regions with NVTX (torch.cuda.nvtx, "
            "record_function) to see time by region");
}

static void add_note(void *ctx, bool warning, const char *text)
{
    lpo_doc_note(ctx, warning ? LPO_NOTE_WARNING : LPO_NOTE_INFO, "%s", text);
}

void lpo_report_notes_doc(struct lpo_doc *doc, const struct lpo_analysis *a,
                          const struct lpo_region_selection *select)
{
    lpo_report_notes_each(a, select, add_note, doc);
}
