/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/ladder/ladder.h"

#include "analysis/analysis.h"
#include "analysis/ladder/private.h"
#include "analysis/speed/variation.h"
#include "rundir/rundir.h"
#include "util/budget.h"
#include "util/thread.h"

enum { ONE_PERCENT = 100, MOST_RUNGS = 12 };

/* In any order: what saves most is taken first. */
static ladder_propose *const proposals[] = {
    lpo_ladder_host,          lpo_ladder_waits,
    lpo_ladder_siblings,  /* says what is longer than its equals, */
    lpo_ladder_attention, /* and this, which products are parts of attention */
    lpo_ladder_fusion,        lpo_ladder_products,
    lpo_ladder_recomputation, lpo_ladder_communication,
    lpo_ladder_copies,        lpo_ladder_slow_collectives,
    lpo_ladder_layout,        lpo_ladder_counters,
    lpo_ladder_grids,         lpo_ladder_roof,
    lpo_ladder_regions,       lpo_ladder_clocks,
    lpo_ladder_ranks,
};

#define ID(name, id) id,

const char *const lpo_ladder_ids[LPO_RUNG_KINDS + 1] = { LPO_RUNG_LIST(ID) NULL };
const char *const lpo_ladder_caution_ids[LPO_CAUTION_KINDS + 1] = { LPO_CAUTION_LIST(ID) NULL };

LPO_NAMES(lpo_ladder_basis_name, enum lpo_rung_basis, "measured", "simulated", "estimated",
          "reference");

uint32_t lpo_ladder_add(struct ladder_work *w, struct lpo_rung rung, int64_t bound_ns)
{
    if (bound_ns <= 0 || bound_ns < w->out->window.wall_ns / ONE_PERCENT ||
        w->candidates.len == CRITICAL_EXPERIMENTS)
        return LPO_NONE;
    lpo_vec_push(&w->candidates, (struct ladder_candidate){ rung, bound_ns });
    return (uint32_t)w->candidates.len - 1;
}

void lpo_ladder_fact(struct lpo_rung *r, enum lpo_fact fact, uint32_t name, double a, double b,
                     double c)
{
    if (r->nevidence < LPO_MOST_EVIDENCE)
        r->evidence[r->nevidence++] = (struct lpo_evidence){ (uint16_t)fact, name, { a, b, c } };
}

/* The innermost region with more than half of what the operations could take less. */
uint32_t lpo_ladder_main_region(const struct ladder_work *w, const int64_t *less_ns)
{
    const struct lpo_region_tree *tree = w->tree;
    int64_t *sums = lpo_xcalloc(tree->nodes.len + 1, sizeof *sums), whole = 0;
    uint32_t node = LPO_NONE;

    for (uint32_t i = 0; i < w->g.ops.len; i++) {
        uint32_t leaf =
            less_ns[i] ? tree->places.at[lpo_region_place(tree, lpo_critical_gpu_op(&w->g, i))].leaf
                       : LPO_NONE;

        whole += less_ns[i];
        if (leaf != LPO_NONE)
            sums[leaf] += less_ns[i];
    }
    /* a parent has a smaller number than its parts, so the first one found is the innermost */
    for (size_t i = tree->nodes.len; node == LPO_NONE && i-- > 0;) {
        if (sums[i] > whole - sums[i])
            node = (uint32_t)i;
        else if (tree->nodes.at[i].parent != LPO_NONE)
            sums[tree->nodes.at[i].parent] += sums[i];
    }
    free(sums);
    return node;
}

