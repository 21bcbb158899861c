/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/ranks/flight.h"

#include <ctype.h>

#include "trace/trace.h"

enum { MOST_MEMBERS = 1 << 20 };

struct work {
    const struct lpo_trace *t;
    uint32_t *sorted; /* calls by group, number, then rank */
    int64_t *reached; /* per group: the last collective that its rank called */
    uint32_t *last;   /* per process: its last call; LPO_NONE */
    struct lpo_flight *out;
};

static const struct lpo_flight_call *call_at(const struct work *w, size_t i)
{
    return &w->t->flight_calls.at[w->sorted[i]];
}

static const struct lpo_flight_group *group_of(const struct work *w,
                                               const struct lpo_flight_call *c)
{
    return &w->t->flight_groups.at[c->group];
}

/* Groups of one name and the same members are one. Ranks of another group may give it the same
 * name. */
static int compare_groups(const struct lpo_flight_group *a, const struct lpo_flight_group *b)
{
    if (a->name != b->name)
        return a->name < b->name ? -1 : 1;
    return a->members == b->members ? 0 : a->members < b->members ? -1 : 1;
}

static int by_group_number_rank(const void *x, const void *y, void *trace)
{
    const struct lpo_trace *t = trace;
    const struct lpo_flight_call *a = &t->flight_calls.at[*(const uint32_t *)x],
                                 *b = &t->flight_calls.at[*(const uint32_t *)y];
    const struct lpo_flight_group *g = &t->flight_groups.at[a->group],
                                  *h = &t->flight_groups.at[b->group];
    int groups = compare_groups(g, h);

    if (groups)
        return groups;
    if (a->p2p != b->p2p)
        return a->p2p ? 1 : -1;
    if (a->number != b->number)
        return a->number < b->number ? -1 : 1;
    if (g->rank != h->rank)
        return g->rank < h->rank ? -1 : 1;
    return *(const uint32_t *)x < *(const uint32_t *)y ? -1 : 1;
}

static bool holds_rank(const lpo_flight_ranks *list, int32_t rank)
{
    return lpo_any(i, list->len, list->at[i] == rank);
}

/* "[0, 1, 2]"; where nothing is said, the ranks whose dump knows the group. */
static void add_members(const struct work *w, const struct lpo_flight_group *g,
                        lpo_flight_ranks *out)
{
    const char *at = lpo_trace_text(w->t, g->members);

    while (*at && out->len < MOST_MEMBERS) {
        if (isdigit((unsigned char)*at))
            lpo_vec_push(out, (int32_t)strtol(at, (char **)&at, 10));
        else
            at++;
    }
    if (out->len)
        return;
    for (size_t i = 0; i < w->t->flight_groups.len; i++)
        if (w->t->flight_groups.at[i].rank >= 0 &&
            compare_groups(&w->t->flight_groups.at[i], g) == 0)
            lpo_vec_push(out, w->t->flight_groups.at[i].rank);
}

/* The row of this group in the dump of that rank; LPO_NONE: it left no dump, or knows no such
 * group. */
static uint32_t group_on(const struct work *w, const struct lpo_flight_group *g, int32_t rank)
{
    for (uint32_t i = 0; i < w->t->flight_groups.len; i++)
        if (w->t->flight_groups.at[i].rank == rank &&
            compare_groups(&w->t->flight_groups.at[i], g) == 0)
            return i;
    return LPO_NONE;
}

/* --- calls of one collective ------------------------------------------------------------------ */

/* Those whose ranks may each bring another size. */
static bool may_differ(const char *name)
{
    static const char *const names[] = { "all_to_all", "alltoall", "gather",   "scatter",
                                         "send",       "recv",     "coalesced" };

    if (strstr(name, "all_gather") || strstr(name, "reduce_scatter"))
        return false;
    return lpo_any(i, sizeof names / sizeof *names, strstr(name, names[i]));
}

static bool differs(const struct work *w, const struct lpo_flight_call *a,
                    const struct lpo_flight_call *b)
{
    const char *name = lpo_trace_text(w->t, a->name);

    if (a->name != b->name)
        return true;
    if (may_differ(name) || a->p2p)
        return false;
    return a->sizes != b->sizes ||
           (a->types != b->types && a->types != LPO_NONE && b->types != LPO_NONE);
}

