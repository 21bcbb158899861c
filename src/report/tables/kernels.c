/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of kernels, kernel classes, copies and memsets. */
#include <stdlib.h>

#include "analysis/analysis.h"
#include "analysis/counters/by_kernel.h"
#include "region/classes.h"
#include "region/scope.h"
#include "region/top_kernels.h"
#include "report/doc/doc.h"
#include "report/tables/launch_cells.h"
#include "report/tables/tables.h"
#include "util/arena.h"
#include "util/str.h"
#include "util/units.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

static const struct lpo_column kernel_columns[] = {
    { "launches", "Launches", LPO_CELL_COUNT, NULL },
    { "gpu_ns", "GPU time", LPO_CELL_NS, NULL },
    { "share", "Share", LPO_CELL_PERCENT, NULL },
    { "mean_ns", "Mean", LPO_CELL_NS, NULL, 0 },
    { "min_ns", "Min", LPO_CELL_NS, NULL, 1 },
    { "max_ns", "Max", LPO_CELL_NS, NULL, 1 },
    { "class", "Class", LPO_CELL_TEXT, NULL },
    { "kernel", "Kernel", LPO_CELL_TEXT, NULL, 0, 60 }, /* last: names are long */
};

/* Besides, of kernels that ncu measured: in place of the extremes. */
static const struct lpo_column figure_columns[LPO_KERNEL_FIGURES] = {
    [LPO_FIGURE_SM] = { "sm_share", "SM", LPO_CELL_PERCENT, NULL },
    [LPO_FIGURE_TENSOR] = { "tensor_share", "Tensor", LPO_CELL_PERCENT, NULL },
    [LPO_FIGURE_L1] = { "l1_share", "L1", LPO_CELL_PERCENT, NULL, 2 },
    [LPO_FIGURE_L2] = { "l2_share", "L2", LPO_CELL_PERCENT, NULL, 1 },
    [LPO_FIGURE_DRAM] = { "dram_share", "DRAM", LPO_CELL_PERCENT, NULL },
    [LPO_FIGURE_OCCUPANCY] = { "occupancy_share", "Occupancy", LPO_CELL_PERCENT, NULL },
    [LPO_FIGURE_REGISTERS] = { "registers", "Regs", LPO_CELL_MEASURE, NULL, 1 },
    [LPO_FIGURE_WAVES] = { "waves", "Waves", LPO_CELL_MEASURE, NULL, 2 },
};
enum { BEFORE_EXTREMES = 4, AFTER_EXTREMES = 6 };

/* What was not collected has no column. `measured` NULL or empty: ncu measured none. */
static struct lpo_table *kernel_table(struct lpo_doc *doc, const char *id, const char *title,
                                      const struct lpo_counters_by_kernel *measured)
{
    struct lpo_column *columns =
        lpo_arena_array(doc->arena, COUNT(kernel_columns) + LPO_KERNEL_FIGURES, sizeof *columns);
    size_t n = 0;

    if (!measured || !measured->len)
        return lpo_doc_table(doc, id, title, kernel_columns, COUNT(kernel_columns));
    for (size_t i = 0; i < BEFORE_EXTREMES; i++)
        columns[n++] = kernel_columns[i];
    for (int f = 0; f < LPO_KERNEL_FIGURES; f++)
        if (measured->has[f]) {
            columns[n] = figure_columns[f];
            columns[n++].minor *= !doc->width; /* a wide page has all of them */
        }
    for (size_t i = AFTER_EXTREMES; i < COUNT(kernel_columns); i++)
        columns[n++] = kernel_columns[i];
    return lpo_doc_table(doc, id, title, columns, n);
}

void lpo_report_row_kernel(struct lpo_table *t, const struct lpo_region_cells *cells, uint32_t name)
{
    const struct lpo_trace *trace = cells->tree->trace;
    const char *whole = lpo_trace_text(trace, name);
    const char *shown = lpo_region_cells_shown_name(cells, name);

    if (shown == whole)
        lpo_doc_row_textn(t, whole, lpo_trace_text_len(trace, name));
    else
        lpo_doc_row_path(t, shown, whole, 0);
}

static void add_figures(struct lpo_table *t, const struct lpo_region_cells *cells, uint32_t name,
                        const struct lpo_counters_by_kernel *measured)
{
    const struct lpo_trace *trace = cells->tree->trace;
    uint32_t linker = lpo_region_cells_linker(cells, name);
    const struct lpo_kernel_counters *k = lpo_counters_find_kernel(
        measured, lpo_trace_text(trace, name), linker ? lpo_trace_text(trace, linker) : NULL);

    for (int f = 0; f < LPO_KERNEL_FIGURES; f++)
        if (measured->has[f])
            lpo_doc_row_measure(t, k ? k->figure[f] : lpo_measure_unknown());
}

