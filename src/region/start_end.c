/* SPDX-License-Identifier: Apache-2.0 */
#include "region/attribute.h"

#include <stdlib.h>
#include <string.h>

#include "region/tree.h"
#include "trace/recorded.h"
#include "util/budget.h"
#include "util/order.h"

/* A region with ranges open now. All of them began before, so only the last end matters. */
struct active {
    uint32_t node;
    int64_t end_ns;
};

struct sweep {
    struct lpo_region_tree *tree;
    struct active open[LPO_REGION_OPEN_SETS]; /* by node */
    size_t count;
};

static void expire(struct sweep *s, int64_t now)
{
    size_t kept = 0;

    for (size_t i = 0; i < s->count; i++)
        if (s->open[i].end_ns >= now)
            s->open[kept++] = s->open[i];
    s->count = kept;
}

static void enter(struct sweep *s, uint32_t node, int64_t end_ns)
{
    size_t i = s->count;

    while (i && s->open[i - 1].node > node)
        i--;
    if (i && s->open[i - 1].node == node) {
        if (end_ns > s->open[i - 1].end_ns)
            s->open[i - 1].end_ns = end_ns;
        return;
    }
    if (s->count == LPO_REGION_OPEN_SETS) {
        s->tree->too_many++;
        return;
    }
    memmove(s->open + i + 1, s->open + i, (s->count - i) * sizeof *s->open);
    s->open[i] = (struct active){ node, end_ns };
    s->count++;
}

static uint32_t set_at(struct sweep *s, const struct lpo_launch *l)
{
    uint32_t nodes[LPO_REGION_OPEN_SETS];
    size_t n = 0;

    for (size_t i = 0; i < s->count; i++)
        if (s->open[i].end_ns >= l->end_ns)
            nodes[n++] = s->open[i].node;
    /* launches that each lie in another thousand ranges: 4 KB a launch, twice */
    if (n && s->tree->set_nodes.len * sizeof *nodes > lpo_budget()->path_bytes) {
        s->tree->too_many++;
        n = 1;
    }
    return n ? lpo_region_set_of(s->tree, nodes, n) : 0;
}

static uint32_t visit(struct lpo_region_tree *tree, const struct lpo_slice *r, uint16_t process)
{
    uint16_t domain = tree->trace->ranges.at[r->row].domain;
    uint32_t node = lpo_region_node(tree, LPO_NONE, r->name, domain, LPO_START_END);

    lpo_region_count_visit(tree, lpo_region_visits_of(tree, node, process), r);
    return node;
}

static bool range_before(const void *trace, uint32_t a, uint32_t b)
{
    const struct lpo_trace *t = trace;

    return t->ranges.at[a].start_ns < t->ranges.at[b].start_ns;
}

static bool launch_before(const void *trace, uint32_t a, uint32_t b)
{
    const struct lpo_trace *t = trace;

    return t->launches.at[a].start_ns < t->launches.at[b].start_ns;
}

typedef LPO_VEC(uint32_t) row_vec;

/* Threads by process, those of one in their order: a trace may have sixty thousand processes, and
 * each must not look at the threads of all. */
struct members {
    uint32_t *first; /* per process: a thread, or LPO_NONE */
    uint32_t *next;  /* per thread: the next of its process, or LPO_NONE */
};

static struct members members_of(const struct lpo_trace *t)
{
    struct members m = { lpo_xcalloc(t->processes.len, sizeof *m.first),
                         lpo_xcalloc(t->threads.len, sizeof *m.next) };

    memset(m.first, 0xff, t->processes.len * sizeof *m.first);
    for (size_t i = t->threads.len; i--;) {
        uint32_t *first = &m.first[t->threads.at[i].process];

        m.next[i] = *first;
        *first = (uint32_t)i;
    }
    return m;
}

/* Rows of the threads of one process, put together and ordered. */
static void gather(const struct lpo_trace *t, enum lpo_host_kind kind, const struct members *m,
                   uint16_t process, lpo_order_before *before, row_vec *out)
{
    out->len = 0;
    for (uint32_t i = m->first[process]; i != LPO_NONE; i = m->next[i]) {
        struct lpo_host_rows rows = lpo_host_rows(t, i, kind);

        for (size_t k = 0; k < rows.len; k++)
            lpo_vec_push(out, rows.at[k]);
    }
    lpo_order_sort(out->at, out->len, before, t);
}

static void sweep_process(struct lpo_region_tree *tree, uint16_t process, const row_vec *ranges,
                          const row_vec *launches, uint32_t *sets)
{
    const struct lpo_trace *t = tree->trace;
    struct sweep *s = lpo_xcalloc(1, sizeof *s);
    size_t r = 0, l = 0;

    s->tree = tree;
    while (r < ranges->len || l < launches->len) {
        if (l == launches->len ||
            (r < ranges->len &&
             t->ranges.at[ranges->at[r]].start_ns <= t->launches.at[launches->at[l]].start_ns)) {
            struct lpo_slice range = lpo_host_slice(t, LPO_HOST_START_END, ranges->at[r++]);

            /* Such ranges are in the file also where nothing is recorded: who starts one cannot
             * know whether a window will open before its end. */
            if (!lpo_trace_recorded_touches(tree->recorded, process, range.start_ns, range.end_ns))
                continue;
            expire(s, range.start_ns);
            enter(s, visit(tree, &range, process), range.end_ns);
            continue;
        }
        expire(s, t->launches.at[launches->at[l]].start_ns);
        sets[launches->at[l]] = set_at(s, &t->launches.at[launches->at[l]]);
        l++;
    }
    free(s);
}

uint32_t *lpo_region_start_end_sets(struct lpo_region_tree *tree)
{
    const struct lpo_trace *t = tree->trace;
    row_vec ranges = { 0 }, launches = { 0 };
    struct members members;
    uint32_t *sets;
    size_t i = 0;

    while (i < t->ranges.len && t->ranges.at[i].kind != LPO_START_END)
        i++;
    if (i == t->ranges.len)
        return NULL;
    sets = lpo_xcalloc(t->launches.len, sizeof *sets);
    members = members_of(t);
    for (size_t p = 0; p < t->processes.len; p++) {
        gather(t, LPO_HOST_START_END, &members, (uint16_t)p, range_before, &ranges);
        if (!ranges.len)
            continue;
        gather(t, LPO_HOST_LAUNCH, &members, (uint16_t)p, launch_before, &launches);
        sweep_process(tree, (uint16_t)p, &ranges, &launches, sets);
    }
    free(members.first);
    free(members.next);
    lpo_vec_free(&ranges);
    lpo_vec_free(&launches);
    return sets;
}
