/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/critical/critical.h"

#include "analysis/critical/private.h"
#include "analysis/steps/steps.h"
#include "region/scope.h"
#include "util/budget.h"
#include "util/thread.h"

enum { KEPT = 200 };

LPO_NAMES(lpo_critical_part_name, enum lpo_critical_part, "host", "calls", "launch_delay",
          "compute", "communication", "copy", "gap", "return", "unexplained", "not_recorded");

/* One process: the path while it is walked. */
struct collect {
    const struct critical_graph *g;
    struct lpo_critical_path *path;
    const struct lpo_program_steps *steps;
    size_t first_step, end_step; /* of the process */
    size_t first_window, end_window;
    struct lpo_map_pair entry_rows;
    int64_t *region_ns; /* per node, and at the end what lies in none */
    /* Stretches of the host, as marks of calls: sweeps want them in order of time, the walk gives
     * them backwards. Most go from call to call; the others are cut. */
    uint8_t *on_path;
    LPO_VEC(struct critical_slice) cut;
};

enum { BEFORE_CALL = 1, IN_CALL = 2, CUT_BEFORE_CALL = 4, CUT_IN_CALL = 8 };

/* The step that began last before `ns`, or the first. */
static size_t step_at(const struct collect *c, int64_t ns)
{
    size_t low = c->first_step, high = c->end_step;

    lpo_search(low, high, mid, c->steps->rows.at[mid].start_ns <= ns);
    return low > c->first_step ? low - 1 : low;
}

static void add_to_steps(struct collect *c, enum lpo_critical_part part, int64_t start_ns,
                         int64_t end_ns)
{
    if (!c->steps)
        return;
    for (size_t i = step_at(c, start_ns); i < c->end_step; i++) {
        const struct lpo_program_step *s = &c->steps->rows.at[i];
        int64_t from = s->start_ns > start_ns ? s->start_ns : start_ns;
        int64_t to = s->start_ns + s->wall_ns < end_ns ? s->start_ns + s->wall_ns : end_ns;

        if (s->start_ns >= end_ns)
            break;
        if (to > from)
            c->path->steps.at[i - c->first_step].parts.ns[part] += to - from;
    }
}

/* How much of a stretch was recorded. */
static int64_t recorded_ns(const struct collect *c, int64_t start_ns, int64_t end_ns)
{
    const struct lpo_trace *t = c->g->t;
    size_t low = c->first_window, high = c->end_window;
    int64_t ns = 0;

    if (low == high)
        return end_ns - start_ns;
    lpo_search(low, high, mid, t->windows.at[mid].end_ns <= start_ns);
    for (; low < c->end_window && t->windows.at[low].start_ns < end_ns; low++) {
        const struct lpo_window *w = &t->windows.at[low];
        int64_t from = w->start_ns > start_ns ? w->start_ns : start_ns;
        int64_t to = w->end_ns < end_ns ? w->end_ns : end_ns;

        ns += to > from ? to - from : 0;
    }
    return ns < end_ns - start_ns ? ns : end_ns - start_ns;
}

static bool has_name(enum lpo_critical_part part)
{
    return part == LPO_PATH_HOST || part == LPO_PATH_CALLS || part == LPO_PATH_COMPUTE ||
           part == LPO_PATH_COMMUNICATION || part == LPO_PATH_COPY;
}

static void add_entry(struct collect *c, enum lpo_critical_part part, uint32_t name, int64_t ns)
{
    bool fresh;
    uint32_t row = lpo_map_pair_put(&c->entry_rows, part, name, &fresh);

    if (fresh)
        lpo_vec_push(&c->path->entries, (struct lpo_critical_entry){ .part = part, .name = name });
    c->path->entries.at[row].count++;
    c->path->entries.at[row].ns += ns;
}

static void add(struct collect *c, enum lpo_critical_part part, uint32_t name, uint32_t launch,
                int64_t start_ns, int64_t end_ns)
{
    const struct lpo_region_tree *tree = c->g->tree;
    int64_t ns = recorded_ns(c, start_ns, end_ns);
    uint32_t leaf =
        launch == LPO_NONE ? LPO_NONE : tree->places.at[tree->launch_place[launch]].leaf;

    c->path->parts.ns[LPO_PATH_NOT_RECORDED] += end_ns - start_ns - ns;
    c->path->parts.ns[part] += ns;
    c->region_ns[leaf == LPO_NONE ? tree->nodes.len : leaf] += ns;
    if (has_name(part))
        add_entry(c, part, name, ns);
    add_to_steps(c, part, start_ns, end_ns);
}

