/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/diff/trend.h"

#include "analysis/diff/digest.h"
#include "analysis/diff/significance.h"
#include "util/json_write.h"
#include "util/pattern.h"

#define LEVEL_SHIFT   0.007 /* chance that a quiet series of its length has such a step */
#define LEVEL_RECENT  0.008 /* the same of the last few values */
#define LEVEL_PLATEAU 0.018 /* the same of a stretch that goes back to the level around it */
#define LEAST         0.005 /* of the level before */
#define LEAST_NOISE   0.002 /* see lpo_diff_prior_of() */
#define GATE_FROM     0.8   /* of what independent values have by chance: alike in part */
#define GATE_TO       1.8   /* the same: alike */
#define UPPER         2.5
#define SPIKE         3.5   /* standard deviations from its neighbours */
#define RARE          0.075 /* of the values: what comes more often is no outlier and no step */

enum { FEWEST = 3, RECENT = 8, NEIGHBOURS = 7, LONGEST_SEARCH = 2000 };

/* --- noise ---------------------------------------------------------------------------------- */

/* More than a few of `n`. */
static bool is_often(size_t large, size_t n)
{
    return (double)large > 2 + RARE * (double)n;
}

/* Half the variance of the differences between values so far apart; large ones (a step, a spike)
 * count as large, and no more than that, unless they come `often`: between two modes. */
static double half_variance(const double *x, size_t n, size_t apart, bool often)
{
    size_t count = n > apart ? n - apart : 0, large = 0;
    double *d = lpo_xcalloc(count + 1, sizeof *d), most, sum = 0;

    for (size_t i = 0; i < count; i++)
        d[i] = fabs(x[i + apart] - x[i]);
    most = count ? 2.5 * 1.4826 * lpo_diff_median(d, count) : 0;
    for (size_t i = 0; often && i < count; i++)
        large += fabs(x[i + apart] - x[i]) > most;
    if (is_often(large, count))
        most = INFINITY;
    for (size_t i = 0; i < count; i++) {
        double by = fmin(d[i], most);

        sum += by * by;
    }
    free(d);
    return count ? 1.025 * sum / (double)count / 2 : 0; /* what that takes from a normal one */
}

/* The step of [from, to) that takes most of its variance away; `to` where it is too short. */
static size_t steepest(const double *x, size_t from, size_t to)
{
    double all = 0, sum = 0, best = 0;
    size_t at = to;

    for (size_t i = from; i < to; i++)
        all += x[i];
    for (size_t i = from + 1; i < to; i++) {
        double n = (double)(i - from), rest = (double)(to - i), by;

        sum += x[i - 1];
        by = sum / n - (all - sum) / rest;
        if (by * by * n * rest > best) {
            best = by * by * n * rest;
            at = i;
        }
    }
    return at;
}

/* How alike neighbours are where the three steepest steps are taken away, whether they are real or
 * not: a step makes neighbours look alike, too. */
static double like_without_steps(const double *x, size_t n)
{
    size_t middle = steepest(x, 0, n), from = 0;
    size_t cuts[] = { steepest(x, 0, middle), middle, steepest(x, middle, n), n };
    double products = 0, squares = 0, before = 0;

    for (int i = 0; i < 4; i++) {
        double mean = 0;

        for (size_t k = from; k < cuts[i]; k++)
            mean += x[k] / (double)(cuts[i] - from);
        for (size_t k = from; k < cuts[i]; k++) {
            products += k ? before * (x[k] - mean) : 0;
            before = x[k] - mean;
            squares += before * before;
        }
        from = cuts[i] > from ? cuts[i] : from;
    }
    return squares > 0 ? products / squares : 0;
}

/* Values that follow each other may be alike (a machine that warms up, a neighbour that stays):
 * then the mean of several is worth less. How much is read from differences over one and over two
 * values, which a step hardly touches, and taken a little higher, because too few alarms are better
 * than too many. Values that seem a little alike by chance are a little less worth: with one
 * threshold, series of a correlation of 0.3 raised six times as many alarms as those of 0.8. */
