/* SPDX-License-Identifier: Apache-2.0 */
/* collect/encode.h - numbers and text as the bytes of a block (lpo/trace_format.h). */
#pragma once

#include <stdint.h>
#include <string.h>

enum { LPOC_VARINT_MAX = 10 };

static inline uint8_t *lpoc_put_v(uint8_t *p, uint64_t value)
{
    while (value >= 0x80) {
        *p++ = (uint8_t)value | 0x80;
        value >>= 7;
    }
    *p++ = (uint8_t)value;
    return p;
}

static inline uint8_t *lpoc_put_z(uint8_t *p, int64_t value)
{
    return lpoc_put_v(p, ((uint64_t)value << 1) ^ (0 - (uint64_t)(value < 0)));
}

static inline uint8_t *lpoc_put_bytes(uint8_t *p, const void *bytes, size_t len)
{
    memcpy(p, bytes, len);
    return p + len;
}

static inline uint8_t *lpoc_put_text(uint8_t *p, const char *text, size_t len)
{
    return lpoc_put_bytes(lpoc_put_v(p, len), text, len);
}

/* Decimal digits, without an end mark; gives their number, at most 20. */
static inline size_t lpoc_put_decimal(char *out, int64_t value)
{
    char digits[20];
    uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    size_t n = 0, len = 0;

    do
        digits[n++] = (char)('0' + rest % 10);
    while (rest /= 10);
    if (value < 0)
        out[len++] = '-';
    while (n)
        out[len++] = digits[--n];
    return len;
}
