/* SPDX-License-Identifier: Apache-2.0 */
/* What makes findings less sure: noise, a short or late capture, idle time without a cause. */
#include "analysis/analysis.h"
#include "analysis/findings/private.h"
#include "analysis/ranks/jobs.h"
#include "analysis/wall/steady.h"
#include "region/scope.h"
#include "rundir/rundir.h"

enum { LEAST_KERNELS = 50, LEAST_SPAN_NS = 10000000 };

static void add(struct lpo_findings_work *w, enum lpo_caution_kind kind, enum lpo_fact fact,
                double value)
{
    struct lpo_caution c = { .kind = kind, .nevidence = 1 };

    c.evidence[0] = (struct lpo_evidence){ fact, value, LPO_NONE };
    lpo_vec_push(&w->out->cautions, c);
}

void lpo_findings_cautions(struct lpo_findings_work *w)
{
    const struct lpo_coverage *c = &lpo_analysis_steady(w->a)->all->coverage;
    uint64_t python = w->trace->python.len + w->trace->python_unread;
    double all = (double)c->total.ns, limit = w->d && w->d->max_cv > 0 ? w->d->max_cv : 0.05;

    if (lpo_ranks_jobs(w->trace).why != LPO_RANKS_ONE_JOB)
        add(w, LPO_CAUTION_JOBS, LPO_FACT_SHARE, 1);
    if (w->out->noise > limit)
        add(w, LPO_CAUTION_NOISE, LPO_FACT_SHARE, w->out->noise);
    if (w->out->any_device && c->total.launches < LEAST_KERNELS)
        add(w, LPO_CAUTION_FEW, LPO_FACT_LAUNCHES, (double)c->total.launches);
    else if (w->out->any_device && w->out->span_ns < LEAST_SPAN_NS)
        add(w, LPO_CAUTION_SHORT, LPO_FACT_SPAN_NS, (double)w->out->span_ns);
    if (w->trace->launches.len && all > 0 && (double)c->no_launch.ns > 0.05 * all)
        add(w, LPO_CAUTION_NO_LAUNCH, LPO_FACT_SHARE, (double)c->no_launch.ns / all);
    if (w->critical &&
        (double)w->critical->idle[LPO_IDLE_UNKNOWN].ns > 0.2 * (double)w->critical->span_ns)
        add(w, LPO_CAUTION_UNKNOWN, LPO_FACT_SHARE,
            (double)w->critical->idle[LPO_IDLE_UNKNOWN].ns / (double)w->critical->span_ns);
    /* what a region adopted needs no other mark */
    if (all > 0 && w->a->tree->nodes.len && (double)(c->outside.ns - c->adopted.ns) > 0.3 * all) {
        add(w, LPO_CAUTION_OUTSIDE, LPO_FACT_SHARE, (double)(c->outside.ns - c->adopted.ns) / all);
        lpo_findings_name_outside(w, &w->out->cautions.at[w->out->cautions.len - 1], c->total.ns);
    }
    /* the profiler of PyTorch itself says that stacks cost time, and that is the host's */
    if (w->critical && python >= w->trace->gpu_ops.len && python > 0 &&
        (double)w->critical->idle[LPO_IDLE_HOST].ns > 0.05 * (double)w->critical->span_ns)
        add(w, LPO_CAUTION_STACKS, LPO_FACT_LAUNCHES, (double)python);
    if (w->trace->counted_kernels)
        add(w, LPO_CAUTION_COUNTED, LPO_FACT_LAUNCHES, (double)w->trace->counted_kernels);
    if (w->trace->dropped)
        add(w, LPO_CAUTION_LOST, LPO_FACT_LOST, (double)w->trace->dropped);
}
