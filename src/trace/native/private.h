/* SPDX-License-Identifier: Apache-2.0 */
/* trace/native/private.h - what the parts of the native reader share while one file is read. */
#pragma once

#include "trace/link.h"
#include "trace/native/blocks.h"
#include "trace/trace.h"

enum {
    NATIVE_TOTALS = 32,
    NATIVE_SHOWN_LEVELS = 8,
    NATIVE_OPEN_SETS = 1024, /* start/end ranges that are open at one moment */
};

struct native_string {
    const char *text; /* in the arena */
    uint32_t len;
    uint32_t name;   /* name id of the text, once asked for */
    uint32_t kernel; /* name id of the text demangled */
};

/* A push/pop range that is open. */
struct native_open {
    uint32_t range; /* into trace->ranges, or into native->shown where ranges are summed; or
                     * LPO_NONE */
    uint32_t under; /* place + 1 of the next older one of its domain; 0: none */
    uint32_t level; /* into the levels of its thread, where ranges are summed; or LPO_NONE */
    bool inherited; /* from the parent of a fork */
};

/* Those of one thread: a stack per domain, since a pop names its domain. All zero is empty. */
struct native_opens {
    LPO_VEC(struct native_open) at;
    LPO_VEC(uint32_t) tops; /* by domain: place + 1; 0: none is open */
    uint32_t count;
    uint32_t unused; /* place + 1 of the first free one, chained by `under`; 0: none */
};

/* A range that is open on a thread whose ranges are summed, outermost first. */
struct native_level {
    int64_t start_ns, end_ns; /* INT64_MAX: still open */
    int64_t around_end_ns;    /* of the range it was entered in, once that is closed */
    uint32_t entered;         /* path at which its visit counts */
    uint32_t path;            /* of what is open up to here; LPO_NONE: not looked up yet */
    uint32_t around;          /* level it was entered in; LPO_NONE: none, or closed */
    uint32_t around_path;     /* path of the visit it was entered in; LPO_NONE */
    uint32_t place;           /* place + 1 among the open ranges; 0: closed */
};

struct native_thread {
    uint32_t row; /* into trace->threads; LPO_NONE until its stream starts */
    int64_t tid;
    uint32_t os_name; /* name id or LPO_NONE */
    bool known;       /* defined */
    bool broken;      /* its stream cannot be followed any further */
    uint32_t sequence, calls_sequence;
    uint32_t again; /* ranges that are open already and are pushed once more */
    int64_t last_ns;
    uint64_t ticks, node, original;
    uint32_t corr;
    struct lpo_call call; /* the launch call that began last: its return may still come */
    bool in_call;
    uint32_t call_changes; /* `changes` when the call began */
    uint32_t hint;         /* slot of native->hints for the next range that is entered */
    struct native_opens open;
    LPO_VEC(struct native_level) levels;
    uint32_t closed;  /* levels that ended just now: what begins at that moment lies in them */
    uint32_t changes; /* of the levels */
};

/* A node of a CUDA graph: when it was captured, or what it was cloned from. */
struct native_node {
    uint64_t original;
    int64_t ns;
    uint32_t thread;  /* row in trace->threads */
    uint32_t capture; /* row in trace->captures, once a GPU operation needs it; else LPO_NONE */
    uint32_t path;    /* as in struct lpo_capture */
    bool clone;
};

/* The end of a start/end range: any thread may end it, so its start may stand further on. */
struct native_end {
    uint64_t id;
    int64_t ns;
};

/* A graph launch that was timed as one: laid out into its nodes after the last record, when the
 * times of kernels outside graphs are known. */
struct native_whole {
    uint32_t op;    /* counted from the first GPU operation of this file */
    uint32_t graph; /* into native->graphs */
};

/* A range that is summed and also shown on timelines. */
struct native_shown {
    struct lpo_range range;
    uint32_t level;
};

/* A GPU operation of a graph: when it was captured is asked once the threads are read. */
struct native_of_node {
    uint64_t node;
    uint32_t op; /* into trace->gpu_ops */
};

struct native_shape {
    uint32_t name, linker, shape, place;
};

