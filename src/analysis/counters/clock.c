/* SPDX-License-Identifier: Apache-2.0 */
/* Are samples and operations on one clock, and does a counter run ahead of the operations?
 *
 * Coarse: the correlation of the time that the trace was busy in a sample with what the SMs did,
 * over lags of whole samples. Fine: the least squares of a few unknowns are made for operations
 * moved by each of some distances; the best fit says where they belong. On a Hopper GPU reads from
 * DRAM run 1 us ahead of the kernel's recorded start and the tensor cores do not: a kernel loads
 * before it computes, and its record ends after its last load. So each family has its own. */

#include "analysis/counters/layer.h"

enum {
    LAGS = 200,          /* samples, each way */
    ENOUGH = 4 * LAGS,   /* samples: from then on a correlation says something */
    COARSE = 1 << 16,    /* samples that the correlation looks at */
    STEPS = 15,          /* distances that the fine search tries */
    FINE = 12000,        /* samples with an operation that it looks at */
    FEW_EQUATIONS = 200, /* less says nothing */
};

static const int64_t fine_step_ns = 500;
/* Samples that are longer on average are no samples of a program: a damaged file. */
static const int64_t longest_ns = 1000000000;
/* No fit says it better. */
static const int64_t shift_grain_ns = 50;
/* Between steps of this length a parabola says it to a microsecond. */
static const int64_t fine_enough_ns = 15000;
/* Moved by less the answer is the same: noise of the fit. */
static const int64_t smallest_clock_ns = 3000;

/* The counter that follows the operations most closely. */
static int activity_of(const struct lpo_layer *l)
{
    static const enum lpo_counters_meaning order[] = {
        LPO_COUNTER_SM_ACTIVE,     LPO_COUNTER_SM_CYCLES, LPO_COUNTER_GPU_ACTIVE,
        LPO_COUNTER_TENSOR_ACTIVE, LPO_COUNTER_DRAM_READ, LPO_COUNTER_DRAM_BYTES,
    };

    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        int m = lpo_counters_find(l->source->about, order[i]);

        if (m >= 0)
            return m;
    }
    return 0;
}

/* Two series of equal length. */
struct pair_series {
    float *busy, *active;
    size_t count;
    double mean_ns;
    int64_t interval_ns; /* as asked for: one for all of them */
};

/* A lag counts samples, so all are of one interval: where another begins, those before it are
 * enough, or it begins anew. */
static void read_series(struct lpo_layer *l, int metric, struct pair_series *out)
{
    struct lpo_sample_sweep sweep = lpo_counters_sweep(&l->ops, 0);
    struct lpo_counters_sample s;
    double ns = 0;

    l->source->rewind(l->source->ctx);
    while (out->count < COARSE && l->source->next(l->source->ctx, &s)) {
        double length = (double)(s.end_ns - s.start_ns);

        if (!s.values || isnan(s.values[metric]))
            continue;
        if (s.interval_ns != out->interval_ns) {
            if (out->count > ENOUGH)
                break;
            out->interval_ns = s.interval_ns;
            out->count = 0;
            ns = 0;
        }
        if ((double)s.end_ns + LAGS * length < (double)l->ops.first_ns)
            continue; /* long before the first operation */
        lpo_counters_sweep_to(&sweep, s.start_ns, s.end_ns);
        out->busy[out->count] = (float)((double)sweep.busy_ns / length);
        out->active[out->count++] =
            (float)(lpo_counters_layer_amount(l, &s, (size_t)metric) / length);
        ns += length;
    }
    out->mean_ns = out->count ? ns / (double)out->count : 0;
    lpo_counters_sweep_free(&sweep);
}

/* Of active[i + lag] with busy[i]. */
static double correlation(const struct pair_series *p, int lag)
{
    size_t from = lag < 0 ? (size_t)-lag : 0, to = p->count - (lag > 0 ? (size_t)lag : 0);
    double x = 0, y = 0, xx = 0, yy = 0, xy = 0, count = (double)(to - from), vx, vy;

    for (size_t i = from; i < to; i++) {
        double a = p->busy[i], b = p->active[(size_t)((int64_t)i + lag)];

        x += a;
        y += b;
        xx += a * a;
        yy += b * b;
        xy += a * b;
    }
    vx = xx - x * x / count;
    vy = yy - y * y / count;
    vx = vx > 0 && vy > 0 ? (xy - x * y / count) / sqrt(vx * vy) : 0;
    return isfinite(vx) ? vx : 0;
}

