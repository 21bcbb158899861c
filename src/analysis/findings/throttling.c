/* SPDX-License-Identifier: Apache-2.0 */
/* The GPU was slowed down, and NVML says why. Kernels would be shorter by the clock that was
 * missing at most; how much of that depends on what holds them back. */
#include <stdlib.h>

#include "analysis/findings/private.h"
#include "analysis/power/power.h"
#include "rundir/rundir.h"
#include "util/err.h"
#include "util/file.h"
#include "util/path.h"

enum { LEAST_SAMPLES = 5 };

struct slowed {
    uint64_t samples, slowed, reasons;
    double clock_sum, highest_mhz; /* of slowed samples; of all samples of the run */
};

static bool has(const struct lpo_power_sample *s, enum lpo_power_column c)
{
    return s->known & (1u << c);
}

/* The samples of the critical device. Numbers of CUDA and NVML may differ, so that of several GPUs
 * none is taken unless the trace has all of them. */
static const struct lpo_power_gpu *find_gpu(const struct lpo_findings_work *w,
                                            const struct lpo_power *p)
{
    int64_t id = w->trace->devices.at[w->critical->device].id;

    if (p->gpus.len == 1 && w->trace->devices.len == 1)
        return &p->gpus.at[0];
    for (size_t i = 0; i < p->gpus.len && p->gpus.len == w->trace->devices.len; i++)
        if ((int64_t)p->gpus.at[i].gpu == id)
            return &p->gpus.at[i];
    return NULL;
}

static void look(const struct lpo_power_gpu *g, int64_t from_ns, int64_t to_ns, struct slowed *out)
{
    for (size_t i = 0; i < g->samples.len; i++) {
        const struct lpo_power_sample *s = &g->samples.at[i];
        uint64_t why;

        if (!has(s, LPO_POWER_SM_MHZ) || !has(s, LPO_POWER_THROTTLE))
            continue;
        if ((double)s->value[LPO_POWER_SM_MHZ] > out->highest_mhz)
            out->highest_mhz = (double)s->value[LPO_POWER_SM_MHZ];
        if (s->unix_ns < from_ns || s->unix_ns > to_ns)
            continue;
        out->samples++;
        why = s->value[LPO_POWER_THROTTLE] & lpo_power_throttle_slows;
        if (!why)
            continue;
        out->slowed++;
        out->reasons |= why;
        out->clock_sum += (double)s->value[LPO_POWER_SM_MHZ];
    }
}

static void judge(struct lpo_findings_work *w, const struct slowed *s)
{
    double clock, share, missing, carry = 0;
    int64_t *want;
    struct lpo_finding *f;

    if (s->samples < LEAST_SAMPLES || !s->slowed || !(s->highest_mhz > 0))
        return;
    clock = s->clock_sum / (double)s->slowed;
    share = (double)s->slowed / (double)s->samples;
    missing = 1 - clock / s->highest_mhz;
    want = lpo_findings_wants(w);
    for (size_t i = 0; i < w->slack.count; i++)
        lpo_findings_want(&w->slack, want, i, share * missing, &carry);
    f = lpo_findings_claim(w, LPO_FINDING_THROTTLING, want);
    free(want);
    if (!f)
        return;
    lpo_findings_fact(f, LPO_FACT_REASONS, (double)s->reasons);
    lpo_findings_fact(f, LPO_FACT_SLOWED, share);
    lpo_findings_fact(f, LPO_FACT_CLOCK_MHZ, clock);
    lpo_findings_fact(f, LPO_FACT_MAX_CLOCK_MHZ, s->highest_mhz);
}

void lpo_findings_throttling(struct lpo_findings_work *w)
{
    const char *stage = w->d && w->d->dir ? lpo_rundir_stage_with(w->d, LPO_ROLE_POWER) : NULL;
    const char *file = stage ? lpo_path_join(w->d->arena, stage, "samples.csv") : NULL;
    struct lpo_err ignored = { 0 }; /* the chapter on power shows what is wrong with the file */
    const struct lpo_power_gpu *gpu;
    LPO_AUTO(lpo_file_text) text = NULL;
    LPO_AUTO(lpo_power) p = NULL;
    struct slowed s = { 0 };
    int64_t from_ns, to_ns;

    if (!file || !lpo_rundir_has(w->d, file) || w->trace->epoch_ns == LPO_NO_TIME ||
        lpo_rundir_text(w->d, file, &text, &ignored) < 0 ||
        lpo_power_parse(text->at, text->len, &p, &ignored) < 0)
        return;
    gpu = find_gpu(w, p);
    if (!gpu || __builtin_add_overflow(w->critical->start_ns, w->trace->epoch_ns, &from_ns) ||
        __builtin_add_overflow(w->critical->end_ns, w->trace->epoch_ns, &to_ns))
        return;
    look(gpu, from_ns, to_ns, &s);
    judge(w, &s);
}
