/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of sampled counters: what each region moved and used, and each kernel by one launch. */
#include <string.h>

#include "analysis/analysis.h"
#include "analysis/counters/region_sums.h"
#include "analysis/counters/sampled.h"
#include "analysis/limits/counters.h"
#include "region/fold.h"
#include "region/scope.h"
#include "report/doc/doc.h"
#include "report/tables/tables.h"
#include "report/trace_records.h"
#include "trace/trace.h"
#include "util/arena.h"
#include "util/str.h"
#include "util/xmalloc.h"

/* A column for each meaning that was sampled, and some that follow from them. */
enum derived { NOT_DERIVED, GPU_NS, DRAM_PER_CALL, DRAM_RATE, DRAM_OWN, BORDER };

static const struct choice {
    struct lpo_column column;
    enum lpo_counters_meaning meaning; /* must have been sampled */
    enum derived derived;
} choices[] = {
    { { "gpu_ns", "GPU time", LPO_CELL_NS, NULL }, LPO_COUNTER_OTHER, GPU_NS },
    { { "dram_bytes_read", "DRAM read", LPO_CELL_BYTES, NULL }, LPO_COUNTER_DRAM_READ, 0 },
    { { "dram_bytes_written", "DRAM written", LPO_CELL_BYTES, NULL }, LPO_COUNTER_DRAM_WRITE, 0 },
    { { "dram_bytes", "DRAM traffic", LPO_CELL_BYTES, NULL }, LPO_COUNTER_DRAM_BYTES, 0 },
    { { "dram_bytes_per_call", "Per call", LPO_CELL_BYTES, NULL, 1 },
      LPO_COUNTER_OTHER,
      DRAM_PER_CALL },
    { { "dram_rate", "DRAM rate", LPO_CELL_MEASURE, "B/s" }, LPO_COUNTER_OTHER, DRAM_RATE },
    { { "tensor_active", "Tensor cores", LPO_CELL_PERCENT, NULL }, LPO_COUNTER_TENSOR_ACTIVE, 0 },
    { { "sm_active", "SMs", LPO_CELL_PERCENT, NULL }, LPO_COUNTER_SM_ACTIVE, 0 },
    { { "warps_active", "Warps", LPO_CELL_PERCENT, NULL }, LPO_COUNTER_WARPS_ACTIVE, 0 },
    { { "l2_bytes", "L2 traffic", LPO_CELL_BYTES, NULL, 1 }, LPO_COUNTER_L2_BYTES, 0 },
    { { "pcie_bytes_read", "PCIe in", LPO_CELL_BYTES, NULL, 3 }, LPO_COUNTER_PCIE_READ, 0 },
    { { "pcie_bytes_written", "PCIe out", LPO_CELL_BYTES, NULL, 3 }, LPO_COUNTER_PCIE_WRITE, 0 },
    { { "nvlink_bytes_received", "NVLink in", LPO_CELL_BYTES, NULL, 2 }, LPO_COUNTER_NVLINK_RX, 0 },
    { { "nvlink_bytes_sent", "NVLink out", LPO_CELL_BYTES, NULL, 2 }, LPO_COUNTER_NVLINK_TX, 0 },
    { { "dram_bytes_own", "Own DRAM", LPO_CELL_BYTES, NULL, 2 }, LPO_COUNTER_OTHER, DRAM_OWN },
    { { "border_share", "At borders", LPO_CELL_PERCENT, NULL }, LPO_COUNTER_OTHER, BORDER },
};

enum { CHOICES = sizeof choices / sizeof *choices };

/* One line: a region, or a family of them. */
struct line {
    struct lpo_sampled_sums all, self;
    double border_ns;
};

struct region_table {
    const struct lpo_analysis *a;
    const struct lpo_region_scope *s;
    struct lpo_table *t;
    const struct choice *chosen[CHOICES];
    size_t count;
};

static bool was_sampled(const struct lpo_trace *t, enum lpo_counters_meaning meaning)
{
    for (size_t i = 0; i < t->metrics.len; i++)
        if (t->metrics.at[i].sampled && t->metrics.at[i].meaning == meaning)
            return true;
    return false;
}

