/* SPDX-License-Identifier: Apache-2.0 */
#include "report/ncu_regions.h"

#include <string.h>

#include "analysis/analysis.h"
#include "hydra/compose.h"
#include "region/scope.h"
#include "region/select.h"
#include "report/doc/doc.h"
#include "report/region_rows.h"
#include "report/tables/tables.h"
#include "report/trace_notes.h"
#include "report/trace_records.h"
#include "rundir/rundir.h"
#include "settings/settings.h"
#include "trace/metric_rules.h"
#include "trace/trace.h"
#include "util/arena.h"
#include "util/budget.h"
#include "util/path.h"
#include "util/str.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

enum { MOST_FOLDERS = 500 };

/* Where the counters are: laid over another trace, else in ncu's own. */
static const struct lpo_source *counters(const struct lpo_rundir *d)
{
    return d->overlay.stage ? lpo_rundir_source(d, d->overlay.stage)
                            : lpo_rundir_source_with(d, LPO_ROLE_COUNTERS);
}

static const struct lpo_column metric_columns[] = {
    { "metric", "Metric", LPO_CELL_TEXT, NULL },
    { "value", "Value", LPO_CELL_MEASURE, NULL },
    { "unit", "Unit", LPO_CELL_TEXT, NULL },
    { "how", "Combined by", LPO_CELL_TEXT, NULL },
};

/* Facts of the device and of the launch are the same everywhere and no measure of a region; the
 * JSON has them. */
static bool is_fact(const char *metric)
{
    static const char *const prefixes[] = { "device__", "launch__",   "nvlink__",
                                            "numa__",   "profiler__", "c2clink__" };

    for (size_t i = 0; i < COUNT(prefixes); i++)
        if (lpo_str_starts(metric, prefixes[i]))
            return true;
    return false;
}

/* Metrics of the trace in the order of the tables: those that the config asks for, as it lists
 * them, then the others that are no facts. */
struct metric_order {
    uint32_t *at;
    size_t len;
};

static struct metric_order order_metrics(const struct lpo_rundir *d, const struct lpo_trace *t)
{
    const struct lpo_rundir_kind *kind = lpo_rundir_kind_with(d, LPO_ROLE_COUNTERS);
    struct lpo_settings_words asked = { 0 };
    struct metric_order order = { lpo_arena_array(d->arena, t->metrics.len, sizeof *order.at), 0 };
    bool *used = lpo_arena_array(d->arena, t->metrics.len, sizeof *used);

    memset(used, 0, t->metrics.len * sizeof *used);
    if (kind && kind->metrics)
        asked = lpo_settings_list(d->arena, d->config, kind->metrics);
    for (size_t i = 0; i < asked.len; i++) {
        uint32_t m = lpo_trace_metric_find(t, asked.at[i]);

        if (m == LPO_NONE || used[m])
            continue;
        used[m] = true;
        order.at[order.len++] = m;
    }
    for (uint32_t i = 0; i < t->metrics.len; i++)
        if (!used[i] && !t->metrics.at[i].sampled &&
            !is_fact(lpo_trace_text(t, t->metrics.at[i].name)))
            order.at[order.len++] = i;
    return order;
}

static void add_metrics(struct lpo_doc *doc, const struct lpo_region_scope *s,
                        const struct lpo_region_row *row, const struct metric_order *order,
                        size_t most)
{
    const struct lpo_trace *t = s->cells->tree->trace;
    struct lpo_table *table;
    size_t n = 0;

    if (row->metrics == LPO_NONE)
        return;
    table = lpo_doc_table(doc, "metrics", "Metrics", metric_columns, COUNT(metric_columns));
    for (size_t i = 0; i < order->len; i++) {
        const struct lpo_metric *m = &t->metrics.at[order->at[i]];
        const struct lpo_metric_sum *sum =
            &s->metric_sums.at[(size_t)row->metrics * t->metrics.len + order->at[i]];
        double v = lpo_region_metric_value(m->combine, sum);

        if (sum->weight == 0 || (most && n++ >= most))
            continue;
        lpo_doc_row_text(table, lpo_trace_text(t, m->name));
        lpo_doc_row_measure(table,
                            row->estimated ? lpo_measure_estimated(v) : lpo_measure_measured(v));
        lpo_doc_row_text(table, m->unit == LPO_NONE ? "" : lpo_trace_text(t, m->unit));
        lpo_doc_row_text(table, lpo_trace_combine_name(m->combine));
    }
    if (most && n > most)
        table->total_rows = n;
}

