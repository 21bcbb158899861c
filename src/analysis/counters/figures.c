/* SPDX-License-Identifier: Apache-2.0 */
/* The figures of one launch, and which of them may be shown. */

#include "analysis/counters/sampled.h"

/* A figure whose standard error is a larger share of it is not printed. */
static const double most_error = 0.2;
static const double least_r2 = 0.9;
bool lpo_counters_config_known(const struct lpo_sampled_gpu *g, size_t metric,
                               const struct lpo_sampled_config *c)
{
    size_t at = metric * g->unknowns + c->unknown;

    return c->single && g->metrics[metric].r2 >= least_r2 && g->value[at] > 0 &&
           g->error[at] <= most_error * g->value[at];
}

const struct lpo_sampled_metric *lpo_counters_sampled_find(const struct lpo_sampled_gpu *g,
                                                           enum lpo_counters_meaning meaning)
{
    return lpo_find(i, g->metrics, g->nmetrics, g->metrics[i].meaning == meaning);
}

static double mean_ns(const struct lpo_sampled_config *c)
{
    return (double)c->ns / (double)c->launches;
}

static size_t index_of(const struct lpo_sampled_gpu *g, const struct lpo_sampled_metric *m)
{
    return (size_t)(m - g->metrics) * g->unknowns;
}

bool lpo_counters_config_dram(const struct lpo_sampled_gpu *g, const struct lpo_sampled_config *c,
                              double *bytes, double *error)
{
    double square = 0, r2 = 0;

    *bytes = 0;
    for (size_t m = 0; m < g->nmetrics; m++) {
        size_t at = m * g->unknowns + c->unknown;

        if (!lpo_counters_is_dram(g->metrics[m].meaning) ||
            lpo_counters_sampled_find(g, g->metrics[m].meaning) != &g->metrics[m])
            continue;
        if (g->metrics[m].meaning == LPO_COUNTER_DRAM_BYTES &&
            lpo_counters_sampled_find(g, LPO_COUNTER_DRAM_READ))
            continue; /* the same bytes once more */
        *bytes += g->value[at];
        square += g->error[at] * g->error[at];
        r2 = fmax(r2, g->metrics[m].r2);
    }
    *error = sqrt(square);
    return c->single && r2 >= least_r2 && *bytes > 0 && *error <= most_error * *bytes;
}

bool lpo_counters_config_share(const struct lpo_sampled_gpu *g, const struct lpo_sampled_config *c,
                               enum lpo_counters_meaning meaning, double *percent, double *error)
{
    const struct lpo_sampled_metric *m = lpo_counters_sampled_find(g, meaning);
    size_t at = m ? index_of(g, m) + c->unknown : 0;

    if (!m || m->kind != LPO_COUNTER_SHARE)
        return false;
    *percent = g->value[at] / mean_ns(c);
    *error = g->error[at] / mean_ns(c);
    return lpo_counters_config_known(g, (size_t)(m - g->metrics), c);
}

double lpo_counters_others_share(const struct lpo_sampled_gpu *g)
{
    double all = 0, others = 0;

    for (size_t m = 0; m < g->nmetrics; m++)
        if (lpo_counters_is_dram(g->metrics[m].meaning)) {
            all += g->metrics[m].total;
            others += g->metrics[m].others;
        }
    return all > 0 ? others / all : 0;
}

double lpo_counters_quiet_share(const struct lpo_sampled_gpu *g)
{
    double all = 0, quiet = 0;

    for (size_t m = 0; m < g->nmetrics; m++)
        if (lpo_counters_is_dram(g->metrics[m].meaning)) {
            all += g->metrics[m].total;
            quiet += g->metrics[m].quiet;
        }
    return all > 0 ? quiet / all : 0;
}