static struct lpo_sampled_sums sums_of(const struct lpo_region_scope *s, uint32_t row)
{
    const struct lpo_trace *t = s->cells->tree->trace;

    return lpo_counters_sums_of(
        t, row == LPO_NONE ? NULL : &s->metric_sums.at[(size_t)row * t->metrics.len]);
}

static void add_cell(struct region_table *x, const struct choice *c, const struct line *line,
                     const struct lpo_region_row *row)
{
    struct lpo_measure dram = lpo_counters_sums_dram(&line->all);
    double ns = (double)(row->all.ns + row->copies.ns);

    switch (c->derived) {
    case NOT_DERIVED:
        lpo_doc_row_measure(x->t, lpo_counters_sums_get(&line->all, c->meaning));
        break;
    case GPU_NS: /* copies too: they move bytes */
        lpo_doc_row_ns(x->t, row->all.ns + row->copies.ns);
        break;
    case DRAM_PER_CALL:
        if (row->visits_known && row->visits && lpo_measure_known(dram))
            lpo_doc_row_bytes(x->t, dram.value / (double)row->visits);
        else
            lpo_doc_row_unknown(x->t);
        break;
    case DRAM_RATE:
        lpo_doc_row_measure(x->t, lpo_counters_sums_dram_rate(&line->all));
        break;
    case DRAM_OWN:
        lpo_doc_row_measure(x->t, lpo_counters_sums_dram(&line->self));
        break;
    case BORDER: /* by region alone: a scope of one process shares its samples, too */
        if (row->node == LPO_NODE_OUTSIDE || x->s->id.kind != LPO_SCOPE_ALL)
            lpo_doc_row_unknown(x->t);
        else
            lpo_doc_row_share(x->t, line->border_ns, ns);
        break;
    }
}

static struct lpo_table *make_table(struct lpo_doc *doc, struct region_table *x)
{
    struct lpo_column *columns = lpo_arena_array(doc->arena, CHOICES + 1, sizeof *columns);

    columns[0] = (struct lpo_column){ "region", "Region", LPO_CELL_TEXT, NULL, 0, 0 };
    for (size_t i = 0; i < CHOICES; i++) {
        if (choices[i].meaning != LPO_COUNTER_OTHER &&
            !was_sampled(x->a->trace, choices[i].meaning))
            continue;
        x->chosen[x->count++] = &choices[i];
        columns[x->count] = choices[i].column;
    }
    x->t =
        lpo_doc_table(doc, "region_counters", "Sampled counters by region", columns, x->count + 1);
    return x->t;
}

static struct line *make_lines(const struct region_table *x, const struct lpo_region_fold *fold)
{
    struct line *lines = lpo_xcalloc(fold->rows.len + 1, sizeof *lines);

    for (size_t i = 0; i < x->s->rows.len; i++) {
        const struct lpo_region_row *row = &x->s->rows.at[i];
        struct line *line = &lines[fold->line_of[i]];
        struct lpo_sampled_sums all = sums_of(x->s, row->metrics);
        struct lpo_sampled_sums self = sums_of(x->s, row->metrics_self);

        lpo_counters_sums_add(&line->all, &all);
        lpo_counters_sums_add(&line->self, &self);
        if (row->node != LPO_NODE_OUTSIDE)
            line->border_ns += x->a->sampled->borders[row->node].ns;
    }
    return lines;
}

