/* SPDX-License-Identifier: Apache-2.0 */
/* The limits of a run: from its regions, its static analysis and its config. */

#include "analysis/analysis.h"
#include "analysis/limits/counters.h"
#include "analysis/limits/limits.h"
#include "analysis/wall/timeline.h"
#include "region/fold.h"
#include "rundir/rundir.h"

enum { LEAST_LATER = 3 }; /* calls that show what is normal */

/* Where first calls take longer. The scope must know what of the GPU time is theirs. */
static void set_first_calls(const struct lpo_analysis *x, const struct lpo_region_scope *scope,
                            const struct lpo_region_row *row, struct lpo_limits_region *r)
{
    struct lpo_region_calls c;

    if (row->node == LPO_NODE_OUTSIDE)
        return;
    if (x->timeline && x->timeline->first_nodes)
        r->launch_gap_ns = x->timeline->first_nodes[row->node].launch_ns;
    if (row->visits < row->firsts + LEAST_LATER || !lpo_region_row_calls(scope, row, &c) ||
        !c.differ || (r->gpu_ns > 0 && c.first_gpu_ns == LPO_NO_TIME))
        return;
    r->firsts = row->firsts;
    r->first_gpu_ns = row->first_gpu_ns;
    r->first_host_ns = row->first_host_ns;
    if (x->timeline && x->timeline->first_nodes) {
        r->first_host_gap_ns = x->timeline->first_nodes[row->node].host_ns;
        r->first_other_gap_ns = x->timeline->first_nodes[row->node].other_ns;
    }
}

/* Where a program numbers its steps, the first of them is the first call of all. */
static void set_first_members(const struct lpo_region_scope *scope, lpo_limits_regions *regions)
{
    LPO_AUTO(lpo_region_fold) fold = lpo_region_fold_create(scope, 1);

    for (size_t i = 0; i < regions->len; i++) {
        uint32_t line = fold->line_of[i];
        const struct lpo_fold_row *f = &fold->rows.at[line];
        struct lpo_region_calls c;

        if (f->first == LPO_NONE || f->members < 1 + LEAST_LATER ||
            !lpo_region_row_calls(scope, &f->sum, &c) || !c.differ)
            continue;
        regions->at[i].line = line + 1;
        regions->at[i].is_first = i == f->first;
    }
}

static struct lpo_limits_region region_of(struct lpo_arena *a, const struct lpo_analysis *x,
                                          const struct lpo_region_scope *scope,
                                          const struct lpo_region_row *row)
{
    bool gpu = scope->coverage.total.launches > 0;
    struct lpo_limits_region r = {
        .parent = row->parent_row == LPO_NONE ? UINT32_MAX : row->parent_row,
        .visits = row->visits_known ? row->visits : 0,
        .gpu_ns = gpu && lpo_region_sum_known(&row->all) ? row->all.ns : -1,
        .host_ns = row->visits_known ? row->host_ns : -1,
    };
    LPO_STR path = { 0 };

    lpo_region_row_add_path(scope, row, &path);
    r.path = lpo_arena_name(a, lpo_str_text(&path), path.len);
    if (x->timeline && row->node != LPO_NODE_OUTSIDE && x->timeline->nodes) {
        const struct lpo_gaps *g = &x->timeline->nodes[row->node];

        r.host_gap_ns = g->by[LPO_GAP_HOST].ns;
        r.other_gap_ns = g->by[LPO_GAP_DEPENDENCY].ns + g->by[LPO_GAP_OTHER].ns;
    }
    set_first_calls(x, scope, row, &r);
    r.counters = lpo_limits_region_counters(scope, row);
    return r;
}

void lpo_limits_regions_of(struct lpo_arena *a, const struct lpo_analysis *analysis,
                           lpo_limits_regions *out)
{
    const struct lpo_region_scope *all = lpo_analysis_all(analysis);

    for (size_t i = 0; i < all->rows.len; i++)
        lpo_vec_push(out, region_of(a, analysis, all, &all->rows.at[i]));
    set_first_members(all, out);
}

struct lpo_limits *lpo_limits_of_run(const struct lpo_rundir *d, const struct lpo_source *s,
                                     struct lpo_err *err)
{
    struct lpo_limits_input in = {
        .stated = d->stated, .dtype = d->dtype, .mappings = d->mappings, .steps = d->decode_steps
    };
    struct lpo_limits *limits = NULL;
    LPO_FREED lpo_limits_regions regions = { 0 };

    if (!s || !s->analysis || lpo_rundir_static_analysis(d, &in.needed, err) < 0)
        return NULL;
    if (!in.needed && !in.stated.len) {
        if (d->mappings.len)
            lpo_fail(err, LPO_E_NOTFOUND,
                     "report.mapping names parts of a model, but this run has no static analysis "
                     "of one");
        return NULL;
    }
    if (lpo_rundir_hardware(d, s, &in.hardware, err) < 0)
        return NULL;
    lpo_limits_regions_of(d->arena, s->analysis, &regions);
    in.regions = regions.at;
    in.nregions = regions.len;
    lpo_limits_create(&in, &limits, err);
    return limits;
}
