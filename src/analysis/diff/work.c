/* SPDX-License-Identifier: Apache-2.0 */
/* The unit of work: what both sides did again and again, how often, and whether one takes longer.
 *
 * Steps where all runs have steps; else calls of a region that fills most of the time; else
 * launches of the kernels that both sides have. Two captures of one length hold more or less work,
 * so their spans say nothing, and the time of a unit does. */

#include "analysis/diff/private.h"

enum { FEWEST = 5, EXACT_BELOW = 8, MOST_VALUES = 512 };

#define LEAST_COVER  0.5  /* of the window, that calls of a region must fill */
#define LEAST_AGREE  0.6  /* of the time of common kernels, that must be launched at one rate */
#define CALM         0.1  /* of the median unit */
#define LOOSE        0.05 /* of a rate */
#define PAUSE_FACTOR 1.2  /* of the median unit */
#define PAUSE_SHARE  0.5  /* of the change */
#define PAUSE_LARGE  0.25 /* of the time of all units */

static size_t runs_of(const struct lpo_diff *d)
{
    return d->side[LPO_DIFF_A].len + d->side[LPO_DIFF_B].len;
}

/* --- which unit ----------------------------------------------------------------------------- */

static const struct lpo_diff_series *find_series(const struct lpo_diff_digest *g,
                                                 enum lpo_diff_unit_kind kind, const char *key)
{
    for (size_t i = 0; i < g->series.len; i++) {
        const struct lpo_diff_series *s = &g->series.at[i];
        int table = kind == LPO_DIFF_CALL ? LPO_DIFF_REGIONS : LPO_DIFF_KERNELS;

        if (s->kind == kind &&
            (s->row == UINT32_MAX || strcmp(g->items[table].at[s->row].key, key) == 0))
            return s;
    }
    return NULL;
}

static bool take_series(struct lpo_diff *d, enum lpo_diff_unit_kind kind, const char *key)
{
    for (size_t i = 0; i < runs_of(d); i++) {
        const struct lpo_diff_digest *g = lpo_diff_run_at(d, i);

        d->series[i] = find_series(g, kind, key);
        if (!d->series[i] || (kind == LPO_DIFF_CALL &&
                              (double)d->series[i]->total_ns < LEAST_COVER * (double)g->window_ns))
            return false;
    }
    return true;
}

static bool unit_is_step(struct lpo_diff *d)
{
    const struct lpo_diff_digest *a = d->side[LPO_DIFF_A].at[0];

    if (!take_series(d, LPO_DIFF_STEP, ""))
        return false;
    for (size_t i = 0; i < runs_of(d); i++)
        d->lengths[i] = (double)d->series[i]->count;
    d->work.kind = LPO_DIFF_STEP;
    d->work.name = a->step < a->items[LPO_DIFF_REGIONS].len
                       ? a->items[LPO_DIFF_REGIONS].at[a->step].name
                       : "step";
    return true;
}

/* Runs of one step, or that an older lpo digested: how many steps is known all the same. */
static bool unit_is_counted(struct lpo_diff *d)
{
    const char *key = NULL;

    for (size_t i = 0; i < runs_of(d); i++) {
        const struct lpo_diff_digest *g = lpo_diff_run_at(d, i);
        const char *mine = g->steps ? g->items[LPO_DIFF_REGIONS].at[g->step].key : NULL;

        if (!mine || (key && strcmp(key, mine) != 0))
            return false;
        key = mine;
        d->lengths[i] = (double)g->steps;
        d->series[i] = NULL;
    }
    d->work.kind = LPO_DIFF_STEP;
    d->work.name =
        d->side[LPO_DIFF_A].at[0]->items[LPO_DIFF_REGIONS].at[d->side[LPO_DIFF_A].at[0]->step].name;
    return true;
}