struct lpo_table *lpo_report_add_region_counters(struct lpo_doc *doc, const struct lpo_analysis *a,
                                                 const struct lpo_region_scope *s,
                                                 const struct lpo_table_options *options)
{
    LPO_AUTO(lpo_region_fold) fold = NULL;
    struct region_table x = { .a = a, .s = s };
    struct line *lines;
    size_t all = 0, n = 0;

    if (!a->sampled)
        return NULL;
    fold = lpo_region_fold_create(s, options->fold_over);
    make_table(doc, &x);
    lines = make_lines(&x, fold);
    for (size_t i = 0; i < fold->rows.len; i++) {
        const struct lpo_fold_row *r = &fold->rows.at[i];

        if (!r->sum.all.launches && !r->sum.copies.launches)
            continue;
        all++;
        if (options->most_rows && n >= options->most_rows)
            continue;
        n++;
        lpo_doc_row_path(x.t, r->name, r->path, r->depth);
        for (size_t c = 0; c < x.count; c++)
            add_cell(&x, x.chosen[c], &lines[i], &r->sum);
    }
    if (n < all)
        x.t->total_rows = all;
    free(lines);
    return x.t;
}

static const struct lpo_column captured_columns[] = {
    { "region", "Captured in", LPO_CELL_TEXT, NULL },
    { "gpu_ns", "GPU time", LPO_CELL_NS, NULL },
    { "dram_bytes_all", "DRAM traffic", LPO_CELL_BYTES, NULL },
    { "dram_rate", "DRAM rate", LPO_CELL_MEASURE, "B/s" },
    { "tensor_active", "Tensor cores", LPO_CELL_PERCENT, NULL },
    { "sm_active", "SMs", LPO_CELL_PERCENT, NULL, 1 },
};

static void add_captured_row(struct lpo_table *t, const struct lpo_fold_row *r,
                             const struct lpo_sampled_sums *sums)
{
    lpo_doc_row_path(t, r->name, r->path, r->depth);
    lpo_doc_row_ns(t, r->sum.captured.ns);
    lpo_doc_row_measure(t, lpo_counters_sums_dram(sums));
    lpo_doc_row_measure(t, lpo_counters_sums_dram_rate(sums));
    lpo_doc_row_measure(t, lpo_counters_sums_get(sums, LPO_COUNTER_TENSOR_ACTIVE));
    lpo_doc_row_measure(t, lpo_counters_sums_get(sums, LPO_COUNTER_SM_ACTIVE));
}

struct lpo_table *lpo_report_add_captured_counters(struct lpo_doc *doc,
                                                   const struct lpo_region_scope *s,
                                                   const struct lpo_table_options *options)
{
    LPO_AUTO(lpo_region_fold) fold = lpo_region_fold_create(s, options->fold_over);
    struct lpo_sampled_sums *lines = lpo_xcalloc(fold->rows.len + 1, sizeof *lines);
    struct lpo_table *t = NULL;
    size_t all = 0;

    for (size_t i = 0; i < s->rows.len; i++) {
        struct lpo_sampled_sums one = sums_of(s, s->rows.at[i].metrics_captured);

        lpo_counters_sums_add(&lines[fold->line_of[i]], &one);
    }
    for (size_t i = 0; i < fold->rows.len; i++) {
        if (!lpo_measure_known(lpo_counters_sums_dram(&lines[i])))
            continue;
        if (!t)
            t = lpo_doc_table(doc, "captured_counters",
                              "Sampled counters of CUDA graphs, by where they were captured",
                              captured_columns, sizeof captured_columns / sizeof *captured_columns);
        if (all++ < options->most_rows || !options->most_rows)
            add_captured_row(t, &fold->rows.at[i], &lines[i]);
    }
    if (t && lpo_doc_table_rows(t) < all)
        t->total_rows = all;
    free(lines);
    return t;
}

static const struct lpo_column kernel_columns[] = {
    { "kernel", "Kernel", LPO_CELL_TEXT, NULL },
    { "grid", "Grid", LPO_CELL_TEXT, NULL, 1, 10 },
    { "launches", "Launches", LPO_CELL_COUNT, NULL },
    { "mean_ns", "Mean time", LPO_CELL_NS, NULL },
    { "dram_bytes", "DRAM per launch", LPO_CELL_BYTES, NULL },
    { "dram_bytes_error", "±", LPO_CELL_BYTES, NULL },
    { "dram_rate", "DRAM rate", LPO_CELL_MEASURE, "B/s" },
    { "tensor_active", "Tensor cores", LPO_CELL_PERCENT, NULL, 1 },
    { "sm_active", "SMs", LPO_CELL_PERCENT, NULL, 2 },
    { "ncu_dram_bytes", "By ncu", LPO_CELL_BYTES, NULL },
};

