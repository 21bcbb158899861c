/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/counters/call_sums.h"

#include "analysis/counters/calls.h"
#include "analysis/counters/layer.h"
#include "region/calls.h"
#include "region/tree.h"

/* A call has figures only where at least this part of its time lies in samples, and at most this
 * part in samples that it shares with other calls. */
static const double least_covered = 0.9, most_border = 0.25;

enum what { DRAM, TENSOR, SM, WHATS };

static const enum lpo_sampled_family family_of[WHATS] = { LPO_FAMILY_MEMORY, LPO_FAMILY_TENSOR,
                                                          LPO_FAMILY_SM };

struct call {
    double amount[WHATS], ns[LPO_FAMILIES]; /* ns: in samples */
    double gpu_ns, border_ns;
    uint32_t depth;
};

struct lpo_call_sums {
    const struct lpo_layer *l;
    struct lpo_region_call_list *calls;
    struct call *sums;          /* per call; with those inside it only at the end */
    uint32_t *call;             /* per entry of the layer's operations: the innermost; LPO_NONE */
    int timed;                  /* the family whose time counts */
    bool has[WHATS], both_ways; /* sampled; read and written are one counter */
};

static void find_metrics(struct lpo_call_sums *c)
{
    const struct lpo_sampled_gpu *g = c->l->gpu;
    bool apart = lpo_counters_sampled_find(g, LPO_COUNTER_DRAM_READ) &&
                 lpo_counters_sampled_find(g, LPO_COUNTER_DRAM_WRITE);

    c->both_ways = !apart;
    c->has[DRAM] = apart || lpo_counters_sampled_find(g, LPO_COUNTER_DRAM_BYTES);
    c->has[TENSOR] = lpo_counters_sampled_find(g, LPO_COUNTER_TENSOR_ACTIVE);
    c->has[SM] = lpo_counters_sampled_find(g, LPO_COUNTER_SM_ACTIVE);
}

struct lpo_call_sums *lpo_counters_call_sums_create(const struct lpo_layer *l)
{
    struct lpo_call_sums *c = lpo_xcalloc(1, sizeof *c);
    const struct lpo_trace *t = l->trace;

    c->l = l;
    c->calls = lpo_region_call_list_create(l->tree);
    c->sums = lpo_xcalloc(c->calls->rows.len + 1, sizeof *c->sums);
    c->call = lpo_xcalloc(l->ops.count + 1, sizeof *c->call);
    while (c->timed + 1 < LPO_FAMILIES &&
           l->family_first[c->timed + 1] == l->family_first[c->timed])
        c->timed++;
    for (size_t i = 0; i < c->calls->rows.len; i++) {
        uint32_t parent = c->calls->rows.at[i].parent;

        c->sums[i].depth = parent == LPO_NONE ? 0 : c->sums[parent].depth + 1;
    }
    for (size_t i = 0; i < l->ops.count; i++) {
        const struct lpo_gpu_op *op = &t->gpu_ops.at[l->rows[i]];

        c->call[i] = op->launch == LPO_NONE || op->stack != LPO_NONE ? LPO_NONE
                                                                     : c->calls->launch[op->launch];
        if (c->call[i] != LPO_NONE)
            c->sums[c->call[i]].gpu_ns += (double)(l->times[i].end_ns - l->times[i].start_ns);
    }
    find_metrics(c);
    return c;
}

void lpo_counters_call_sums_destroy(struct lpo_call_sums *c)
{
    if (!c)
        return;
    lpo_region_call_list_destroy(c->calls);
    free(c->sums);
    free(c->call);
    free(c);
}

/* Where a counter belongs; -1: it is in no figure of a call. */
static int what_of(const struct lpo_call_sums *c, enum lpo_counters_meaning meaning)
{
    static const struct {
        enum lpo_counters_meaning meaning;
        int apart, both_ways; /* where read and written are two counters, and one */
    } rows[] = { { LPO_COUNTER_DRAM_READ, DRAM, -1 },
                 { LPO_COUNTER_DRAM_WRITE, DRAM, -1 },
                 { LPO_COUNTER_DRAM_BYTES, -1, DRAM },
                 { LPO_COUNTER_TENSOR_ACTIVE, TENSOR, TENSOR },
                 { LPO_COUNTER_SM_ACTIVE, SM, SM } };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].meaning == meaning)
            return c->both_ways ? rows[i].both_ways : rows[i].apart;
    return -1;
}

void lpo_counters_call_sums_give(struct lpo_call_sums *c, const struct lpo_sample_sweep *sweep,
                                 size_t metric, const double *amounts)
{
    int what = what_of(c, c->l->gpu->metrics[metric].meaning);

    for (size_t i = 0; what >= 0 && i < sweep->found.len; i++) {
        uint32_t call = c->call[sweep->found.at[i].entry];

        if (call != LPO_NONE)
            c->sums[call].amount[what] += amounts[i];
    }
}

