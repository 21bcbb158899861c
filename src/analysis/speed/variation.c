/* SPDX-License-Identifier: Apache-2.0 */
/* How much repeats of one sample differ. */

#include "analysis/speed/variation.h"
#include "rundir/rundir.h"
#include "util/json.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

/* Steps of one repeat differ by nature, so inter_token_ms is not among them. */
static const char *const figures[] = { "prefill_ms", "ttft_ms", "decode_ms", "total_ms",
                                       "tokens_per_s" };

struct repeat {
    const char *sample;
    double value;
};

static int by_sample(const void *a, const void *b)
{
    const struct repeat *x = a, *y = b;
    int order = strcmp(x->sample, y->sample);

    return order ? order : (x->value > y->value) - (x->value < y->value);
}

static double cv_of(const struct repeat *r, size_t n)
{
    double sum = 0, squares = 0, mean;

    for (size_t i = 0; i < n; i++)
        sum += r[i].value;
    mean = sum / (double)n;
    for (size_t i = 0; i < n; i++)
        squares += (r[i].value - mean) * (r[i].value - mean);
    return mean > 0 ? sqrt(squares / (double)(n - 1)) / mean : NAN;
}

static void figure_variation(const struct lpo_json *samples, struct repeat *rows,
                             const char *figure, struct lpo_variation *worst)
{
    size_t n = 0;

    LPO_JSON_EACH(s, samples)
    {
        const struct lpo_json *name = lpo_json_get(s, "sample");
        double value = lpo_json_real(lpo_json_get(s, figure), NAN);

        if (isfinite(value)) /* the name of a sample is a number or text; both have digits */
            rows[n++] = (struct repeat){ name && name->text ? name->text : "", value };
    }
    if (n)
        qsort(rows, n, sizeof *rows, by_sample);
    for (size_t i = 0, end; i < n; i = end) {
        double cv;

        for (end = i + 1; end < n && strcmp(rows[end].sample, rows[i].sample) == 0;)
            end++;
        cv = end - i > 1 ? cv_of(rows + i, end - i) : NAN;
        if (isfinite(cv) && (!worst->repeats || cv > worst->cv)) {
            worst->cv = cv;
            worst->figure = figure;
            worst->repeats = end - i;
        }
    }
}

struct lpo_variation lpo_speed_variation(const struct lpo_json *metrics, const char *stage)
{
    const struct lpo_json *samples = lpo_json_get(metrics, "samples");
    struct lpo_variation worst = { .stage = stage };
    LPO_FREED struct repeat *rows = NULL;

    if (!samples || samples->kind != LPO_JSON_ARRAY || !samples->count)
        return worst;
    rows = lpo_xcalloc(samples->count, sizeof *rows);
    for (size_t i = 0; i < COUNT(figures); i++)
        figure_variation(samples, rows, figures[i], &worst);
    return worst;
}

/* The worst of the stages that are `only`, or of those that are not `never`. */
static struct lpo_variation worst_of(const struct lpo_rundir *d, const char *only,
                                     const char *never)
{
    struct lpo_variation worst = { 0 };

    for (size_t i = 0; i < d->speeds.len; i++) {
        const struct lpo_speed *s = &d->speeds.at[i];
        struct lpo_variation v;

        if (only ? !lpo_streq(s->stage, only) : lpo_streq(s->stage, never))
            continue;
        v = lpo_speed_variation(s->metrics, s->stage);
        if (v.repeats && (!worst.repeats || v.cv > worst.cv))
            worst = v;
    }
    return worst;
}

struct lpo_variation lpo_speed_run_variation(const struct lpo_rundir *d)
{
    const char *plain = lpo_rundir_stage_with(d, LPO_ROLE_UNDISTURBED);
    struct lpo_variation worst = worst_of(d, plain ? plain : "", NULL);

    return worst.repeats ? worst : worst_of(d, NULL, lpo_rundir_stage_with(d, LPO_ROLE_COUNTERS));
}
