/* SPDX-License-Identifier: Apache-2.0 */
/* What the wall time would be less by, without a part of the path or with half of it: of parts,
 * names and regions, in one pass over the graph for all of them. */

#include "analysis/critical/private.h"
#include "region/scope.h"

/* Numbers of points may take this much; with more launches under way, changes go in groups. */
enum { ONE_PERCENT = 100, ROOM_BYTES = 4 << 20 };

/* A change: what it names takes no time, or half of it. */
struct change {
    enum { OF_PART, OF_GPU_NAME, OF_HOST_NAME, OF_REGION } kind;
    enum lpo_critical_part part;        /* a part; of a host name: HOST or CALLS */
    uint32_t name;                      /* names; LPO_NONE: the host outside every operator */
    uint32_t node;                      /* regions: launches in it or in one inside it */
    struct lpo_critical_saving *saving; /* where the result goes */
    int64_t removed_ns, halved_ns;      /* the result: the time from start to end of the graph */
};

struct run {
    struct critical_graph *g;
    struct change *changes;
    size_t count;
    int64_t unchanged_ns;
    /* which changes are what */
    int part_change[LPO_PATH_PARTS]; /* -1: none */
    size_t host_names[CRITICAL_NAMES], nhost_names;
    size_t gpu_names[CRITICAL_NAMES], ngpu_names;
    size_t regions[CRITICAL_REGIONS], nregions;
    uint8_t *regions_of; /* per place of the tree: a bit for each region that it is in */
    /* what the host does before and in a call */
    struct critical_sweep **sweeps; /* per thread */
    int64_t *until_ns;              /* per thread: where it has been counted */
    int64_t in_calls_ns, named_ns[CRITICAL_NAMES];
};

/* The first lane is the unchanged graph, then two for each change: without it, with half of it. */
static size_t lane_of(size_t change)
{
    return 1 + 2 * change;
}

static void shorten(int64_t *gain, size_t change, int64_t ns)
{
    gain[lane_of(change)] += ns;
    gain[lane_of(change) + 1] += ns - ns / 2;
}

static void shorten_part(const struct run *r, int64_t *gain, enum lpo_critical_part part,
                         int64_t ns)
{
    if (r->part_change[part] >= 0)
        shorten(gain, (size_t)r->part_change[part], ns);
}

static void shorten_regions(const struct run *r, int64_t *gain, uint32_t launch, int64_t ns)
{
    uint8_t in =
        r->regions_of && launch != LPO_NONE ? r->regions_of[r->g->tree->launch_place[launch]] : 0;

    for (size_t i = 0; in; i++, in >>= 1)
        if (in & 1)
            shorten(gain, r->regions[i], ns);
}

static void count_frame(void *ctx, const struct critical_slice *slice, int64_t start_ns,
                        int64_t end_ns, enum lpo_critical_part part, uint32_t name)
{
    struct run *r = ctx;

    (void)slice;
    if (part == LPO_PATH_CALLS)
        r->in_calls_ns += end_ns - start_ns;
    for (size_t i = 0; i < r->nhost_names; i++) {
        const struct change *c = &r->changes[r->host_names[i]];

        if (c->name == name && c->part == part)
            r->named_ns[i] += end_ns - start_ns;
    }
}

/* A stretch of the host before a call or inside it. Of every call of the graph, not of the path
 * alone: with a part of the path gone, another chain may be the longest. */
static void shorten_host(struct run *r, bool in_call, uint32_t call, int64_t start_ns,
                         int64_t end_ns, int64_t *gain)
{
    uint32_t thread = lpo_critical_thread(r->g, call);
    int64_t *until = &r->until_ns[thread], ns = end_ns - start_ns, calls;
    struct critical_slice slice = { start_ns > *until ? start_ns : *until, end_ns, thread, call,
                                    in_call };

    if (!r->sweeps[thread])
        r->sweeps[thread] = lpo_critical_sweep_create(r->g->t, count_frame, r);
    r->in_calls_ns = 0;
    memset(r->named_ns, 0, sizeof r->named_ns);
    lpo_critical_sweep_slice(r->sweeps[thread], &slice);
    if (in_call)
        *until = end_ns > *until ? end_ns : *until;
    calls = in_call ? ns : r->in_calls_ns;
    shorten_part(r, gain, LPO_PATH_HOST, ns - calls);
    shorten_part(r, gain, LPO_PATH_CALLS, calls);
    for (size_t i = 0; i < r->nhost_names; i++)
        if (r->named_ns[i])
            shorten(gain, r->host_names[i], r->named_ns[i]);
    shorten_regions(r, gain, lpo_critical_launch(r->g, call), ns);
}

