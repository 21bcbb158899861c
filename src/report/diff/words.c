/* SPDX-License-Identifier: Apache-2.0 */
/* Every sentence of a comparison. */
#include <math.h>
#include <string.h>

#include "analysis/diff/diff.h"
#include "report/diff/diff.h"
#include "util/arena.h"
#include "util/str.h"
#include "util/units.h"

/* What differs, by the key of the fact; %s are the values of A and B. */
static const struct {
    const char *key, *words;
} reasons[] = {
    { "gpu", "the GPU differs: %s in A, %s in B" },
    { "gpus", "the number of GPUs differs: %s in A, %s in B" },
    { "ranks", "the number of ranks differs: %s in A, %s in B" },
    { "model", "the model differs: %s in A, %s in B" },
    { "source", "the profilers differ: %s in A, %s in B" },
    { "stacks", "the profilers' settings differ: %s in A, %s in B" },
    { "operators", "the profilers' settings differ: %s in A, %s in B" },
    { "ranges", "the programs' ranges differ: %s in A, %s in B" },
    { "coverage", "one side was recorded in part: %s in A, %s in B" },
    { "graphs", "CUDA graphs were recorded differently: %s in A, %s in B" },
    { "driver", "the driver differs: %s in A, %s in B" },
    { "power_limit_mw", "the power limit differs: %s mW in A, %s mW in B" },
    { "max_sm_clock_mhz", "the highest clock differs: %s MHz in A, %s MHz in B" },
    { "sm_clock", "the GPU ran at another clock: median of %s MHz in A, %s MHz in B (NVML)" },
    { "power", "the GPU drew another power: median of %s W in A, %s W in B (NVML)" },
    { "slowed", "the GPU was slowed down %s in A, %s in B (NVML)" },
    { "kernels", "one side has no kernels: %s launches in A, %s in B" },
    { "times", "the times are of different kinds: %s in A, %s in B" },
    { "shapes", "most operators were called with inputs of another size: %s and %s" },
    { "steps", "the number of steps differs: %s in A, %s in B; rows are compared per step" },
    { "lost", "the profilers lost records: %s in A, %s in B" },
    { "noise", "repeats vary more than run.max_cv allows: %s in A, %s in B" },
    { "no_gpu", "there is no GPU time on either side (%s in A, %s in B): host times are compared" },
    { "common_kernels", "these may be different programs: kernels that both sides have take %s of "
                        "the GPU time of A, %s of B" },
    { "nothing_common", "no kernel, region or operator is on both sides: %s and %s" },
};

const char *lpo_report_diff_reason(struct lpo_arena *a, const struct lpo_diff_difference *x)
{
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (strcmp(reasons[i].key, x->key) == 0) {
            const char *words = reasons[i].words, *first = strstr(words, "%s");
            const char *second = strstr(first + 2, "%s");

            return lpo_arena_printf(a, "%.*s%s%.*s%s%s", (int)(first - words), words, x->a,
                                    (int)(second - first - 2), first + 2, x->b, second + 2);
        }
    return lpo_arena_printf(a, "%s is %s in A and %s in B",
                            lpo_str_starts(x->key, "config.") ? x->key + 7 : x->key, x->a, x->b);
}

const char *lpo_report_diff_part(size_t part)
{
    static const char *const idle[LPO_IDLE_CAUSES] = {
        [LPO_IDLE_BLOCKED] = "idle: the host waited in a call",
        [LPO_IDLE_HOST] = "idle: the host launched too late",
        [LPO_IDLE_QUEUED] = "idle: submitted, but waiting",
        [LPO_IDLE_UNKNOWN] = "idle: cause not known",
    };

    if (part == LPO_DIFF_PART_COMMUNICATION)
        return "exposed communication";
    if (part == LPO_DIFF_PART_COPY)
        return "exposed copies";
    return part >= LPO_DIFF_PART_IDLE ? idle[part - LPO_DIFF_PART_IDLE]
                                      : lpo_region_class_name((enum lpo_region_kernel_class)part);
}

void lpo_report_diff_add_change(struct lpo_str *s, double ns)
{
    if (ns > 0)
        lpo_str_addc(s, '+');
    lpo_units_add_duration(s, (int64_t)llround(ns));
}

