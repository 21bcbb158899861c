/* SPDX-License-Identifier: Apache-2.0 */
#include "region/thread_rows.h"

#include <stdlib.h>
#include <string.h>

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

static uint32_t range_thread(const struct lpo_trace *t, size_t row, int kind)
{
    const struct lpo_range *r = &t->ranges.at[row];

    return (r->kind == LPO_START_END) == (kind == LPO_START_END) ? r->thread : LPO_NONE;
}

static uint32_t launch_thread(const struct lpo_trace *t, size_t row, int arg)
{
    (void)arg;
    return t->launches.at[row].thread;
}

static uint32_t capture_thread(const struct lpo_trace *t, size_t row, int arg)
{
    (void)arg;
    return t->captures.at[row].thread;
}

static uint32_t path_thread(const struct lpo_trace *t, size_t row, int arg)
{
    (void)arg;
    return t->paths.at[row].thread;
}

struct lpo_group lpo_region_group_paths(const struct lpo_trace *t)
{
    return group(t, t->paths.len, path_thread, 0);
}

struct lpo_group lpo_region_group_ranges(const struct lpo_trace *t, enum lpo_range_kind kind)
{
    return group(t, t->ranges.len, range_thread, kind);
}

struct lpo_group lpo_region_group_launches(const struct lpo_trace *t)
{
    return group(t, t->launches.len, launch_thread, 0);
}

struct lpo_group lpo_region_group_captures(const struct lpo_trace *t)
{
    return group(t, t->captures.len, capture_thread, 0);
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

bool lpo_region_capture_before(const void *trace, uint32_t a, uint32_t b)
{
    const struct lpo_trace *t = trace;

    return t->captures.at[a].ns < t->captures.at[b].ns;
}

static void see(int64_t *ends, uint16_t process, int64_t ns)
{
    if (ns > ends[process])
        ends[process] = ns;
}

/* Only where a range is open: the passes over millions of rows are for those alone. */
struct lpo_process_ends lpo_region_ends_find(const struct lpo_trace *t)
{
    struct lpo_process_ends e = { NULL };
    bool any = t->open_paths.len > 0;

    for (size_t i = 0; i < t->ranges.len && !any; i++)
        any = t->ranges.at[i].flags & LPO_RANGE_OPEN;
    if (!any)
        return e;
    e.process_ns = lpo_xcalloc(t->processes.len, sizeof *e.process_ns);
    for (size_t i = 0; i < t->processes.len; i++)
        e.process_ns[i] = t->processes.at[i].end_ns;
    for (size_t i = 0; i < t->launches.len; i++)
        see(e.process_ns, t->threads.at[t->launches.at[i].thread].process,
            t->launches.at[i].end_ns);
    for (size_t i = 0; i < t->gpu_ops.len; i++)
        if (!(t->gpu_ops.at[i].flags & LPO_GPU_OP_UNTIMED))
            see(e.process_ns, t->gpu_ops.at[i].process, t->gpu_ops.at[i].end_ns);
    for (size_t i = 0; i < t->ranges.len; i++) {
        const struct lpo_range *r = &t->ranges.at[i];

        see(e.process_ns, t->threads.at[r->thread].process,
            r->flags & LPO_RANGE_OPEN ? r->start_ns : r->end_ns);
    }
    return e;
}

void lpo_region_ends_free(struct lpo_process_ends *ends)
{
    free(ends->process_ns);
    ends->process_ns = NULL;
}

int64_t lpo_region_range_end(const struct lpo_process_ends *ends, const struct lpo_trace *t,
                             const struct lpo_range *r)
{
    if (!(r->flags & LPO_RANGE_OPEN))
        return r->end_ns;
    return ends->process_ns[t->threads.at[r->thread].process];
}

size_t lpo_region_set_add(uint32_t *set, size_t count, size_t room, uint32_t node)
{
    size_t i = count;

    while (i && set[i - 1] > node)
        i--;
    if ((i && set[i - 1] == node) || count == room)
        return count;
    memmove(set + i + 1, set + i, (count - i) * sizeof *set);
    set[i] = node;
    return count + 1;
}