static void take_less(void *ctx, enum critical_less_kind kind, uint32_t at, int64_t start_ns,
                      int64_t end_ns, int64_t *gain)
{
    struct run *r = ctx;
    const struct lpo_gpu_op *op;

    if (kind != CRITICAL_LESS_OP) {
        shorten_host(r, kind == CRITICAL_LESS_CALL, at, start_ns, end_ns, gain);
        return;
    }
    op = lpo_critical_gpu_op(r->g, at);
    shorten_part(r, gain, lpo_critical_part_of(r->g, r->g->op_rows[at]), end_ns - start_ns);
    for (size_t k = 0; k < r->ngpu_names; k++)
        if (r->changes[r->gpu_names[k]].name == op->name)
            shorten(gain, r->gpu_names[k], end_ns - start_ns);
    shorten_regions(r, gain, op->launch, end_ns - start_ns);
}

static void take_lag(void *ctx, uint32_t op, enum lpo_critical_part part, int64_t ns, int64_t *gain)
{
    (void)op;
    shorten_part(ctx, gain, part, ns);
}

/* A call waits or it does not: half of that there is not. */
static uint64_t find_free(void *ctx, uint32_t call)
{
    const struct run *r = ctx;
    int change = r->part_change[LPO_PATH_RETURN];

    (void)call;
    return change < 0 ? 0 : (uint64_t)1 << lane_of((size_t)change);
}

/* Nodes come after their parents. */
static void mark_places(struct run *r, uint32_t node, uint8_t bit)
{
    const struct lpo_region_tree *tree = r->g->tree;
    LPO_FREED bool *nodes = lpo_xcalloc(tree->nodes.len + 1, sizeof *nodes);

    for (size_t i = 0; i < tree->nodes.len; i++) {
        uint32_t parent = tree->nodes.at[i].parent;

        nodes[i] = i == node || (parent != LPO_NONE && nodes[parent]);
    }
    for (size_t i = 0; i < tree->places.len; i++) {
        uint32_t leaf = tree->places.at[i].leaf;

        if (leaf == LPO_NONE ? node == LPO_NODE_OUTSIDE : nodes[leaf])
            r->regions_of[i] |= bit;
    }
}

static void sort_changes(struct run *r)
{
    for (int i = 0; i < LPO_PATH_PARTS; i++)
        r->part_change[i] = -1;
    for (size_t i = 0; i < r->count; i++) {
        const struct change *c = &r->changes[i];

        if (c->kind == OF_PART) {
            r->part_change[c->part] = (int)i;
        } else if (c->kind == OF_HOST_NAME && r->nhost_names < CRITICAL_NAMES) {
            r->host_names[r->nhost_names++] = i;
        } else if (c->kind == OF_GPU_NAME && r->ngpu_names < CRITICAL_NAMES) {
            r->gpu_names[r->ngpu_names++] = i;
        } else if (c->kind == OF_REGION && r->nregions < CRITICAL_REGIONS) {
            if (!r->regions_of)
                r->regions_of = lpo_xcalloc(r->g->tree->places.len + 1, sizeof *r->regions_of);
            mark_places(r, c->node, (uint8_t)(1u << r->nregions));
            r->regions[r->nregions++] = i;
        }
    }
}

/* All changes in one pass; false: there are too many. */
static bool run_all(struct run *r)
{
    size_t threads = r->g->t->threads.len, lanes = lane_of(r->count);
    struct critical_changes c = { r, take_less, take_lag, find_free,
                                  r->count > 1 ? ROOM_BYTES : 0 };
    LPO_FREED int64_t *out = lpo_xcalloc(lanes, sizeof *out);
    bool done;

    r->sweeps = lpo_xcalloc(threads + 1, sizeof *r->sweeps);
    r->until_ns = lpo_xcalloc(threads + 1, sizeof *r->until_ns);
    for (size_t i = 0; i < threads; i++)
        r->until_ns[i] = INT64_MIN;
    sort_changes(r);
    done = lpo_critical_run(r->g, &c, lanes, out);
    r->unchanged_ns = out[0];
    for (size_t i = 0; done && i < r->count; i++) {
        r->changes[i].removed_ns = out[lane_of(i)];
        r->changes[i].halved_ns = out[lane_of(i) + 1];
    }
    for (size_t i = 0; i < threads; i++)
        if (r->sweeps[i])
            lpo_critical_sweep_destroy(r->sweeps[i]);
    free(r->sweeps);
    free(r->until_ns);
    free(r->regions_of);
    return done;
}

