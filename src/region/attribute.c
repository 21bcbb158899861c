/* SPDX-License-Identifier: Apache-2.0 */
/* One sweep per thread: ranges and launches in order of time, with the open ranges on a stack. */
#include "region/attribute.h"

#include <stdlib.h>
#include <string.h>

#include "region/links.h"
#include "region/modules.h"
#include "region/tree.h"
#include "trace/recorded.h"
#include "util/checked.h"

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

    lpo_region_summed_add(tree, &line->summed, thread);
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

size_t lpo_region_set_add(uint32_t *set, size_t count, size_t room, uint32_t node)
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
            nset = lpo_region_set_add(set, nset, LPO_REGION_OPEN_SETS,
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
    line.sets = lpo_region_start_end_sets(tree);
    line.summed = lpo_region_summed_paths(tree);
    if (!(t->skip & LPO_SKIP_BACKWARD))
        lpo_region_backward_find(t, &backward);
    lpo_region_links_ask(t, &backward, &line.lookups);
    if (!(t->skip & LPO_SKIP_ADOPTION))
        lpo_region_adopt(tree, line.sets, &backward, &line.lookups);
    lpo_region_lookups_sort(&line.lookups);
    for (uint32_t i = 0; i < t->threads.len; i++)
        sweep_thread(tree, &line, i);
    lpo_region_summed_close(tree, &line.summed);
    for (size_t i = 0; i < t->stacks.len; i++)
        tree->stack_place[i] = place_of_stack(tree, &t->stacks.at[i]);
    for (size_t i = 0; i < t->captures.len; i++)
        if (t->captures.at[i].stack)
            tree->capture_place[i] = tree->stack_place[t->captures.at[i].stack - 1];
    lpo_region_links_fill(tree, &backward, &line.lookups);
    lpo_region_backward_free(&backward);
    lpo_vec_free(&line.lookups);
    free(line.sets);
    lpo_region_summed_free(&line.summed);
}