/* The host before a call, or inside it. */
static struct critical_slice whole_slice(const struct critical_graph *g, uint32_t call,
                                         bool in_call)
{
    struct critical_span ns = lpo_critical_times(g, call);
    struct critical_slice s = { ns.start_ns, ns.end_ns, lpo_critical_thread(g, call), call,
                                in_call };
    uint32_t before = g->calls.at[call].before;

    if (!in_call) {
        s.end_ns = ns.start_ns;
        if (before != LPO_NONE) {
            ns = lpo_critical_times(g, before);
            s.start_ns = ns.end_ns <= s.end_ns ? ns.end_ns : ns.start_ns;
        }
    }
    return s;
}

static void mark_slice(struct collect *c, const struct critical_stretch *s)
{
    struct critical_slice whole = whole_slice(c->g, s->call, s->in_call);
    bool cut = whole.start_ns != s->start_ns || whole.end_ns != s->end_ns;

    if (cut) {
        whole.start_ns = s->start_ns;
        whole.end_ns = s->end_ns;
        lpo_vec_push(&c->cut, whole);
        c->on_path[s->call] |= s->in_call ? CUT_IN_CALL : CUT_BEFORE_CALL;
    } else {
        c->on_path[s->call] |= s->in_call ? IN_CALL : BEFORE_CALL;
    }
}

static void take_stretch(void *ctx, const struct critical_stretch *s)
{
    struct collect *c = ctx;
    const struct critical_graph *g = c->g;
    uint32_t name = s->op == LPO_NONE ? LPO_NONE : lpo_critical_gpu_op(g, s->op)->name;

    c->path->stretches++;
    if (s->part == LPO_PATH_HOST || s->part == LPO_PATH_CALLS)
        mark_slice(c, s);
    else
        add(c, s->part, name, lpo_critical_launch(g, s->call), s->start_ns, s->end_ns);
}

static void take_frame(void *ctx, const struct critical_slice *slice, int64_t start_ns,
                       int64_t end_ns, enum lpo_critical_part part, uint32_t name)
{
    struct collect *c = ctx;

    add(c, part, name, lpo_critical_launch(c->g, slice->call), start_ns, end_ns);
}

LPO_COMPARE(by_call, struct critical_slice, LPO_UP(call) ?: LPO_UP(start_ns));

/* What the host was in during its stretches of the path, thread by thread. */
static void take_frames(struct collect *c)
{
    struct critical_sweep *sweep = lpo_critical_sweep_create(c->g->t, take_frame, c);
    size_t cut = 0;

    lpo_vec_sort(&c->cut, by_call);
    for (uint32_t i = 0; i < c->g->calls.len; i++)
        for (int in_call = 0; in_call < 2; in_call++) {
            struct critical_slice whole;

            if (c->on_path[i] & (in_call ? CUT_IN_CALL : CUT_BEFORE_CALL))
                lpo_critical_sweep_slice(sweep, &c->cut.at[cut++]);
            if (!(c->on_path[i] & (in_call ? IN_CALL : BEFORE_CALL)))
                continue;
            whole = whole_slice(c->g, i, in_call);
            lpo_critical_sweep_slice(sweep, &whole);
        }
    lpo_critical_sweep_destroy(sweep);
}

LPO_COMPARE(by_ns, struct lpo_critical_entry, LPO_DOWN(ns) ?: LPO_UP(part) ?: LPO_UP(name));

LPO_COMPARE(by_region_ns, struct lpo_critical_region, LPO_DOWN(ns) ?: LPO_UP(node));

/* What lies in a region lies in those around it. */
static void take_regions(struct collect *c)
{
    const struct lpo_region_tree *tree = c->g->tree;

    for (size_t i = tree->nodes.len; i > 0; i--)
        if (tree->nodes.at[i - 1].parent != LPO_NONE)
            c->region_ns[tree->nodes.at[i - 1].parent] += c->region_ns[i - 1];
    for (size_t i = 0; tree->nodes.len && i <= tree->nodes.len; i++)
        if (c->region_ns[i])
            lpo_vec_push(&c->path->regions,
                         (struct lpo_critical_region){
                             .node = i < tree->nodes.len ? (uint32_t)i : LPO_NODE_OUTSIDE,
                             .ns = c->region_ns[i] });
    lpo_vec_sort(&c->path->regions, by_region_ns);
}

