/* SPDX-License-Identifier: Apache-2.0 */
#include "report/tables/launch_cells.h"

#include "region/cells.h"
#include "report/doc/doc.h"

void lpo_report_row_sum_extreme(struct lpo_table *t, const struct lpo_sum *s, int64_t ns)
{
    if (!lpo_region_sum_known(s) || ns == LPO_NO_TIME)
        lpo_doc_row_unknown(t);
    else
        lpo_doc_row_ns(t, ns);
}

/* The time of a kernel in a CUDA graph that was timed as a whole is a share of the graph's. Over
 * all kernels of the graph the shares add up to what was measured, so a sum is an estimate only
 * where some of them are left out. */
void lpo_report_row_sum_ns(struct lpo_table *t, const struct lpo_sum *s, int64_t ns, bool some)
{
    if (some && lpo_region_sum_known(s) && lpo_region_sum_estimated(s))
        lpo_doc_row_measure(t, lpo_measure_estimated((double)ns));
    else
        lpo_report_row_sum_extreme(t, s, ns);
}

void lpo_report_row_sum_share(struct lpo_table *t, const struct lpo_sum *s, int64_t total_ns,
                              bool some)
{
    if (!lpo_region_sum_known(s))
        lpo_doc_row_unknown(t);
    else if (some && lpo_region_sum_estimated(s) && total_ns > 0)
        lpo_doc_row_measure(t, lpo_measure_estimated(100 * (double)s->ns / (double)total_ns));
    else
        lpo_doc_row_share(t, (double)s->ns, (double)total_ns);
}
