/* SPDX-License-Identifier: Apache-2.0 */
/* analysis/critical/private.h - the graph of one process, and who does what with it.
 *
 * host.c finds the calls, graph.c the operations and all edges, waits.c those that the source has;
 * replay.c runs it with parts of it shorter, as edits.c (experiments of the ladder) or savings.c
 * (what a part, name or region costs) say; walk.c follows the critical edges back, frames.c says
 * what the host did meanwhile; critical.c puts it together. */
#pragma once

#include "analysis/critical/critical.h"
#include "trace/trace.h"

struct lpo_region_tree;

/* A call of the host that launches or waits. Its times and its thread are those of its row: a graph
 * has as many calls as a trace has launches, so that 16 bytes each count. */
struct critical_call {
    uint32_t row;    /* of launches; number of lpo_trace_call() where it only waits, and
                        CRITICAL_ONLY_WAITS is set */
    uint32_t before; /* call that must have returned: of the thread, or of one that handed over */
    uint32_t waits;  /* operation that it waits for; LPO_NONE */
    uint32_t state;  /* replay.c's */
};

#define CRITICAL_ONLY_WAITS (1u << 31)
#define CRITICAL_MARK       (1u << 30) /* neither: a stretch of a thread, row of the graph's marks */

/* Begin or end of the window on a thread, so that the host before its first call and after its last
 * one are in the graph; or the rest of an operator that waits in no call that was recorded. */
struct critical_mark {
    int64_t start_ns, end_ns;
    uint32_t thread;
};

/* A GPU operation: row i of the graph's op_rows. Edges are numbers of operations and calls of this
 * graph; LPO_NONE: none. */
struct critical_op {
    uint32_t before; /* on its stream */
    uint32_t other;  /* on another stream */
    uint32_t call;   /* its launch */
    uint32_t state;  /* replay.c's */
};

enum critical_edge { CRITICAL_NO_EDGE, CRITICAL_BEFORE, CRITICAL_OTHER, CRITICAL_LAUNCH };

struct critical_graph {
    const struct lpo_region_tree *tree;
    const struct lpo_trace *t;
    LPO_VEC(struct critical_call) calls; /* by thread, then time */
    LPO_VEC(struct critical_op) ops;     /* by start */
    LPO_VEC(struct critical_mark) marks;
    const uint32_t *op_rows; /* of gpu_ops; borrowed */
    int64_t start_ns, end_ns;
    int64_t usual_launch_ns, usual_gap_ns;
    uint64_t recorded_waits, inferred_waits, handovers, without_launch;
};

struct critical_span {
    int64_t start_ns, end_ns;
};

static inline const struct lpo_gpu_op *lpo_critical_gpu_op(const struct critical_graph *g,
                                                           uint32_t op)
{
    return &g->t->gpu_ops.at[g->op_rows[op]];
}

static inline struct critical_span lpo_critical_times(const struct critical_graph *g, uint32_t call)
{
    uint32_t row = g->calls.at[call].row;

    if ((row & (CRITICAL_MARK | CRITICAL_ONLY_WAITS)) == CRITICAL_MARK) {
        const struct critical_mark *m = &g->marks.at[row & ~CRITICAL_MARK];

        return (struct critical_span){ m->start_ns, m->end_ns };
    }
    if (row & CRITICAL_ONLY_WAITS) {
        struct lpo_api_call c = lpo_trace_call(g->t, row & ~CRITICAL_ONLY_WAITS);

        return (struct critical_span){ c.start_ns, c.end_ns };
    }
    return (struct critical_span){ g->t->launches.at[row].start_ns, g->t->launches.at[row].end_ns };
}

static inline uint32_t lpo_critical_thread(const struct critical_graph *g, uint32_t call)
{
    uint32_t row = g->calls.at[call].row;

    if (row & CRITICAL_ONLY_WAITS)
        return lpo_trace_call(g->t, row & ~CRITICAL_ONLY_WAITS).thread;
    return row & CRITICAL_MARK ? g->marks.at[row & ~CRITICAL_MARK].thread
                               : g->t->launches.at[row].thread;
}

/* Row of launches; LPO_NONE: it only waits, or there is no call. */
static inline uint32_t lpo_critical_launch(const struct critical_graph *g, uint32_t call)
{
    uint32_t row = call == LPO_NONE ? LPO_NONE : g->calls.at[call].row;

    return row & (CRITICAL_ONLY_WAITS | CRITICAL_MARK) ? LPO_NONE : row;
}

