/* SPDX-License-Identifier: Apache-2.0 */
/* analysis/findings/private.h - what the rules share. A rule is a function of one file; findings.c
 * has the table. */
#pragma once

#include "analysis/critical/critical.h"
#include "analysis/findings/findings.h"
#include "analysis/wall/new_kernels.h"
#include "analysis/wall/wall.h"
#include "trace/trace.h"

struct lpo_region_tree;
struct lpo_wall_order;

/* A finding or caution needs this share of the span. */
#define LPO_FINDINGS_LEAST 0.02

/* A kernel shorter than this is mostly launch and drain: how its blocks fill the GPU says little.
 */
enum { LPO_FINDINGS_SHORT_KERNEL_NS = 10000 };

/* Operations of the critical device in order of their starts. Of each kernel that computes: the
 * time by which the program would end sooner if it took no time at all, less what findings have
 * claimed of it. */
struct lpo_findings_slack {
    const uint32_t *rows; /* of gpu_ops, by start; borrowed from the order */
    int64_t *ns;
    uint32_t *by_stream; /* entries of both, stream after stream, in order of time within each */
    size_t count;
    int64_t most_ns; /* of all of them: less than their sum where the program waits for its host */
    int64_t claimed_ns;
    int64_t *less_ns; /* per row of gpu_ops: what findings claimed; NULL: no simulation is needed */
};

/* A gap of a device, and the finding that it belongs to. A trace may have millions, so
 * what the operation says (when the gap ended, who launched) is not kept here. */
struct lpo_findings_gap {
    int64_t ns;
    int64_t counted_ns; /* of it: what the finding counts */
    uint32_t op;        /* that ends it, with its start: row of gpu_ops */
    bool launched;      /* that one had been launched before the host was blocked */
    union {
        uint32_t blocked_in; /* until a finding is chosen: name of the call, LPO_NONE: none */
        uint32_t bucket;     /* from then on */
    };
};

typedef LPO_VEC(struct lpo_findings_gap) lpo_findings_gaps;

struct lpo_findings_work {
    const struct lpo_rundir *d;
    const struct lpo_source *s;
    const struct lpo_analysis *a;
    const struct lpo_trace *trace;
    const struct lpo_wall *wall;            /* of the steady part */
    const struct lpo_wall_device *critical; /* row of wall */
    const bool *aside;                      /* per place: what was set aside; NULL: nothing */
    const struct lpo_wall_order *order;
    const lpo_findings_gaps *gaps;    /* of all devices, in order of devices, then of time */
    const lpo_wall_rows *new_kernels; /* of all devices: what ends gaps of first launches */
    struct lpo_critical_simulator **simulator; /* NULL until the first device needs it */
    struct lpo_findings_slack slack;           /* of the critical device */
    struct lpo_findings *out;
    int64_t waits_for_rank_ns; /* of exposed communication: counted by slow-rank */
    /* Another device takes the place of the critical one: only kinds and savings are asked for. */
    bool other;
};

typedef void lpo_findings_rule(struct lpo_findings_work *w);

lpo_findings_rule lpo_findings_idle, lpo_findings_communication, lpo_findings_copies,
    lpo_findings_recomputation, lpo_findings_tail, lpo_findings_occupancy, lpo_findings_attention,
    lpo_findings_small_kernels, lpo_findings_unfused, lpo_findings_roof, lpo_findings_throttling,
    lpo_findings_slow_rank, lpo_findings_cautions;

/* The finding, to add evidence to; NULL where the saving is under LPO_FINDINGS_LEAST. */
struct lpo_finding *lpo_findings_add(struct lpo_findings_work *w, enum lpo_finding_kind kind,
                                     int64_t saving_ns);
/* The operations of the critical device: entries [from, to) of the order. */
void lpo_findings_device_rows(const struct lpo_findings_work *w, size_t *from, size_t *to);
void lpo_findings_slack_find(struct lpo_findings_work *w);
/* Before anything else needs memory: works the critical path out where it will be asked for. */
void lpo_findings_simulate(const struct lpo_findings_work *w);
/* `ns`, or what the program would end sooner without that part where it is clearly less, because it
 * waits for its host. */
int64_t lpo_findings_simulated(const struct lpo_findings_work *w, enum lpo_critical_part part,
                               int64_t ns);
/* What the program would end sooner by, with operations that take less: a number for each row of
 * gpu_ops. Only where the simulation above said less than was asked for. */
int64_t lpo_findings_simulated_shorter(const struct lpo_findings_work *w, const int64_t *less_ns);
void lpo_findings_slack_free(struct lpo_findings_slack *s);

/* The same of kernels that could be shorter: of each row of w->slack at most `want` of it, and only
 * what no finding has claimed before. So the rules that come first have the clearer advice. */
