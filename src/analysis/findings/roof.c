/* SPDX-License-Identifier: Apache-2.0 */
/* Regions whose kernels take longer than the hardware allows for what they must compute and move.
 * Only where needs are known (analysis/limits): without a roof nothing is far from it. */
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"
#include "analysis/findings/private.h"
#include "analysis/limits/limits.h"
#include "region/scope.h"
#include "region/tree.h"
#include "util/err.h"
#include "util/str.h"
#include "util/xmalloc.h"

enum { MOST_REGIONS = 3 };

static bool in_first_call(const struct lpo_findings_work *w, uint32_t node,
                          const struct lpo_gpu_op *op)
{
    return op->launch != LPO_NONE &&
           lpo_region_in_first_visit(w->a->tree, node, &w->trace->launches.at[op->launch]);
}

/* A share of what is left of each kernel in the region, parts included. */
static int64_t *wants(const struct lpo_findings_work *w, uint32_t node, double share,
                      bool later_calls)
{
    const struct lpo_region_tree *tree = w->a->tree;
    bool *inside = lpo_xcalloc(tree->nodes.len + 1, sizeof *inside);
    int64_t *want = lpo_findings_wants(w);
    double carry = 0;

    for (size_t i = node; i < tree->nodes.len; i++) { /* a parent has a smaller number */
        uint32_t parent = tree->nodes.at[i].parent;

        inside[i] = i == node || (parent != LPO_NONE && inside[parent]);
    }
    for (size_t i = 0; i < w->slack.count; i++) {
        const struct lpo_gpu_op *op = &w->trace->gpu_ops.at[w->slack.rows[i]];
        uint32_t leaf = tree->places.at[lpo_region_place(tree, op)].leaf;

        if (leaf != LPO_NONE && inside[leaf] && !(later_calls && in_first_call(w, node, op)))
            lpo_findings_want(&w->slack, want, i, share, &carry);
    }
    free(inside);
    return want;
}

static uint32_t node_of(const struct lpo_region_tree *tree, const char *path)
{
    for (uint32_t i = 0; i < tree->nodes.len; i++) {
        LPO_STR s = { 0 };

        if (tree->nodes.at[i].path_bytes != strlen(path))
            continue;
        lpo_region_add_path(tree, i, &s);
        if (strcmp(lpo_str_text(&s), path) == 0)
            return i;
    }
    return LPO_NONE;
}

static bool overlaps(const struct lpo_region_tree *tree, uint32_t a, uint32_t b)
{
    uint32_t up = a > b ? a : b, other = a > b ? b : a;

    while (up != LPO_NONE && up > other)
        up = tree->nodes.at[up].parent;
    return up == other;
}

static void add_counter(struct lpo_finding *f, enum lpo_fact fact, struct lpo_measure percent)
{
    if (lpo_measure_known(percent))
        lpo_findings_fact(f, fact, percent.value / 100);
}

static void add_region(struct lpo_findings_work *w, const struct lpo_limit_row *r, uint32_t node)
{
    double over = r->busy_ns.value - r->limit_ns.value; /* of steady calls */
    struct lpo_finding *f;
    int64_t *want;

    if (!(over > 0))
        return;
    /* busy time is that of all devices, and slack that of one: theirs are never added. Which
     * kernels are of first calls of regions inside is not looked up: they get their share of it */
    want = wants(w, node, over / (r->own_first ? r->busy_ns.value : r->all_busy_ns), r->own_first);
    f = lpo_findings_claim(w, LPO_FINDING_ROOF, want);
    free(want);
    if (!f)
        return;
    f->node = node;
    lpo_findings_fact(f, LPO_FACT_GPU_NS, r->busy_ns.value);
    lpo_findings_fact(f, LPO_FACT_LIMIT_NS, r->limit_ns.value);
    if (r->first_calls > 0)
        lpo_findings_fact(f, LPO_FACT_STEADY, r->first_calls);
    lpo_findings_fact(f, LPO_FACT_ROOF, r->held);
    add_counter(f, LPO_FACT_SM, r->counters.sm_percent);
    add_counter(f, LPO_FACT_DRAM, r->counters.dram_percent);
    add_counter(f, LPO_FACT_OCCUPANCY, r->counters.occupancy_percent);
    add_counter(f, LPO_FACT_TENSOR, r->counters.tensor_percent);
    add_counter(f, LPO_FACT_SM_ACTIVE, r->counters.sm_active_percent);
}

void lpo_findings_roof(struct lpo_findings_work *w)
{
    struct lpo_err ignored = { 0 }; /* the chapter on limits shows what is wrong with them */
    const struct lpo_limits *l = w->d && w->s ? lpo_analysis_limits(w->d, w->s, &ignored) : NULL;
    uint32_t taken[MOST_REGIONS];
    size_t n = 0;

    if (!l || !l->ranked)
        return;
    w->out->kernels_judged = true;
    for (size_t i = 0; i < l->ranked && n < MOST_REGIONS; i++) {
        const struct lpo_limit_row *r = &l->rows.at[l->by_saving[i]];
        uint32_t node = node_of(w->a->tree, r->path);
        bool fresh = node != LPO_NONE && lpo_measure_known(r->busy_ns) &&
                     lpo_measure_known(r->limit_ns) &&
                     (lpo_measure_known(r->needed_flops) || lpo_measure_known(r->needed_bytes));

        for (size_t k = 0; k < n && fresh; k++)
            fresh = !overlaps(w->a->tree, node, taken[k]);
        if (!fresh)
            continue;
        taken[n++] = node;
        add_region(w, r, node);
    }
}
