/* SPDX-License-Identifier: Apache-2.0 */
/* One rank that computes longer than the others makes all of them wait at the next collective.
 *
 * On the slow rank itself that is compute time. All ranks end together, so the critical device may
 * as well be one that waits: there it is exposed communication, which that finding then leaves to
 * this one. */
#include <stdlib.h>

#include "analysis/findings/private.h"
#include "analysis/ranks/jobs.h"
#include "util/xmalloc.h"

static int by_size(const void *x, const void *y)
{
    int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;

    return a < b ? -1 : a > b;
}

struct ranks {
    const struct lpo_wall_device *slow; /* computes longest; NULL: too few ranks */
    size_t count;
    int64_t median_ns;
};

static struct ranks look(const struct lpo_findings_work *w)
{
    size_t n = w->wall->devices.len;
    int64_t *sorted = lpo_xrealloc(NULL, n + 1, sizeof *sorted);
    struct ranks r = { 0 };

    for (size_t i = 0; i < n; i++) {
        const struct lpo_wall_device *d = &w->wall->devices.at[i];

        if (w->trace->devices.at[d->device].rank < 0)
            continue;
        sorted[r.count++] = d->compute_ns;
        if (!r.slow || d->compute_ns > r.slow->compute_ns)
            r.slow = d;
    }
    qsort(sorted, r.count, sizeof *sorted, by_size);
    r.median_ns = r.count ? sorted[(r.count - 1) / 2] : 0;
    free(sorted);
    /* a few ranks of a large job say nothing about the others */
    if (r.count < 2 || r.count < w->trace->ranks / 2 ||
        lpo_ranks_jobs(w->trace).why != LPO_RANKS_ONE_JOB)
        r.slow = NULL;
    return r;
}

/* What a rank computes more than the median rank; on another rank, no more than it communicates
 * longer than the slow one does. */
static struct lpo_finding *claim(struct lpo_findings_work *w, const struct ranks *r)
{
    int64_t more_ns = r->slow->compute_ns - r->median_ns,
            waits_ns = w->critical->exposed_communication_ns - r->slow->exposed_communication_ns;
    struct lpo_finding *f;

    if (r->slow == w->critical)
        return lpo_findings_claim_compute(w, LPO_FINDING_SLOW_RANK, more_ns);
    if (w->critical->parts_unknown || r->slow->parts_unknown)
        return NULL;
    f = lpo_findings_add(w, LPO_FINDING_SLOW_RANK, more_ns < waits_ns ? more_ns : waits_ns);
    if (f) {
        f->estimated = true;
        w->waits_for_rank_ns = f->saving_ns;
    }
    return f;
}

void lpo_findings_slow_rank(struct lpo_findings_work *w)
{
    struct ranks r = look(w);
    struct lpo_finding *f;

    if (!r.slow || w->trace->devices.at[w->critical->device].rank < 0 ||
        r.slow->compute_ns - r.median_ns < r.median_ns / 100 * 3)
        return;
    f = claim(w, &r);
    if (!f)
        return;
    f->device = r.slow->device;
    lpo_findings_fact(f, LPO_FACT_RANK, w->trace->devices.at[r.slow->device].rank);
    lpo_findings_fact(f, LPO_FACT_GPU_NS, (double)r.slow->compute_ns);
    lpo_findings_fact(f, LPO_FACT_RANKS, (double)r.count);
    lpo_findings_fact(f, LPO_FACT_RANKS_NS, (double)r.median_ns);
}
