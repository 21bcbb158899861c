/* collect/wire.h - how numbers are laid down in a block (lpo/trace_format.h). */
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
