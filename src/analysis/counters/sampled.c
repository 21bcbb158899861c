/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/counters/sampled.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/counters/layer.h"
#include "region/tree.h"
#include "trace/series.h"
#include "trace/trace.h"
#include "util/checked.h"

/* How well the begin and the end of an operation are known against the samples, when the fit says
 * where they are, and when it does not. What flows in that time may be a neighbour's. */
static const double border_ns = 250, unsure_border_ns = 1000;
/* A figure whose standard error is a larger share of it is not printed. */
static const double most_error = 0.2;
static const double least_r2 = 0.9;

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

static bool next_of_file(void *file, struct lpo_counters_sample *out)
{
    return lpo_counters_next(file, out);
}

static void rewind_file(void *file)
{
    lpo_counters_rewind(file);
}

struct lpo_sample_source lpo_counters_source_of_file(struct lpo_counters_file *file)
{
    return (struct lpo_sample_source){ lpo_counters_about(file), next_of_file, rewind_file, file };
}

/* Everything of the second and third walk. */
struct walk {
    struct lpo_layer *l;
    struct lpo_sample_sweep sweep[LPO_FAMILIES];
    struct lpo_counters_normal *normal[LPO_FAMILIES];
    double *amount; /* per metric, of the sample */
    double *column; /* the same for one family */
    double *rate;   /* per metric and unknown: of a nanosecond, third walk */
    double *weight; /* per found operation */
    size_t weights;
    struct lpo_sampled_border *borders;
};

static size_t family_size(const struct lpo_layer *l, int f)
{
    return l->family_first[f + 1] - l->family_first[f];
}

/* Counters may run ahead of the first operation, or behind the last one. */
static bool in_span(const struct lpo_layer *l, const struct lpo_counters_sample *s)
{
    enum { EDGE_NS = 3000 };

    return s->end_ns > l->ops.first_ns - EDGE_NS && s->start_ns < l->ops.last_ns + EDGE_NS;
}

/* False: a value is unknown, and the sample is taken as lost. */
static bool read_amounts(struct walk *w, const struct lpo_counters_sample *s)
{
    for (size_t m = 0; m < w->l->nmetrics; m++) {
        w->amount[m] = lpo_counters_layer_amount(w->l, s, m);
        if (!isfinite(w->amount[m]))
            return false;
    }
    return true;
}

static void add_to_series(struct walk *w, const struct lpo_counters_sample *s)
{
    struct lpo_sampled_gpu *g = w->l->gpu;
    int64_t middle = s->start_ns + (s->end_ns - s->start_ns) / 2 - g->first_ns;
    size_t bin = middle < 0 ? 0 : (size_t)(middle / g->bin_ns);
    double *at = g->series + (bin < g->bins ? bin : g->bins - 1) * (w->l->nmetrics + 1);

    for (size_t m = 0; m < w->l->nmetrics; m++)
        at[m] += w->amount[m];
    at[w->l->nmetrics] += (double)(s->end_ns - s->start_ns);
}

/* Did no SM work in this sample? False where it is not known. */
static bool no_sm_worked(const struct walk *w)
{
    const struct lpo_sampled_gpu *g = w->l->gpu;
    const struct lpo_sampled_metric *m = lpo_counters_sampled_find(g, LPO_COUNTER_SM_ACTIVE);

    m = m ? m : lpo_counters_sampled_find(g, LPO_COUNTER_SM_CYCLES);
    return m && w->amount[m - g->metrics] == 0;
}

static void add_totals(struct walk *w, int f, bool alone)
{
    const struct lpo_layer *l = w->l;
    bool quiet = alone && no_sm_worked(w);

    for (size_t i = l->family_first[f]; i < l->family_first[f + 1]; i++) {
        size_t m = l->by_family[i];

        w->column[i - l->family_first[f]] = w->amount[m];
        l->gpu->metrics[m].total += w->amount[m];
        if (alone)
            l->gpu->metrics[m].others += w->amount[m];
        if (quiet)
            l->gpu->metrics[m].quiet += w->amount[m];
    }
}

