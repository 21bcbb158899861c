/* Tables of regions; tables of kernels and of time have their own files. */
#include "report/tables/tables.h"

#include <math.h>
#include <stdlib.h>

#include "analysis/analysis.h"
#include "analysis/wall/timeline.h"
#include "region/fold.h"
#include "region/scope.h"
#include "report/doc/doc.h"
#include "report/sum_cells.h"
#include "util/str.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

enum { SPREAD = 4 }; /* the last columns tell of folded families, and stay away without any */

static const struct lpo_column gpu_columns[] = {
    { "region", "Region", LPO_CELL_TEXT, NULL },
    { "visits", "Visits", LPO_CELL_COUNT, NULL },
    { "launches", "Launches", LPO_CELL_COUNT, NULL },
    { "gpu_ns_inclusive", "GPU time", LPO_CELL_NS, NULL },
    { "share", "Share", LPO_CELL_PERCENT, NULL },
    { "gpu_ns_exclusive", "Own GPU time", LPO_CELL_NS, NULL },
    { "host_ns", "Host time", LPO_CELL_NS, NULL },
    { "members", "Regions", LPO_CELL_COUNT, NULL },
    { "min_ns", "Min", LPO_CELL_NS, NULL },
    { "median_ns", "Median", LPO_CELL_NS, NULL },
    { "max_ns", "Max", LPO_CELL_NS, NULL },
};

/* Without GPU work the host's clock is what there is to tell. */
static const struct lpo_column host_columns[] = {
    { "region", "Region", LPO_CELL_TEXT, NULL },
    { "visits", "Visits", LPO_CELL_COUNT, NULL },
    { "host_ns", "Host time", LPO_CELL_NS, NULL },
    { "share", "Share", LPO_CELL_PERCENT, NULL },
    { "host_ns_exclusive", "Own host time", LPO_CELL_NS, NULL },
    { "mean_ns", "Per visit", LPO_CELL_NS, NULL },
    { "members", "Regions", LPO_CELL_COUNT, NULL },
    { "min_ns", "Min", LPO_CELL_NS, NULL },
    { "median_ns", "Median", LPO_CELL_NS, NULL },
    { "max_ns", "Max", LPO_CELL_NS, NULL },
};

static void row_visits(struct lpo_table *t, const struct lpo_region_row *r)
{
    if (r->visits_known)
        lpo_doc_row_count(t, r->visits);
    else
        lpo_doc_row_unknown(t);
}

static void row_host_ns(struct lpo_table *t, const struct lpo_region_row *r, int64_t ns)
{
    if (r->visits_known)
        lpo_doc_row_ns(t, ns);
    else
        lpo_doc_row_unknown(t);
}

/* Of members whose time nobody told nothing is told either: that is not 0. */
static void row_spread(struct lpo_table *t, const struct lpo_fold_row *r, bool known)
{
    const int64_t ns[] = { r->min_ns, r->median_ns, r->max_ns };

    lpo_doc_row_count(t, r->members);
    for (size_t i = 0; i < COUNT(ns); i++)
        if (known)
            lpo_doc_row_ns(t, ns[i]);
        else
            lpo_doc_row_unknown(t);
}

static void add_gpu_row(struct lpo_table *t, const struct lpo_region_scope *s,
                        const struct lpo_fold_row *r, int64_t total_ns, bool spread)
{
    bool some = s->cells->left_out || r->sum.copies.shares;

    lpo_doc_row_path(t, r->name, r->path, r->depth);
    row_visits(t, &r->sum);
    lpo_doc_row_count(t, r->sum.all.launches);
    lpo_report_row_sum_ns(t, &r->sum.all, r->sum.all.ns, some);
    lpo_report_row_sum_share(t, &r->sum.all, total_ns, some);
    lpo_report_row_sum_ns(t, &r->sum.self, r->sum.self.ns, some);
    row_host_ns(t, &r->sum, r->sum.host_ns);
    if (spread)
        row_spread(t, r, lpo_region_sum_known(&r->sum.all));
}

static void add_host_row(struct lpo_table *t, const struct lpo_region_scope *s,
                         const struct lpo_fold_row *r, int64_t total_ns, bool spread)
{
    (void)s;
    lpo_doc_row_path(t, r->name, r->path, r->depth);
    row_visits(t, &r->sum);
    row_host_ns(t, &r->sum, r->sum.host_ns);
    lpo_doc_row_share(t, r->sum.visits_known ? (double)r->sum.host_ns : NAN, (double)total_ns);
    row_host_ns(t, &r->sum, r->sum.host_self_ns);
    if (r->sum.visits)
        lpo_doc_row_ns(t, r->sum.host_ns / (int64_t)r->sum.visits);
    else
        lpo_doc_row_unknown(t);
    if (spread)
        row_spread(t, r, r->sum.visits_known);
}

/* Host time is shared out among the outermost push/pop regions. */
static int64_t host_total(const struct lpo_region_scope *s)
{
    int64_t ns = 0;

    for (size_t i = 0; i < s->rows.len; i++) {
        const struct lpo_region_row *r = &s->rows.at[i];

        if (r->node != LPO_NODE_OUTSIDE && lpo_region_row_depth(s, r) == 0 &&
            s->cells->tree->nodes.at[r->node].kind == LPO_PUSH_POP)
            ns += r->host_ns;
    }
    return ns;
}

