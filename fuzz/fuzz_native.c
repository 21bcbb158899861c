/* SPDX-License-Identifier: Apache-2.0 */
/* Traces of our own format made of any bytes: the result must be a trace whose rows point at
 * existing rows. A wrong checksum would stop every mutation at its frame, so the input is also cut
 * at each block mark and framed anew. */
#include "check_trace.h"

#include <string.h>

#include "lpo/trace_format.h"
#include "trace/native/native.h"
#include "util/budget.h"
#include "util/crc32c.h"
#include "util/err.h"
#include "util/str.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_once(const void *bytes, size_t len)
{
    LPO_AUTO(lpo_trace) t = lpo_trace_create();

    if (lpo_native_read_bytes(bytes, len, t, NULL) == 0)
        check_trace(t);
}

/* With every row kept; with the ranges summed; with the GPU operations summed too. */
static void read_it(const void *bytes, size_t len)
{
    const struct lpo_budget usual = *lpo_budget();
    struct lpo_budget small = usual;

    read_once(bytes, len);
    small.range_bytes = 0;
    lpo_budget_use(&small);
    read_once(bytes, len);
    small.gpu_record_bytes = 0;
    lpo_budget_use(&small);
    read_once(bytes, len);
    lpo_budget_use(&usual);
}

static void frame(struct lpo_str *out, const uint8_t *piece, size_t len)
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char mark[] = "LPOB", preamble[] = LPOT_MAGIC "\1\0\0\0\0\0\0";
    LPO_STR framed = { 0 };
    const uint8_t *at, *next;

    read_it(data, size);
    lpo_str_addn(&framed, preamble, LPOT_PREAMBLE_BYTES);
    for (at = memmem(data, size, mark, 4); at; at = next) {
        size_t left = (size_t)(data + size - at);
        next = left > 4 ? memmem(at + 4, left - 4, mark, 4) : NULL;
        left = next ? (size_t)(next - at) : left;
        if (left >= LPOT_HEADER_BYTES && left <= LPOT_PAYLOAD_MAX)
            frame(&framed, at, left);
    }
    read_it(framed.at, framed.len);
    return 0;
}
