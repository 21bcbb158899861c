/* SPDX-License-Identifier: Apache-2.0 */
/* analysis/critical/private.h - the graph of one process, and who does what with it.
 *
 * host.c finds the calls, graph.c the operations and all edges, waits.c those that the source has,
 * simulate.c runs it, walk.c follows the critical edges back, frames.c says what the host did
 * meanwhile, savings.c what a change would save; critical.c puts it together. */
#pragma once

#include "analysis/critical/critical.h"
#include "region/thread_rows.h"
#include "trace/trace.h"

struct lpo_region_tree;

/* A call of the host that launches or waits. */
struct critical_call {
    int64_t start_ns, end_ns;
    uint32_t before; /* call that must have returned: of the thread, or of one that handed over */
    uint32_t waits;  /* operation that it waits for; LPO_NONE */
    uint32_t launch; /* row of launches; LPO_NONE: it only waits */
    uint32_t thread;
};

/* A GPU operation. Edges are numbers of operations and calls of this graph; LPO_NONE: none. */
struct critical_op {
    uint32_t row;    /* of gpu_ops */
    uint32_t before; /* on its stream */
    uint32_t other;  /* on another stream */
    uint32_t call;   /* its launch */
};

enum critical_edge { CRITICAL_NO_EDGE, CRITICAL_BEFORE, CRITICAL_OTHER, CRITICAL_LAUNCH };

/* One entry of the order in which points are worked out: kind above, number below. */
enum { CRITICAL_RETURN, CRITICAL_CALL, CRITICAL_OP, CRITICAL_KIND_SHIFT = 30 };

struct critical_graph {
    const struct lpo_region_tree *tree;
    const struct lpo_trace *t;
    LPO_VEC(struct critical_call) calls; /* by thread, then time */
    LPO_VEC(struct critical_op) ops;     /* by start */
    uint32_t *order;                     /* every call, every op, every return that waits */
    size_t norder;
    int64_t start_ns, end_ns;
    int64_t usual_launch_ns, usual_gap_ns;
    uint64_t recorded_waits, inferred_waits, handovers, without_launch;
};

/* Rows of one process, by time. */
struct critical_input {
    const struct lpo_region_tree *tree;
    uint16_t process;
    const uint32_t *op_rows; /* by start */
    size_t nops;
    /* by thread and start: launches; calls that wait; operators and all calls, outer ones
     * first */
    const struct lpo_group *launches, *waits, *ops, *calls;
    uint32_t *call_of; /* room for one number per launch */
};

/* The same for the whole trace (rows.c). */
struct critical_rows {
    struct lpo_group gpu_ops; /* by process */
    struct lpo_group launches, waits, ops, calls;
    uint32_t *call_of;
};

void lpo_critical_rows_find(struct critical_rows *r, const struct lpo_trace *t);
void lpo_critical_rows_free(struct critical_rows *r);

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

/* From when on a launch lets its work start: its return, where that came first. */
static inline int64_t lpo_critical_launch_ns(const struct critical_call *c, int64_t start_ns)
{
    return c->waits == LPO_NONE && c->end_ns <= start_ns ? c->end_ns : c->start_ns;
}

/* Did the work start long after its launch had begun, and before that returned? */
static inline bool lpo_critical_in_launch(const struct critical_call *c, int64_t start_ns)
{
    return start_ns < c->end_ns && start_ns - c->start_ns >= LPO_CRITICAL_UNEXPLAINED_NS;
}

/* The critical edge into an operation, and the moment from which its lag counts. */
enum critical_edge lpo_critical_edge(const struct critical_graph *g, const struct critical_op *op,
                                     int64_t *from_ns);

/* A change: times of what it names are multiplied by `keep`. */
struct critical_change {
    double keep;
    bool parts[LPO_PATH_PARTS];
    uint32_t name;      /* of GPU operations; LPO_NONE: none */
    const bool *places; /* per place of the tree: launches there; NULL: none */
    /* Two numbers per call: ns of the host before it and inside it. NULL: none. */
    const int64_t *named;    /* under one name */
    const int64_t *in_calls; /* in calls of the runtime and driver */
};

struct critical_times {
    int64_t *op_end, *call_start, *call_end;
};

struct critical_times lpo_critical_times_create(const struct critical_graph *g);
void lpo_critical_times_free(struct critical_times *s);
/* The end of all under a change (NULL: none), from the start of the graph. */
int64_t lpo_critical_simulate(const struct critical_graph *g, const struct critical_change *change,
                              struct critical_times *room);

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

struct critical_sweep *lpo_critical_sweep_create(const struct critical_input *in,
                                                 critical_frame_fn *each, void *ctx);
void lpo_critical_sweep_destroy(struct critical_sweep *s);
/* Slices come by thread, then time, without overlap. */
void lpo_critical_sweep_slice(struct critical_sweep *s, const struct critical_slice *slice);

/* Fills every saving of the path. */
void lpo_critical_savings(const struct critical_graph *g, const struct critical_input *in,
                          struct lpo_critical_path *path, struct critical_times *room);