/* `(outside)` is shown where a kernel is in it; the JSON has it always. */
static bool shown(const struct lpo_fold_row *r)
{
    return r->sum.node != LPO_NODE_OUTSIDE || r->sum.all.launches;
}

void lpo_report_add_regions(struct lpo_doc *doc, const struct lpo_region_scope *s,
                            const struct lpo_table_options *options)
{
    LPO_AUTO(lpo_region_fold) fold = lpo_region_fold_create(s, options->fold_over);
    bool gpu = s->coverage.total.launches || s->cells->left_out, spread = false;
    int64_t total_ns = gpu ? s->coverage.total.ns : host_total(s);
    size_t columns = gpu ? COUNT(gpu_columns) : COUNT(host_columns), all = 0, n = 0;
    struct lpo_table *t;

    for (size_t i = 0; i < fold->rows.len; i++) {
        spread |= fold->rows.at[i].members > 1 && !options->no_spread;
        all += shown(&fold->rows.at[i]);
    }
    t = lpo_doc_table(doc, "regions", "", gpu ? gpu_columns : host_columns,
                      columns - (spread ? 0 : SPREAD));
    for (size_t i = 0; i < fold->rows.len; i++) {
        if (!shown(&fold->rows.at[i]))
            continue;
        if (options->most_rows && n++ == options->most_rows)
            break;
        (gpu ? add_gpu_row : add_host_row)(t, s, &fold->rows.at[i], total_ns, spread);
    }
    if (lpo_doc_table_rows(t) < all)
        t->total_rows = all;
}

static const struct lpo_column coverage_columns[] = {
    { "part", "Kernels", LPO_CELL_TEXT, NULL },
    { "launches", "Launches", LPO_CELL_COUNT, NULL },
    { "gpu_ns", "GPU time", LPO_CELL_NS, NULL },
    { "share", "Share", LPO_CELL_PERCENT, NULL },
};

void lpo_report_add_coverage(struct lpo_doc *doc, const struct lpo_region_scope *s)
{
    const struct lpo_coverage *c = &s->coverage;
    bool some = lpo_region_cells_parted(s->cells);
    const struct {
        const char *name;
        const struct lpo_sum *sum;
        bool always;
    } parts[] = {
        { "inside a region", &c->in_region, true },
        { "launched outside every region", &c->outside, true },
        { "without a launch record", &c->no_launch, false },
        { "all", &c->total, true },
    };
    struct lpo_table *t =
        lpo_doc_table(doc, "coverage", "", coverage_columns, COUNT(coverage_columns));

    for (size_t i = 0; i < COUNT(parts); i++) {
        if (!parts[i].always && !parts[i].sum->launches)
            continue;
        lpo_doc_row_text(t, parts[i].name);
        lpo_doc_row_count(t, parts[i].sum->launches);
        lpo_report_row_sum_ns(t, parts[i].sum, parts[i].sum->ns, some);
        lpo_report_row_sum_share(t, parts[i].sum, c->total.ns, some);
    }
}

static const struct lpo_column idle_columns[] = {
    { "region", "Region", LPO_CELL_TEXT, NULL },
    { "idle_ns", "Idle inside", LPO_CELL_NS, NULL },
    { "host_ns", "Host too late", LPO_CELL_NS, NULL },
    { "dependency_ns", "Dependency", LPO_CELL_NS, NULL },
    { "other_ns", "Other", LPO_CELL_NS, NULL },
    { "gaps", "Gaps", LPO_CELL_COUNT, NULL },
};

struct idle_row {
    const struct lpo_region_row *row;
    const struct lpo_gaps *gaps;
};

static int by_idle(const void *a, const void *b)
{
    const struct idle_row *x = a, *y = b;
    int64_t nx = lpo_wall_gaps_ns(x->gaps), ny = lpo_wall_gaps_ns(y->gaps);

    if (nx != ny)
        return nx > ny ? -1 : 1;
    return x->row < y->row ? -1 : x->row > y->row;
}

void lpo_report_add_region_idle(struct lpo_doc *doc, const struct lpo_analysis *a,
                                const struct lpo_region_scope *s, size_t most)
{
    struct lpo_table *t =
        lpo_doc_table(doc, "region_idle", "Idle inside regions", idle_columns, COUNT(idle_columns));
    LPO_VEC(struct idle_row) rows = { 0 };
    LPO_STR path = { 0 };

    for (size_t i = 0; i < s->rows.len; i++) {
        uint32_t node = s->rows.at[i].node;

        if (node != LPO_NODE_OUTSIDE && lpo_wall_gaps_ns(&a->timeline->nodes[node]))
            lpo_vec_push(&rows, (struct idle_row){ &s->rows.at[i], &a->timeline->nodes[node] });
    }
    if (rows.len)
        qsort(rows.at, rows.len, sizeof *rows.at, by_idle);
    for (size_t i = 0; i < rows.len && i < most; i++) {
        const struct lpo_gaps *g = rows.at[i].gaps;

        lpo_str_clear(&path);
        lpo_region_row_add_path(s, rows.at[i].row, &path);
        lpo_doc_row_textn(t, lpo_str_text(&path), path.len);
        lpo_doc_row_ns(t, lpo_wall_gaps_ns(g));
        for (int c = 0; c < LPO_GAP_CAUSES; c++)
            lpo_doc_row_ns(t, g->by[c].ns);
        lpo_doc_row_count(t, g->by[0].count + g->by[1].count + g->by[2].count);
    }
    if (rows.len > most)
        t->total_rows = rows.len;
    lpo_vec_free(&rows);
}
