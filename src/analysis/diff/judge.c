/* SPDX-License-Identifier: Apache-2.0 */
/* Which changes are real: the tests of significance.h, applied to the wall time and to every row.
 */

#include "analysis/diff/private.h"

#define CALM_STEPS 0.03 /* spread of steps; twice as much is restless */
#define HOST_NOISE 0.3  /* of idle time, from run to run */

LPO_NAMES(lpo_diff_basis_name, enum lpo_diff_basis, "nothing", "runs", "steps", "calls", "count");

/* --- rows ----------------------------------------------------------------------------------- */

struct judged {
    struct lpo_diff_row *row;
    struct lpo_diff_evidence evidence;
};

typedef LPO_VEC(struct judged) judged_rows;

static const struct lpo_diff_stratum *same_shape(const struct lpo_diff_item *item,
                                                 const struct lpo_diff_stratum *s)
{
    return lpo_find(i, item->strata.at, item->strata.len,
                    memcmp(item->strata.at[i].grid, s->grid, sizeof s->grid) == 0 &&
                        memcmp(item->strata.at[i].block, s->block, sizeof s->block) == 0);
}

enum { MOST_STRATA = 256 }; /* of a kernel, beyond which the shapes are not told apart any more */

static void add_calls(struct lpo_diff_evidence *e, const struct lpo_diff_item *a,
                      const struct lpo_diff_item *b)
{
    for (size_t i = 0; i < a->strata.len && i < MOST_STRATA; i++) {
        const struct lpo_diff_stratum *other = same_shape(b, &a->strata.at[i]);

        if (other)
            lpo_diff_evidence_add(e, &a->strata.at[i].calls, &other->calls);
    }
}

/* One value for each run: the time of a step. */
static void add_runs(struct lpo_diff_evidence *e, const struct lpo_diff *d,
                     const struct lpo_diff_row *r)
{
    size_t runs = d->side[LPO_DIFF_A].len + d->side[LPO_DIFF_B].len, n[LPO_DIFF_SIDES] = { 0 };
    LPO_FREED double *values = lpo_xcalloc(runs * 2, sizeof *values);

    for (size_t i = 0; i < runs; i++) {
        const struct lpo_diff_item *x = r->in[i];
        enum lpo_diff_side side = lpo_diff_run_side(d, i);
        int64_t ns = !x ? 0 : d->by_host ? x->host_ns : x->ns;

        if (ns > 0)
            values[side * runs + n[side]++] = log((double)ns / lpo_diff_run_length(d, i));
    }
    if (n[LPO_DIFF_A] + n[LPO_DIFF_B] > 3)
        lpo_diff_evidence_add_values(e, values, n[LPO_DIFF_A], values + runs, n[LPO_DIFF_B]);
}

/* Does the program do this more or less often than before, in every run? */
static bool other_count(const struct lpo_diff *d, const struct lpo_diff_row *r)
{
    double low[LPO_DIFF_SIDES] = { INFINITY, INFINITY }, high[LPO_DIFF_SIDES] = { 0, 0 };
    double a, b;

    for (size_t i = 0; i < d->side[LPO_DIFF_A].len + d->side[LPO_DIFF_B].len; i++) {
        enum lpo_diff_side side = lpo_diff_run_side(d, i);
        double count = r->in[i] ? (double)r->in[i]->count / lpo_diff_run_length(d, i) : 0;

        low[side] = fmin(low[side], count);
        high[side] = fmax(high[side], count);
    }
    a = low[LPO_DIFF_B] > high[LPO_DIFF_A] ? high[LPO_DIFF_A] : low[LPO_DIFF_A];
    b = low[LPO_DIFF_B] > high[LPO_DIFF_A] ? low[LPO_DIFF_B] : high[LPO_DIFF_B];
    /* where units are counted from launches, a call at either end may be cut off */
    return (low[LPO_DIFF_B] > high[LPO_DIFF_A] || high[LPO_DIFF_B] < low[LPO_DIFF_A]) &&
           fabs(b - a) > LPO_DIFF_LEAST_COUNT * fmax(a, b) +
                             (d->unit && d->work.inferred
                                  ? 3 / fmin(d->units[LPO_DIFF_A], d->units[LPO_DIFF_B])
                                  : 0);
}

/* The change of a row as a share of the larger side. */
static double share_changed(const struct lpo_diff_row *r)
{
    double most = fmax(r->amount[LPO_DIFF_A].step_ns, r->amount[LPO_DIFF_B].step_ns);

    return most > 0 ? fabs(r->delta_step_ns) / most : 0;
}

