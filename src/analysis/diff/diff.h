/* SPDX-License-Identifier: Apache-2.0 */
/* analysis/diff/diff.h - what changed between two runs, or two sets of repeats, and is it real?
 *
 * Wall time. The wall time of a run is the span of its critical device, the one with the longest
 * span, because a program ends no sooner than that. Of several runs a side, the one whose wall time
 * is the median stands for the side (of an even number the shorter of the two in the middle). The
 * parts of the two spans are subtracted one by one, so the changes add up to the change of the wall
 * time exactly. Without a clock (ncu, sums) there is no wall time.
 *
 * Rows. Kernels are met by their name, else by their linker name, else by their short name and
 * class where only one row of each side has them; regions by folded path; operators by name and
 * input shapes. Of several runs a side, a row shows the median of its totals.
 *
 * Work. Everything that is judged is judged by unit of work: see work.c. Why it changed: see
 * causes.c.
 *
 * Is it real? See significance.h. With four runs or more in all, runs are compared; else the calls
 * of the first run of each side. The wall time is tested alone, all rows of all tables together
 * under Holm's rule. Together they raise a false alarm in at most 1 of 100 comparisons of equal
 * programs. A change below LPO_DIFF_LEAST of a row is never called one. A row that one side does
 * not have, or has more often in each step, differs in what the program does, not in how long it
 * took: that is no matter of chance. */
#pragma once

#include "analysis/diff/digest.h"
#include "analysis/diff/significance.h"

#define LPO_DIFF_LEAST       0.015 /* of a row, where calls of one run are compared */
#define LPO_DIFF_LEAST_COUNT 0.005 /* of how often something is called in a step */
#define LPO_DIFF_LEAST_RUNS  0.002 /* the same where runs are */
#define LPO_DIFF_SMALLEST                                                                          \
    0.0001 /* of all GPU time: an added or removed row below it is no news                         \
            */
#define LPO_DIFF_LEVEL_WALL  0.005
#define LPO_DIFF_LEVEL_CALLS 0.004 /* the same of one run a side: its calls may have outliers */
#define LPO_DIFF_LEVEL_UNITS 0.012
#define LPO_DIFF_LEVEL_ROWS  0.002
#define LPO_DIFF_LARGE       0.25 /* of a unit: beyond any noise that nobody measured */

enum lpo_diff_side { LPO_DIFF_A, LPO_DIFF_B, LPO_DIFF_SIDES };

/* Runs that are alike: repeats. */
struct lpo_diff_runs {
    struct lpo_diff_digest *const *at;
    size_t len;
};

enum lpo_diff_kind { LPO_DIFF_SAME, LPO_DIFF_CHANGED, LPO_DIFF_ADDED, LPO_DIFF_REMOVED };

const char *lpo_diff_kind_name(enum lpo_diff_kind kind); /* "same", "changed", … */

/* What a test looked at. */
enum lpo_diff_basis {
    LPO_DIFF_BY_NOTHING, /* there is nothing to compare */
    LPO_DIFF_BY_RUNS,
    LPO_DIFF_BY_STEPS,
    LPO_DIFF_BY_CALLS,
    LPO_DIFF_BY_COUNT, /* the program does something else: no test is needed */
};

const char *lpo_diff_basis_name(enum lpo_diff_basis basis); /* "runs", "steps", … */

struct lpo_diff_verdict {
    bool significant;
    enum lpo_diff_basis basis;
    double p;         /* before the correction for many rows; 1: not tested */
    double change;    /* of one call or step, b over a less 1 */
    double low, high; /* an interval of 99 % around it; NAN: not known */
    uint64_t n[LPO_DIFF_SIDES];
};

/* One side of a row. */
struct lpo_diff_amount {
    uint64_t count, launches; /* calls; kernels */
    int64_t ns, self_ns, host_ns;
    bool known; /* there, and with a time */
    bool there;
    double step_ns, step_count; /* of one step; of the whole where lengths are equal */
    double median_ns;           /* of one call; NAN: not known */
};

