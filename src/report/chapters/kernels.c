/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels: tables of them and of their classes, copies and idle time; the chapters, and kernels.md,
 * the long table. */

#include "analysis/analysis.h"
#include "analysis/counters/by_kernel.h"
#include "analysis/limits/counters.h"
#include "analysis/tables/tables.h"
#include "analysis/wall/timeline.h"
#include "gpu/hardware.h"
#include "region/kernel_name/short.h"
#include "report/chapters/chapters.h"
#include "report/doc/doc.h"
#include "report/documents.h"
#include "report/ncu_rules.h"
#include "report/tables/tables.h"
#include "rundir/rundir.h"
#include "util/budget.h"
#include "util/units.h"

enum { KERNELS = 15, RULES = 8, BINS = 10, DOTS = 400 };    /* at least, in a short report */
enum { REGIONS = 40, KERNELS_OF_REGION = 10, WIDTH = 160 }; /* in kernels.md */

/* --- tables ----------------------------------------------------------------------------------- */

void lpo_report_row_kernel(struct lpo_table *t, const struct lpo_region_cells *cells, uint32_t name)
{
    const struct lpo_trace *trace = cells->tree->trace;
    const char *whole = lpo_trace_text(trace, name);
    const char *shown = lpo_region_cells_shown_name(cells, name);

    if (shown == whole)
        lpo_doc_row(t, lpo_cell_textn(whole, lpo_trace_text_len(trace, name)));
    else
        lpo_doc_row(t, lpo_cell_path(whole, shown, 0));
}

/* What ncu measured stands in place of the extremes; a wide page has all of it. */
static const char *kernel_columns(const struct lpo_doc *doc,
                                  const struct lpo_counters_by_kernel *measured)
{
    return !measured || !measured->len
               ? "launches gpu_ns share mean_ns min_ns max_ns class kernel=name"
           : doc->width
               ? "launches gpu_ns share mean_ns sm_share? tensor_share? l1_share~0? l2_share~0? "
                 "dram_share? occupancy_share? registers~0? waves~0? class kernel=name"
               : "launches gpu_ns share mean_ns sm_share? tensor_share? l1_share? l2_share? "
                 "dram_share? occupancy_share? registers? waves? class kernel=name";
}

