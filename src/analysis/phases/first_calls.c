/* SPDX-License-Identifier: Apache-2.0 */
/* The first visit of a range, or the first call of an operator with some input shapes, often loads
 * modules, tunes kernels or compiles. That cost comes once and must not be reported as the cost of
 * every step. */

#include "analysis/phases/private.h"
#include "region/fold.h"
#include "trace/host.h"

enum { MOST_FIRST_CALLS = 1000 };

LPO_COMPARE(by_key_and_start, struct lpo_phases_visit, LPO_UP(key) ?: LPO_UP(start_ns));

LPO_COMPARE(by_length, int64_t, LPO_UP_OF(*a, *b));

static int64_t excess(const struct lpo_first_call *f)
{
    return f->end_ns - f->start_ns - f->later_ns;
}

static int longest_first(const void *x, const void *y)
{
    const struct lpo_first_call *a = x, *b = y;

    if (excess(a) != excess(b))
        return excess(a) > excess(b) ? -1 : 1;
    return a->start_ns < b->start_ns ? -1 : a->start_ns > b->start_ns;
}

/* `v` are the visits of one key in order of time. */
static void compare_calls(int64_t least_ns, const struct lpo_phases_visit *v, size_t count,
                          lpo_first_calls *out)
{
    struct lpo_first_call f = {
        .start_ns = v->start_ns, .end_ns = v->end_ns, .name = v->name, .process = v->process
    };
    int64_t *lengths;

    if (count < 1 + LPO_PHASES_LEAST_LATER)
        return;
    lengths = lpo_xrealloc(NULL, count, sizeof *lengths);
    for (size_t i = 1; i < count; i++)
        lengths[i - 1] = v[i].end_ns - v[i].start_ns;
    qsort(lengths, count - 1, sizeof *lengths, by_length);
    f.later_ns = lengths[(count - 1) / 2];
    f.later = count - 1;
    free(lengths);
    if ((f.end_ns - f.start_ns) / (v->unlike ? LPO_PHASES_UNLIKE_TIMES : LPO_PHASES_FIRST_TIMES) >=
            f.later_ns &&
        excess(&f) > 0 && excess(&f) >= least_ns)
        lpo_vec_push(out, f);
}

static void compare_all(int64_t least_ns, lpo_phases_visits *all, lpo_first_calls *out)
{
    lpo_vec_sort(all, by_key_and_start);
    for (size_t i = 0; i < all->len;) {
        size_t from = i;

        while (i < all->len && all->at[i].key == all->at[from].key)
            i++;
        compare_calls(least_ns, &all->at[from], i - from, out);
    }
}

/* What ranges are compared by: their path, and their path with a star for each number. */
struct paths {
    const struct lpo_trace *trace;
    struct lpo_map *starred;            /* names with a star for each number */
    LPO_VEC(uint32_t) starred_of;       /* per name: row of those, plus one; 0: not asked yet */
    struct lpo_map_pair keys, families; /* (name, or starred name; what it lies in) */
};

static uint32_t starred(struct paths *p, uint32_t name)
{
    const char *text = lpo_trace_text(p->trace, name);
    LPO_STR star = { 0 };
    uint64_t *slot;
    bool fresh;

    while (p->starred_of.len <= name)
        lpo_vec_push(&p->starred_of, 0);
    if (p->starred_of.at[name])
        return p->starred_of.at[name];
    lpo_str_add_starred(&star, text,
                        lpo_region_shown_len(text, lpo_trace_text_len(p->trace, name)));
    slot = lpo_map_put(p->starred, lpo_str_text(&star), star.len, &fresh);
    if (fresh)
        *slot = lpo_map_count(p->starred);
    return p->starred_of.at[name] = (uint32_t)*slot;
}

