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