struct lpo_table *lpo_report_add_top_kernels(struct lpo_doc *doc, const struct lpo_analysis *a,
                                             const struct lpo_trace *counters, size_t most)
{
    const struct lpo_counters_by_kernel measured =
        lpo_counters_by_kernel(doc->arena, counters ? counters : a->trace);
    const struct lpo_rows rows = lpo_tables_top(lpo_tables_of(doc->arena, a, NULL), LPO_KERNEL,
                                                measured.len ? &measured : NULL);

    return lpo_doc_table_of(doc, "kernels", "", &rows, kernel_columns(doc, &measured), most);
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

void lpo_report_add_row_kernels(struct lpo_doc *doc, const struct lpo_analysis *a,
                                const struct lpo_region_scope *s, const struct lpo_region_row *row,
                                const struct lpo_counters_by_kernel *measured, const char *id,
                                const char *title, size_t most)
{
    const struct lpo_rows rows =
        lpo_tables_region_kernels(lpo_tables_of(doc->arena, a, NULL), s, row, measured);

    lpo_doc_table_of(doc, id, title, &rows, kernel_columns(doc, measured), most);
}

/* The most expensive kernels of the most expensive regions. */
static void add_region_kernels(struct lpo_doc *doc, const struct lpo_analysis *a,
                               const struct lpo_trace *counters)
{
    const struct lpo_counters_by_kernel measured =
        lpo_counters_by_kernel(doc->arena, counters ? counters : a->trace);
    const struct lpo_region_scope *s = lpo_analysis_all(a);
    size_t done = 0;

    for (size_t i = 0; i < s->rows.len && done < REGIONS; i++) {
        const struct lpo_region_row *r = &s->rows.at[i];
        LPO_STR path = { 0 };

        if (!r->nkernels)
            continue;
        lpo_region_row_add_path(s, r, &path);
        lpo_report_add_row_kernels(doc, a, s, r, &measured, "region_kernels",
                                   lpo_arena_name(doc->arena, lpo_str_text(&path), path.len),
                                   KERNELS_OF_REGION);
        done++;
    }
}

typedef struct lpo_top_row copy_row;

static struct lpo_cell rate_cell(const struct lpo_sum *s)
{
    double rate = (double)s->bytes / ((double)s->ns * 1e-9);

    if (!s->bytes || s->ns <= 0)
        return lpo_cell_unknown();
    return lpo_cell_measure(lpo_region_sum_estimated(s) ? lpo_measure_estimated(rate)
                                                        : lpo_measure_computed(rate));
}

#define COPY(X)                                                                                    \
    X(copy, kind, "Copy or memset", TEXT, KEY, "as the source names it",                           \
      lpo_tables_name(rows, r->name))                                                              \
    X(copy, count, "Count", COUNT, ADDS, "of it", r->sum.launches)                                 \
    X(copy, ns, "Time", NS, ADDS, "of these", lpo_tables_some(&r->sum, r->sum.ns, true))           \
    X(copy, bytes, "Bytes", BYTES, ADDS, "that they moved; a source that does not know prints 0",  \
      lpo_cell_whole_if(r->sum.bytes > 0, (int64_t)r->sum.bytes))                                  \
    X(copy, bytes_per_second, "Rate", MEASURE("B/s"), FACT, "bytes over time", rate_cell(&r->sum))

LPO_TABLE(copy, COPY)

static const struct lpo_table_kind copies_kind =
    LPO_TABLE_KIND(copy, "copies", "Copies and memsets by kind");

/* Sources name a dozen kinds of copies; a hostile one names each copy. */
enum { KINDS_OF_COPIES = 1000 };

static void add_copies(struct lpo_doc *doc, const struct lpo_analysis *a)
{
    const lpo_top_rows *of[] = { lpo_analysis_top(a, LPO_COPY), lpo_analysis_top(a, LPO_MEMSET) };
    LPO_FREED lpo_top_rows all = { 0 };
    struct lpo_rows rows;

    for (size_t k = 0; k < 2; k++)
        for (size_t i = 0; i < of[k]->len && i < KINDS_OF_COPIES; i++)
            lpo_vec_push(&all, of[k]->at[i]);
    rows = lpo_tables_rows(lpo_tables_of(doc->arena, a, NULL), &copies_kind, all.at, all.len);
    lpo_doc_table_of(doc, "copies", "", &rows, NULL, 0)->total_rows =
        all.len < of[0]->len + of[1]->len ? of[0]->len + of[1]->len : 0;
}

/* A class, and the time of all of them. */
typedef struct {
    const struct lpo_class_sum *of;
    int64_t total_ns;
} class_row;

#define CLASS(X)                                                                                   \
    X(class, class, "Class", TEXT, KEY, "guessed from the names of the kernels",                   \
      lpo_region_class_name(r->of->class))                                                         \
    X(class, kernels, "Kernels", COUNT, ADDS, "by name", r->of->kernels)                           \
    X(class, launches, "Launches", COUNT, ADDS, "of these", r->of->sum.launches)                   \
    X(class, gpu_ns, "GPU time", NS, ADDS, "of all launches",                                      \
      lpo_tables_some(&r->of->sum, r->of->sum.ns, true))                                           \
    X(class, share, "Share", PERCENT, FACT, "of the GPU time of all kernels",                      \
      lpo_tables_part(&r->of->sum, r->total_ns, true))                                             \
    X(class, most_expensive, "Most expensive kernel", TEXT, FACT, "of the class",                  \
      lpo_tables_kernel(rows, r->of->most_expensive))

LPO_TABLE(class, CLASS)

static const struct lpo_table_kind classes_kind =
    LPO_TABLE_KIND(class, "classes", "Kernels by class");

static void add_classes(struct lpo_doc *doc, const struct lpo_analysis *a)
{
    size_t count;
    const struct lpo_class_sum *sums = lpo_analysis_classes(a, &count);
    class_row *all = lpo_arena_array(doc->arena, count + 1, sizeof *all);
    const struct lpo_rows rows =
        lpo_tables_rows(lpo_tables_of(doc->arena, a, NULL), &classes_kind, all, count);
    int64_t total_ns = 0;

    for (size_t i = 0; i < count; i++)
        total_ns += sums[i].sum.ns;
    for (size_t i = 0; i < count; i++)
        all[i] = (class_row){ &sums[i], total_ns };
    lpo_doc_paragraph(doc, "Guessed from the names of the kernels.");
    lpo_doc_table_of(doc, "classes", "", &rows, NULL, 0);
}

/* --- chapters --------------------------------------------------------------------------------- */

/* What ncu measured in the same run. */
static const struct lpo_trace *counters_of(const struct lpo_rundir *d)
{
    const struct lpo_source *s = lpo_rundir_source_with(d, LPO_ROLE_COUNTERS);

    return s ? s->trace : NULL;
}

/* How many kernels keep a part of the GPU how busy: shares of peaks in tenths. One kernel is its
 * own row of the table. */
static void add_histogram(struct lpo_doc *doc, const struct lpo_trace *t)
{
    static const struct {
        enum lpo_kernel_figure figure;
        const char *title;
    } shown[] = { { LPO_FIGURE_SM, "SM" },
                  { LPO_FIGURE_L2, "L2" },
                  { LPO_FIGURE_DRAM, "DRAM" },
                  { LPO_FIGURE_OCCUPANCY, "occupancy" } };
    const struct lpo_counters_by_kernel measured = lpo_counters_by_kernel(doc->arena, t);
    struct lpo_figure *f;

    if (measured.len < 2)
        return;
    f = lpo_doc_figure(doc, "kernels_busy", "Kernels by share of peak", LPO_FIG_LINES);
    f->x_title = "% of peak";
    f->y_title = "kernels";
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++) {
        size_t bins[BINS] = { 0 };

        for (size_t k = 0; k < measured.len; k++) {
            struct lpo_measure m = measured.at[k].figure[shown[i].figure];

            if (lpo_measure_known(m) && m.value >= 0)
                bins[m.value >= 100 ? BINS - 1 : (size_t)(m.value * BINS / 100)]++;
        }
        for (size_t b = 0; measured.has[shown[i].figure] && b < BINS; b++)
            lpo_doc_figure_point(f, shown[i].title,
                                 lpo_arena_printf(doc->arena, "%zu", b * 100 / BINS),
                                 (double)(b * 100 + 50) / BINS, (double)bins[b]);
    }
}

