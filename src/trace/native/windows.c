/* SPDX-License-Identifier: Apache-2.0 */
/* Windows: which part of the run is in the file. */
#include <stdlib.h>

#include "lpo/trace_format.h"
#include "trace/native/private.h"
#include "util/order.h"

void lpo_native_take_windows(struct native *n, const struct lpo_native_block *block)
{
    struct lpo_cursor c = { block->payload, block->payload + block->len, false };
    uint64_t seen = lpo_native_get_v(&c), recorded = lpo_native_get_v(&c), ticks = 0;

    /* Totals only grow; the last block that could be read has the largest. */
    if (!c.bad && seen >= n->windows_seen) {
        n->windows_seen = seen;
        n->windows_recorded = recorded < seen ? recorded : seen;
    }
    while (!c.bad && c.at < c.end) {
        uint64_t later = lpo_native_get_v(&c), took = lpo_native_get_v(&c);
        uint64_t why = lpo_native_get_v(&c), end;

        if (c.bad)
            break;
        ticks = later > UINT64_MAX - ticks ? UINT64_MAX : ticks + later;
        end = took > UINT64_MAX - ticks ? UINT64_MAX : ticks + took;
        lpo_vec_push(&n->trace->windows,
                     (struct lpo_window){
                         .start_ns = lpo_native_tick_clock_ns(&n->clock, ticks) - n->shift_ns,
                         .end_ns = lpo_native_tick_clock_ns(&n->clock, end) - n->shift_ns,
                         .process = n->process,
                         .why = why > UINT8_MAX ? 0 : (uint8_t)why });
        ticks = end;
    }
    n->damaged += c.bad;
}

LPO_COMPARE(by_start, struct lpo_window, LPO_UP(start_ns));

void lpo_native_keep_windows(struct native *n)
{
    struct lpo_window_range range = {
        .name = n->windows_range,
        .process = n->process,
        .first = n->first_window,
        .count = n->trace->windows.len - n->first_window,
        .seen = n->windows_seen,
        .recorded = n->windows_recorded,
        .unrecorded_launches = n->totals[LPOT_COUNT_UNRECORDED_LAUNCHES],
        .chosen_launches = n->totals[LPOT_COUNT_CHOSEN_LAUNCHES],
        .chosen_graphs = n->totals[LPOT_COUNT_CHOSEN_GRAPHS],
        .counted = n->counts_launches && n->sees_all_launches && n->footers,
        .ring = n->ring,
        .open_end = !n->footers,
    };

    if (range.count)
        qsort(n->trace->windows.at + range.first, range.count, sizeof *n->trace->windows.at,
              by_start);
    lpo_vec_push(&n->trace->window_ranges, range);
    if (range.name != LPO_NONE && !range.seen)
        lpo_trace_note(n->trace, 0,
                       "a process made no call of \"%s\", so nothing of it was recorded (a name is "
                       "compared as a whole; * and ? are wildcards)",
                       lpo_trace_text(n->trace, range.name));
    else if (range.name != LPO_NONE && !range.recorded)
        lpo_trace_note(n->trace, 0,
                       "none of the calls of \"%s\" was recorded, of %llu that the program made: "
                       "pipeline.native.capture chose none of them",
                       lpo_trace_text(n->trace, range.name), (unsigned long long)range.seen);
    else if (range.name != LPO_NONE)
        lpo_trace_note(n->trace, range.recorded,
                       "calls of \"%s\" were recorded, of %llu that the program made: everything "
                       "here is about these alone",
                       lpo_trace_text(n->trace, range.name), (unsigned long long)range.seen);
    else
        lpo_trace_note(n->trace, 0,
                       "only a part of the run was recorded (pipeline.native.capture): everything "
                       "here is about that part alone");
}
