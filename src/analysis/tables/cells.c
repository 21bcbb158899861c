/* SPDX-License-Identifier: Apache-2.0 */
/* Values that many tables have: names of the trace, GPUs, processes, sums of launches. */

#include "analysis/analysis.h"
#include "analysis/tables/tables.h"

const struct lpo_tables_of *lpo_tables_of(struct lpo_arena *arena, const struct lpo_analysis *a,
                                          const struct lpo_hardware *hw)
{
    struct lpo_tables_of *of = LPO_NEW(arena, struct lpo_tables_of);

    *of = (struct lpo_tables_of){ .a = a, .hw = hw, .arena = arena };
    return of;
}

struct lpo_rows lpo_tables_rows(const void *of, const struct lpo_table_kind *kind, const void *at,
                                size_t count)
{
    return (struct lpo_rows){ kind, count, of, at, NULL };
}

struct lpo_rows lpo_tables_kept(const void *of, const struct lpo_table_kind *kind, const void *at,
                                size_t count, size_t size)
{
    void *kept = lpo_arena_array(((const struct lpo_tables_of *)of)->arena, count + 1, size);

    if (count)
        memcpy(kept, at, count * size);
    return lpo_tables_rows(of, kind, kept, count);
}

const struct lpo_analysis *lpo_tables_analysis(const struct lpo_rows *rows)
{
    return ((const struct lpo_tables_of *)rows->of)->a;
}

const struct lpo_trace *lpo_tables_trace(const struct lpo_rows *rows)
{
    return lpo_tables_analysis(rows)->trace;
}

struct lpo_cell lpo_tables_name(const struct lpo_rows *rows, uint32_t name)
{
    const struct lpo_trace *t = lpo_tables_trace(rows);

    return name == LPO_NONE ? lpo_cell_unknown()
                            : lpo_cell_textn(lpo_trace_text(t, name), lpo_trace_text_len(t, name));
}

struct lpo_cell lpo_tables_kernel(const struct lpo_rows *rows, uint32_t name)
{
    struct lpo_cell c = lpo_tables_name(rows, name);
    const char *shown = lpo_region_cells_shown_name(lpo_tables_analysis(rows)->cells, name);

    c.shown = shown == c.text ? NULL : shown;
    return c;
}

struct lpo_cell lpo_tables_region(const struct lpo_rows *rows, uint32_t node)
{
    if (node == LPO_NONE)
        return lpo_cell_unknown();
    lpo_region_add_path(lpo_tables_analysis(rows)->tree, node, lpo_table_scratch(rows));
    return lpo_cell_scratch(rows);
}

struct lpo_cell lpo_tables_path(const struct lpo_rows *rows, uint32_t node)
{
    return node == LPO_NODE_OUTSIDE ? lpo_cell_text("(outside)") : lpo_tables_region(rows, node);
}

struct lpo_cell lpo_tables_region_of(const struct lpo_rows *rows, uint32_t place)
{
    const struct lpo_region_tree *tree = lpo_tables_analysis(rows)->tree;

    return lpo_tables_region(rows, place == LPO_NONE ? LPO_NONE : tree->places.at[place].leaf);
}

struct lpo_cell lpo_tables_pid(const struct lpo_rows *rows, uint16_t process)
{
    int64_t pid = lpo_tables_trace(rows)->processes.at[process].pid;

    return lpo_cell_whole_if(pid >= 0, pid);
}

struct lpo_cell lpo_tables_rank(const struct lpo_rows *rows, uint16_t process)
{
    int32_t rank = lpo_tables_trace(rows)->processes.at[process].rank;

    return lpo_cell_whole_if(rank >= 0, rank);
}

struct lpo_cell lpo_tables_device(const struct lpo_rows *rows, uint16_t device)
{
    const struct lpo_trace *t = lpo_tables_trace(rows);

    return lpo_cell_whole_if(device < t->devices.len,
                             device < t->devices.len ? t->devices.at[device].id : 0);
}

struct lpo_cell lpo_tables_gpu(const struct lpo_rows *rows, uint16_t device)
{
    const struct lpo_device *d = &lpo_tables_trace(rows)->devices.at[device];

    if (d->rank >= 0)
        lpo_str_addf(lpo_table_scratch(rows), "%d (rank %d)", d->id, d->rank);
    else
        lpo_str_addf(lpo_table_scratch(rows), "%d", d->id);
    return lpo_cell_scratch(rows);
}

struct lpo_cell lpo_tables_scope(const struct lpo_rows *rows, uint16_t device)
{
    const struct lpo_device *d = &lpo_tables_trace(rows)->devices.at[device];

    if (d->rank >= 0)
        lpo_str_addf(lpo_table_scratch(rows), "rank:%d/device:%d", d->rank, d->id);
    else
        lpo_str_addf(lpo_table_scratch(rows), "device:%d", d->id);
    return lpo_cell_scratch(rows);
}

struct lpo_cell lpo_tables_sum(const struct lpo_sum *s)
{
    return lpo_cell_whole_if(lpo_region_sum_known(s), s->ns);
}

/* The time of a kernel in a CUDA graph that was timed as a whole is a share of the graph's. Over
 * all kernels of the graph the shares add up to what was measured, so a sum is an estimate only
 * where some of them are left out. */
struct lpo_cell lpo_tables_some(const struct lpo_sum *s, int64_t ns, bool some)
{
    struct lpo_cell c = lpo_cell_whole_if(lpo_region_sum_known(s) && ns != LPO_NO_TIME, ns);

    if (c.how && some && lpo_region_sum_estimated(s))
        c.how = LPO_ESTIMATED;
    return c;
}

struct lpo_cell lpo_tables_part(const struct lpo_sum *s, int64_t total_ns, bool some)
{
    struct lpo_cell c = lpo_region_sum_known(s) ? lpo_cell_share((double)s->ns, (double)total_ns)
                                                : lpo_cell_unknown();

    if (c.how && some && lpo_region_sum_estimated(s))
        c.how = LPO_ESTIMATED;
    return c;
}