static void add_kernel(struct lpo_table *t, const struct lpo_region_cells *cells, uint32_t name,
                       const struct lpo_sum *s, int64_t total_ns,
                       const struct lpo_counters_by_kernel *measured)
{
    uint64_t timed = s->launches - s->unknown;

    lpo_doc_row_count(t, s->launches);
    lpo_report_row_sum_ns(t, s, s->ns, true);
    lpo_report_row_sum_share(t, s, total_ns, true);
    lpo_report_row_sum_ns(t, s, timed ? s->ns / (int64_t)timed : 0, true);
    if (measured && measured->len) {
        add_figures(t, cells, name, measured);
    } else {
        lpo_report_row_sum_extreme(t, s, s->min_ns);
        lpo_report_row_sum_extreme(t, s, s->max_ns);
    }
    lpo_doc_row_text(t, lpo_region_class_name(lpo_region_cells_class(cells, name)));
    lpo_report_row_kernel(t, cells, name);
}

struct lpo_table *lpo_report_add_top_kernels(struct lpo_doc *doc, const struct lpo_analysis *a,
                                             const struct lpo_trace *counters, size_t most)
{
    const struct lpo_counters_by_kernel measured =
        lpo_counters_by_kernel(doc->arena, counters ? counters : a->trace);
    struct lpo_table *t = kernel_table(doc, "kernels", "", &measured);
    const lpo_top_rows *rows = lpo_analysis_top(a, LPO_KERNEL);
    int64_t total_ns = 0;

    for (size_t i = 0; i < rows->len; i++)
        total_ns += rows->at[i].sum.ns;
    for (size_t i = 0; i < rows->len && (!most || i < most); i++)
        add_kernel(t, a->cells, rows->at[i].name, &rows->at[i].sum, total_ns, &measured);
    if (lpo_doc_table_rows(t) < rows->len)
        t->total_rows = rows->len;
    return t;
}

void lpo_report_add_total(struct lpo_doc *doc, const struct lpo_analysis *a)
{
    struct lpo_sum sum = { 0 };
    LPO_STR text = { 0 };

    for (size_t i = 0; i < a->cells->cells.len; i++)
        if (a->cells->cells.at[i].kind == LPO_KERNEL)
            lpo_region_sum_add(&sum, &a->cells->cells.at[i].sum);
    if (!a->trace->gpu_ops.len && !a->trace->summaries.len) {
        lpo_doc_paragraph(doc, "No GPU operations are in this trace: the program ran on the CPU, "
                               "or the profiler did not record the GPU.");
        return;
    }
    lpo_str_add(&text, "In all ");
    lpo_units_add_count(&text, sum.launches);
    lpo_str_add(&text, sum.launches == 1 ? " launch" : " launches");
    if (sum.launches > sum.unknown) {
        lpo_str_add(&text, lpo_region_cells_parted(a->cells) && lpo_region_sum_estimated(&sum)
                               ? ", ~"
                               : ", ");
        lpo_units_add_duration(&text, sum.ns);
        lpo_str_add(&text, " of GPU time");
    }
    if (sum.unknown)
        lpo_str_addf(&text, ", %llu of unknown duration", (unsigned long long)sum.unknown);
    lpo_doc_paragraph(doc, "%s.", text.at);
}

static void add_row_kernels(struct lpo_table *t, const struct lpo_region_scope *s,
                            const struct lpo_region_row *row, size_t most,
                            const struct lpo_counters_by_kernel *measured)
{
    for (uint32_t k = 0; k < row->nkernels && (!most || k < most); k++)
        add_kernel(t, s->cells, s->kernels.at[row->kernels + k].name,
                   &s->kernels.at[row->kernels + k].all, row->all.ns, measured);
    if (lpo_doc_table_rows(t) < row->nkernels)
        t->total_rows = row->nkernels;
}

void lpo_report_add_row_kernels(struct lpo_doc *doc, const struct lpo_region_scope *s,
                                const struct lpo_region_row *row,
                                const struct lpo_counters_by_kernel *measured, size_t most)
{
    add_row_kernels(kernel_table(doc, "kernels", "Kernels", measured), s, row, most, measured);
}