/* Sure when the best lag fits well and no other comes close: a program of equal steps fits itself
 * again one step later. */
static void find_lag(struct lpo_layer *l, const struct pair_series *p)
{
    struct lpo_sampled_gpu *g = l->gpu;
    double fit[2 * LAGS + 1] = { 0 };
    int best = 0;

    for (int lag = -LAGS; lag <= LAGS; lag++) {
        fit[LAGS + lag] = correlation(p, lag);
        if (fit[LAGS + lag] > fit[LAGS + best])
            best = lag;
    }
    /* kernels longer than a sample fit their neighbour as well; the fine search sees to the rest */
    if (abs(best) <= 2 && fit[LAGS + best] < 1.03 * fit[LAGS])
        best = 0;
    g->clock_fit = fit[LAGS + best];
    g->clock_found_ns = (int64_t)llround(best * p->mean_ns);
    g->clock_sure = g->clock_fit >= 0.5;
    for (int lag = -LAGS; lag <= LAGS && best != 0; lag++)
        if (abs(lag - best) > 2 && fit[LAGS + lag] > 0.95 * fit[LAGS + best])
            g->clock_sure = false;
}

/* Returns the interval of the samples that it looked at; too few: the first one. */
static int64_t find_coarse(struct lpo_layer *l)
{
    struct pair_series p = { .busy = lpo_xcalloc(COARSE, sizeof(float)),
                             .active = lpo_xcalloc(COARSE, sizeof(float)) };

    read_series(l, activity_of(l), &p);
    if (p.count > ENOUGH && p.mean_ns < (double)longest_ns)
        find_lag(l, &p);
    free(p.busy);
    free(p.active);
    if (l->gpu->clock_sure && l->gpu->clock_found_ns)
        l->gpu->clock_ns = l->gpu->clock_found_ns;
    return p.count > ENOUGH && p.interval_ns > 0 ? p.interval_ns : l->gpu->interval_ns;
}

/* Normal equations for operations moved by each of STEPS distances. */
struct search {
    int64_t step_ns;
    struct lpo_sample_sweep sweep[STEPS];
    struct lpo_counters_normal *normal[STEPS];
    uint32_t *to; /* unknown -> one of the few */
};

static int64_t distance(const struct search *s, int i)
{
    return (i - STEPS / 2) * s->step_ns;
}

static void look_at(struct lpo_layer *l, struct search *s, const struct lpo_counters_sample *sample,
                    double *amounts)
{
    for (size_t m = 0; m < l->nmetrics; m++) {
        amounts[m] = lpo_counters_layer_amount(l, sample, m);
        if (isnan(amounts[m]))
            return;
    }
    for (int i = 0; i < STEPS; i++) {
        lpo_counters_sweep_to(&s->sweep[i], sample->start_ns, sample->end_ns);
        lpo_counters_layer_terms(l, &s->sweep[i], s->to);
        lpo_counters_normal_add(s->normal[i], l->terms.at, l->terms.len, amounts);
    }
}

static void search_run(struct lpo_layer *l, struct search *s, int64_t step_ns)
{
    LPO_FREED double *amounts = lpo_xcalloc(l->nmetrics + 1, sizeof *amounts);
    struct lpo_counters_sample sample;
    int busy = 0;

    s->step_ns = step_ns;
    s->to = lpo_xcalloc(l->unknowns.len + 1, sizeof *s->to);
    for (size_t i = 0; i < l->unknowns.len; i++)
        s->to[i] = i < LPO_LAYER_FEW - LPO_LAYER_CLASSES
                       ? (uint32_t)i
                       : (uint32_t)(LPO_LAYER_FEW - LPO_LAYER_CLASSES + l->unknowns.at[i].class);
    for (int i = 0; i < STEPS; i++) {
        s->sweep[i] = lpo_counters_sweep(&l->ops, distance(s, i));
        s->normal[i] = lpo_counters_normal_create(LPO_LAYER_FEW, l->nmetrics);
    }
    l->source->rewind(l->source->ctx);
    while (busy < FINE && l->source->next(l->source->ctx, &sample)) {
        if (!sample.values || sample.end_ns < l->ops.first_ns || sample.start_ns > l->ops.last_ns)
            continue;
        look_at(l, s, &sample, amounts);
        busy += s->sweep[STEPS / 2].found.len > 0;
    }
}

