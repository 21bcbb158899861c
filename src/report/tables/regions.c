/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of regions: time, scopes and coverage. */
#include "report/tables/tables.h"

#include <math.h>
#include <string.h>

#include "analysis/analysis.h"
#include "region/fold.h"
#include "region/scope.h"
#include "report/doc/doc.h"
#include "report/tables/launch_cells.h"
#include "util/arena.h"
#include "util/str.h"
#include "util/units.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

/* A row of the table of regions holds these; which of them a table has depends on the scope. */
enum part { BASE, COPIES, ADOPTED, GPU, HOST, CALLS, SPREAD, CODE, PARTS };

static const struct {
    enum part part;
    struct lpo_column column;
} region_columns[] = {
    { BASE, { "region", "Region", LPO_CELL_TEXT, NULL } },
    { BASE, { "visits", "Calls", LPO_CELL_COUNT, NULL } },
    { GPU, { "launches", "Launches", LPO_CELL_COUNT, NULL } },
    { GPU, { "gpu_ns_inclusive", "GPU time", LPO_CELL_NS, NULL } },
    { GPU, { "share", "Share", LPO_CELL_PERCENT, NULL } },
    { GPU, { "gpu_ns_exclusive", "Own GPU time", LPO_CELL_NS, NULL } },
    /* GPU work too: a program may spend more on copies than on kernels */
    { COPIES, { "copies_ns", "Copies", LPO_CELL_NS, NULL, 1 } },
    /* in none of the other columns */
    { ADOPTED, { "adopted_ns", "Adopted", LPO_CELL_NS, NULL } },
    { BASE, { "host_ns", "Host time", LPO_CELL_NS, NULL } },
    /* without GPU operations only the times of the host are known */
    { HOST, { "share", "Share", LPO_CELL_PERCENT, NULL } },
    { HOST, { "host_ns_exclusive", "Own host time", LPO_CELL_NS, NULL } },
    { HOST, { "mean_ns", "Per call", LPO_CELL_NS, NULL } },
    /* what loads or tunes once is not the cost of every call */
    { CALLS, { "first_call_ns", "First call", LPO_CELL_NS, NULL, 2 } },
    { CALLS, { "later_call_ns", "Later, each", LPO_CELL_NS, NULL, 2 } },
    /* about folded families */
    { SPREAD, { "members", "Regions", LPO_CELL_COUNT, NULL, 3 } },
    { SPREAD, { "min_ns", "Min", LPO_CELL_NS, NULL, 4 } },
    { SPREAD, { "median_ns", "Median", LPO_CELL_NS, NULL, 4 } },
    { SPREAD, { "max_ns", "Max", LPO_CELL_NS, NULL, 4 } },
    /* of modules and functions */
    { CODE, { "source", "Code", LPO_CELL_TEXT, NULL, 1 } },
};

struct layout {
    bool parts[PARTS];
    int64_t total_ns; /* that shares are of */
};

static struct lpo_table *add_table(struct lpo_doc *doc, const struct layout *l)
{
    struct lpo_column *columns =
        lpo_arena_alloc(doc->arena, sizeof(struct lpo_column) * COUNT(region_columns));
    size_t n = 0;

    for (size_t i = 0; i < COUNT(region_columns); i++)
        if (l->parts[region_columns[i].part])
            columns[n++] = region_columns[i].column;
    return lpo_doc_table(doc, "regions", "", columns, n);
}

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

static void row_calls(struct lpo_table *t, const struct lpo_region_scope *s,
                      const struct lpo_region_row *r)
{
    struct lpo_region_calls c;

    if (lpo_region_row_calls(s, r, &c) && c.differ) {
        lpo_doc_row_ns(t, c.first_host_ns);
        lpo_doc_row_ns(t, c.later_host_ns);
    } else {
        lpo_doc_row_unknown(t);
        lpo_doc_row_unknown(t);
    }
}

static void row_gpu(struct lpo_table *t, const struct lpo_region_scope *s,
                    const struct lpo_region_row *r, const struct layout *l)
{
    bool some = s->cells->left_out || r->copies.shares;

    lpo_doc_row_count(t, r->all.launches);
    lpo_report_row_sum_ns(t, &r->all, r->all.ns, some);
    lpo_report_row_sum_share(t, &r->all, l->total_ns, some);
    lpo_report_row_sum_ns(t, &r->self, r->self.ns, some);
    if (l->parts[COPIES])
        lpo_report_row_sum_ns(t, &r->copies, r->copies.ns, some);
    if (l->parts[ADOPTED])
        lpo_report_row_sum_ns(t, &r->adopted, r->adopted.ns, true);
}

static void row_host(struct lpo_table *t, const struct lpo_region_row *r, const struct layout *l)
{
    lpo_doc_row_share(t, r->visits_known ? (double)r->host_ns : NAN, (double)l->total_ns);
    row_host_ns(t, r, r->host_self_ns);
    if (r->visits)
        lpo_doc_row_ns(t, r->host_ns / (int64_t)r->visits);
    else
        lpo_doc_row_unknown(t);
}

/* A function of Python by file and line: the folders before them are in the path, and would push
 * what differs out of the column. */
static const char *shown_name(const struct lpo_region_scope *s, const struct lpo_fold_row *r)
{
    const char *at = strstr(r->name, ".py(");

    if (!at || strcmp(lpo_region_row_kind(s, &r->sum), "python") != 0)
        return r->name;
    while (at > r->name && at[-1] != '/')
        at--;
    return at;
}

