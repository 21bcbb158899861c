/* SPDX-License-Identifier: Apache-2.0 */
/* Experiments as lists of edits: what each of them takes off which point of a graph. */

#include "analysis/critical/private.h"

void lpo_critical_replay_edit(struct critical_replay *r, enum critical_edit_kind kind, uint32_t at,
                              unsigned experiment, int64_t ns)
{
    if (ns > 0 || (ns < 0 && kind == CRITICAL_EDIT_OP) || kind == CRITICAL_EDIT_WAIT)
        lpo_vec_push(&r->edits,
                     (struct critical_edit){ ns, at, (uint8_t)experiment, (uint8_t)kind });
}

static size_t point_of(const struct critical_graph *g, enum critical_edit_kind kind, uint32_t at)
{
    return kind >= CRITICAL_EDIT_OP ? g->calls.len + at : at;
}

/* Sorted by point: a count, then one pass. */
void lpo_critical_replay_prepare(struct critical_replay *r)
{
    size_t n = r->g->calls.len + r->g->ops.len;
    struct critical_edit *sorted = lpo_xrealloc(NULL, r->edits.len + 1, sizeof *sorted);

    free(r->first);
    r->first = lpo_xcalloc(n + 2, sizeof *r->first);
    for (size_t i = 0; i < r->edits.len; i++)
        r->first[point_of(r->g, r->edits.at[i].kind, r->edits.at[i].at) + 2]++;
    for (size_t i = 0; i < n; i++)
        r->first[i + 2] += r->first[i + 1];
    for (size_t i = 0; i < r->edits.len; i++)
        sorted[r->first[point_of(r->g, r->edits.at[i].kind, r->edits.at[i].at) + 1]++] =
            r->edits.at[i];
    free(r->edits.at);
    r->edits.at = sorted;
    r->edits.cap = r->edits.len + 1;
}

void lpo_critical_replay_free(struct critical_replay *r)
{
    lpo_vec_free(&r->edits);
    free(r->first);
    r->first = NULL;
}

struct lanes {
    const struct critical_replay *r;
    size_t count;
    uint32_t active[CRITICAL_EXPERIMENTS]; /* per experiment: a bit for each lane it is in */
};

static void add_edit(const struct critical_edit *e, int64_t *less)
{
    if (e->kind != CRITICAL_EDIT_OP)
        *less += e->ns;
    else if (!*less || e->ns > *less)
        *less = e->ns;
}

/* What the edits of one kind take off a point, by lane. Of the host two experiments take different
 * parts, so they add up; of an operation each says what it could take. False: nothing. */
static bool sum_edits(const struct lanes *l, enum critical_edit_kind kind, uint32_t at,
                      int64_t less[CRITICAL_LANES])
{
    size_t point = point_of(l->r->g, kind, at);
    const struct critical_edit *e = l->r->edits.at + l->r->first[point],
                               *end = l->r->edits.at + l->r->first[point + 1];

    if (e == end)
        return false;
    memset(less, 0, l->count * sizeof *less);
    for (int kinds = kind; kinds <= (kind == CRITICAL_EDIT_OP ? CRITICAL_EDIT_EXCESS : (int)kind);
         kinds++)
        for (const struct critical_edit *at_end = e; at_end < end; at_end++)
            for (size_t i = 0; at_end->kind == kinds && i < l->count; i++)
                if (l->active[at_end->experiment] >> i & 1)
                    add_edit(at_end, &less[i]);
    return true;
}

static void take_less(void *ctx, enum critical_less_kind kind, uint32_t at, int64_t start_ns,
                      int64_t end_ns, int64_t *gain)
{
    static const enum critical_edit_kind kinds[] = { [CRITICAL_LESS_HOST] = CRITICAL_EDIT_HOST,
                                                     [CRITICAL_LESS_CALL] = CRITICAL_EDIT_CALL,
                                                     [CRITICAL_LESS_OP] = CRITICAL_EDIT_OP };
    const struct lanes *l = ctx;
    int64_t less[CRITICAL_LANES], most = end_ns - start_ns;

    if (!sum_edits(l, kinds[kind], at, less))
        return;
    for (size_t i = 0; i < l->count; i++)
        gain[i] += less[i] < most ? less[i] : most;
}

/* An operation that is gone leaves no gap before it. */
static void take_gap(void *ctx, uint32_t op, enum lpo_critical_part part, int64_t ns, int64_t *gain)
{
    const struct lanes *l = ctx;
    int64_t less[CRITICAL_LANES];

    if (part != LPO_PATH_GAP || !sum_edits(l, CRITICAL_EDIT_OP, op, less))
        return;
    for (size_t i = 0; i < l->count; i++)
        if (less[i] > 0 && less[i] >= lpo_trace_gpu_op_ns(lpo_critical_gpu_op(l->r->g, op)))
            gain[i] += ns;
}

/* Lanes in which the call no longer waits. */
static uint64_t find_free(void *ctx, uint32_t call)
{
    const struct lanes *l = ctx;
    uint32_t lanes = 0;

    for (uint32_t i = l->r->first[call]; i < l->r->first[call + 1]; i++)
        if (l->r->edits.at[i].kind == CRITICAL_EDIT_WAIT)
            lanes |= l->active[l->r->edits.at[i].experiment];
    return lanes;
}

void lpo_critical_replay_run(struct critical_replay *r, const uint64_t *lanes, size_t count,
                             int64_t *out)
{
    struct lanes l = { .r = r, .count = count };
    struct critical_changes c = { &l, take_less, take_gap, find_free, 0 };

    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < CRITICAL_EXPERIMENTS; k++)
            l.active[k] |= (uint32_t)(lanes[i] >> k & 1) << i;
    lpo_critical_run(r->g, &c, count, out);
}