struct lpo_rung *lpo_ladder_add_ops(struct ladder_work *w, enum lpo_rung_kind kind,
                                    int64_t *less_ns)
{
    struct lpo_rung rung = { .kind = kind,
                             .basis = LPO_BASIS_SIMULATED,
                             .name = LPO_NONE,
                             .code = LPO_NONE,
                             .node = LPO_NONE };
    enum critical_edit_kind edit =
        kind == LPO_RUNG_SIBLING ? CRITICAL_EDIT_EXCESS : CRITICAL_EDIT_OP;
    int64_t bound = 0;
    uint32_t at;

    for (uint32_t i = 0; i < w->g.ops.len; i++)
        if (edit == CRITICAL_EDIT_OP && less_ns[i] > 0 && w->excess_ns[i])
            less_ns[i] -= (int64_t)((double)less_ns[i] * (double)w->excess_ns[i] /
                                    (double)lpo_ladder_op_ns(w, i));
    for (size_t i = 0; i < w->g.ops.len; i++)
        bound += less_ns[i] < 0 ? 0 : less_ns[i] < w->path_ns[i] ? less_ns[i] : w->path_ns[i];
    at = lpo_ladder_add(w, rung, bound);
    for (uint32_t i = 0; at != LPO_NONE && i < w->g.ops.len; i++)
        lpo_critical_replay_edit(&w->replay, edit, i, at, less_ns[i]);
    if (at != LPO_NONE)
        w->candidates.at[at].rung.node = lpo_ladder_main_region(w, less_ns);
    free(less_ns);
    return at == LPO_NONE ? NULL : &w->candidates.at[at].rung;
}

bool lpo_ladder_around(const struct ladder_work *w, uint32_t op, struct lpo_slice *out)
{
    if (w->around[op] == LPO_NONE)
        return false;
    *out = lpo_host_slice(w->t, LPO_HOST_OP, w->around[op]);
    return true;
}

/* --- the path --- */

static void take_stretch(void *ctx, const struct critical_stretch *s)
{
    struct ladder_work *w = ctx;
    int64_t ns = s->end_ns - s->start_ns;

    w->parts_ns[s->part] += ns;
    if (s->part == LPO_PATH_GAP && ns >= LPO_CRITICAL_UNEXPLAINED_NS && s->op != LPO_NONE)
        w->graph_gaps_ns += ns;
    if (s->part == LPO_PATH_COMPUTE || s->part == LPO_PATH_COMMUNICATION ||
        s->part == LPO_PATH_COPY)
        w->path_ns[s->op] += ns;
    else if (s->part == LPO_PATH_HOST && s->call != LPO_NONE)
        w->before_ns[s->call] += ns;
    else if ((s->part == LPO_PATH_CALLS || s->part == LPO_PATH_RETURN) && s->call != LPO_NONE)
        w->in_ns[s->call] += ns;
}

static bool stream_before(const void *ctx, uint32_t a, uint32_t b)
{
    const struct ladder_work *w = ctx;
    const struct lpo_gpu_op *x = lpo_critical_gpu_op(&w->g, a), *y = lpo_critical_gpu_op(&w->g, b);

    return x->device != y->device ? x->device < y->device : x->stream < y->stream;
}

static void follow_path(struct ladder_work *w)
{
    w->path_ns = lpo_xcalloc(w->g.ops.len + 1, sizeof *w->path_ns);
    w->excess_ns = lpo_xcalloc(w->g.ops.len + 1, sizeof *w->excess_ns);
    w->attends = lpo_xcalloc(w->g.ops.len + 1, sizeof *w->attends);
    w->before_ns = lpo_xcalloc(w->g.calls.len + 1, sizeof *w->before_ns);
    w->in_ns = lpo_xcalloc(w->g.calls.len + 1, sizeof *w->in_ns);
    lpo_critical_walk(&w->g, take_stretch, w);
    w->first_launch = LPO_NONE;
    for (uint32_t i = 0; i < w->g.calls.len; i++)
        if (lpo_critical_launch(&w->g, i) != LPO_NONE &&
            (w->first_launch == LPO_NONE ||
             lpo_critical_times(&w->g, i).start_ns <
                 lpo_critical_times(&w->g, w->first_launch).start_ns))
            w->first_launch = i;
    w->around = lpo_xrealloc(NULL, w->g.ops.len + 1, sizeof *w->around);
    for (uint32_t i = 0; i < w->g.ops.len; i++) {
        uint32_t launch = lpo_critical_gpu_op(&w->g, i)->launch;
        struct lpo_slice s;

        w->around[i] =
            launch != LPO_NONE && lpo_host_around(w->t, launch, LPO_HOST_OP, &s) ? s.row : LPO_NONE;
    }
    w->by_stream = lpo_xrealloc(NULL, w->g.ops.len + 1, sizeof *w->by_stream);
    for (uint32_t i = 0; i < w->g.ops.len; i++)
        w->by_stream[i] = i;
    lpo_order_sort(w->by_stream, w->g.ops.len, stream_before, w);
}

/* --- taking the best --- */