/* A range in the ranges that are open around it: along which path, and in which family. */
static struct lpo_phases_visit visit_of(struct paths *p, const struct lpo_range *r,
                                        const struct lpo_phases_visit *around)
{
    const uint64_t inside = UINT64_C(1) << 33, apart = UINT64_C(1) << 32;
    const struct lpo_trace *t = p->trace;
    struct lpo_phases_visit v = { .start_ns = r->start_ns, .end_ns = r->end_ns, .name = r->name };
    size_t len = lpo_trace_text_len(t, r->name);
    bool nests = r->kind == LPO_PUSH_POP, fresh;

    v.process = t->threads.at[r->thread].process;
    v.key = lpo_map_pair_put(&p->keys, r->name,
                             !nests   ? apart + v.process
                             : around ? inside + around->key
                                      : v.process,
                             &fresh);
    v.family = LPO_NONE;
    if (lpo_region_shown_len(lpo_trace_text(t, r->name), len) == len) /* or it is an operator */
        v.family = lpo_map_pair_put(&p->families, starred(p, r->name),
                                    !nests   ? apart + v.process
                                    : around ? inside + around->family
                                             : v.process,
                                    &fresh);
    return v;
}

/* Ranges are compared along the path they are in: a layer does more work in prefill than in decode,
 * and its first visit there is no first call. Start/end ranges do not nest: they have their name.
 */
static void find_ranges_of(struct paths *p, uint32_t thread, lpo_phases_visits *all)
{
    struct lpo_host_walk walk =
        lpo_host_walk(p->trace, thread, LPO_HOST_RANGE | LPO_HOST_START_END);
    LPO_FREED lpo_phases_visits open = { 0 };
    struct lpo_slice s;

    while (lpo_host_next(&walk, &s)) {
        const struct lpo_range *r = &p->trace->ranges.at[s.row];
        struct lpo_phases_visit v;

        while (s.kind == LPO_HOST_RANGE && open.len && open.at[open.len - 1].end_ns < s.end_ns)
            open.len--;
        v = visit_of(p, r, open.len ? &open.at[open.len - 1] : NULL);
        if (!(r->flags & LPO_RANGE_OPEN))
            lpo_vec_push(all, v);
        v.end_ns = s.end_ns;
        if (s.kind == LPO_HOST_RANGE)
            lpo_vec_push(&open, v);
    }
}

static void find_ranges(const struct lpo_trace *t, int64_t least_ns, lpo_first_calls *out)
{
    struct paths paths = { .trace = t, .starred = lpo_map_create() };
    LPO_FREED lpo_phases_visits all = { 0 };

    for (uint32_t i = 0; i < t->threads.len; i++)
        find_ranges_of(&paths, i, &all);
    compare_all(least_ns, &all, out);
    lpo_phases_find_numbered(t, least_ns, &all, out);
    lpo_map_destroy(paths.starred);
    lpo_vec_free(&paths.starred_of);
    lpo_map_pair_free(&paths.keys);
    lpo_map_pair_free(&paths.families);
}

/* Traces have millions of operators: only those of which some call is long enough are sorted.
 * Without shapes nobody knows whether two calls do the same work. */
static void find_operators(const struct lpo_trace *t, int64_t least_ns, lpo_first_calls *out)
{
    struct lpo_map_pair keys = { 0 }, calls = { 0 };
    LPO_FREED lpo_phases_visits all = { 0 };
    bool fresh;

    for (size_t i = 0; i < t->ops.len; i++)
        if (t->ops.at[i].end_ns - t->ops.at[i].start_ns >= least_ns)
            lpo_map_pair_put(&keys, t->ops.at[i].name, t->ops.at[i].args, &fresh);
    for (size_t i = 0; i < t->ops.len; i++) {
        const struct lpo_op *o = &t->ops.at[i];
        uint16_t process = t->threads.at[o->thread].process;
        uint32_t key = lpo_map_pair_find(&keys, o->name, o->args);

        if (key != UINT32_MAX)
            lpo_vec_push(&all, ((struct lpo_phases_visit){
                                   .start_ns = o->start_ns,
                                   .end_ns = o->end_ns,
                                   .key = lpo_map_pair_put(&calls, key, process, &fresh),
                                   .name = o->name,
                                   .process = process,
                                   .unlike = o->args == LPO_NONE }));
    }
    compare_all(least_ns, &all, out);
    lpo_map_pair_free(&keys);
    lpo_map_pair_free(&calls);
}

void lpo_phases_find_first_calls(const struct lpo_trace *t, int64_t least_ns, lpo_first_calls *out)
{
    find_ranges(t, least_ns, out);
    find_operators(t, least_ns, out);
    lpo_vec_sort(out, longest_first);
    if (out->len > MOST_FIRST_CALLS) /* each gap is looked for in each of them */
        out->len = MOST_FIRST_CALLS;
}
