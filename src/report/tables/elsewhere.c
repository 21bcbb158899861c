/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of regions that kernels belong to besides the one that launched them: the region of their
 * forward pass, and the one in which their CUDA graph was captured. */
#include "region/fold.h"
#include "region/scope.h"
#include "report/doc/doc.h"
#include "report/tables/launch_cells.h"
#include "report/tables/tables.h"
#include "util/arena.h"
#include "util/str.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

static const struct lpo_column backward_columns[] = {
    { "region", "Backward of", LPO_CELL_TEXT, NULL },
    { "launches", "Launches", LPO_CELL_COUNT, NULL },
    { "gpu_ns", "GPU time", LPO_CELL_NS, NULL },
    { "share", "Share", LPO_CELL_PERCENT, NULL },
    { "recomputed_launches", "Launches again", LPO_CELL_COUNT, NULL, 1 },
    { "recomputed_ns", "Recomputed", LPO_CELL_NS, NULL },
};

void lpo_report_add_backward(struct lpo_doc *doc, const struct lpo_region_scope *s,
                             const struct lpo_table_options *options)
{
    LPO_AUTO(lpo_region_fold) fold = lpo_region_fold_create(s, options->fold_over);
    bool again = s->coverage.recomputed.launches > 0;
    size_t all = 0, n = 0;
    struct lpo_table *t;

    if (!s->coverage.backward.launches && !again)
        return;
    t = lpo_doc_table(doc, "backward",
                      "Kernels of the backward pass, by the region of their forward",
                      backward_columns, COUNT(backward_columns) - (again ? 0 : 2));
    for (size_t i = 0; i < fold->rows.len; i++) {
        const struct lpo_region_row *r = &fold->rows.at[i].sum;
        LPO_STR name = { 0 }, path = { 0 };

        if (!r->backward.launches && !r->recomputed.launches)
            continue;
        all++;
        if (options->most_rows && n++ >= options->most_rows)
            continue;
        lpo_str_addf(&name, "%s (backward)", fold->rows.at[i].name);
        lpo_str_addf(&path, "%s (backward)", fold->rows.at[i].path);
        lpo_doc_row_path(t, lpo_arena_strdup(doc->arena, lpo_str_text(&name)),
                         lpo_arena_strdup(doc->arena, lpo_str_text(&path)), fold->rows.at[i].depth);
        lpo_doc_row_count(t, r->backward.launches);
        lpo_report_row_sum_ns(t, &r->backward, r->backward.ns, true);
        lpo_report_row_sum_share(t, &r->backward, s->coverage.total.ns, true);
        if (again) {
            lpo_doc_row_count(t, r->recomputed.launches);
            lpo_report_row_sum_ns(t, &r->recomputed, r->recomputed.ns, true);
        }
    }
    if (lpo_doc_table_rows(t) < all)
        t->total_rows = all;
}

static const struct lpo_column captured_columns[] = {
    { "region", "Captured in", LPO_CELL_TEXT, NULL },
    { "launches", "Launches", LPO_CELL_COUNT, NULL },
    { "gpu_ns", "GPU time", LPO_CELL_NS, NULL },
    { "share", "Share", LPO_CELL_PERCENT, NULL },
};

void lpo_report_add_captured(struct lpo_doc *doc, const struct lpo_region_scope *s,
                             const struct lpo_table_options *options)
{
    LPO_AUTO(lpo_region_fold) fold = lpo_region_fold_create(s, options->fold_over);
    int64_t total_ns = 0;
    size_t all = 0, n = 0;
    struct lpo_table *t;

    for (size_t i = 0; i < fold->rows.len; i++) {
        const struct lpo_fold_row *r = &fold->rows.at[i];

        all += r->sum.captured.launches > 0;
        if (r->depth == 0)
            total_ns += r->sum.captured.ns;
    }
    if (!all)
        return;
    t = lpo_doc_table(doc, "captured", "Kernels of CUDA graphs, by where they were captured",
                      captured_columns, COUNT(captured_columns));
    for (size_t i = 0; i < fold->rows.len; i++) {
        const struct lpo_fold_row *r = &fold->rows.at[i];

        if (!r->sum.captured.launches)
            continue;
        if (options->most_rows && n++ == options->most_rows)
            break;
        lpo_doc_row_path(t, r->name, r->path, r->depth);
        lpo_doc_row_count(t, r->sum.captured.launches);
        lpo_report_row_sum_ns(t, &r->sum.captured, r->sum.captured.ns, true);
        lpo_report_row_sum_share(t, &r->sum.captured, total_ns, true);
    }
    if (lpo_doc_table_rows(t) < all)
        t->total_rows = all;
}
