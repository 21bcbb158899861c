/* Traces of our own format made of any bytes: what comes out must be a trace whose rows point at
 * rows. A wrong checksum would end every mutation at the frame, so the input is also cut at each
 * block mark and framed anew. */
#include <stdlib.h>
#include <string.h>

#include "lpo/trace_format.h"
#include "trace/native.h"
#include "trace/trace.h"
#include "util/crc32c.h"
#include "util/err.h"
#include "util/str.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void insist(int truth)
{
    if (!truth)
        abort();
}

static void check_stack(const struct lpo_trace *t, uint32_t stack)
{
    insist(stack == LPO_NONE || stack < t->stacks.len);
}

static void check(const struct lpo_trace *t)
{
    size_t names = lpo_trace_name_count(t);

    for (size_t i = 0; i < t->works.len; i++) {
        const struct lpo_work *w = &t->works.at[i];

        insist(w->name < names && w->end_ns >= w->start_ns && w->device < t->devices.len);
        insist(w->process < t->processes.len);
        insist(w->launch == LPO_NONE || w->launch < t->launches.len);
        insist(w->shape == LPO_NONE || w->shape < t->shapes.len);
        check_stack(t, w->capture_stack);
    }
    for (size_t i = 0; i < t->launches.len; i++) {
        insist(t->launches.at[i].thread < t->threads.len &&
               t->launches.at[i].end_ns >= t->launches.at[i].start_ns);
        check_stack(t, t->launches.at[i].stack);
    }
    for (size_t i = 0; i < t->ranges.len; i++)
        insist(t->ranges.at[i].thread < t->threads.len && t->ranges.at[i].name < names &&
               t->ranges.at[i].domain < t->domains.len &&
               t->ranges.at[i].end_ns >= t->ranges.at[i].start_ns);
    for (size_t i = 0; i < t->stacks.len; i++)
        insist(t->stacks.at[i].first + (uint64_t)t->stacks.at[i].count <= t->frames.len);
    for (size_t i = 0; i < t->frames.len; i++)
        insist(t->frames.at[i].name < names && t->frames.at[i].domain < t->domains.len);
}

static void read_it(const void *bytes, size_t len)
{
    LPO_AUTO(lpo_trace) t = lpo_trace_create();

    if (lpo_native_read_bytes(bytes, len, t, NULL) == 0)
        check(t);
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
