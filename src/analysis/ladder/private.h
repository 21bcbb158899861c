/* SPDX-License-Identifier: Apache-2.0 */
/* analysis/ladder/private.h - what those who propose experiments share. ladder.c has the table of
 * them and takes the best; window.c finds the window, frames.c what the host was in. */
#pragma once

#include "analysis/critical/private.h"
#include "analysis/ladder/ladder.h"
#include "trace/host.h"

struct lpo_hardware;

struct ladder_candidate {
    struct lpo_rung rung;
    int64_t bound_ns; /* it cannot save more */
};

struct ladder_work {
    const struct lpo_rundir *d;
    const struct lpo_source *s;
    const struct lpo_analysis *a;
    const struct lpo_trace *t;
    const struct lpo_region_tree *tree;
    const struct lpo_program_steps *steps; /* NULL: there are none */
    const struct lpo_hardware *hw;         /* NULL: not known */
    const struct critical_rows *rows;      /* of the trace, by process */
    const struct ladder_links *links;      /* measured ones; NULL: none like these */
    double pinned_rate;                    /* of copies in this trace, bytes a second; 0: none */
    struct lpo_ladder *out;
    struct critical_graph g;
    struct critical_replay replay;
    uint32_t *by_stream;        /* operations of the graph, stream after stream, in order of time */
    int64_t graph_gaps_ns;      /* of the path: in CUDA graphs, and no node was recorded */
    uint32_t first_launch;      /* the earliest call that launches; LPO_NONE */
    uint32_t *around;           /* per operation: the innermost operator around its launch */
    int64_t *excess_ns;         /* per operation: longer than its equals, which is a rung already */
    bool *attends;              /* per operation: a product of attention in pieces */
    int64_t *path_ns;           /* per operation: its time on the path */
    int64_t *before_ns, *in_ns; /* per call: time of the path before it and in it */
    int64_t parts_ns[LPO_PATH_PARTS];
    uint32_t profiler; /* the experiment without its cost, made before all others; LPO_NONE */
    LPO_VEC(struct ladder_candidate) candidates; /* number i is experiment i */
};

typedef void ladder_propose(struct ladder_work *w);

ladder_propose lpo_ladder_host, lpo_ladder_waits, lpo_ladder_attention, lpo_ladder_fusion,
    lpo_ladder_products, lpo_ladder_siblings, lpo_ladder_roof, lpo_ladder_communication,
    lpo_ladder_slow_collectives, lpo_ladder_copies, lpo_ladder_layout, lpo_ladder_recomputation,
    lpo_ladder_counters, lpo_ladder_grids, lpo_ladder_regions, lpo_ladder_clocks, lpo_ladder_ranks;

/* What a product of attention in pieces would take in one kernel, by its FLOPs and what such
 * kernels usually reach; what it takes now where that is not known, or no more. */
int64_t lpo_ladder_fused_ns(const struct ladder_work *w, uint32_t op);
/* A copy from and to memory of the GPU itself. */
bool lpo_ladder_copies_within(const struct ladder_work *w, uint32_t op);
/* How many operations, how long together, and the most expensive name among them. */
void lpo_ladder_describe(const struct ladder_work *w, struct lpo_rung *r, const bool *in);
/* A call of the graph that is none of the trace: the end of a thread, or the rest of an operator
 * that waits in no call that was recorded. */
bool lpo_ladder_is_mark(const struct ladder_work *w, uint32_t call);
bool lpo_ladder_is_rest(const struct ladder_work *w, uint32_t call);
/* A frame of Python in a file of the user. */
bool lpo_ladder_is_user_code(const char *name);
/* A call that waits, and what for was launched before the capture began. */
bool lpo_ladder_waits_earlier(const struct ladder_work *w, uint32_t call);
/* What NCCL was measured at between such GPUs; NULL: nothing, or there are no collectives. Reads
 * files: once for all processes. */
struct ladder_links *lpo_ladder_links_create(const struct ladder_work *w);
void lpo_ladder_links_destroy(struct ladder_links *l); /* NULL is fine */
/* Bytes a second of pinned copies in this trace, of those large enough to show it; 0: none. */
double lpo_ladder_pinned_rate(const struct lpo_trace *t);
struct lpo_time_window lpo_ladder_window(const struct ladder_work *w, uint16_t process,
                                         int64_t *end_ns);

/* Those that lpo_ladder_ranks() proposes: they have a device of their own. */
bool lpo_ladder_of_ranks(enum lpo_rung_kind kind);
void lpo_ladder_choose_rank(const struct lpo_analysis *a, struct lpo_ladders *l);

/* What the GPU did in the window. */
void lpo_ladder_parts(struct ladder_work *w);

/* A candidate that could save `bound_ns` at most; LPO_NONE where that is under 1 % of the window,
 * or there are too many. */
uint32_t lpo_ladder_add(struct ladder_work *w, struct lpo_rung rung, int64_t bound_ns);
/* The same of GPU operations: `less_ns` is what each of the graph could take less. Frees it. */
struct lpo_rung *lpo_ladder_add_ops(struct ladder_work *w, enum lpo_rung_kind kind,
                                    int64_t *less_ns);
/* The innermost region with more than half of what the operations have in sum; LPO_NONE. */
uint32_t lpo_ladder_main_region(const struct ladder_work *w, const int64_t *less_ns);
void lpo_ladder_fact(struct lpo_rung *r, enum lpo_fact fact, uint32_t name, double a, double b,
                     double c);
/* Ranges around single operators, as emit_nvtx makes them. */
uint64_t lpo_ladder_operator_ranges(const struct lpo_trace *t);
void lpo_ladder_cautions(struct ladder_work *w, struct lpo_ladders *out);
void lpo_ladder_flight(const struct lpo_analysis *a, struct lpo_ladders *out);
void lpo_ladder_memory(const struct lpo_analysis *a, struct lpo_ladders *out);
void lpo_ladder_profiles(const struct lpo_analysis *a, struct lpo_ladders *out);
/* The innermost operator around the launch of an operation; false: there is none. */
bool lpo_ladder_around(const struct ladder_work *w, uint32_t op, struct lpo_slice *out);

/* Does a kernel that a compiler made run? */
bool lpo_ladder_is_compiled(const struct ladder_work *w);
/* A product on the ordinary units of a GPU that has tensor cores: lpo_ladder_products() has it. */
bool lpo_ladder_lacks_tensor_cores(const struct ladder_work *w, uint32_t op);

static inline int64_t lpo_ladder_op_ns(const struct ladder_work *w, uint32_t op)
{
    return lpo_trace_gpu_op_ns(lpo_critical_gpu_op(&w->g, op));
}
static inline int64_t *lpo_ladder_wants(const struct ladder_work *w)
{
    return lpo_xcalloc(w->g.ops.len + 1, sizeof(int64_t));
}
/* The row of steps that a moment lies in; LPO_NONE. */
uint32_t lpo_ladder_step_at(const struct ladder_work *w, int64_t ns);
