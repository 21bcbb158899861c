/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of regions: time, coverage, and kernels of CUDA graphs by where they were captured. */
#include "report/tables/tables.h"

#include <math.h>
#include <string.h>

#include "analysis/analysis.h"
#include "region/fold.h"
#include "region/scope.h"
#include "report/doc/doc.h"
#include "report/tables/launch_cells.h"
#include "util/str.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

enum { SPREAD = 4 }; /* the last columns are about folded families: left out where there are none */

static const struct lpo_column gpu_columns[] = {
    { "region", "Region", LPO_CELL_TEXT, NULL },
    { "visits", "Calls", LPO_CELL_COUNT, NULL },
    { "launches", "Launches", LPO_CELL_COUNT, NULL },
    { "gpu_ns_inclusive", "GPU time", LPO_CELL_NS, NULL },
    { "share", "Share", LPO_CELL_PERCENT, NULL },
    { "gpu_ns_exclusive", "Own GPU time", LPO_CELL_NS, NULL },
    { "host_ns", "Host time", LPO_CELL_NS, NULL },
    { "members", "Regions", LPO_CELL_COUNT, NULL, 2 },
    { "min_ns", "Min", LPO_CELL_NS, NULL, 3 },
    { "median_ns", "Median", LPO_CELL_NS, NULL, 3 },
    { "max_ns", "Max", LPO_CELL_NS, NULL, 3 },
};

/* Copies and memsets are GPU work too: a program may spend more on them than on kernels. */
static const struct lpo_column copy_columns[] = {
    { "region", "Region", LPO_CELL_TEXT, NULL },
    { "visits", "Calls", LPO_CELL_COUNT, NULL },
    { "launches", "Launches", LPO_CELL_COUNT, NULL },
    { "gpu_ns_inclusive", "GPU time", LPO_CELL_NS, NULL },
    { "share", "Share", LPO_CELL_PERCENT, NULL },
    { "gpu_ns_exclusive", "Own GPU time", LPO_CELL_NS, NULL },
    { "copies_ns", "Copies", LPO_CELL_NS, NULL, 1 },
    { "host_ns", "Host time", LPO_CELL_NS, NULL },
    { "members", "Regions", LPO_CELL_COUNT, NULL, 2 },
    { "min_ns", "Min", LPO_CELL_NS, NULL, 3 },
    { "median_ns", "Median", LPO_CELL_NS, NULL, 3 },
    { "max_ns", "Max", LPO_CELL_NS, NULL, 3 },
};