/* The innermost call that holds both; LPO_NONE: none does. */
static uint32_t common(const struct lpo_call_sums *c, uint32_t a, uint32_t b)
{
    while (a != b && a != LPO_NONE && b != LPO_NONE) {
        if (c->sums[a].depth >= c->sums[b].depth)
            a = c->calls->rows.at[a].parent;
        else
            b = c->calls->rows.at[b].parent;
    }
    return a == b ? a : LPO_NONE;
}

/* The time of a sample counts as border for the calls that have only a part of it, not for those
 * that hold all of it. */
static void add_borders(struct lpo_call_sums *c, const struct lpo_sample_sweep *sweep)
{
    uint32_t all = c->call[sweep->found.at[0].entry];

    for (size_t i = 1; i < sweep->found.len && all != LPO_NONE; i++)
        all = common(c, all, c->call[sweep->found.at[i].entry]);
    for (size_t i = 0; i < sweep->found.len; i++)
        for (uint32_t n = c->call[sweep->found.at[i].entry]; n != all && n != LPO_NONE;
             n = c->calls->rows.at[n].parent)
            c->sums[n].border_ns += (double)sweep->found.at[i].ns;
}

void lpo_counters_call_sums_cover(struct lpo_call_sums *c, const struct lpo_sample_sweep *sweep,
                                  int family, bool borders)
{
    for (size_t i = 0; i < sweep->found.len; i++) {
        uint32_t call = c->call[sweep->found.at[i].entry];

        if (call != LPO_NONE)
            c->sums[call].ns[family] += (double)sweep->found.at[i].ns;
    }
    if (borders)
        add_borders(c, sweep);
}

/* Calls inside count in the one around them, which stands before them. */
static void add_up(struct lpo_call_sums *c)
{
    for (size_t i = c->calls->rows.len; i-- > 0;) {
        uint32_t parent = c->calls->rows.at[i].parent;
        const struct call *from = &c->sums[i];

        if (parent == LPO_NONE)
            continue;
        for (int w = 0; w < WHATS; w++)
            c->sums[parent].amount[w] += from->amount[w];
        for (int f = 0; f < LPO_FAMILIES; f++)
            c->sums[parent].ns[f] += from->ns[f];
        c->sums[parent].gpu_ns += from->gpu_ns;
    }
}

static double per_ns(const struct lpo_call_sums *c, const struct call *s, enum what what)
{
    double ns = s->ns[family_of[what]];

    return c->has[what] && ns > 0 ? s->amount[what] / ns : NAN;
}

static void put_call(struct lpo_call_sums *c, size_t i, bool first)
{
    const struct call *s = &c->sums[i];
    double covered = s->ns[c->timed];

    if (s->gpu_ns <= 0 || covered < least_covered * s->gpu_ns ||
        s->border_ns > most_border * s->gpu_ns)
        return;
    lpo_vec_push(&c->l->gpu->calls,
                 (struct lpo_sampled_call){ .figure = { c->has[DRAM] ? s->amount[DRAM] : NAN,
                                                        per_ns(c, s, DRAM) * 1e9,
                                                        per_ns(c, s, TENSOR), per_ns(c, s, SM) },
                                            .gpu_ns = s->gpu_ns,
                                            .border_ns = s->border_ns,
                                            .node = c->calls->rows.at[i].node,
                                            .first = first });
}

LPO_COMPARE(by_node, struct lpo_sampled_call, LPO_UP(node) ?: LPO_DOWN(first));

void lpo_counters_call_sums_put(struct lpo_call_sums *c)
{
    struct lpo_sampled_gpu *g = c->l->gpu;
    size_t nodes = c->l->tree->nodes.len;
    LPO_FREED uint32_t *first = lpo_xcalloc(nodes + 1, sizeof *first);

    add_up(c);
    g->node_calls = lpo_xcalloc(nodes + 1, sizeof *g->node_calls);
    for (uint32_t i = 0; i < c->calls->rows.len; i++) {
        const struct lpo_region_call *r = &c->calls->rows.at[i];

        if (c->sums[i].gpu_ns <= 0)
            continue; /* what it launched ran on another GPU */
        if (!g->node_calls[r->node]++ || r->start_ns < c->calls->rows.at[first[r->node]].start_ns)
            first[r->node] = i;
    }
    for (uint32_t i = 0; i < c->calls->rows.len; i++)
        put_call(c, i, first[c->calls->rows.at[i].node] == i);
    lpo_vec_sort(&g->calls, by_node);
}