struct greedy {
    struct ladder_work *w;
    uint64_t taken, base; /* base: without the profiler's cost */
    int64_t base_ns;      /* the replay of that, once something was replayed */
    bool has_base;
    int64_t left_ns; /* after what was taken */
    int64_t
        offset_ns; /* of the window more than the replay of the unchanged graph: carried along */
    int64_t
        most_ns[CRITICAL_EXPERIMENTS]; /* what each saved when it was last tried, or its bound */
    int64_t alone_ns[CRITICAL_EXPERIMENTS];
    bool tried[CRITICAL_EXPERIMENTS]; /* since the last one was taken */
};

/* One rank, link or layer that is slower than its equals comes before what is said of all of them:
 * sending in general, an operator below its roof. */
static bool is_one_of_many(enum lpo_rung_kind kind)
{
    return lpo_ladder_of_ranks(kind) || kind == LPO_RUNG_SIBLING;
}

/* What is said of all ranks, or of all operators, where one of them was found too: of that kind. */
static bool is_of_all(enum lpo_rung_kind kind, enum lpo_rung_kind one)
{
    if (lpo_ladder_of_ranks(one))
        return kind == LPO_RUNG_COMMUNICATION || kind == LPO_RUNG_SAME_STREAM ||
               kind == LPO_RUNG_COLLECTIVE;
    return kind == LPO_RUNG_ROOF || kind == LPO_RUNG_BEST || kind == LPO_RUNG_ATTENTION;
}

/* So it is looked at in any case. */
static int64_t expected_ns(const struct greedy *g, uint32_t i)
{
    return g->most_ns[i] +
           (is_one_of_many(g->w->candidates.at[i].rung.kind) ? g->w->out->wall_ns : 0);
}

/* The candidates with the highest expectations that were not tried: at most as many as lanes. */
static size_t choose(const struct greedy *g, uint32_t *out)
{
    size_t n = 0;

    for (uint32_t i = 0; i < g->w->candidates.len; i++) {
        size_t at;

        if (g->taken >> i & 1 || g->tried[i] || i == g->w->profiler)
            continue;
        for (at = n; at > 0 && expected_ns(g, out[at - 1]) < expected_ns(g, i); at--)
            if (at < CRITICAL_LANES)
                out[at] = out[at - 1];
        if (at < CRITICAL_LANES)
            out[at] = i;
        n += n < CRITICAL_LANES;
    }
    return n;
}

/* Of two that take each other's place the one with the clearer cause comes first: what can be
 * named, before waiting and copies in general where those save hardly more, and before launching
 * and fusing, of whose cost half is taken to be saved, where that is less than twice as much.
 * Tenths that are given up. */
static int vagueness(const struct greedy *g, uint32_t i)
{
    switch (g->w->candidates.at[i].rung.kind) {
    case LPO_RUNG_LAUNCH:
    case LPO_RUNG_FUSE:
        return 5;
    case LPO_RUNG_BUBBLES: /* of all ranks, before one of them where that costs less than half */
    case LPO_RUNG_RANKS_UNEVEN:
        return 4;
    case LPO_RUNG_GRID: /* its shape, or what it is a part of, may say more */
        return 2;
    case LPO_RUNG_BLOCKED:
    case LPO_RUNG_COPIES:
        return 1;
    default:
        return 0;
    }
}

static bool is_better(const struct greedy *g, uint32_t a, uint32_t b)
{
    int va = vagueness(g, a), vb = vagueness(g, b);

    if (va > vb)
        return g->most_ns[a] / 10 * (10 - va) > g->most_ns[b];
    if (vb > va)
        return g->most_ns[b] / 10 * (10 - vb) <= g->most_ns[a];
    return g->most_ns[a] > g->most_ns[b];
}

static bool is_open(const struct greedy *g, uint32_t i)
{
    return g->tried[i] && !(g->taken >> i & 1);
}

