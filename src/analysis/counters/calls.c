/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/counters/calls.h"

#include "analysis/counters/sampled.h"

/* Calls of the asked nodes: values of one figure are gathered from these. */
struct chosen {
    const struct lpo_sampled_call **at;
    size_t len;
};

static size_t first_of(const struct lpo_sampled_gpu *g, uint32_t node)
{
    size_t from = 0, to = g->calls.len;

    while (from < to) {
        size_t middle = from + (to - from) / 2;

        if (g->calls.at[middle].node < node)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

static struct chosen choose(const struct lpo_sampled_gpu *g, const uint32_t *nodes, size_t count)
{
    struct chosen c = { 0 };

    for (size_t i = 0; i < count; i++)
        for (size_t k = first_of(g, nodes[i]); k < g->calls.len && g->calls.at[k].node == nodes[i];
             k++)
            c.len++;
    c.at = lpo_xcalloc(c.len + 1, sizeof *c.at);
    c.len = 0;
    for (size_t i = 0; i < count; i++)
        for (size_t k = first_of(g, nodes[i]); k < g->calls.len && g->calls.at[k].node == nodes[i];
             k++)
            c.at[c.len++] = &g->calls.at[k];
    return c;
}

static int by_value(const void *a, const void *b)
{
    const double *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

static size_t gather(const struct chosen *c, int figure, bool first, double *out)
{
    size_t n = 0;

    for (size_t i = 0; i < c->len; i++)
        if (c->at[i]->first == first && isfinite(c->at[i]->figure[figure]))
            out[n++] = c->at[i]->figure[figure];
    if (n)
        qsort(out, n, sizeof *out, by_value);
    return n;
}

static struct lpo_measure middle_of(const double *v, size_t n)
{
    return n ? lpo_measure_measured((v[(n - 1) / 2] + v[n / 2]) / 2) : lpo_measure_unknown();
}

struct lpo_call_spread lpo_counters_call_spread(const struct lpo_sampled_gpu *g,
                                                const uint32_t *nodes, size_t count)
{
    struct chosen c = choose(g, nodes, count);
    struct lpo_call_spread s = { .counted = c.len };
    LPO_FREED double *values = lpo_xcalloc(c.len + 1, sizeof *values);

    for (size_t i = 0; i < count; i++)
        s.calls += g->node_calls ? g->node_calls[nodes[i]] : 0;
    for (size_t i = 0; i < c.len; i++) {
        s.gpu_ns += c.at[i]->gpu_ns;
        s.border_ns += c.at[i]->border_ns;
    }
    for (int f = 0; f < LPO_CALL_FIGURES; f++) {
        size_t n = gather(&c, f, true, values);

        s.first[f] = middle_of(values, n);
        n = gather(&c, f, false, values);
        s.least[f] = n ? lpo_measure_measured(values[0]) : lpo_measure_unknown();
        s.median[f] = middle_of(values, n);
        s.most[f] = n ? lpo_measure_measured(values[n - 1]) : lpo_measure_unknown();
    }
    free(c.at);
    return s;
}