static struct lpo_diff_noise noise_of(const double *x, size_t n)
{
    double near = half_variance(x, n, 1, true), far = half_variance(x, n, 2, true),
           root = sqrt((double)n);
    double seen = like_without_steps(x, n), like = fmax(near > 0 ? far / near - 1 : 0, seen);
    double share = fmin(1, fmax(0, (seen * root - GATE_FROM) / (GATE_TO - GATE_FROM)));
    struct lpo_diff_noise out = { 0, 0 };

    if (n > 3)
        out.like = fmin(0.97, share * (like + UPPER * (1 - like * like) / root));
    out.deviation = sqrt(near / (1 - out.like));
    if (out.deviation < LEAST_NOISE)
        out.deviation = LEAST_NOISE;
    return out;
}

/* A single value far from all around it is an outlier and not a level: it takes their median. Where
 * many are, they are a mode of their own: without them its values that come together would be a
 * level. */
static void cut_spikes(double *x, size_t n, double deviation)
{
    LPO_FREED double *before = lpo_xcalloc(n + 1, sizeof *before);
    double window[NEIGHBOURS];
    size_t cuts = 0;

    memcpy(before, x, n * sizeof *x);
    for (size_t i = 0; i < n && n >= NEIGHBOURS; i++) {
        size_t from = i < NEIGHBOURS / 2 ? 0 : i - NEIGHBOURS / 2;
        double middle;

        from = from + NEIGHBOURS > n ? n - NEIGHBOURS : from;
        memcpy(window, before + from, sizeof window);
        middle = lpo_diff_median(window, NEIGHBOURS);
        if (fabs(before[i] - middle) <= SPIKE * deviation)
            continue;
        x[i] = middle;
        cuts++;
    }
    if (is_often(cuts, n))
        memcpy(x, before, n * sizeof *x);
}

/* --- where it changed ----------------------------------------------------------------------- */

/* Of the mean of `n` values after each other, in variances of one. */
static double mean_variance(double n, double like)
{
    double rest = 1 - like;

    if (like <= 0)
        return 1 / n;
    return ((1 + like) / rest - 2 * like * (1 - pow(like, n)) / (n * rest * rest)) / n;
}

struct search {
    const double *sums; /* before each value */
    const double *variance;
    struct lpo_diff_noise noise;
    double freedom; /* of the noise */
    size_t count;
};

struct stretch {
    size_t from, to;
};

/* How far the mean of [from, to) is from that of the rest of the part, in standard errors. */
static double distance(const struct search *s, struct stretch part, struct stretch x, double *shift)
{
    double inside = s->sums[x.to] - s->sums[x.from];
    double all = s->sums[part.to] - s->sums[part.from];
    size_t n = x.to - x.from, rest = part.to - part.from - n;

    *shift = inside / (double)n - (all - inside) / (double)rest;
    return fabs(*shift) / (s->noise.deviation * sqrt(s->variance[n] + s->variance[rest]));
}

/* How many independent looks a search is worth: values that are alike give fewer. */
static double looks(const struct search *s, size_t n)
{
    return 6 * log((double)n * (1 - s->noise.like) + 3);
}

/* Below 1: chance makes one like it less often than `level` allows. */
static double unlikely(const struct search *s, double z, double shift, double tries, double level)
{
    if (fabs(expm1(shift)) < fmax(LEAST, s->noise.deviation / 2))
        return INFINITY;
    return lpo_diff_p_student(z, s->freedom) * tries / level;
}

/* Of a step at `k`. What happened last is what people wait for: it has a level of its own. */
static double unlikely_step(const struct search *s, struct stretch part, size_t k)
{
    double shift, z = distance(s, part, (struct stretch){ k, part.to }, &shift);

    if (part.to == s->count && part.to - k <= RECENT)
        return unlikely(s, z, shift, 4, LEVEL_RECENT);
    return unlikely(s, z, shift, looks(s, part.to - part.from), LEVEL_SHIFT);
}

/* The best step of a part; false where none counts. */
static bool find_step(const struct search *s, struct stretch part, struct stretch *out)
{
    double best = 1;

    for (size_t k = part.from + FEWEST; k + FEWEST <= part.to; k++) {
        double p = unlikely_step(s, part, k);

        if (p < best) {
            best = p;
            *out = (struct stretch){ k, part.to };
        }
    }
    return best < 1;
}

