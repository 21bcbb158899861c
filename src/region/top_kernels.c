/* SPDX-License-Identifier: Apache-2.0 */
#include "region/top_kernels.h"

#include <stdlib.h>
#include <string.h>

#include "util/checked.h"

static int by_cost(const void *pa, const void *pb, void *trace)
{
    const struct lpo_top_row *a = pa, *b = pb;

    if (a->sum.ns != b->sum.ns)
        return a->sum.ns > b->sum.ns ? -1 : 1;
    if (a->sum.launches != b->sum.launches)
        return a->sum.launches > b->sum.launches ? -1 : 1;
    return strcmp(lpo_trace_text(trace, a->name), lpo_trace_text(trace, b->name));
}

/* Summed from the cells, not from the operations: there are a thousand times fewer, and a trace
 * that was summed while it was read has no operations. */
void lpo_region_top(const struct lpo_region_cells *cells, enum lpo_gpu_op_kind kind,
                    lpo_top_rows *out)
{
    struct lpo_map_pair map = { 0 };
    int64_t total_ns = 0;

    for (size_t i = 0; i < cells->cells.len; i++) {
        const struct lpo_region_cell *c = &cells->cells.at[i];
        bool fresh;
        uint32_t row;

        if (c->kind != kind)
            continue;
        row = lpo_map_pair_put(&map, c->name, 0, &fresh);
        if (fresh)
            lpo_vec_push(out, (struct lpo_top_row){ .name = c->name });
        lpo_region_sum_add(&out->at[row].sum, &c->sum);
        total_ns = lpo_ns_add(total_ns, c->sum.ns);
    }
    for (size_t i = 0; i < out->len && total_ns > 0; i++)
        out->at[i].share = (double)out->at[i].sum.ns / (double)total_ns;
    if (out->len)
        qsort_r(out->at, out->len, sizeof *out->at, by_cost, (void *)cells->tree->trace);
    lpo_map_pair_free(&map);
}