/* What a CUDA graph recorded by whole launches runs, in order. */
struct native_graph_node {
    uint64_t id, bytes;
    double until; /* where its share of a launch ends: a weight first, then 0 … 1 */
    uint32_t name, linker, shape;
    uint8_t kind; /* enum lpo_gpu_op_kind */
};

struct native_graph {
    LPO_VEC(struct native_graph_node) nodes;
    uint32_t unseen; /* kernels never launched outside a graph: their share is a guess */
    bool complete, broken;
};

struct native_place {
    uint32_t stream;
    uint32_t context; /* nearly always one per process and device */
    uint16_t device;
};

struct native {
    struct lpo_trace *trace;
    struct lpo_arena *arena;
    struct lpo_tick_clock clock;
    int64_t shift_ns; /* taken off every time: the trace's own epoch */
    uint16_t process;
    int64_t pid;
    int32_t rank;
    bool forked;    /* by a process that has a trace of its own */
    int64_t end_ns; /* the last moment in the file */
    LPO_VEC(struct native_string) strings;
    LPO_VEC(uint16_t) domains;
    LPO_VEC(struct native_thread) threads;
    struct lpo_trace_links *links;
    struct lpo_map_u64 *by_number, *by_node, *by_range, *by_graph;
    LPO_VEC(struct native_node) nodes;
    LPO_VEC(struct native_end) ends;
    LPO_VEC(struct native_whole) wholes;
    LPO_VEC(struct native_of_node) of_nodes;
    size_t first_gpu_op, first_range, first_path; /* rows of the trace before this file */
    LPO_VEC(struct native_place) places;
    LPO_VEC(struct native_shape) shapes;
    LPO_VEC(struct native_graph) graphs;
    /* range_sums.c */
    bool sums;            /* ranges are summed and not kept */
    uint64_t summed;      /* how many */
    uint64_t event_bytes; /* of all threads */
    struct lpo_map_pair by_path, by_number_name, by_number_path;
    size_t first_number;             /* row of range_numbers before this file */
    struct lpo_map_pair by_category; /* (domain of the file, category) to row of categories */
    LPO_VEC(uint32_t) categories;    /* names */
    LPO_VEC(uint32_t) number_rows;   /* by row of by_number_path: row of trace->numbers */
    uint64_t numbers, numbers_lost;  /* kept one by one */
    LPO_VEC(uint32_t) hints;
    LPO_VEC(struct native_shown) shown;
    uint32_t shown_levels; /* how many of the outer levels those are */
    /* gpu_sums.c, start_end_sets.c; NULL: GPU operations are kept */
    struct native_gpu_sums *gpu_sums;
    struct native_sets *sets;
    uint64_t gpu_bytes, summed_ops;
    uint64_t start_ends, start_ends_lost;
    bool only_start_end; /* in the pass that looks for those */
    uint64_t gpu_start, gpu_node;
    uint32_t gpu_corr, gpu_sequence;
    bool gpu_broken;
    /* for notes */
    uint64_t stray_pops, stray_ends, unclosed, unlaunched, damaged;
    uint64_t unlaid, unseen_shares, stale_nodes;
    uint64_t footers;               /* that the process wrote */
    uint64_t finished;              /* 1: somebody else wrote the last of its ranges */
    uint64_t totals[NATIVE_TOTALS]; /* of the latest footer, by enum lpot_counter */
    uint32_t command;               /* name id or LPO_NONE */
    bool has_windows, counts_launches, ring;
    bool sees_all_launches; /* false: CUPTI was not always there, and nobody else counted */
    struct lpo_trace_recorded *recorded; /* where ranges are summed; NULL: all is counted */
    size_t first_window;
    uint64_t windows_seen, windows_recorded;
    uint32_t windows_range; /* name id or LPO_NONE */
    bool has_calls;         /* calls that can block were recorded */
};

/* definitions.c */
void lpo_native_take_facts(struct native *n, struct lpo_cursor c);
void lpo_native_take_defs(struct native *n, struct lpo_cursor c);
void lpo_native_take_note(struct native *n, struct lpo_cursor c);
void lpo_native_take_footer(struct native *n, struct lpo_cursor c);
void lpo_native_note_totals(struct native *n);
/* Names of strings by the file's ids; an id the file never defined is "(unknown)". */
uint32_t lpo_native_name(struct native *n, uint64_t string);
uint32_t lpo_native_kernel_name(struct native *n, uint64_t string);
uint32_t lpo_native_inline_name(struct native *n, const char *text, size_t len);
struct native_thread *lpo_native_thread_at(struct native *n,
                                           uint64_t number); /* good until the next */

