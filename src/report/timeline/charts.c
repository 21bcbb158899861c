/* SPDX-License-Identifier: Apache-2.0 */
/* Quantities over time beside the lanes of their GPU: power and clocks, memory, sampled counters.
 */

#include "analysis/analysis.h"
#include "report/doc/doc.h"
#include "report/over_time.h"
#include "report/timeline/private.h"
#include "rundir/rundir.h"

enum { MOST_POINTS = 20000 }; /* of one counter */

/* NVML numbers GPUs in another order than CUDA may: its samples are a group of their own. */
static uint32_t lane_of(struct lpo_timeline *b, const struct lpo_chart_line *l)
{
    const char *group = l->device != LPO_NONE
                            ? lpo_timeline_group(b, (uint16_t)l->device)
                            : lpo_arena_printf(b->doc->arena, "NVML %s", l->scope);

    for (size_t i = 0; i < b->f->lanes.len; i++)
        if (strcmp(b->f->lanes.at[i].group, group) == 0)
            return (uint32_t)i;
    return lpo_doc_figure_lane(b->f, group, "samples");
}

/* From the first moment of the timeline on; the value that held then stands at its start. */
static void add_line(struct lpo_timeline *b, const struct lpo_chart *c, struct lpo_chart_line *l,
                     int64_t shift_ns)
{
    const char *title = c->unit[0] ? lpo_arena_printf(b->doc->arena, "%s (%s)", c->title, c->unit)
                                   : lpo_arena_strdup(b->doc->arena, c->title);
    const struct lpo_series_point *before = NULL;
    uint32_t lane = lane_of(b, l);

    lpo_report_chart_thin(&l->points, MOST_POINTS);
    if (l->points.len > b->left)
        return;
    b->left -= l->points.len;
    for (size_t i = 0; i < l->points.len; i++) {
        const struct lpo_series_point *p = &l->points.at[i];
        int64_t ns = p->ns - shift_ns - b->zero_ns;

        if (isnan(p->value))
            continue;
        if (ns < 0) {
            before = p;
            continue;
        }
        if (before && ns > 0)
            lpo_vec_push(&b->f->counts, (struct lpo_count){ 0, before->value, lane, title });
        before = NULL;
        lpo_vec_push(&b->f->counts, (struct lpo_count){ ns, p->value, lane, title });
    }
}

void lpo_timeline_add_charts(struct lpo_timeline *b, const struct lpo_rundir *d,
                             const struct lpo_source *s)
{
    struct lpo_charts *c = lpo_report_charts_create(d, s);
    int64_t epoch_ns = b->a->trace->epoch_ns;

    for (size_t i = 0; i < c->all.len; i++) {
        struct lpo_chart *chart = &c->all.at[i];

        /* without a common clock a counter would stand beside the wrong kernels */
        if (chart->clock == LPO_CLOCK_OTHER ||
            (chart->clock == LPO_CLOCK_UNIX && epoch_ns == LPO_NO_TIME))
            continue;
        for (size_t k = 0; k < chart->lines.len; k++)
            add_line(b, chart, &chart->lines.at[k], chart->clock == LPO_CLOCK_UNIX ? epoch_ns : 0);
    }
    lpo_report_charts_destroy(c);
}