double lpo_diff_least(const struct lpo_diff *d)
{
    return lpo_diff_has_repeats(d) ? LPO_DIFF_LEAST_RUNS : LPO_DIFF_LEAST;
}

static void judge_count(const struct lpo_diff *d, struct lpo_diff_row *r)
{
    double all = d->unit ? fmax(d->wall.unit_ns[LPO_DIFF_A], d->wall.unit_ns[LPO_DIFF_B])
                         : (double)(d->wall.known ? d->wall.ns[LPO_DIFF_A] : d->shown[0]->gpu_ns);

    if (!other_count(d, r))
        return;
    r->verdict.basis = LPO_DIFF_BY_COUNT;
    r->verdict.significant =
        fabs(r->delta_step_ns) > LPO_DIFF_SMALLEST * all && share_changed(r) > LPO_DIFF_LEAST_COUNT;
}

static void gather(const struct lpo_diff *d, judged_rows *out)
{
    for (int t = 0; t < LPO_DIFF_TABLES; t++)
        for (size_t i = 0; i < d->rows[t].len; i++) {
            struct lpo_diff_row *r = &d->rows[t].at[i];
            struct judged j = { .row = r };

            r->verdict = (struct lpo_diff_verdict){ .p = 1, .low = NAN, .high = NAN };
            judge_count(d, r);
            if (!r->amount[LPO_DIFF_A].known || !r->amount[LPO_DIFF_B].known)
                continue;
            if (!d->by_host && r->item[LPO_DIFF_A]->host && r->item[LPO_DIFF_B]->host)
                continue; /* time of the host beside time of the GPU: no news by itself */
            if (lpo_diff_has_repeats(d))
                add_runs(&j.evidence, d, r);
            else
                add_calls(&j.evidence, r->item[LPO_DIFF_A], r->item[LPO_DIFF_B]);
            if (j.evidence.weight > 0)
                lpo_vec_push(out, j);
        }
}

enum { MANY_REPEATS = 10 }; /* of both sides */

/* What a row with few values is held to, and what the wall time is. */
struct priors {
    struct lpo_diff_prior rows, wall;
};

/* Repeats are held to a typical row; calls, of which some rows have one only, to a restless one.
 * The wall time is the sum of all rows and varies no more than the calm ones. */
static struct priors priors_of(const struct lpo_diff *d, const judged_rows *rows)
{
    LPO_FREED double *variances = lpo_xcalloc(rows->len + 1, sizeof *variances);
    struct priors out;
    size_t n = 0;

    for (size_t i = 0; i < rows->len; i++) {
        double v = lpo_diff_evidence_variance(&rows->at[i].evidence);

        if (!isnan(v))
            variances[n++] = v;
    }
    out.rows = lpo_diff_prior_of(variances, n, lpo_diff_has_repeats(d) ? 0.5 : 0.9);
    /* of a few repeats the calm rows are those that happened to agree */
    out.wall = d->side[LPO_DIFF_A].len + d->side[LPO_DIFF_B].len >= MANY_REPEATS
                   ? lpo_diff_prior_of(variances, n, 0.1)
                   : out.rows;
    return out;
}

static void fill_verdict(const struct lpo_diff *d, struct judged *j,
                         const struct lpo_diff_prior *prior)
{
    struct lpo_diff_verdict *v = &j->row->verdict;
    double half = lpo_diff_half_width(&j->evidence, prior);
    double shift = j->evidence.shift / j->evidence.weight;

    if (v->basis == LPO_DIFF_BY_NOTHING)
        v->basis = lpo_diff_has_repeats(d) ? LPO_DIFF_BY_RUNS : LPO_DIFF_BY_CALLS;
    v->p = lpo_diff_has_repeats(d) ? lpo_diff_p_repeats(&j->evidence, prior)
                                   : lpo_diff_p_calls(&j->evidence, prior);
    v->change = lpo_diff_evidence_change(&j->evidence);
    v->low = expm1(shift - half);
    v->high = expm1(shift + half);
    v->n[LPO_DIFF_A] = j->evidence.a;
    v->n[LPO_DIFF_B] = j->evidence.b;
}

static struct lpo_diff_prior judge_rows(struct lpo_diff *d)
{
    LPO_FREED judged_rows rows = { 0 };
    struct priors priors;
    LPO_FREED double *p = NULL;
    LPO_FREED bool *refused = NULL;

