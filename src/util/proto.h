/* SPDX-License-Identifier: Apache-2.0 */
/* util/proto.h - the wire format of Protocol Buffers, read in place.
 *
 *     struct lpo_proto m = lpo_proto(bytes, len);
 *     struct lpo_proto_field f;
 *     while (lpo_proto_next(&m, &f))
 *         if (f.number == 5) use(f.bytes, f.len);
 *
 * Fields are known by number and wire type only; there is no schema here and nothing is copied.
 * Damage ends the message early and sets `bad`. */
#pragma once

#include "util/base.h"

enum lpo_wire { LPO_WIRE_VARINT = 0, LPO_WIRE_64 = 1, LPO_WIRE_BYTES = 2, LPO_WIRE_32 = 5 };

struct lpo_proto {
    const unsigned char *at, *end;
    bool bad;
};

/* Number and wire type stand apart, else compilers compare both in one load of two fresh stores,
 * which stalls: a third of the time of a whole report. */
struct lpo_proto_field {
    uint32_t number;
    uint64_t value;             /* varint and fixed widths */
    const unsigned char *bytes; /* LPO_WIRE_BYTES: `value` of them */
    uint8_t wire;               /* enum lpo_wire */
};

static inline struct lpo_proto lpo_proto(const void *bytes, size_t len)
{
    const unsigned char *at = bytes;

    return (struct lpo_proto){ at, len ? at + len : at, false }; /* NULL has no end */
}

/* At most 10 bytes; false when the message ends in it. */
bool lpo_proto_varint_bytewise(struct lpo_proto *m, uint64_t *out);

/* Seven bits of each byte move together, in three steps for all eight of them. */
static inline uint64_t lpo_proto_join(uint64_t x)
{
    x &= 0x7f7f7f7f7f7f7f7f;
    x = (x & 0x007f007f007f007f) | (x & 0x7f007f007f007f00) >> 1;
    x = (x & 0x00003fff00003fff) | (x & 0x3fff00003fff0000) >> 2;
    return (x & 0x000000000fffffff) | (x & 0x0fffffff00000000) >> 4;
}

/* Numbers of fields have one byte or two, times five to seven: read at once, where eight are left.
 * Inline, as a report is nothing but these. */
__attribute__((always_inline)) static inline bool lpo_proto_varint(struct lpo_proto *m,
                                                                   uint64_t *out)
{
    uint64_t x, last;

    if (m->at < m->end && *m->at < 0x80) {
        *out = *m->at++;
        return true;
    }
    if (m->end - m->at < (ptrdiff_t)sizeof x)
        return lpo_proto_varint_bytewise(m, out);
    if (m->at[1] < 0x80) {
        *out = (m->at[0] & 0x7f) | (uint64_t)m->at[1] << 7;
        m->at += 2;
        return true;
    }
    memcpy(&x, m->at, sizeof x);
    last = ~x & 0x8080808080808080; /* its lowest bit: of the last byte */
    if (!last)
        return lpo_proto_varint_bytewise(m, out);
    *out = lpo_proto_join(x & (last ^ (last - 1)));
    m->at += (__builtin_ctzll(last) >> 3) + 1;
    return true;
}

/* Ends a message that lies about its length. */
static inline bool lpo_proto_bad(struct lpo_proto *m)
{
    m->bad = true;
    m->at = m->end;
    return false;
}

/* The format and every machine we run on are little-endian. */
static inline bool lpo_proto_fixed(struct lpo_proto *m, uint8_t wire, uint64_t *out)
{
    size_t left = (size_t)(m->end - m->at);
    uint32_t half;

    if (wire == LPO_WIRE_64 && left >= 8) {
        memcpy(out, m->at, 8);
        m->at += 8;
        return true;
    }
    if (wire == LPO_WIRE_32 && left >= 4) {
        memcpy(&half, m->at, 4);
        m->at += 4;
        *out = half;
        return true;
    }
    return lpo_proto_bad(m);
}

/* False at the end of the message. */
__attribute__((always_inline)) static inline bool lpo_proto_next(struct lpo_proto *m,
                                                                 struct lpo_proto_field *f)
{
    uint64_t key;

    if (m->at >= m->end || !lpo_proto_varint(m, &key))
        return false;
    f->number = (uint32_t)(key >> 3);
    f->wire = key & 7;
    if (f->wire == LPO_WIRE_VARINT)
        return lpo_proto_varint(m, &f->value);
    if (f->wire != LPO_WIRE_BYTES)
        return lpo_proto_fixed(m, f->wire, &f->value);
    if (!lpo_proto_varint(m, &f->value))
        return false;
    f->bytes = m->at;
    if (f->value > (size_t)(m->end - m->at))
        return lpo_proto_bad(m);
    m->at += f->value;
    return true;
}

static inline struct lpo_proto lpo_proto_inner(const struct lpo_proto_field *f)
{
    if (f->wire != LPO_WIRE_BYTES)
        return (struct lpo_proto){ NULL, NULL, true };
    return lpo_proto(f->bytes, (size_t)f->value);
}

static inline double lpo_proto_double(const struct lpo_proto_field *f)
{
    double d;

    memcpy(&d, &f->value, sizeof d);
    return d;
}

static inline double lpo_proto_float(const struct lpo_proto_field *f)
{
    uint32_t bits = (uint32_t)f->value;
    float v;

    memcpy(&v, &bits, sizeof v);
    return v;
}