static void add_facts(struct lpo_doc *doc, const struct lpo_region_row *row)
{
    if (row->visits_known)
        lpo_doc_fact_count(doc, "visits", "Calls", row->visits);
    lpo_doc_fact_count(doc, "launches", "Kernel launches", row->all.launches);
    if (lpo_region_sum_known(&row->all)) {
        lpo_doc_fact_ns(doc, "gpu_ns_inclusive", "GPU time", row->all.ns);
        lpo_doc_fact_ns(doc, "gpu_ns_exclusive", "Own GPU time", row->self.ns);
    }
    lpo_doc_fact_count(doc, "distinct_kernels", "Distinct kernels", row->nkernels);
    lpo_doc_fact_count(doc, "kernels_measured", "Launches with counters of their own",
                       row->measured);
    if (row->estimated)
        lpo_doc_fact_count(doc, "kernels_estimated", "Launches with counters of a representative",
                           row->estimated);
}

/* What people look at first, each with the names that ncu has for it; the first found counts. */
static const struct key_metric {
    const char *names[3];
} key_metrics[] = {
    { { "dram__bytes.sum", NULL } },
    { { "dram__throughput.avg.pct_of_peak_sustained_elapsed",
        "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed", NULL } },
    { { "sm__throughput.avg.pct_of_peak_sustained_elapsed", NULL } },
    { { "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed", NULL } },
    { { "sm__warps_active.avg.pct_of_peak_sustained_active", NULL } },
};

static const struct lpo_column key_columns[] = {
    { "region", "Region", LPO_CELL_TEXT, NULL },
    { "gpu_ns", "GPU time", LPO_CELL_NS, NULL },
    { "dram_bytes", "DRAM traffic", LPO_CELL_BYTES, NULL },
    { "dram_pct", "DRAM of peak", LPO_CELL_PERCENT, NULL },
    { "sm_pct", "SM of peak", LPO_CELL_PERCENT, NULL },
    { "memory_pct", "Memory of peak", LPO_CELL_PERCENT, NULL },
    { "warps_pct", "Warps active", LPO_CELL_PERCENT, NULL },
};

static struct lpo_measure key_value(const struct lpo_region_scope *s,
                                    const struct lpo_region_row *row, const struct key_metric *key)
{
    const struct lpo_trace *t = s->cells->tree->trace;

    for (int i = 0; row->metrics != LPO_NONE && i < 3 && key->names[i]; i++) {
        uint32_t m = lpo_trace_metric_find(t, key->names[i]);
        const struct lpo_metric_sum *sum;

        if (m == LPO_NONE)
            continue;
        sum = &s->metric_sums.at[(size_t)row->metrics * t->metrics.len + m];
        if (sum->weight != 0) {
            double v = lpo_region_metric_value(t->metrics.at[m].combine, sum);

            return row->estimated ? lpo_measure_estimated(v) : lpo_measure_measured(v);
        }
    }
    return lpo_measure_unknown();
}

static void add_overview(struct lpo_doc *doc, const struct lpo_region_scope *s)
{
    struct lpo_table *t = lpo_doc_table(doc, "counters", "", key_columns, COUNT(key_columns));

    for (size_t i = 0; i < s->rows.len && i < MOST_FOLDERS; i++) {
        const struct lpo_region_row *row = &s->rows.at[i];
        LPO_STR path = { 0 };

        if (!row->all.launches)
            continue;
        lpo_region_row_add_path(s, row, &path);
        lpo_doc_row_textn(t, path.at, path.len);
        if (lpo_region_sum_known(&row->all))
            lpo_doc_row_ns(t, row->all.ns);
        else
            lpo_doc_row_unknown(t);
        for (size_t k = 0; k < COUNT(key_metrics); k++)
            lpo_doc_row_measure(t, key_value(s, row, &key_metrics[k]));
    }
}

