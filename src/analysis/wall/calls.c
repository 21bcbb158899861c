/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/wall/calls.h"

#include <stdlib.h>

#include "region/thread_rows.h"
#include "trace/trace.h"
#include "util/search.h"
#include "util/vec.h"

/* A stretch that holds a million short calls is passed in steps of this many. */
enum { BLOCK = 256 };

struct lpo_wall_calls {
    const struct lpo_trace *t;
    uint32_t *rows;      /* calls by thread, then start, then the longer first */
    size_t *starts;      /* thread i has rows[starts[i], starts[i + 1]) */
    int64_t *latest_ns;  /* per entry of rows: latest end of its thread up to there */
    int64_t *longest_ns; /* per block of rows: longest call in it */
};

static bool call_before(const void *trace, uint32_t x, uint32_t y)
{
    const struct lpo_trace *t = trace;
    const struct lpo_api_call *a = &t->calls.at[x], *b = &t->calls.at[y];

    if (a->thread != b->thread)
        return a->thread < b->thread;
    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns;
    return a->end_ns > b->end_ns;
}

struct lpo_wall_calls *lpo_wall_calls_create(const struct lpo_trace *t)
{
    struct lpo_wall_calls *c = lpo_xcalloc(1, sizeof *c);
    size_t n = t->calls.len;

    c->t = t;
    c->rows = lpo_xcalloc(n + 1, sizeof *c->rows);
    c->starts = lpo_xcalloc(t->threads.len + 1, sizeof *c->starts);
    c->latest_ns = lpo_xcalloc(n + 1, sizeof *c->latest_ns);
    c->longest_ns = lpo_xcalloc(n / BLOCK + 1, sizeof *c->longest_ns);
    for (size_t i = 0; i < n; i++)
        c->rows[i] = (uint32_t)i;
    lpo_region_order_sort(c->rows, n, call_before, t);
    for (size_t i = 0; i < n; i++) {
        const struct lpo_api_call *k = &t->calls.at[c->rows[i]];
        int64_t ns = k->end_ns - k->start_ns;

        c->starts[k->thread + 1] = i + 1;
        c->latest_ns[i] = k->end_ns;
        if (i > 0 && t->calls.at[c->rows[i - 1]].thread == k->thread &&
            c->latest_ns[i - 1] > k->end_ns)
            c->latest_ns[i] = c->latest_ns[i - 1];
        if (ns > c->longest_ns[i / BLOCK])
            c->longest_ns[i / BLOCK] = ns;
    }
    for (size_t i = 0; i < t->threads.len; i++) /* threads without calls */
        if (c->starts[i + 1] < c->starts[i])
            c->starts[i + 1] = c->starts[i];
    return c;
}

void lpo_wall_calls_destroy(struct lpo_wall_calls *c)
{
    if (!c)
        return;
    free(c->rows);
    free(c->starts);
    free(c->latest_ns);
    free(c->longest_ns);
    free(c);
}

/* The first entry of [from, to) that starts after `ns`. */
static size_t first_after(const struct lpo_wall_calls *c, size_t from, size_t to, int64_t ns)
{
    lpo_search(from, to, i, c->t->calls.at[c->rows[i]].start_ns <= ns);
    return from;
}

/* The first entry of [from, to) up to which some call ends at `ns` or later: that call. */
static size_t first_reaching(const struct lpo_wall_calls *c, size_t from, size_t to, int64_t ns)
{
    lpo_search(from, to, i, c->latest_ns[i] < ns);
    return from;
}

/* Calls that begin inside the stretch: [at, to). Their sum over the gaps of a device is at most the
 * number of calls, because gaps do not overlap. */
static uint32_t largest_inside(const struct lpo_wall_calls *c, size_t at, size_t to, int64_t end_ns,
                               uint32_t best, int64_t *best_ns)
{
    while (at < to) {
        const struct lpo_api_call *k;
        int64_t ns;

        if (at % BLOCK == 0 && c->longest_ns[at / BLOCK] <= *best_ns) {
            at += BLOCK;
            continue;
        }
        k = &c->t->calls.at[c->rows[at]];
        if (k->start_ns >= end_ns)
            break;
        ns = (k->end_ns < end_ns ? k->end_ns : end_ns) - k->start_ns;
        if (ns > *best_ns) {
            *best_ns = ns;
            best = c->rows[at];
        }
        at++;
    }
    return best;
}

uint32_t lpo_wall_calls_largest(const struct lpo_wall_calls *c, uint32_t thread, int64_t start_ns,
                                int64_t end_ns, int64_t *overlap_ns)
{
    size_t from = c->starts[thread], to = c->starts[thread + 1];
    size_t inside = first_after(c, from, to, start_ns);
    uint32_t best = LPO_NONE;

    *overlap_ns = 0;
    /* of those already open, the one that ends last; of those that outlast the stretch, the first
     */
    if (inside > from && c->latest_ns[inside - 1] > start_ns) {
        int64_t latest = c->latest_ns[inside - 1] < end_ns ? c->latest_ns[inside - 1] : end_ns;

        best = c->rows[first_reaching(c, from, inside, latest)];
        *overlap_ns = latest - start_ns;
    }
    return largest_inside(c, inside, to, end_ns, best, overlap_ns);
}