/* The second walk: totals, the series over time, one equation for each sample. */
static void gather_sample(struct walk *w, const struct lpo_counters_sample *s)
{
    struct lpo_layer *l = w->l;
    bool busy = false;

    l->gpu->samples++;
    if (!in_span(l, s)) {
        for (size_t m = 0; m < l->nmetrics; m++)
            l->gpu->metrics[m].outside += w->amount[m];
        return;
    }
    add_to_series(w, s);
    for (int f = 0; f < LPO_FAMILIES; f++) {
        if (!family_size(l, f))
            continue;
        lpo_counters_sweep_to(&w->sweep[f], s->start_ns, s->end_ns);
        add_totals(w, f, !w->sweep[f].found.len);
        busy |= w->sweep[f].found.len > 0;
        if (!w->sweep[f].found.len)
            continue;
        lpo_counters_layer_terms(l, &w->sweep[f], NULL);
        lpo_counters_normal_add(w->normal[f], l->terms.at, l->terms.len, w->column);
    }
    l->gpu->busy += busy;
}

static void gather(struct walk *w)
{
    struct lpo_layer *l = w->l;
    struct lpo_counters_sample s;

    l->source->rewind(l->source->ctx);
    while (l->source->next(l->source->ctx, &s)) {
        if (s.values && read_amounts(w, &s)) {
            gather_sample(w, &s);
        } else if (in_span(l, &s)) {
            l->gpu->lost += s.values ? 1 : s.lost;
            l->gpu->lost_ns = lpo_ns_add(l->gpu->lost_ns, s.end_ns - s.start_ns);
        }
    }
}

/* A launch is expected to do what its class does in that time, give or take as much. */
static void find_priors(const struct lpo_layer *l, const struct lpo_counters_normal *n,
                        size_t column, struct lpo_prior *out)
{
    uint32_t *class = lpo_xcalloc(l->unknowns.len + 1, sizeof *class);
    double *unit = lpo_xcalloc(l->unknowns.len + 1, sizeof *unit), all = 0, ns = 0;
    struct lpo_counters_normal *merged;
    struct lpo_solution rates;

    for (size_t i = 0; i < l->unknowns.len; i++) {
        class[i] = l->unknowns.at[i].class;
        unit[i] = l->unknowns.at[i].unit_ns;
        ns += n->factors[i] * unit[i];
    }
    all = ns > 0 ? n->values[column] / ns : 0;
    merged = lpo_counters_normal_merge(n, class, unit, LPO_LAYER_CLASSES);
    rates = lpo_counters_normal_solve(merged, column, NULL);
    for (size_t i = 0; i < l->unknowns.len; i++) {
        double rate = rates.value[class[i]];

        out[i] = (struct lpo_prior){ rate * unit[i], (rate > 0 ? rate : all) * unit[i] };
    }
    lpo_counters_solution_free(&rates);
    lpo_counters_normal_destroy(merged);
    free(class);
    free(unit);
}

/* The statistical error, and that of borders that are not known exactly: in that time either the
 * operation itself or its neighbours were counted. */
static double whole_error(double error, double value, double unit_ns, double mean_rate, bool sure)
{
    double border = sure ? border_ns : unsure_border_ns;
    double at_border = border * fmax(value / unit_ns, mean_rate);

    return sqrt(error * error + at_border * at_border);
}

static void solve_metric(struct walk *w, int f, size_t i, struct lpo_prior *priors)
{
    struct lpo_layer *l = w->l;
    size_t m = l->by_family[i], column = i - l->family_first[f], count = l->unknowns.len;
    const struct lpo_counters_normal *n = w->normal[f];
    struct lpo_sampled_metric *metric = &l->gpu->metrics[m];
    struct lpo_solution x;
    double ns = 0, mean_rate;

    find_priors(l, n, column, priors);
    x = lpo_counters_normal_solve(n, column, priors);
    metric->r2 = x.r2;
    metric->fitted = x.fitted;
    metric->shift_ns = l->shift_ns[f];
    metric->shift_sure = l->shift_sure[f];
    for (size_t u = 0; u < count; u++)
        ns += n->factors[u] * l->unknowns.at[u].unit_ns;
    mean_rate = ns > 0 ? n->values[column] / ns : 0;
    for (size_t u = 0; u < count; u++) {
        double unit_ns = l->unknowns.at[u].unit_ns;

        l->gpu->value[m * count + u] = x.value[u];
        l->gpu->error[m * count + u] =
            whole_error(x.error[u], x.value[u], unit_ns, mean_rate, l->shift_sure[f]);
        w->rate[m * count + u] = x.value[u] / unit_ns;
    }
    lpo_counters_solution_free(&x);
}

static void solve(struct walk *w)
{
    struct lpo_layer *l = w->l;
    struct lpo_prior *priors = lpo_xcalloc(l->unknowns.len + 1, sizeof *priors);

    for (int f = 0; f < LPO_FAMILIES; f++)
        for (size_t i = l->family_first[f]; i < l->family_first[f + 1]; i++)
            solve_metric(w, f, i, priors);
    free(priors);
}