struct lpo_report_ncu {
    const struct lpo_rundir *d;
    const struct lpo_analysis *analysis;
    const struct lpo_region_scope *all;
    struct metric_order order;
    struct lpo_region_rows *rows; /* of ncu's raw page; NULL: none */
    bool aggregate;               /* a scope over all processes and devices */
};

/* The stage's own patterns hold for the trace that its counters were applied to as well. */
static const struct lpo_analysis *analysis_of(const struct lpo_rundir *d,
                                              const struct lpo_source *s)
{
    return d->overlay.stage && d->counters_select
               ? lpo_analysis_selected(s->analysis, d->counters_select)
               : s->analysis;
}

static bool wants_aggregate(const struct lpo_rundir *d)
{
    const struct lpo_source *s = lpo_rundir_source_with(d, LPO_ROLE_COUNTERS);
    const char *key = s && s->kind ? s->kind->aggregate : NULL;

    return d->aggregate && (!key || lpo_settings_bool(d->config, key));
}

/* A folder without a config is of files that somebody put together: they are reported. */
static bool wants_regions(const struct lpo_rundir *d)
{
    const struct lpo_source *s = lpo_rundir_source_with(d, LPO_ROLE_COUNTERS);
    const char *key = s && s->kind ? s->kind->by_region : NULL;

    return !key || !lpo_node_at(d->config, "pipeline") || lpo_settings_bool(d->config, key);
}

struct lpo_report_ncu *lpo_report_ncu_create(const struct lpo_rundir *d)
{
    const struct lpo_source *source = counters(d);
    struct lpo_report_ncu *n;

    if (!source || !source->analysis->trace->metrics.len || !wants_regions(d))
        return NULL;
    n = lpo_xcalloc(1, sizeof *n);
    n->d = d;
    n->analysis = analysis_of(d, source);
    n->all = lpo_analysis_all(n->analysis);
    n->order = order_metrics(d, n->analysis->trace);
    n->rows = lpo_report_region_rows_create(d);
    n->aggregate = wants_aggregate(d);
    return n;
}

void lpo_report_ncu_destroy(struct lpo_report_ncu *n)
{
    if (!n)
        return;
    lpo_report_region_rows_destroy(n->rows);
    free(n);
}

size_t lpo_report_ncu_rows(const struct lpo_report_ncu *n)
{
    return n->all->rows.len < MOST_FOLDERS ? n->all->rows.len : MOST_FOLDERS;
}

/* `(outside)` has a page only where a kernel is in it. */
static bool has_page(const struct lpo_region_row *row)
{
    return row->node != LPO_NODE_OUTSIDE || row->all.launches;
}

static const char *path_of(const struct lpo_report_ncu *n, size_t i)
{
    LPO_STR path = { 0 };

    lpo_region_row_add_path(n->all, &n->all->rows.at[i], &path);
    return lpo_arena_name(n->d->arena, lpo_str_text(&path), path.len);
}

static const char *folder_of(const struct lpo_report_ncu *n, size_t i)
{
    const char *path = path_of(n, i);
    LPO_STR name = { 0 };

    lpo_path_add_safe(&name, path, strlen(path));
    return lpo_arena_strndup(n->d->arena, lpo_str_text(&name), name.len);
}

/* `single` gives the folder's own document all kernels; the one above shows the first. */
static void add_region(struct lpo_doc *doc, const struct lpo_report_ncu *n, size_t i, int level,
                       bool single)
{
    const struct lpo_region_row *row = &n->all->rows.at[i];

    lpo_doc_section(doc, "region", path_of(n, i), level);
    if (!row->all.launches) {
        lpo_doc_note(doc, LPO_NOTE_INFO, "No kernels were measured in this region.");
        return;
    }
    add_facts(doc, row);
    add_metrics(doc, n->all, row, &n->order, single ? 0 : 40);
    lpo_report_add_row_kernels(doc, n->all, row, single ? lpo_budget()->listed_kernels : 10);
}

