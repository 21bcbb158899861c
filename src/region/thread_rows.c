/* SPDX-License-Identifier: Apache-2.0 */
#include "region/thread_rows.h"

#include <stdlib.h>

#include "util/arena.h"
#include "util/vec.h"

/* Counting sort by thread. `pick` gives the thread of a row, or LPO_NONE to leave it out. */
static struct lpo_group group(const struct lpo_trace *t, size_t count,
                              uint32_t (*pick)(const struct lpo_trace *t, size_t row, int arg),
                              int arg)
{
    size_t n = t->threads.len;
    struct lpo_group g = { NULL, lpo_xcalloc(n + 2, sizeof *g.starts) };

    for (size_t i = 0; i < count; i++) {
        uint32_t thread = pick(t, i, arg);

        if (thread != LPO_NONE)
            g.starts[thread + 2]++;
    }
    for (size_t i = 1; i <= n; i++)
        g.starts[i + 1] += g.starts[i];
    g.rows = lpo_xrealloc(NULL, g.starts[n + 1] ? g.starts[n + 1] : 1, sizeof *g.rows);
    for (size_t i = 0; i < count; i++) {
        uint32_t thread = pick(t, i, arg);

        if (thread != LPO_NONE)
            g.rows[g.starts[thread + 1]++] = (uint32_t)i;
    }
    return g;
}

static uint32_t launch_thread(const struct lpo_trace *t, size_t row, int arg)
{
    (void)arg;
    return t->launches.at[row].thread;
}

struct lpo_group lpo_region_group_launches(const struct lpo_trace *t)
{
    return group(t, t->launches.len, launch_thread, 0);
}

static uint32_t op_thread(const struct lpo_trace *t, size_t row, int arg)
{
    (void)arg;
    return t->ops.at[row].thread;
}

struct lpo_group lpo_region_group_ops(const struct lpo_trace *t)
{
    return group(t, t->ops.len, op_thread, 0);
}

void lpo_region_group_free(struct lpo_group *g)
{
    free(g->rows);
    free(g->starts);
    *g = (struct lpo_group){ 0 };
}

bool lpo_region_launch_before(const void *trace, uint32_t a, uint32_t b)
{
    const struct lpo_trace *t = trace;
    const struct lpo_launch *la = &t->launches.at[a], *lb = &t->launches.at[b];

    return la->start_ns != lb->start_ns ? la->start_ns < lb->start_ns : la->end_ns < lb->end_ns;
}