/* Divides one metric of a sample among the operations found in it. */
static void divide(struct walk *w, const struct lpo_sample_sweep *sweep, size_t m)
{
    struct lpo_layer *l = w->l;
    const double *rate = w->rate + m * l->unknowns.len;
    double sum = 0, time = 0;

    if (w->amount[m] == 0)
        return;
    for (size_t i = 0; i < sweep->found.len; i++) {
        const struct lpo_overlap *o = &sweep->found.at[i];

        w->weight[i] = (double)o->ns * rate[l->gpu->configs.at[l->config[o->entry]].unknown];
        sum += w->weight[i];
        time += (double)o->ns;
    }
    for (size_t i = 0; i < sweep->found.len; i++) {
        const struct lpo_overlap *o = &sweep->found.at[i];
        /* where the fit expects nothing of any of them, by time */
        double part = sum > 0 ? w->weight[i] / sum : (double)o->ns / time;

        l->amounts[(size_t)l->group[o->entry] * l->nmetrics + m] += part * w->amount[m];
        w->weight[i] = part * w->amount[m];
    }
}

/* The innermost region that holds both; LPO_NONE: none does. */
static uint32_t common(const struct lpo_region_tree *tree, uint32_t a, uint32_t b)
{
    while (a != b && a != LPO_NONE && b != LPO_NONE) {
        if (tree->nodes.at[a].depth >= tree->nodes.at[b].depth)
            a = tree->nodes.at[a].parent;
        else
            b = tree->nodes.at[b].parent;
    }
    return a == b ? a : LPO_NONE;
}

static uint32_t leaf_of(const struct lpo_layer *l, const struct lpo_overlap *o)
{
    return l->tree->places.at[l->place[o->entry]].leaf;
}

/* Start/end regions of an operation that some other operation of the sample is not in. */
static void add_set_border(struct walk *w, const struct lpo_sample_sweep *sweep, size_t at,
                           double bytes)
{
    const struct lpo_layer *l = w->l;
    const struct lpo_region_tree *tree = l->tree;
    uint32_t own = tree->places.at[l->place[sweep->found.at[at].entry]].set;
    const struct lpo_region_set *set = &tree->sets.at[own];
    bool alone = true;

    for (size_t i = 0; i < sweep->found.len && alone; i++)
        alone = tree->places.at[l->place[sweep->found.at[i].entry]].set == own;
    for (uint32_t i = 0; !alone && i < set->count; i++) {
        struct lpo_sampled_border *b = &w->borders[tree->set_nodes.at[set->first + i]];

        b->ns += (double)sweep->found.at[at].ns;
        b->bytes += bytes;
    }
}

/* A region that holds everything of a sample has it for sure. Below the innermost of those, each
 * region shares the sample with others. */
static void add_borders(struct walk *w, const struct lpo_sample_sweep *sweep, const double *bytes)
{
    const struct lpo_layer *l = w->l;
    uint32_t all = leaf_of(l, &sweep->found.at[0]);

    for (size_t i = 1; i < sweep->found.len && all != LPO_NONE; i++)
        all = common(l->tree, all, leaf_of(l, &sweep->found.at[i]));
    for (size_t i = 0; i < sweep->found.len; i++) {
        for (uint32_t n = leaf_of(l, &sweep->found.at[i]); n != all && n != LPO_NONE;
             n = l->tree->nodes.at[n].parent) {
            w->borders[n].ns += (double)sweep->found.at[i].ns;
            w->borders[n].bytes += bytes[i];
        }
        if (l->tree->set_nodes.len)
            add_set_border(w, sweep, i, bytes[i]);
    }
}

static bool is_dram(enum lpo_counters_meaning m)
{
    return m == LPO_COUNTER_DRAM_READ || m == LPO_COUNTER_DRAM_WRITE || m == LPO_COUNTER_DRAM_BYTES;
}

static void reserve_weights(struct walk *w, size_t count)
{
    if (count <= w->weights)
        return;
    w->weights = count * 2;
    w->weight = lpo_xrealloc(w->weight, w->weights, 2 * sizeof *w->weight);
}

static void cover(struct walk *w, const struct lpo_sample_sweep *sweep)
{
    for (size_t i = 0; i < sweep->found.len; i++)
        w->l->groups.at[w->l->group[sweep->found.at[i].entry]].covered_ns +=
            (double)sweep->found.at[i].ns;
}

