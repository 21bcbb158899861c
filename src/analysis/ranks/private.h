/* SPDX-License-Identifier: Apache-2.0 */
/* analysis/ranks/private.h - what the files of this folder share. */
#pragma once

#include "analysis/ranks/ranks.h"
#include "trace/trace.h"

/* One collective kernel. */
struct ranks_event {
    int64_t start_ns, end_ns; /* on the clock of its rank */
    int64_t number;           /* in its group; LPO_NO_TIME: not said */
    uint32_t op;              /* row of gpu_ops */
    uint32_t instance;        /* LPO_NONE: no counterpart */
};

typedef LPO_VEC(struct ranks_event) ranks_events;

/* Collectives of one group, kind, type and size on one rank, in the order of their ends. */
struct ranks_series {
    uint32_t rank; /* into rows */
    ranks_events events;
};

/* All are numbered, and in their order: equal numbers are one collective. */
static inline bool lpo_ranks_numbered(const ranks_events *e)
{
    for (size_t i = 0; i < e->len; i++)
        if (e->at[i].number == LPO_NO_TIME || (i && e->at[i].number <= e->at[i - 1].number))
            return false;
    return e->len > 0;
}

/* The same on all ranks that have them. */
struct ranks_family {
    const char *kind; /* static */
    bool together;    /* all ranks take part, so it ends everywhere at the same moment */
    bool guessed;     /* the framework said nothing: by the names of kernel and range, and stream */
    struct lpo_measure bytes;
    uint32_t group_ranks;                /* 0: not said */
    LPO_VEC(struct ranks_series) series; /* by rank */
    uint32_t first_instance, instances;  /* one for each event of series[0] */
};

typedef LPO_VEC(struct ranks_family) ranks_families;

struct ranks_kept {
    ranks_families families;
    uint32_t instances;
};

/* match.c: the collectives of the trace; rows get a rank each. */
void lpo_ranks_families(const struct lpo_region_tree *tree, struct lpo_ranks *r,
                        ranks_families *out);
void lpo_ranks_families_free(ranks_families *f);

typedef LPO_VEC(int64_t) ranks_numbers;

/* lines.c: the difference of two clocks over time, `difference - drift * (at - middle)`. */
struct ranks_line {
    int64_t offset_ns, middle_ns;
    double drift;
    int64_t error_ns; /* the median distance from it */
};

/* `at` are moments in order, of the clock that the line belongs to; as many as there are
 * differences. */
struct ranks_line lpo_ranks_line_fit(const ranks_numbers *at, const ranks_numbers *differences);
static inline int64_t lpo_ranks_line_at(const struct ranks_line *l, int64_t ns)
{
    return l->offset_ns + (l->drift != 0 ? (int64_t)(l->drift * (double)(ns - l->middle_ns)) : 0);
}

enum {
    RANKS_AGREE_NS = 100000, /* ends of one collective lie closer than that */
    RANKS_SURE_NS = 5000     /* closer than that, their order is not doubted */
};

/* The same collectives on two ranks. */
struct ranks_pair {
    const ranks_events *a, *b;
};

typedef LPO_VEC(struct ranks_pair) ranks_pairs;

/* offsets.c: the difference that explains best what two ranks did together, of the clock of `b`;
 * `found` gets the number of ends that it was found by. Sorts the pairs. */
struct ranks_line lpo_ranks_line_find(ranks_pairs *pairs, size_t *found);
/* Pairs each end of `b` with the nearest of `a`, at most `tolerance_ns` away once the line is taken
 * off. `pair` gets the row of `a`, LPO_NONE for none. */
void lpo_ranks_nearest(const ranks_events *a, const ranks_events *b, const struct ranks_line *line,
                       int64_t tolerance_ns, uint32_t *pair);

/* The same by equal numbers; both must be numbered. The number of pairs. */
size_t lpo_ranks_same_number(const ranks_events *a, const ranks_events *b, uint32_t *pair);

/* groups.c: those of which nothing is said, by groups whose ends fit each other. */
void lpo_ranks_split_guessed(ranks_families *families);

/* clocks.c: offsets of the rows, then the instances of the events. The number of instances. */
uint32_t lpo_ranks_align(struct lpo_ranks *r, ranks_families *families);
/* One collective, on the clock of the first rank. */
struct ranks_meeting {
    int64_t first_ns, second_ns, last_ns; /* arrivals; second: to last */
    int64_t end_ns;                       /* the last one */
    uint32_t count, last_rank;            /* ranks; the row of the last */
    bool complete;                        /* all ranks of its group were recorded, and all wait */
};

/* arrivals.c: who waits for whom. */
void lpo_ranks_arrivals(const struct lpo_region_tree *tree, struct lpo_ranks *r,
                        const ranks_families *families, uint32_t instances);

/* The time by which the last one is late; 0: not beyond the error of the clocks. */
int64_t lpo_ranks_lateness(const struct lpo_ranks *r, const struct ranks_meeting *m);
/* How long the rank, a row, waited in its event. */
int64_t lpo_ranks_waiting(const struct lpo_ranks *r, const struct ranks_meeting *m, uint32_t rank,
                          const struct ranks_event *e);
/* exposed.c: the times of the rows in which only that was done, and r->late. */
void lpo_ranks_exposed(const struct lpo_region_tree *tree, struct lpo_ranks *r,
                       const ranks_families *families, const struct ranks_meeting *meetings,
                       uint32_t instances);

/* bubbles.c: of the ranks that send and receive; `rows` and `places` are of each step. */
struct lpo_program_steps;
struct lpo_ranks_steps;
void lpo_ranks_bubbles_add(const struct lpo_region_tree *tree, const struct lpo_program_steps *in,
                           const struct lpo_ranks *clocks, const uint32_t *rows,
                           const uint32_t *places, struct lpo_ranks_steps *out);

int64_t lpo_ranks_median(int64_t *values, size_t count); /* sorts; 0 of none */
