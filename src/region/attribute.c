/* SPDX-License-Identifier: Apache-2.0 */

#include "region/links.h"
#include "region/modules.h"
#include "region/tree.h"
#include "trace/recorded.h"
#include "util/budget.h"
#include "util/checked.h"

/* --- ranges that the reader summed ---------------------------------------------------------------
 */

/* `nodes` gets the node of each path, LPO_NONE where it has none. */
struct lpo_summed_paths {
    uint32_t *nodes; /* per row of trace->paths */
    bool *used;      /* the same, after one for no path: something was there */
};

/* The call may move the rows: it comes first. */
static struct lpo_visits *visits_of(struct lpo_region_tree *tree, uint32_t node, uint16_t process)
{
    uint32_t row = lpo_region_visits_of(tree, node, process);

    return &tree->visits.at[row];
}

/* The reader asks for the path of a call when it begins and may learn at its end that it is another
 * one. No region is made in which nothing ever was. */
static bool *find_used(const struct lpo_trace *t)
{
    bool *used = lpo_xcalloc(t->paths.len + 1, sizeof *used);

    for (size_t i = 0; i < t->launches.len; i++)
        used[t->launches.at[i].path] = true;
    for (size_t i = 0; i < t->captures.len; i++)
        used[t->captures.at[i].path] = true;
    for (size_t i = 0; i < t->open_paths.len; i++)
        used[t->open_paths.at[i].path + 1] = true;
    for (size_t i = t->paths.len; i; i--) {
        const struct lpo_path *p = &t->paths.at[i - 1];

        used[i] = used[i] || p->count;
        if (used[i] && p->parent != LPO_NONE)
            used[p->parent + 1] = true;
    }
    return used;
}

static struct lpo_summed_paths summed_paths(struct lpo_region_tree *tree)
{
    const struct lpo_trace *t = tree->trace;
    struct lpo_summed_paths s = { NULL, NULL };

    s.nodes = lpo_xcalloc(t->paths.len, sizeof *s.nodes);
    s.used = find_used(t);
    tree->too_deep += t->path_losses.too_deep;
    tree->too_long += t->path_losses.too_long;
    tree->too_many += t->path_losses.too_many;
    tree->crooked += t->path_losses.crooked;
    return s;
}

static void add_path(struct lpo_region_tree *tree, const struct lpo_summed_paths *s, uint32_t row)
{
    const struct lpo_path *p = &tree->trace->paths.at[row];
    uint32_t around = p->parent == LPO_NONE ? LPO_NONE : s->nodes[p->parent];
    uint32_t node = lpo_region_node(tree, around, p->name, p->domain, LPO_PUSH_POP);
    struct lpo_visits *v;

    s->nodes[row] = node == LPO_NONE ? around : node; /* no room for one more path */
    if (node == LPO_NONE)
        tree->too_long += p->count;
    if (node == LPO_NONE || (!p->count && !p->child_ns))
        return;
    v = visits_of(tree, node, tree->trace->threads.at[p->thread].process);
    v->count += p->count;
    v->host_ns = lpo_ns_add(v->host_ns, p->host_ns);
    v->child_ns = lpo_ns_add(v->child_ns, p->child_ns);
}

static void summed_add(struct lpo_region_tree *tree, const struct lpo_summed_paths *s,
                       uint32_t thread)
{
    struct lpo_host_rows paths = lpo_host_rows(tree->trace, thread, LPO_HOST_PATH);

    for (size_t i = 0; i < paths.len; i++)
        if (s->used[paths.at[i] + 1])
            add_path(tree, s, paths.at[i]);
}

