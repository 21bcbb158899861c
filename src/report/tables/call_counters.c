/* SPDX-License-Identifier: Apache-2.0 */
/* The table of sampled counters by call: how the calls of a region differ. */
#include <stdlib.h>

#include "analysis/analysis.h"
#include "analysis/counters/sampled.h"
#include "region/fold.h"
#include "region/scope.h"
#include "report/doc/doc.h"
#include "report/tables/tables.h"
#include "trace/trace.h"
#include "util/arena.h"
#include "util/xmalloc.h"

enum part { FIRST, LEAST, MEDIAN, MOST };

static const struct choice {
    struct lpo_column column;
    enum lpo_call_figure figure;
    enum part part;
} choices[] = {
    { { "dram_bytes_first", "DRAM, first", LPO_CELL_BYTES, NULL }, LPO_CALL_DRAM_BYTES, FIRST },
    { { "dram_bytes_min", "DRAM, min", LPO_CELL_BYTES, NULL }, LPO_CALL_DRAM_BYTES, LEAST },
    { { "dram_bytes_median", "Median", LPO_CELL_BYTES, NULL }, LPO_CALL_DRAM_BYTES, MEDIAN },
    { { "dram_bytes_max", "Max", LPO_CELL_BYTES, NULL }, LPO_CALL_DRAM_BYTES, MOST },
    { { "dram_rate_first", "Rate, first", LPO_CELL_MEASURE, "B/s", 3 }, LPO_CALL_DRAM_RATE, FIRST },
    { { "dram_rate_min", "Rate, min", LPO_CELL_MEASURE, "B/s", 2 }, LPO_CALL_DRAM_RATE, LEAST },
    { { "dram_rate_median", "Rate, median", LPO_CELL_MEASURE, "B/s" }, LPO_CALL_DRAM_RATE, MEDIAN },
    { { "dram_rate_max", "Rate, max", LPO_CELL_MEASURE, "B/s", 2 }, LPO_CALL_DRAM_RATE, MOST },
    { { "tensor_active_first", "Tensor cores, first", LPO_CELL_PERCENT, NULL, 5 },
      LPO_CALL_TENSOR_ACTIVE,
      FIRST },
    { { "tensor_active_min", "Tensor cores, min", LPO_CELL_PERCENT, NULL, 4 },
      LPO_CALL_TENSOR_ACTIVE,
      LEAST },
    { { "tensor_active_median", "Tensor cores, median", LPO_CELL_PERCENT, NULL, 1 },
      LPO_CALL_TENSOR_ACTIVE,
      MEDIAN },
    { { "tensor_active_max", "Tensor cores, max", LPO_CELL_PERCENT, NULL, 4 },
      LPO_CALL_TENSOR_ACTIVE,
      MOST },
    { { "sm_active_first", "SMs, first", LPO_CELL_PERCENT, NULL, 5 }, LPO_CALL_SM_ACTIVE, FIRST },
    { { "sm_active_min", "SMs, min", LPO_CELL_PERCENT, NULL, 4 }, LPO_CALL_SM_ACTIVE, LEAST },
    { { "sm_active_median", "SMs, median", LPO_CELL_PERCENT, NULL, 3 },
      LPO_CALL_SM_ACTIVE,
      MEDIAN },
    { { "sm_active_max", "SMs, max", LPO_CELL_PERCENT, NULL, 4 }, LPO_CALL_SM_ACTIVE, MOST },
};

enum { CHOICES = sizeof choices / sizeof *choices };

static const struct lpo_column before[] = {
    { "region", "Region", LPO_CELL_TEXT, NULL },
    { "calls", "Calls", LPO_CELL_COUNT, NULL },
    { "calls_counted", "With figures", LPO_CELL_COUNT, NULL },
    { "border_share", "At borders", LPO_CELL_PERCENT, NULL, 2 },
};

enum { BEFORE = sizeof before / sizeof *before };

static const enum lpo_counters_meaning needed[LPO_CALL_FIGURES] = {
    [LPO_CALL_TENSOR_ACTIVE] = LPO_COUNTER_TENSOR_ACTIVE,
    [LPO_CALL_SM_ACTIVE] = LPO_COUNTER_SM_ACTIVE,
};

static bool has_figure(const struct lpo_sampled_gpu *g, enum lpo_call_figure figure)
{
    return !needed[figure] || lpo_counters_sampled_find(g, needed[figure]);
}

static struct lpo_measure value_of(const struct lpo_call_spread *s, const struct choice *c)
{
    const struct lpo_measure *parts[] = { s->first, s->least, s->median, s->most };

    return parts[c->part][c->figure];
}

static struct lpo_table *make_table(struct lpo_doc *doc, const struct lpo_sampled_gpu *g)
{
    struct lpo_column *columns = lpo_arena_array(doc->arena, BEFORE + CHOICES, sizeof *columns);
    size_t n = 0;

    for (; n < BEFORE; n++)
        columns[n] = before[n];
    for (size_t i = 0; i < CHOICES; i++)
        if (has_figure(g, choices[i].figure))
            columns[n++] = choices[i].column;
    return lpo_doc_table(doc, "call_counters", "Sampled counters of one call", columns, n);
}

static void add_row(struct lpo_table *t, const struct lpo_sampled_gpu *g,
                    const struct lpo_fold_row *r, const struct lpo_call_spread *s)
{
    lpo_doc_row_path(t, r->name, r->path, r->depth);
    lpo_doc_row_count(t, s->calls);
    lpo_doc_row_count(t, s->counted);
    lpo_doc_row_share(t, s->border_ns, s->gpu_ns);
    for (size_t i = 0; i < CHOICES; i++)
        if (has_figure(g, choices[i].figure))
            lpo_doc_row_measure(t, value_of(s, &choices[i]));
}

/* The regions of a line of the folded table. */
static size_t nodes_of(const struct lpo_region_scope *s, const struct lpo_region_fold *fold,
                       size_t line, uint32_t *nodes)
{
    size_t n = 0;

    for (size_t i = 0; i < s->rows.len; i++)
        if (fold->line_of[i] == line && s->rows.at[i].node != LPO_NODE_OUTSIDE)
            nodes[n++] = s->rows.at[i].node;
    return n;
}

struct lpo_table *lpo_report_add_call_counters(struct lpo_doc *doc, const struct lpo_analysis *a,
                                               const struct lpo_region_scope *s,
                                               const struct lpo_table_options *options)
{
    const struct lpo_sampled_gpu *g;
    LPO_AUTO(lpo_region_fold) fold = NULL;
    struct lpo_table *t = NULL;
    uint32_t *nodes;
    size_t all = 0;

    if (!a->sampled || !a->sampled->gpus.len || s->id.kind != LPO_SCOPE_ALL)
        return NULL;
    g = &a->sampled->gpus.at[0]; /* others run the same */
    if (!g->calls.len)
        return NULL;
    fold = lpo_region_fold_create(s, options->fold_over);
    nodes = lpo_xcalloc(s->rows.len + 1, sizeof *nodes);
    for (size_t i = 0; i < fold->rows.len; i++) {
        struct lpo_call_spread spread =
            lpo_counters_call_spread(g, nodes, nodes_of(s, fold, i, nodes));

        if (!spread.counted)
            continue;
        if (!t)
            t = make_table(doc, g);
        if (all++ < options->most_rows || !options->most_rows)
            add_row(t, g, &fold->rows.at[i], &spread);
    }
    if (t && lpo_doc_table_rows(t) < all)
        t->total_rows = all;
    free(nodes);
    return t;
}