    gather(d, &rows);
    priors = priors_of(d, &rows);
    p = lpo_xcalloc(rows.len + 1, sizeof *p);
    refused = lpo_xcalloc(rows.len + 1, sizeof *refused);
    for (size_t i = 0; i < rows.len; i++) {
        fill_verdict(d, &rows.at[i], &priors.rows);
        p[i] = rows.at[i].row->verdict.p;
    }
    lpo_diff_holm(p, rows.len, LPO_DIFF_LEVEL_ROWS, refused);
    for (size_t i = 0; i < rows.len; i++) {
        struct lpo_diff_row *r = rows.at[i].row;

        r->verdict.significant |= refused[i] && fabs(r->verdict.change) > lpo_diff_least(d) &&
                                  share_changed(r) > lpo_diff_least(d) / 2 &&
                                  (r->verdict.change > 0) == (r->delta_step_ns > 0);
    }
    return priors.wall;
}

/* --- wall ----------------------------------------------------------------------------------- */

static void wall_by_runs(struct lpo_diff *d, struct lpo_diff_evidence *e)
{
    size_t first = d->side[LPO_DIFF_A].len, runs = first + d->side[LPO_DIFF_B].len;
    LPO_FREED double *values = lpo_xcalloc(runs + 1, sizeof *values);
    bool known = true;

    for (size_t i = 0; i < runs; i++) {
        values[i] = log(lpo_diff_unit_ns(d, i));
        known &= isfinite(values[i]) != 0;
    }
    if (known)
        lpo_diff_evidence_add_values(e, values, first, values + first, runs - first);
}

/* How far the sum of all kernels of a run would move if its calls were drawn again, ns². Few calls
 * do not show their spread: they are held to that of the other rows. */
static double kernel_variance(const struct lpo_diff_digest *g, const struct lpo_diff_prior *prior,
                              double length)
{
    double sum = 0;

    for (size_t i = 0; i < g->items[LPO_DIFF_KERNELS].len; i++) {
        const struct lpo_diff_item *k = &g->items[LPO_DIFF_KERNELS].at[i];

        for (size_t s = 0; s < k->strata.len; s++) {
            const struct lpo_diff_stratum *x = &k->strata.at[s];
            double count = (double)x->count, own = (double)x->calls.kept.len - 1;
            double mean = count > 0 ? (double)x->ns / count : 0;

            if (own >= 0)
                sum += count *
                       (lpo_diff_sample_variance(&x->calls) * own +
                        prior->variance * mean * mean * prior->freedom) /
                       (own + prior->freedom);
        }
    }
    return sum / (length * length);
}

static double idle_of(const struct lpo_diff_device *v)
{
    double sum = 0;

    for (int i = LPO_DIFF_PART_IDLE; i < LPO_DIFF_PARTS; i++)
        sum += (double)v->parts[i];
    return sum;
}

/* One run a side: the spread of calls and gaps. A change of idle time that chance explains (a long
 * gap more or less) is taken out of the change before that is judged. */
static double wall_by_calls(struct lpo_diff *d, const struct lpo_diff_prior *prior)
{
    const struct lpo_diff_wall *w = &d->wall;
    double change = w->unit_ns[LPO_DIFF_B] - w->unit_ns[LPO_DIFF_A], variance = 0;
    double idle = 0, idle_variance = 0;

    for (int side = 0; side < LPO_DIFF_SIDES; side++) {
        double length = d->units[side];

        variance += kernel_variance(d->shown[side], prior, length);
        if (!w->known)
            continue;
        idle += (side == LPO_DIFF_B ? 1 : -1) * idle_of(w->device[side]) / length;
        idle_variance += w->device[side]->idle_squares / (length * length);
    }
    if (idle_variance > 0 && lpo_diff_p_normal(idle / sqrt(idle_variance)) > LPO_DIFF_LEVEL_CALLS)
        change -= idle;
    else
        variance += idle_variance;
    d->wall.sure_ns = change;
    return variance > 0 ? lpo_diff_p_normal(change / sqrt(variance)) : change == 0;
}

static double level(const struct lpo_diff *d)
{
    return lpo_diff_has_repeats(d) ? LPO_DIFF_LEVEL_WALL : LPO_DIFF_LEVEL_CALLS;
}

