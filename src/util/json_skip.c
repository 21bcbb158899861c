/* SPDX-License-Identifier: Apache-2.0 */
/* Passing over values by their brackets and quotes: most of a trace is of no interest, so this is
 * what decides how fast one is read. */

#include "util/json_pull.h"
#include "util/json_scan.h"

/* One block of 64 bytes: moves `depth` by the brackets outside strings. Returns the index behind
 * the bracket that brings depth to 0, or -1. `inside` is all ones within a string, else 0. */
static int walk_block(struct scan_bits b, uint64_t *inside, unsigned *depth)
{
    uint64_t in_string = scan_parity(b.quote) ^ *inside;
    uint64_t open = b.open & ~in_string, close = b.close & ~in_string;

    *inside = 0 - (in_string >> 63); /* the last byte decides for the next block */
    for (uint64_t both = open | close; both; both &= both - 1) {
        int i = __builtin_ctzll(both);

        if (open >> i & 1)
            ++*depth;
        else if (--*depth == 0)
            return i + 1;
    }
    return -1;
}

/* Takes escaped quotes out of b.quote. `carry`: the block before ended in a live backslash. */
static void drop_escaped(struct scan_bits *b, bool *carry)
{
    uint64_t slash = b->slash;

    if (*carry) {
        b->quote &= ~(uint64_t)1;
        slash &= ~(uint64_t)1;
    }
    *carry = false;
    while (slash) {
        int i = __builtin_ctzll(slash);

        slash &= slash - 1;
        if (i == 63) {
            *carry = true;
            break;
        }
        b->quote &= ~((uint64_t)2 << i);
        slash &= ~((uint64_t)2 << i);
    }
}

/* One block of at most 64 bytes at p; the index behind the bracket that ends it all, or -1. */
static int pass_block(const char *p, size_t room, struct lpo_pull_passing *at)
{
    char last[64];
    struct scan_bits b;

    if (room < sizeof last) { /* the rest, padded with spaces */
        memset(last, ' ', sizeof last);
        memcpy(last, p, room);
        p = last;
    }
    b = scan_block(p);
    if (b.slash || at->carry)
        drop_escaped(&b, &at->carry);
    return walk_block(b, &at->inside, &at->depth);
}

int lpo_json_pull_pass(struct lpo_pull *q, bool last, struct lpo_pull_passing *at)
{
    while (q->p < q->end) {
        size_t room = (size_t)(q->end - q->p);
        int behind;

        if (room < 64 && !last)
            break;
        behind = pass_block(q->p, room, at);
        if (behind >= 0) {
            q->p += behind;
            return 0;
        }
        q->p += room < 64 ? room : 64;
    }
    return LPO_PULL_MORE;
}

/* To behind the bracket that brings `depth` to 0. */
static int leave(struct lpo_pull *q, unsigned depth)
{
    struct lpo_pull_passing at = { .depth = depth };

    return lpo_json_pull_pass(q, true, &at);
}

/* The same token by token, for text whose quotes cannot be trusted. */
static int leave_carefully(struct lpo_pull *q, unsigned depth)
{
    struct lpo_json_pull_text text;

    for (;;) {
        int c = lpo_json_pull_peek(q);

        if (c < 0)
            return c;
        if (c == '"') {
            c = lpo_json_pull_string(q, &text);
            if (c < 0)
                return c;
            continue;
        }
        q->p++;
        if (c == '{' || c == '[')
            depth++;
        else if ((c == '}' || c == ']') && --depth == 0)
            return 0;
    }
}

int lpo_json_pull_leave(struct lpo_pull *q)
{
    return q->mode == LPO_PULL_REPAIR ? leave_carefully(q, 1) : leave(q, 1);
}

int lpo_json_pull_skip(struct lpo_pull *q)
{
    struct lpo_json_pull_text text;
    bool whole;
    int c = lpo_json_pull_peek(q);

    if (c < 0)
        return c;
    if (c == '{' || c == '[')
        return q->mode == LPO_PULL_REPAIR ? leave_carefully(q, 0) : leave(q, 0);
    if (c == '"')
        return lpo_json_pull_string(q, &text);
    if ((c >= '0' && c <= '9') ||
        (c == '-' && q->end - q->p > 1 && q->p[1] >= '0' && q->p[1] <= '9'))
        return lpo_json_pull_number(q, &text, &whole);
    return lpo_json_pull_word(q, &text);
}