static void add_fingerprint(struct lpo_doc *doc, const struct lpo_rundir *d)
{
    if (d->fingerprint)
        lpo_doc_fact_text(doc, "config_fingerprint", "Config fingerprint", d->fingerprint);
}

struct lpo_doc *lpo_report_ncu_region_doc(const struct lpo_report_ncu *n, size_t i,
                                          const char **folder)
{
    const struct lpo_region_row *row = &n->all->rows.at[i];
    const char *path = path_of(n, i);
    struct lpo_doc *doc;

    if (!has_page(row))
        return NULL;
    *folder = folder_of(n, i);
    doc = lpo_doc_create("region", path);
    add_region(doc, n, i, 1, true);
    add_fingerprint(doc, n->d);
    lpo_report_put_region(doc->data, n->analysis, i);
    return doc;
}

bool lpo_report_ncu_region_csv(const struct lpo_report_ncu *n, size_t i, struct lpo_str *out)
{
    LPO_STR path = { 0 };

    if (!n->rows)
        return false;
    lpo_region_row_add_path(n->all, &n->all->rows.at[i], &path);
    lpo_report_region_rows_add(n->rows, lpo_str_text(&path), path.len, out);
    return true;
}

static void put_folders(struct lpo_record *data, const struct lpo_report_ncu *n)
{
    struct lpo_record *folders = lpo_doc_put_list(data, "folders");

    for (size_t i = 0; i < lpo_report_ncu_rows(n); i++) {
        struct lpo_record *r = lpo_doc_put_record(folders, NULL);

        lpo_doc_put_text(r, "path", path_of(n, i));
        lpo_doc_put_text(r, "folder", folder_of(n, i));
    }
}

static void add_scopes(struct lpo_doc *doc, const struct lpo_report_ncu *n)
{
    struct lpo_table_options options = { n->d->fold_over, 400 };
    lpo_scope_ids ids = { 0 };

    lpo_region_scopes_list(n->analysis->cells, &ids);
    for (size_t i = 0; i < ids.len; i++) {
        const struct lpo_region_scope *s;
        LPO_STR name = { 0 };

        if (ids.at[i].kind == LPO_SCOPE_ALL && !n->aggregate)
            continue;
        s = lpo_analysis_scope(n->analysis, ids.at[i]);
        lpo_region_scope_add_name(n->analysis->trace, ids.at[i], &name);
        lpo_doc_section(doc, "scope", name.at, 2);
        lpo_report_add_regions(doc, s, &options);
    }
    lpo_vec_free(&ids);
}

struct lpo_doc *lpo_report_ncu_doc(const struct lpo_report_ncu *n)
{
    struct lpo_doc *doc = lpo_doc_create("regions", "Hardware counters by region");

    add_fingerprint(doc, n->d);
    lpo_doc_section(doc, "scopes", "Regions", 1);
    if (!n->analysis->tree->nodes.len)
        lpo_doc_paragraph(doc, "The measured kernels are in no NVTX region.");
    add_scopes(doc, n);
    lpo_doc_section(doc, "counters", "Counters at a glance", 1);
    add_overview(doc, n->all);
    lpo_doc_section(doc, "coverage", "Coverage", 1);
    lpo_report_add_coverage(doc, n->all);
    lpo_report_notes_doc(doc, n->analysis, n->analysis->select);
    lpo_doc_section(doc, "each", "Region by region", 1);
    for (size_t i = 0; i < lpo_report_ncu_rows(n); i++)
        if (has_page(&n->all->rows.at[i]))
            add_region(doc, n, i, 2, false);
    put_folders(doc->data, n);
    lpo_report_put_scopes(doc->data, n->analysis, n->aggregate);
    return doc;
}