/* After the last thread: visits that were never closed. */
static void summed_close(struct lpo_region_tree *tree, const struct lpo_summed_paths *s)
{
    const struct lpo_trace *t = tree->trace;

    for (size_t i = 0; i < t->open_paths.len; i++) {
        const struct lpo_open_path *o = &t->open_paths.at[i];
        uint16_t process = t->threads.at[t->paths.at[o->path].thread].process;
        int64_t ns = lpo_trace_recorded_ns(tree->recorded, process, o->start_ns,
                                           lpo_host_process_end(t, process));
        struct lpo_visits *v;

        if (s->nodes[o->path] == LPO_NONE)
            continue;
        v = visits_of(tree, s->nodes[o->path], process);
        v->count++;
        v->host_ns = lpo_ns_add(v->host_ns, ns);
        v->open++;
        tree->open++;
        if (o->around == LPO_NONE || s->nodes[o->around] == LPO_NONE)
            continue;
        v = visits_of(tree, s->nodes[o->around], process);
        v->child_ns = lpo_ns_add(v->child_ns, ns);
    }
}

static void summed_free(struct lpo_summed_paths *s)
{
    free(s->nodes);
    free(s->used);
    s->nodes = NULL;
    s->used = NULL;
}

/* --- start/end ranges ----------------------------------------------------------------------------
 */

/* A region with ranges open now. All of them began before, so only the last end matters. */
struct active {
    uint32_t node;
    int64_t end_ns;
};

struct set_sweep {
    struct lpo_region_tree *tree;
    struct active open[LPO_REGION_OPEN_SETS]; /* by node */
    size_t count;
};

static void close_ranges(struct set_sweep *s, int64_t now)
{
    size_t kept = 0;

    for (size_t i = 0; i < s->count; i++)
        if (s->open[i].end_ns >= now)
            s->open[kept++] = s->open[i];
    s->count = kept;
}

static void open_range(struct set_sweep *s, uint32_t node, int64_t end_ns)
{
    size_t i = s->count;

    while (i && s->open[i - 1].node > node)
        i--;
    if (i && s->open[i - 1].node == node) {
        if (end_ns > s->open[i - 1].end_ns)
            s->open[i - 1].end_ns = end_ns;
        return;
    }
    if (s->count == LPO_REGION_OPEN_SETS) {
        s->tree->too_many++;
        return;
    }
    memmove(s->open + i + 1, s->open + i, (s->count - i) * sizeof *s->open);
    s->open[i] = (struct active){ node, end_ns };
    s->count++;
}

static uint32_t set_at(struct set_sweep *s, const struct lpo_launch *l)
{
    uint32_t nodes[LPO_REGION_OPEN_SETS];
    size_t n = 0;

    for (size_t i = 0; i < s->count; i++)
        if (s->open[i].end_ns >= l->end_ns)
            nodes[n++] = s->open[i].node;
    /* launches that each lie in another thousand ranges: 4 KB a launch, twice */
    if (n && s->tree->set_nodes.len * sizeof *nodes > lpo_budget()->path_bytes) {
        s->tree->too_many++;
        n = 1;
    }
    return n ? lpo_region_set_of(s->tree, nodes, n) : 0;
}

static uint32_t visit(struct lpo_region_tree *tree, const struct lpo_slice *r, uint16_t process)
{
    uint16_t domain = tree->trace->ranges.at[r->row].domain;
    uint32_t node = lpo_region_node(tree, LPO_NONE, r->name, domain, LPO_START_END);

    lpo_region_count_visit(tree, lpo_region_visits_of(tree, node, process), r);
    return node;
}

static bool range_before(const void *trace, uint32_t a, uint32_t b)
{
    const struct lpo_trace *t = trace;

    return t->ranges.at[a].start_ns < t->ranges.at[b].start_ns;
}

static bool launch_before(const void *trace, uint32_t a, uint32_t b)
{
    const struct lpo_trace *t = trace;

    return t->launches.at[a].start_ns < t->launches.at[b].start_ns;
}

typedef LPO_VEC(uint32_t) row_vec;

/* Threads by process, those of one in their order: a trace may have sixty thousand processes, and
 * each must not look at the threads of all. */
struct members {
    uint32_t *first; /* per process: a thread, or LPO_NONE */
    uint32_t *next;  /* per thread: the next of its process, or LPO_NONE */
};