/* What each kernel uses of the SMs and of DRAM, as shares of their peaks: below the line compute
 * holds it, above it memory; near the line neither alone. */
static void add_scatter(struct lpo_doc *doc, const struct lpo_trace *t)
{
    static const double margin = 5; /* points that do not tell the two apart */
    const struct lpo_counters_by_kernel measured = lpo_counters_by_kernel(doc->arena, t);
    struct lpo_figure *f;

    if (measured.len < 2 || !measured.has[LPO_FIGURE_SM] || !measured.has[LPO_FIGURE_DRAM])
        return;
    f = lpo_doc_figure(doc, "kernels_sm_dram", "Kernels by use of SMs and DRAM", LPO_FIG_SCATTER);
    f->percent = true;
    f->x_title = "SM, % of peak";
    f->y_title = "DRAM, % of peak";
    lpo_doc_figure_point(f, "roof", "", 0, 0);
    lpo_doc_figure_point(f, "roof", "", 100, 100);
    for (size_t k = 0; k < measured.len && k < DOTS; k++) {
        const struct lpo_kernel_counters *c = &measured.at[k];
        struct lpo_measure sm = c->figure[LPO_FIGURE_SM], dram = c->figure[LPO_FIGURE_DRAM];
        LPO_STR name = { 0 };

        if (!lpo_measure_known(sm) || !lpo_measure_known(dram))
            continue;
        lpo_region_short_name((struct lpo_kernel_span){ c->kernel, strlen(c->kernel) }, &name);
        lpo_doc_figure_point(f,
                             sm.value > dram.value + margin   ? "compute bound"
                             : dram.value > sm.value + margin ? "memory bound"
                                                              : "balanced",
                             lpo_str_text(&name), sm.value, dram.value);
    }
}

/* What ncu counted of all launches of a kernel. */
static struct lpo_counters counted(const struct lpo_analysis *a, uint32_t name,
                                   struct lpo_metric_sum *sums)
{
    const struct lpo_region_cells *cells = a->cells;
    size_t metrics = a->trace->metrics.len;

    for (size_t m = 0; m < metrics; m++)
        sums[m] = (struct lpo_metric_sum){ 0, 0 };
    for (size_t i = 0; i < cells->cells.len; i++) {
        const struct lpo_region_cell *c = &cells->cells.at[i];

        for (size_t m = 0; c->name == name && c->metrics != LPO_NONE && m < metrics; m++)
            lpo_region_metric_merge(a->trace->metrics.at[m].combine, &sums[m],
                                    &cells->metric_sums.at[c->metrics * metrics + m]);
    }
    return lpo_limits_counters_of(a->trace, sums);
}

