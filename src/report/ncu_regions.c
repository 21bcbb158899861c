/* SPDX-License-Identifier: Apache-2.0 */
#include "report/ncu_regions.h"

#include "analysis/analysis.h"
#include "analysis/counters/by_kernel.h"
#include "hydra/compose.h"
#include "region/select.h"
#include "report/doc/doc.h"
#include "report/region_rows.h"
#include "report/tables/tables.h"
#include "report/trace_notes.h"
#include "report/trace_records.h"
#include "rundir/rundir.h"
#include "settings/settings.h"
#include "trace/metric_rules.h"
#include "util/budget.h"
#include "util/path.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

enum { MOST_FOLDERS = 500, MOST_OTHERS = 40 };
enum { WIDTH = 160 }; /* of the pages: their tables are of numbers */

/* Where the counters are: laid over another trace, else in ncu's own. */
static const struct lpo_source *counters(const struct lpo_rundir *d)
{
    return d->overlay.stage ? lpo_rundir_source(d, d->overlay.stage)
                            : lpo_rundir_source_with(d, LPO_ROLE_COUNTERS);
}

static const struct lpo_column metric_columns[] = {
    { "metric", "Metric", LPO_CELL_TEXT, NULL, 0, 60 },
    { "value", "Value", LPO_CELL_MEASURE, NULL },
    { "unit", "Unit", LPO_CELL_TEXT, NULL },
    { "how", "Combined by", LPO_CELL_TEXT, NULL },
    { "name", "Collected as", LPO_CELL_TEXT, NULL, 0, 60 }, /* where ncu shows it by a label */
};

/* Facts of the device and of the launch are the same everywhere and no measure of a region; the
 * JSON has them. */
static bool is_fact(const char *metric)
{
    static const char *const prefixes[] = { "device__", "launch__",   "nvlink__",
                                            "numa__",   "profiler__", "c2clink__" };

    return lpo_any(i, COUNT(prefixes), lpo_str_starts(metric, prefixes[i]));
}

/* Which metrics of the trace are in which table: those that the config asks for by name, in its
 * order; sections as ncu shows them; the others, which are no facts. */
struct shown_metric {
    uint32_t metric;
    const struct lpo_metric_label *label; /* NULL: by its own name */
};

struct metric_order {
    struct shown_metric *at;
    size_t len;
    size_t asked, others; /* the first of the sections, the first of the others */
};

static void add_asked(const struct lpo_rundir *d, const struct lpo_rundir_kind *kind,
                      const struct lpo_trace *t, bool *used, struct metric_order *order)
{
    struct lpo_settings_words asked = { 0 };

    if (kind && kind->metrics && d->config)
        asked = lpo_settings_list(d->arena, d->config, kind->metrics);
    for (size_t i = 0; i < asked.len; i++) {
        uint32_t m = lpo_trace_metric_find(t, asked.at[i]);

        if (m == LPO_NONE || used[m])
            continue;
        used[m] = true;
        order->at[order->len++] = (struct shown_metric){ m, NULL };
    }
}

/* One that the config names; of a set, whose sections nobody lists, one that has most of its
 * metrics. */
static bool shows_section(const struct lpo_settings_words *named, const char *section, size_t all,
                          const struct shown_metric *found, size_t count)
{
    bool facts = named->len > 0; /* ncu always collects those of the launch */

    for (size_t i = 0; i < named->len; i++)
        if (lpo_streq(named->at[i], section))
            return count > 0;
    for (size_t i = 0; i < count; i++)
        facts &= is_fact(found[i].label->metric);
    return count * 2 >= all && !facts;
}

