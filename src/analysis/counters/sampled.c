/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/counters/sampled.h"

#include "analysis/counters/call_sums.h"
#include "analysis/counters/layer.h"
#include "region/tree.h"
#include "util/checked.h"

/* How well the begin and the end of an operation are known against the samples, when the fit says
 * where they are, and when it does not. What flows in that time may be a neighbour's. */
static const double border_ns = 250, unsure_border_ns = 1000;
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
    struct lpo_call_sums *calls;
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

static void count_interval(struct lpo_sampled_gpu *g, const struct lpo_counters_sample *s)
{
    struct lpo_sampled_interval *last =
        g->intervals.len ? &g->intervals.at[g->intervals.len - 1] : NULL;

    if (s->interval_ns <= 0)
        return;
    if ((!last || last->interval_ns != s->interval_ns) &&
        g->intervals.len < LPO_SAMPLED_INTERVALS) {
        lpo_vec_push(&g->intervals, (struct lpo_sampled_interval){ s->start_ns, s->interval_ns });
        last = &g->intervals.at[g->intervals.len - 1];
    }
    last->samples++;
}

static void gather(struct walk *w)
{
    struct lpo_layer *l = w->l;
    struct lpo_counters_sample s;

    l->source->rewind(l->source->ctx);
    while (l->source->next(l->source->ctx, &s)) {
        if (s.values && read_amounts(w, &s)) {
            count_interval(l->gpu, &s);
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
    LPO_FREED uint32_t *class = lpo_xcalloc(l->unknowns.len + 1, sizeof *class);
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
    LPO_FREED struct lpo_prior *priors = lpo_xcalloc(l->unknowns.len + 1, sizeof *priors);

    for (int f = 0; f < LPO_FAMILIES; f++)
        for (size_t i = l->family_first[f]; i < l->family_first[f + 1]; i++)
            solve_metric(w, f, i, priors);
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
            if (w->amount[m] != 0)
                lpo_counters_call_sums_give(w->calls, sweep, m, w->weight);
            for (size_t k = 0; lpo_counters_is_dram(l->gpu->metrics[m].meaning) &&
                               w->amount[m] != 0 && k < sweep->found.len;
                 k++)
                bytes[k] += w->weight[k];
        }
        lpo_counters_call_sums_cover(w->calls, sweep, f, first);
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
    lpo_counters_layer_widen_series(l);
    if (!g->busy)
        return;
    solve(w);
    w->calls = lpo_counters_call_sums_create(l);
    divide_all(w);
    lpo_counters_call_sums_put(w->calls);
    for (int f = 0; f < LPO_FAMILIES; f++)
        g->left_out = w->sweep[f].left_out > g->left_out ? w->sweep[f].left_out : g->left_out;
    lpo_counters_layer_put(l);
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
    lpo_counters_layer_metrics(l);
    lpo_counters_layer_baseline(l);
    for (size_t m = 0; m < l->nmetrics; m++)
        l->gpu->metrics[m].baseline = l->baseline[m];
    lpo_counters_layer_clock(l);
    lpo_counters_layer_series(l);
    run_walks(&w);
    for (int f = 0; f < LPO_FAMILIES; f++) {
        lpo_counters_sweep_free(&w.sweep[f]);
        lpo_counters_normal_destroy(w.normal[f]);
    }
    free(w.amount);
    free(w.column);
    free(w.rate);
    free(w.weight);
    lpo_counters_call_sums_destroy(w.calls);
}

static void free_gpu(struct lpo_sampled_gpu *g)
{
    free(g->metrics);
    free(g->value);
    free(g->error);
    free(g->series);
    free(g->node_calls);
    lpo_vec_free(&g->calls);
    lpo_vec_free(&g->intervals);
    lpo_vec_free(&g->configs);
}

bool lpo_counters_lay_samples(struct lpo_counters_sampled *s, struct lpo_trace *trace,
                              const struct lpo_region_tree *tree, uint16_t device,
                              const struct lpo_sample_source *source)
{
    struct lpo_sampled_gpu gpu = { .device = device,
                                   .chip = lpo_trace_text(
                                       trace, lpo_trace_name(trace, source->about->chip)),
                                   .interval_ns = source->about->interval_ns,
                                   .sampler_cpu_ns = -1,
                                   .sampler_wall_ns = -1 };
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