static uint32_t best_tried(const struct greedy *g)
{
    const struct ladder_candidate *all = g->w->candidates.at;
    uint32_t best = LPO_NONE, one = LPO_NONE;

    for (uint32_t i = 0; i < g->w->candidates.len; i++)
        if (is_open(g, i) && (best == LPO_NONE || is_better(g, i, best)))
            best = i;
    for (uint32_t i = 0; best != LPO_NONE && i < g->w->candidates.len; i++)
        if (is_open(g, i) && is_one_of_many(all[i].rung.kind) &&
            is_of_all(all[best].rung.kind, all[i].rung.kind) &&
            g->most_ns[i] >= g->w->out->window.wall_ns / ONE_PERCENT &&
            (one == LPO_NONE || is_better(g, i, one)))
            one = i;
    return one == LPO_NONE ? best : one;
}

/* The base is one lane more of the first run. */
static void run_lanes(struct greedy *g, uint64_t *lanes, size_t n, int64_t *out)
{
    bool with_base = !g->has_base && n < CRITICAL_LANES;

    if (!g->has_base && !with_base)
        lpo_critical_replay_run(&g->w->replay, &g->base, 1, &g->base_ns);
    if (with_base)
        lanes[n] = g->base;
    lpo_critical_replay_run(&g->w->replay, lanes, n + with_base, out);
    if (with_base)
        g->base_ns = out[n];
    g->has_base = true;
    g->offset_ns = g->w->out->wall_ns - g->base_ns;
}

/* Simulates until nothing untried can be better than the best one. What a candidate saves seldom
 * grows when another one is taken, so what it saved before is what is expected of it. */
static uint32_t find_best(struct greedy *g)
{
    int64_t out[CRITICAL_LANES];
    uint64_t lanes[CRITICAL_LANES];
    uint32_t at[CRITICAL_LANES], best = LPO_NONE;
    size_t n;

    memset(g->tried, 0, sizeof g->tried);
    while ((n = choose(g, at)) > 0 &&
           (best == LPO_NONE ||
            expected_ns(g, at[0]) > g->most_ns[best] / 10 * (10 - vagueness(g, best)))) {
        for (size_t i = 0; i < n; i++)
            lanes[i] = g->taken | (uint64_t)1 << at[i];
        run_lanes(g, lanes, n, out);
        for (size_t i = 0; i < n; i++) {
            g->tried[at[i]] = true;
            g->most_ns[at[i]] = g->left_ns - out[i] - g->offset_ns;
            if (!g->alone_ns[at[i]] && !g->w->out->rungs.len)
                g->alone_ns[at[i]] = g->most_ns[at[i]];
        }
        best = best_tried(g);
    }
    return best;
}

/* Those that were never tried by themselves: one more pass. */
static void find_alone(struct greedy *g)
{
    struct lpo_ladder *l = g->w->out;
    uint64_t lanes[CRITICAL_LANES];
    size_t rungs[CRITICAL_LANES], n = 0;
    int64_t out[CRITICAL_LANES];

    for (size_t i = 0; i < l->rungs.len; i++) {
        struct lpo_rung *r = &l->rungs.at[i];
        uint32_t candidate = (uint32_t)r->alone_ns;

        r->alone_ns = g->alone_ns[candidate];
        if (r->alone_ns || n == CRITICAL_LANES)
            continue;
        rungs[n] = i;
        lanes[n++] = g->base | (uint64_t)1 << candidate;
    }
    if (n)
        lpo_critical_replay_run(&g->w->replay, lanes, n, out);
    for (size_t i = 0; i < n; i++)
        l->rungs.at[rungs[i]].alone_ns = g->base_ns - out[i];
}

/* What the profiler itself took is no part of the wall time. */
static void find_profiler(struct greedy *g)
{
    const uint64_t lanes[] = { 0, (uint64_t)1 << g->w->profiler };
    struct lpo_ladder *l = g->w->out;
    int64_t out[2];

    lpo_critical_replay_run(&g->w->replay, lanes, 2, out);
    g->has_base = true;
    g->base_ns = out[0];
    l->profiler_ns = out[0] - out[1];
    if (l->profiler_ns < l->wall_ns / ONE_PERCENT) { /* not worth a word */
        l->profiler_ns = 0;
        return;
    }
    g->taken = g->base = lanes[1];
    g->base_ns = out[1];
    l->wall_ns -= l->profiler_ns;
}

