/* SPDX-License-Identifier: Apache-2.0 */
/* One rank that computes longer than the others makes all of them wait at the next collective. */
#include <stdlib.h>

#include "analysis/findings/private.h"
#include "util/xmalloc.h"

static int by_size(const void *x, const void *y)
{
    int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;

    return a < b ? -1 : a > b;
}

/* What a rank computes more than the median rank is what it could save: in compute time, so that it
 * is claimed like that of kernels. */
void lpo_findings_slow_rank(struct lpo_findings_work *w)
{
    size_t n = w->wall->devices.len, ranks = 0;
    int64_t *sorted = lpo_xrealloc(NULL, n + 1, sizeof *sorted), median;
    struct lpo_finding *f;

    for (size_t i = 0; i < n; i++)
        if (w->trace->devices.at[w->wall->devices.at[i].device].rank >= 0)
            sorted[ranks++] = w->wall->devices.at[i].compute_ns;
    qsort(sorted, ranks, sizeof *sorted, by_size);
    median = ranks ? sorted[(ranks - 1) / 2] : 0;
    free(sorted);
    if (ranks < 2 || w->trace->devices.at[w->critical->device].rank < 0 ||
        w->critical->compute_ns - median < median / 100 * 3)
        return;
    f = lpo_findings_claim_compute(w, LPO_FINDING_SLOW_RANK, w->critical->compute_ns - median);
    if (!f)
        return;
    lpo_findings_fact(f, LPO_FACT_RANK, w->trace->devices.at[w->critical->device].rank);
    lpo_findings_fact(f, LPO_FACT_GPU_NS, (double)w->critical->compute_ns);
    lpo_findings_fact(f, LPO_FACT_RANKS, (double)ranks);
    lpo_findings_fact(f, LPO_FACT_RANKS_NS, (double)median);
}
