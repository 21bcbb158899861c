/* Kernels of CUDA graphs by the regions in which they were captured. */
#include "region/fold.h"
#include "region/scope.h"
#include "report/doc/doc.h"
#include "report/sum_cells.h"
#include "report/tables/tables.h"

static const struct lpo_column columns[] = {
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
                      columns, sizeof columns / sizeof *columns);
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
