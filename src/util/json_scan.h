/* SPDX-License-Identifier: Apache-2.0 */
/* util/json_scan.h - the inner loops of util/json_pull: 16 to 64 bytes at a time where the
 * processor can, one at a time elsewhere. Never reads past `end`. */
#pragma once

#ifdef __SSE2__
#include <emmintrin.h>

#include "util/base.h"
#endif

/* The first byte that is not white space (anything up to ' ' counts), or end. */
static inline const char *scan_space(const char *p, const char *end)
{
#ifdef __SSE2__
    const __m128i space = _mm_set1_epi8(' ');

    while (end - p >= 16) {
        __m128i x = _mm_loadu_si128((const __m128i *)(const void *)p);
        int solid = 0xffff ^ _mm_movemask_epi8(_mm_cmpeq_epi8(_mm_max_epu8(x, space), space));

        if (solid)
            return p + __builtin_ctz((unsigned)solid);
        p += 16;
    }
#endif
    while (p < end && (unsigned char)*p <= ' ')
        p++;
    return p;
}

/* The first quote, backslash or byte below `low` (0: none is), or end. */
static inline const char *scan_string(const char *p, const char *end, unsigned char low)
{
#ifdef __SSE2__
    const __m128i quote = _mm_set1_epi8('"'), slash = _mm_set1_epi8('\\');
    const __m128i under = _mm_set1_epi8((char)(low - 1));

    while (end - p >= 16) {
        __m128i x = _mm_loadu_si128((const __m128i *)(const void *)p);
        __m128i hit = _mm_or_si128(_mm_cmpeq_epi8(x, quote), _mm_cmpeq_epi8(x, slash));
        int mask;

        if (low)
            hit = _mm_or_si128(hit, _mm_cmpeq_epi8(_mm_max_epu8(x, under), under));
        mask = _mm_movemask_epi8(hit);
        if (mask)
            return p + __builtin_ctz((unsigned)mask);
        p += 16;
    }
#endif
    while (p < end && *p != '"' && *p != '\\' && (unsigned char)*p >= low)
        p++;
    return p;
}

/* Are the first `len` of 32 bytes, both of them readable, the same? */
static inline bool scan_same(const char *a, const char *b, unsigned len)
{
#ifdef __SSE2__
    uint32_t same = 0;

    for (int i = 0; i < 32; i += 16) {
        __m128i x = _mm_loadu_si128((const __m128i *)(const void *)(a + i));
        __m128i y = _mm_loadu_si128((const __m128i *)(const void *)(b + i));

        same |= (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(x, y)) << i;
    }
    return (~(uint64_t)same & (((uint64_t)1 << len) - 1)) == 0;
#else
    return memcmp(a, b, len) == 0;
#endif
}

/* Where in 64 bytes quotes, backslashes and brackets are: bit i is byte i. */
struct scan_bits {
    uint64_t quote, slash, open, close;
};

static inline struct scan_bits scan_block(const char *p)
{
    struct scan_bits b = { 0 };
#ifdef __SSE2__
    const __m128i quote = _mm_set1_epi8('"'), slash = _mm_set1_epi8('\\');
    const __m128i open = _mm_set1_epi8('{'), close = _mm_set1_epi8('}');
    const __m128i fold = _mm_set1_epi8(0x20); /* makes [ and ] into { and } */

    for (int i = 0; i < 64; i += 16) {
        __m128i x = _mm_loadu_si128((const __m128i *)(const void *)(p + i));
        __m128i y = _mm_or_si128(x, fold);

        b.quote |= (uint64_t)(unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(x, quote)) << i;
        b.slash |= (uint64_t)(unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(x, slash)) << i;
        b.open |= (uint64_t)(unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(y, open)) << i;
        b.close |= (uint64_t)(unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(y, close)) << i;
    }
#else
    for (int i = 0; i < 64; i++) {
        char c = p[i];

        b.quote |= (uint64_t)(c == '"') << i;
        b.slash |= (uint64_t)(c == '\\') << i;
        b.open |= (uint64_t)((c | 0x20) == '{') << i;
        b.close |= (uint64_t)((c | 0x20) == '}') << i;
    }
#endif
    return b;
}

/* Bit i of the result: an odd number of bits 0..i of x are set. */
static inline uint64_t scan_parity(uint64_t x)
{
    x ^= x << 1;
    x ^= x << 2;
    x ^= x << 4;
    x ^= x << 8;
    x ^= x << 16;
    return x ^ x << 32;
}