static double units_of(const struct lpo_diff *d, size_t run)
{
    const struct lpo_diff_series *s = d->series[run];
    int64_t window = lpo_diff_run_at(d, run)->window_ns;

    return window && s->total_ns ? (double)window / ((double)s->total_ns / (double)s->count)
                                 : (double)s->count;
}

static bool unit_is_call(struct lpo_diff *d)
{
    const struct lpo_diff_digest *a = d->side[LPO_DIFF_A].at[0];

    for (size_t i = 0; i < a->series.len; i++) {
        const struct lpo_diff_item *x;

        if (a->series.at[i].kind != LPO_DIFF_CALL)
            continue;
        x = &a->items[LPO_DIFF_REGIONS].at[a->series.at[i].row];
        if (!take_series(d, LPO_DIFF_CALL, x->key))
            continue;
        for (size_t k = 0; k < runs_of(d); k++)
            d->lengths[k] = units_of(d, k);
        d->work.kind = LPO_DIFF_CALL;
        d->work.name = x->name;
        d->work.inferred = true;
        return true;
    }
    return false;
}

/* A kernel that both sides launch, and how often B does for each time that A does. */
struct rate {
    const struct lpo_diff_row *row;
    double log_ratio, weight;
};

typedef LPO_VEC(struct rate) rate_vec;

static int by_ratio(const void *a, const void *b)
{
    const struct rate *x = a, *y = b;

    return (x->log_ratio > y->log_ratio) - (x->log_ratio < y->log_ratio);
}

static double middle_ratio(rate_vec *rates)
{
    double all = 0, sum = 0;

    lpo_vec_sort(rates, by_ratio);
    for (size_t i = 0; i < rates->len; i++)
        all += rates->at[i].weight;
    for (size_t i = 0; i < rates->len; i++) {
        sum += rates->at[i].weight;
        if (sum * 2 >= all)
            return rates->at[i].log_ratio;
    }
    return 0;
}

/* Is this kernel launched at the rate of most? At the ends of a capture one may be cut off. */
static bool agrees(const struct rate *r, const struct lpo_diff *d, double ratio, bool exactly)
{
    double a = (double)r->row->in[0]->count;
    double b = (double)r->row->in[d->side[LPO_DIFF_A].len]->count;
    double off = fabs(b - a * ratio);

    return exactly ? off < 1e-6 * b : off <= 2 + LOOSE * b;
}

/* The most expensive kernel that is launched at the rate of most; NULL: they have no common rate.
 */
static const struct lpo_diff_row *anchor(const struct lpo_diff *d, const rate_vec *rates,
                                         double ratio, bool exactly)
{
    const struct rate *best = NULL;
    double all = 0, agree = 0;

    for (size_t i = 0; i < rates->len; i++) {
        const struct rate *r = &rates->at[i];

        all += r->weight;
        if (!agrees(r, d, ratio, exactly))
            continue;
        agree += r->weight;
        if (!best || r->weight > best->weight)
            best = r;
    }
    return best && agree >= LEAST_AGREE * all ? best->row : NULL;
}

static void gather_rates(const struct lpo_diff *d, rate_vec *out)
{
    for (size_t i = 0; i < d->rows[LPO_DIFF_KERNELS].len; i++) {
        const struct lpo_diff_row *r = &d->rows[LPO_DIFF_KERNELS].at[i];
        const struct lpo_diff_item *a = r->in[0], *b = r->in[d->side[LPO_DIFF_A].len];

        if (a && b && a->count && b->count)
            lpo_vec_push(out, (struct rate){ r, log((double)b->count / (double)a->count),
                                             sqrt((double)a->ns * (double)b->ns) + 1 });
    }
}