static void climb(struct ladder_work *w)
{
    struct greedy g = { .w = w };
    uint32_t best;

    lpo_critical_replay_prepare(&w->replay);
    w->out->wall_ns = w->out->window.wall_ns;
    if (w->profiler != LPO_NONE)
        find_profiler(&g);
    g.left_ns = w->out->wall_ns;
    for (size_t i = 0; i < w->candidates.len; i++)
        g.most_ns[i] = w->candidates.at[i].bound_ns;
    while (w->out->rungs.len < MOST_RUNGS && (best = find_best(&g)) != LPO_NONE &&
           g.most_ns[best] > 0 && g.most_ns[best] >= w->out->window.wall_ns / ONE_PERCENT) {
        struct lpo_rung r = w->candidates.at[best].rung;

        g.taken |= (uint64_t)1 << best;
        g.left_ns -= g.most_ns[best];
        r.saving_ns = g.most_ns[best];
        r.after_ns = g.left_ns;
        r.alone_ns = best; /* until find_alone() */
        lpo_vec_push(&w->out->rungs, r);
    }
    if (w->out->rungs.len)
        find_alone(&g);
}

/* --- the floor --- */

/* What the GPU must do at least: of operators whose need is known that, of the rest what they took.
 */
static void find_floor(struct ladder_work *w)
{
    struct lpo_ladder *l = w->out;
    int64_t busy = 0, until = INT64_MIN;

    for (uint32_t i = 0; i < w->g.ops.len; i++) {
        const struct lpo_gpu_op *op = lpo_critical_gpu_op(&w->g, i);
        int64_t from = op->start_ns > until ? op->start_ns : until;

        busy += op->end_ns > from ? op->end_ns - from : 0;
        until = op->end_ns > until ? op->end_ns : until;
    }
    l->floor_basis = LPO_FLOOR_GPU;
    l->floor_ns = busy;
    if (l->rungs.len && l->rungs.at[l->rungs.len - 1].after_ns < l->floor_ns)
        l->floor_ns = l->rungs.at[l->rungs.len - 1].after_ns;
}

static void note_times(struct ladder_work *w)
{
    for (size_t i = 0; i < w->out->rungs.len; i++) {
        struct lpo_rung *r = &w->out->rungs.at[i];

        if (!lpo_ladder_of_ranks(r->kind))
            r->device = w->g.ops.len ? lpo_critical_gpu_op(&w->g, 0)->device : 0;
        if (2 * r->alone_ns < r->saving_ns)
            lpo_ladder_fact(r, LPO_FACT_ALONE_LESS, LPO_NONE, (double)r->alone_ns, 0, 0);
        else if (r->alone_ns > 2 * r->saving_ns)
            lpo_ladder_fact(r, LPO_FACT_ALONE_MORE, LPO_NONE, (double)r->alone_ns, 0, 0);
        if (w->out->unexplained_ns > w->out->window.wall_ns / 10)
            lpo_ladder_fact(r, LPO_FACT_BOUND, LPO_NONE,
                            (double)w->out->unexplained_ns / (double)w->out->window.wall_ns, 0, 0);
    }
}

static void work_free(struct ladder_work *w)
{
    lpo_critical_replay_free(&w->replay);
    lpo_critical_graph_free(&w->g);
    lpo_vec_free(&w->candidates);
    free(w->by_stream);
    free(w->around);
    free(w->path_ns);
    free(w->attends);
    free(w->excess_ns);
    free(w->before_ns);
    free(w->in_ns);
}

/* The processes of a trace that ran something on a GPU, each on a thread. */
struct processes {
    struct ladder_work work; /* what is the same for all of them */
    struct lpo_ladders *out;
    LPO_VEC(struct lpo_ladder) all; /* without a window where there is none */
    int64_t *end_ns;                /* per thread: what it did last in the window */
    size_t first;                   /* of those that are done on all cores */
    bool has_cautions;
};

static void climb_of(struct ladder_work *w)
{
    follow_path(w);
    w->out->unexplained_ns = w->parts_ns[LPO_PATH_UNEXPLAINED];
    for (size_t i = 0; i < sizeof proposals / sizeof *proposals; i++)
        proposals[i](w);
    climb(w);
    lpo_ladder_parts(w);
    find_floor(w);
    note_times(w);
}