static void search_free(struct search *s)
{
    for (int i = 0; i < STEPS; i++) {
        lpo_counters_sweep_free(&s->sweep[i]);
        lpo_counters_normal_destroy(s->normal[i]);
    }
    free(s->to);
}

/* The best of the distances for one metric, between them by a parabola. True: sure. */
static bool best_distance(const struct search *s, size_t metric, int64_t *out, double *fit)
{
    double r2[STEPS], bend, lean;
    int best = 0, worst = 0;

    *fit = 0;
    if (s->normal[0]->equations < FEW_EQUATIONS)
        return false;
    for (int i = 0; i < STEPS; i++) {
        struct lpo_solution x = lpo_counters_normal_solve(s->normal[i], metric, NULL);

        r2[i] = x.r2;
        lpo_counters_solution_free(&x);
        best = r2[i] > r2[best] ? i : best;
        worst = r2[i] < r2[worst] ? i : worst;
    }
    *fit = r2[best];
    if (best == 0 || best == STEPS - 1 || r2[best] < 0.8 || r2[best] - r2[worst] < 0.001)
        return false;
    bend = r2[best - 1] - 2 * r2[best] + r2[best + 1];
    lean = r2[best + 1] - r2[best - 1];
    *out = distance(s, best) - (bend < 0 ? llround(lean / (2 * bend) * (double)s->step_ns) : 0);
    return true;
}

static void move_ops(struct lpo_layer *l, int64_t ns)
{
    l->ops.clock_ns += ns;
    l->ops.first_ns += ns;
    l->ops.last_ns += ns;
}

/* Clocks that differ by less than a sample. Steps of a long sample are so long that the parabola
 * between them is not exact, so it looks again between the two nearest ones. What the finer look
 * cannot see is no offset. */
static void find_middle(struct lpo_layer *l, int64_t interval_ns)
{
    bool said = interval_ns > 0 && interval_ns <= longest_ns;
    int64_t step = (said ? interval_ns : 50000) / (STEPS / 2) + 1, before = 0, found = 0;

    for (;; before = step, step = step / (STEPS / 2) + 1) {
        struct search s = { 0 };
        int64_t ns = 0;
        double fit;

        search_run(l, &s, step);
        if (!best_distance(&s, (size_t)activity_of(l), &ns, &fit)) {
            search_free(&s);
            if (llabs(found) >= before)
                break;
            move_ops(l, -found);
            return;
        }
        search_free(&s);
        move_ops(l, ns);
        found += ns;
        if (step <= fine_enough_ns)
            break;
    }
    move_ops(l, -found);
    if (llabs(found) >= smallest_clock_ns) {
        l->gpu->clock_ns += found;
        l->gpu->clock_found_ns += found;
    }
}

/* The family's best metric speaks for it. */
static void find_shifts(struct lpo_layer *l)
{
    struct search s = { 0 };

    search_run(l, &s, fine_step_ns);
    for (int f = 0; f < LPO_FAMILIES; f++) {
        double best = 0;

        for (size_t i = l->family_first[f]; i < l->family_first[f + 1]; i++) {
            int64_t ns;
            double fit;

            if (best_distance(&s, l->by_family[i], &ns, &fit) && fit > best) {
                best = fit;
                l->shift_ns[f] = llround((double)ns / (double)shift_grain_ns) * shift_grain_ns;
                l->shift_sure[f] = true;
            }
        }
    }
    search_free(&s);
}

void lpo_counters_layer_clock(struct lpo_layer *l)
{
    int64_t coarse, interval_ns = find_coarse(l);

    coarse = l->gpu->clock_ns;
    move_ops(l, coarse);
    find_middle(l, interval_ns);
    move_ops(l, l->gpu->clock_ns - coarse);
    find_shifts(l);
}