static struct members members_of(const struct lpo_trace *t)
{
    struct members m = { lpo_xcalloc(t->processes.len, sizeof *m.first),
                         lpo_xcalloc(t->threads.len, sizeof *m.next) };

    memset(m.first, 0xff, t->processes.len * sizeof *m.first);
    for (size_t i = t->threads.len; i--;) {
        uint32_t *first = &m.first[t->threads.at[i].process];

        m.next[i] = *first;
        *first = (uint32_t)i;
    }
    return m;
}

/* Rows of the threads of one process, put together and ordered. */
static void gather(const struct lpo_trace *t, enum lpo_host_kind kind, const struct members *m,
                   uint16_t process, lpo_order_before *before, row_vec *out)
{
    out->len = 0;
    for (uint32_t i = m->first[process]; i != LPO_NONE; i = m->next[i]) {
        struct lpo_host_rows rows = lpo_host_rows(t, i, kind);

        for (size_t k = 0; k < rows.len; k++)
            lpo_vec_push(out, rows.at[k]);
    }
    lpo_order_sort(out->at, out->len, before, t);
}

static void sweep_process(struct lpo_region_tree *tree, uint16_t process, const row_vec *ranges,
                          const row_vec *launches, uint32_t *sets)
{
    const struct lpo_trace *t = tree->trace;
    LPO_FREED struct set_sweep *s = lpo_xcalloc(1, sizeof *s);
    size_t r = 0, l = 0;

    s->tree = tree;
    while (r < ranges->len || l < launches->len) {
        if (l == launches->len ||
            (r < ranges->len &&
             t->ranges.at[ranges->at[r]].start_ns <= t->launches.at[launches->at[l]].start_ns)) {
            struct lpo_slice range = lpo_host_slice(t, LPO_HOST_START_END, ranges->at[r++]);

            /* Such ranges are in the file also where nothing is recorded: who starts one cannot
             * know whether a window will open before its end. */
            if (!lpo_trace_recorded_touches(tree->recorded, process, range.start_ns, range.end_ns))
                continue;
            close_ranges(s, range.start_ns);
            open_range(s, visit(tree, &range, process), range.end_ns);
            continue;
        }
        close_ranges(s, t->launches.at[launches->at[l]].start_ns);
        sets[launches->at[l]] = set_at(s, &t->launches.at[launches->at[l]]);
        l++;
    }
}

/* Part of it: start/end ranges, which cross threads and overlap. Makes a node per
 * name, counts its visits, and returns for every launch the set of those that hold it (row of
 * tree->sets); NULL when the trace has no start/end ranges. The caller frees. */
static uint32_t *start_end_sets(struct lpo_region_tree *tree)
{
    const struct lpo_trace *t = tree->trace;
    row_vec ranges = { 0 }, launches = { 0 };
    struct members members;
    uint32_t *sets;
    size_t i = 0;

    while (i < t->ranges.len && t->ranges.at[i].kind != LPO_START_END)
        i++;
    if (i == t->ranges.len)
        return NULL;
    sets = lpo_xcalloc(t->launches.len, sizeof *sets);
    members = members_of(t);
    for (size_t p = 0; p < t->processes.len; p++) {
        gather(t, LPO_HOST_START_END, &members, (uint16_t)p, range_before, &ranges);
        if (!ranges.len)
            continue;
        gather(t, LPO_HOST_LAUNCH, &members, (uint16_t)p, launch_before, &launches);
        sweep_process(tree, (uint16_t)p, &ranges, &launches, sets);
    }
    free(members.first);
    free(members.next);
    lpo_vec_free(&ranges);
    lpo_vec_free(&launches);
    return sets;
}

/* --- push/pop ranges -----------------------------------------------------------------------------
 */

/* One sweep per thread: ranges and launches in order of time, with the open ranges on a stack. */

/* A range on the stack. */
struct open {
    int64_t end_ns;
    uint32_t entered; /* node at which the visit was counted: it holds name, domain and kind */
    uint32_t path;    /* node of the stack up to here; LPO_NONE: not looked up yet */
    uint32_t visits;  /* row of the visit */
    bool outlives;    /* ends after the one below it */
};

