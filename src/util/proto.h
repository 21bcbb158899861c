/* util/proto.h - the wire format of Protocol Buffers, read in place.
 *
 *     struct lpo_proto m = lpo_proto(bytes, len);
 *     struct lpo_proto_field f;
 *     while (lpo_proto_next(&m, &f))
 *         if (f.number == 5) use(f.bytes, f.len);
 *
 * Fields are told by number and wire type only; there is no schema here and nothing is copied.
 * Damage ends the message early and sets `bad`. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum lpo_wire { LPO_WIRE_VARINT = 0, LPO_WIRE_64 = 1, LPO_WIRE_BYTES = 2, LPO_WIRE_32 = 5 };

struct lpo_proto {
    const unsigned char *at, *end;
    bool bad;
};

struct lpo_proto_field {
    uint32_t number;
    uint8_t wire;               /* enum lpo_wire */
    uint64_t value;             /* varint and fixed widths */
    const unsigned char *bytes; /* LPO_WIRE_BYTES: `value` of them */
};

static inline struct lpo_proto lpo_proto(const void *bytes, size_t len)
{
    const unsigned char *at = bytes;

    return (struct lpo_proto){ at, at + len, false };
}

/* At most 10 bytes; false when the message ends in it. */
bool lpo_proto_varint_slow(struct lpo_proto *m, uint64_t *out);

static inline bool lpo_proto_varint(struct lpo_proto *m, uint64_t *out)
{
    if (m->at < m->end && *m->at < 0x80) {
        *out = *m->at++;
        return true;
    }
    return lpo_proto_varint_slow(m, out);
}

/* False at the end of the message. */
static inline bool lpo_proto_next(struct lpo_proto *m, struct lpo_proto_field *f)
{
    uint64_t key;
    size_t left, need = 0;

    if (m->at >= m->end || !lpo_proto_varint(m, &key))
        return false;
    f->number = (uint32_t)(key >> 3);
    f->wire = key & 7;
    if (f->wire == LPO_WIRE_VARINT)
        return lpo_proto_varint(m, &f->value);
    left = (size_t)(m->end - m->at);
    if (f->wire == LPO_WIRE_BYTES) {
        if (!lpo_proto_varint(m, &f->value))
            return false;
        left = (size_t)(m->end - m->at);
        f->bytes = m->at;
        if (f->value <= left) {
            m->at += f->value;
            return true;
        }
    } else if (f->wire == LPO_WIRE_64 || f->wire == LPO_WIRE_32) {
        need = f->wire == LPO_WIRE_64 ? 8 : 4;
        if (need <= left) {
            f->value = 0;
            memcpy(&f->value, m->at, need); /* the format and every machine we run on: little */
            m->at += need;
            return true;
        }
    }
    m->bad = true;
    m->at = m->end;
    return false;
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
