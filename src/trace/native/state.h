/* trace/native/state.h - what the parts of the native reader share while one file is read. */
#pragma once

#include "trace/native/blocks.h"
#include "trace/native/clock.h"
#include "trace/native/open.h"
#include "trace/trace.h"
#include "util/arena.h"
#include "util/idmap.h"

enum {
    NATIVE_TOTALS = 32,
    NATIVE_DEPTH_MOST = 256,       /* frames of one stack; deeper ones are cut and noted */
    NATIVE_FRAMES_MOST = 16 << 20, /* of all stacks of a file */
};

struct native_string {
    const char *text; /* in the arena */
    uint32_t len;
    uint32_t name;   /* name id of the text, once asked for */
    uint32_t kernel; /* name id of the text demangled */
};

struct native_thread {
    uint32_t row; /* into trace->threads; LPO_NONE until its stream starts */
    int64_t tid;
    uint32_t os_name; /* name id or LPO_NONE */
    bool known;       /* defined */
    bool broken;      /* its stream cannot be followed any further */
    uint32_t sequence;
    uint64_t ticks, node, original;
    uint32_t corr;
    uint32_t last_launch; /* into native->launches */
    uint32_t stack;       /* of the ranges open now, when `stack_good` */
    bool stack_good;
    struct native_opens open;
};

struct native_launch {
    int64_t start_ns, end_ns;
    uint32_t thread; /* row in trace->threads */
    uint32_t stack;  /* push/pop frames */
    uint32_t row;    /* in trace->launches once a work needs it */
};

/* A node of a CUDA graph: where it was captured, or what it was cloned from. */
struct native_node {
    uint64_t original;
    uint32_t stack;
    bool clone;
};

/* A start/end range; `range` is its row in trace->ranges or LPO_NONE. */
struct native_start {
    uint64_t id;
    int64_t start_ns, end_ns;
    uint32_t name, range;
    uint16_t domain;
    bool closed;
};

struct native_end {
    uint64_t id;
    int64_t ns;
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
    int64_t end_ns; /* the last moment the file knows of */
    LPO_VEC(struct native_string) strings;
    LPO_VEC(uint16_t) domains;
    LPO_VEC(struct native_thread) threads;
    LPO_VEC(struct native_launch) launches;
    struct lpo_idmap *by_number, *by_corr, *by_node, *by_range, *by_graph;
    LPO_VEC(struct native_node) nodes;
    LPO_VEC(struct native_start) starts;
    LPO_VEC(struct native_end) ends;
    LPO_VEC(struct native_place) places;
    LPO_VEC(struct native_shape) shapes;
    LPO_VEC(struct native_graph) graphs;
    uint64_t gpu_start, gpu_node;
    uint32_t gpu_corr, gpu_sequence;
    bool gpu_broken;
    uint64_t frames; /* of all stacks so far */
    /* for notes */
    uint64_t stray_pops, stray_ends, unclosed, unlaunched, cut_stacks, damaged;
    uint64_t unlaid, unseen_shares;
    uint64_t totals[NATIVE_TOTALS]; /* of the last footer, by enum lpot_counter */
    uint32_t command;               /* name id or LPO_NONE */
};

/* native_defs.c */
void lpo_native_take_facts(struct native *n, struct lpo_cursor c);
void lpo_native_take_defs(struct native *n, struct lpo_cursor c);
void lpo_native_take_note(struct native *n, struct lpo_cursor c);
void lpo_native_take_footer(struct native *n, struct lpo_cursor c);
void lpo_native_tell_totals(struct native *n);
/* Names of strings by the file's ids; an id the file never defined is "(unknown)". */
uint32_t lpo_native_name(struct native *n, uint64_t string);
uint32_t lpo_native_kernel_name(struct native *n, uint64_t string);
uint32_t lpo_native_inline_name(struct native *n, const char *text, size_t len);
struct native_thread *lpo_native_thread_at(struct native *n,
                                           uint64_t number); /* good until the next */

/* native_thread.c */
void lpo_native_take_thread(struct native *n, const struct lpo_native_block *block);
uint32_t lpo_native_stack_of(struct native *n, struct native_thread *t);
void lpo_native_close_all(struct native *n);

/* native_gpu.c */
void lpo_native_take_gpu(struct native *n, const struct lpo_native_block *block);

/* native_graph.c: what graphs consist of; then every whole launch of a listed one becomes its
 * kernels, before the join. Until then `capture_stack` of a whole launch is the row of its graph.
 */
void lpo_native_define_graph(struct native *n, struct lpo_cursor *c);
void lpo_native_lay_out_graphs(struct native *n, size_t first_gpu_op);
/* native_share.c */
void lpo_native_weigh_graphs(struct native *n, size_t first_gpu_op);

/* native_join.c: start/end ranges onto launches, captures onto graph kernels. */
void lpo_native_join(struct native *n, size_t first_gpu_op);
/* A row of trace->stacks, or LPO_NONE when the file has more frames than is sane. */
uint32_t lpo_native_add_stack(struct native *n, const struct lpo_frame *frames, size_t count);
