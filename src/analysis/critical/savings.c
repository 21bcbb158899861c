/* SPDX-License-Identifier: Apache-2.0 */
/* What the wall time would be less by, without a part of the path or with half of it. */
#include <stdlib.h>

#include "analysis/critical/private.h"
#include "region/scope.h"
#include "region/tree.h"

/* Each takes a run of the whole graph, twice; what is below one percent cannot save more. */
enum { ENTRIES = 8, REGIONS = 8, ONE_PERCENT = 100 };

struct work {
    const struct critical_graph *g;
    struct lpo_critical_path *path;
    struct critical_times *room;
    int64_t *slots[ENTRIES]; /* of entries of the host: two numbers per call */
    int64_t *in_calls;
};

static bool worth(const struct work *w, int64_t ns)
{
    return ns > 0 && ns >= (w->g->end_ns - w->g->start_ns) / ONE_PERCENT;
}

static bool on_host(const struct lpo_critical_entry *e)
{
    return e->part == LPO_PATH_HOST || e->part == LPO_PATH_CALLS;
}

static struct lpo_critical_saving saved_by(const struct work *w, struct critical_change *c)
{
    struct lpo_critical_saving s = { .known = true };

    c->in_calls = w->in_calls;
    c->keep = 0;
    s.removed_ns = w->path->simulated_ns - lpo_critical_simulate(w->g, c, w->room);
    c->keep = 0.5;
    /* a call waits or it does not */
    s.halved_ns = c->parts[LPO_PATH_RETURN]
                      ? LPO_NO_TIME
                      : w->path->simulated_ns - lpo_critical_simulate(w->g, c, w->room);
    return s;
}

static void count_frame(void *ctx, const struct critical_slice *slice, int64_t start_ns,
                        int64_t end_ns, enum lpo_critical_part part, uint32_t name)
{
    struct work *w = ctx;
    size_t at = 2 * (size_t)slice->call + slice->in_call;

    if (part == LPO_PATH_CALLS)
        w->in_calls[at] += end_ns - start_ns;
    for (size_t i = 0; i < ENTRIES && i < w->path->entries.len; i++)
        if (w->slots[i] && w->path->entries.at[i].part == part &&
            w->path->entries.at[i].name == name)
            w->slots[i][at] += end_ns - start_ns;
}

/* The host before and in one call; `until` is where its thread has been counted. */
static void count_call(const struct critical_graph *g, struct critical_sweep *sweep, uint32_t i,
                       int64_t *until)
{
    const struct critical_call *c = &g->calls.at[i];
    int64_t from = c->before == LPO_NONE ? c->start_ns : g->calls.at[c->before].end_ns;
    struct critical_slice before = { from > *until ? from : *until, c->start_ns, c->thread, i,
                                     false };
    struct critical_slice inside = { c->start_ns > *until ? c->start_ns : *until, c->end_ns,
                                     c->thread, i, true };

    lpo_critical_sweep_slice(sweep, &before);
    lpo_critical_sweep_slice(sweep, &inside);
    *until = c->end_ns > *until ? c->end_ns : *until;
}

/* Of every call of the graph, not of the path alone: with a part of the path gone, another chain
 * may be the longest. */
static void count_frames(struct work *w, const struct critical_input *in)
{
    const struct critical_graph *g = w->g;
    struct critical_sweep *sweep = lpo_critical_sweep_create(in, count_frame, w);
    int64_t until = INT64_MIN;

    w->in_calls = lpo_xcalloc(2 * g->calls.len + 1, sizeof *w->in_calls);
    for (size_t i = 0; i < ENTRIES && i < w->path->entries.len; i++)
        if (on_host(&w->path->entries.at[i]) && worth(w, w->path->entries.at[i].ns))
            w->slots[i] = lpo_xcalloc(2 * g->calls.len + 1, sizeof **w->slots);
    for (uint32_t i = 0; i < g->calls.len; i++) {
        if (i == 0 || g->calls.at[i - 1].thread != g->calls.at[i].thread)
            until = INT64_MIN;
        count_call(g, sweep, i, &until);
    }
    lpo_critical_sweep_destroy(sweep);
}

static void try_parts(struct work *w)
{
    bool waits = false;

    for (size_t i = 0; i < w->g->calls.len; i++)
        waits |= w->g->calls.at[i].waits != LPO_NONE;
    for (int i = 0; i < LPO_PATH_NOT_RECORDED; i++) {
        struct critical_change c = { .name = LPO_NONE };

        c.parts[i] = true;
        /* without waiting more is gone than the way back from it */
        if (worth(w, w->path->parts.ns[i]) || (i == LPO_PATH_RETURN && waits))
            w->path->savings[i] = saved_by(w, &c);
    }
}

static void try_entries(struct work *w)
{
    for (size_t i = 0; i < ENTRIES && i < w->path->entries.len; i++) {
        struct lpo_critical_entry *e = &w->path->entries.at[i];
        struct critical_change c = { .name = on_host(e) ? LPO_NONE : e->name,
                                     .named = w->slots[i] };

        if (worth(w, e->ns))
            e->saving = saved_by(w, &c);
    }
}

/* Launches in a region or in one inside it; nodes come after their parents. */
static void mark_places(const struct lpo_region_tree *tree, uint32_t node, bool *nodes,
                        bool *places)
{
    for (size_t i = 0; i < tree->nodes.len; i++) {
        uint32_t parent = tree->nodes.at[i].parent;

        nodes[i] = i == node || (parent != LPO_NONE && nodes[parent]);
    }
    for (size_t i = 0; i < tree->places.len; i++) {
        uint32_t leaf = tree->places.at[i].leaf;

        places[i] = leaf == LPO_NONE ? node == LPO_NODE_OUTSIDE : nodes[leaf];
    }
}

static void try_regions(struct work *w)
{
    const struct lpo_region_tree *tree = w->g->tree;
    bool *nodes = lpo_xcalloc(tree->nodes.len + 1, sizeof *nodes);
    bool *places = lpo_xcalloc(tree->places.len + 1, sizeof *places);

    for (size_t i = 0; i < REGIONS && i < w->path->regions.len; i++) {
        struct lpo_critical_region *r = &w->path->regions.at[i];
        struct critical_change c = { .name = LPO_NONE, .places = places };

        if (!worth(w, r->ns))
            continue;
        mark_places(tree, r->node, nodes, places);
        r->saving = saved_by(w, &c);
    }
    free(nodes);
    free(places);
}

void lpo_critical_savings(const struct critical_graph *g, const struct critical_input *in,
                          struct lpo_critical_path *path, struct critical_times *room)
{
    struct work w = { .g = g, .path = path, .room = room };

    count_frames(&w, in);
    try_parts(&w);
    try_entries(&w);
    try_regions(&w);
    free(w.in_calls);
    for (size_t i = 0; i < ENTRIES; i++)
        free(w.slots[i]);
}