static void add_sections(const struct lpo_rundir *d, const struct lpo_rundir_kind *kind,
                         const struct lpo_trace *t, bool *used, struct metric_order *order)
{
    struct lpo_settings_words named = { 0 };
    size_t count, end;
    const struct lpo_metric_label *labels = lpo_trace_metric_labels(d->arena, &count);

    if (kind && kind->sections && d->config)
        named = lpo_settings_list(d->arena, d->config, kind->sections);
    for (size_t i = 0; i < count; i = end) {
        size_t first = order->len;

        for (end = i; end < count && strcmp(labels[end].section, labels[i].section) == 0; end++) {
            uint32_t m = lpo_trace_metric_find(t, labels[end].metric);

            if (m != LPO_NONE)
                order->at[order->len++] = (struct shown_metric){ m, &labels[end] };
        }
        if (!shows_section(&named, labels[i].section, end - i, &order->at[first],
                           order->len - first))
            order->len = first;
        for (size_t k = first; k < order->len; k++)
            used[order->at[k].metric] = true;
    }
}

static struct metric_order order_metrics(const struct lpo_rundir *d, const struct lpo_trace *t)
{
    const struct lpo_rundir_kind *kind = lpo_rundir_kind_with(d, LPO_ROLE_COUNTERS);
    bool *used = lpo_arena_array(d->arena, t->metrics.len, sizeof *used);
    struct metric_order order = { 0 };
    size_t labels;

    lpo_trace_metric_labels(d->arena, &labels);
    order.at = lpo_arena_array(d->arena, 2 * t->metrics.len + labels, sizeof *order.at);
    memset(used, 0, t->metrics.len * sizeof *used);
    add_asked(d, kind, t, used, &order);
    order.asked = order.len;
    add_sections(d, kind, t, used, &order);
    order.others = order.len;
    for (uint32_t i = 0; i < t->metrics.len; i++)
        if (!used[i] && !t->metrics.at[i].sampled &&
            !is_fact(lpo_trace_text(t, t->metrics.at[i].name)))
            order.at[order.len++] = (struct shown_metric){ i, NULL };
    return order;
}

static const struct lpo_metric_sum *sum_of(const struct lpo_region_scope *s,
                                           const struct lpo_region_row *row, uint32_t metric)
{
    const struct lpo_trace *t = s->cells->tree->trace;
    const struct lpo_metric_sum *sum =
        &s->metric_sums.at[(size_t)row->metrics * t->metrics.len + metric];

    return sum->weight == 0 ? NULL : sum;
}

static void add_metric(struct lpo_table *table, const struct lpo_region_scope *s,
                       const struct lpo_region_row *row, const struct shown_metric *shown)
{
    const struct lpo_trace *t = s->cells->tree->trace;
    const struct lpo_metric *m = &t->metrics.at[shown->metric];
    const struct lpo_metric_sum *sum = sum_of(s, row, shown->metric);
    double v;

    if (!sum)
        return;
    v = lpo_region_metric_value(m->combine, sum);
    lpo_doc_row(table, shown->label ? shown->label->label : lpo_trace_text(t, m->name),
                row->estimated ? lpo_measure_estimated(v) : lpo_measure_measured(v),
                m->unit == LPO_NONE ? "" : lpo_trace_text(t, m->unit),
                lpo_trace_combine_name(m->combine), shown->label ? lpo_trace_text(t, m->name) : "");
}

/* A few others are listed; a thousand are for machines. */
static void add_others(struct lpo_doc *doc, const struct lpo_region_scope *s,
                       const struct lpo_region_row *row, const struct metric_order *order)
{
    struct lpo_table *table = NULL;
    size_t n = 0;

    for (size_t i = order->others; i < order->len; i++)
        n += sum_of(s, row, order->at[i].metric) != NULL;
    if (n > MOST_OTHERS && order->others) {
        lpo_doc_paragraph(doc, "%zu more metrics are in the JSON report and in lpo sql.", n);
        return;
    }
    for (size_t i = order->others; n && i < order->len; i++) {
        if (!table)
            table = lpo_doc_table(doc, "metrics", order->others ? "Other metrics" : "Metrics",
                                  metric_columns, COUNT(metric_columns));
        add_metric(table, s, row, &order->at[i]);
    }
}