static bool unit_is_launch(struct lpo_diff *d)
{
    const struct lpo_diff_row *row;
    rate_vec rates = { 0 };
    double ratio;
    bool exactly;

    gather_rates(d, &rates);
    if (!rates.len)
        return false;
    ratio = exp(middle_ratio(&rates));
    row = anchor(d, &rates, ratio, true);
    exactly = row != NULL;
    if (!row)
        row = anchor(d, &rates, ratio, false);
    lpo_vec_free(&rates);
    for (size_t i = 0; i < runs_of(d); i++) {
        if (!row || !row->in[i])
            return false;
        d->series[i] = find_series(lpo_diff_run_at(d, i), LPO_DIFF_LAUNCH, row->in[i]->key);
        d->lengths[i] = exactly || !d->series[i] ? (double)row->in[i]->count : units_of(d, i);
    }
    d->work.kind = LPO_DIFF_LAUNCH;
    d->work.name = row->in[0]->detail;
    d->work.inferred = true;
    d->work.loose = !exactly;
    return true;
}

/* How much the units of both sides vary, as a share of the median one; INFINITY: not known. */
static double unevenness(const struct lpo_diff *d)
{
    double most = 0;

    for (size_t i = 0; i < runs_of(d); i++) {
        const struct lpo_diff_series *s = d->series[i];
        double *copy, middle;

        if (!s || !s->ns.len)
            return INFINITY;
        copy = lpo_xcalloc(s->ns.len, sizeof *copy);
        memcpy(copy, s->ns.at, s->ns.len * sizeof *copy);
        middle = lpo_diff_median(copy, s->ns.len);
        for (size_t k = 0; k < s->ns.len; k++)
            copy[k] = fabs(s->ns.at[k] - middle);
        most = fmax(most, middle > 0 ? lpo_diff_median(copy, s->ns.len) / middle : INFINITY);
        free(copy);
    }
    return most;
}

/* Calls of a region, but where their host runs ahead now more and now less: then launches of a
 * kernel come more evenly. */
static bool unit_is_call_or_launch(struct lpo_diff *d)
{
    bool call = unit_is_call(d);
    double uneven = call ? unevenness(d) : INFINITY;

    if (call && uneven <= CALM)
        return true;
    if (unit_is_launch(d) && (!call || unevenness(d) < uneven))
        return true;
    d->work = (struct lpo_diff_work){ 0 };
    return call && unit_is_call(d);
}

void lpo_diff_compare_lengths(struct lpo_diff *d)
{
    bool same = true;

    d->lengths = lpo_arena_array(d->arena, runs_of(d), sizeof *d->lengths);
    d->series = lpo_arena_array(d->arena, runs_of(d), sizeof *d->series);
    if (!unit_is_step(d) && !unit_is_counted(d) && !unit_is_call_or_launch(d)) {
        d->work.kind = LPO_DIFF_RUN;
        d->work.name = "run";
        for (size_t i = 0; i < runs_of(d); i++) {
            d->lengths[i] = 1;
            d->series[i] = NULL;
        }
    }
    for (size_t i = 0; i < runs_of(d); i++)
        same &= d->lengths[i] == d->lengths[0];
    d->unit = same ? NULL : d->work.name;
    d->length[LPO_DIFF_A] = d->length[LPO_DIFF_B] = 1;
    if (d->unit && d->work.inferred) {
        d->length[LPO_DIFF_A] = d->lengths[0];
        d->length[LPO_DIFF_B] = d->lengths[d->side[LPO_DIFF_A].len];
    }
}

/* --- does one take longer? ------------------------------------------------------------------ */

struct side_units {
    double *ns; /* logarithms after lpo_diff_judge_units() has counted pauses */
    size_t n;
    double median, spread, around; /* around: how alike neighbours are */
};

static void gather_units(const struct lpo_diff *d, enum lpo_diff_side side, struct side_units *out)
{
    size_t first = side == LPO_DIFF_A ? 0 : d->side[LPO_DIFF_A].len, n = 0, step;

    for (size_t i = 0; i < d->side[side].len; i++)
        n += d->series[first + i] ? d->series[first + i]->ns.len : 0;
    out->ns = lpo_xcalloc(n + 1, sizeof *out->ns);
    step = n / MOST_VALUES + 1;
    for (size_t i = 0; i < d->side[side].len; i++) {
        const struct lpo_diff_series *s = d->series[first + i];

        for (size_t k = 0; s && k + step <= s->ns.len; k += step) {
            double sum = 0;

            for (size_t j = 0; j < step; j++)
                sum += s->ns.at[k + j] / (double)step;
            out->ns[out->n++] = sum > 1 ? sum : 1;
        }
    }
}

