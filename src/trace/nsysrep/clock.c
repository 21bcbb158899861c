/* SPDX-License-Identifier: Apache-2.0 */
/* When the session of a report started, in UTC.
 *
 * Times in a report count from that moment. What it was on other clocks follows from offsets
 * between them, up to 2025 in the header, later in a section of its own. */
#include "trace/nsysrep/tables.h"

#include <stdlib.h>
#include <string.h>

#include "util/proto.h"

enum { HEADER_OFFSETS = 16, HEADER_START = 17 };
enum { UTC = 11, SYSTEM = 7 }; /* kinds of clocks of the section */
enum { ID_BYTES = 16 };

/* An offset between two clocks, as decimal text, below 0 or modulo 2^64. */
static bool read_offset(struct lpo_proto m, uint64_t from, uint64_t to, uint64_t *out)
{
    struct lpo_proto_field f;
    uint64_t ends[3] = { 0 };
    char text[32] = { 0 };

    while (lpo_proto_next(&m, &f)) {
        if (f.number == 1 || f.number == 2)
            ends[f.number] = f.value;
        else if (f.number == 5 && f.wire == LPO_WIRE_BYTES && f.value < sizeof text)
            memcpy(text, f.bytes, f.value);
    }
    if (ends[1] != from || ends[2] != to || !*text)
        return false;
    *out = *text == '-' ? (uint64_t)0 - strtoull(text + 1, NULL, 10) : strtoull(text, NULL, 10);
    return true;
}

static bool find_offset(struct lpo_proto offsets, uint64_t from, uint64_t to, uint64_t *out)
{
    struct lpo_proto_field f;

    while (lpo_proto_next(&offsets, &f))
        if (f.number == 1 && read_offset(lpo_proto_inner(&f), from, to, out))
            return true;
    return false;
}

/* {1 16-byte id, 2 kind}: ids are random in each file. */
static bool read_clock(struct lpo_proto m, uint64_t kind, const unsigned char **id)
{
    struct lpo_proto_field f;
    const unsigned char *found = NULL;
    bool same = false;

    while (lpo_proto_next(&m, &f)) {
        if (f.number == 1 && f.wire == LPO_WIRE_BYTES && f.value == ID_BYTES)
            found = f.bytes;
        else if (f.number == 2)
            same = f.value == kind;
    }
    if (!found || !same)
        return false;
    *id = found;
    return true;
}

static const unsigned char *find_clock(struct lpo_proto clocks, uint64_t kind)
{
    struct lpo_proto_field f;
    const unsigned char *id = NULL;

    while (lpo_proto_next(&clocks, &f))
        if (f.number == 1 && read_clock(lpo_proto_inner(&f), kind, &id))
            return id;
    return NULL;
}

/* {1 from, 2 to, 3 {1 {1 x0, 2 y0}, 2 slope}}: the first point. */
static bool read_edge(struct lpo_proto m, const unsigned char *from, const unsigned char *to,
                      uint64_t point[2])
{
    struct lpo_proto_field f;
    bool same[3] = { false }, has = false;

    while (lpo_proto_next(&m, &f)) {
        if ((f.number == 1 || f.number == 2) && f.wire == LPO_WIRE_BYTES && f.value == ID_BYTES) {
            same[f.number] = memcmp(f.bytes, f.number == 1 ? from : to, ID_BYTES) == 0;
        } else if (f.number == 3 && !has) {
            struct lpo_proto piece = lpo_proto_inner(&f), start;

            if (!lpo_proto_next(&piece, &f) || f.number != 1)
                continue;
            start = lpo_proto_inner(&f);
            while (lpo_proto_next(&start, &f))
                if (f.number == 1 || f.number == 2)
                    point[f.number - 1] = f.value;
            has = true;
        }
    }
    return same[1] && same[2] && has;
}

/* What is to be added to the system's clock, by the edge from UTC to it. */
static bool find_utc_offset(const struct lpo_nsysrep_bytes *section, uint64_t *out)
{
    struct lpo_proto m = lpo_proto(section->at, section->len), clocks = { 0 }, edges;
    struct lpo_proto_field f;
    const unsigned char *utc = NULL, *system = NULL;
    uint64_t point[2] = { 0 };

    while (lpo_proto_next(&m, &f))
        if (f.number == 1 && f.wire == LPO_WIRE_BYTES)
            clocks = lpo_proto_inner(&f);
    if (clocks.at) {
        utc = find_clock(clocks, UTC);
        system = find_clock(clocks, SYSTEM);
    }
    edges = lpo_proto(section->at, section->len);
    while (utc && system && lpo_proto_next(&edges, &f))
        if (f.number == 2 && read_edge(lpo_proto_inner(&f), utc, system, point)) {
            *out = point[0] - point[1];
            return true;
        }
    return false;
}

int64_t lpo_nsysrep_utc(const struct lpo_nsysrep_file *file)
{
    struct lpo_proto m = lpo_proto(file->header.at, file->header.len), offsets = { 0 };
    struct lpo_proto_field f;
    uint64_t start = 0, first, second;

    while (lpo_proto_next(&m, &f)) {
        if (f.number == HEADER_START && f.wire == LPO_WIRE_VARINT)
            start = f.value;
        else if (f.number == HEADER_OFFSETS && f.wire == LPO_WIRE_BYTES)
            offsets = lpo_proto_inner(&f);
    }
    if (start && find_utc_offset(&file->clocks, &first))
        return (int64_t)(start + first);
    if (start && offsets.at && find_offset(offsets, 1, 3, &first) &&
        find_offset(offsets, 3, 9, &second))
        return (int64_t)(start - first - second);
    return LPO_NO_TIME;
}