/* The long tail of both is of no use, and may be as long as the trace has names. */
static void keep_largest(struct lpo_critical_path *p)
{
    p->entries.len = p->entries.len < KEPT ? p->entries.len : KEPT;
    p->regions.len = p->regions.len < KEPT ? p->regions.len : KEPT;
    p->entries.at = lpo_xrealloc(p->entries.at, p->entries.len + 1, sizeof *p->entries.at);
    p->regions.at = lpo_xrealloc(p->regions.at, p->regions.len + 1, sizeof *p->regions.at);
}

static void find_steps(struct collect *c, uint16_t process)
{
    size_t n = c->steps ? c->steps->rows.len : 0, i = 0;

    while (i < n && c->steps->rows.at[i].process != process)
        i++;
    c->first_step = i;
    while (i < n && c->steps->rows.at[i].process == process)
        lpo_vec_push(&c->path->steps, (struct lpo_critical_step){ .step = (uint32_t)i++ });
    c->end_step = i;
}

static void find_windows(struct collect *c, uint16_t process)
{
    const struct lpo_trace *t = c->g->t;

    for (size_t i = 0; i < t->window_ranges.len; i++)
        if (t->window_ranges.at[i].process == process) {
            c->first_window = t->window_ranges.at[i].first;
            c->end_window = c->first_window + t->window_ranges.at[i].count;
            return;
        }
}

static void follow_path(const struct critical_graph *g, const struct critical_input *in,
                        const struct lpo_program_steps *steps, struct lpo_critical_path *path)
{
    struct collect c = { .g = g, .path = path, .steps = steps };

    c.on_path = lpo_xcalloc(g->calls.len + 1, sizeof *c.on_path);
    c.region_ns = lpo_xcalloc(g->tree->nodes.len + 1, sizeof *c.region_ns);
    find_steps(&c, in->process);
    find_windows(&c, in->process);
    lpo_critical_walk(g, take_stretch, &c);
    take_frames(&c);
    lpo_vec_sort(&path->entries, by_ns);
    take_regions(&c);
    keep_largest(path);
    lpo_map_pair_free(&c.entry_rows);
    lpo_vec_free(&c.cut);
    free(c.on_path);
    free(c.region_ns);
}

/* The processes of a trace, each on a thread. */
struct processes {
    const struct lpo_region_tree *tree;
    const struct lpo_program_steps *steps;
    const struct critical_rows *rows;
    struct lpo_critical *out; /* has a path of each process already, with nothing but its number */
};

static void find_path(void *ctx, size_t i)
{
    const struct processes *p = ctx;
    struct lpo_critical_path path = p->out->paths.at[i];
    struct critical_input in = lpo_critical_input(p->tree, p->rows, path.process);
    struct critical_graph g;

    lpo_critical_graph_build(&g, &in);
    path.start_ns = g.start_ns;
    path.end_ns = g.end_ns;
    path.calls = g.calls.len;
    path.operations = g.ops.len;
    path.recorded_waits = g.recorded_waits;
    path.inferred_waits = g.inferred_waits;
    path.handovers = g.handovers;
    path.without_launch = g.without_launch;
    path.usual_launch_ns = g.usual_launch_ns;
    path.usual_gap_ns = g.usual_gap_ns;
    follow_path(&g, &in, p->steps, &path);
    lpo_critical_savings(&g, &path);
    lpo_critical_graph_free(&g);
    p->out->paths.at[i] = path;
}

/* --- what is the same for all processes --- */

static bool op_before(const void *trace, uint32_t a, uint32_t b)
{
    const struct lpo_trace *t = trace;

    return t->gpu_ops.at[a].start_ns < t->gpu_ops.at[b].start_ns;
}

static bool has_times(const struct lpo_gpu_op *w)
{
    return !(w->flags & (LPO_GPU_OP_UNTIMED | LPO_GPU_OP_NO_LENGTH));
}