/* Median, and the spread that a normal distribution would have around it. */
static void describe(struct side_units *u)
{
    double *copy = lpo_xcalloc(u->n + 1, sizeof *copy), products = 0, squares = 0;

    memcpy(copy, u->ns, u->n * sizeof *copy);
    u->median = lpo_diff_median(copy, u->n);
    for (size_t i = 0; i < u->n; i++)
        copy[i] = fabs(u->ns[i] - u->median);
    u->spread = 1.4826 * lpo_diff_median(copy, u->n);
    for (size_t i = 0; i < u->n; i++) {
        double x = fmax(-3 * u->spread, fmin(3 * u->spread, u->ns[i] - u->median));

        copy[i] = x;
        squares += x * x;
        products += i ? x * copy[i - 1] : 0;
    }
    u->around = squares > 0 ? products / squares : 0;
    free(copy);
}

static void find_pauses(const struct side_units *u, struct lpo_diff_pauses *out)
{
    for (size_t i = 0; i < u->n; i++)
        if (u->ns[i] > PAUSE_FACTOR * u->median && u->ns[i] > u->median + 6 * u->spread) {
            out->count++;
            out->ns += u->ns[i] - u->median;
        }
    out->of = u->n;
}

/* Units that follow each other are alike (clocks, heat, a queue that fills), so they are worth
 * fewer than they are: by this factor chance moves a mean further. */
static double inflation(const struct side_units *a, const struct side_units *b)
{
    double n = (double)(a->n + b->n);
    double r = (a->around * (double)a->n + b->around * (double)b->n) / n;

    if (r < 2 / sqrt(n)) /* as independent units have it by chance */
        return 1;
    r = fmin(0.9, r + 4 * (1 + 3 * r) / n); /* of so few, some of it is hidden */
    return sqrt((1 + r) / (1 - r));
}

/* How many ways there are to get each rank sum: U of na against nb without ties. */
static double exact_p(size_t na, size_t nb, double u)
{
    enum { MOST = EXACT_BELOW * EXACT_BELOW + 1 };
    double ways[EXACT_BELOW + 1][MOST] = { { 0 } }, all = 0, tail = 0;
    double low = fmin(u, (double)(na * nb) - u);

    ways[0][0] = 1;
    for (size_t rank = 0; rank < na + nb; rank++) /* rank `rank` goes to A or to B */
        for (size_t k = rank + 1 < na ? rank + 1 : na; k > 0; k--)
            for (size_t s = rank - (k - 1); s < MOST; s++)
                if (rank - (k - 1) <= nb)
                    ways[k][s] += ways[k - 1][s - (rank - (k - 1))];
    for (size_t s = 0; s <= na * nb; s++) {
        all += ways[na][s];
        tail += (double)s <= low + 1e-9 ? ways[na][s] : 0;
    }
    return fmin(1, 2 * tail / all);
}

struct pair_stats {
    double u, shift; /* pairs in which B is longer; their median difference */
    double *differences;
    size_t n;
};

static struct pair_stats compare_pairs(const struct side_units *a, const struct side_units *b)
{
    struct pair_stats p = { .n = a->n * b->n };

    p.differences = lpo_xcalloc(p.n + 1, sizeof *p.differences);
    for (size_t i = 0; i < a->n; i++)
        for (size_t k = 0; k < b->n; k++) {
            double x = b->ns[k] - a->ns[i];

            p.u += x > 0 ? 1 : x == 0 ? 0.5 : 0;
            p.differences[i * b->n + k] = x;
        }
    p.shift = lpo_diff_median(p.differences, p.n);
    return p;
}

