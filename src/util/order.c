/* SPDX-License-Identifier: Apache-2.0 */
#include "util/order.h"

#include <stdlib.h>
#include <string.h>

#include "util/vec.h"

typedef LPO_VEC(size_t) run_vec;

/* Where each run ends. A strictly falling run is turned round, which keeps the sort stable. */
static void find_runs(uint32_t *rows, size_t count, lpo_order_before *before, const void *ctx,
                      run_vec *ends)
{
    size_t i = 0;

    while (i < count) {
        size_t from = i++;

        if (i < count && before(ctx, rows[i], rows[i - 1])) {
            while (i < count && before(ctx, rows[i], rows[i - 1]))
                i++;
            for (size_t a = from, b = i - 1; a < b; a++, b--) {
                uint32_t t = rows[a];

                rows[a] = rows[b];
                rows[b] = t;
            }
        } else {
            while (i < count && !before(ctx, rows[i], rows[i - 1]))
                i++;
        }
        lpo_vec_push(ends, i);
    }
}

/* Merges rows[0, mid) and rows[mid, end) with the first half copied out to `spare`. */
static void merge(uint32_t *rows, size_t mid, size_t end, uint32_t *spare, lpo_order_before *before,
                  const void *ctx)
{
    size_t a = 0, b = mid, to = 0;

    while (a < mid && !before(ctx, rows[mid], rows[a])) /* already in place */
        a++;
    to = a;
    memcpy(spare + a, rows + a, (mid - a) * sizeof *rows);
    while (a < mid && b < end)
        rows[to++] = before(ctx, rows[b], spare[a]) ? rows[b++] : spare[a++];
    while (a < mid)
        rows[to++] = spare[a++];
}

/* A merge sort of runs: rows of a file are nearly in order, mostly one run, and then this is one
 * pass without memory. Stable, because equal times keep the order of the file. */
void lpo_order_sort(uint32_t *rows, size_t count, lpo_order_before *before, const void *ctx)
{
    run_vec ends = { 0 };
    uint32_t *spare = NULL;

    find_runs(rows, count, before, ctx, &ends);
    if (ends.len > 1)
        spare = lpo_xrealloc(NULL, count, sizeof *spare);
    while (ends.len > 1) {
        size_t from = 0, kept = 0;

        for (size_t i = 0; i < ends.len; i += 2) {
            size_t end = i + 1 < ends.len ? ends.at[i + 1] : ends.at[i];

            if (i + 1 < ends.len)
                merge(rows + from, ends.at[i] - from, end - from, spare, before, ctx);
            ends.at[kept++] = end;
            from = end;
        }
        ends.len = kept;
    }
    free(spare);
    lpo_vec_free(&ends);
}

LPO_COMPARE(by_value, int64_t, LPO_UP_OF(*a, *b));

void lpo_order_sort_ns(int64_t *at, size_t count)
{
    if (count)
        qsort(at, count, sizeof *at, by_value);
}