/* thread_events.c */
void lpo_native_take_thread(struct native *n, const struct lpo_native_block *block);
/* After the last block of every thread: the calls that never returned, the ends of start/end
 * ranges, and ranges that nobody closed. */
void lpo_native_close_threads(struct native *n);
/* Every thread back to its start; with start/end ranges that are complete. */
void lpo_native_rewind_threads(struct native *n);
void lpo_native_close_ranges(struct native *n);

/* numbers.c */
bool lpo_native_is_number(const struct native *n, uint16_t domain); /* is a mark of it one? */
/* Given at this moment, in the ranges that are open on the thread; LPO_NONE: a range's payload. */
void lpo_native_number(struct native *n, struct native_thread *t, int64_t ns, uint32_t name,
                       double value);
/* The payload of a start/end range. */
void lpo_native_start_number(struct native *n, uint32_t range, uint16_t domain, double value);

/* numbers.c: before the streams; then, once all of them are read, what they say about the trace. */
void lpo_native_take_windows(struct native *n, const struct lpo_native_block *block);
void lpo_native_keep_windows(struct native *n);

/* gpu_records.c */
void lpo_native_take_calls(struct native *n, const struct lpo_native_block *block);

/* range_sums.c: push/pop ranges of a file that has too many of them to keep. `open` is the range
 * that begins or ends; the path is that of all ranges that hold a call from start to end, asked
 * at the end of it, as struct lpo_launch has it. */
void lpo_native_sums_push(struct native *n, struct native_thread *t, const struct lpo_range *range,
                          struct native_open *open, uint32_t place);
void lpo_native_sums_pop(struct native *n, struct native_thread *t, const struct native_open *open,
                         int64_t end_ns);
/* The id of a name that stands in an event; LPO_NONE when the file has more names than fit. */
uint32_t lpo_native_sums_name(struct native *n, const char *text, size_t len);
uint32_t lpo_native_sums_path(struct native *n, struct native_thread *t, int64_t start_ns,
                              int64_t end_ns);
void lpo_native_sums_close(struct native *n, struct native_thread *t);
void lpo_native_sums_show(struct native *n); /* after the last: rows for timelines */

/* gpu_sums.c: GPU operations of a file that has too many of them to keep. `node` is that of a CUDA
 * graph, or NULL. */
struct native_gpu_sums *lpo_native_gpu_sums_create(const struct native *n);
void lpo_native_gpu_sums_destroy(struct native_gpu_sums *s); /* NULL is fine */
void lpo_native_gpu_sums_launch(struct native *n, uint32_t corr, const struct lpo_call *call);
void lpo_native_gpu_sums_op(struct native *n, const struct lpo_gpu_op *op, uint32_t corr,
                            const uint64_t *node);
void lpo_native_gpu_sums_close(struct native *n);

/* start_end_sets.c: which start/end ranges hold a call; a number for each set of names, 0 for
 * none. */
void lpo_native_sets_find(struct native *n); /* after all of them are read */
void lpo_native_sets_destroy(struct native_sets *s);
uint32_t lpo_native_set_at(struct native *n, int64_t start_ns, int64_t end_ns);
/* At most NATIVE_OPEN_SETS; returns how many. */
size_t lpo_native_set_frames(const struct native *n, uint32_t set, struct lpo_frame *out);

/* gpu_records.c */
void lpo_native_take_gpu(struct native *n, const struct lpo_native_block *block);
void lpo_native_join_captures(struct native *n); /* after the threads: they announce the nodes */
/* After the launches: kernels of graphs whose times are those of an earlier launch have none. */
void lpo_native_distrust_nodes(struct native *n);
/* When a node of an executable graph was captured: a row of trace->captures, or LPO_NONE. */
uint32_t lpo_native_capture(struct native *n, uint64_t node);

/* graphs.c: what graphs consist of; then every whole launch of a listed one becomes its kernels. */
void lpo_native_define_graph(struct native *n, struct lpo_cursor *c);
void lpo_native_lay_out_graphs(struct native *n);