static void add_metrics(struct lpo_doc *doc, const struct lpo_region_scope *s,
                        const struct lpo_region_row *row, const struct metric_order *order)
{
    struct lpo_table *table = NULL;
    const char *section = NULL;

    if (row->metrics == LPO_NONE)
        return;
    for (size_t i = 0; i < order->others; i++) {
        const struct lpo_metric_label *label = order->at[i].label;

        if (!table || (label && !lpo_streq(section, label->section))) {
            section = label ? label->section : NULL;
            table = lpo_doc_table(doc, section ? section : "metrics",
                                  section ? label->title : "Metrics", metric_columns,
                                  COUNT(metric_columns));
        }
        add_metric(table, s, row, &order->at[i]);
    }
    add_others(doc, s, row, order);
}

static void add_facts(struct lpo_doc *doc, const struct lpo_region_row *row)
{
    if (row->visits_known)
        lpo_doc_fact(doc, "visits", "Calls", COUNT, row->visits);
    lpo_doc_fact(doc, "launches", "Kernel launches", COUNT, row->all.launches);
    if (lpo_region_sum_known(&row->all)) {
        lpo_doc_fact(doc, "gpu_ns_inclusive", "GPU time", NS, row->all.ns);
        lpo_doc_fact(doc, "gpu_ns_exclusive", "Own GPU time", NS, row->self.ns);
    }
    lpo_doc_fact(doc, "distinct_kernels", "Distinct kernels", COUNT, row->nkernels);
    lpo_doc_fact(doc, "kernels_measured", "Launches with counters of their own", COUNT,
                 row->measured);
    if (row->estimated)
        lpo_doc_fact(doc, "kernels_estimated", "Launches with counters of a representative", COUNT,
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
        const struct lpo_metric_sum *sum = m == LPO_NONE ? NULL : sum_of(s, row, m);
        double v = sum ? lpo_region_metric_value(t->metrics.at[m].combine, sum) : 0;

        if (sum)
            return row->estimated ? lpo_measure_estimated(v) : lpo_measure_measured(v);
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
        lpo_doc_row(t, lpo_cell_textn(path.at, path.len),
                    lpo_cell_whole_if(lpo_region_sum_known(&row->all), row->all.ns),
                    key_value(s, row, &key_metrics[0]));
        for (size_t k = 1; k < COUNT(key_metrics); k++)
            lpo_doc_row(t, lpo_cell_percent(key_value(s, row, &key_metrics[k])));
    }
}