/* The best stretch that has another level than both sides of it. */
static bool find_plateau(const struct search *s, struct stretch part, struct stretch *out)
{
    double best = 0, change = 0, n = (double)(part.to - part.from);

    if (part.to - part.from > LONGEST_SEARCH)
        return false;
    for (size_t i = part.from + FEWEST; i + FEWEST < part.to; i++)
        for (size_t k = i + FEWEST; k + FEWEST <= part.to; k++) {
            double shift, z = distance(s, part, (struct stretch){ i, k }, &shift);

            if (z > best) {
                best = z;
                change = shift;
                *out = (struct stretch){ i, k };
            }
        }
    return best > 0 &&
           unlikely(s, best, change, looks(s, part.to - part.from) * n, LEVEL_PLATEAU) < 1;
}

static void cut_parts(const struct search *s, size_t count, bool *starts)
{
    LPO_FREED LPO_VEC(struct stretch) parts = { 0 };

    lpo_vec_push(&parts, (struct stretch){ 0, count });
    while (parts.len) {
        struct stretch part = parts.at[--parts.len], x = { 0, 0 };

        if (!find_step(s, part, &x) && !find_plateau(s, part, &x))
            continue;
        starts[x.from] = true;
        lpo_vec_push(&parts, (struct stretch){ part.from, x.from });
        lpo_vec_push(&parts, x);
        if (x.to < part.to) {
            starts[x.to] = true;
            lpo_vec_push(&parts, (struct stretch){ x.to, part.to });
        }
    }
}

/* A cut that was found in a longer part moves to where it is best between its neighbours. */
static void move_cuts(const struct search *s, size_t count, bool *starts)
{
    size_t from = 0, cut = 0;

    for (size_t i = 1; i <= count; i++) {
        double best = 0, shift;
        size_t at = cut;

        if (i < count && !starts[i])
            continue;
        for (size_t k = from + FEWEST; cut && k + FEWEST <= i; k++) {
            double z = distance(s, (struct stretch){ from, i }, (struct stretch){ k, i }, &shift);

            if (z > best) {
                best = z;
                at = k;
            }
        }
        starts[cut] = false;
        starts[at] = at > 0;
        from = at;
        cut = i < count ? i : 0;
    }
}

/* A cut was the best one of a longer part: between the levels that it has now it must still count.
 */
static void drop_weak_cuts(const struct search *s, size_t count, bool *starts)
{
    bool again = true;

    while (again) {
        size_t from = 0, cut = 0;

        again = false;
        for (size_t i = 1; i <= count; i++) {
            if (i < count && !starts[i])
                continue;
            if (cut) {
                if (unlikely_step(s, (struct stretch){ from, i }, cut) > 2) {
                    starts[cut] = false;
                    again = true;
                    break;
                }
                from = cut;
            }
            cut = i < count ? i : 0;
        }
    }
}

struct lpo_diff_noise lpo_diff_change_points(const double *values, size_t count, bool *starts)
{
    LPO_FREED double *logs = lpo_xcalloc(count + 1, sizeof *logs);
    LPO_FREED double *sums = lpo_xcalloc(count + 1, sizeof *sums);
    LPO_FREED double *variance = lpo_xcalloc(count + 1, sizeof *variance);
    struct search s = { .sums = sums, .variance = variance, .count = count };

    memset(starts, 0, count * sizeof *starts);
    for (size_t i = 0; i < count; i++)
        logs[i] = log(values[i]);
    cut_spikes(logs, count, fmax(LEAST_NOISE, sqrt(half_variance(logs, count, 1, false))));
    s.noise = noise_of(logs, count);
    s.freedom = 0.7 * (double)count;
    for (size_t i = 0; i < count; i++) {
        sums[i + 1] = sums[i] + logs[i];
        variance[i + 1] = mean_variance((double)(i + 1), s.noise.like);
    }
    if (count > 2 * FEWEST - 1) {
        cut_parts(&s, count, starts);
        move_cuts(&s, count, starts);
        drop_weak_cuts(&s, count, starts);
    }
    return s.noise;
}

