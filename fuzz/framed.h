/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz/framed.h - an input as a file of blocks with true lengths and checksums.
 *
 * A reader refuses a block whose checksum is wrong, and a fuzzer would take years to find a right
 * one: so each piece of the input that begins with the mark of a block is framed anew. */
#pragma once

#include <stdint.h>
#include <string.h>

#include "lpo/trace_format.h"
#include "util/crc32c.h"
#include "util/str.h"

static inline void framed_add(struct lpo_str *out, const uint8_t *piece, size_t len)
{
    uint8_t head[LPOT_HEADER_BYTES];
    uint32_t payload = (uint32_t)(len - sizeof head), crc;

    memcpy(head, piece, sizeof head);
    memcpy(head + 8, &payload, 4);
    crc = lpo_crc32c(lpo_crc32c(0, head, 12), head + 16, sizeof head - 16);
    crc = lpo_crc32c(crc, piece + sizeof head, payload);
    memcpy(head + 12, &crc, 4);
    lpo_str_addn(out, (const char *)head, sizeof head);
    lpo_str_addn(out, (const char *)piece + sizeof head, payload);
}

/* `preamble` has LPOT_PREAMBLE_BYTES. */
static inline void framed_input(struct lpo_str *out, const char *preamble, const uint8_t *data,
                                size_t size)
{
    static const char mark[] = "LPOB";
    const uint8_t *at, *next;

    lpo_str_addn(out, preamble, LPOT_PREAMBLE_BYTES);
    for (at = memmem(data, size, mark, 4); at; at = next) {
        size_t left = (size_t)(data + size - at);

        next = left > 4 ? memmem(at + 4, left - 4, mark, 4) : NULL;
        left = next ? (size_t)(next - at) : left;
        if (left >= LPOT_HEADER_BYTES && left <= LPOT_PAYLOAD_MAX)
            framed_add(out, at, left);
    }
}
