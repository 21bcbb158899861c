/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/native/native.h"

#include "lpo/trace_format.h"
#include "trace/native/private.h"
#include "trace/reader.h"
#include "trace/recorded.h"
#include "util/budget.h"
#include "util/input.h"

static struct lpo_cursor payload_of(const struct lpo_native_block *b)
{
    return (struct lpo_cursor){ b->payload, b->payload + b->len, false };
}

static bool is_thread(const struct lpo_native_block *b)
{
    return b->kind == LPOT_THREAD || b->kind == LPOT_THREAD_FRESH;
}

static bool is_gpu(const struct lpo_native_block *b)
{
    return b->kind == LPOT_GPU || b->kind == LPOT_GPU_FRESH;
}

/* Names, facts, notes, clock: all that the streams refer to. */
static void first_pass(struct native *n, struct lpo_native_blocks *blocks)
{
    struct lpo_native_block b;
    bool first = true;

    while (lpo_native_blocks_next(blocks, &b)) {
        if (b.kind == LPOT_FACTS)
            lpo_native_take_facts(n, payload_of(&b));
        if (first)
            n->process = lpo_trace_process(n->trace, n->pid, n->rank);
        first = false;
        if (b.kind == LPOT_DEFS)
            lpo_native_take_defs(n, payload_of(&b));
        else if (b.kind == LPOT_NOTE)
            lpo_native_take_note(n, payload_of(&b));
        else if (b.kind == LPOT_FOOTER)
            lpo_native_take_footer(n, payload_of(&b));
        n->has_windows |= b.kind == LPOT_WINDOWS;
        if (is_thread(&b))
            n->event_bytes += b.len;
        else if (is_gpu(&b))
            n->gpu_bytes += b.len;
        lpo_native_tick_clock_add(&n->clock, b.ticks, b.real_ns);
        if (lpo_native_ns(b.real_ns) - n->shift_ns > n->end_ns)
            n->end_ns = lpo_native_ns(b.real_ns) - n->shift_ns;
    }
    lpo_native_tick_clock_settle(&n->clock);
}

/* Before the streams, whose ranges count inside windows alone, and after the clock. */
static void read_windows(struct native *n, struct lpo_native_blocks *blocks)
{
    struct lpo_native_block b;

    if (!n->has_windows)
        return;
    lpo_native_blocks_rewind(blocks);
    while (lpo_native_blocks_next(blocks, &b))
        if (b.kind == LPOT_WINDOWS)
            lpo_native_take_windows(n, &b);
    lpo_native_keep_windows(n);
    if (n->sums)
        n->recorded = lpo_trace_recorded_create(n->trace);
}

static void second_pass(struct native *n, struct lpo_native_blocks *blocks, bool threads, bool gpu)
{
    struct lpo_native_block b;

    lpo_native_blocks_rewind(blocks);
    while (lpo_native_blocks_next(blocks, &b))
        if (is_thread(&b) && threads)
            lpo_native_take_thread(n, &b);
        else if (is_gpu(&b) && gpu)
            lpo_native_take_gpu(n, &b);
        else if (b.kind == LPOT_CALLS && threads && !n->only_start_end)
            lpo_native_take_calls(n, &b);
}

/* What is too large to be kept row by row is summed while it is read. A sum of GPU operations needs
 * the path of each launch, so then ranges are summed too. */
static void decide(struct native *n)
{
    struct lpo_trace *t = n->trace;

    t->range_bytes += n->event_bytes;
    t->gpu_bytes += n->gpu_bytes;
    if (t->gpu_bytes > lpo_budget()->gpu_record_bytes)
        n->gpu_sums = lpo_native_gpu_sums_create(n);
    n->sums =
        (n->gpu_sums || t->range_bytes > lpo_budget()->range_bytes) && !(t->skip & LPO_SKIP_RANGES);
}

static void keep_gpu_ops(struct native *n, struct lpo_native_blocks *blocks)
{
    /* GPU records first: of the calls only those are kept that launched something. */
    second_pass(n, blocks, false, true);
    second_pass(n, blocks, true, false);
    lpo_native_close_threads(n);
    lpo_trace_links_resolve(n->links, n->trace);
}

static void sum_gpu_ops(struct native *n, struct lpo_native_blocks *blocks)
{
    if (n->sums) { /* start/end ranges cross threads: all of them before the first call */
        n->only_start_end = true;
        second_pass(n, blocks, true, false);
        lpo_native_rewind_threads(n);
        n->only_start_end = false;
    }
    lpo_native_sets_find(n);
    second_pass(n, blocks, true, true);
    lpo_native_close_threads(n);
    lpo_native_gpu_sums_close(n);
}

/* One note for all files of a trace: worker processes often end by _exit(). Where somebody else
 * wrote the last of its ranges, only records of the GPU may be missing. */