/* Each kernel by the FLOPs and bytes that ncu counted, under the roof of the GPU. */
static void add_roofline(struct lpo_doc *doc, const struct lpo_rundir *d,
                         const struct lpo_source *s)
{
    const lpo_top_rows *rows = lpo_analysis_top(s->analysis, LPO_KERNEL);
    struct lpo_metric_sum *sums =
        lpo_arena_array(doc->arena, s->trace->metrics.len + 1, sizeof *sums);
    const struct lpo_hardware *hw = NULL;
    struct lpo_err ignored = { 0 };
    struct lpo_figure *f = NULL;
    double peak, ridge;

    for (size_t i = 0; i < rows->len && i < DOTS; i++) {
        struct lpo_counters c = counted(s->analysis, rows->at[i].name, sums);
        double ns = (double)rows->at[i].sum.ns;

        if (!(c.flops.value > 0) || !(c.dram_bytes.value > 0) || !(ns > 0))
            continue;
        f = f ? f
              : lpo_doc_figure(doc, "kernels_roofline", "Roofline of the kernels", LPO_FIG_SCATTER);
        lpo_doc_figure_point(f, "counted by ncu",
                             lpo_region_cells_shown_name(s->analysis->cells, rows->at[i].name),
                             c.flops.value / c.dram_bytes.value, c.flops.value / ns * 1e9);
    }
    if (!f)
        return;
    f->x_title = "FLOP/B";
    f->y_title = "FLOP/s";
    if (lpo_rundir_hardware(d, s, &hw, &ignored) < 0 || !hw || !(hw->bandwidth > 0))
        return;
    peak = lpo_gpu_hardware_peak(hw, LPO_BF16, NULL);
    ridge = peak / hw->bandwidth;
    lpo_doc_figure_point(f, "roof", "memory", ridge / 1000, peak / 1000);
    lpo_doc_figure_point(f, "roof", "ridge", ridge, peak);
    lpo_doc_figure_point(f, "roof", "bf16", ridge * 100, peak);
}

void lpo_report_chapter_kernels(struct lpo_doc *doc, const struct lpo_rundir *d,
                                const struct lpo_source *s)
{
    if (!s->analysis->cells->cells.len)
        return;
    lpo_doc_section(doc, "kernels", "Most expensive kernels", 1);
    lpo_doc_section_page(doc, "kernels.md");
    lpo_report_add_top_kernels(doc, s->analysis, counters_of(d), d->top)->least_rows = KERNELS;
    if (counters_of(d)) {
        add_histogram(doc, counters_of(d));
        add_scatter(doc, counters_of(d));
        add_roofline(doc, d, lpo_rundir_source_with(d, LPO_ROLE_COUNTERS));
    }
    lpo_report_ncu_rules(doc, d, 2, RULES, false);
}

static void add_idle(struct lpo_doc *doc, const struct lpo_rundir *d, const struct lpo_source *s)
{
    const struct lpo_table_options idle = { .fold_over = 1, .most_rows = d->top };
    const struct lpo_analysis *a = s->analysis;

    lpo_doc_section(doc, "idle", "Busy and idle", 1);
    lpo_doc_section_is_detail(doc); /* what the GPU lost is said before, by cause */
    lpo_report_add_devices(doc, a);
    if (a->tree->nodes.len)
        lpo_report_add_region_idle(doc, a, &idle);
}

void lpo_report_chapter_gpu_details(struct lpo_doc *doc, const struct lpo_rundir *d,
                                    const struct lpo_source *s)
{
    const struct lpo_analysis *a = s->analysis;
    const struct lpo_region_scope *all = lpo_analysis_all(a);

    if (!a->cells->cells.len)
        return;
    lpo_doc_section(doc, "classes", "Kernel classes", 1);
    lpo_doc_section_is_detail(doc);
    add_classes(doc, a);
    if (a->timeline->devices.len)
        add_idle(doc, d, s);
    if (all->coverage.copies.launches || all->coverage.sets.launches) {
        lpo_doc_section(doc, "copies", "Copies and memsets", 1);
        lpo_doc_section_is_detail(doc);
        add_copies(doc, a);
    }
}

struct lpo_doc *lpo_report_kernels_doc(const struct lpo_rundir *d, const struct lpo_source *s)
{
    struct lpo_doc *doc = lpo_doc_create("kernels", "Kernels");

    if (counters_of(d)) /* many columns */
        doc->width = WIDTH;
    if (!s || !s->analysis->cells->cells.len) {
        lpo_doc_paragraph(doc, "No GPU operations were recorded in this run.");
        return doc;
    }
    lpo_doc_section(doc, "all", "All kernels", 1);
    lpo_doc_paragraph(doc, "From %s, by GPU time.", s->what);
    lpo_report_add_top_kernels(doc, s->analysis, counters_of(d), lpo_budget()->listed_kernels);
    lpo_doc_section(doc, "classes", "Kernel classes", 1);
    add_classes(doc, s->analysis);
    lpo_report_chapter_fusion(doc, s);
    if (s->analysis->tree->nodes.len) {
        lpo_doc_section(doc, "regions", "Kernels by region", 1);
        add_region_kernels(doc, s->analysis, counters_of(d));
    }
    lpo_report_ncu_rules(doc, d, 1, SIZE_MAX, true);
    return doc;
}
