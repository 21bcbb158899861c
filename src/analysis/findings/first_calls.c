/* SPDX-License-Identifier: Apache-2.0 */
/* The first visit of a range often loads modules, tunes kernels or compiles. That cost comes once
 * and must not be sold as the cost of every step. */
#include <stdlib.h>

#include "analysis/findings/private.h"
#include "util/xmalloc.h"

enum {
    LEAST_LATER = 3, /* visits, before anything is called later */
    TIMES = 2,       /* as long as the median of the later ones */
};

static int by_name_and_start(const void *x, const void *y, void *ctx)
{
    const struct lpo_trace *t = ctx;
    const struct lpo_range *a = &t->ranges.at[*(const uint32_t *)x],
                           *b = &t->ranges.at[*(const uint32_t *)y];

    if (a->name != b->name)
        return a->name < b->name ? -1 : 1;
    return a->start_ns < b->start_ns ? -1 : a->start_ns > b->start_ns;
}

static int by_length(const void *x, const void *y)
{
    int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;

    return a < b ? -1 : a > b;
}

static int longest_first(const void *x, const void *y)
{
    const struct lpo_first_call *a = x, *b = y;
    int64_t p = a->end_ns - a->start_ns - a->later_ns, q = b->end_ns - b->start_ns - b->later_ns;

    return p > q ? -1 : p < q;
}

/* Visits `rows` of one name in order of time. */
static void look(const struct lpo_findings_work *w, const uint32_t *rows, size_t count,
                 int64_t *lengths, lpo_first_calls *out)
{
    const struct lpo_range *ranges = w->trace->ranges.at, *first = &ranges[rows[0]];
    int64_t first_ns = first->end_ns - first->start_ns, later_ns;

    if (count < 1 + LEAST_LATER)
        return;
    for (size_t i = 1; i < count; i++)
        lengths[i - 1] = ranges[rows[i]].end_ns - ranges[rows[i]].start_ns;
    qsort(lengths, count - 1, sizeof *lengths, by_length);
    later_ns = lengths[(count - 1) / 2];
    if (first_ns / TIMES >= later_ns && (first_ns - later_ns) >= w->out->span_ns / 100)
        lpo_vec_push(out, ((struct lpo_first_call){ first->start_ns, first->end_ns, later_ns,
                                                    first->name }));
}

void lpo_findings_first_calls(const struct lpo_findings_work *w, lpo_first_calls *out)
{
    const struct lpo_trace *t = w->trace;
    uint32_t *rows = lpo_xrealloc(NULL, t->ranges.len + 1, sizeof *rows);
    int64_t *lengths = lpo_xrealloc(NULL, t->ranges.len + 1, sizeof *lengths);
    size_t n = 0;

    for (size_t i = 0; i < t->ranges.len; i++)
        if (!(t->ranges.at[i].flags & LPO_RANGE_OPEN))
            rows[n++] = (uint32_t)i;
    qsort_r(rows, n, sizeof *rows, by_name_and_start, (void *)(uintptr_t)t);
    for (size_t i = 0; i < n;) {
        size_t from = i;

        while (i < n && t->ranges.at[rows[i]].name == t->ranges.at[rows[from]].name)
            i++;
        look(w, rows + from, i - from, lengths, out);
    }
    if (out->len)
        qsort(out->at, out->len, sizeof *out->at, longest_first);
    free(lengths);
    free(rows);
}