/* The third walk. */
static void divide_sample(struct walk *w, const struct lpo_counters_sample *s)
{
    struct lpo_layer *l = w->l;
    bool first = true;

    for (int f = 0; f < LPO_FAMILIES; f++) {
        struct lpo_sample_sweep *sweep = &w->sweep[f];
        double *bytes;

        if (!family_size(l, f))
            continue;
        lpo_counters_sweep_to(sweep, s->start_ns, s->end_ns);
        if (!sweep->found.len)
            continue;
        reserve_weights(w, sweep->found.len);
        bytes = w->weight + w->weights; /* the second half */
        memset(bytes, 0, sweep->found.len * sizeof *bytes);
        for (size_t i = l->family_first[f]; i < l->family_first[f + 1]; i++) {
            size_t m = l->by_family[i];

            divide(w, sweep, m);
            for (size_t k = 0;
                 is_dram(l->gpu->metrics[m].meaning) && w->amount[m] != 0 && k < sweep->found.len;
                 k++)
                bytes[k] += w->weight[k];
        }
        if (first) { /* one family is enough for what is about time */
            cover(w, sweep);
            add_borders(w, sweep, bytes);
        }
        first = false;
    }
}

static void divide_all(struct walk *w)
{
    struct lpo_layer *l = w->l;
    struct lpo_counters_sample s;

    for (int f = 0; f < LPO_FAMILIES; f++)
        lpo_counters_sweep_rewind(&w->sweep[f]);
    l->source->rewind(l->source->ctx);
    while (l->source->next(l->source->ctx, &s))
        if (s.values && in_span(l, &s) && read_amounts(w, &s))
            divide_sample(w, &s);
}

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
    for (size_t i = 0; i < before; i++)
        if (strcmp(g->metrics[i].name, name) == 0)
            return true;
    return false;
}

static void make_metrics(struct lpo_layer *l)
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

static void make_series(struct lpo_layer *l)
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

static void run_walks(struct walk *w)
{
    struct lpo_layer *l = w->l;
    struct lpo_sampled_gpu *g = l->gpu;

    for (int f = 0; f < LPO_FAMILIES; f++) {
        w->sweep[f] = lpo_counters_sweep(&l->ops, l->shift_ns[f]);
        if (family_size(l, f))
            w->normal[f] = lpo_counters_normal_create(l->unknowns.len, family_size(l, f));
    }
    gather(w);
    if (!g->busy)
        return;
    solve(w);
    divide_all(w);
    for (int f = 0; f < LPO_FAMILIES; f++)
        g->left_out = w->sweep[f].left_out > g->left_out ? w->sweep[f].left_out : g->left_out;
    make_columns(l);
    put_rows(l);
    put_series(l);
}

static void lay(struct lpo_layer *l, struct lpo_sampled_border *borders)
{
    size_t count = l->nmetrics * l->unknowns.len + 1;
    struct walk w = { .l = l,
                      .amount = lpo_xcalloc(l->nmetrics + 1, sizeof(double)),
                      .column = lpo_xcalloc(l->nmetrics + 1, sizeof(double)),
                      .rate = lpo_xcalloc(count, sizeof(double)),
                      .borders = borders };

    l->gpu->value = lpo_xcalloc(count, sizeof(double));
    l->gpu->error = lpo_xcalloc(count, sizeof(double));
    make_metrics(l);
    lpo_counters_layer_baseline(l);
    for (size_t m = 0; m < l->nmetrics; m++)
        l->gpu->metrics[m].baseline = l->baseline[m];
    lpo_counters_layer_clock(l);
    make_series(l);
    run_walks(&w);
    for (int f = 0; f < LPO_FAMILIES; f++) {
        lpo_counters_sweep_free(&w.sweep[f]);
        lpo_counters_normal_destroy(w.normal[f]);
    }
    free(w.amount);
    free(w.column);
    free(w.rate);
    free(w.weight);
}

static void free_gpu(struct lpo_sampled_gpu *g)
{
    free(g->metrics);
    free(g->value);
    free(g->error);
    free(g->series);
    lpo_vec_free(&g->configs);
}