struct lpo_diff_row {
    const struct lpo_diff_item *item[LPO_DIFF_SIDES]; /* of a run that has it; NULL: none */
    const struct lpo_diff_item **in; /* of every run, those of A first; NULL: it has none */
    struct lpo_diff_amount amount[LPO_DIFF_SIDES];
    int64_t delta_ns;
    double delta_step_ns;
    enum lpo_diff_kind kind;
    struct lpo_diff_verdict verdict;
    uint32_t group;    /* row of groups, or UINT32_MAX */
    double grouped_ns; /* of the change in a unit, what its group explains */
};

typedef LPO_VEC(struct lpo_diff_row) lpo_diff_rows;

/* Kernels of one region that gave way to others: fused, split or replaced. */
struct lpo_diff_group {
    const char *region;                    /* the lowest that holds both */
    const char *op;                        /* in it, the operator that launches both; "" */
    LPO_VEC(uint32_t) gone, come;          /* rows of kernels */
    uint64_t gone_launches, come_launches; /* in one step, or in all where lengths are equal */
    int64_t gone_ns, come_ns;
    double wall_ns[LPO_DIFF_SIDES]; /* of a unit, what nothing else owns of it */
    bool fused;                     /* fewer launches than before */
};

/* Units that took far longer than the median one (work.c). */
struct lpo_diff_pauses {
    size_t count, of;
    double ns; /* beyond the median, all together */
};

/* What both sides did again and again (work.c). */
struct lpo_diff_work {
    enum lpo_diff_unit_kind kind;
    const char *name; /* of the range, region or kernel */
    bool inferred;    /* no range says what a step is */
    bool loose;       /* counted from launches that do not come at exactly one rate */
};

/* Why the time of a unit changed: what it goes to on each side. All of them add up to the change.
 */
enum lpo_diff_cause_kind {
    LPO_DIFF_CAUSE_KERNELS, /* some gave way to others */
    LPO_DIFF_CAUSE_KERNEL,  /* one takes more or less time, or is launched more or less often */
    LPO_DIFF_CAUSE_EXPOSED, /* a collective of which more or less is hidden */
    LPO_DIFF_CAUSE_COPY,
    LPO_DIFF_CAUSE_IDLE,   /* the GPU waits while the host is in something */
    LPO_DIFF_CAUSE_MEMORY, /* bytes at the peak, by owner */
    LPO_DIFF_CAUSE_REST,   /* all that is smaller */
    LPO_DIFF_CAUSES
};

const char *lpo_diff_cause_name(enum lpo_diff_cause_kind kind); /* "kernels", "idle", … */

struct lpo_diff_cause {
    enum lpo_diff_cause_kind kind;
    double value[LPO_DIFF_SIDES];     /* ns of the wall time of a unit; bytes */
    double busy[LPO_DIFF_SIDES];      /* kernels: their own time */
    double count[LPO_DIFF_SIDES];     /* launches; idle: how often */
    const char *name[LPO_DIFF_SIDES]; /* kernels as they are shown, a copy, what the host is in */
    const char *full[LPO_DIFF_SIDES]; /* whole names */
    const char *op, *region, *member; /* where; "": not known or everywhere */
    const char *python, *inner;       /* idle: the function around it; most of it is in */
    const char *late;                 /* exposed: the GPU that the others wait for; "" */
    uint32_t group, row;              /* of groups, of kernels; UINT32_MAX */
    bool waits;                       /* idle: the host waits in a call */
};

struct lpo_diff_wall {
    bool known;
    const struct lpo_diff_device *device[LPO_DIFF_SIDES];
    int64_t ns[LPO_DIFF_SIDES];
    int64_t parts[LPO_DIFF_PARTS];  /* b less a: they add up to ns[B] - ns[A] */
    double unit_ns[LPO_DIFF_SIDES]; /* of one unit of work */
    double sure_ns; /* per unit, the change without that of idle time, where chance explains it */
    struct lpo_diff_verdict verdict; /* low and high are those of a unit */
    bool unsure;    /* beyond the noise that is known, and too little to prove it */
    bool paused;    /* few units that took much longer make up the change */
    double visible; /* a smaller change would not show; 0: not known */
    double spread;  /* of the units of a side, the more restless one: a standard deviation, as a
                       share */
    struct lpo_diff_pauses pauses[LPO_DIFF_SIDES];
    /* GPU time of a step, of kernels that compute: a program that waits for its host hides slower
     * kernels in its idle time. Collectives wait for each other, and are left out. */
    double compute_ns[LPO_DIFF_SIDES];
    struct lpo_diff_verdict compute;
};

