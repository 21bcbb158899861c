/* SPDX-License-Identifier: Apache-2.0 */
/* Arrows from forward operators to their backward operators: two events of one id, each at the
 * thread and start of its operator. */

#include "trace/host.h"
#include "trace/kineto/private.h"
#include "trace/trace.h"

enum { MOST = 1 << 24 }; /* arrows: some 4 GB of text */

struct point {
    int64_t pid, tid, ns; /* ns: LPO_NO_TIME until it is seen */
};

struct arrow {
    struct point ends[2]; /* forward, backward */
};

struct lpo_kineto_flows {
    struct lpo_map_u64 *ids; /* to a row of `arrows` */
    LPO_VEC(struct arrow) arrows;
};

struct lpo_kineto_flows *lpo_kineto_flows_create(void)
{
    struct lpo_kineto_flows *f = lpo_xcalloc(1, sizeof *f);

    f->ids = lpo_map_u64_create(0);
    return f;
}

void lpo_kineto_flows_destroy(struct lpo_kineto_flows *f)
{
    if (!f)
        return;
    lpo_map_u64_destroy(f->ids);
    lpo_vec_free(&f->arrows);
    free(f);
}

void lpo_kineto_flows_add(struct lpo_kineto_flows *f, const struct kineto_event *e)
{
    static const struct arrow unseen = { { { .ns = LPO_NO_TIME }, { .ns = LPO_NO_TIME } } };
    bool fresh;
    uint32_t *row;
    struct point *end;

    if (f->arrows.len == MOST)
        return;
    row = lpo_map_u64_put(f->ids, (uint64_t)e->flow_id, &fresh);
    if (fresh) {
        *row = (uint32_t)f->arrows.len;
        lpo_vec_push(&f->arrows, unseen);
    }
    end = &f->arrows.at[*row].ends[e->flow_end];
    if (end->ns == LPO_NO_TIME) /* an id that is used twice is damage: the first one stays */
        *end = (struct point){ e->pid.number, e->tid.number, e->start_ns };
}

/* The operator that begins at an end of an arrow: old files round to microseconds, so of several
 * that begin together the inner one. LPO_NONE: none of this file does. */
static uint32_t op_of(const struct lpo_trace *t, size_t first_op, const struct lpo_map *rows,
                      const uint32_t *threads, const struct point *end, int64_t shift)
{
    const int64_t key[2] = { end->pid, end->tid }, ns = end->ns + shift;
    const uint64_t *row =
        end->ns == LPO_NO_TIME ? NULL : lpo_map_find(rows, (const char *)key, sizeof key);
    struct lpo_host_rows ops;
    size_t from = 0, to;

    if (!row)
        return LPO_NONE;
    ops = lpo_host_rows(t, threads[*row], LPO_HOST_OP);
    to = ops.len;
    lpo_search(from, to, middle, t->ops.at[ops.at[middle]].start_ns <= ns);
    return from && t->ops.at[ops.at[from - 1]].start_ns == ns && ops.at[from - 1] >= first_op
               ? ops.at[from - 1]
               : LPO_NONE;
}

LPO_COMPARE(by_backward, struct lpo_op_link, LPO_UP(backward) ?: LPO_UP(forward));

/* Autograd works within one process, and after the forward pass. */
static bool may_link(const struct lpo_trace *t, uint32_t forward, uint32_t backward)
{
    const struct lpo_op *f = &t->ops.at[forward], *b = &t->ops.at[backward];

    return t->threads.at[f->thread].process == t->threads.at[b->thread].process &&
           f->start_ns < b->start_ns;
}

void lpo_kineto_flows_settle(struct lpo_kineto_flows *f, struct lpo_trace *t, size_t first_op,
                             const struct lpo_map *rows, const uint32_t *threads, int64_t shift)
{
    size_t first = t->op_links.len;

    for (size_t i = 0; i < f->arrows.len; i++) {
        const struct point *ends = f->arrows.at[i].ends;
        uint32_t forward = op_of(t, first_op, rows, threads, &ends[0], shift);
        uint32_t backward = op_of(t, first_op, rows, threads, &ends[1], shift);

        if (forward != LPO_NONE && backward != LPO_NONE && may_link(t, forward, backward))
            lpo_vec_push(&t->op_links, ((struct lpo_op_link){ forward, backward }));
    }
    if (t->op_links.len - first > 1)
        qsort(t->op_links.at + first, t->op_links.len - first, sizeof *t->op_links.at, by_backward);
}
