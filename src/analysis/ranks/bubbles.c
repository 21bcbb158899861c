/* SPDX-License-Identifier: Apache-2.0 */
/* Bubbles of a pipeline: what its stages do not fill of each step. */

#include "analysis/ranks/private.h"
#include "analysis/ranks/steps.h"
#include "analysis/steps/steps.h"
#include "analysis/wall/collectives.h"
#include "analysis/wall/computing.h"
#include "analysis/wall/order.h"
#include "region/tree.h"

struct bubbles {
    const struct lpo_trace *t;
    const struct lpo_program_steps *in;
    const struct lpo_ranks *clocks;
    const uint32_t *rows, *places;
    struct lpo_ranks_steps *out;
    int64_t *begins; /* of each place, on the common clock; INT64_MAX: no rank has GPU work in it */
    int64_t end_ns;  /* of the last one */
    uint8_t *sends;  /* by name, as the framework writes it: YES, NO; 0: not looked up yet */
};

enum { NO = 1, YES };

static const struct lpo_rank_row *clock_of(const struct lpo_ranks *r, int32_t rank)
{
    for (size_t i = 0; i < r->rows.len; i++)
        if (r->rows.at[i].rank == rank)
            return r->rows.at[i].aligned ? &r->rows.at[i] : NULL;
    return NULL;
}

/* Where each step begins on any rank, and the last one ends. */
static void find_windows(struct bubbles *b)
{
    b->begins = lpo_xrealloc(NULL, b->out->steps + 1, sizeof *b->begins);
    for (size_t i = 0; i <= b->out->steps; i++)
        b->begins[i] = INT64_MAX;
    b->end_ns = INT64_MIN;
    for (size_t i = 0; i < b->in->rows.len; i++) {
        const struct lpo_program_step *x = &b->in->rows.at[i];
        const struct lpo_rank_row *clock;
        int64_t begin, end;

        if (b->rows[i] == LPO_NONE || b->places[i] == LPO_NONE || x->device == UINT16_MAX)
            continue;
        clock = clock_of(b->clocks, b->out->ranks.at[b->rows[i]]);
        if (!clock)
            continue;
        begin = lpo_ranks_common_ns(clock, x->gpu_start_ns);
        end = lpo_ranks_common_ns(clock, x->gpu_start_ns + x->gpu_ns);
        if (begin < b->begins[b->places[i]])
            b->begins[b->places[i]] = begin;
        b->end_ns = end > b->end_ns ? end : b->end_ns;
    }
}

static bool is_send(const struct bubbles *b, const struct lpo_collective *said)
{
    uint8_t *known = &b->sends[said->kind];

    if (!*known)
        *known =
            strcmp(lpo_wall_collective_kind(lpo_trace_text(b->t, said->kind)), "send/receive") == 0
                ? YES
                : NO;
    return *known == YES;
}

/* The time of one device with its sends and without them. */
struct filled {
    struct lpo_wall_computing all, others;
    bool sends;
};

static struct filled fill(const struct bubbles *b, const uint32_t *ops, size_t count)
{
    struct filled f = { .sends = false };

    for (size_t i = 0; i < count; i++) {
        const struct lpo_gpu_op *op = &b->t->gpu_ops.at[ops[i]];
        const struct lpo_collective *said = lpo_wall_collective_said(b->t, ops[i]);
        bool sends = said && is_send(b, said);

        f.sends |= sends;
        lpo_wall_computing_add(&f.all, op);
        if (!sends)
            lpo_wall_computing_add(&f.others, op);
    }
    return f;
}

static int64_t within(const struct lpo_wall_computing *c, int64_t from_ns, int64_t to_ns)
{
    return lpo_wall_computed_before(c, to_ns) - lpo_wall_computed_before(c, from_ns);
}

static void add_step(struct bubbles *b, const struct filled *f, const struct lpo_rank_row *clock,
                     size_t step, struct lpo_rank_bubble *sum)
{
    size_t place = b->places[step], next = place + 1;
    struct lpo_rank_step *cell;
    int64_t begin, end, bubble, idle;

    while (next < b->out->steps && b->begins[next] == INT64_MAX)
        next++;
    begin = lpo_ranks_own_ns(clock, b->begins[place]);
    end = lpo_ranks_own_ns(clock, next < b->out->steps ? b->begins[next] : b->end_ns);
    if (next != place + 1 && next < b->out->steps)
        return; /* a step in between was not recorded: its time is not this one's */
    if (end <= begin)
        return;
    bubble = end - begin - within(&f->others, begin, end);
    idle = end - begin - within(&f->all, begin, end);
    cell = &b->out->cells[b->rows[step] * b->out->columns.len + place / b->out->per_column];
    cell->bubbles++;
    cell->ns[LPO_RANK_STEP_BUBBLE] += bubble;
    sum->steps++;
    sum->step_ns += end - begin;
    sum->bubble_ns += bubble;
    sum->idle_ns += idle;
    sum->waiting_ns += bubble - idle;
}

static void add_device(struct bubbles *b, const uint32_t *ops, size_t count)
{
    uint16_t device = b->t->gpu_ops.at[ops[0]].device;
    const struct lpo_rank_row *clock = clock_of(b->clocks, b->t->devices.at[device].rank);
    struct lpo_rank_bubble sum = { .rank = b->t->devices.at[device].rank };
    struct filled f;

    if (!clock)
        return;
    f = fill(b, ops, count);
    for (size_t i = 0; f.sends && i < b->in->rows.len; i++)
        if (b->rows[i] != LPO_NONE && b->places[i] != LPO_NONE &&
            b->in->rows.at[i].device == device)
            add_step(b, &f, clock, i, &sum);
    if (sum.steps)
        lpo_vec_push(&b->out->bubbles, sum);
    lpo_wall_computing_free(&f.all);
    lpo_wall_computing_free(&f.others);
}

static int largest_first(const void *x, const void *y)
{
    const struct lpo_rank_bubble *a = x, *b = y;
    double m = (double)a->bubble_ns / (double)a->step_ns;
    double n = (double)b->bubble_ns / (double)b->step_ns;

    if (m != n)
        return m > n ? -1 : 1;
    return a->rank < b->rank ? -1 : a->rank > b->rank;
}

static bool any_sends(const struct bubbles *b)
{
    return lpo_any(i, b->t->collectives.len, is_send(b, &b->t->collectives.at[i]));
}

void lpo_ranks_bubbles_add(const struct lpo_region_tree *tree, const struct lpo_program_steps *in,
                           const struct lpo_ranks *clocks, const uint32_t *rows,
                           const uint32_t *places, struct lpo_ranks_steps *out)
{
    struct bubbles b = { tree->trace, in, clocks, rows, places, out, NULL, 0, NULL };
    struct lpo_wall_order order;

    b.sends = lpo_xcalloc(lpo_trace_name_count(b.t) + 1, sizeof *b.sends);
    if (!any_sends(&b)) {
        free(b.sends);
        return;
    }
    find_windows(&b);
    order = lpo_wall_order_find(b.t);
    for (size_t i = 0; i < order.count;) {
        size_t end = lpo_wall_order_device(&order, b.t, i);

        add_device(&b, order.rows + i, end - i);
        i = end;
    }
    lpo_wall_order_free(&order);
    lpo_vec_sort(&out->bubbles, largest_first);
    free(b.begins);
    free(b.sends);
}