struct lpo_report_ncu {
    const struct lpo_rundir *d;
    const struct lpo_analysis *analysis;
    const struct lpo_region_scope *all;
    struct metric_order order;
    struct lpo_counters_by_kernel measured;
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
    n->measured =
        lpo_counters_by_kernel(d->arena, lpo_rundir_source_with(d, LPO_ROLE_COUNTERS)
                                             ? lpo_rundir_source_with(d, LPO_ROLE_COUNTERS)->trace
                                             : n->analysis->trace);
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

/* `(outside)` is a row of the tables and no region. */
static bool has_page(const struct lpo_region_row *row)
{
    return row->node != LPO_NODE_OUTSIDE;
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
    add_metrics(doc, n->all, row, &n->order);
    lpo_report_add_row_kernels(doc, n->analysis, n->all, row, &n->measured, "kernels", "Kernels",
                               single ? lpo_budget()->listed_kernels : 10);
}

static void add_fingerprint(struct lpo_doc *doc, const struct lpo_rundir *d)
{
    if (d->fingerprint)
        lpo_doc_fact(doc, "config_fingerprint", "Config fingerprint", TEXT, d->fingerprint);
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
    doc->width = WIDTH;
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

static bool has_row(const struct lpo_report_ncu *n, const char *path)
{
    return lpo_any(i, lpo_report_ncu_rows(n), lpo_streq(path_of(n, i), path));
}

/* Regions that the program entered, as another source of the run saw it, and in which ncu measured
 * no kernel: they are no patterns that matched nothing. */
static void note_empty(struct lpo_doc *doc, const struct lpo_report_ncu *n)
{
    enum { MOST = 8 };
    size_t empty = 0;
    LPO_STR names = { 0 };

    for (size_t i = 0; n->analysis->select && i < n->d->sources.len; i++) {
        const struct lpo_analysis *a = n->d->sources.at[i].analysis;
        LPO_FREED bool *picked = a && a->tree != n->analysis->tree
                                     ? lpo_region_selection_regions(n->analysis->select, a->tree)
                                     : NULL;

        for (uint32_t k = 0; picked && k < a->tree->nodes.len; k++) {
            LPO_STR path = { 0 };

            lpo_region_add_path(a->tree, k, &path);
            if (picked[k] && a->tree->nodes.at[k].parent == LPO_NONE &&
                !has_row(n, lpo_str_text(&path)) && empty++ < MOST)
                lpo_str_addf(&names, "%s'%s'", names.len ? ", " : "", lpo_str_text(&path));
        }
    }
    if (empty)
        lpo_doc_note(doc, LPO_NOTE_INFO, "no kernel was measured in %s%s", lpo_str_text(&names),
                     empty > MOST ? ", …" : "");
}

static void put_folders(struct lpo_record *data, const struct lpo_report_ncu *n)
{
    struct lpo_record *folders = lpo_doc_put_list(data, "folders");

    for (size_t i = 0; i < lpo_report_ncu_rows(n); i++) {
        struct lpo_record *r;

        if (!has_page(&n->all->rows.at[i]))
            continue;
        r = lpo_doc_put_record(folders, NULL);
        lpo_doc_put(r, LPO_KV("path", path_of(n, i)), LPO_KV("folder", folder_of(n, i)));
    }
}

static bool is_alike(const struct lpo_region_scope *x, const struct lpo_region_scope *y)
{
    bool alike = x->rows.len == y->rows.len;

    for (size_t i = 0; alike && i < x->rows.len; i++)
        alike = x->rows.at[i].node == y->rows.at[i].node &&
                x->rows.at[i].all.launches == y->rows.at[i].all.launches &&
                x->rows.at[i].all.ns == y->rows.at[i].all.ns &&
                x->rows.at[i].visits == y->rows.at[i].visits;
    return alike;
}

/* A process or device that has all there is has the table that stands there already. */
static void add_scopes(struct lpo_doc *doc, const struct lpo_report_ncu *n)
{
    struct lpo_table_options options = { n->d->fold_over, 400 };
    LPO_FREED lpo_scope_ids ids = { 0 };
    const struct lpo_region_scope *s;
    bool shown = false, same = false;

    lpo_region_scopes_list(n->analysis->cells, &ids);
    for (size_t i = 0; i < ids.len; i++) {
        LPO_STR name = { 0 };

        if (ids.at[i].kind == LPO_SCOPE_ALL && !n->aggregate)
            continue;
        s = lpo_analysis_scope(n->analysis, ids.at[i]);
        if (shown && is_alike(n->all, s)) {
            same = true;
            continue;
        }
        shown = true;
        lpo_region_scope_add_name(n->analysis->trace, ids.at[i], &name);
        lpo_doc_section(doc, "scope", name.at, 2);
        lpo_report_add_regions(doc, s, &options);
    }
    if (same)
        lpo_doc_paragraph(doc, "Only one process and one device: same table.");
}

struct lpo_doc *lpo_report_ncu_doc(const struct lpo_report_ncu *n)
{
    struct lpo_doc *doc = lpo_doc_create("regions", "Hardware counters by region");

    doc->width = WIDTH;
    add_fingerprint(doc, n->d);
    lpo_doc_section(doc, "scopes", "Regions", 1);
    if (!n->analysis->tree->nodes.len)
        lpo_doc_paragraph(doc, "The measured kernels are in no NVTX region.");
    add_scopes(doc, n);
    lpo_doc_section(doc, "counters", "Counters at a glance", 1);
    add_overview(doc, n->all);
    lpo_doc_section(doc, "coverage", "Coverage", 1);
    lpo_report_add_coverage(doc, n->all);
    note_empty(doc, n);
    lpo_report_notes_doc(doc, n->analysis, n->analysis->select);
    lpo_doc_section(doc, "each", "Region by region", 1);
    for (size_t i = 0; i < lpo_report_ncu_rows(n); i++)
        if (has_page(&n->all->rows.at[i]))
            add_region(doc, n, i, 2, false);
    put_folders(doc->data, n);
    lpo_report_put_scopes(doc->data, n->analysis, n->aggregate);
    return doc;
}