const char *lpo_report_diff_verdict(const struct lpo_diff *d)
{
    if (!d->comparable)
        return "not comparable";
    if (!d->wall.verdict.significant)
        return "no change";
    return d->wall.verdict.change > 0 ? "slower" : "faster";
}

static void add_basis(struct lpo_str *s, const struct lpo_diff *d)
{
    const struct lpo_diff_verdict *v = &d->wall.verdict;

    if (v->basis == LPO_DIFF_BY_RUNS)
        lpo_str_addf(s, " Tested over %llu and %llu runs.", (unsigned long long)v->n[LPO_DIFF_A],
                     (unsigned long long)v->n[LPO_DIFF_B]);
    else
        lpo_str_addf(s,
                     " One run on a side: the spread of its calls stands for the noise, what "
                     "differs from run to run is not known, and no change below %g %% is called "
                     "real. Several runs a side (lpo diff A… -- B…) show more.",
                     100 * lpo_diff_least(d));
}

/* Two memory snapshots have no times: their peaks, and the owner whose share changed most. */
static bool add_memory(struct lpo_str *s, const struct lpo_diff *d)
{
    const struct lpo_diff_figure_row *peak = NULL, *most = NULL;
    double change, largest = 0;

    for (size_t i = 0; i < d->figures.len; i++) {
        const struct lpo_diff_figure_row *f = &d->figures.at[i];
        double a = isnan(f->value[0]) ? 0 : f->value[0], b = isnan(f->value[1]) ? 0 : f->value[1];

        if (strcmp(f->key, LPO_DIFF_SNAPSHOT_PEAK) == 0 && a > 0 && b > 0)
            peak = f;
        if (lpo_str_starts(f->key, LPO_DIFF_SNAPSHOT_OWNER) && fabs(b - a) > fabs(largest)) {
            most = f;
            largest = b - a;
        }
    }
    if (!peak)
        return false;
    change = peak->value[1] / peak->value[0] - 1;
    lpo_str_add(s, "Peak of GPU memory: ");
    lpo_units_add_bytes(s, peak->value[0]);
    lpo_str_add(s, " in A, ");
    lpo_units_add_bytes(s, peak->value[1]);
    lpo_str_addf(s, " in B: %+.2f %%.", 100 * change);
    if (!most)
        return true;
    lpo_str_addf(s, " Most changed: %s, by %s", most->key + strlen(LPO_DIFF_SNAPSHOT_OWNER),
                 largest < 0 ? "-" : "+");
    lpo_units_add_bytes(s, fabs(largest));
    lpo_str_add(s, ".");
    return true;
}

const char *lpo_report_diff_sentence(struct lpo_arena *a, const struct lpo_diff *d)
{
    const struct lpo_diff_wall *w = &d->wall;
    LPO_STR s = { 0 };

    if (!d->comparable) {
        lpo_str_add(&s, "Not comparable: ");
        for (size_t i = 0; i < d->differences.len && d->differences.at[i].fatal; i++)
            lpo_str_addf(&s, "%s%s", i ? "; " : "",
                         lpo_report_diff_reason(a, &d->differences.at[i]));
        lpo_str_add(&s, ". The numbers below describe two different things.");
        return lpo_arena_strdup(a, s.at);
    }
    if (!w->known && w->step_ns[LPO_DIFF_A] == 0 && w->step_ns[LPO_DIFF_B] == 0 &&
        add_memory(&s, d))
        return lpo_arena_strdup(a, s.at);
    lpo_str_addf(&s, "%s%s: ", w->known ? "Wall time" : "GPU time", d->unit ? " per step" : "");
    lpo_units_add_duration(&s, (int64_t)llround(w->step_ns[LPO_DIFF_A]));
    lpo_str_add(&s, " in A, ");
    lpo_units_add_duration(&s, (int64_t)llround(w->step_ns[LPO_DIFF_B]));
    lpo_str_addf(&s, " in B: %s%.2f %%", w->verdict.significant ? "" : "~",
                 100 * w->verdict.change);
    lpo_str_add(&s, w->verdict.significant ? (w->verdict.change > 0 ? ", slower." : ", faster.")
                                           : ", which chance can explain.");
    add_basis(&s, d);
    return lpo_arena_strdup(a, s.at);
}
