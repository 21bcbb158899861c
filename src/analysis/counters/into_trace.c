/* SPDX-License-Identifier: Apache-2.0 */
/* What was sampled becomes part of the trace: metrics of its operations, and series over time. */

#include "analysis/counters/layer.h"
#include "trace/series.h"
#include "util/checked.h"

/* What we call a metric, by its meaning. The names are those of JSON and of tables. */
static const struct {
    const char *name, *unit;
} names[LPO_COUNTER_MEANINGS] = {
    [LPO_COUNTER_DRAM_READ] = { "dram_bytes_read", "byte" },
    [LPO_COUNTER_DRAM_WRITE] = { "dram_bytes_written", "byte" },
    [LPO_COUNTER_DRAM_BYTES] = { "dram_bytes", "byte" },
    [LPO_COUNTER_L2_BYTES] = { "l2_bytes", "byte" },
    [LPO_COUNTER_PCIE_READ] = { "pcie_bytes_read", "byte" },
    [LPO_COUNTER_PCIE_WRITE] = { "pcie_bytes_written", "byte" },
    [LPO_COUNTER_NVLINK_RX] = { "nvlink_bytes_received", "byte" },
    [LPO_COUNTER_NVLINK_TX] = { "nvlink_bytes_sent", "byte" },
    [LPO_COUNTER_TENSOR_ACTIVE] = { "tensor_active", "%" },
    [LPO_COUNTER_SM_ACTIVE] = { "sm_active", "%" },
    [LPO_COUNTER_GPU_ACTIVE] = { "gpu_active", "%" },
    [LPO_COUNTER_SM_CYCLES] = { "sm_cycles_active", "cycle" },
    [LPO_COUNTER_WARPS_ACTIVE] = { "warps_active", "%" },
    [LPO_COUNTER_INSTRUCTIONS] = { "instructions", "inst" },
    [LPO_COUNTER_SM_CLOCK] = { "sm_cycles", "cycle" },
};
enum { MOST_ROW_BYTES = 512 << 20 };

/* The row of a group: what it had before, and the mean of its operations. Time that no sample
 * covers counts as the rest of the group does. */
static uint32_t make_row(struct lpo_layer *l, const struct lpo_sampled_group *g, size_t group)
{
    uint32_t row = lpo_trace_metric_row(l->trace);

    for (size_t c = 0; g->old_row != LPO_NONE && c < l->trace->metrics.len; c++)
        lpo_trace_metric_set(l->trace, row, (uint32_t)c,
                             lpo_trace_metric_get(l->trace, g->old_row, (uint32_t)c));
    for (size_t m = 0; m < l->nmetrics; m++) {
        const struct lpo_sampled_metric *metric = &l->gpu->metrics[m];
        double rate = l->amounts[group * l->nmetrics + m] / g->covered_ns;

        lpo_trace_metric_set(
            l->trace, row, metric->column,
            metric->kind == LPO_COUNTER_SHARE ? rate : rate * (double)g->ns / (double)g->count);
    }
    return row;
}

static void put_rows(struct lpo_layer *l)
{
    /* a row is as wide as ncu and samples have metrics together */
    size_t most = MOST_ROW_BYTES / (l->trace->metrics.len * sizeof(double));

    for (size_t i = 0; i < l->groups.len; i++) {
        struct lpo_sampled_group *g = &l->groups.at[i];

        if (g->covered_ns > 0 && i < most)
            g->row = make_row(l, g, i);
        else if (g->covered_ns > 0)
            l->gpu->left_out += g->count;
        l->gpu->covered_ns = lpo_ns_add(
            l->gpu->covered_ns, g->covered_ns < (double)g->ns ? (int64_t)g->covered_ns : g->ns);
    }
    for (size_t i = 0; i < l->ops.count; i++) {
        struct lpo_gpu_op *w = &l->trace->gpu_ops.at[l->rows[i]];
        const struct lpo_sampled_group *g = &l->groups.at[l->group[i]];

        if (g->row == LPO_NONE)
            continue;
        if (g->old_row == LPO_NONE)
            w->flags |= LPO_GPU_OP_SAMPLED;
        w->metrics = g->row;
    }
}

static const char *kept(struct lpo_trace *t, const char *text)
{
    return lpo_trace_text(t, lpo_trace_name(t, text ? text : ""));
}

/* Two metrics of one meaning (a file of a later version) keep their own names. */
static bool taken(const struct lpo_sampled_gpu *g, size_t before, const char *name)
{
    return lpo_any(i, before, strcmp(g->metrics[i].name, name) == 0);
}

void lpo_counters_layer_metrics(struct lpo_layer *l)
{
    struct lpo_sampled_gpu *g = l->gpu;

    g->nmetrics = l->source->about->nmetrics;
    g->metrics = lpo_xcalloc(g->nmetrics + 1, sizeof *g->metrics);
    for (size_t i = 0; i < g->nmetrics; i++) {
        const struct lpo_counters_metric *from = &l->source->about->metrics[i];
        struct lpo_sampled_metric *m = &g->metrics[i];
        bool own = from->meaning == LPO_COUNTER_OTHER || !names[from->meaning].name ||
                   taken(g, i, names[from->meaning].name);

        m->counter = kept(l->trace, from->name);
        m->name = own ? m->counter : names[from->meaning].name;
        m->unit = own ? kept(l->trace, from->unit) : names[from->meaning].unit;
        m->meaning = from->meaning;
        m->kind = from->kind;
    }
}