static void judge_runs(struct lpo_diff *d, const struct lpo_diff_prior *prior)
{
    struct lpo_diff_verdict *v = &d->wall.verdict;
    struct lpo_diff_evidence e = { 0 };
    double half, shift;

    wall_by_runs(d, &e);
    if (!(e.weight > 0))
        return;
    half = lpo_diff_half_width(&e, prior);
    shift = e.shift / e.weight;
    v->basis = LPO_DIFF_BY_RUNS;
    v->p = lpo_diff_p_repeats(&e, prior);
    v->low = expm1(shift - half);
    v->high = expm1(shift + half);
    v->n[LPO_DIFF_A] = e.a;
    v->n[LPO_DIFF_B] = e.b;
    d->wall.visible = expm1(half);
    v->significant = v->p <= LPO_DIFF_LEVEL_WALL && fabs(v->change) > LPO_DIFF_LEAST_RUNS;
}

/* Too few units to prove anything: is the change at least beyond the noise that is known? */
static void judge_few(struct lpo_diff *d, const struct lpo_diff_prior *prior)
{
    struct lpo_diff_wall *w = &d->wall;
    struct lpo_diff_verdict *v = &w->verdict;
    double before = w->unit_ns[LPO_DIFF_A];
    bool beyond;

    v->basis = LPO_DIFF_BY_CALLS;
    v->p = lpo_diff_few_units_p(d);
    if (isnan(v->p))
        v->p = wall_by_calls(d, prior);
    beyond = v->p <= LPO_DIFF_LEVEL_CALLS && fabs(w->sure_ns) > LPO_DIFF_LEAST * before &&
             (w->sure_ns > 0) == (v->change > 0);
    w->unsure = fabs(v->change) > LPO_DIFF_LEAST && (beyond || fabs(v->change) >= LPO_DIFF_LARGE);
    v->n[LPO_DIFF_A] = d->shown[LPO_DIFF_A]->launches;
    v->n[LPO_DIFF_B] = d->shown[LPO_DIFF_B]->launches;
}

/* The speed of a host differs from run to run by more than that of a GPU (other cores, other
 * clocks), which no number of steps of one run shows. So a program whose GPU waits for its host, in
 * steps that vary, must change by more: by this share of a unit. */
static double host_noise(const struct lpo_diff *d)
{
    double idle = 1, restless = (d->wall.spread - CALM_STEPS) / CALM_STEPS;

    for (int side = 0; side < LPO_DIFF_SIDES; side++) {
        const struct lpo_diff_digest *g = d->shown[side];

        if (!g->idle.len || !g->window_ns)
            return 0;
        idle = fmin(idle, (double)g->idle.at[0].ns / (double)g->window_ns);
    }
    return HOST_NOISE * idle * fmax(0, fmin(1, restless));
}

static void judge_wall(struct lpo_diff *d, const struct lpo_diff_prior *prior)
{
    struct lpo_diff_wall *w = &d->wall;
    struct lpo_diff_verdict *v = &w->verdict;
    double before = w->unit_ns[LPO_DIFF_A];

    *v = (struct lpo_diff_verdict){ .p = 1, .low = NAN, .high = NAN };
    w->sure_ns = w->unit_ns[LPO_DIFF_B] - before;
    if (!(before > 0))
        return;
    v->change = w->unit_ns[LPO_DIFF_B] / before - 1;
    if (lpo_diff_has_repeats(d)) {
        judge_runs(d, prior);
    } else if (lpo_diff_judge_units(d)) {
        double least = LPO_DIFF_LEAST + host_noise(d);

        w->visible = fmax(w->visible, least);
        v->significant = v->p <= LPO_DIFF_LEVEL_UNITS && fabs(v->change) > least;
        if (!v->significant) {
            v->change = w->unit_ns[LPO_DIFF_B] / before - 1;
            w->unsure = lpo_diff_judge_pauses(d) || fabs(v->change) >= LPO_DIFF_LARGE;
        }
    } else {
        judge_few(d, prior);
    }
}

/* --- GPU time of kernels that compute ------------------------------------------------------- */

static double compute_of(const struct lpo_diff *d, size_t run)
{
    const struct lpo_diff_digest *g = lpo_diff_run_at(d, run);
    double sum = 0;

    for (size_t i = 0; i < g->items[LPO_DIFF_KERNELS].len; i++)
        if (g->items[LPO_DIFF_KERNELS].at[i].class != LPO_CLASS_COLLECTIVE)
            sum += (double)g->items[LPO_DIFF_KERNELS].at[i].ns;
    return sum / lpo_diff_run_length(d, run);
}

