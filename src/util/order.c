/* SPDX-License-Identifier: Apache-2.0 */
#include "util/base.h"

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
    LPO_FREED run_vec ends = { 0 };
    LPO_FREED uint32_t *spare = NULL;

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
}

enum { BYTES = 8, VALUES = 256, FEW = 64 };

static void sort_few(int64_t *at, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        int64_t value = at[i];
        size_t to = i;

        for (; to > 0 && at[to - 1] > value; to--)
            at[to] = at[to - 1];
        at[to] = value;
    }
}

/* Below 0 comes first: by the bits, with the one of the sign turned round. */
static size_t byte_of(int64_t value, int byte)
{
    return ((uint64_t)value ^ (uint64_t)1 << 63) >> 8 * byte & (VALUES - 1);
}

/* Into `to` by one byte of them; `next` is the number of each value of that byte. */
static void scatter(const int64_t *from, int64_t *to, size_t count, int byte, size_t *next)
{
    for (size_t v = 0, sum = 0; v < VALUES; v++) {
        size_t here = next[v];

        next[v] = sum;
        sum += here;
    }
    for (size_t i = 0; i < count; i++)
        to[next[byte_of(from[i], byte)]++] = from[i];
}

/* Byte by byte, the lowest first; those in which no two differ cost nothing. */
void lpo_order_sort_ns(int64_t *at, size_t count)
{
    size_t seen[BYTES][VALUES] = { 0 };
    int64_t *spare, *from = at, *to;

    if (count < FEW) {
        sort_few(at, count);
        return;
    }
    to = spare = lpo_xrealloc(NULL, count, sizeof *spare);
    for (size_t i = 0; i < count; i++)
        for (int byte = 0; byte < BYTES; byte++)
            seen[byte][byte_of(at[i], byte)]++;
    for (int byte = 0; byte < BYTES; byte++) {
        int64_t *sorted = to;

        if (seen[byte][byte_of(at[0], byte)] == count)
            continue;
        scatter(from, to, count, byte, seen[byte]);
        to = from;
        from = sorted;
    }
    if (from != at)
        memcpy(at, from, count * sizeof *at);
    free(spare);
}