/* Only once there is something to put there. A metric of ncu may have the same name as one of
 * CUPTI that we have no name for: that one then is not put. */
static void make_columns(struct lpo_layer *l)
{
    for (size_t i = 0; i < l->gpu->nmetrics; i++) {
        struct lpo_sampled_metric *m = &l->gpu->metrics[i];
        struct lpo_metric *column;

        m->column = lpo_trace_metric(l->trace, m->name, strlen(m->name), m->unit);
        column = &l->trace->metrics.at[m->column];
        column->combine = m->kind == LPO_COUNTER_SHARE ? LPO_TIME_WEIGHTED : LPO_SUM;
        column->sampled = true;
        column->meaning = (uint8_t)(m->name == m->counter ? LPO_COUNTER_OTHER : m->meaning);
    }
}

void lpo_counters_layer_series(struct lpo_layer *l)
{
    struct lpo_sampled_gpu *g = l->gpu;
    int64_t span = l->ops.last_ns - l->ops.first_ns;
    int64_t least = g->interval_ns > 0 ? g->interval_ns : 1000;

    g->first_ns = l->ops.first_ns;
    g->bin_ns = span / LPO_SAMPLED_BINS + 1;
    g->bin_ns = g->bin_ns < least ? least : g->bin_ns;
    g->bins = (size_t)(span / g->bin_ns) + 1;
    g->series = lpo_xcalloc(g->bins * (l->nmetrics + 1), sizeof *g->series);
}

/* A bin shorter than the longest interval would often have no sample. */
void lpo_counters_layer_widen_series(struct lpo_layer *l)
{
    struct lpo_sampled_gpu *g = l->gpu;
    size_t width = l->nmetrics + 1, bins = 0;
    int64_t longest = 0, together;

    for (size_t i = 0; i < g->intervals.len; i++)
        if (g->intervals.at[i].interval_ns > longest)
            longest = g->intervals.at[i].interval_ns;
    if (longest <= g->bin_ns)
        return;
    together = (longest - 1) / g->bin_ns + 1;
    for (size_t i = 0; i < g->bins; i++) {
        bins = i / (size_t)together;
        for (size_t m = 0; m < width; m++) {
            double value = g->series[i * width + m];

            g->series[bins * width + m] =
                i % (size_t)together ? g->series[bins * width + m] + value : value;
        }
    }
    g->bins = bins + 1;
    g->bin_ns *= together;
}

/* What charts show: rates, and shares as they are. */
static const struct {
    const char *title, *unit;
} charts[LPO_COUNTER_MEANINGS] = {
    [LPO_COUNTER_DRAM_READ] = { "DRAM read", "B/s" },
    [LPO_COUNTER_DRAM_WRITE] = { "DRAM written", "B/s" },
    [LPO_COUNTER_DRAM_BYTES] = { "DRAM traffic", "B/s" },
    [LPO_COUNTER_L2_BYTES] = { "L2 traffic", "B/s" },
    [LPO_COUNTER_PCIE_READ] = { "PCIe into the GPU", "B/s" },
    [LPO_COUNTER_PCIE_WRITE] = { "PCIe out of the GPU", "B/s" },
    [LPO_COUNTER_NVLINK_RX] = { "NVLink into the GPU", "B/s" },
    [LPO_COUNTER_NVLINK_TX] = { "NVLink out of the GPU", "B/s" },
    [LPO_COUNTER_TENSOR_ACTIVE] = { "Tensor cores active", "%" },
    [LPO_COUNTER_SM_ACTIVE] = { "SMs active", "%" },
    [LPO_COUNTER_GPU_ACTIVE] = { "GPU active", "%" },
    [LPO_COUNTER_WARPS_ACTIVE] = { "Warp slots in use", "%" },
};

static void put_series(struct lpo_layer *l)
{
    const struct lpo_sampled_gpu *g = l->gpu;

    for (size_t m = 0; m < g->nmetrics; m++) {
        enum lpo_counters_meaning meaning = g->metrics[m].meaning;
        bool share = g->metrics[m].kind == LPO_COUNTER_SHARE;
        uint32_t series;

        if (!charts[meaning].title || g->metrics[m].name == g->metrics[m].counter)
            continue;
        series = lpo_trace_series(l->trace, LPO_SERIES_COUNTER, charts[meaning].title,
                                  charts[meaning].unit, g->device);
        for (size_t i = 0; series != LPO_NONE && i < g->bins; i++) {
            const double *bin = g->series + i * (g->nmetrics + 1);
            double mean = bin[g->nmetrics] > 0 ? bin[m] / bin[g->nmetrics] : (double)NAN;

            lpo_trace_series_add(&l->trace->series.at[series],
                                 g->first_ns + (int64_t)i * g->bin_ns - l->ops.clock_ns,
                                 share ? mean : mean * 1e9);
        }
    }
}

void lpo_counters_layer_put(struct lpo_layer *l)
{
    make_columns(l);
    put_rows(l);
    put_series(l);
}
