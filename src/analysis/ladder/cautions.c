/* SPDX-License-Identifier: Apache-2.0 */
/* What makes rungs less sure: what the capture itself did, noise, a short or late capture, idle
 * time without a cause. Said before any rung. */

#include "analysis/analysis.h"
#include "analysis/ladder/private.h"
#include "analysis/ranks/jobs.h"
#include "analysis/ranks/ranks.h"
#include "analysis/wall/steady.h"
#include "analysis/wall/wall.h"
#include "rundir/rundir.h"

enum { LEAST_KERNELS = 50, LEAST_SPAN_NS = 10000000 };

static void add(struct lpo_ladders *out, enum lpo_caution_kind kind, double value)
{
    struct lpo_caution c = { .kind = kind, .nevidence = 1 };

    c.evidence[0] = (struct lpo_evidence){ LPO_FACT_VALUE, LPO_NONE, { value, 0, 0 } };
    lpo_vec_push(&out->cautions, c);
}

/* A range around every operator, as emit_nvtx does: their names carry shapes and numbers. */
uint64_t lpo_ladder_operator_ranges(const struct lpo_trace *t)
{
    uint64_t n = 0;

    for (size_t i = 0; i < t->ranges.len; i++)
        n += strstr(lpo_trace_text(t, t->ranges.at[i].name), "op_id =") != NULL;
    return n;
}

/* Time in calls that wait for what was launched before the capture began. */
static int64_t earlier_ns(const struct ladder_work *w)
{
    int64_t ns = 0;

    for (uint32_t i = 0; i < w->g.calls.len; i++)
        if (lpo_ladder_waits_earlier(w, i)) {
            struct critical_span c = lpo_critical_times(&w->g, i);

            ns += w->g.calls.at[i].waits == LPO_NONE ? w->in_ns[i] : c.end_ns - c.start_ns;
        }
    return ns;
}

static void add_of_ladder(struct ladder_work *w, struct lpo_ladders *out)
{
    const struct lpo_coverage *c = &lpo_analysis_steady(w->a)->all->coverage;
    const struct lpo_wall *wall = lpo_analysis_steady(w->a)->wall;
    double wall_ns = (double)w->out->window.wall_ns;

    if (c->total.launches < LEAST_KERNELS)
        add(out, LPO_CAUTION_FEW, (double)c->total.launches);
    else if (wall_ns < LEAST_SPAN_NS)
        add(out, LPO_CAUTION_SHORT, wall_ns);
    if ((double)w->out->unexplained_ns > 0.1 * wall_ns)
        add(out, LPO_CAUTION_UNEXPLAINED, (double)w->out->unexplained_ns / wall_ns);
    if ((double)w->graph_gaps_ns > 0.05 * wall_ns)
        add(out, LPO_CAUTION_GRAPH_NODES, (double)w->graph_gaps_ns / wall_ns);
    if (w->out->window.earlier_ns)
        add(out, LPO_CAUTION_BUSY, (double)w->out->window.earlier_ns);
    else if ((double)earlier_ns(w) > 0.05 * wall_ns)
        add(out, LPO_CAUTION_EARLIER, (double)earlier_ns(w));
    if (wall && wall->devices.len &&
        (double)wall->devices.at[0].idle[LPO_IDLE_UNKNOWN].ns >
            0.2 * (double)wall->devices.at[0].span_ns)
        add(out, LPO_CAUTION_UNKNOWN,
            (double)wall->devices.at[0].idle[LPO_IDLE_UNKNOWN].ns /
                (double)wall->devices.at[0].span_ns);
}

void lpo_ladder_cautions(struct ladder_work *w, struct lpo_ladders *out)
{
    const struct lpo_coverage *c = &lpo_analysis_steady(w->a)->all->coverage;
    uint64_t python = w->t->python.len + w->t->python_unread,
             ranges = lpo_ladder_operator_ranges(w->t);
    double all = (double)c->total.ns, limit = w->d && w->d->max_cv > 0 ? w->d->max_cv : 0.05;
    const struct lpo_ranks *ranks = lpo_analysis_ranks(w->a);
    int64_t host = w->parts_ns[LPO_PATH_HOST] + w->parts_ns[LPO_PATH_CALLS];

    if (lpo_ranks_jobs(w->t).why != LPO_RANKS_ONE_JOB)
        add(out, LPO_CAUTION_JOBS, 1);
    for (size_t i = 0; ranks && i < ranks->rows.len; i++)
        if (ranks->rows.at[i].other_run)
            add(out, LPO_CAUTION_OTHER_RUN, (double)ranks->rows.at[i].rank);
    if (out->noise > limit)
        add(out, LPO_CAUTION_NOISE, out->noise);
    if (w->out)
        add_of_ladder(w, out);
    if (w->t->launches.len && all > 0 && (double)c->no_launch.ns > 0.05 * all)
        add(out, LPO_CAUTION_NO_LAUNCH, (double)c->no_launch.ns / all);
    /* the profiler of PyTorch itself says that stacks cost time, and that is the host's */
    if (w->out && w->out->profiler_ns > w->out->window.wall_ns / 100)
        add(out, LPO_CAUTION_PROFILER, (double)w->out->profiler_ns);
    if (w->out && python >= w->t->gpu_ops.len && python > 0 && host > w->out->window.wall_ns / 20)
        add(out, LPO_CAUTION_STACKS, (double)python);
    if (w->out && ranges >= w->t->gpu_ops.len && ranges > 0 && host > w->out->window.wall_ns / 20)
        add(out, LPO_CAUTION_RANGES, (double)ranges);
    if (w->t->captured_launches.len)
        add(out, LPO_CAUTION_CAPTURED, (double)w->t->captured_launches.len);
    if (w->t->counted_kernels)
        add(out, LPO_CAUTION_COUNTED, (double)w->t->counted_kernels);
    if (w->t->dropped)
        add(out, LPO_CAUTION_LOST, (double)w->t->dropped);
    /* what a region adopted needs no other mark */
    if (all > 0 && w->tree->nodes.len && (double)(c->outside.ns - c->adopted.ns) > 0.3 * all)
        add(out, LPO_CAUTION_OUTSIDE, (double)(c->outside.ns - c->adopted.ns) / all);
}
