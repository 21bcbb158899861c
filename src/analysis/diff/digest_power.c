/* SPDX-License-Identifier: Apache-2.0 */
/* What NVML saw while the run went on: its energy, and the clocks, power and heat that two runs
 * should share before their times are compared. */
#include <math.h>
#include <stdlib.h>

#include "analysis/analysis.h"
#include "analysis/diff/private.h"
#include "analysis/power/power.h"
#include "rundir/rundir.h"
#include "trace/trace.h"
#include "util/err.h"
#include "util/file.h"
#include "util/path.h"
#include "util/str.h"

/* Below so many samples a median is that of a moment. */
enum { FEWEST_SAMPLES = 3 };

struct stretch {
    int64_t from_ns, to_ns; /* unix time */
};

static struct lpo_power *read_samples(const struct lpo_rundir *d)
{
    const char *stage = d->dir ? lpo_rundir_stage_with(d, LPO_ROLE_POWER) : NULL;
    const char *file = stage ? lpo_path_join(d->arena, stage, "samples.csv") : NULL;
    LPO_AUTO(lpo_file_text) text = NULL;
    struct lpo_power *p = NULL;
    struct lpo_err err = { 0 };

    if (!file || !lpo_rundir_has(d, file) || lpo_rundir_text(d, file, &text, &err) < 0 ||
        lpo_power_parse(text->at, text->len, &p, &err) < 0)
        return NULL;
    return p;
}

/* Of all GPUs over the time that NVML was asked; NAN: not known. */
static double energy_of(const struct lpo_power *p)
{
    double joules = 0;

    for (size_t i = 0; i < p->gpus.len; i++) {
        const struct lpo_power_gpu *g = &p->gpus.at[i];
        struct lpo_measure m;

        if (!g->samples.len)
            continue;
        m = lpo_power_joules(g, g->samples.at[0].unix_ns,
                             g->samples.at[g->samples.len - 1].unix_ns);
        if (!lpo_measure_known(m))
            return NAN;
        joules += m.value;
    }
    return joules;
}

/* --- which samples -------------------------------------------------------------------------- */

/* From the first GPU operation to the last. */
static bool trace_stretch(const struct lpo_diff_builder *b, struct stretch *out)
{
    const struct lpo_trace *t = b->a->trace;
    int64_t first = INT64_MAX, last = INT64_MIN;

    for (size_t i = 0; i < t->gpu_ops.len; i++) {
        if (t->gpu_ops.at[i].flags & LPO_GPU_OP_UNTIMED)
            continue;
        first = t->gpu_ops.at[i].start_ns < first ? t->gpu_ops.at[i].start_ns : first;
        last = t->gpu_ops.at[i].end_ns > last ? t->gpu_ops.at[i].end_ns : last;
    }
    return t->epoch_ns != LPO_NO_TIME && first <= last &&
           !__builtin_add_overflow(first, t->epoch_ns, &out->from_ns) &&
           !__builtin_add_overflow(last, t->epoch_ns, &out->to_ns);
}

/* From the start to the end of the stage that left the trace. */
static bool stage_stretch(const struct lpo_diff_builder *b, struct stretch *out)
{
    const struct lpo_rundir *d = b->dir;

    for (size_t i = 0; d->has_manifest && i < d->manifest.nstages; i++) {
        const struct lpo_stage_record *s = &d->manifest.stages[i];

        if (!lpo_streq(s->name, b->source->stage) || s->wall_ns <= 0)
            continue;
        out->from_ns = s->started_ns;
        return !__builtin_add_overflow(s->started_ns, s->wall_ns, &out->to_ns);
    }
    return false;
}

typedef LPO_VEC(const struct lpo_power_sample *) picked;

/* Samples of a GPU at rest say nothing about the clocks under load. Where NVML does not report the
 * use, every sample counts. */
static bool at_rest(const struct lpo_power_sample *s)
{
    return (s->known & (1u << LPO_POWER_GPU_PERCENT)) && s->value[LPO_POWER_GPU_PERCENT] == 0;
}

static size_t pick(const struct lpo_power *p, struct stretch w, picked *out)
{
    out->len = 0;
    for (size_t g = 0; g < p->gpus.len; g++)
        for (size_t i = 0; i < p->gpus.at[g].samples.len; i++) {
            const struct lpo_power_sample *s = &p->gpus.at[g].samples.at[i];

            if (s->unix_ns >= w.from_ns && s->unix_ns <= w.to_ns && !at_rest(s))
                lpo_vec_push(out, s);
        }
    return out->len;
}

/* --- medians -------------------------------------------------------------------------------- */

static int by_size(const void *a, const void *b)
{
    const double *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

static double median_of(const picked *samples, enum lpo_power_column column)
{
    double *values = lpo_xcalloc(samples->len + 1, sizeof *values), median = NAN;
    size_t n = 0;

    for (size_t i = 0; i < samples->len; i++)
        if (samples->at[i]->known & (1u << column))
            values[n++] = (double)samples->at[i]->value[column];
    qsort(values, n, sizeof *values, by_size);
    if (n)
        median = (values[(n - 1) / 2] + values[n / 2]) / 2;
    free(values);
    return median;
}

static void describe(const picked *samples, struct lpo_diff_load *out)
{
    uint64_t slowed = 0, known = 0;

    out->samples = samples->len;
    out->sm_mhz = median_of(samples, LPO_POWER_SM_MHZ);
    out->watts = median_of(samples, LPO_POWER_MW) / 1000;
    out->celsius = median_of(samples, LPO_POWER_CELSIUS);
    for (size_t i = 0; i < samples->len; i++) {
        uint64_t reasons = samples->at[i]->value[LPO_POWER_THROTTLE] & lpo_power_throttle_slows;

        if (!(samples->at[i]->known & (1u << LPO_POWER_THROTTLE)))
            continue;
        known++;
        slowed += reasons != 0;
        out->reasons |= reasons;
    }
    out->slowed = known ? (double)slowed / (double)known : NAN;
}

double lpo_diff_digest_power(struct lpo_diff_builder *b)
{
    LPO_AUTO(lpo_power) p = read_samples(b->dir);
    struct stretch w = { 0 };
    picked samples = { 0 };

    if (!p)
        return NAN;
    /* the narrowest stretch that has enough samples: a trace may be shorter than their distance */
    if ((trace_stretch(b, &w) && pick(p, w, &samples) >= FEWEST_SAMPLES) ||
        (stage_stretch(b, &w) && pick(p, w, &samples) >= FEWEST_SAMPLES) ||
        pick(p, (struct stretch){ INT64_MIN, INT64_MAX }, &samples) >= FEWEST_SAMPLES)
        describe(&samples, &b->out->load);
    lpo_vec_free(&samples);
    return energy_of(p);
}
