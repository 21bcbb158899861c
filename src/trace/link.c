/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/link.h"

#include "trace/trace.h"

/* One call, or the place where one is expected. Those of one id form a chain. A trace has as many
 * as it has calls, so each field is there once: `row` is the path of the call, or its row of calls,
 * until the launch is made from it, then the row of that launch. */
struct link {
    int64_t start_ns, end_ns; /* start LPO_NO_TIME: only GPU operations were seen so far */
    uint32_t thread;
    uint32_t row;
    uint32_t next; /* same id, another process; LPO_NONE */
    uint16_t process;
    uint8_t kind; /* enum lpo_call_kind */
    uint8_t launched : 1;
    uint8_t is_call : 1; /* `row` is one of calls */
};

struct lpo_trace_links {
    LPO_VEC(struct link) links;
    size_t first_op;           /* the row of the trace that `waiting` begins with */
    LPO_VEC(uint32_t) waiting; /* the head of the chain of each operation; LPO_NONE */
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
    lpo_vec_push(&l->links, (struct link){ .start_ns = LPO_NO_TIME, .next = LPO_NONE });
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
    uint32_t head = head_of(l, correlation);

    if (!l->waiting.len)
        l->first_op = op;
    while (l->first_op + l->waiting.len < op) /* these had no id */
        lpo_vec_push(&l->waiting, LPO_NONE);
    lpo_vec_push(&l->waiting, head);
}

bool lpo_trace_links_wanted(const struct lpo_trace_links *l, int64_t correlation)
{
    return lpo_map_u64_find(l->heads, (uint64_t)correlation) != NULL;
}

void lpo_trace_links_prefetch(const struct lpo_trace_links *l, int64_t correlation)
{
    lpo_map_u64_prefetch(l->heads, (uint64_t)correlation);
}

static bool outer(const struct lpo_call *a, const struct link *b)
{
    return a->start_ns < b->start_ns || (a->start_ns == b->start_ns && a->end_ns > b->end_ns);
}

void lpo_trace_links_call(struct lpo_trace_links *l, int64_t correlation,
                          const struct lpo_call *call)
{
    uint32_t at = head_of(l, correlation);
    struct link *k = &l->links.at[at];

    for (int n = 0; k->start_ns != LPO_NO_TIME && k->process != call->process; n++) {
        if (n == MAX_CHAIN) /* no job has that many processes in one file */
            return;
        if (k->next == LPO_NONE) {
            uint32_t fresh = push(l);

            l->links.at[at].next = fresh; /* push may have moved the rows */
        }
        at = l->links.at[at].next;
        k = &l->links.at[at];
    }
    k->kind |= call->kind;
    if (k->start_ns == LPO_NO_TIME || outer(call, k)) {
        k->start_ns = call->start_ns;
        k->end_ns = call->end_ns;
        k->thread = call->thread;
        k->row = call->call ? call->call - 1 : call->path;
        k->is_call = call->call != 0;
        k->process = call->process;
    }
}

/* The call of the chain that began last, but not after `start_ns`; else the first of the chain. */
static uint32_t pick(const struct lpo_trace_links *l, uint32_t head, int64_t start_ns)
{
    uint32_t best = head;

    for (uint32_t i = l->links.at[head].next; i != LPO_NONE; i = l->links.at[i].next) {
        const struct link *c = &l->links.at[i], *b = &l->links.at[best];

        if (c->start_ns <= start_ns && (b->start_ns > start_ns || c->start_ns > b->start_ns))
            best = i;
    }
    return best;
}

static void join(struct lpo_trace_links *l, struct lpo_trace *t, uint32_t head,
                 struct lpo_gpu_op *op)
{
    struct link *k = &l->links.at[pick(l, head, op->start_ns)];

    if (k->start_ns == LPO_NO_TIME)
        return;
    if (!k->launched) {
        struct lpo_launch launch = { k->start_ns, k->end_ns, k->thread, k->row, 0 };

        if (k->is_call) {
            launch.path = 0;
            launch.name = t->calls.at[k->row].name;
            t->calls.at[k->row].thread = LPO_NONE;
        }
        k->row = (uint32_t)t->launches.len;
        k->launched = true;
        lpo_vec_push(&t->launches, launch);
    }
    op->launch = k->row;
    op->process = k->process;
    if (k->kind & LPO_CALL_GRAPH)
        op->flags |= LPO_GPU_OP_GRAPH;
}

/* Calls that became launches. */
static void drop_calls(struct lpo_trace *t)
{
    size_t kept = 0;

    for (size_t i = 0; i < t->calls.len; i++)
        if (t->calls.at[i].thread != LPO_NONE)
            t->calls.at[kept++] = t->calls.at[i];
    t->calls.len = kept;
}

void lpo_trace_links_resolve(struct lpo_trace_links *l, struct lpo_trace *t)
{
    /* Every id has found its link: a large table goes before the launches, as many, are made. */
    lpo_map_u64_destroy(l->heads);
    l->heads = NULL;
    for (size_t i = 0; i < l->waiting.len; i++)
        if (l->waiting.at[i] != LPO_NONE)
            join(l, t, l->waiting.at[i], &t->gpu_ops.at[l->first_op + i]);
    drop_calls(t);
}

void lpo_trace_links_idle(const struct lpo_trace_links *l,
                          void (*take)(void *ctx, const struct lpo_call *call), void *ctx)
{
    for (size_t i = 0; i < l->links.len; i++) {
        const struct link *k = &l->links.at[i];

        if (!k->launched && k->start_ns != LPO_NO_TIME && k->kind & LPO_CALL_KERNEL)
            take(ctx, &(struct lpo_call){ k->start_ns, k->end_ns, k->thread, k->process, k->kind,
                                          k->is_call ? 0 : k->row, 0 });
    }
}