/* Without GPU operations only the times of the host are known. */
static const struct lpo_column host_columns[] = {
    { "region", "Region", LPO_CELL_TEXT, NULL },
    { "visits", "Calls", LPO_CELL_COUNT, NULL },
    { "host_ns", "Host time", LPO_CELL_NS, NULL },
    { "share", "Share", LPO_CELL_PERCENT, NULL },
    { "host_ns_exclusive", "Own host time", LPO_CELL_NS, NULL },
    { "mean_ns", "Per call", LPO_CELL_NS, NULL },
    { "members", "Regions", LPO_CELL_COUNT, NULL, 2 },
    { "min_ns", "Min", LPO_CELL_NS, NULL, 3 },
    { "median_ns", "Median", LPO_CELL_NS, NULL, 3 },
    { "max_ns", "Max", LPO_CELL_NS, NULL, 3 },
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

/* Where the times of the members are unknown, so are these: unknown is not 0. */
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
    if (t->columns == copy_columns)
        lpo_report_row_sum_ns(t, &r->sum.copies, r->sum.copies.ns, some);
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

/* Shares of host time are of the sum over the outermost push/pop regions. */
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

/* `(outside)` is shown where a GPU operation is in it; the JSON has it always. */
static bool shown(const struct lpo_fold_row *r, bool no_zeros)
{
    if (no_zeros && !r->sum.all.launches && !r->sum.copies.launches)
        return false;
    return r->sum.node != LPO_NODE_OUTSIDE || r->sum.all.launches || r->sum.copies.launches;
}

struct lpo_table *lpo_report_add_regions(struct lpo_doc *doc, const struct lpo_region_scope *s,
                                         const struct lpo_table_options *options)
{
    LPO_AUTO(lpo_region_fold) fold = lpo_region_fold_create(s, options->fold_over);
    bool copies = s->coverage.copies.launches || s->coverage.sets.launches;
    bool gpu = s->coverage.total.launches || s->cells->left_out || copies, spread = false;
    int64_t total_ns = gpu ? s->coverage.total.ns : host_total(s);
    size_t columns = copies ? COUNT(copy_columns) : gpu ? COUNT(gpu_columns) : COUNT(host_columns);
    bool no_zeros = options->no_zeros && (s->coverage.total.launches || copies);
    size_t all = 0, n = 0;
    struct lpo_table *t;

    for (size_t i = 0; i < fold->rows.len; i++) {
        spread |= fold->rows.at[i].members > 1 && !options->no_spread;
        all += shown(&fold->rows.at[i], no_zeros);
    }
    t = lpo_doc_table(doc, "regions", "",
                      copies ? copy_columns
                      : gpu  ? gpu_columns
                             : host_columns,
                      columns - (spread ? 0 : SPREAD));
    for (size_t i = 0; i < fold->rows.len; i++) {
        if (!shown(&fold->rows.at[i], no_zeros))
            continue;
        if (options->most_rows && n++ == options->most_rows)
            break;
        (gpu ? add_gpu_row : add_host_row)(t, s, &fold->rows.at[i], total_ns, spread);
    }
    if (lpo_doc_table_rows(t) < all)
        t->total_rows = all;
    return t;
}

static const struct lpo_column scope_columns[] = {
    { "scope", "Scope", LPO_CELL_TEXT, NULL },
    { "launches", "Launches", LPO_CELL_COUNT, NULL },
    { "gpu_ns", "GPU time", LPO_CELL_NS, NULL },
    { "share", "Share", LPO_CELL_PERCENT, NULL },
    { "region", "Differs most in", LPO_CELL_TEXT, NULL },
    { "region_share", "Its share here", LPO_CELL_PERCENT, NULL },
    { "region_share_of_all", "Its share in all", LPO_CELL_PERCENT, NULL },
};

/* Shares of the time of a scope; of host time where no kernel ran. */
static double share_in(const struct lpo_region_scope *s, const struct lpo_region_row *r)
{
    bool gpu = s->coverage.total.ns > 0;
    double total = (double)(gpu ? s->coverage.total.ns : host_total(s));

    return total > 0 ? (double)(gpu ? r->all.ns : r->host_ns) / total : 0;
}

/* The share of the line of this path, 0 where the scope has no such region. */
static double share_of_path(const struct lpo_region_scope *s, const struct lpo_region_fold *f,
                            const char *path)
{
    for (size_t i = 0; i < f->rows.len; i++)
        if (strcmp(f->rows.at[i].path, path) == 0)
            return share_in(s, &f->rows.at[i].sum);
    return 0;
}

/* Of the outermost regions, in either of the two, the one whose share differs most. */
static void row_difference(struct lpo_table *t, const struct lpo_region_scope *s,
                           const struct lpo_region_fold *f, const struct lpo_region_scope *all,
                           const struct lpo_region_fold *whole)
{
    const struct lpo_fold_row *most = NULL;
    double here = 0, there = 0;

    for (size_t i = 0; i < whole->rows.len; i++) {
        double a = share_in(all, &whole->rows.at[i].sum), b;

        if (whole->rows.at[i].depth)
            continue;
        b = share_of_path(s, f, whole->rows.at[i].path);
        if (fabs(b - a) > fabs(here - there)) {
            most = &whole->rows.at[i];
            here = b;
            there = a;
        }
    }
    /* what prints as the same is the same */
    if (most && fabs(here - there) >= 0.001) {
        lpo_doc_row_path(t, most->name, most->path, 0);
        lpo_doc_row_percent(t, here * 100);
        lpo_doc_row_percent(t, there * 100);
    } else {
        lpo_doc_row_text(t, "");
        lpo_doc_row_unknown(t);
        lpo_doc_row_unknown(t);
    }
}

void lpo_report_add_scopes(struct lpo_doc *doc, const struct lpo_analysis *a,
                           const struct lpo_scope_id *ids, size_t count, size_t fold_over)
{
    const struct lpo_region_scope *all = lpo_analysis_all(a);
    LPO_AUTO(lpo_region_fold) whole = lpo_region_fold_create(all, fold_over);
    struct lpo_table *t = lpo_doc_table(doc, "scopes", "By process, GPU and rank", scope_columns,
                                        COUNT(scope_columns));

    for (size_t i = 0; i < count; i++) {
        const struct lpo_region_scope *s = lpo_analysis_scope(a, ids[i]);
        LPO_AUTO(lpo_region_fold) f = lpo_region_fold_create(s, fold_over);
        LPO_STR name = { 0 };

        lpo_region_scope_add_name(a->trace, ids[i], &name);
        lpo_doc_row_textn(t, lpo_str_text(&name), name.len);
        lpo_doc_row_count(t, s->coverage.total.launches);
        lpo_report_row_sum_ns(t, &s->coverage.total, s->coverage.total.ns,
                              lpo_region_cells_parted(s->cells));
        lpo_report_row_sum_share(t, &s->coverage.total, all->coverage.total.ns,
                                 lpo_region_cells_parted(s->cells));
        row_difference(t, s, f, all, whole);
    }
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

    t->least_rows = SIZE_MAX;
    for (size_t i = 0; i < COUNT(parts); i++) {
        if (!parts[i].always && !parts[i].sum->launches)
            continue;
        lpo_doc_row_text(t, parts[i].name);
        lpo_doc_row_count(t, parts[i].sum->launches);
        lpo_report_row_sum_ns(t, parts[i].sum, parts[i].sum->ns, some);
        lpo_report_row_sum_share(t, parts[i].sum, c->total.ns, some);
    }
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
