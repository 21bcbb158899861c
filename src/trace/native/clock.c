/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/native/clock.h"
#include "util/order.h"

#include <stdlib.h>

enum { APART_NS = 10000000 }; /* reading a pair errs by some 30 ns: over 10 ms that is nothing */
#define LATEST_NS (INT64_MAX / 4)

int64_t lpo_native_ns(uint64_t ns)
{
    return ns > (uint64_t)LATEST_NS ? LATEST_NS : (int64_t)ns;
}

void lpo_native_tick_clock_add(struct lpo_tick_clock *c, uint64_t ticks, uint64_t real_ns)
{
    lpo_vec_push(&c->pairs, (struct lpo_tick_pair){ ticks, (uint64_t)lpo_native_ns(real_ns) });
}

LPO_COMPARE(by_ticks, struct lpo_tick_pair, LPO_UP(ticks));

void lpo_native_tick_clock_settle(struct lpo_tick_clock *c)
{
    struct lpo_tick_pair *p = c->pairs.at, last;
    size_t kept = 1;

    if (c->pairs.len < 2)
        return;
    qsort(p, c->pairs.len, sizeof *p, by_ticks);
    last = p[c->pairs.len - 1];
    for (size_t i = 1; i < c->pairs.len; i++)
        if (p[i].real_ns >= p[kept - 1].real_ns + APART_NS && p[i].ticks > p[kept - 1].ticks)
            p[kept++] = p[i];
    /* The end of the run counts however short it was, in the place of one too near to it. */
    if (last.ticks > p[kept - 1].ticks && last.real_ns > p[kept - 1].real_ns) {
        if (kept > 1)
            p[kept - 1] = last;
        else
            p[kept++] = last;
    }
    c->pairs.len = kept;
}

/* ticks * rise / run. Each event of a trace comes here, and most products fit in 64 bits, where a
 * division takes a third of the time. */
static inline uint64_t scaled(uint64_t ticks, uint64_t rise, uint64_t run)
{
    unsigned __int128 whole;
    uint64_t product;

    if (!__builtin_mul_overflow(ticks, rise, &product))
        return product / run;
    whole = (unsigned __int128)ticks * rise / run;
    return whole > UINT64_MAX ? UINT64_MAX : (uint64_t)whole;
}

/* On the line through pairs i and i + 1, or beyond either end of it. */
static inline int64_t on_line(const struct lpo_tick_pair *p, uint64_t ticks)
{
    uint64_t run = p[1].ticks - p[0].ticks, rise = p[1].real_ns - p[0].real_ns, move;

    if (ticks >= p[0].ticks) {
        move = scaled(ticks - p[0].ticks, rise, run);
        return move > LATEST_NS - p[0].real_ns ? LATEST_NS : (int64_t)(p[0].real_ns + move);
    }
    move = scaled(p[0].ticks - ticks, rise, run);
    return move > p[0].real_ns ? 0 : (int64_t)(p[0].real_ns - move);
}

int64_t lpo_native_tick_clock_ns(struct lpo_tick_clock *c, uint64_t ticks)
{
    const struct lpo_tick_pair *p = c->pairs.at;
    size_t n = c->pairs.len, low = 0, high;

    if (c->ticks_are_ns || n == 0)
        return lpo_native_ns(ticks);
    if (n == 1)
        return (int64_t)p[0].real_ns;
    if (c->last + 1 < n && ticks >= p[c->last].ticks && ticks < p[c->last + 1].ticks)
        return on_line(p + c->last, ticks);
    high = n - 1;
    while (low + 1 < high) {
        size_t mid = (low + high) / 2;
        if (p[mid].ticks <= ticks)
            low = mid;
        else
            high = mid;
    }
    c->last = low;
    return on_line(p + low, ticks);
}

void lpo_native_tick_clock_free(struct lpo_tick_clock *c)
{
    lpo_vec_free(&c->pairs);
}