bool lpo_counters_lay_samples(struct lpo_counters_sampled *s, struct lpo_trace *trace,
                              const struct lpo_region_tree *tree, uint16_t device,
                              const struct lpo_sample_source *source)
{
    struct lpo_sampled_gpu gpu = { .device = device,
                                   .chip = kept(trace, source->about->chip),
                                   .interval_ns = source->about->interval_ns };
    struct lpo_layer l = { .trace = trace, .tree = tree, .source = source, .gpu = &gpu };
    bool any = false;

    if (source->about->nmetrics && lpo_counters_layer_open(&l, device)) {
        lay(&l, s->borders);
        any = gpu.busy > 0;
    }
    lpo_counters_layer_close(&l);
    if (any)
        lpo_vec_push(&s->gpus, gpu);
    else
        free_gpu(&gpu);
    return any;
}

struct lpo_counters_sampled *lpo_counters_sampled_create(const struct lpo_region_tree *tree)
{
    struct lpo_counters_sampled *s = lpo_xcalloc(1, sizeof *s);

    s->nodes = tree->nodes.len;
    s->borders = lpo_xcalloc(s->nodes + 1, sizeof *s->borders);
    return s;
}

void lpo_counters_sampled_destroy(struct lpo_counters_sampled *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->gpus.len; i++)
        free_gpu(&s->gpus.at[i]);
    lpo_vec_free(&s->gpus);
    free(s->borders);
    free(s);
}

bool lpo_counters_config_known(const struct lpo_sampled_gpu *g, size_t metric,
                               const struct lpo_sampled_config *c)
{
    size_t at = metric * g->unknowns + c->unknown;

    return c->single && g->metrics[metric].r2 >= least_r2 && g->value[at] > 0 &&
           g->error[at] <= most_error * g->value[at];
}

const struct lpo_sampled_metric *lpo_counters_sampled_find(const struct lpo_sampled_gpu *g,
                                                           enum lpo_counters_meaning meaning)
{
    for (size_t i = 0; i < g->nmetrics; i++)
        if (g->metrics[i].meaning == meaning)
            return &g->metrics[i];
    return NULL;
}

static double mean_ns(const struct lpo_sampled_config *c)
{
    return (double)c->ns / (double)c->launches;
}

static size_t index_of(const struct lpo_sampled_gpu *g, const struct lpo_sampled_metric *m)
{
    return (size_t)(m - g->metrics) * g->unknowns;
}

bool lpo_counters_config_dram(const struct lpo_sampled_gpu *g, const struct lpo_sampled_config *c,
                              double *bytes, double *error)
{
    double square = 0, r2 = 0;

    *bytes = 0;
    for (size_t m = 0; m < g->nmetrics; m++) {
        size_t at = m * g->unknowns + c->unknown;

        if (!is_dram(g->metrics[m].meaning) ||
            lpo_counters_sampled_find(g, g->metrics[m].meaning) != &g->metrics[m])
            continue;
        if (g->metrics[m].meaning == LPO_COUNTER_DRAM_BYTES &&
            lpo_counters_sampled_find(g, LPO_COUNTER_DRAM_READ))
            continue; /* the same bytes once more */
        *bytes += g->value[at];
        square += g->error[at] * g->error[at];
        r2 = fmax(r2, g->metrics[m].r2);
    }
    *error = sqrt(square);
    return c->single && r2 >= least_r2 && *bytes > 0 && *error <= most_error * *bytes;
}

bool lpo_counters_config_share(const struct lpo_sampled_gpu *g, const struct lpo_sampled_config *c,
                               enum lpo_counters_meaning meaning, double *percent, double *error)
{
    const struct lpo_sampled_metric *m = lpo_counters_sampled_find(g, meaning);
    size_t at = m ? index_of(g, m) + c->unknown : 0;

    if (!m || m->kind != LPO_COUNTER_SHARE)
        return false;
    *percent = g->value[at] / mean_ns(c);
    *error = g->error[at] / mean_ns(c);
    return lpo_counters_config_known(g, (size_t)(m - g->metrics), c);
}

double lpo_counters_others_share(const struct lpo_sampled_gpu *g)
{
    double all = 0, others = 0;

    for (size_t m = 0; m < g->nmetrics; m++)
        if (is_dram(g->metrics[m].meaning)) {
            all += g->metrics[m].total;
            others += g->metrics[m].others;
        }
    return all > 0 ? others / all : 0;
}

double lpo_counters_quiet_share(const struct lpo_sampled_gpu *g)
{
    double all = 0, quiet = 0;

    for (size_t m = 0; m < g->nmetrics; m++)
        if (is_dram(g->metrics[m].meaning)) {
            all += g->metrics[m].total;
            quiet += g->metrics[m].quiet;
        }
    return all > 0 ? quiet / all : 0;
}