static void judge_compute(struct lpo_diff *d, const struct lpo_diff_prior *prior)
{
    size_t first = d->side[LPO_DIFF_A].len, runs = first + d->side[LPO_DIFF_B].len;
    double *values = lpo_xcalloc(runs + 1, sizeof *values), variance = 0;
    struct lpo_diff_verdict *v = &d->wall.compute;
    struct lpo_diff_evidence e = { 0 };
    bool known = true;

    *v = (struct lpo_diff_verdict){ .p = 1, .low = NAN, .high = NAN };
    for (size_t i = 0; i < runs; i++) {
        values[i] = compute_of(d, i);
        known &= values[i] > 0;
        if (lpo_diff_run_at(d, i) == d->shown[lpo_diff_run_side(d, i)])
            d->wall.compute_ns[lpo_diff_run_side(d, i)] = values[i];
        values[i] = log(values[i]);
    }
    if (known && lpo_diff_has_repeats(d)) {
        lpo_diff_evidence_add_values(&e, values, first, values + first, runs - first);
        v->basis = LPO_DIFF_BY_RUNS;
        v->p = lpo_diff_p_repeats(&e, prior);
        v->change = lpo_diff_evidence_change(&e);
        v->low = expm1(log1p(v->change) - lpo_diff_half_width(&e, prior));
    } else if (known) {
        for (int side = 0; side < LPO_DIFF_SIDES; side++)
            variance += kernel_variance(d->shown[side], prior, d->length[side]);
        v->basis = LPO_DIFF_BY_CALLS;
        v->change = d->wall.compute_ns[LPO_DIFF_B] / d->wall.compute_ns[LPO_DIFF_A] - 1;
        v->p = variance > 0 ? lpo_diff_p_normal((d->wall.compute_ns[LPO_DIFF_B] -
                                                 d->wall.compute_ns[LPO_DIFF_A]) /
                                                sqrt(variance))
                            : v->change == 0;
        v->low = v->change - 2.5758 * sqrt(variance) / d->wall.compute_ns[LPO_DIFF_A];
    }
    v->significant = known && v->p <= level(d) && fabs(v->change) > lpo_diff_least(d);
    free(values);
}

/* One or few units a side, and most of the change is in one of several equal layers, while the
 * others stayed as they were: that is no noise, and no proof. */
void lpo_diff_judge_causes(struct lpo_diff *d)
{
    struct lpo_diff_wall *w = &d->wall;
    double by = w->unit_ns[LPO_DIFF_B] - w->unit_ns[LPO_DIFF_A];

    if (w->verdict.significant || w->verdict.basis != LPO_DIFF_BY_CALLS ||
        !(fabs(w->verdict.change) > LPO_DIFF_LEAST))
        return;
    for (size_t i = 0; i < d->causes.len; i++) {
        const struct lpo_diff_cause *c = &d->causes.at[i];
        double own = c->value[LPO_DIFF_B] - c->value[LPO_DIFF_A];

        w->unsure |= *c->member && own * by > 0 && fabs(own) >= 0.5 * fabs(by);
    }
}

/* --- order ---------------------------------------------------------------------------------- */

static int by_change(const void *a, const void *b)
{
    const struct lpo_diff_row *x = a, *y = b;
    double dx = fabs(x->delta_step_ns), dy = fabs(y->delta_step_ns);
    const struct lpo_diff_item *ix = x->item[x->item[LPO_DIFF_A] ? LPO_DIFF_A : LPO_DIFF_B];
    const struct lpo_diff_item *iy = y->item[y->item[LPO_DIFF_A] ? LPO_DIFF_A : LPO_DIFF_B];

    if (dx != dy)
        return dx > dy ? -1 : 1;
    if (ix->depth != iy->depth) /* a parent before the child that made all of its change */
        return ix->depth < iy->depth ? -1 : 1;
    return strcmp(ix->key, iy->key);
}

void lpo_diff_judge(struct lpo_diff *d)
{
    struct lpo_diff_prior prior = judge_rows(d);

    judge_wall(d, &prior);
    judge_compute(d, &prior);
    for (int t = 0; t < LPO_DIFF_TABLES; t++)
        lpo_vec_sort(&d->rows[t], by_change);
}

double lpo_diff_compute_regression(const struct lpo_diff *d)
{
    const struct lpo_diff_wall *w = &d->wall;

    if (!w->compute.significant || w->verdict.change < -LPO_DIFF_LEAST)
        return 0;
    return fmax(0, w->compute.low);
}

double lpo_diff_regression(const struct lpo_diff *d)
{
    return fmax(lpo_diff_wall_regression(d), lpo_diff_compute_regression(d));
}

double lpo_diff_wall_regression(const struct lpo_diff *d)
{
    const struct lpo_diff_verdict *v = &d->wall.verdict;

    if (v->significant)
        return fmax(0, v->low);
    return d->wall.unsure ? fmax(0, v->change) : 0;
}
