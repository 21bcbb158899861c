/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of a process that launch or wait, thread by thread, and which one each of them follows. */

#include "trace/host.h"
#include "analysis/critical/private.h"

/* A thread without calls and operators for so long may have handed over to another one. */
static const int64_t rest_ns = 100000;

enum { LOOKS = 64 }; /* neighbours that are looked at: a bound on what one call may cost */

/* Calls of one thread that follow each other without a rest. */
struct burst {
    uint32_t first, last; /* calls */
    int64_t start_ns, end_ns;
    uint32_t thread;
};

typedef LPO_VEC(struct burst) burst_vec;

bool lpo_critical_waits(const char *name)
{
    /* freeing memory waits for the whole device */
    static const char *const frees[] = { "cudaFree", "hipFree", "cuMemFree" };

    for (size_t i = 0; i < sizeof frees / sizeof *frees; i++) {
        size_t len = strlen(frees[i]);

        if (strncmp(name, frees[i], len) == 0 && (!name[len] || strncmp(name + len, "_v", 2) == 0))
            return true;
    }
    return strstr(name, "Synchronize") != NULL;
}

static void add_mark(struct critical_graph *g, uint32_t thread, int64_t start_ns, int64_t end_ns,
                     uint32_t last)
{
    lpo_vec_push(&g->marks, (struct critical_mark){ start_ns, end_ns, thread });
    lpo_vec_push(&g->calls,
                 (struct critical_call){ .row = CRITICAL_MARK | (uint32_t)(g->marks.len - 1),
                                         .before = last,
                                         .waits = LPO_NONE });
}

static bool is_inside(const struct critical_window *w, int64_t ns)
{
    return !w->wall_ns || (ns >= w->start_ns && ns < w->start_ns + w->wall_ns);
}

/* Does a slice of any kind begin then? */
static bool begins_in(const struct lpo_trace *t, uint32_t thread, int64_t start_ns, int64_t end_ns)
{
    for (unsigned kind = 1; kind & LPO_HOST_SLICES; kind <<= 1) {
        struct lpo_host_rows rows = lpo_host_rows(t, thread, (enum lpo_host_kind)kind);
        size_t low = 0, high = rows.len;

        lpo_search(low, high, mid,
                   lpo_host_slice(t, (enum lpo_host_kind)kind, rows.at[mid]).start_ns < start_ns);
        if (low < rows.len &&
            lpo_host_slice(t, (enum lpo_host_kind)kind, rows.at[low]).start_ns < end_ns)
            return true;
    }
    return false;
}

/* An operator that goes on for long after its last launch, with nothing recorded in it, may wait
 * for what it launched: graph.c looks whether that ended meanwhile. */
static void add_rest(struct critical_graph *g, uint32_t thread, size_t first, int64_t until_ns)
{
    uint32_t last = (uint32_t)g->calls.len - 1, launch;
    struct critical_span c;
    struct lpo_slice op;

    if (g->calls.len == first)
        return;
    c = lpo_critical_times(g, last);
    launch = lpo_critical_launch(g, last);
    if (until_ns < c.end_ns + rest_ns || launch == LPO_NONE ||
        !lpo_host_around(g->t, launch, LPO_HOST_OP, &op) || op.end_ns > until_ns ||
        op.end_ns - c.end_ns < rest_ns || begins_in(g->t, thread, c.end_ns, op.end_ns))
        return;
    add_mark(g, thread, c.end_ns, op.end_ns, last);
}

/* One thread: its launches and its calls that wait, in order of time. A call inside another one (of
 * the driver inside the runtime's) is part of that. */
static void add_thread(struct critical_graph *g, const struct critical_input *in, uint32_t thread)
{
    const struct lpo_trace *t = g->t;
    struct lpo_host_walk walk = lpo_host_walk(t, thread, LPO_HOST_LAUNCH | LPO_HOST_CALL);
    size_t first = g->calls.len;
    struct lpo_slice s;

    while (lpo_host_next(&walk, &s)) {
        bool launch = s.kind == LPO_HOST_LAUNCH;
        uint32_t row = launch ? s.row : CRITICAL_ONLY_WAITS | s.row, last;
        int64_t ns = s.start_ns;

        if (!launch && !in->rows->waits[s.name])
            continue;
        if (!is_inside(&in->window, ns))
            continue;
        add_rest(g, thread, first, ns);
        last = g->calls.len > first ? (uint32_t)g->calls.len - 1 : LPO_NONE;
        if (in->window.wall_ns && last == LPO_NONE) {
            add_mark(g, thread, in->window.start_ns, in->window.start_ns, LPO_NONE);
            last = (uint32_t)first;
        }
        if (last != LPO_NONE && !launch && s.end_ns <= lpo_critical_times(g, last).end_ns)
            continue;
        lpo_vec_push(&g->calls,
                     (struct critical_call){ .row = row, .before = last, .waits = LPO_NONE });
    }
    if (in->window.wall_ns && g->calls.len > first) {
        int64_t end_ns = in->window.end_ns[thread];
        uint32_t last;

        add_rest(g, thread, first, end_ns);
        last = (uint32_t)g->calls.len - 1;
        if (end_ns > lpo_critical_times(g, last).end_ns)
            add_mark(g, thread, end_ns, end_ns, last);
    }
}

