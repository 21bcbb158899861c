#include "report/ncu_regions.h"

#include <string.h>

#include "analysis/analysis.h"
#include "region/scope.h"
#include "region/select.h"
#include "report/doc/doc.h"
#include "report/notes.h"
#include "report/regions_json.h"
#include "report/tables/tables.h"
#include "rundir/rundir.h"
#include "trace/metric_rules.h"
#include "trace/trace.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/file.h"
#include "util/json_write.h"
#include "util/path.h"
#include "util/str.h"
#include "writer/writer.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

enum { MOST_FOLDERS = 500 };

/* Where the counters are: laid over another trace, else in ncu's own. */
static const struct lpo_source *counters(const struct lpo_rundir *d)
{
    return lpo_rundir_source(d, d->overlay.stage ? d->overlay.stage : "ncu");
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

static void add_metrics(struct lpo_doc *doc, const struct lpo_region_scope *s,
                        const struct lpo_region_row *row, size_t most)
{
    const struct lpo_trace *t = s->cells->tree->trace;
    struct lpo_table *table;
    size_t n = 0;

    if (row->metrics == LPO_NONE)
        return;
    table = lpo_doc_table(doc, "metrics", "Metrics", metric_columns, COUNT(metric_columns));
    for (size_t i = 0; i < t->metrics.len; i++) {
        const struct lpo_metric *m = &t->metrics.at[i];
        const struct lpo_metric_sum *sum =
            &s->metric_sums.at[(size_t)row->metrics * t->metrics.len + i];
        double v = lpo_region_metric_value(m->combine, sum);

        if (sum->weight == 0 || is_fact(lpo_trace_text(t, m->name)) || (most && n++ >= most))
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
        lpo_doc_fact_count(doc, "visits", "Visits", row->visits);
    lpo_doc_fact_count(doc, "launches", "Kernel launches", row->all.launches);
    if (lpo_region_sum_known(&row->all)) {
        lpo_doc_fact_ns(doc, "gpu_ns_inclusive", "GPU time", row->all.ns);
        lpo_doc_fact_ns(doc, "gpu_ns_exclusive", "Own GPU time", row->self.ns);
    }
    lpo_doc_fact_count(doc, "distinct_kernels", "Distinct kernels", row->nkernels);
    lpo_doc_fact_count(doc, "kernels_measured", "Launches with counters of their own",
                       row->measured);
    if (row->estimated)
        lpo_doc_fact_count(doc, "kernels_estimated", "Launches with those of a representative",
                           row->estimated);
}

/* `single` gives the folder's own document all kernels; the one above shows the first. */
static void add_region(struct lpo_doc *doc, const struct lpo_region_scope *s,
                       const struct lpo_region_row *row, const char *path, int level, bool single)
{
    lpo_doc_section(doc, "region", path, level);
    if (!row->all.launches) {
        lpo_doc_note(doc, LPO_NOTE_INFO, "No kernels were measured in this region.");
        return;
    }
    add_facts(doc, row);
    lpo_report_add_row_kernels(doc, s, row, single ? 0 : 10);
    add_metrics(doc, s, row, single ? 0 : 40);
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

static const char *folder_of(const struct lpo_rundir *d, const char *path)
{
    LPO_STR name = { 0 };

    lpo_path_add_safe(&name, path, strlen(path));
    return lpo_arena_strndup(d->arena, name.at, name.len);
}

static int write_both(const struct lpo_rundir *d, const struct lpo_doc *doc, const char *folder,
                      struct lpo_err *err)
{
    const char *dir = lpo_path_join(d->arena, d->dir, folder);

    if (lpo_file_make_dirs(dir, err) < 0 ||
        lpo_writer_write(doc, &lpo_writer_md, lpo_path_join(d->arena, dir, "report.md"), err) < 0)
        return err->code;
    return lpo_writer_write(doc, &lpo_writer_json, lpo_path_join(d->arena, dir, "report.json"),
                            err);
}

static int write_folder(const struct lpo_rundir *d, const struct lpo_region_scope *s,
                        const struct lpo_region_row *row, const char *path, struct lpo_err *err)
{
    LPO_AUTO(lpo_doc) doc = lpo_doc_create("region", path);

    add_region(doc, s, row, path, 1, true);
    if (d->fingerprint)
        lpo_doc_fact_text(doc, "config_fingerprint", "Config fingerprint", d->fingerprint);
    return write_both(d, doc, lpo_path_join(d->arena, "ncu/regions", folder_of(d, path)), err);
}

/* "folders": {path: folder} */
static void attach_folders(struct lpo_doc *doc, const struct lpo_rundir *d,
                           const struct lpo_region_scope *s)
{
    LPO_STR out = { 0 };
    struct lpo_json_writer w = lpo_json_writer(&out, 0);

    lpo_jw_array(&w, NULL);
    for (size_t i = 0; i < s->rows.len && i < MOST_FOLDERS; i++) {
        LPO_STR path = { 0 };

        lpo_region_row_add_path(s, &s->rows.at[i], &path);
        lpo_jw_object(&w, NULL);
        lpo_jw_textn(&w, "path", lpo_str_text(&path), path.len);
        lpo_jw_text(&w, "folder", folder_of(d, lpo_str_text(&path)));
        lpo_jw_end(&w);
    }
    lpo_jw_end(&w);
    lpo_doc_attach(doc, "folders", out.at, out.len - 1);
    lpo_str_clear(&out);
    w = lpo_json_writer(&out, 0);
    lpo_report_scopes_json(&w, NULL, counters(d)->analysis, counters(d)->select, d->aggregate);
    lpo_doc_attach(doc, "scopes", out.at, out.len - 1);
}

static void add_scopes(struct lpo_doc *doc, const struct lpo_rundir *d,
                       const struct lpo_source *src)
{
    struct lpo_table_options options = { d->fold_over, 400 };
    lpo_scope_ids ids = { 0 };

    lpo_region_scopes_list(src->analysis->cells, &ids);
    for (size_t i = 0; i < ids.len; i++) {
        LPO_AUTO(lpo_region_scope) s = NULL;
        LPO_STR name = { 0 };

        if (ids.at[i].kind == LPO_SCOPE_ALL && !d->aggregate)
            continue;
        s = lpo_region_scope_create(src->analysis->cells, ids.at[i], src->select);
        lpo_region_scope_add_name(src->analysis->trace, ids.at[i], &name);
        lpo_doc_section(doc, "scope", name.at, 2);
        lpo_report_add_regions(doc, s, &options);
    }
    lpo_vec_free(&ids);
}

int lpo_report_ncu_regions_write(const struct lpo_rundir *d, struct lpo_err *err)
{
    const struct lpo_source *src = counters(d);
    LPO_AUTO(lpo_doc) doc = NULL;
    LPO_AUTO(lpo_region_scope) all = NULL;

    if (!src || !src->analysis->trace->metrics.len)
        return 0;
    doc = lpo_doc_create("regions", "Hardware counters by region");
    all = lpo_region_scope_create(src->analysis->cells, (struct lpo_scope_id){ LPO_SCOPE_ALL, 0 },
                                  src->select);
    if (d->fingerprint)
        lpo_doc_fact_text(doc, "config_fingerprint", "Config fingerprint", d->fingerprint);
    lpo_doc_section(doc, "scopes", "Regions", 1);
    if (!src->analysis->tree->nodes.len)
        lpo_doc_paragraph(doc, "The measured kernels lie in no NVTX region.");
    add_scopes(doc, d, src);
    lpo_doc_section(doc, "counters", "Counters at a glance", 1);
    add_overview(doc, all);
    lpo_doc_section(doc, "coverage", "Coverage", 1);
    lpo_report_add_coverage(doc, all);
    lpo_report_notes_doc(doc, src->analysis, src->select);
    lpo_doc_section(doc, "each", "Region by region", 1);
    for (size_t i = 0; i < all->rows.len && i < MOST_FOLDERS; i++) {
        const struct lpo_region_row *row = &all->rows.at[i];
        LPO_STR path = { 0 };

        if (row->node == LPO_NODE_OUTSIDE && !row->all.launches)
            continue;
        lpo_region_row_add_path(all, row, &path);
        add_region(doc, all, row, path.at, 2, false);
        if (write_folder(d, all, row, path.at, err) < 0)
            return lpo_ctx(err, "cannot write the folder of region '%s'", path.at);
    }
    attach_folders(doc, d, all);
    return write_both(d, doc, "ncu/regions", err);
}
