/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/link.h"

#include <stdlib.h>

#include "trace/trace.h"
#include "util/map.h"
#include "util/vec.h"

/* One call, or the place where one is expected. Those of one id form a chain. */
struct link {
    struct lpo_call call; /* start_ns LPO_NO_TIME: only GPU operations were seen so far */
    uint32_t next;        /* same id, another process; LPO_NONE */
    uint32_t launch;      /* row of t->launches once resolved; LPO_NONE */
};

/* A GPU operation that waits for its call. */
struct waiting {
    uint32_t op, link;
};

struct lpo_trace_links {
    LPO_VEC(struct link) links;
    LPO_VEC(struct waiting) waiting;
    struct lpo_map_u64 *heads; /* correlation id to the first link of its chain */
};

enum { MAX_CHAIN = 64 };

struct lpo_trace_links *lpo_trace_links_create(size_t expected)
{
    struct lpo_trace_links *l = lpo_xcalloc(1, sizeof *l);

    l->heads = lpo_map_u64_create(expected);
    return l;
}

void lpo_trace_links_destroy(struct lpo_trace_links *l)
{
    if (!l)
        return;
    lpo_vec_free(&l->links);
    lpo_vec_free(&l->waiting);
    lpo_map_u64_destroy(l->heads);
    free(l);
}

static uint32_t push(struct lpo_trace_links *l)
{
    lpo_vec_push(
        &l->links,
        (struct link){ .call = { .start_ns = LPO_NO_TIME }, .next = LPO_NONE, .launch = LPO_NONE });
    return (uint32_t)l->links.len - 1;
}

/* The first link of the chain of this id. */
static uint32_t head_of(struct lpo_trace_links *l, int64_t correlation)
{
    bool fresh;
    uint32_t *head = lpo_map_u64_put(l->heads, (uint64_t)correlation, &fresh);

    if (fresh)
        *head = push(l);
    return *head;
}

void lpo_trace_links_op(struct lpo_trace_links *l, uint32_t op, int64_t correlation)
{
    lpo_vec_push(&l->waiting, (struct waiting){ op, head_of(l, correlation) });
}

bool lpo_trace_links_wanted(const struct lpo_trace_links *l, int64_t correlation)
{
    return lpo_map_u64_find(l->heads, (uint64_t)correlation) != NULL;
}

void lpo_trace_links_prefetch(const struct lpo_trace_links *l, int64_t correlation)
{
    lpo_map_u64_prefetch(l->heads, (uint64_t)correlation);
}

static bool outer(const struct lpo_call *a, const struct lpo_call *b)
{
    return a->start_ns < b->start_ns || (a->start_ns == b->start_ns && a->end_ns > b->end_ns);
}

void lpo_trace_links_call(struct lpo_trace_links *l, int64_t correlation,
                          const struct lpo_call *call)
{
    uint32_t at = head_of(l, correlation);
    struct link *k = &l->links.at[at];

    for (int n = 0; k->call.start_ns != LPO_NO_TIME && k->call.process != call->process; n++) {
        if (n == MAX_CHAIN) /* no job has that many processes in one file */
            return;
        if (k->next == LPO_NONE) {
            uint32_t fresh = push(l);

            l->links.at[at].next = fresh; /* push may have moved the rows */
        }
        at = l->links.at[at].next;
        k = &l->links.at[at];
    }
    if (k->call.start_ns == LPO_NO_TIME || outer(call, &k->call)) {
        uint8_t graph = k->call.start_ns == LPO_NO_TIME ? 0 : k->call.graph;

        k->call = *call;
        k->call.graph |= graph;
    } else {
        k->call.graph |= call->graph;
    }
}

/* The call of the chain that began last, but not after `start_ns`; else the first of the chain. */
static uint32_t pick(const struct lpo_trace_links *l, uint32_t head, int64_t start_ns)
{
    uint32_t best = head;

    for (uint32_t i = l->links.at[head].next; i != LPO_NONE; i = l->links.at[i].next) {
        const struct lpo_call *c = &l->links.at[i].call, *b = &l->links.at[best].call;

        if (c->start_ns <= start_ns && (b->start_ns > start_ns || c->start_ns > b->start_ns))
            best = i;
    }
    return best;
}

static void join(struct lpo_trace_links *l, struct lpo_trace *t, uint32_t head,
                 struct lpo_gpu_op *op)
{
    struct link *k = &l->links.at[pick(l, head, op->start_ns)];

    if (k->call.start_ns == LPO_NO_TIME)
        return;
    if (k->launch == LPO_NONE) {
        k->launch = (uint32_t)t->launches.len;
        lpo_vec_push(&t->launches, (struct lpo_launch){ k->call.start_ns, k->call.end_ns,
                                                        k->call.thread, k->call.path });
    }
    op->launch = k->launch;
    op->process = k->call.process;
    if (k->call.graph)
        op->flags |= LPO_GPU_OP_GRAPH;
}

void lpo_trace_links_resolve(struct lpo_trace_links *l, struct lpo_trace *t)
{
    /* Every id has found its link: a large table goes before the launches, as many, are made. */
    lpo_map_u64_destroy(l->heads);
    l->heads = NULL;
    for (size_t i = 0; i < l->waiting.len; i++)
        join(l, t, l->waiting.at[i].link, &t->gpu_ops.at[l->waiting.at[i].op]);
}

void lpo_trace_links_join(struct lpo_trace_links *l, struct lpo_trace *t, int64_t correlation,
                          struct lpo_gpu_op *op)
{
    const uint32_t *head = lpo_map_u64_find(l->heads, (uint64_t)correlation);

    if (head)
        join(l, t, *head, op);
}