void lpo_report_add_region_kernels(struct lpo_doc *doc, const struct lpo_region_scope *s,
                                   const struct lpo_trace *counters, size_t regions, size_t kernels)
{
    const struct lpo_counters_by_kernel measured =
        lpo_counters_by_kernel(doc->arena, counters ? counters : s->cells->tree->trace);
    size_t done = 0;

    for (size_t i = 0; i < s->rows.len && done < regions; i++) {
        const struct lpo_region_row *r = &s->rows.at[i];
        LPO_STR path = { 0 };

        if (!r->nkernels)
            continue;
        lpo_region_row_add_path(s, r, &path);
        add_row_kernels(kernel_table(doc, "region_kernels",
                                     lpo_arena_name(doc->arena, lpo_str_text(&path), path.len),
                                     &measured),
                        s, r, kernels, &measured);
        done++;
    }
}

static const struct lpo_column copy_columns[] = {
    { "kind", "Copy or memset", LPO_CELL_TEXT, NULL },
    { "count", "Count", LPO_CELL_COUNT, NULL },
    { "ns", "Time", LPO_CELL_NS, NULL },
    { "bytes", "Bytes", LPO_CELL_BYTES, NULL },
    { "bytes_per_second", "Rate", LPO_CELL_MEASURE, "B/s" },
};

static struct lpo_measure rate_of(const struct lpo_sum *s)
{
    double rate = (double)s->bytes / ((double)s->ns * 1e-9);

    return lpo_region_sum_estimated(s) ? lpo_measure_estimated(rate) : lpo_measure_computed(rate);
}

/* Sources name a dozen kinds of copies; a hostile one names each copy. */
enum { KINDS_OF_COPIES = 1000 };

static void add_copies(struct lpo_table *t, const struct lpo_analysis *a, enum lpo_gpu_op_kind kind)
{
    const lpo_top_rows *rows = lpo_analysis_top(a, kind);

    for (size_t i = 0; i < rows->len && i < KINDS_OF_COPIES; i++) {
        const struct lpo_sum *s = &rows->at[i].sum;

        lpo_doc_row_textn(t, lpo_trace_text(a->trace, rows->at[i].name),
                          lpo_trace_text_len(a->trace, rows->at[i].name));
        lpo_doc_row_count(t, s->launches);
        lpo_report_row_sum_ns(t, s, s->ns, true);
        /* a source that does not know the bytes prints 0 */
        if (s->bytes)
            lpo_doc_row_bytes(t, (double)s->bytes);
        else
            lpo_doc_row_unknown(t);
        lpo_doc_row_measure(t, s->bytes && s->ns > 0 ? rate_of(s) : lpo_measure_unknown());
    }
}

void lpo_report_add_copies(struct lpo_doc *doc, const struct lpo_analysis *a)
{
    struct lpo_table *t = lpo_doc_table(doc, "copies", "", copy_columns, COUNT(copy_columns));

    size_t all = lpo_analysis_top(a, LPO_COPY)->len + lpo_analysis_top(a, LPO_MEMSET)->len;

    add_copies(t, a, LPO_COPY);
    add_copies(t, a, LPO_MEMSET);
    if (lpo_doc_table_rows(t) < all)
        t->total_rows = all;
}

static const struct lpo_column class_columns[] = {
    { "class", "Class", LPO_CELL_TEXT, NULL },
    { "kernels", "Kernels", LPO_CELL_COUNT, NULL },
    { "launches", "Launches", LPO_CELL_COUNT, NULL },
    { "gpu_ns", "GPU time", LPO_CELL_NS, NULL },
    { "share", "Share", LPO_CELL_PERCENT, NULL },
    { "most_expensive", "Most expensive kernel", LPO_CELL_TEXT, NULL },
};

void lpo_report_add_classes(struct lpo_doc *doc, const struct lpo_analysis *a)
{
    struct lpo_table *t = lpo_doc_table(doc, "classes", "", class_columns, COUNT(class_columns));
    size_t count;
    const struct lpo_class_sum *sums = lpo_analysis_classes(a, &count);
    int64_t total_ns = 0;

    for (size_t i = 0; i < count; i++)
        total_ns += sums[i].sum.ns;
    for (size_t i = 0; i < count; i++) {
        lpo_doc_row_text(t, lpo_region_class_name(sums[i].class));
        lpo_doc_row_count(t, sums[i].kernels);
        lpo_doc_row_count(t, sums[i].sum.launches);
        lpo_report_row_sum_ns(t, &sums[i].sum, sums[i].sum.ns, true);
        lpo_report_row_sum_share(t, &sums[i].sum, total_ns, true);
        lpo_report_row_kernel(t, a->cells, sums[i].most_expensive);
    }
}