/* Calls [from, to) are of one collective: what is wrong with it, if anything is. */
static bool judge(const struct work *w, size_t from, size_t to, struct lpo_flight_verdict *v)
{
    const struct lpo_flight_call *first = call_at(w, from);
    const struct lpo_flight_group *g = group_of(w, first);
    lpo_flight_ranks members = { 0 }, silent = { 0 };

    *v =
        (struct lpo_flight_verdict){ .call = w->sorted[from], .other = LPO_NONE, .last = LPO_NONE };
    for (size_t i = from; i < to; i++) {
        const struct lpo_flight_call *c = call_at(w, i);

        if (c->state != LPO_FLIGHT_COMPLETED)
            lpo_vec_push(&v->waiting, group_of(w, c)->rank);
        if (v->other == LPO_NONE && differs(w, first, c))
            v->other = w->sorted[i];
    }
    add_members(w, g, &members);
    for (size_t i = 0; v->waiting.len && !first->p2p && i < members.len; i++) {
        uint32_t there = group_on(w, g, members.at[i]);

        if (there == LPO_NONE)
            lpo_vec_push(&silent, members.at[i]);
        else if (w->reached[there] < first->number)
            lpo_vec_push(&v->missing, members.at[i]);
    }
    v->kind = v->other != LPO_NONE ? LPO_FLIGHT_MISMATCH
              : v->missing.len     ? LPO_FLIGHT_MISSING
              : silent.len         ? LPO_FLIGHT_SILENT
                                   : LPO_FLIGHT_STUCK;
    if (v->kind == LPO_FLIGHT_SILENT) {
        v->missing = silent;
        silent = (lpo_flight_ranks){ 0 };
    }
    lpo_vec_free(&members);
    lpo_vec_free(&silent);
    v->came = to - from;
    return v->waiting.len > 0;
}

static void free_verdict(struct lpo_flight_verdict *v)
{
    lpo_vec_free(&v->missing);
    lpo_vec_free(&v->waiting);
}

/* --- verdicts --------------------------------------------------------------------------------- */

static bool same_collective(const struct work *w, size_t a, size_t b)
{
    const struct lpo_flight_call *x = call_at(w, a), *y = call_at(w, b);

    return x->p2p == y->p2p && x->number == y->number &&
           compare_groups(group_of(w, x), group_of(w, y)) == 0;
}

/* The first collective of each group that did not complete, and the first message. */
static void find_verdicts(struct work *w)
{
    const size_t count = w->t->flight_calls.len;
    const struct lpo_flight_call *done = NULL;

    for (size_t from = 0, to; from < count; from = to) {
        struct lpo_flight_verdict v;

        for (to = from + 1; to < count && same_collective(w, from, to);)
            to++;
        if (done && done->p2p == call_at(w, from)->p2p &&
            compare_groups(group_of(w, done), group_of(w, call_at(w, from))) == 0)
            continue;
        if (judge(w, from, to, &v)) {
            done = call_at(w, from);
            lpo_vec_push(&w->out->verdicts, v);
        } else {
            free_verdict(&v);
        }
    }
}

/* The verdict that the missing ranks of another one wait in; SIZE_MAX: none. */
static size_t waits_in(const struct lpo_flight *f, const struct lpo_flight_verdict *v)
{
    for (size_t i = 0; v->kind == LPO_FLIGHT_MISSING && i < f->verdicts.len; i++)
        for (size_t k = 0; &f->verdicts.at[i] != v && k < v->missing.len; k++)
            if (holds_rank(&f->verdicts.at[i].waiting, v->missing.at[k]))
                return i;
    return SIZE_MAX;
}

/* How many verdicts stand between this one and one that waits for nobody. */
static size_t distance(const struct lpo_flight *f, size_t at, bool *cycle)
{
    size_t steps = 0;

    for (size_t next = at; (next = waits_in(f, &f->verdicts.at[next])) != SIZE_MAX; steps++)
        if (steps > f->verdicts.len) {
            *cycle = true;
            return 0;
        }
    return steps;
}

struct ordered {
    struct lpo_flight_verdict v;
    size_t steps;
    int64_t ns;
};

LPO_COMPARE(by_cause, struct ordered, LPO_UP(v.in_cycle) ?: LPO_UP(steps) ?: LPO_UP(v.kind) ?: LPO_UP(ns));