struct lpo_measure lpo_report_ncu_dram(const struct lpo_trace *t,
                                       const struct lpo_sampled_config *c)
{
    uint32_t column = lpo_trace_metric_find(t, "dram__bytes.sum");
    uint32_t row = t->gpu_ops.at[c->op].metrics;
    double v, scale = 1;

    if (column == LPO_NONE || row == LPO_NONE || t->metrics.at[column].sampled)
        return lpo_measure_unknown();
    v = lpo_trace_metric_get(t, row, column);
    if (t->metrics.at[column].unit != LPO_NONE)
        scale = lpo_limits_unit_scale(lpo_trace_text(t, t->metrics.at[column].unit));
    return v >= 0 ? lpo_measure_estimated(v * scale) : lpo_measure_unknown();
}

static void row_share(struct lpo_table *t, const struct lpo_sampled_gpu *g,
                      const struct lpo_sampled_config *c, enum lpo_counters_meaning meaning)
{
    double percent, error;

    if (lpo_counters_config_share(g, c, meaning, &percent, &error))
        lpo_doc_row_measure(t, lpo_measure_estimated(percent));
    else
        lpo_doc_row_unknown(t);
}

static void add_kernel(struct lpo_table *t, const struct lpo_analysis *a,
                       const struct lpo_sampled_gpu *g, const struct lpo_sampled_config *c)
{
    const struct lpo_shape *shape = c->shape == LPO_NONE ? NULL : &a->trace->shapes.at[c->shape];
    double mean = (double)c->ns / (double)c->launches, bytes, error;
    bool known = lpo_counters_config_dram(g, c, &bytes, &error);

    if (c->kind == LPO_KERNEL)
        lpo_report_row_kernel(t, a->cells, c->name);
    else
        lpo_doc_row_text(t, lpo_trace_text(a->trace, c->name));
    if (shape)
        lpo_doc_row_textf(t, "%u,%u,%u", shape->grid[0], shape->grid[1], shape->grid[2]);
    else
        lpo_doc_row_unknown(t);
    lpo_doc_row_count(t, c->launches);
    lpo_doc_row_ns(t, (int64_t)mean);
    lpo_doc_row_measure(t, known ? lpo_measure_estimated(bytes) : lpo_measure_unknown());
    lpo_doc_row_measure(t, known ? lpo_measure_computed(error) : lpo_measure_unknown());
    lpo_doc_row_measure(t,
                        known ? lpo_measure_estimated(bytes / mean * 1e9) : lpo_measure_unknown());
    row_share(t, g, c, LPO_COUNTER_TENSOR_ACTIVE);
    row_share(t, g, c, LPO_COUNTER_SM_ACTIVE);
    if (t->ncolumns == sizeof kernel_columns / sizeof *kernel_columns)
        lpo_doc_row_measure(t, lpo_report_ncu_dram(a->trace, c));
}

struct lpo_table *lpo_report_add_kernel_counters(struct lpo_doc *doc, const struct lpo_analysis *a,
                                                 const struct lpo_sampled_gpu *g, size_t most)
{
    size_t columns = sizeof kernel_columns / sizeof *kernel_columns;
    uint32_t ncu = lpo_trace_metric_find(a->trace, "dram__bytes.sum");
    struct lpo_table *t;

    if (ncu == LPO_NONE || a->trace->metrics.at[ncu].sampled)
        columns--; /* ncu did not run */
    t = lpo_doc_table(doc, "kernel_counters", "Sampled counters by kernel, of one launch",
                      kernel_columns, columns);
    for (size_t i = 0; i < g->configs.len && i < most; i++)
        add_kernel(t, a, g, &g->configs.at[i]);
    if (g->configs.len > most)
        t->total_rows = g->configs.len;
    return t;
}