static void note_missing_footer(struct lpo_trace *t)
{
    uint32_t text =
        lpo_trace_name(t, "processes have no closing totals in their trace (killed, ended "
                          "by _exit or exec, or still running): what they did last may "
                          "be missing");

    for (size_t i = 0; i < t->notes.len; i++)
        if (t->notes.at[i].text == text) {
            t->notes.at[i].count++;
            return;
        }
    lpo_trace_note(t, 1, "%s", lpo_trace_text(t, text));
}

/* CUDA contexts beyond the first one of each device. */
static uint64_t more_contexts(const struct native *n)
{
    struct lpo_map_pair contexts = { 0 }, devices = { 0 };
    uint64_t more = 0;

    for (size_t i = 0; i < n->places.len; i++) {
        bool fresh, first;

        lpo_map_pair_put(&contexts, n->places.at[i].device, n->places.at[i].context, &fresh);
        lpo_map_pair_put(&devices, n->places.at[i].device, 0, &first);
        more += fresh && !first;
    }
    lpo_map_pair_free(&contexts);
    lpo_map_pair_free(&devices);
    return more;
}

static void add_notes(struct native *n, uint64_t ignored)
{
    enum { DAMAGE = 2 }; /* the first rows say that the file is not whole */
    const struct {
        uint64_t count;
        const char *text;
    } notes[] = {
        { ignored, "bytes at the end of the trace are not a whole block: the program was killed "
                   "while it was written, and the last moments are missing" },
        { n->damaged, "streams of the trace break off in the middle: the file is damaged" },
        { n->numbers_lost, "numbers of ranges beyond the first million are in no region's sums" },
        { n->stray_pops, "range pops had no open range in their thread" },
        { n->stray_ends, "range ends name no open range" },
        { n->unclosed, "ranges were never closed and end with their process" },
        { n->summed,
          "ranges were summed while the trace was read, because it has more than are kept "
          "one by one: timelines show the outer ones only (" LPO_BUDGET_HINT ")" },
        { n->start_ends_lost,
          "start/end ranges are left out: in a trace of this size no more than 2 "
          "million are read" },
        { n->summed_ops,
          "GPU operations were summed while the trace was read, because it has more than are kept "
          "one by one: there is no timeline of them, and nothing that follows from one "
          "(" LPO_BUDGET_HINT ")" },
        { more_contexts(n), "more CUDA contexts than one were used on a GPU: streams of different "
                            "contexts with the same number are shown as one" },
        { n->unlaunched, "GPU operations have no launch record, so their range is not known" },
        { n->stale_nodes,
          "kernels of CUDA graphs began before they were launched, by CUPTI's times: "
          "their duration is taken as unknown" },
        { n->unlaid, "CUDA graph launches are shown as one kernel each: the trace has too many to "
                     "show what they ran" },
        { n->unseen_shares, "kernels in CUDA graphs were never seen outside one: their share of "
                            "the graph's time is a guess" },
    };

    for (size_t i = 0; i < sizeof notes / sizeof *notes; i++)
        if (notes[i].count)
            (i < DAMAGE ? lpo_trace_note_damage : lpo_trace_note)(n->trace, notes[i].count, "%s",
                                                                  notes[i].text);
    lpo_native_note_totals(n);
    if (!n->footers && (!n->finished || n->gpu_bytes))
        note_missing_footer(n->trace);
}

static void free_native(struct native *n)
{
    for (size_t i = 0; i < n->threads.len; i++) {
        lpo_vec_free(&n->threads.at[i].open.at);
        lpo_vec_free(&n->threads.at[i].open.tops);
        lpo_vec_free(&n->threads.at[i].levels);
    }
    lpo_vec_free(&n->strings);
    lpo_vec_free(&n->domains);
    lpo_vec_free(&n->threads);
    lpo_vec_free(&n->nodes);
    lpo_vec_free(&n->ends);
    lpo_vec_free(&n->wholes);
    lpo_vec_free(&n->of_nodes);
    lpo_vec_free(&n->hints);
    lpo_vec_free(&n->shown);
    lpo_map_pair_free(&n->by_path);
    lpo_map_pair_free(&n->by_number_name);
    lpo_map_pair_free(&n->by_number_path);
    lpo_vec_free(&n->number_rows);
    lpo_map_pair_free(&n->by_category);
    lpo_vec_free(&n->categories);
    lpo_vec_free(&n->places);
    lpo_vec_free(&n->shapes);
    for (size_t i = 0; i < n->graphs.len; i++)
        lpo_vec_free(&n->graphs.at[i].nodes);
    lpo_vec_free(&n->graphs);
    lpo_native_gpu_sums_destroy(n->gpu_sums);
    lpo_native_sets_destroy(n->sets);
    lpo_map_u64_destroy(n->by_number);
    lpo_trace_links_destroy(n->links);
    lpo_map_u64_destroy(n->by_node);
    lpo_map_u64_destroy(n->by_range);
    lpo_map_u64_destroy(n->by_graph);
    lpo_native_tick_clock_free(&n->clock);
    lpo_trace_recorded_destroy(n->recorded);
    lpo_arena_destroy(n->arena);
}