struct sweep {
    struct lpo_region_tree *tree;
    struct open stack[LPO_REGION_DEPTH];
    size_t depth;
    size_t outliving; /* entries with that flag: 0 means that ends fall towards the top */
};

static uint32_t child_of(struct sweep *s, uint32_t parent, uint32_t like)
{
    const struct lpo_region n = s->tree->nodes.at[like];
    uint32_t node = lpo_region_node(s->tree, parent, n.name, n.domain, n.kind);

    return node == LPO_NONE ? parent : node; /* no room for one more path */
}

/* The node of the lowest `count` rows. Looked up late, so that no region is made which nothing
 * ever lay in. */
static uint32_t path_of(struct sweep *s, size_t count)
{
    size_t known = count;
    uint32_t node;

    while (known && s->stack[known - 1].path == LPO_NONE)
        known--;
    node = known ? s->stack[known - 1].path : LPO_NONE;
    for (size_t i = known; i < count; i++)
        node = s->stack[i].path = child_of(s, node, s->stack[i].entered);
    return node;
}

/* Takes out what ended before `now` below ranges that go on; the paths above it change. */
static void compact(struct sweep *s, int64_t now)
{
    size_t kept = 0;

    s->outliving = 0;
    for (size_t i = 0; i < s->depth; i++) {
        struct open e = s->stack[i];

        if (e.end_ns < now)
            continue;
        if (kept != i)
            e.path = LPO_NONE;
        e.outlives = kept && e.end_ns > s->stack[kept - 1].end_ns;
        s->outliving += e.outlives;
        s->stack[kept++] = e;
    }
    s->depth = kept;
}

static void expire(struct sweep *s, int64_t now)
{
    while (s->depth && s->stack[s->depth - 1].end_ns < now)
        s->outliving -= s->stack[--s->depth].outlives;
    if (s->outliving)
        compact(s, now);
}

/* Is this open range still one when [start, end] begins? One that ends there is not, unless it
 * holds it all. */
static bool encloses(const struct open *e, int64_t start_ns, int64_t end_ns)
{
    return e->end_ns > start_ns || e->end_ns >= end_ns;
}

/* The region of a slice below another. */
static uint32_t node_of(struct lpo_region_tree *tree, uint32_t parent, const struct lpo_slice *r)
{
    bool range = r->kind == LPO_HOST_RANGE;

    return lpo_region_node(tree, parent, r->name, range ? tree->trace->ranges.at[r->row].domain : 0,
                           range                        ? LPO_PUSH_POP
                           : r->kind == LPO_HOST_MODULE ? LPO_MODULE
                                                        : LPO_PYTHON);
}

/* The path at which a range is entered; *around is the stack row it began in, or -1. */
static uint32_t entered_at(struct sweep *s, const struct lpo_slice *r, int *around)
{
    uint32_t node = LPO_NONE;

    *around = (int)s->depth - 1;
    if (!s->outliving && (!s->depth || encloses(&s->stack[*around], r->start_ns, r->end_ns)))
        return node_of(s->tree, path_of(s, s->depth), r);
    *around = -1;
    for (size_t i = 0; i < s->depth; i++) {
        if (!encloses(&s->stack[i], r->start_ns, r->end_ns))
            continue;
        node = child_of(s, node, s->stack[i].entered);
        *around = (int)i;
    }
    return node_of(s->tree, node, r);
}

