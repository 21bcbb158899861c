/* SPDX-License-Identifier: Apache-2.0 */
/* Pictures of a comparison, both sides on one scale: regions as an icicle, and what the critical
 * GPU did over time. Drawn by the HTML writer. */

#include "analysis/diff/diff.h"
#include "report/diff/diff.h"
#include "report/doc/doc.h"

enum { LEVELS = 8 };

/* Regions of one side: a child begins where its elder sibling ended. */
static void icicle_side(struct lpo_doc *doc, struct lpo_figure *f, const struct lpo_diff *d,
                        enum lpo_diff_side side)
{
    const struct lpo_diff_digest *g = d->shown[side];
    size_t n = g->items[LPO_DIFF_REGIONS].len;
    LPO_FREED double *next =
        lpo_xcalloc(n + 1, sizeof *next); /* where the next child of a row begins */
    double top = 0;
    uint32_t lanes[LEVELS];

    for (int i = 0; i < LEVELS; i++)
        lanes[i] = lpo_doc_figure_lane(f, side == LPO_DIFF_A ? "A" : "B", "");
    for (size_t i = 0; i < n; i++) {
        const struct lpo_diff_item *x = &g->items[LPO_DIFF_REGIONS].at[i];
        double ns = (double)(d->by_host ? x->host_ns : x->ns) / d->length[side];
        double *at = x->parent == UINT32_MAX ? &top : &next[x->parent];
        const char *name = strrchr(x->name, '/');

        next[i] = *at;
        if (ns > 0 && x->depth < LEVELS) {
            name = name ? name + 1 : x->name;
            lpo_doc_figure_span(f, lanes[x->depth], lpo_doc_keep(doc, name, strlen(name)),
                                (int64_t)llround(*at), (int64_t)llround(*at + ns));
            *at += ns;
        }
    }
}

static void timeline_side(struct lpo_figure *f, const struct lpo_diff *d, enum lpo_diff_side side)
{
    const struct lpo_diff_digest *g = d->shown[side];
    uint32_t lane = lpo_doc_figure_lane(f, side == LPO_DIFF_A ? "A" : "B", "");
    double piece = (double)g->devices.at[0].span_ns / LPO_DIFF_STRIP;

    for (size_t i = 0, end; i < LPO_DIFF_STRIP; i = end) {
        bool idle = g->strip[i] >= LPO_DIFF_PART_IDLE;

        for (end = i + 1; end < LPO_DIFF_STRIP && g->strip[end] == g->strip[i];)
            end++;
        lpo_doc_figure_span(f, lane, idle ? "idle" : lpo_report_diff_part(g->strip[i]),
                            (int64_t)llround(piece * (double)i),
                            (int64_t)llround(piece * (double)end));
    }
}

void lpo_report_diff_figures(struct lpo_doc *doc, const struct lpo_diff *d)
{
    struct lpo_figure *f;

    if (d->shown[LPO_DIFF_A]->has_strip && d->shown[LPO_DIFF_B]->has_strip) {
        f = lpo_doc_figure(doc, "timeline",
                           "What the GPU did, from its first to its last operation", LPO_FIG_LANES);
        timeline_side(f, d, LPO_DIFF_A);
        timeline_side(f, d, LPO_DIFF_B);
    }
    if (!d->rows[LPO_DIFF_REGIONS].len)
        return;
    f = lpo_doc_figure(doc, "icicle",
                       d->unit ? "GPU time of a step by region" : "GPU time by region",
                       LPO_FIG_LANES);
    icicle_side(doc, f, d, LPO_DIFF_A);
    icicle_side(doc, f, d, LPO_DIFF_B);
}
