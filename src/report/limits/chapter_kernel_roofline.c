/* SPDX-License-Identifier: Apache-2.0 */
/* The measured roofline, kernel by kernel: what ncu counted, under the ceilings of the device. */

#include "analysis/analysis.h"
#include "analysis/limits/counters.h"
#include "analysis/limits/limits.h"
#include "report/doc/doc.h"
#include "report/limits/chapter_limits.h"
#include "report/tables/tables.h"

struct kernel {
    uint32_t name;
    uint64_t launches;
    int64_t ns;
    uint64_t shares;             /* launches whose time is a share of a CUDA graph's */
    struct lpo_metric_sum *sums; /* one for each metric */
    struct lpo_counters counters;
};

typedef LPO_VEC(struct kernel) kernel_vec;

static void add_cell(struct lpo_arena *arena, const struct lpo_region_cells *cells,
                     const struct lpo_region_cell *c, uint32_t *index, kernel_vec *out)
{
    const struct lpo_trace *t = cells->tree->trace;
    const struct lpo_metric_sum *from = &cells->metric_sums.at[(size_t)c->metrics * t->metrics.len];
    struct kernel *k;

    if (index[c->name] == 0) {
        lpo_vec_push(
            out, (struct kernel){ .name = c->name,
                                  .sums = lpo_arena_array(arena, t->metrics.len, sizeof *from) });
        index[c->name] = (uint32_t)out->len;
    }
    k = &out->at[index[c->name] - 1];
    k->launches += c->sum.launches;
    k->ns += c->sum.ns;
    k->shares += c->sum.shares;
    for (size_t m = 0; m < t->metrics.len; m++)
        lpo_region_metric_merge(t->metrics.at[m].combine, &k->sums[m], &from[m]);
}

LPO_COMPARE(most_expensive_first, struct kernel, LPO_DOWN(ns) ?: LPO_UP(name));

static void collect(struct lpo_arena *arena, const struct lpo_region_cells *cells, kernel_vec *out)
{
    const struct lpo_trace *t = cells->tree->trace;
    size_t names = lpo_trace_name_count(t);
    uint32_t *index = lpo_arena_array(arena, names + 1, sizeof *index);

    for (size_t i = 0; t->metrics.len && i < cells->cells.len; i++)
        if (cells->cells.at[i].kind == LPO_KERNEL && cells->cells.at[i].metrics != LPO_NONE &&
            (cells->cells.at[i].measured || cells->cells.at[i].estimated) &&
            cells->cells.at[i].name < names)
            add_cell(arena, cells, &cells->cells.at[i], index, out);
    for (size_t i = 0; i < out->len; i++)
        out->at[i].counters = lpo_limits_counters_of(t, out->at[i].sums);
    lpo_vec_sort(out, most_expensive_first);
}

static const struct lpo_column columns[] = {
    { "kernel", "Kernel", LPO_CELL_TEXT, NULL },
    { "launches", "Launches", LPO_CELL_COUNT, NULL },
    { "gpu_ns", "GPU time", LPO_CELL_NS, NULL },
    { "flops", "FLOPs", LPO_CELL_MEASURE, "FLOP" },
    { "dram_bytes", "DRAM traffic", LPO_CELL_BYTES, NULL },
    { "intensity", "FLOP/B", LPO_CELL_MEASURE, "" },
    { "flop_rate", "Rate", LPO_CELL_MEASURE, "FLOP/s" },
    { "share", "Of its roof", LPO_CELL_PERCENT, NULL },
    { "sm", "SMs", LPO_CELL_PERCENT, NULL },
    { "dram", "DRAM use", LPO_CELL_PERCENT, NULL },
};

/* The roof over a kernel: the lower of the compute peak and what its bytes allow. */
static struct lpo_cell share_of_roof(const struct lpo_limits *l, const struct kernel *k)
{
    double flops = k->counters.flops.value, bytes = k->counters.dram_bytes.value, least;

    if (!lpo_measure_known(k->counters.flops) || !lpo_measure_known(k->counters.dram_bytes) ||
        k->ns <= 0 || l->peak <= 0 || l->bandwidth <= 0)
        return lpo_cell_unknown();
    least = fmax(flops / l->peak, bytes / l->bandwidth);
    return lpo_cell_percent(lpo_measure_estimated(100 * least * 1e9 / (double)k->ns));
}

static void add_row(struct lpo_table *t, const struct lpo_limits *l,
                    const struct lpo_region_cells *cells, const struct kernel *k)
{
    const struct lpo_counters *c = &k->counters;
    bool both =
        lpo_measure_known(c->flops) && lpo_measure_known(c->dram_bytes) && c->dram_bytes.value > 0;

    lpo_report_row_kernel(t, cells, k->name);
    lpo_doc_row(
        t, k->launches,
        k->shares ? lpo_measure_estimated((double)k->ns) : lpo_measure_measured((double)k->ns),
        c->flops, c->dram_bytes,
        both ? lpo_measure_estimated(c->flops.value / c->dram_bytes.value) : lpo_measure_unknown(),
        lpo_measure_known(c->flops) && k->ns > 0
            ? lpo_measure_estimated(c->flops.value / ((double)k->ns / 1e9))
            : lpo_measure_unknown(),
        share_of_roof(l, k), lpo_cell_percent(c->sm_percent), lpo_cell_percent(c->dram_percent));
}

void lpo_report_chapter_kernel_roofline(struct lpo_doc *doc, const struct lpo_limits *l,
                                        const struct lpo_analysis *analysis, size_t most)
{
    LPO_AUTO(lpo_arena) arena = lpo_arena_create();
    LPO_FREED kernel_vec kernels = { 0 };
    struct lpo_table *t;

    collect(arena, analysis->cells, &kernels);
    if (kernels.len) {
        lpo_doc_section(doc, "kernel_roofline", "Kernels under the roofline, as counted by ncu", 2);
        lpo_doc_paragraph(doc, "Tensor operations are counted as dense ones; the share is relative "
                               "to the lower of the two roofs at the kernel's own FLOP/B.");
        t = lpo_doc_table(doc, "kernel_roofline", "", columns, sizeof columns / sizeof *columns);
        for (size_t i = 0; i < kernels.len && i < most; i++)
            add_row(t, l, analysis->cells, &kernels.at[i]);
        if (kernels.len > most)
            t->total_rows = kernels.len;
    }
}