static void enter(struct sweep *s, const struct lpo_slice *r, uint16_t process)
{
    struct lpo_region_tree *tree = s->tree;
    const int64_t end_ns = r->end_ns;
    struct open o = { .end_ns = end_ns };
    int around;

    expire(s, r->start_ns);
    if (s->depth == LPO_REGION_DEPTH) {
        tree->too_deep++;
        return;
    }
    o.entered = entered_at(s, r, &around);
    if (o.entered == LPO_NONE) {
        tree->too_long++;
        return;
    }
    o.visits = lpo_region_visits_of(tree, o.entered, process);
    o.path = s->outliving || (size_t)around + 1 != s->depth ? LPO_NONE : o.entered;
    o.outlives = s->depth && end_ns > s->stack[s->depth - 1].end_ns;
    lpo_region_count_visit(tree, o.visits, r);
    if (around >= 0) {
        int64_t outer_ns = s->stack[around].end_ns;

        int64_t *child_ns = &tree->visits.at[s->stack[around].visits].child_ns;

        *child_ns =
            lpo_ns_add(*child_ns, lpo_trace_recorded_ns(tree->recorded, process, r->start_ns,
                                                        end_ns < outer_ns ? end_ns : outer_ns));
        tree->crooked += end_ns > outer_ns;
    }
    s->stack[s->depth++] = o;
    s->outliving += o.outlives;
}

/* The innermost of the open ranges that hold the whole call, as a path. */
static uint32_t leaf_at(struct sweep *s, int64_t start_ns, int64_t end_ns)
{
    uint32_t node = LPO_NONE;

    expire(s, start_ns);
    if (!s->outliving) {
        size_t i = s->depth;

        while (i && s->stack[i - 1].end_ns < end_ns)
            i--;
        return path_of(s, i);
    }
    for (size_t i = 0; i < s->depth; i++)
        if (s->stack[i].end_ns >= end_ns)
            node = child_of(s, node, s->stack[i].entered);
    return node;
}

/* What is known before the threads are swept. */
struct timeline {
    struct lpo_summed_paths summed;
    uint32_t *sets;             /* of start/end ranges around each launch; NULL: there are none */
    lpo_region_lookups lookups; /* by thread and time */
    size_t next_lookup;         /* threads are swept in their order */
};

struct lpo_host_walk lpo_region_walk(const struct lpo_region_tree *tree, uint32_t thread,
                                     unsigned kinds)
{
    return lpo_host_walk(tree->trace, thread,
                         LPO_HOST_RANGE | kinds |
                             (tree->modules ? LPO_HOST_MODULE | LPO_HOST_PYTHON : 0));
}

bool lpo_region_next(const struct lpo_region_tree *tree, struct lpo_host_walk *w,
                     struct lpo_slice *out)
{
    while (lpo_host_next(w, out)) {
        if (out->kind == LPO_HOST_RANGE &&
            tree->trace->ranges.at[out->row].flags & LPO_RANGE_SUMMED)
            continue;
        if (!(out->kind & (LPO_HOST_MODULE | LPO_HOST_PYTHON)) ||
            lpo_region_is_module(tree->modules, out))
            return true;
    }
    return false;
}

/* Answers those lookups of the thread that begin before `until`. */
static void look_up(struct sweep *s, struct timeline *line, uint32_t thread, int64_t until)
{
    for (; line->next_lookup < line->lookups.len; line->next_lookup++) {
        struct lpo_region_lookup *l = &line->lookups.at[line->next_lookup];

        if (l->thread != thread || l->start_ns >= until)
            return;
        l->node = leaf_at(s, l->start_ns, l->end_ns);
    }
}

static void sweep_thread(struct lpo_region_tree *tree, struct timeline *line, uint32_t thread)
{
    const struct lpo_trace *t = tree->trace;
    struct sweep s = { .tree = tree };
    struct lpo_host_walk w = lpo_region_walk(tree, thread, LPO_HOST_LAUNCH | LPO_HOST_CAPTURE);
    struct lpo_slice now;

    summed_add(tree, &line->summed, thread);
    while (lpo_region_next(tree, &w, &now)) {
        uint32_t path = now.kind == LPO_HOST_LAUNCH    ? t->launches.at[now.row].path
                        : now.kind == LPO_HOST_CAPTURE ? t->captures.at[now.row].path
                                                       : 0;
        uint32_t leaf;

        look_up(&s, line, thread, now.start_ns);
        if (now.kind & LPO_HOST_SLICES) {
            enter(&s, &now, t->threads.at[thread].process);
            continue;
        }
        leaf = path ? line->summed.nodes[path - 1] : leaf_at(&s, now.start_ns, now.end_ns);
        if (now.kind == LPO_HOST_CAPTURE)
            tree->capture_place[now.row] = lpo_region_place_of(tree, leaf, 0);
        else
            tree->launch_place[now.row] =
                lpo_region_place_of(tree, leaf, line->sets ? line->sets[now.row] : 0);
    }
    look_up(&s, line, thread, INT64_MAX);
}