/* What is the same for all processes of a trace. */
struct critical_rows {
    uint32_t *op_rows; /* those with times, by process, then start */
    size_t *starts;    /* per process: where its own begin; one more for the end */
    uint32_t *threads; /* of the trace, by process */
    size_t *thread_starts;
    bool *waits;       /* per name: such a call waits for the GPU */
    uint32_t *call_of; /* room for one number per launch */
};

/* One process. */
struct critical_input {
    const struct lpo_region_tree *tree;
    const struct critical_rows *rows;
    uint16_t process;
    const uint32_t *op_rows;
    size_t nops;
    /* Only what is in a window; `wall_ns` 0: the whole trace, without marks. `end_ns`: the last
     * thing that each thread did in it, LPO_NO_TIME where it did nothing. */
    struct critical_window {
        int64_t start_ns, wall_ns;
        const int64_t *end_ns;
    } window;
};

void lpo_critical_rows_find(struct critical_rows *r, const struct lpo_trace *t);
void lpo_critical_rows_free(struct critical_rows *r);

/* One process, the whole trace; borrows `rows`. */
struct critical_input lpo_critical_input(const struct lpo_region_tree *tree,
                                         const struct critical_rows *rows, uint16_t process);
/* Numbers of points would not fit. */
bool lpo_critical_is_too_large(const struct lpo_trace *t);

/* Is this call one that waits for the GPU? By its name; the device, the stream or the event. */
bool lpo_critical_waits(const char *name);

void lpo_critical_graph_build(struct critical_graph *g, const struct critical_input *in);
/* Edges that the source recorded; part of the build. */
void lpo_critical_recorded_waits(struct critical_graph *g, uint16_t process);
void lpo_critical_graph_free(struct critical_graph *g);
/* Calls and the edges between them; part of the build. */
void lpo_critical_host_build(struct critical_graph *g, const struct critical_input *in);

/* The part that a GPU operation is. */
enum lpo_critical_part lpo_critical_part_of(const struct critical_graph *g, uint32_t row);

/* A lag as long as that has a cause that is not in the trace: as for the gaps of streams
 * (wall/timeline.h). */
#define LPO_CRITICAL_UNEXPLAINED_NS 30000

/* From when on a call lets its work start: its return, where that came first. */
static inline int64_t lpo_critical_launch_ns(const struct critical_graph *g, uint32_t call,
                                             int64_t start_ns)
{
    struct critical_span c = lpo_critical_times(g, call);

    return g->calls.at[call].waits == LPO_NONE && c.end_ns <= start_ns ? c.end_ns : c.start_ns;
}

/* Did the work start long after its launch had begun, and before that returned? */
static inline bool lpo_critical_in_launch(struct critical_span call, int64_t start_ns)
{
    return start_ns < call.end_ns && start_ns - call.start_ns >= LPO_CRITICAL_UNEXPLAINED_NS;
}

/* The critical edge into an operation, and the moment from which its lag counts. */
enum critical_edge lpo_critical_edge(const struct critical_graph *g, uint32_t op, int64_t *from_ns);

/* What a lag before an operation is that was held back by `edge`. A long one has no cause in the
 * trace, but for one inside a CUDA graph: that is the graph's own, of nodes that were not recorded
 * or that wait. */
static inline enum lpo_critical_part lpo_critical_lag_part(const struct lpo_gpu_op *op,
                                                           enum critical_edge edge, int64_t ns)
{
    bool ordered =
        edge != CRITICAL_LAUNCH && op->flags & LPO_GPU_OP_GRAPH && !(op->flags & LPO_GPU_OP_WHOLE);

    if (ns >= LPO_CRITICAL_UNEXPLAINED_NS && !ordered)
        return LPO_PATH_UNEXPLAINED;
    return edge == CRITICAL_LAUNCH ? LPO_PATH_LAUNCH_DELAY : LPO_PATH_GAP;
}

enum { CRITICAL_KIND_SHIFT = 30 }; /* a trace with as many rows has no graph */

/* --- replay.c --- */

/* What a change can take time off: the host before a call, the call, a GPU operation. */
enum critical_less_kind { CRITICAL_LESS_HOST, CRITICAL_LESS_CALL, CRITICAL_LESS_OP };