static void find_ladder(void *ctx, size_t i)
{
    struct processes *p = ctx;
    struct ladder_work w = p->work;
    struct lpo_ladder l = { .process = p->all.at[i].process };
    struct critical_input in = lpo_critical_input(w.tree, w.rows, l.process);

    w.out = &l;
    l.window = lpo_ladder_window(&w, l.process, p->end_ns);
    in.window = (struct critical_window){ l.window.start_ns, l.window.wall_ns, p->end_ns };
    if (l.window.wall_ns <= 0)
        return;
    lpo_critical_graph_build(&w.g, &in);
    w.g.start_ns = l.window.start_ns;
    w.replay.g = &w.g;
    climb_of(&w);
    if (!p->has_cautions) { /* of the first one */
        lpo_ladder_cautions(&w, p->out);
        p->has_cautions = true;
    }
    p->all.at[i] = l;
    work_free(&w);
}

static void find_rest(void *ctx, size_t i)
{
    struct processes *p = ctx;

    find_ladder(p, p->first + i);
}

/* One by one until there is one: the cautions are of that process, and what the others ask of the
 * analysis has been computed then. The rest on all cores, but for a run folder, whose memory has
 * one owner. */
static void find_all(const struct lpo_analysis *a, struct ladder_work w, struct lpo_ladders *out)
{
    struct critical_rows rows;
    struct ladder_links *links;
    struct processes p = { .out = out };

    lpo_critical_rows_find(&rows, w.t);
    lpo_region_tree_look_up_classes(w.tree);
    lpo_analysis_rank_causes(a);
    lpo_analysis_reference(a, w.hw);
    w.rows = &rows;
    w.pinned_rate = lpo_ladder_pinned_rate(w.t);
    w.links = links = lpo_ladder_links_create(&w);
    p.work = w;
    p.end_ns = lpo_xcalloc(w.t->threads.len + 1, sizeof *p.end_ns);
    for (size_t i = 0; i < w.t->processes.len && p.all.len < lpo_budget()->scopes; i++)
        if (rows.starts[i + 1] > rows.starts[i])
            lpo_vec_push(&p.all, (struct lpo_ladder){ .process = (uint16_t)i });
    while (p.first < p.all.len && (!p.has_cautions || (w.d && w.d->dir)))
        find_ladder(&p, p.first++);
    lpo_thread_each(p.all.len - p.first, find_rest, &p);
    for (size_t i = 0; i < p.all.len; i++)
        if (p.all.at[i].window.wall_ns > 0)
            lpo_vec_push(&out->all, p.all.at[i]);
    lpo_vec_free(&p.all);
    free(p.end_ns);
    lpo_ladder_links_destroy(links);
    lpo_critical_rows_free(&rows);
}

static int longest_first(const void *a, const void *b)
{
    const struct lpo_ladder *x = a, *y = b;

    if (x->window.wall_ns != y->window.wall_ns)
        return x->window.wall_ns > y->window.wall_ns ? -1 : 1;
    return (int)x->process - (int)y->process;
}

struct lpo_ladders *lpo_ladder_create(const struct lpo_rundir *d, const struct lpo_source *s,
                                      const struct lpo_analysis *a)
{
    struct lpo_ladders *out = lpo_xcalloc(1, sizeof *out);
    struct lpo_err ignored = { 0 }; /* the chapter on limits shows what is wrong with it */
    struct ladder_work w = {
        .profiler = LPO_NONE, .d = d, .s = s, .a = a, .t = a->trace, .tree = a->tree
    };

    if (d && d->dir)
        out->noise = lpo_speed_run_variation(d).cv;
    if (d && s)
        lpo_rundir_hardware(d, s, &w.hw, &ignored);
    w.steps = lpo_analysis_steps(a);
    if (a->timeline && !lpo_critical_is_too_large(w.t))
        find_all(a, w, out);
    lpo_vec_sort(&out->all, longest_first);
    lpo_ladder_choose_rank(a, out);
    if (!out->all.len)
        lpo_ladder_cautions(&w, out);
    lpo_ladder_flight(a, out);
    lpo_ladder_memory(a, out);
    lpo_ladder_profiles(a, out);
    return out;
}

void lpo_ladder_destroy(struct lpo_ladders *l)
{
    if (!l)
        return;
    for (size_t i = 0; i < l->all.len; i++)
        lpo_vec_free(&l->all.at[i].rungs);
    lpo_vec_free(&l->all);
    lpo_vec_free(&l->other);
    lpo_vec_free(&l->cautions);
    free(l);
}