/* Adds `node` to a sorted set without doubles; a full set stays as it is. Returns the new size. */
static size_t set_add(uint32_t *set, size_t count, size_t room, uint32_t node)
{
    size_t i = count;

    while (i && set[i - 1] > node)
        i--;
    if ((i && set[i - 1] == node) || count == room)
        return count;
    memmove(set + i + 1, set + i, (count - i) * sizeof *set);
    set[i] = node;
    return count + 1;
}

/* The source named the ranges itself. */
static uint32_t place_of_stack(struct lpo_region_tree *tree, const struct lpo_stack *stack)
{
    uint32_t leaf = LPO_NONE, set[LPO_REGION_OPEN_SETS];
    uint32_t node;
    size_t nset = 0;

    for (uint32_t i = 0; i < stack->count; i++) { /* a trace of empty stacks has no frames at all */
        const struct lpo_frame *f = &tree->trace->frames.at[stack->first + i];

        if (f->kind == LPO_START_END) {
            nset = set_add(set, nset, LPO_REGION_OPEN_SETS,
                           lpo_region_node(tree, LPO_NONE, f->name, f->domain, f->kind));
            continue;
        }
        if (leaf != LPO_NONE && tree->nodes.at[leaf].depth + 1 >= LPO_REGION_DEPTH) {
            tree->too_deep++;
            continue;
        }
        node = lpo_region_node(tree, leaf, f->name, f->domain, f->kind);
        if (node == LPO_NONE)
            tree->too_long++;
        else
            leaf = node;
    }
    return lpo_region_place_of(tree, leaf, lpo_region_set_of(tree, set, nset));
}

void lpo_region_attribute(struct lpo_region_tree *tree)
{
    const struct lpo_trace *t = tree->trace;
    struct timeline line = { .next_lookup = 0 };
    struct lpo_region_backward backward = { 0 };

    tree->launch_place = lpo_xcalloc(t->launches.len, sizeof *tree->launch_place);
    tree->capture_place = lpo_xcalloc(t->captures.len, sizeof *tree->capture_place);
    memset(tree->capture_place, 0xff, t->captures.len * sizeof *tree->capture_place);
    tree->stack_place = lpo_xcalloc(t->stacks.len, sizeof *tree->stack_place);
    line.sets = start_end_sets(tree);
    line.summed = summed_paths(tree);
    if (!(t->skip & LPO_SKIP_BACKWARD))
        lpo_region_backward_find(t, &backward);
    lpo_region_links_ask(t, &backward, &line.lookups);
    if (!(t->skip & LPO_SKIP_ADOPTION))
        lpo_region_adopt(tree, line.sets, &backward, &line.lookups);
    lpo_region_lookups_sort(&line.lookups);
    for (uint32_t i = 0; i < t->threads.len; i++)
        sweep_thread(tree, &line, i);
    summed_close(tree, &line.summed);
    for (size_t i = 0; i < t->stacks.len; i++)
        tree->stack_place[i] = place_of_stack(tree, &t->stacks.at[i]);
    for (size_t i = 0; i < t->captures.len; i++)
        if (t->captures.at[i].stack)
            tree->capture_place[i] = tree->stack_place[t->captures.at[i].stack - 1];
    lpo_region_links_fill(tree, &backward, &line.lookups);
    lpo_region_backward_free(&backward);
    lpo_vec_free(&line.lookups);
    free(line.sets);
    summed_free(&line.summed);
}
