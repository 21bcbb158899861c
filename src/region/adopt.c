/* SPDX-License-Identifier: Apache-2.0 */
/* Launches from threads without ranges: which other thread they belong to.
 *
 * A thread holds a launch when one of its ranges began before the call and ends after it: when the
 * latest end of all ranges that it opened so far is not before the end of the call. So one sweep
 * per process is enough that remembers, of all threads, the two latest ends. */

#include "region/links.h"
#include "region/tree.h"

/* A range that ends later than all before it of its thread; what lies in it needs no look. */
struct cover {
    int64_t start_ns, end_ns;
    uint32_t thread;
};

struct work {
    const struct lpo_region_tree *tree;
    const struct lpo_trace *t;
    const uint32_t *sets;
    LPO_VEC(struct cover) covers;
    LPO_VEC(uint32_t) alone; /* launches in no range */
    const struct lpo_region_backward *backward;
    int64_t *latest; /* per thread: the latest end of its ranges so far */
    bool *unknown;   /* processes whose ranges were summed: when they were open is lost */
};

/* The launches of a thread that none of its ranges holds. */
static void find_alone(struct work *w, uint32_t thread)
{
    struct lpo_host_walk walk = lpo_region_walk(w->tree, thread, LPO_HOST_LAUNCH);
    struct lpo_slice s;
    int64_t latest = INT64_MIN;

    while (lpo_region_next(w->tree, &walk, &s)) {
        if (s.kind != LPO_HOST_LAUNCH)
            latest = s.end_ns > latest ? s.end_ns : latest;
        else if (latest < s.end_ns && !w->t->launches.at[s.row].path &&
                 !(w->sets && w->sets[s.row]))
            lpo_vec_push(&w->alone, s.row);
    }
}

/* Of a launch: is it of an earlier process, or does it begin before the stretch? */
static bool is_before(const struct lpo_trace *t, uint32_t launch, uint16_t process,
                      int64_t start_ns)
{
    const struct lpo_launch *l = &t->launches.at[launch];
    uint16_t of = t->threads.at[l->thread].process;

    return of < process || (of == process && l->start_ns < start_ns);
}

/* Does one of the launches, which are in order, begin in it? */
static bool any_begins_in(const struct work *w, const struct cover *c)
{
    uint16_t own = w->t->threads.at[c->thread].process;
    size_t low = 0, high = w->alone.len;

    lpo_search(low, high, i, is_before(w->t, w->alone.at[i], own, c->start_ns));
    if (low == w->alone.len)
        return false;
    return w->t->threads.at[w->t->launches.at[w->alone.at[low]].thread].process == own &&
           w->t->launches.at[w->alone.at[low]].start_ns <= c->end_ns;
}

/* Only those that may hold a launch are kept: a trace may have millions of others. */
static void find_covers(struct work *w, uint32_t thread)
{
    struct lpo_host_walk walk = lpo_region_walk(w->tree, thread, 0);
    struct lpo_slice s;
    int64_t latest = INT64_MIN;

    while (lpo_region_next(w->tree, &walk, &s)) {
        struct cover c = { s.start_ns, s.end_ns, thread };

        if (c.end_ns <= latest)
            continue;
        latest = c.end_ns;
        if (any_begins_in(w, &c))
            lpo_vec_push(&w->covers, c);
    }
}

static bool cover_before(const void *ctx, uint32_t a, uint32_t b)
{
    const struct work *w = ctx;
    const struct cover *x = &w->covers.at[a], *y = &w->covers.at[b];
    uint16_t p = w->t->threads.at[x->thread].process, q = w->t->threads.at[y->thread].process;

    return p != q ? p < q : x->start_ns < y->start_ns;
}

static bool alone_before(const void *ctx, uint32_t a, uint32_t b)
{
    const struct lpo_trace *t = ((const struct work *)ctx)->t;
    const struct lpo_launch *x = &t->launches.at[a], *y = &t->launches.at[b];
    uint16_t p = t->threads.at[x->thread].process, q = t->threads.at[y->thread].process;

    return p != q ? p < q : x->start_ns < y->start_ns;
}

