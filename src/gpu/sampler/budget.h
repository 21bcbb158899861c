/* SPDX-License-Identifier: Apache-2.0 */
/* gpu/sampler/budget.h - the share of one core that sampling may take, and what gives way for it.
 *
 * What a sample costs is known only once samples were decoded: the sampler's CPU time is set
 * against the time that passed, over some rounds. Where it is more than the share, the interval
 * and the rounds become twice as long, and so on until it fits. They become longer together: a
 * round then has as many samples as before, and CUPTI's image of them needs no more room. They
 * never become shorter again. */
#pragma once

#include "util/base.h"

/* How often is sampled, and how often samples are decoded. */
struct lpo_sampler_pace {
    int64_t interval_ns, round_ns;
};

enum {
    LPO_SAMPLER_LONGEST_INTERVAL_MS = 10,
    LPO_SAMPLER_LONGEST_ROUND_MS = 500,
};

/* Doubles both until `share` of a core, halved each time, is at most `core`: less cannot be enough,
 * because a part of the cost does not follow the pace. False: nothing is left to lengthen. */
bool lpo_sampler_pace_lengthen(struct lpo_sampler_pace *p, double share, double core);

struct lpo_sampler_budget {
    double core; /* 0: no limit */
    struct lpo_sampler_pace pace;
    /* the rounds that are looked at together */
    int64_t from_wall_ns, from_cpu_ns;
    unsigned rounds;
    double share;   /* of the last rounds that were looked at */
    bool exhausted; /* it takes more than `core` at the longest pace, too */
};

enum lpo_sampler_verdict {
    LPO_SAMPLER_GOES_ON,
    LPO_SAMPLER_LENGTHENED, /* `pace` is another one */
    LPO_SAMPLER_EXHAUSTED,  /* said once: it costs more than it may, and no pace is left */
};

/* After a round, with both clocks; the first after a start only begins to look. */
enum lpo_sampler_verdict lpo_sampler_budget_round(struct lpo_sampler_budget *b, int64_t wall_ns,
                                                  int64_t cpu_ns);
/* Sampling started again: what that cost is not the cost of samples. */
void lpo_sampler_budget_restart(struct lpo_sampler_budget *b);

/* What a sample costs the sampler, and what it can therefore afford.
 *
 * CUPTI keeps every raw counter of every unit of a sample (an SM, a slice of L2), and decodes and
 * sums them on the CPU: on a large GPU that is tens of microseconds a sample. A sampler that takes
 * longer for a sample than the interval falls behind, and the hardware's buffer overflows. So the
 * interval and the metrics are chosen together, before the start. */
struct lpo_sampler_offer {
    const size_t *bytes; /* by number of metrics - 1: of a sample with so many; 0: unknown */
    size_t metrics;      /* in order of worth; at least 1 */
    size_t core;         /* how many of them matter most */
    int64_t interval_ns; /* as asked for; 0: to be chosen */
    int64_t least_ns;    /* of a chosen one */
    int fixed;           /* the user named the metrics: none may be dropped */
};

struct lpo_sampler_deal {
    int64_t interval_ns;
    size_t metrics;
    double share; /* of one core, estimated; 0: unknown */
};

/* The share of a core that rounds of decoding take beside their samples, by their length. */
double lpo_sampler_cost_rounds(int64_t round_ns);
void lpo_sampler_cost_settle(const struct lpo_sampler_offer *o, struct lpo_sampler_deal *out);
