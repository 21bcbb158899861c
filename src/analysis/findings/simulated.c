/* SPDX-License-Identifier: Apache-2.0 */
/* What a part of the GPU's work could save at most, by the simulation of the critical path: a
 * program that waits for its host would wait for it without that work too. */
#include <string.h>

#include "analysis/analysis.h"
#include "analysis/critical/critical.h"
#include "analysis/findings/private.h"
#include "analysis/wall/order.h"
#include "analysis/wall/timeline.h"

/* Only a GPU that waits for its host would wait for it then too: a host that never lets it wait may
 * wait itself, in ways that no trace shows. And where the trace leaves open what the GPU waited
 * for, a simulation of it shows little. */
static bool waits_for_host(const struct lpo_wall_device *d)
{
    const struct lpo_gap_sum *queued = &d->idle[LPO_IDLE_QUEUED];
    bool explained = !queued->count || queued->ns <= d->span_ns / 20 ||
                     queued->ns / (int64_t)queued->count < LPO_DEPENDENCY_NS;

    return explained && d->idle[LPO_IDLE_HOST].ns > d->span_ns / 20;
}

void lpo_findings_simulate(const struct lpo_findings_work *w)
{
    if (waits_for_host(w->critical))
        lpo_analysis_critical(w->a);
}

/* A program that asks again and again whether the GPU is done waits for it, and no call shows it.
 */
static bool polls(const struct lpo_trace *t, const struct lpo_critical_path *p)
{
    for (size_t i = 0; i < p->entries.len; i++) {
        const struct lpo_critical_entry *e = &p->entries.at[i];

        if (e->part == LPO_PATH_CALLS && e->name != LPO_NONE && e->count > p->operations &&
            strstr(lpo_trace_text(t, e->name), "Query"))
            return true;
    }
    return false;
}

static bool is_sure(const struct lpo_trace *t, const struct lpo_critical_path *p)
{
    return p->fits && p->without_launch <= p->operations / 20 && !polls(t, p);
}

/* The critical path of the only process that uses the device; NULL: several do, or the path does
 * not show what the program waits for. */
static const struct lpo_critical_path *path_of(const struct lpo_findings_work *w)
{
    const struct lpo_critical *c = lpo_analysis_critical(w->a);
    const struct lpo_gpu_op *ops = w->trace->gpu_ops.at;
    size_t from, to;

    lpo_findings_device_rows(w, &from, &to);
    for (size_t i = from; i < to; i++)
        if (ops[w->order->rows[i]].process != ops[w->order->rows[from]].process)
            return NULL;
    for (size_t i = 0; c && from < to && i < c->paths.len; i++)
        if (c->paths.at[i].process == ops[w->order->rows[from]].process)
            return is_sure(w->trace, &c->paths.at[i]) ? &c->paths.at[i] : NULL;
    return NULL;
}

int64_t lpo_findings_simulated(const struct lpo_findings_work *w, enum lpo_critical_part part,
                               int64_t ns)
{
    const struct lpo_critical_path *p = waits_for_host(w->critical) ? path_of(w) : NULL;
    int64_t most_ns;

    if (!p)
        return ns;
    /* what is not on the path cannot save more than it is there */
    most_ns = p->savings[part].known ? p->savings[part].removed_ns : p->parts.ns[part];
    if (most_ns >= ns - ns / 10) /* no clear difference */
        return ns;
    return most_ns > 0 ? most_ns : 0;
}

int64_t lpo_findings_simulated_shorter(const struct lpo_findings_work *w, const int64_t *less_ns)
{
    const struct lpo_critical_path *p = path_of(w);

    if (!p)
        return 0;
    if (!*w->simulator)
        *w->simulator = lpo_critical_simulator_create(w->a->tree);
    return lpo_critical_shorter(*w->simulator, p->process, less_ns);
}