struct lpo_finding *lpo_findings_claim(struct lpo_findings_work *w, enum lpo_finding_kind kind,
                                       const int64_t *want);
/* What to claim: zero for each row of w->slack. The caller frees it. */
int64_t *lpo_findings_wants(const struct lpo_findings_work *w);
static inline bool lpo_findings_same_stream(const struct lpo_gpu_op *a, const struct lpo_gpu_op *b)
{
    return a->process == b->process && a->stream == b->stream;
}
/* `share` of what is left of a row; what rounding leaves is carried on to the next row. */
static inline void lpo_findings_want(const struct lpo_findings_slack *s, int64_t *want, size_t row,
                                     double share, double *carry)
{
    double exact = (double)s->ns[row] * share + *carry;

    want[row] = (int64_t)exact;
    *carry = exact - (double)want[row];
}
/* The same of the compute time as a whole: what no finding has claimed of it. */
struct lpo_finding *lpo_findings_claim_compute(struct lpo_findings_work *w,
                                               enum lpo_finding_kind kind, int64_t saving_ns);
/* Looks on the other devices for the findings of the critical one that the rules in `found` made.
 */
void lpo_findings_others(struct lpo_findings_work *w, lpo_findings_rule *const *found,
                         size_t count);
/* Says that torch.compile is used already, or that graphs were compiled and nothing was fused,
 * where names of the trace show it. */
void lpo_findings_add_compiled(const struct lpo_trace *t, struct lpo_finding *f);
/* Adds to a caution which operators or kernels lie outside every region, as shares of `all_ns`. */
void lpo_findings_name_outside(const struct lpo_findings_work *w, struct lpo_caution *c,
                               int64_t all_ns);
/* The innermost region with more than half of `whole`, or LPO_NONE. `sums` is the time of each node
 * by itself, and is used up. */
uint32_t lpo_findings_main_region(const struct lpo_region_tree *tree, int64_t *sums, int64_t whole);
void lpo_findings_fact(struct lpo_finding *f, enum lpo_fact fact, double value);
void lpo_findings_fact_name(struct lpo_finding *f, enum lpo_fact fact, double value, uint32_t name);

/* In the order of LPO_FACT_BYTES_TO_DEVICE and what follows it. */
enum lpo_findings_direction { LPO_TO_DEVICE, LPO_TO_HOST, LPO_ON_DEVICE };

/* Of a copy, by its name. */
enum lpo_findings_direction lpo_findings_direction(const char *name);

static inline int64_t lpo_findings_gap_start(const struct lpo_trace *t,
                                             const struct lpo_findings_gap *g)
{
    return t->gpu_ops.at[g->op].start_ns - g->ns;
}

/* On the clock of a device. */
struct lpo_findings_stretch {
    int64_t start_ns, end_ns;
};

/* Many small collectives of the critical device, one after another. */
struct lpo_findings_messages {
    LPO_VEC(struct lpo_findings_stretch) rows; /* from the first to the last of each row */
    uint64_t count;                            /* of collectives; 0: there are none */
    int64_t rows_ns;
    double in_step;             /* 0: not known */
    double half_ns, half_bytes; /* half of them have no more; bytes: -1: not known */
};

void lpo_findings_messages_find(const struct lpo_findings_work *w,
                                struct lpo_findings_messages *out);
/* Does one row last from `start_ns` to `end_ns`? */
bool lpo_findings_messages_around(const struct lpo_findings_messages *m, int64_t start_ns,
                                  int64_t end_ns);
void lpo_findings_messages_facts(const struct lpo_findings_messages *m, struct lpo_finding *f);
void lpo_findings_messages_free(struct lpo_findings_messages *m);

/* `ns`: the part of the gap that lies in it. */
typedef void lpo_findings_frame_fn(void *ctx, const struct lpo_findings_gap *g, uint32_t name,
                                   int64_t ns);

/* Puts gaps that are in order of time by the thread that launched what ended them; within a thread
 * they stay in order. */
void lpo_findings_gaps_by_thread(const struct lpo_trace *t, lpo_findings_gaps *gaps);
/* Calls `found` for each gap that an operator (a Python function) covers by half, with the name of
 * the innermost. The gaps are by thread. */
void lpo_findings_host_frames(const struct lpo_trace *t, const lpo_findings_gaps *gaps, bool python,
                              lpo_findings_frame_fn *found, void *ctx);

/* Copies between the critical device and host memory that is not pinned. */
struct lpo_findings_pinned {
    int64_t pageable_ns; /* of them, what nothing covered */
    int64_t saving_ns;   /* of that, what pinned memory would save */
    double rate;         /* bytes a second with pinned memory; 0: not known, and so is the saving */
    bool from_trace;     /* the rate is that of pinned copies in this trace, else a usual one */
};

void lpo_findings_pinned(const struct lpo_findings_work *w, struct lpo_findings_pinned *out);
