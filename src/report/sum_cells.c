#include "report/sum_cells.h"

#include "region/cells.h"
#include "report/doc.h"

void lpo_row_sum_extreme(struct lpo_table *t, const struct lpo_sum *s, int64_t ns)
{
    if (!lpo_sum_known(s) || ns == LPO_NO_TIME)
        lpo_row_unknown(t);
    else
        lpo_row_ns(t, ns);
}

void lpo_row_sum_ns(struct lpo_table *t, const struct lpo_sum *s, int64_t ns, bool some)
{
    if (some && lpo_sum_known(s) && lpo_sum_estimated(s))
        lpo_row_measure(t, lpo_estimated((double)ns));
    else
        lpo_row_sum_extreme(t, s, ns);
}

void lpo_row_sum_share(struct lpo_table *t, const struct lpo_sum *s, int64_t total_ns, bool some)
{
    if (!lpo_sum_known(s))
        lpo_row_unknown(t);
    else if (some && lpo_sum_estimated(s) && total_ns > 0)
        lpo_row_measure(t, lpo_estimated(100 * (double)s->ns / (double)total_ns));
    else
        lpo_row_share(t, (double)s->ns, (double)total_ns);
}
