/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/wall/steady.h"

#include "analysis/analysis.h"
#include "analysis/phases/phases.h"

static void sum_kernels(struct lpo_wall_steady *w)
{
    for (size_t i = 0; i < w->top.len; i++) {
        const struct lpo_sum *sum = &w->top.at[i].sum;

        w->class_ns[lpo_region_cells_class(&w->cells, w->top.at[i].name)] += sum->ns;
        w->kernel_ns += sum->ns;
        w->launches += sum->launches;
    }
}

/* Tables of the steady part alone. */
static void leave_out(struct lpo_wall_steady *w, const struct lpo_analysis *a)
{
    static const struct lpo_scope_id all = { LPO_SCOPE_ALL, 0 };

    memset(&w->cells.cells, 0, sizeof w->cells.cells);
    w->cells.processes = w->cells.devices = NULL;
    for (size_t i = 0; i < a->cells->cells.len; i++)
        if (!w->places[a->cells->cells.at[i].place])
            lpo_vec_push(&w->cells.cells, a->cells->cells.at[i]);
    if (a->timeline)
        w->wall = w->own_wall = lpo_wall_create_without(a->tree, w->places);
    w->all = w->own_all = lpo_region_scope_create(&w->cells, all, a->select);
    lpo_region_top(&w->cells, LPO_KERNEL, &w->top);
}

/* Nothing prepares: the tables of the whole trace, which may have a million rows, serve. */
static void borrow(struct lpo_wall_steady *w, const struct lpo_analysis *a)
{
    w->wall = lpo_analysis_wall(a);
    w->all = lpo_analysis_all(a);
    w->top = *lpo_analysis_top(a, LPO_KERNEL);
}

struct lpo_wall_steady *lpo_wall_steady_create(const struct lpo_analysis *a)
{
    const struct lpo_phases *phases = lpo_analysis_phases(a);
    struct lpo_wall_steady *w = lpo_xcalloc(1, sizeof *w);

    w->prepares = phases->nodes;
    w->places = phases->places;
    w->any = phases->any_prepares;
    w->cells = *a->cells;
    if (w->any)
        leave_out(w, a);
    else
        borrow(w, a);
    sum_kernels(w);
    return w;
}

void lpo_wall_steady_destroy(struct lpo_wall_steady *w)
{
    if (!w)
        return;
    if (w->any) { /* else they are the analysis's */
        lpo_vec_free(&w->top);
        lpo_vec_free(&w->cells.cells);
    }
    lpo_region_scope_destroy(w->own_all);
    lpo_wall_destroy(w->own_wall);
    free(w);
}