/* Fills the results of all changes; the time from start to end of the unchanged graph. */
static int64_t simulate(struct critical_graph *g, struct change *changes, size_t count)
{
    size_t done = 0, most = count;
    int64_t unchanged_ns;

    do {
        size_t n = count - done < most ? count - done : most;
        struct run r = { .g = g, .changes = changes + done, .count = n };

        if (run_all(&r))
            done += n;
        else
            most = n / 2;
        unchanged_ns = r.unchanged_ns;
    } while (done < count);
    return unchanged_ns;
}

/* --- which changes --- */

struct changes {
    struct change at[LPO_PATH_PARTS + CRITICAL_NAMES + CRITICAL_REGIONS];
    size_t len;
};

/* What is below one percent cannot save more. */
static bool worth(const struct critical_graph *g, int64_t ns)
{
    return ns > 0 && ns >= (g->end_ns - g->start_ns) / ONE_PERCENT;
}

static void add(struct changes *c, struct change change)
{
    c->at[c->len++] = change;
}

static void add_parts(struct changes *c, const struct critical_graph *g,
                      struct lpo_critical_path *path)
{
    bool waits = false;

    for (size_t i = 0; i < g->calls.len; i++)
        waits |= g->calls.at[i].waits != LPO_NONE;
    for (int i = 0; i < LPO_PATH_NOT_RECORDED; i++)
        /* without waiting more is gone than the way back from it */
        if (worth(g, path->parts.ns[i]) || (i == LPO_PATH_RETURN && waits))
            add(c, (struct change){ .kind = OF_PART,
                                    .part = (enum lpo_critical_part)i,
                                    .saving = &path->savings[i] });
}

static void add_names(struct changes *c, const struct critical_graph *g,
                      struct lpo_critical_path *path)
{
    for (size_t i = 0; i < CRITICAL_NAMES && i < path->entries.len; i++) {
        struct lpo_critical_entry *e = &path->entries.at[i];
        bool host = e->part == LPO_PATH_HOST || e->part == LPO_PATH_CALLS;

        if (worth(g, e->ns))
            add(c, (struct change){ .kind = host ? OF_HOST_NAME : OF_GPU_NAME,
                                    .part = e->part,
                                    .name = e->name,
                                    .saving = &e->saving });
    }
}

static void add_regions(struct changes *c, const struct critical_graph *g,
                        struct lpo_critical_path *path)
{
    for (size_t i = 0; i < CRITICAL_REGIONS && i < path->regions.len; i++)
        if (worth(g, path->regions.at[i].ns))
            add(c, (struct change){ .kind = OF_REGION,
                                    .node = path->regions.at[i].node,
                                    .saving = &path->regions.at[i].saving });
}

void lpo_critical_savings(struct critical_graph *g, struct lpo_critical_path *path)
{
    struct changes c = { .len = 0 };
    int64_t measured_ns = g->end_ns - g->start_ns;

    add_parts(&c, g, path);
    add_names(&c, g, path);
    add_regions(&c, g, path);
    path->simulated_ns = simulate(g, c.at, c.len);
    path->fits = llabs(path->simulated_ns - measured_ns) <= measured_ns / ONE_PERCENT;
    for (size_t i = 0; path->fits && i < c.len; i++) {
        bool waiting = c.at[i].kind == OF_PART && c.at[i].part == LPO_PATH_RETURN;

        *c.at[i].saving = (struct lpo_critical_saving){
            .known = true,
            .removed_ns = path->simulated_ns - c.at[i].removed_ns,
            .halved_ns = waiting ? LPO_NO_TIME : path->simulated_ns - c.at[i].halved_ns,
        };
    }
}