/* Several sets of changes, each in lanes of its own. */
struct critical_changes {
    void *ctx;
    /* Adds to each lane's gain what the changes in it take off the point `at`, which lasts from
     * start to end. Points of a thread come in order of time. */
    void (*less)(void *ctx, enum critical_less_kind kind, uint32_t at, int64_t start_ns,
                 int64_t end_ns, int64_t *gain);
    /* The same of what passes before an operation, where it is such a part. */
    void (*less_lag)(void *ctx, uint32_t op, enum lpo_critical_part part, int64_t ns,
                     int64_t *gain);
    /* Lanes in which the call no longer waits; a bit for each. */
    uint64_t (*no_wait)(void *ctx, uint32_t call);
    size_t room_bytes; /* that numbers may take; 0: any */
};

/* out[i]: the end of the graph in lane i, less its beginning. False: there was no room. */
bool lpo_critical_run(struct critical_graph *g, const struct critical_changes *c, size_t lanes,
                      int64_t *out);

/* --- edits.c --- */

/* What an experiment changes of one point: it is `ns` shorter. */
enum critical_edit_kind {
    CRITICAL_EDIT_HOST,   /* the host before a call */
    CRITICAL_EDIT_CALL,   /* the call itself */
    CRITICAL_EDIT_WAIT,   /* the call no longer waits for the GPU */
    CRITICAL_EDIT_OP,     /* a GPU operation; of several experiments the largest counts */
    CRITICAL_EDIT_EXCESS, /* what it takes longer than its equals: beside the largest of those */
};

struct critical_edit {
    int64_t ns;
    uint32_t at; /* call or operation of the graph */
    uint8_t experiment, kind;
};

enum { CRITICAL_EXPERIMENTS = 64, CRITICAL_LANES = 12 };

/* A graph in the order in which it is replayed, and the edits of all experiments. */
struct critical_replay {
    struct critical_graph *g;
    LPO_VEC(struct critical_edit) edits; /* in any order until prepared */
    uint32_t *first;                     /* per call, then per operation: its edits */
};

void lpo_critical_replay_edit(struct critical_replay *r, enum critical_edit_kind kind, uint32_t at,
                              unsigned experiment, int64_t ns);
void lpo_critical_replay_prepare(struct critical_replay *r);
/* lanes[i] has a bit for each experiment that is made in lane i; out[i]: the end of the graph, less
 * its beginning. */
void lpo_critical_replay_run(struct critical_replay *r, const uint64_t *lanes, size_t count,
                             int64_t *out);
void lpo_critical_replay_free(struct critical_replay *r);

/* How many names and regions have a saving. */
enum { CRITICAL_NAMES = 8, CRITICAL_REGIONS = 8 };

/* A stretch of the path, last first. */
struct critical_stretch {
    int64_t start_ns, end_ns;
    enum lpo_critical_part part;
    uint32_t op;   /* of the graph; LPO_NONE: a stretch of the host */
    uint32_t call; /* host: the call that it leads to or is in; LPO_NONE */
    bool in_call;  /* host: inside that call */
};

typedef void critical_stretch_fn(void *ctx, const struct critical_stretch *s);
/* Every moment between start and end of the graph is in one stretch. */
void lpo_critical_walk(const struct critical_graph *g, critical_stretch_fn *each, void *ctx);

/* A stretch of the host on one thread, and what the thread was in: the innermost call of the
 * runtime or driver, else the innermost operator. `name` LPO_NONE: in neither. */
struct critical_slice {
    int64_t start_ns, end_ns;
    uint32_t thread, call;
    bool in_call; /* the graph says that it is in a call, also where the source has no calls */
};

typedef void critical_frame_fn(void *ctx, const struct critical_slice *slice, int64_t start_ns,
                               int64_t end_ns, enum lpo_critical_part part, uint32_t name);

struct critical_sweep;

struct critical_sweep *lpo_critical_sweep_create(const struct lpo_trace *t, critical_frame_fn *each,
                                                 void *ctx);
void lpo_critical_sweep_destroy(struct critical_sweep *s);
/* Slices of a thread come in order of time, without overlap; another thread starts afresh. */
void lpo_critical_sweep_slice(struct critical_sweep *s, const struct critical_slice *slice);

/* Fills what the simulation gives: the time of the unchanged graph, and every saving. */
void lpo_critical_savings(struct critical_graph *g, struct lpo_critical_path *path);