static int read_blocks(struct lpo_native_blocks *blocks, struct lpo_trace *into)
{
    struct native n = { .trace = into,
                        .arena = lpo_arena_create(),
                        .pid = -1,
                        .rank = -1,
                        .end_ns = LPO_NO_TIME,
                        .command = LPO_NONE,
                        .windows_range = LPO_NONE,
                        .sees_all_launches = true,
                        .links = lpo_trace_links_create(0),
                        .first_gpu_op = into->gpu_ops.len,
                        .first_range = into->ranges.len,
                        .first_path = into->paths.len,
                        .first_window = into->windows.len,
                        .first_number = into->range_numbers.len,
                        .shown_levels = NATIVE_SHOWN_LEVELS };
    uint64_t ignored;

    if (into->epoch_ns == LPO_NO_TIME)
        into->epoch_ns = 0;
    n.shift_ns = into->epoch_ns;
    n.by_number = lpo_map_u64_create(0);
    n.by_node = lpo_map_u64_create(0);
    n.by_range = lpo_map_u64_create(0);
    n.by_graph = lpo_map_u64_create(0);
    first_pass(&n, blocks);
    ignored = lpo_native_blocks_ignored(blocks);
    into->has_ranges = true;
    decide(&n);
    read_windows(&n, blocks);
    if (n.gpu_sums)
        sum_gpu_ops(&n, blocks);
    else
        keep_gpu_ops(&n, blocks);
    lpo_native_join_captures(&n);
    lpo_native_distrust_nodes(&n);
    lpo_native_close_ranges(&n); /* the GPU records may end last */
    lpo_native_sums_show(&n);
    lpo_native_lay_out_graphs(&n);
    for (size_t i = n.first_gpu_op; i < into->gpu_ops.len && !(into->skip & LPO_SKIP_LAUNCHES); i++)
        n.unlaunched += into->gpu_ops.at[i].launch == LPO_NONE;
    if (into->processes.len > n.process) {
        struct lpo_process *p = &into->processes.at[n.process];
        if (p->end_ns == LPO_NO_TIME || n.end_ns > p->end_ns)
            p->end_ns = n.end_ns;
        if (p->name == LPO_NONE)
            p->name = n.command;
        p->has_calls |= n.has_calls;
        p->cut_short |= !n.footers && !n.forked;
    }
    add_notes(&n, ignored);
    free_native(&n);
    return 0;
}

int lpo_native_read_bytes(const void *bytes, size_t len, struct lpo_trace *into,
                          struct lpo_err *err)
{
    LPO_AUTO(lpo_native_blocks) blocks = NULL;
    int rc = lpo_native_blocks_over(bytes, len, &blocks, err);

    return rc < 0 ? rc : read_blocks(blocks, into);
}

/* A compressed trace is small: it was packed to be sent or kept. */
static int read_packed(const char *path, struct lpo_trace *into, struct lpo_err *err)
{
    LPO_AUTO(lpo_input) in = NULL;
    LPO_STR all = { 0 };
    struct lpo_input_window w = { 0 };
    int rc = lpo_input_open(path, &in, err);

    if (rc < 0)
        return rc;
    while ((rc = lpo_input_next(in, 0, &w, err)) > 0)
        lpo_str_addn(&all, w.at, w.len);
    if (rc < 0)
        return rc;
    if (lpo_input_damage(in))
        lpo_trace_note_damage(into, 0, "%s: the rest of the trace is missing",
                              lpo_input_damage(in));
    return lpo_native_read_bytes(lpo_str_text(&all), all.len, into, err);
}

static int native_read(const char *path, struct lpo_trace *into, struct lpo_err *err)
{
    LPO_AUTO(lpo_native_blocks) blocks = NULL;
    struct lpo_err first = { 0 };

    if (lpo_native_blocks_open(path, &blocks, &first) < 0)
        return read_packed(path, into, err);
    read_blocks(blocks, into);
    return lpo_native_blocks_failed(blocks, err); /* a bad disk is not the end of the file */
}

static bool native_sniff(const char *path, const unsigned char *head, size_t len)
{
    (void)path;
    return len >= LPOT_PREAMBLE_BYTES && memcmp(head, LPOT_MAGIC, 8) == 0;
}

const struct lpo_reader lpo_native_reader = {
    .name = "native",
    .summary = "trace of lpo's own collector (.lpot)",
    .sniff = native_sniff,
    .read = native_read,
};