/* --- figures -------------------------------------------------------------------------------- */

static const char *const row_kinds[LPO_DIFF_TABLES] = { "kernel:", "region:", "operator:" };

bool lpo_diff_figure_is_row(const char *what)
{
    return lpo_any(t, LPO_DIFF_TABLES, lpo_str_starts(what, row_kinds[t]));
}

static const struct lpo_diff_series *steps_of(const struct lpo_diff_digest *d)
{
    return lpo_find(i, d->series.at, d->series.len, d->series.at[i].kind == LPO_DIFF_STEP);
}

static double wall_of(const struct lpo_diff_digest *d)
{
    const struct lpo_diff_series *s = steps_of(d);

    if (s && d->window_ns)
        return (double)d->window_ns / (double)s->count;
    return d->devices.len ? (double)d->devices.at[0].span_ns / (d->steps ? (double)d->steps : 1)
                          : NAN;
}

static double row_of(const struct lpo_diff_digest *d, enum lpo_diff_table table, const char *name,
                     double length)
{
    LPO_AUTO(lpo_pattern) p = NULL;

    if (lpo_pattern_create(name, &p, NULL) < 0)
        return NAN;
    for (size_t i = 0; i < d->items[table].len; i++) {
        const struct lpo_diff_item *x = &d->items[table].at[i];

        if (lpo_pattern_matches(p, x->name, strlen(x->name)) ||
            (*x->detail && lpo_pattern_matches(p, x->detail, strlen(x->detail))))
            return x->known ? (double)x->ns / length : NAN;
    }
    return NAN;
}

typedef void figure_fn(void *ctx, const char *key, double value);

/* In the order in which they are shown. */
static void each_figure(const struct lpo_diff_digest *d, figure_fn *fn, void *ctx)
{
    double length = d->steps ? (double)d->steps : 1;

    if (!isnan(wall_of(d)))
        fn(ctx, "wall", wall_of(d));
    if (d->launches)
        fn(ctx, "gpu", (double)d->gpu_ns / length);
    for (size_t i = 0; i < d->figures.len; i++) {
        const struct lpo_diff_figure *f = &d->figures.at[i];
        LPO_FREED double *values = lpo_xcalloc(f->values.len + 1, sizeof *values);

        if (f->values.len)
            memcpy(values, f->values.at, f->values.len * sizeof *values);
        if (f->values.len)
            fn(ctx, f->key, lpo_diff_median(values, f->values.len));
    }
    for (size_t i = 0; d->devices.len && i < LPO_DIFF_PARTS; i++)
        if (d->devices.at[0].parts[i]) {
            char key[80];

            snprintf(key, sizeof key, "part:%s", lpo_diff_part_name(i));
            fn(ctx, key, (double)d->devices.at[0].parts[i] / length);
        }
}

struct wanted {
    const char *what;
    double value;
};

static void take_wanted(void *ctx, const char *key, double value)
{
    struct wanted *w = ctx;

    if (strcmp(key, w->what) == 0)
        w->value = value;
}

double lpo_diff_figure_of(const struct lpo_diff_digest *d, const char *what)
{
    struct wanted w = { what, NAN };

    for (int t = 0; t < LPO_DIFF_TABLES; t++)
        if (lpo_str_starts(what, row_kinds[t]))
            return row_of(d, (enum lpo_diff_table)t, what + strlen(row_kinds[t]),
                          d->steps ? (double)d->steps : 1);
    each_figure(d, take_wanted, &w);
    return w.value;
}

static void write_figure(void *ctx, const char *key, double value)
{
    if (isfinite(value))
        lpo_jw_put(ctx, LPO_KV(key, value));
}

void lpo_diff_figures_write(const struct lpo_diff_digest *d, struct lpo_str *out)
{
    struct lpo_json_writer w = lpo_json_writer(out, 0);

    lpo_jw_object(&w, NULL);
    each_figure(d, write_figure, &w);
    lpo_jw_end(&w);
}
