/* SPDX-License-Identifier: Apache-2.0 */
/* Arrows from forward operators to their backward operators: two events of one id, each at the
 * thread and start of its operator. */
#include <stdlib.h>
#include <string.h>

#include "trace/kineto/private.h"
#include "trace/trace.h"
#include "util/map.h"
#include "util/search.h"
#include "util/vec.h"

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

/* One end of an arrow, to be found among the operators. */
struct place {
    int64_t ns;
    uint32_t thread;
    uint32_t end; /* twice the row of the arrow, plus 1 for the backward end */
    uint32_t op;  /* of the first place of a thread and time: row of ops, once it is found */
};

typedef LPO_VEC(struct place) places;

static int by_thread_and_time(const void *x, const void *y)
{
    const struct place *a = x, *b = y;

    if (a->thread != b->thread)
        return a->thread < b->thread ? -1 : 1;
    if (a->ns != b->ns)
        return a->ns < b->ns ? -1 : 1;
    return (a->end > b->end) - (a->end < b->end);
}

static void find_places(const struct lpo_kineto_flows *f, const struct lpo_map *rows,
                        const uint32_t *threads, int64_t shift, places *out)
{
    for (size_t i = 0; i < 2 * f->arrows.len; i++) {
        const struct point *end = &f->arrows.at[i / 2].ends[i % 2];
        int64_t key[2] = { end->pid, end->tid };
        const uint64_t *row;

        if (f->arrows.at[i / 2].ends[0].ns == LPO_NO_TIME ||
            f->arrows.at[i / 2].ends[1].ns == LPO_NO_TIME)
            continue;
        row = lpo_map_find(rows, (const char *)key, sizeof key);
        if (row)
            lpo_vec_push(out,
                         ((struct place){ end->ns + shift, threads[*row], (uint32_t)i, LPO_NONE }));
    }
    if (out->len > 1)
        qsort(out->at, out->len, sizeof *out->at, by_thread_and_time);
}

/* The first place where the operator begins, or NULL. */
static struct place *place_of(places *all, const struct lpo_op *o)
{
    struct place at = { o->start_ns, o->thread, 0, LPO_NONE };
    size_t from = 0, to = all->len;

    lpo_search(from, to, middle, by_thread_and_time(&all->at[middle], &at) < 0);
    if (from == all->len || all->at[from].thread != o->thread || all->at[from].ns != o->start_ns)
        return NULL;
    return &all->at[from];
}

static int by_backward(const void *x, const void *y)
{
    const struct lpo_op_link *a = x, *b = y;

    if (a->backward != b->backward)
        return a->backward < b->backward ? -1 : 1;
    return (a->forward > b->forward) - (a->forward < b->forward);
}

/* Autograd works within one process, and after the forward pass. */
static bool may_link(const struct lpo_trace *t, uint32_t forward, uint32_t backward)
{
    const struct lpo_op *f = &t->ops.at[forward], *b = &t->ops.at[backward];

    return t->threads.at[f->thread].process == t->threads.at[b->thread].process &&
           f->start_ns < b->start_ns;
}

/* Both ends of each arrow that has two operators. */
static void add_links(struct lpo_trace *t, const places *all, size_t narrows)
{
    size_t first = t->op_links.len;
    uint32_t(*ops)[2] = lpo_xrealloc(NULL, narrows, sizeof *ops);
    uint32_t op = LPO_NONE;

    memset(ops, 0xff, narrows * sizeof *ops);
    for (size_t i = 0; i < all->len; i++) {
        const struct place *p = &all->at[i];

        if (i == 0 || p->thread != p[-1].thread || p->ns != p[-1].ns)
            op = p->op;
        ops[p->end / 2][p->end % 2] = op;
    }
    for (size_t i = 0; i < narrows; i++)
        if (ops[i][0] != LPO_NONE && ops[i][1] != LPO_NONE && may_link(t, ops[i][0], ops[i][1]))
            lpo_vec_push(&t->op_links, ((struct lpo_op_link){ ops[i][0], ops[i][1] }));
    if (t->op_links.len - first > 1)
        qsort(t->op_links.at + first, t->op_links.len - first, sizeof *t->op_links.at, by_backward);
    free(ops);
}

void lpo_kineto_flows_settle(struct lpo_kineto_flows *f, struct lpo_trace *t, size_t first_op,
                             const struct lpo_map *rows, const uint32_t *threads, int64_t shift)
{
    places all = { 0 };

    if (!f->arrows.len)
        return;
    find_places(f, rows, threads, shift, &all);
    for (size_t i = first_op; i < t->ops.len; i++) {
        struct place *p = place_of(&all, &t->ops.at[i]);

        /* old files round to microseconds: of several that begin together the inner one */
        if (p && (p->op == LPO_NONE || t->ops.at[i].end_ns <= t->ops.at[p->op].end_ns))
            p->op = (uint32_t)i;
    }
    add_links(t, &all, f->arrows.len);
    lpo_vec_free(&all);
}