static double squares_around(const struct side_units *u, double *mean)
{
    double sum = 0;

    *mean = 0;
    for (size_t i = 0; i < u->n; i++)
        *mean += u->ns[i] / (double)u->n;
    for (size_t i = 0; i < u->n; i++)
        sum += (u->ns[i] - *mean) * (u->ns[i] - *mean);
    return sum;
}

struct score {
    double ns;
    bool of_b;
};

static int by_length(const void *a, const void *b)
{
    const struct score *x = a, *y = b;

    return (x->ns > y->ns) - (x->ns < y->ns);
}

/* What a normal distribution has below it with this chance. */
static double quantile(double p)
{
    double low = -8, high = 8;

    for (int i = 0; i < 50; i++) {
        double middle = (low + high) / 2;

        *(erfc(-middle / sqrt(2)) / 2 < p ? &low : &high) = middle;
    }
    return low;
}

/* Van der Waerden's test: ranks as a normal distribution would have them. */
static double normal_scores(const struct side_units *a, const struct side_units *b)
{
    size_t n = a->n + b->n;
    LPO_FREED struct score *all = lpo_xcalloc(n, sizeof *all);
    double sum = 0, squares = 0;

    for (size_t i = 0; i < n; i++)
        all[i] = (struct score){ i < a->n ? a->ns[i] : b->ns[i - a->n], i >= a->n };
    qsort(all, n, sizeof *all, by_length);
    for (size_t i = 0, end; i < n; i = end) { /* equal ones share the mean of their ranks */
        double score;

        for (end = i + 1; end < n && all[end].ns == all[i].ns;)
            end++;
        score = quantile(((double)(i + end + 1) / 2) / (double)(n + 1));
        for (size_t k = i; k < end; k++) {
            sum += all[k].of_b ? score : 0;
            squares += score * score;
        }
    }
    return squares > 0
               ? sum / sqrt((double)a->n * (double)b->n * squares / ((double)n * (double)(n - 1)))
               : 0;
}

/* Ranks of units; where they are few, exactly, and a t test that knows how alike neighbours are. */
static void test_units(struct lpo_diff_verdict *v, const struct side_units *a,
                       const struct side_units *b, double *visible)
{
    struct pair_stats p = compare_pairs(a, b);
    double na = (double)a->n, nb = (double)b->n, factor = inflation(a, b), mean[2];
    double squares = squares_around(a, &mean[0]) + squares_around(b, &mean[1]);
    double deviation = sqrt(na * nb * (na + nb + 1) / 12) * factor;
    double error = sqrt(fmax(squares / (na + nb - 2), 1e-10) * (1 / na + 1 / nb)) * factor;
    size_t out;

    if (a->n < EXACT_BELOW || b->n < EXACT_BELOW) {
        v->p = a->n <= EXACT_BELOW && b->n <= EXACT_BELOW
                   ? exact_p(a->n, b->n, p.u)
                   : lpo_diff_p_normal((p.u - na * nb / 2) / deviation * factor);
        v->p = fmax(v->p, lpo_diff_p_student((mean[1] - mean[0]) / error, na + nb - 2));
    } else {
        v->p = lpo_diff_p_normal(normal_scores(a, b) / factor);
    }
    out = (size_t)fmax(0, floor(na * nb / 2 - 2.5758 * deviation));
    v->change = expm1(p.shift);
    v->low = expm1(p.differences[out]);
    v->high = expm1(p.differences[p.n - 1 - out]);
    *visible = expm1((2.5758 + 0.8416) * error);
    free(p.differences);
}

