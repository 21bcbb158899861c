/* SPDX-License-Identifier: Apache-2.0 */
/* What other ranks cost: the collectives of this one would be shorter without it. */

#include "analysis/analysis.h"
#include "analysis/ladder/private.h"
#include "analysis/ranks/causes.h"

static const enum lpo_rung_kind kinds[] = {
    [LPO_RANK_CAUSE_COMPUTE] = LPO_RUNG_RANK,        [LPO_RANK_CAUSE_EXPERTS] = LPO_RUNG_EXPERTS,
    [LPO_RANK_CAUSE_HOST] = LPO_RUNG_RANK_HOST,      [LPO_RANK_CAUSE_PAUSE] = LPO_RUNG_RANK_PAUSE,
    [LPO_RANK_CAUSE_LINK] = LPO_RUNG_LINK,           [LPO_RANK_CAUSE_BUBBLES] = LPO_RUNG_BUBBLES,
    [LPO_RANK_CAUSE_UNEVEN] = LPO_RUNG_RANKS_UNEVEN,
};

/* Steps of this process in which a stretch of the other rank was longer. */
static uint64_t count_steps(const struct ladder_work *w, const struct lpo_rank_cause *c)
{
    uint32_t before = LPO_NONE;
    uint64_t n = 0;

    for (size_t i = 0; i < c->times.len; i++) {
        uint32_t step = lpo_ladder_step_at(w, c->times.at[i]);

        n += step != LPO_NONE && step != before;
        before = step;
    }
    return n;
}

static void add_facts(const struct ladder_work *w, const struct lpo_rank_cause *c,
                      struct lpo_rung *r)
{
    uint64_t steps = count_steps(w, c);

    lpo_ladder_fact(r, LPO_FACT_RANK, LPO_NONE, c->rank, (double)c->own_ns, (double)c->usual_ns);
    if (c->kind == LPO_RANK_CAUSE_LINK) {
        r->nevidence = 0;
        lpo_ladder_fact(r, LPO_FACT_GROUP, c->name, c->rank, c->ranks, 0);
        lpo_ladder_fact(r, LPO_FACT_LINK, LPO_NONE, c->bytes.value, (double)c->own_ns,
                        (double)c->usual_ns);
    } else if (c->kind == LPO_RANK_CAUSE_BUBBLES) {
        r->nevidence = 0;
        lpo_ladder_fact(r, LPO_FACT_BUBBLES, LPO_NONE, (double)c->own_ns, 0, 0);
    } else if (c->rank < 0) {
        r->nevidence = 0;
    }
    if (steps)
        lpo_ladder_fact(r, LPO_FACT_STEPS, LPO_NONE, (double)steps, (double)w->out->window.steps,
                        (double)c->own_ns / (double)steps);
    if (c->name != LPO_NONE && c->kind != LPO_RANK_CAUSE_LINK)
        lpo_ladder_fact(r, c->name_usual_ns ? LPO_FACT_RANK_KERNEL : LPO_FACT_INSIDE, c->name,
                        (double)c->name_ns, (double)c->name_usual_ns, 0);
}

void lpo_ladder_ranks(struct ladder_work *w)
{
    const struct lpo_ranks_causes *all = lpo_analysis_rank_causes(w->a);

    if (!all || w->t->processes.at[w->out->process].rank != all->observer)
        return;
    for (size_t i = 0; i < all->rows.len; i++) {
        const struct lpo_rank_cause *c = &all->rows.at[i];
        int64_t *less = lpo_ladder_wants(w);
        struct lpo_rung *r;

        for (uint32_t k = 0; k < w->g.ops.len; k++)
            less[k] = lpo_ranks_causes_less(all, c, w->g.op_rows[k]);
        r = lpo_ladder_add_ops(w, kinds[c->kind], less);
        if (!r)
            continue;
        r->node = LPO_NONE;
        r->device = c->device;
        r->name = c->name;
        add_facts(w, c, r);
    }
}

bool lpo_ladder_of_ranks(enum lpo_rung_kind kind)
{
    return lpo_any(i, sizeof kinds / sizeof *kinds, kinds[i] == kind);
}

/* The ladder of a job is that of the rank that shows what the others cost. */
void lpo_ladder_choose_rank(const struct lpo_analysis *a, struct lpo_ladders *l)
{
    const struct lpo_ranks_causes *c = lpo_analysis_rank_causes(a);

    for (size_t i = 0; c && c->rows.len && i < l->all.len; i++)
        if (a->trace->processes.at[l->all.at[i].process].rank == c->observer) {
            struct lpo_ladder chosen = l->all.at[i];

            for (; i > 0; i--)
                l->all.at[i] = l->all.at[i - 1];
            l->all.at[0] = chosen;
            return;
        }
}
