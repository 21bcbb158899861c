/* SPDX-License-Identifier: Apache-2.0 */
#include "gpu/sampler/budget.h"

enum { ROUNDS = 8 }; /* one late or large round must not decide */

static const int64_t look_ns = 1000000000;
static const int64_t longest_interval_ns = (int64_t)LPO_SAMPLER_LONGEST_INTERVAL_MS * 1000000;
static const int64_t longest_round_ns = (int64_t)LPO_SAMPLER_LONGEST_ROUND_MS * 1000000;

/* One that the user made longer than the longest stays. */
static bool doubled(int64_t *ns, int64_t longest)
{
    if (*ns >= longest)
        return false;
    *ns = *ns * 2 < longest ? *ns * 2 : longest;
    return true;
}

bool lpo_sampler_pace_lengthen(struct lpo_sampler_pace *p, double share, double core)
{
    bool any = false;

    while (share > core) {
        bool interval = doubled(&p->interval_ns, longest_interval_ns);
        bool round = doubled(&p->round_ns, longest_round_ns);

        if (!interval && !round)
            break;
        any = true;
        share /= 2;
    }
    return any;
}

void lpo_sampler_budget_restart(struct lpo_sampler_budget *b)
{
    b->rounds = 0;
}

enum lpo_sampler_verdict lpo_sampler_budget_round(struct lpo_sampler_budget *b, int64_t wall_ns,
                                                  int64_t cpu_ns)
{
    int64_t passed = wall_ns - b->from_wall_ns;

    if (b->core <= 0 || b->exhausted)
        return LPO_SAMPLER_GOES_ON;
    if (b->rounds++ == 0) {
        b->from_wall_ns = wall_ns;
        b->from_cpu_ns = cpu_ns;
        return LPO_SAMPLER_GOES_ON;
    }
    if (b->rounds <= ROUNDS || passed < look_ns)
        return LPO_SAMPLER_GOES_ON;
    b->share = (double)(cpu_ns - b->from_cpu_ns) / (double)passed;
    b->from_wall_ns = wall_ns;
    b->from_cpu_ns = cpu_ns;
    b->rounds = 1;
    if (b->share <= b->core)
        return LPO_SAMPLER_GOES_ON;
    if (lpo_sampler_pace_lengthen(&b->pace, b->share, b->core))
        return LPO_SAMPLER_LENGTHENED;
    b->exhausted = true;
    return LPO_SAMPLER_EXHAUSTED;
}

/* Measured on an H200 with CUPTI 13.0 and images of 250 to 1,250 samples (tests/gpu/counters.sh
 * probe): 6.7 us for a sample of 1.6 KB, 44 us for one of 17.9 KB. */
static const double fixed_ns = 3100, per_byte_ns = 2.28;
static const double round_cost_ns =
    1.2e6;                            /* of a round of decoding, whatever it brings; the same */
static const double affordable = 0.5; /* of one core: the rest is for slower ones and for bursts */
static const int64_t intervals_ns[] = { 50000, 100000, 200000, 500000, 1000000 };

enum { NINTERVALS = sizeof intervals_ns / sizeof *intervals_ns };

static double cost_ns(size_t bytes)
{
    return fixed_ns + per_byte_ns * (double)bytes;
}

double lpo_sampler_cost_rounds(int64_t round_ns)
{
    return round_ns > 0 ? round_cost_ns / (double)round_ns : 0;
}

static double share(const struct lpo_sampler_offer *o, size_t metrics, int64_t interval_ns)
{
    size_t bytes = o->bytes[metrics - 1];

    return bytes ? cost_ns(bytes) / (double)interval_ns : 0;
}

/* The shortest interval that so many metrics can have. */
static int64_t shortest(const struct lpo_sampler_offer *o, size_t metrics)
{
    for (int i = 0; i < NINTERVALS; i++) {
        /* where nobody knows what a sample costs, the careful choice */
        int64_t least = o->bytes[metrics - 1] ? o->least_ns : 100000;

        if (intervals_ns[i] >= least && intervals_ns[i] >= o->least_ns &&
            share(o, metrics, intervals_ns[i]) <= affordable)
            return intervals_ns[i];
    }
    return intervals_ns[NINTERVALS - 1];
}

void lpo_sampler_cost_settle(const struct lpo_sampler_offer *o, struct lpo_sampler_deal *out)
{
    size_t core = o->core && o->core < o->metrics ? o->core : o->metrics;
    size_t n = o->fixed ? o->metrics : core;

    out->interval_ns = o->interval_ns ? o->interval_ns : shortest(o, n);
    if (!o->fixed) {
        while (n > 1 && share(o, n, out->interval_ns) > affordable)
            n--;
        while (n >= core && n < o->metrics && o->bytes[n] &&
               share(o, n + 1, out->interval_ns) <= affordable)
            n++;
    }
    out->metrics = n;
    out->share = share(o, n, out->interval_ns);
}