/* One thing that differs between the sides. */
struct lpo_diff_difference {
    const char *key; /* "gpu", "config.infer.batch_size" */
    const char *a, *b;
    bool fatal; /* nothing is common: numbers mean nothing then */
    bool work;  /* the machine or the work is another: said first */
};

/* Tokens, requests, bytes per second and the like. */
bool lpo_diff_more_is_better(const char *key);

struct lpo_diff_figure_row {
    const char *key;
    double value[LPO_DIFF_SIDES]; /* medians; NAN: not known */
    bool more_is_better;
    struct lpo_diff_verdict verdict;
};

/* A counter, or the distance from a limit, that both sides have. */
struct lpo_diff_measure_row {
    const struct lpo_diff_measure *side[LPO_DIFF_SIDES];
    const char *path;
    double weight; /* GPU time of the region, the larger side */
};

struct lpo_diff_finding_row {
    const struct lpo_diff_finding *side[LPO_DIFF_SIDES]; /* NULL: not there */
};

struct lpo_diff {
    struct lpo_arena *arena;
    struct lpo_diff_runs side[LPO_DIFF_SIDES];           /* borrowed */
    const struct lpo_diff_digest *shown[LPO_DIFF_SIDES]; /* the run that stands for its side */
    bool comparable;
    LPO_VEC(struct lpo_diff_difference) differences; /* fatal ones first */
    bool by_host;                  /* no GPU time on either side: rows have host times */
    const char *unit;              /* of lengths: "step"; NULL: they are equal or not known */
    double length[LPO_DIFF_SIDES]; /* steps; 1 where unit is NULL */
    struct lpo_diff_work work;
    double *lengths;                       /* units of each run, those of A first */
    const struct lpo_diff_series **series; /* of each run; NULL: none */
    double units[LPO_DIFF_SIDES];          /* of the runs that stand for their sides */
    LPO_VEC(struct lpo_diff_cause) causes; /* largest change first, REST last */
    struct lpo_diff_wall wall;
    lpo_diff_rows rows[LPO_DIFF_TABLES];   /* largest change first */
    LPO_VEC(struct lpo_diff_group) groups; /* largest first */
    LPO_VEC(struct lpo_diff_figure_row) figures;
    LPO_VEC(struct lpo_diff_measure_row) measures; /* most expensive regions first */
    LPO_VEC(struct lpo_diff_finding_row) findings; /* new and gone ones first */
};

/* Borrows the digests, which must outlive it. Each side has at least one. */
struct lpo_diff *lpo_diff_create(struct lpo_diff_runs a, struct lpo_diff_runs b);
void lpo_diff_destroy(struct lpo_diff *d); /* NULL is fine */
LPO_AUTO_DEFINE(lpo_diff);

/* Of two memory snapshots, which have no times: the peak; NULL: they are none. */
const struct lpo_diff_figure_row *lpo_diff_peak(const struct lpo_diff *d);

/* The smallest change of a row, as a share, that may be called real: LPO_DIFF_LEAST, or
 * LPO_DIFF_LEAST_RUNS with four runs or more in all. */
double lpo_diff_least(const struct lpo_diff *d);

/* By how much the wall time of a unit grew at least, 0.03 for 3 %: the better end of the interval;
 * where units are too few for one, the change itself, if it is beyond the noise; else 0. */
double lpo_diff_wall_regression(const struct lpo_diff *d);
/* The same of the GPU time of kernels that compute; 0 where the wall time fell beyond chance: more
 * may run at once then, and each kernel take longer. */
double lpo_diff_compute_regression(const struct lpo_diff *d);
/* The larger of the two. */
double lpo_diff_regression(const struct lpo_diff *d);