bool lpo_diff_judge_units(struct lpo_diff *d)
{
    struct lpo_diff_wall *w = &d->wall;
    struct side_units u[LPO_DIFF_SIDES] = { { 0 } };
    bool enough;

    for (int side = 0; side < LPO_DIFF_SIDES; side++) {
        gather_units(d, (enum lpo_diff_side)side, &u[side]);
        describe(&u[side]);
        find_pauses(&u[side], &w->pauses[side]);
        for (size_t i = 0; i < u[side].n; i++)
            u[side].ns[i] = log(u[side].ns[i]);
        if (u[side].n)
            describe(&u[side]);
        w->verdict.n[side] = u[side].n;
    }
    enough = u[LPO_DIFF_A].n >= FEWEST && u[LPO_DIFF_B].n >= FEWEST;
    if (enough) {
        w->verdict.basis = LPO_DIFF_BY_STEPS;
        test_units(&w->verdict, &u[LPO_DIFF_A], &u[LPO_DIFF_B], &w->visible);
        w->spread = fmax(u[LPO_DIFF_A].spread, u[LPO_DIFF_B].spread);
    }
    free(u[LPO_DIFF_A].ns);
    free(u[LPO_DIFF_B].ns);
    return enough;
}

/* A t test of two to four units a side, whose spread is held to 3 %; NAN: there are fewer. */
double lpo_diff_few_units_p(const struct lpo_diff *d)
{
    struct side_units u[LPO_DIFF_SIDES] = { { 0 } };
    double squares = 2 * 0.03 * 0.03, mean[LPO_DIFF_SIDES], p = NAN, n;

    for (int side = 0; side < LPO_DIFF_SIDES; side++) {
        gather_units(d, (enum lpo_diff_side)side, &u[side]);
        for (size_t i = 0; i < u[side].n; i++)
            u[side].ns[i] = log(u[side].ns[i]);
        squares += squares_around(&u[side], &mean[side]);
    }
    n = (double)(u[LPO_DIFF_A].n + u[LPO_DIFF_B].n);
    if (u[LPO_DIFF_A].n >= 2 && u[LPO_DIFF_B].n >= 2)
        p = lpo_diff_p_student(
            (mean[LPO_DIFF_B] - mean[LPO_DIFF_A]) /
                sqrt(squares / n * (1 / (double)u[LPO_DIFF_A].n + 1 / (double)u[LPO_DIFF_B].n)),
            n);
    free(u[LPO_DIFF_A].ns);
    free(u[LPO_DIFF_B].ns);
    return p;
}

/* ln of n over k. */
static double log_choose(double n, double k)
{
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1);
}

/* Fisher's exact test: would so many of all pauses be on one side by chance? */
static double pauses_p(const struct lpo_diff_pauses *a, const struct lpo_diff_pauses *b)
{
    double all = (double)(a->count + b->count), of = (double)(a->of + b->of), p = 0;
    double seen =
        log_choose((double)a->of, (double)a->count) + log_choose((double)b->of, (double)b->count);

    for (double k = fmax(0, all - (double)a->of); k <= fmin(all, (double)b->of); k++) {
        double x = log_choose((double)a->of, all - k) + log_choose((double)b->of, k);

        p += x <= seen + 1e-9 ? exp(x - log_choose(of, all)) : 0;
    }
    return p;
}

/* Few units that took much longer make up the change: nobody knows how often they come. */
bool lpo_diff_judge_pauses(struct lpo_diff *d)
{
    struct lpo_diff_wall *w = &d->wall;
    const struct lpo_diff_pauses *a = &w->pauses[LPO_DIFF_A], *b = &w->pauses[LPO_DIFF_B];
    double before = w->unit_ns[LPO_DIFF_A], change = w->unit_ns[LPO_DIFF_B] - before, by;

    if (!a->of || !b->of || !(before > 0))
        return false;
    by = b->ns / (double)b->of - a->ns / (double)a->of;
    w->paused = by * change > 0 && fabs(by) >= PAUSE_SHARE * fabs(change) &&
                fabs(change) > LPO_DIFF_LEAST * before;
    return w->paused && (fabs(change) >= PAUSE_LARGE * before || pauses_p(a, b) <= 0.01);
}
