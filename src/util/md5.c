/* SPDX-License-Identifier: Apache-2.0 */
#include "util/md5.h"

static uint32_t turn(uint32_t x, unsigned by)
{
    return x << by | x >> (32 - by);
}

static void add_block(uint32_t state[4], const unsigned char *block)
{
    static const unsigned char turns[4][4] = {
        { 7, 12, 17, 22 }, { 5, 9, 14, 20 }, { 4, 11, 16, 23 }, { 6, 10, 15, 21 }
    };
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3];

    for (unsigned i = 0; i < 64; i++) {
        uint32_t word, mixed, sine = (uint32_t)(fabs(sin(i + 1)) * 4294967296.0);
        unsigned round = i / 16, at[4] = { i, 5 * i + 1, 3 * i + 5, 7 * i };
        const unsigned char *p = block + (at[round] % 16) * 4;

        word = (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
        mixed = round == 0   ? (b & c) | (~b & d)
                : round == 1 ? (d & b) | (~d & c)
                : round == 2 ? b ^ c ^ d
                             : c ^ (b | ~d);
        mixed += a + sine + word;
        a = d;
        d = c;
        c = b;
        b += turn(mixed, turns[round][i % 4]);
    }
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
}

void lpo_md5_add(struct lpo_str *out, const char *text, size_t len)
{
    uint32_t state[4] = { 0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476 };
    unsigned char last[128] = { 0 };
    size_t whole = len & ~(size_t)63, rest = len - whole, end = rest < 56 ? 64 : 128;

    for (size_t i = 0; i < whole; i += 64)
        add_block(state, (const unsigned char *)text + i);
    memcpy(last, text + whole, rest);
    last[rest] = 0x80;
    for (unsigned i = 0; i < 8; i++)
        last[end - 8 + i] = (unsigned char)((uint64_t)len * 8 >> (8 * i));
    for (size_t i = 0; i < end; i += 64)
        add_block(state, last + i);
    for (unsigned i = 0; i < 16; i++)
        lpo_str_addf(out, "%02x", (unsigned)(state[i / 4] >> (8 * (i % 4)) & 0xff));
}
