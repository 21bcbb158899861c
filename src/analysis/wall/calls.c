/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/wall/calls.h"

#include <stdlib.h>

#include "trace/host.h"
#include "trace/trace.h"
#include "util/search.h"
#include "util/xmalloc.h"

/* A stretch that holds a million short calls is passed in steps of this many. */
enum { BLOCK = 256 };

/* Beside the calls of a thread in order. */
struct calls {
    struct lpo_host_rows rows;
    int64_t *latest_ns;  /* per row: latest end up to there */
    int64_t *longest_ns; /* per block of rows: longest call in it */
};

struct lpo_wall_calls {
    const struct lpo_trace *t;
    struct calls *threads;
};

static void fill(const struct lpo_trace *t, uint32_t thread, struct calls *c)
{
    int64_t latest_ns = INT64_MIN;

    c->rows = lpo_host_rows(t, thread, LPO_HOST_CALL);
    c->latest_ns = lpo_xmalloc((c->rows.len + 1) * sizeof *c->latest_ns);
    c->longest_ns = lpo_xcalloc(c->rows.len / BLOCK + 1, sizeof *c->longest_ns);
    for (size_t i = 0; i < c->rows.len; i++) {
        const struct lpo_api_call *k = &t->calls.at[c->rows.at[i]];
        int64_t ns = k->end_ns - k->start_ns;

        latest_ns = c->latest_ns[i] = k->end_ns > latest_ns ? k->end_ns : latest_ns;
        if (ns > c->longest_ns[i / BLOCK])
            c->longest_ns[i / BLOCK] = ns;
    }
}

struct lpo_wall_calls *lpo_wall_calls_create(const struct lpo_trace *t)
{
    struct lpo_wall_calls *c = lpo_xcalloc(1, sizeof *c);

    c->t = t;
    c->threads = lpo_xcalloc(t->threads.len + 1, sizeof *c->threads);
    for (uint32_t i = 0; i < t->threads.len; i++)
        fill(t, i, &c->threads[i]);
    return c;
}

void lpo_wall_calls_destroy(struct lpo_wall_calls *c)
{
    if (!c)
        return;
    for (size_t i = 0; i < c->t->threads.len; i++) {
        free(c->threads[i].latest_ns);
        free(c->threads[i].longest_ns);
    }
    free(c->threads);
    free(c);
}

/* Calls that begin inside the stretch, from row `at` on. Their sum over the gaps of a device is at
 * most the number of calls, because gaps do not overlap. */
static uint32_t largest_inside(const struct lpo_trace *t, const struct calls *c, size_t at,
                               int64_t end_ns, uint32_t best, int64_t *best_ns)
{
    while (at < c->rows.len) {
        const struct lpo_api_call *k = &t->calls.at[c->rows.at[at]];
        int64_t ns = (k->end_ns < end_ns ? k->end_ns : end_ns) - k->start_ns;

        if (k->start_ns >= end_ns)
            break;
        if (at % BLOCK == 0 && c->longest_ns[at / BLOCK] <= *best_ns) {
            at += BLOCK;
            continue;
        }
        if (ns > *best_ns) {
            *best_ns = ns;
            best = c->rows.at[at];
        }
        at++;
    }
    return best;
}

uint32_t lpo_wall_calls_largest(const struct lpo_wall_calls *all, uint32_t thread, int64_t start_ns,
                                int64_t end_ns, int64_t *overlap_ns)
{
    const struct lpo_trace *t = all->t;
    const struct calls *c = &all->threads[thread];
    size_t inside = 0, to = c->rows.len, first = 0, upto;
    uint32_t best = LPO_NONE;

    *overlap_ns = 0;
    lpo_search(inside, to, i, t->calls.at[c->rows.at[i]].start_ns <= start_ns);
    upto = inside;
    /* of those already open, the one that ends last; of those that outlast the stretch, the first
     */
    if (inside > 0 && c->latest_ns[inside - 1] > start_ns) {
        int64_t latest = c->latest_ns[inside - 1] < end_ns ? c->latest_ns[inside - 1] : end_ns;

        lpo_search(first, upto, i, c->latest_ns[i] < latest);
        best = c->rows.at[first];
        *overlap_ns = latest - start_ns;
    }
    return largest_inside(t, c, inside, end_ns, best, overlap_ns);
}