static void order_verdicts(struct work *w)
{
    const size_t count = w->out->verdicts.len;
    LPO_FREED struct ordered *all = lpo_xcalloc(count + 1, sizeof *all);

    for (size_t i = 0; i < count; i++) {
        struct lpo_flight_verdict *v = &w->out->verdicts.at[i];

        all[i].steps = distance(w->out, i, &v->in_cycle);
        all[i].ns = w->t->flight_calls.at[v->call].created_ns;
    }
    for (size_t i = 0; i < count; i++)
        all[i].v = w->out->verdicts.at[i];
    qsort(all, count, sizeof *all, by_cause);
    for (size_t i = 0; i < count; i++)
        w->out->verdicts.at[i] = all[i].v;
}

/* What each rank did last, and how far it came in each group. */
static void look_back(struct work *w)
{
    const struct lpo_trace *t = w->t;

    for (size_t i = 0; i < t->processes.len; i++)
        w->last[i] = LPO_NONE;
    for (size_t i = 0; i < t->flight_groups.len; i++)
        w->reached[i] = t->flight_groups.at[i].enqueued;
    for (uint32_t i = 0; i < t->flight_calls.len; i++) {
        const struct lpo_flight_call *c = &t->flight_calls.at[i];
        uint32_t *last = &w->last[t->flight_groups.at[c->group].process];

        if (!c->p2p && c->number > w->reached[c->group])
            w->reached[c->group] = c->number;
        if (*last == LPO_NONE || c->created_ns >= t->flight_calls.at[*last].created_ns)
            *last = i;
    }
}

static void find_last_calls(struct work *w)
{
    const struct lpo_trace *t = w->t;

    for (size_t i = 0; i < w->out->verdicts.len; i++) {
        struct lpo_flight_verdict *v = &w->out->verdicts.at[i];

        for (size_t k = 0; v->kind == LPO_FLIGHT_MISSING && k < t->flight_groups.len; k++)
            if (t->flight_groups.at[k].rank == v->missing.at[0])
                v->last = w->last[t->flight_groups.at[k].process];
    }
}

static int by_rank(const void *x, const void *y, void *trace)
{
    const struct lpo_trace *t = trace;
    const uint32_t *a = x, *b = y;
    int32_t r = t->flight_groups.at[t->flight_calls.at[*a].group].rank,
            s = t->flight_groups.at[t->flight_calls.at[*b].group].rank;

    return r != s ? (r > s) - (r < s) : (*a > *b) - (*a < *b);
}

struct lpo_flight *lpo_ranks_flight_create(const struct lpo_trace *t)
{
    struct work w = { .t = t, .out = lpo_xcalloc(1, sizeof *w.out) };
    LPO_FREED bool *dumped = lpo_xcalloc(t->processes.len + 1, sizeof *dumped);

    w.sorted = lpo_xcalloc(t->flight_calls.len + 1, sizeof *w.sorted);
    w.reached = lpo_xcalloc(t->flight_groups.len + 1, sizeof *w.reached);
    w.last = lpo_xcalloc(t->processes.len + 1, sizeof *w.last);
    for (uint32_t i = 0; i < t->flight_calls.len; i++)
        w.sorted[i] = i;
    qsort_r(w.sorted, t->flight_calls.len, sizeof *w.sorted, by_group_number_rank, (void *)t);
    look_back(&w);
    find_verdicts(&w);
    order_verdicts(&w);
    find_last_calls(&w);
    for (size_t i = 0; i < t->flight_groups.len; i++)
        dumped[t->flight_groups.at[i].process] = true;
    for (size_t i = 0; i < t->processes.len; i++) {
        w.out->dumps += dumped[i];
        if (w.last[i] != LPO_NONE)
            lpo_vec_push(&w.out->last, w.last[i]);
    }
    if (w.out->last.len)
        qsort_r(w.out->last.at, w.out->last.len, sizeof *w.out->last.at, by_rank, (void *)t);
    free(w.sorted);
    free(w.reached);
    free(w.last);
    return w.out;
}

void lpo_ranks_flight_destroy(struct lpo_flight *f)
{
    if (!f)
        return;
    for (size_t i = 0; i < f->verdicts.len; i++)
        free_verdict(&f->verdicts.at[i]);
    lpo_vec_free(&f->verdicts);
    lpo_vec_free(&f->last);
    free(f);
}