/* The two threads with the latest ends so far. A thread's end never falls, so one look each. */
struct latest {
    struct cover first, second;
};

static void see(struct latest *all, const struct cover *c)
{
    if (c->end_ns > all->first.end_ns || all->first.thread == c->thread) {
        if (all->first.thread != c->thread)
            all->second = all->first;
        all->first = *c;
    } else if (c->end_ns > all->second.end_ns || all->second.thread == c->thread) {
        all->second = *c;
    }
}

/* Of several threads in ranges, the one whose forward pass it is. */
static uint32_t forward_thread(const struct work *w, uint32_t launch)
{
    uint32_t thread = lpo_region_backward_thread(w->backward, w->t, launch);

    return thread != LPO_NONE && w->latest[thread] >= w->t->launches.at[launch].end_ns ? thread
                                                                                       : LPO_NONE;
}

static void sweep(const struct work *w, const uint32_t *covers, lpo_region_lookups *out)
{
    static const struct latest nobody = { { INT64_MIN, INT64_MIN, LPO_NONE },
                                          { INT64_MIN, INT64_MIN, LPO_NONE } };
    struct latest now = nobody;
    uint32_t process = LPO_NONE;
    size_t c = 0;

    for (size_t i = 0; i < w->alone.len; i++) {
        const struct lpo_launch *l = &w->t->launches.at[w->alone.at[i]];
        uint16_t own = w->t->threads.at[l->thread].process;
        uint32_t adopter;

        if (own != process)
            now = nobody;
        process = own;
        for (; c < w->covers.len; c++) {
            const struct cover *cover = &w->covers.at[covers[c]];
            uint16_t of = w->t->threads.at[cover->thread].process;

            if (of > own || (of == own && cover->start_ns > l->start_ns))
                break;
            if (of == own)
                see(&now, cover);
            w->latest[cover->thread] = cover->end_ns;
        }
        if (w->unknown[own] || now.first.end_ns < l->end_ns)
            continue;
        adopter =
            now.second.end_ns < l->end_ns ? now.first.thread : forward_thread(w, w->alone.at[i]);
        if (adopter != LPO_NONE)
            lpo_vec_push(out, ((struct lpo_region_lookup){ .start_ns = l->start_ns,
                                                           .end_ns = l->end_ns,
                                                           .thread = adopter,
                                                           .asker = w->alone.at[i],
                                                           .node = LPO_NONE }));
    }
}

void lpo_region_adopt(const struct lpo_region_tree *tree, const uint32_t *sets,
                      const struct lpo_region_backward *backward, lpo_region_lookups *out)
{
    const struct lpo_trace *t = tree->trace;
    struct work w = { .tree = tree, .t = t, .sets = sets, .backward = backward };
    uint32_t *covers = NULL;

    if (!t->launches.len || t->threads.len < 2) /* nothing to adopt, or nobody else */
        return;
    for (uint32_t i = 0; i < t->threads.len; i++)
        find_alone(&w, i);
    lpo_order_sort(w.alone.at, w.alone.len, alone_before, &w);
    for (uint32_t i = 0; w.alone.len && i < t->threads.len; i++)
        find_covers(&w, i);
    if (w.covers.len) {
        w.unknown = lpo_xcalloc(t->processes.len, sizeof *w.unknown);
        w.latest = lpo_xcalloc(t->threads.len, sizeof *w.latest);
        for (size_t i = 0; i < t->threads.len; i++)
            w.latest[i] = INT64_MIN;
        for (size_t i = 0; i < t->paths.len; i++)
            w.unknown[t->threads.at[t->paths.at[i].thread].process] = true;
        covers = lpo_xrealloc(NULL, w.covers.len, sizeof *covers);
        for (uint32_t i = 0; i < w.covers.len; i++)
            covers[i] = i;
        lpo_order_sort(covers, w.covers.len, cover_before, &w);
        sweep(&w, covers, out);
    }
    free(w.unknown);
    free(w.latest);
    free(covers);
    lpo_vec_free(&w.covers);
    lpo_vec_free(&w.alone);
}
