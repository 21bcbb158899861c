/* SPDX-License-Identifier: Apache-2.0 */
/* Which scopes a trace has, and their names. */
#include <stdlib.h>

#include "region/scope.h"
#include "util/budget.h"
#include "util/str.h"

static void add_rank(lpo_scope_ids *out, size_t from, int32_t rank)
{
    for (size_t i = from; i < out->len; i++)
        if (out->at[i].index == rank)
            return;
    lpo_vec_push(out, (struct lpo_scope_id){ LPO_SCOPE_RANK, rank });
}

/* The number people know a scope by, then its rank. */
static int by_number(const void *pa, const void *pb, void *trace)
{
    const struct lpo_trace *t = trace;
    const struct lpo_scope_id *a = pa, *b = pb;
    int64_t na = a->index, nb = b->index, ra = 0, rb = 0;

    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    if (a->kind == LPO_SCOPE_PROCESS) {
        na = t->processes.at[a->index].pid, nb = t->processes.at[b->index].pid;
        ra = t->processes.at[a->index].rank, rb = t->processes.at[b->index].rank;
    } else if (a->kind == LPO_SCOPE_DEVICE) {
        na = t->devices.at[a->index].id, nb = t->devices.at[b->index].id;
        ra = t->devices.at[a->index].rank, rb = t->devices.at[b->index].rank;
    }
    if (na != nb)
        return na < nb ? -1 : 1;
    return ra < rb ? -1 : ra > rb;
}

/* Processes and devices that only appear in a header are no scopes. */
void lpo_region_scopes_list(const struct lpo_region_cells *cells, lpo_scope_ids *out)
{
    const struct lpo_region_tree *tree = cells->tree;
    const struct lpo_trace *t = tree->trace;
    bool *processes = lpo_xcalloc(t->processes.len + 1, sizeof *processes);
    bool *devices = lpo_xcalloc(t->devices.len + 1, sizeof *devices);
    size_t from;

    for (size_t i = 0; i < cells->cells.len; i++) {
        if (cells->cells.at[i].process == LPO_NO_OWNER)
            continue;
        processes[cells->cells.at[i].process] = true;
        devices[cells->cells.at[i].device] = true;
    }
    for (size_t i = 0; i < tree->visits.len; i++)
        processes[tree->visits.at[i].process] = true;
    lpo_vec_push(out, (struct lpo_scope_id){ LPO_SCOPE_ALL, 0 });
    for (size_t i = 0; i < t->processes.len; i++)
        if (processes[i])
            lpo_vec_push(out, (struct lpo_scope_id){ LPO_SCOPE_PROCESS, (int32_t)i });
    for (size_t i = 0; i < t->devices.len; i++)
        if (devices[i])
            lpo_vec_push(out, (struct lpo_scope_id){ LPO_SCOPE_DEVICE, (int32_t)i });
    from = out->len;
    for (size_t i = 0; i < t->processes.len; i++)
        if (processes[i] && t->processes.at[i].rank >= 0)
            add_rank(out, from, t->processes.at[i].rank);
    qsort_r(out->at, out->len, sizeof *out->at, by_number, (void *)(uintptr_t)t);
    if (out->len > lpo_budget()->scopes) /* each costs a pass over the whole tree */
        out->len = (size_t)lpo_budget()->scopes;
    free(processes);
    free(devices);
}

/* Two hosts may both have a process 1 or a device 0: then the rank keeps them apart. */
void lpo_region_scope_add_name(const struct lpo_trace *t, struct lpo_scope_id id,
                               struct lpo_str *out)
{
    int32_t rank = -1;
    bool twice = false;

    if (id.kind == LPO_SCOPE_ALL) {
        lpo_str_add(out, "aggregate");
        return;
    }
    if (id.kind == LPO_SCOPE_RANK) {
        lpo_str_addf(out, "rank:%d", id.index);
        return;
    }
    if (id.kind == LPO_SCOPE_PROCESS) {
        rank = t->processes.at[id.index].rank;
        lpo_str_addf(out, "process:%lld", (long long)t->processes.at[id.index].pid);
        for (size_t i = 0; i < t->processes.len; i++)
            twice |=
                (int32_t)i != id.index && t->processes.at[i].pid == t->processes.at[id.index].pid;
    } else {
        rank = t->devices.at[id.index].rank;
        lpo_str_addf(out, "device:%d", t->devices.at[id.index].id);
        for (size_t i = 0; i < t->devices.len; i++)
            twice |= (int32_t)i != id.index && t->devices.at[i].id == t->devices.at[id.index].id;
    }
    if (twice && rank >= 0)
        lpo_str_addf(out, "@rank:%d", rank);
}
