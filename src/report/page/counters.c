/* SPDX-License-Identifier: Apache-2.0 */
/* What else is known of kernels and regions: how kernels were launched, and counters of ncu. */

#include "analysis/analysis.h"
#include "report/doc/doc.h"
#include "report/page/page.h"

enum { MOST_SHAPES = 6, MOST_SHOWN_SHAPES = 8000, MOST_VALUES = 30000, FEWEST_METRICS = 20 };

/* How often a kernel of the page was launched with one grid and block. */
struct use {
    uint32_t kernel, shape;
    uint64_t launches;
};

LPO_COMPARE(by_kernel, struct use, LPO_UP(kernel) ?: LPO_DOWN(launches) ?: LPO_UP(shape));

static void put_use(struct lpo_record *list, const struct lpo_trace *t, const struct use *u)
{
    const struct lpo_shape *s = &t->shapes.at[u->shape];
    struct lpo_record *r = lpo_doc_put_list(list, NULL);

    lpo_doc_put(r, LPO_V(u->kernel), LPO_V(u->launches));
    for (int i = 0; i < 3; i++)
        lpo_doc_put(r, LPO_V(s->grid[i]));
    for (int i = 0; i < 3; i++)
        lpo_doc_put(r, LPO_V(s->block[i]));
}

void lpo_page_put_shapes(struct lpo_record *to, const struct lpo_analysis *a,
                         const struct lpo_page_kernels *kernels)
{
    const struct lpo_trace *t = a->trace;
    LPO_AUTO(lpo_map_u64) rows = lpo_map_u64_create(0);
    LPO_FREED LPO_VEC(struct use) uses = { 0 };
    struct lpo_record *list = lpo_doc_put_list(to, "shapes");
    size_t of_kernel = 0, shown = 0;

    for (size_t i = 0; i < t->gpu_ops.len; i++) {
        const struct lpo_gpu_op *w = &t->gpu_ops.at[i];
        uint32_t kernel = kernels->rows[w->name], *row;
        bool fresh;

        if (w->kind != LPO_KERNEL || w->shape == LPO_NONE || kernel == LPO_NONE)
            continue;
        row = lpo_map_u64_put(rows, (uint64_t)kernel << 32 | w->shape, &fresh);
        if (fresh) {
            *row = (uint32_t)uses.len;
            lpo_vec_push(&uses, (struct use){ kernel, w->shape, 0 });
        }
        uses.at[*row].launches++;
    }
    lpo_vec_sort(&uses, by_kernel);
    for (size_t i = 0; i < uses.len && shown < MOST_SHOWN_SHAPES; i++) {
        of_kernel = i && uses.at[i - 1].kernel == uses.at[i].kernel ? of_kernel + 1 : 0;
        if (of_kernel < MOST_SHAPES) {
            put_use(list, t, &uses.at[i]);
            shown++;
        }
    }
}

static void put_values(struct lpo_record *to, const struct lpo_region_scope *s,
                       const struct lpo_region_row *row, size_t metrics)
{
    const struct lpo_trace *t = s->cells->tree->trace;

    for (size_t i = 0; i < metrics; i++) {
        const struct lpo_metric_sum *sum =
            &s->metric_sums.at[(size_t)row->metrics * t->metrics.len + i];

        if (sum->weight == 0)
            lpo_doc_put(to, LPO_V(lpo_jv_null()));
        else
            lpo_doc_put(to, LPO_V(lpo_region_metric_value(t->metrics.at[i].combine, sum)));
    }
}

void lpo_page_put_counters(struct lpo_record *to, const struct lpo_analysis *a,
                           const uint32_t *regions)
{
    const struct lpo_region_scope *s = lpo_analysis_all(a);
    const struct lpo_trace *t = a->trace;
    struct lpo_record *counters, *list;
    size_t with = 0, metrics = t->metrics.len, values = 0;

    for (size_t i = 0; i < s->rows.len; i++)
        with += s->rows.at[i].metrics != LPO_NONE;
    if (!with || !metrics)
        return;
    if (metrics > FEWEST_METRICS && metrics * with > MOST_VALUES)
        metrics = MOST_VALUES / with > FEWEST_METRICS ? MOST_VALUES / with : FEWEST_METRICS;
    counters = lpo_doc_put_record(to, "counters");
    list = lpo_doc_put_list(counters, "metrics");
    for (size_t i = 0; i < metrics; i++) {
        const struct lpo_metric *m = &t->metrics.at[i];

        lpo_doc_put(lpo_doc_put_record(list, NULL), LPO_KV("name", lpo_trace_text(t, m->name)),
                    LPO_KV("unit", m->unit == LPO_NONE ? NULL : lpo_trace_text(t, m->unit)));
    }
    lpo_doc_put(counters, LPO_KV("left_out", t->metrics.len - metrics));
    list = lpo_doc_put_list(counters, "regions");
    for (size_t i = 0; i < s->rows.len && values < MOST_VALUES; i++) {
        const struct lpo_region_row *row = &s->rows.at[i];
        size_t node = row->node == LPO_NODE_OUTSIDE ? a->tree->nodes.len : row->node;
        struct lpo_record *r;

        if (row->metrics == LPO_NONE || regions[node] == LPO_NONE)
            continue;
        r = lpo_doc_put_record(list, NULL);
        lpo_doc_put(r, LPO_KV("row", regions[node]));
        put_values(lpo_doc_put_list(r, "values"), s, row, metrics);
        values += metrics;
    }
}
