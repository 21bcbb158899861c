/* SPDX-License-Identifier: Apache-2.0 */
/* Files of sampled counters made of any bytes: what is given must keep the promises of the header.
 * A wrong checksum would stop every mutation at its frame, so the input is also cut at each block
 * mark and framed anew. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lpo/trace_format.h"
#include "trace/counters/counters.h"
#include "util/crc32c.h"
#include "util/err.h"
#include "util/str.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
    if (!holds)
        abort();
}

static uint64_t pass(struct lpo_counters_file *c)
{
    const struct lpo_counters_about *about = lpo_counters_about(c);
    const struct lpo_counters_totals *t = lpo_counters_totals(c);
    struct lpo_counters_sample s;
    int64_t last = 0;
    uint64_t samples = 0, losses = 0;

    while (lpo_counters_next(c, &s)) {
        must(s.start_ns >= last && s.end_ns > s.start_ns && s.end_ns < INT64_C(1) << 62);
        last = s.start_ns;
        samples += s.values != NULL;
        losses += s.values == NULL;
        for (size_t i = 0; s.values && i < about->nmetrics; i++)
            must(isnan(s.values[i]) || s.values[i] >= 0);
    }
    must(t->samples == samples && t->losses == losses && t->nnotes <= 64 && t->lost_ns >= 0);
    for (size_t i = 0; i < t->nnotes; i++)
        must(t->notes[i] != NULL);
    return samples;
}

static void read_it(const void *bytes, size_t len)
{
    LPO_AUTO(lpo_counters_file) c = NULL;
    uint64_t samples;

    if (lpo_counters_over(bytes, len, &c, NULL) < 0)
        return;
    must(lpo_counters_about(c)->nmetrics <= LPO_COUNTERS_METRICS_MAX);
    for (size_t i = 0; i < lpo_counters_about(c)->nmetrics; i++)
        must(lpo_counters_about(c)->metrics[i].meaning < LPO_COUNTER_MEANINGS);
    samples = pass(c);
    lpo_counters_rewind(c);
    must(pass(c) == samples);
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
    static const char mark[] = "LPOB", preamble[] = LPO_COUNTERS_MAGIC "\1\0\0\0\0\0\0";
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