static void group_gpu_ops(struct critical_rows *r, const struct lpo_trace *t)
{
    size_t n = t->processes.len, *at = lpo_xcalloc(n + 2, sizeof *at);

    r->op_rows = lpo_xrealloc(NULL, t->gpu_ops.len + 1, sizeof *r->op_rows);
    for (size_t i = 0; i < t->gpu_ops.len; i++)
        at[t->gpu_ops.at[i].process + 2] += has_times(&t->gpu_ops.at[i]);
    for (size_t i = 0; i < n; i++)
        at[i + 2] += at[i + 1];
    for (size_t i = 0; i < t->gpu_ops.len; i++)
        if (has_times(&t->gpu_ops.at[i]))
            r->op_rows[at[t->gpu_ops.at[i].process + 1]++] = (uint32_t)i;
    for (size_t i = 0; i < n; i++)
        lpo_order_sort(r->op_rows + at[i], at[i + 1] - at[i], op_before, t);
    r->starts = at;
}

static void group_threads(struct critical_rows *r, const struct lpo_trace *t)
{
    size_t *next;

    r->threads = lpo_xrealloc(NULL, t->threads.len + 1, sizeof *r->threads);
    r->thread_starts = lpo_xcalloc(t->processes.len + 2, sizeof *r->thread_starts);
    next = r->thread_starts + 1; /* one behind while they are filled */
    for (size_t i = 0; i < t->threads.len; i++)
        next[t->threads.at[i].process + 1]++;
    for (size_t i = 0; i < t->processes.len; i++)
        next[i + 1] += next[i];
    for (uint32_t i = 0; i < t->threads.len; i++)
        r->threads[next[t->threads.at[i].process]++] = i;
}

void lpo_critical_rows_find(struct critical_rows *r, const struct lpo_trace *t)
{
    group_gpu_ops(r, t);
    group_threads(r, t);
    r->waits = lpo_xcalloc(lpo_trace_name_count(t) + 1, sizeof *r->waits);
    for (uint32_t i = 0; i < lpo_trace_name_count(t); i++)
        r->waits[i] = lpo_critical_waits(lpo_trace_text(t, i));
    r->call_of = lpo_xrealloc(NULL, t->launches.len + 1, sizeof *r->call_of);
    for (size_t i = 0; i < t->launches.len; i++)
        r->call_of[i] = LPO_NONE;
}

void lpo_critical_rows_free(struct critical_rows *r)
{
    free(r->op_rows);
    free(r->starts);
    free(r->threads);
    free(r->thread_starts);
    free(r->waits);
    free(r->call_of);
}

struct critical_input lpo_critical_input(const struct lpo_region_tree *tree,
                                         const struct critical_rows *rows, uint16_t process)
{
    return (struct critical_input){ tree, rows, process, rows->op_rows + rows->starts[process],
                                    rows->starts[process + 1] - rows->starts[process] };
}

bool lpo_critical_is_too_large(const struct lpo_trace *t)
{
    return t->gpu_ops.len + t->launches.len + t->calls.len >= 1u << CRITICAL_KIND_SHIFT;
}

struct lpo_critical *lpo_critical_create(const struct lpo_region_tree *tree,
                                         const struct lpo_program_steps *steps)
{
    const struct lpo_trace *t = tree->trace;
    struct lpo_critical *out = lpo_xcalloc(1, sizeof *out);
    struct critical_rows rows;
    struct processes p = { tree, steps, &rows, out };

    if (lpo_critical_is_too_large(t))
        return out;
    lpo_critical_rows_find(&rows, t);
    for (size_t i = 0; i < t->processes.len && out->paths.len < lpo_budget()->scopes; i++)
        if (rows.starts[i + 1] > rows.starts[i])
            lpo_vec_push(&out->paths, (struct lpo_critical_path){ .process = (uint16_t)i });
    lpo_region_tree_look_up_classes(tree);
    lpo_thread_each(out->paths.len, find_path, &p);
    lpo_critical_rows_free(&rows);
    return out;
}

void lpo_critical_destroy(struct lpo_critical *c)
{
    if (!c)
        return;
    for (size_t i = 0; i < c->paths.len; i++) {
        lpo_vec_free(&c->paths.at[i].entries);
        lpo_vec_free(&c->paths.at[i].regions);
        lpo_vec_free(&c->paths.at[i].steps);
    }
    lpo_vec_free(&c->paths);
    free(c);
}
