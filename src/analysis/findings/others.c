/* SPDX-License-Identifier: Apache-2.0 */
/* The same finding on other devices: the rules run again with each of them in the place of the
 * critical one. What they could save there is evidence. The program ends with its last GPU, so it
 * is never added. There may be hundreds: with `other` set, a rule looks only at what belongs to its
 * device. */
#include "analysis/findings/private.h"

static double fact_of(const struct lpo_finding *f, enum lpo_fact fact)
{
    for (size_t i = 0; i < f->nevidence; i++)
        if (f->evidence[i].fact == fact)
            return f->evidence[i].value;
    return -1;
}

static bool is_same(const struct lpo_finding *a, const struct lpo_finding *b)
{
    if (a->kind != b->kind || a->name != b->name)
        return false;
    return a->kind == LPO_FINDING_ROOF
               ? a->node == b->node
               : fact_of(a, LPO_FACT_LIMITER) == fact_of(b, LPO_FACT_LIMITER);
}

static void note(struct lpo_findings *out, const struct lpo_findings *there)
{
    for (size_t i = 0; i < out->all.len; i++)
        for (size_t k = 0; k < there->all.len; k++)
            if (is_same(&out->all.at[i], &there->all.at[k]))
                lpo_vec_push(
                    &out->all.at[i].others,
                    ((struct lpo_finding_other){ there->all.at[k].saving_ns, there->device }));
}

static void look_at(const struct lpo_findings_work *w, const struct lpo_wall_device *d,
                    lpo_findings_rule *const *found, size_t count)
{
    struct lpo_findings there = { .any_device = true, .device = d->device, .span_ns = d->span_ns };
    struct lpo_findings_work other = *w;

    other.critical = d;
    other.out = &there;
    other.other = true;
    other.waits_for_rank_ns = 0;
    for (size_t i = 0; i < w->out->first.len; i++) {
        struct lpo_first_call first = w->out->first.at[i];

        first.idle_ns = 0;
        lpo_vec_push(&there.first, first);
    }
    other.slack = (struct lpo_findings_slack){ 0 };
    lpo_findings_slack_find(&other);
    for (size_t i = 0; i < count; i++)
        found[i](&other);
    note(w->out, &there);
    lpo_findings_slack_free(&other.slack);
    lpo_vec_free(&there.all);
    lpo_vec_free(&there.first);
}

static void add_facts(struct lpo_finding *f)
{
    int64_t least = INT64_MAX, most = 0;

    for (size_t i = 0; i < f->others.len; i++) {
        int64_t ns = f->others.at[i].saving_ns;

        least = ns < least ? ns : least;
        most = ns > most ? ns : most;
    }
    if (!f->others.len)
        return;
    lpo_findings_fact(f, LPO_FACT_OTHER_GPUS, (double)f->others.len);
    if (f->others.len == 1) {
        lpo_findings_fact(f, LPO_FACT_OTHER_NS, (double)most);
        return;
    }
    lpo_findings_fact(f, LPO_FACT_OTHER_MIN_NS, (double)least);
    lpo_findings_fact(f, LPO_FACT_OTHER_MAX_NS, (double)most);
}

void lpo_findings_others(struct lpo_findings_work *w, lpo_findings_rule *const *found, size_t count)
{
    for (size_t i = 1; i < w->wall->devices.len && count; i++) /* row 0 is the critical one */
        look_at(w, &w->wall->devices.at[i], found, count);
    for (size_t i = 0; i < w->out->all.len; i++)
        add_facts(&w->out->all.at[i]);
}
