/* SPDX-License-Identifier: Apache-2.0 */
/* What else is known of regions and the run: hardware counters, and how far they are from the
 * limits. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"
#include "analysis/diff/private.h"
#include "analysis/limits/limits.h"
#include "region/scope.h"
#include "trace/metric_rules.h"
#include "trace/trace.h"
#include "util/arena.h"
#include "util/str.h"

enum {
    MOST_METRICS = 256,    /* columns of a trace: ncu may have thousands */
    MOST_MEASURES = 20000, /* of a run */
};

const char *lpo_diff_measure_path(const struct lpo_diff_digest *d, const struct lpo_diff_measure *m)
{
    return m->region == UINT32_MAX ? LPO_DIFF_WHOLE_RUN
                                   : d->items[LPO_DIFF_REGIONS].at[m->region].name;
}

static void add(struct lpo_diff_builder *b, uint32_t region, const char *name, const char *unit,
                double value)
{
    if (isfinite(value) && b->out->measures.len < MOST_MEASURES)
        lpo_vec_push(&b->out->measures, (struct lpo_diff_measure){ region, name, unit, value });
}

/* What ncu says of the GPU is the same in every row, and no counter. */
static size_t pick_columns(const struct lpo_trace *t, uint32_t *out)
{
    size_t n = 0;

    for (uint32_t m = 0; m < t->metrics.len && n < MOST_METRICS; m++)
        if (!lpo_str_starts(lpo_trace_text(t, t->metrics.at[m].name), "device__"))
            out[n++] = m;
    return n;
}

/* Regions that are one line are put together by the rule of each metric. */
static void add_counters(struct lpo_diff_builder *b)
{
    const struct lpo_region_scope *all = lpo_analysis_all(b->a);
    const struct lpo_trace *t = b->a->trace;
    uint32_t columns[MOST_METRICS];
    size_t n = pick_columns(t, columns);
    size_t lines = b->out->items[LPO_DIFF_REGIONS].len, nodes = b->a->tree->nodes.len;
    struct lpo_metric_sum *sums = lpo_xcalloc(lines * n + 1, sizeof *sums);

    for (size_t i = 0; i < all->rows.len && n; i++) {
        const struct lpo_region_row *r = &all->rows.at[i];
        uint32_t line = b->region_of[r->node == LPO_NODE_OUTSIDE ? nodes : r->node];

        if (r->metrics == LPO_NONE || line == LPO_NONE)
            continue;
        for (size_t m = 0; m < n; m++)
            lpo_region_metric_merge(
                t->metrics.at[columns[m]].combine, &sums[line * n + m],
                &all->metric_sums.at[(size_t)r->metrics * t->metrics.len + columns[m]]);
    }
    for (size_t m = 0; m < n; m++) {
        const struct lpo_metric *metric = &t->metrics.at[columns[m]];
        const char *name = lpo_arena_strdup(b->out->arena, lpo_trace_text(t, metric->name));
        const char *unit = lpo_arena_strdup(b->out->arena, lpo_trace_text(t, metric->unit));

        for (uint32_t line = 0; line < lines; line++)
            if (sums[line * n + m].weight != 0)
                add(b, line, name, unit,
                    lpo_region_metric_value(metric->combine, &sums[line * n + m]));
    }
    free(sums);
}

/* Each kernel is in one cell, and in the row of every region around it. */
static void add_whole_run(struct lpo_diff_builder *b)
{
    const struct lpo_region_cells *c = lpo_analysis_all(b->a)->cells;
    const struct lpo_trace *t = b->a->trace;
    uint32_t columns[MOST_METRICS];
    size_t n = pick_columns(t, columns);

    for (size_t m = 0; m < n; m++) {
        const struct lpo_metric *metric = &t->metrics.at[columns[m]];
        struct lpo_metric_sum sum = { 0, 0 };

        for (size_t i = 0; i < c->cells.len; i++)
            if (c->cells.at[i].metrics != LPO_NONE)
                lpo_region_metric_merge(
                    metric->combine, &sum,
                    &c->metric_sums
                         .at[(size_t)c->cells.at[i].metrics * t->metrics.len + columns[m]]);
        if (sum.weight != 0)
            add(b, UINT32_MAX, lpo_arena_strdup(b->out->arena, lpo_trace_text(t, metric->name)),
                lpo_arena_strdup(b->out->arena, lpo_trace_text(t, metric->unit)),
                lpo_region_metric_value(metric->combine, &sum));
    }
}

static uint32_t region_called(const struct lpo_diff_digest *d, const char *path)
{
    for (uint32_t i = 0; i < d->items[LPO_DIFF_REGIONS].len; i++)
        if (strcmp(d->items[LPO_DIFF_REGIONS].at[i].name, path) == 0)
            return i;
    return UINT32_MAX;
}

/* Only regions that are lines of their own: shares of several do not add up. */
static void add_limits(struct lpo_diff_builder *b)
{
    const struct lpo_limits *l = lpo_analysis_limits(b->dir, b->source, NULL);

    for (size_t i = 0; l && i < l->rows.len; i++) {
        const struct lpo_limit_row *r = &l->rows.at[i];
        uint32_t region = region_called(b->out, r->path);

        if (region == UINT32_MAX)
            continue;
        if (lpo_measure_known(r->share))
            add(b, region, "limit_share", "share", r->share.value);
        if (lpo_measure_known(r->mfu))
            add(b, region, "mfu", "share", r->mfu.value);
        if (lpo_measure_known(r->bandwidth_use))
            add(b, region, "bandwidth_use", "share", r->bandwidth_use.value);
    }
}

void lpo_diff_digest_measures(struct lpo_diff_builder *b)
{
    add_whole_run(b);
    add_counters(b);
    add_limits(b);
}