static void add_row(struct lpo_table *t, const struct lpo_region_scope *s,
                    const struct lpo_fold_row *r, const struct layout *l)
{
    const char *code = lpo_region_row_source(s, &r->sum);

    lpo_doc_row_path(t, shown_name(s, r), r->path, r->depth);
    row_visits(t, &r->sum);
    if (l->parts[GPU])
        row_gpu(t, s, &r->sum, l);
    row_host_ns(t, &r->sum, r->sum.host_ns);
    if (l->parts[HOST])
        row_host(t, &r->sum, l);
    if (l->parts[CALLS])
        row_calls(t, s, &r->sum);
    if (l->parts[SPREAD])
        row_spread(t, r, l->parts[GPU] ? lpo_region_sum_known(&r->sum.all) : r->sum.visits_known);
    if (l->parts[CODE])
        lpo_doc_row_text(t, code ? code : "");
}

/* Shares of host time are of the sum over the outermost push/pop regions. */
static int64_t host_total(const struct lpo_region_scope *s)
{
    int64_t ns = 0;

    for (size_t i = 0; i < s->rows.len; i++) {
        const struct lpo_region_row *r = &s->rows.at[i];

        if (r->node != LPO_NODE_OUTSIDE && lpo_region_row_depth(s, r) == 0 &&
            s->cells->tree->nodes.at[r->node].kind != LPO_START_END)
            ns += r->host_ns;
    }
    return ns;
}

/* `(outside)` is shown where a GPU operation is in it; the JSON has it always. */
static bool shown(const struct lpo_fold_row *r, bool no_zeros)
{
    if (no_zeros && !r->sum.all.launches && !r->sum.copies.launches && !r->sum.adopted.launches)
        return false;
    return r->sum.node != LPO_NODE_OUTSIDE || r->sum.all.launches || r->sum.copies.launches;
}

/* How much of the host time of a region came only once; 0 where that is less than a hundredth of
 * all: not worth a column. */
static int64_t once_ns(const struct lpo_region_scope *s, const struct lpo_region_row *r,
                       int64_t total_ns, struct lpo_region_calls *c)
{
    int64_t ns;

    if (!lpo_region_row_calls(s, r, c) || !c->differ)
        return 0;
    ns = (c->first_host_ns - c->later_host_ns) * (int64_t)r->firsts;
    return ns >= total_ns / 100 ? ns : 0;
}

static struct layout find_layout(const struct lpo_region_scope *s,
                                 const struct lpo_region_fold *fold,
                                 const struct lpo_table_options *options)
{
    bool copies = s->coverage.copies.launches || s->coverage.sets.launches;
    bool gpu = s->coverage.total.launches || s->cells->left_out || copies;
    struct layout l = { .parts = { [BASE] = true,
                                   [COPIES] = copies,
                                   [GPU] = gpu,
                                   [HOST] = !gpu,
                                   [ADOPTED] = s->coverage.adopted.launches > 0,
                                   [CODE] = s->cells->tree->modules != NULL },
                        .total_ns = gpu ? s->coverage.total.ns : host_total(s) };
    int64_t host_ns = host_total(s);

    for (size_t i = 0; i < fold->rows.len; i++) {
        struct lpo_region_calls c;

        l.parts[SPREAD] |= fold->rows.at[i].members > 1 && !options->no_spread;
        l.parts[CALLS] |= once_ns(s, &fold->rows.at[i].sum, host_ns, &c) > 0;
    }
    return l;
}

enum { NAMED_CALLS = 3 };

/* In words, because a narrow table leaves the columns out. */
static void note_calls(struct lpo_doc *doc, const struct lpo_region_scope *s,
                       const struct lpo_region_fold *fold)
{
    int64_t before = INT64_MAX, total_ns = host_total(s);
    LPO_STR text = { 0 };

    for (int n = 0; n < NAMED_CALLS; n++) {
        const struct lpo_fold_row *best = NULL;
        struct lpo_region_calls c, of_best = { 0 };
        int64_t most = 0;

        for (size_t i = 0; i < fold->rows.len; i++) {
            int64_t ns = once_ns(s, &fold->rows.at[i].sum, total_ns, &c);

            if (ns <= most || ns >= before)
                continue;
            best = &fold->rows.at[i];
            most = ns;
            of_best = c;
        }
        if (!best)
            break;
        before = most;
        lpo_str_addf(&text, "%s%.100s ", n ? "; " : "", best->path);
        lpo_units_add_duration(&text, of_best.first_host_ns);
        lpo_str_add(&text, ", then ");
        lpo_units_add_duration(&text, of_best.later_host_ns);
        if (best->sum.visits > best->sum.firsts + 1)
            lpo_str_add(&text, " each");
    }
    if (text.len)
        lpo_doc_paragraph(doc,
                          "First calls take longer than later ones (host time): %s. The table "
                          "holds both.",
                          lpo_str_text(&text));
}

struct lpo_table *lpo_report_add_regions(struct lpo_doc *doc, const struct lpo_region_scope *s,
                                         const struct lpo_table_options *options)
{
    LPO_AUTO(lpo_region_fold) fold = lpo_region_fold_create(s, options->fold_over);
    struct layout l = find_layout(s, fold, options);
    bool no_zeros = options->no_zeros && (s->coverage.total.launches || l.parts[COPIES]);
    struct lpo_table *t = add_table(doc, &l);
    size_t all = 0, n = 0;

    for (size_t i = 0; i < fold->rows.len; i++) {
        if (!shown(&fold->rows.at[i], no_zeros))
            continue;
        all++;
        if (!options->most_rows || n++ < options->most_rows)
            add_row(t, s, &fold->rows.at[i], &l);
    }
    if (lpo_doc_table_rows(t) < all)
        t->total_rows = all;
    if (l.parts[CALLS])
        note_calls(doc, s, fold);
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
        { "… of these adopted", &c->adopted, false },
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
