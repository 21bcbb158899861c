/* SPDX-License-Identifier: Apache-2.0 */
/* CUDA calls that can block: the collector writes them in blocks of their own. */
#include <stdio.h>

#include "trace/native/private.h"

/* Queries in a loop are one call here: nobody asks for each of them. */
static uint32_t call_name(struct native *n, uint64_t string, uint64_t count)
{
    uint32_t name = lpo_native_name(n, string);
    char text[128];

    if (count < 2)
        return name;
    snprintf(text, sizeof text, "%.100s (in a loop)", lpo_trace_text(n->trace, name));
    return lpo_trace_name(n->trace, text);
}

void lpo_native_take_calls(struct native *n, const struct lpo_native_block *block)
{
    struct native_thread *t = lpo_native_thread_at(n, block->stream);
    struct lpo_cursor c = { block->payload, block->payload + block->len, false };
    uint64_t ticks = 0;

    if (n->trace->skip & LPO_SKIP_CALLS)
        return;
    /* Each block stands for itself: one that is missing takes only its own calls with it. */
    n->damaged += block->sequence != t->calls_sequence;
    t->calls_sequence = block->sequence + 1;
    if (t->row == LPO_NONE)
        t->row = lpo_trace_thread(n->trace, n->process, block->stream);
    while (!c.bad && c.at < c.end) {
        uint64_t later = lpo_native_get_v(&c), took = lpo_native_get_v(&c);
        uint64_t string = lpo_native_get_v(&c), count = lpo_native_get_v(&c), end;

        if (c.bad)
            break;
        ticks = later > UINT64_MAX - ticks ? UINT64_MAX : ticks + later;
        end = took > UINT64_MAX - ticks ? UINT64_MAX : ticks + took;
        lpo_vec_push(&n->trace->calls, (struct lpo_api_call){
                                           lpo_native_tick_clock_ns(&n->clock, ticks) - n->shift_ns,
                                           lpo_native_tick_clock_ns(&n->clock, end) - n->shift_ns,
                                           call_name(n, string, count), t->row });
    }
    n->damaged += c.bad;
}