static void find_bursts(const struct critical_graph *g, burst_vec *out)
{
    for (uint32_t i = 0; i < g->calls.len; i++) {
        struct critical_span c = lpo_critical_times(g, i);
        struct burst *b = out->len ? &out->at[out->len - 1] : NULL;

        if (b && g->calls.at[i].before != LPO_NONE && c.start_ns - b->end_ns < rest_ns) {
            b->last = i;
            b->end_ns = c.end_ns > b->end_ns ? c.end_ns : b->end_ns;
        } else {
            lpo_vec_push(out,
                         (struct burst){ i, i, c.start_ns, c.end_ns, lpo_critical_thread(g, i) });
        }
    }
}

LPO_COMPARE(by_start, struct burst, LPO_UP(start_ns) ?: LPO_UP(first));

LPO_COMPARE(by_end, struct burst, LPO_UP(end_ns) ?: LPO_UP(first));

/* Was the thread inside operators for most of a stretch? Then it did not rest. Looks at operators
 * that begin in it, and at a few before it. */
static bool in_operators(const struct critical_graph *g, uint32_t thread, int64_t start_ns,
                         int64_t end_ns)
{
    const struct lpo_trace *t = g->t;
    struct lpo_host_rows ops = lpo_host_rows(t, thread, LPO_HOST_OP);
    const uint32_t *rows = ops.at;
    size_t low = 0, high = ops.len;
    int64_t covered = 0, until = start_ns;

    lpo_search(low, high, mid, t->ops.at[rows[mid]].start_ns < start_ns);
    for (size_t i = low; i > 0 && low - i < LOOKS; i--) {
        int64_t end = t->ops.at[rows[i - 1]].end_ns;

        until = end > until ? end : until;
    }
    covered = (until < end_ns ? until : end_ns) - start_ns;
    for (; low < ops.len && t->ops.at[rows[low]].start_ns < end_ns; low++) {
        const struct lpo_op *op = &t->ops.at[rows[low]];
        int64_t from = op->start_ns > until ? op->start_ns : until;
        int64_t to = op->end_ns < end_ns ? op->end_ns : end_ns;

        covered += to > from ? to - from : 0;
        until = op->end_ns > until ? op->end_ns : until;
    }
    return covered > (end_ns - start_ns) / 2;
}

/* The first burst of another thread that lies in a rest; NULL. `starts` is in order of starts. */
static const struct burst *first_inside(const burst_vec *starts, uint32_t thread, int64_t start_ns,
                                        int64_t end_ns)
{
    size_t low = 0, high = starts->len;

    lpo_search(low, high, mid, starts->at[mid].start_ns < start_ns);
    for (size_t i = low; i < starts->len && i - low < LOOKS; i++) {
        const struct burst *b = &starts->at[i];

        if (b->start_ns > end_ns)
            break;
        if (b->thread != thread && b->end_ns <= end_ns)
            return b;
    }
    return NULL;
}

/* The last one of another thread that ends in a rest; `ends` is in order of ends. */
static const struct burst *last_inside(const burst_vec *ends, uint32_t thread, int64_t start_ns,
                                       int64_t end_ns)
{
    size_t low = 0, high = ends->len;

    lpo_search(low, high, mid, ends->at[mid].end_ns <= end_ns);
    for (size_t i = low; i > 0 && low - i < LOOKS; i--) {
        const struct burst *b = &ends->at[i - 1];

        if (b->end_ns < start_ns)
            break;
        if (b->thread != thread && b->start_ns >= start_ns)
            return b;
    }
    return NULL;
}

/* A thread rests, and others work from beginning to end inside its rest: it waited for them. */
static void hand_over(struct critical_graph *g)
{
    burst_vec starts = { 0 }, ends = { 0 };

    find_bursts(g, &starts);
    find_bursts(g, &ends);
    lpo_vec_sort(&starts, by_start);
    lpo_vec_sort(&ends, by_end);
    for (uint32_t i = 1; i < g->calls.len; i++) {
        uint32_t thread = lpo_critical_thread(g, i);
        /* the call before it on its thread: a handed over `before` is another thread's */
        int64_t from = lpo_critical_times(g, i - 1).end_ns;
        int64_t to = lpo_critical_times(g, i).start_ns;
        const struct burst *first, *last;

        if (lpo_critical_thread(g, i - 1) != thread || to - from < rest_ns)
            continue;
        first = first_inside(&starts, thread, from, to);
        last = first ? last_inside(&ends, thread, from, to) : NULL;
        if (!last || in_operators(g, thread, from, to))
            continue;
        g->calls.at[first->first].before = i - 1;
        g->calls.at[i].before = last->last;
        g->handovers++;
    }
    lpo_vec_free(&starts);
    lpo_vec_free(&ends);
}

void lpo_critical_host_build(struct critical_graph *g, const struct critical_input *in)
{
    size_t threads = 0;

    for (size_t i = in->rows->thread_starts[in->process];
         i < in->rows->thread_starts[in->process + 1u]; i++) {
        size_t before = g->calls.len;

        add_thread(g, in, in->rows->threads[i]);
        threads += g->calls.len > before;
    }
    if (threads > 1)
        hand_over(g);
}
