/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers that the program gave: payloads of its ranges, and marks of the domain "lpo" (lpo.h,
 * lpo.py), which have names. */

#include "lpo/trace_format.h"
#include "trace/native/private.h"

enum { NUMBERS_MOST = 1 << 20 }; /* kept one by one, with the moment that each was given in */

static const char lpo_domain[] = "lpo";

bool lpo_native_is_number(const struct native *n, uint16_t domain)
{
    return domain &&
           strcmp(lpo_trace_text(n->trace, n->trace->domains.at[domain]), lpo_domain) == 0;
}

static void add(struct lpo_number *r, double value)
{
    r->least = r->count && r->least < value ? r->least : value;
    r->most = r->count && r->most > value ? r->most : value;
    r->sum += value;
    r->count++;
}

/* A row that serves all numbers of (a, b); *fresh when `r` was added as it. */
static struct lpo_number *shared_row(struct native *n, uint64_t a, uint64_t b, struct lpo_number r,
                                     bool *fresh)
{
    uint32_t at = lpo_map_pair_put(&n->by_number_path, a, b, fresh);

    if (*fresh) {
        lpo_vec_push(&n->number_rows, (uint32_t)n->trace->numbers.len);
        lpo_vec_push(&n->trace->numbers, r);
    }
    return &n->trace->numbers.at[n->number_rows.at[at]];
}

/* Which region it belongs to is known when all ranges are: the moment is kept, as that of a capture
 * is. Where ranges are summed the path is known at once, and one row serves all of its numbers. */
void lpo_native_number(struct native *n, struct native_thread *t, int64_t ns, uint32_t name,
                       double value)
{
    struct lpo_trace *trace = n->trace;
    struct lpo_number r = { .name = name, .capture = (uint32_t)trace->captures.len };
    uint32_t path = 0;
    bool fresh = true;

    if (!isfinite(value) || (!n->sums && (trace->skip & LPO_SKIP_RANGES)))
        return;
    if (n->sums) {
        path = lpo_native_sums_path(n, t, ns, ns);
        add(shared_row(n, path, name, r, &fresh), value);
    } else if (n->numbers == NUMBERS_MOST) {
        n->numbers_lost++;
        return;
    } else {
        n->numbers++;
        add(&r, value);
        lpo_vec_push(&trace->numbers, r);
    }
    if (fresh)
        lpo_vec_push(&trace->captures, (struct lpo_capture){ ns, t->row, path });
}

void lpo_native_start_number(struct native *n, uint32_t range, uint16_t domain, double value)
{
    const uint64_t after_paths = (uint64_t)1 << 32;
    struct lpo_number r = {
        .name = LPO_NONE, .capture = LPO_NONE, .range = range, .domain = domain
    };
    bool fresh;

    if (isfinite(value) && range != LPO_NONE)
        add(shared_row(n, after_paths + range, domain, r, &fresh), value);
}

/* Windows: which part of the run is in the file. */

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
