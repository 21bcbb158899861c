/* What the torch_profiler stage found, in its own folder. */
#include <stdlib.h>

#include "analysis/analysis.h"
#include "analysis/operators/operators.h"
#include "analysis/wall/timeline.h"
#include "hydra/compose.h"
#include "report/chapters.h"
#include "report/doc/doc.h"
#include "report/notes.h"
#include "report/operators_doc.h"
#include "report/regions_json.h"
#include "report/tables/tables.h"
#include "rundir/rundir.h"
#include "settings/settings.h"
#include "trace/kineto/memory.h"
#include "trace/trace.h"
#include "util/err.h"
#include "util/file.h"
#include "util/json_write.h"
#include "util/path.h"
#include "util/str.h"
#include "writer/writer.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

enum { KERNELS_EACH = 5 };

struct torch {
    const struct lpo_rundir *d;
    const struct lpo_source *s;
    struct lpo_operators *ops;
    struct lpo_kineto_memory memory;
};

static bool has_gpu(const struct torch *t)
{
    return t->s->analysis->trace->gpu_ops.len > 0;
}

static void facts(struct lpo_doc *doc, const struct torch *t)
{
    int64_t self_ns = 0;

    for (size_t i = 0; i < t->ops->rows.len; i++)
        self_ns += t->ops->rows.at[i].cpu_self_ns;
    lpo_doc_section(doc, "torch", "What was recorded", 1);
    lpo_doc_fact_count(doc, "operators", "Operators", t->ops->rows.len);
    lpo_doc_fact_count(doc, "calls", "Calls", t->ops->calls);
    lpo_doc_fact_ns(doc, "cpu_self_ns", "CPU time in operators", self_ns);
    if (!has_gpu(t)) {
        lpo_doc_fact_text(doc, "gpu_ns", "GPU time", NULL);
        lpo_doc_note(doc, LPO_NOTE_INFO, "No GPU work was recorded, so GPU times are not known.");
        return;
    }
    lpo_doc_fact_ns(doc, "gpu_ns", "GPU time", t->ops->all.ns);
    lpo_doc_fact_ns(doc, "gpu_outside_ns", "launched outside every operator", t->ops->outside.ns);
    lpo_doc_fact_ns(doc, "gpu_no_launch_ns", "without a launch record", t->ops->no_launch.ns);
}

/* Which of the two keeps the GPU waiting, in words. */
static void tell_cause(struct lpo_doc *doc, const struct lpo_wall_timeline *line)
{
    struct lpo_gaps all = { 0 };
    int64_t idle_ns = 0, gaps_ns;

    for (size_t i = 0; i < line->devices.len; i++) {
        idle_ns += line->devices.at[i].idle_ns;
        for (int c = 0; c < LPO_GAP_CAUSES; c++)
            all.by[c].ns += line->devices.at[i].gaps.by[c].ns;
    }
    gaps_ns = lpo_wall_gaps_ns(&all);
    if (idle_ns <= 0 || gaps_ns <= 0)
        return;
    if (all.by[LPO_GAP_HOST].ns * 2 > gaps_ns)
        lpo_doc_paragraph(doc,
                          "Launch-bound: %.0f %% of the idle time between works is there because "
                          "the host launched the next one too late.",
                          100.0 * (double)all.by[LPO_GAP_HOST].ns / (double)gaps_ns);
    else
        lpo_doc_paragraph(doc,
                          "Waiting: %.0f %% of the idle time between works passed although the "
                          "next one was launched already.",
                          100.0 * (double)(gaps_ns - all.by[LPO_GAP_HOST].ns) / (double)gaps_ns);
}

static void idle(struct lpo_doc *doc, const struct torch *t)
{
    const struct lpo_analysis *a = t->s->analysis;

    lpo_doc_section(doc, "idle", "GPU idle between kernels", 1);
    if (!a->timeline || !a->timeline->devices.len) {
        lpo_doc_paragraph(doc, "Not known: no GPU work was recorded.");
        return;
    }
    tell_cause(doc, a->timeline);
    lpo_report_add_devices(doc, a);
    lpo_report_add_streams(doc, a, 32);
}

static const struct lpo_column memory_columns[] = {
    { "device", "Device", LPO_CELL_TEXT, NULL },
    { "allocations", "Allocations", LPO_CELL_COUNT, NULL },
    { "frees", "Frees", LPO_CELL_COUNT, NULL },
    { "peak_allocated_bytes", "Peak in use", LPO_CELL_BYTES, NULL },
    { "peak_reserved_bytes", "Peak reserved", LPO_CELL_BYTES, NULL },
    { "growth_bytes", "Most above the start", LPO_CELL_BYTES, NULL },
    { "largest_bytes", "Largest allocation", LPO_CELL_BYTES, NULL },
};

static void row_device(struct lpo_table *t, const struct lpo_memory_peak *m)
{
    if (m->device < 0)
        lpo_doc_row_text(t, lpo_kineto_memory_type(m->type));
    else
        lpo_doc_row_textf(t, "%s %lld", lpo_kineto_memory_type(m->type), (long long)m->device);
}

static void memory(struct lpo_doc *doc, const struct torch *t)
{
    struct lpo_table *table;

    lpo_doc_section(doc, "memory", "Memory", 1);
    if (!t->memory.events) {
        lpo_doc_paragraph(doc, "No allocation is in the trace: they are recorded with "
                               "pipeline.torch_profiler.profile_memory=true.");
        return;
    }
    table = lpo_doc_table(doc, "memory", "", memory_columns, COUNT(memory_columns));
    for (size_t i = 0; i < t->memory.rows.len; i++) {
        const struct lpo_memory_peak *m = &t->memory.rows.at[i];

        row_device(table, m);
        lpo_doc_row_count(table, m->allocations);
        lpo_doc_row_count(table, m->frees);
        lpo_doc_row_measure(table, m->allocated);
        lpo_doc_row_measure(table, m->reserved);
        lpo_doc_row_bytes(table, (double)m->growth_bytes);
        lpo_doc_row_bytes(table, (double)m->largest_bytes);
    }
}

static struct lpo_doc *report_doc(const struct torch *t)
{
    struct lpo_doc *doc = lpo_doc_create("torch", "PyTorch profiler");
    const struct lpo_analysis *a = t->s->analysis;

    facts(doc, t);
    lpo_doc_section(doc, "operators", "Operators that take the time", 1);
    lpo_doc_paragraph(doc, "All of them, and by input shapes: operators.md.");
    lpo_report_add_operators(doc, a->trace, "operators", false, t->d->top);
    if (has_gpu(t)) {
        lpo_doc_section(doc, "operator_kernels", "Work by operator", 1);
        lpo_report_add_operator_kernels(doc, a->trace, t->ops, t->d->top, KERNELS_EACH);
    }
    idle(doc, t);
    memory(doc, t);
    lpo_doc_section(doc, "coverage", "What these numbers cover", 1);
    lpo_report_notes_doc(doc, a, t->s->select);
    return doc;
}

static void write_gpu(struct lpo_json_writer *w, const struct torch *t, const char *key, int64_t ns)
{
    if (has_gpu(t))
        lpo_jw_int(w, key, ns);
    else
        lpo_jw_null(w, key);
}

static void write_operator(struct lpo_json_writer *w, const struct torch *t,
                           const struct lpo_operator *o)
{
    const struct lpo_trace *trace = t->s->analysis->trace;

    lpo_jw_object(w, NULL);
    lpo_jw_textn(w, "operator", lpo_trace_text(trace, o->name), lpo_trace_text_len(trace, o->name));
    lpo_jw_uint(w, "calls", o->calls);
    lpo_jw_int(w, "cpu_total_ns", o->cpu_total_ns);
    lpo_jw_int(w, "cpu_self_ns", o->cpu_self_ns);
    lpo_jw_int(w, "cpu_min_ns", o->cpu_min_ns);
    lpo_jw_int(w, "cpu_max_ns", o->cpu_max_ns);
    write_gpu(w, t, "gpu_total_ns", o->gpu_total_ns);
    write_gpu(w, t, "gpu_self_ns", o->gpu_self_ns);
    write_gpu(w, t, "works_self", (int64_t)o->gpu_ops_self);
    lpo_jw_array(w, "kernels");
    for (size_t i = 0; i < o->nkernels; i++) {
        const struct lpo_operator_kernel *k = &t->ops->kernels.at[o->kernels + i];

        lpo_jw_object(w, NULL);
        lpo_jw_textn(w, "kernel", lpo_trace_text(trace, k->name),
                     lpo_trace_text_len(trace, k->name));
        lpo_jw_uint(w, "launches", k->count);
        lpo_jw_int(w, "gpu_ns", k->ns);
        lpo_jw_end(w);
    }
    lpo_jw_end(w);
    lpo_jw_end(w);
}

static void write_memory(struct lpo_json_writer *w, const struct torch *t)
{
    if (!t->memory.events) {
        lpo_jw_null(w, "memory");
        return;
    }
    lpo_jw_array(w, "memory");
    for (size_t i = 0; i < t->memory.rows.len; i++) {
        const struct lpo_memory_peak *m = &t->memory.rows.at[i];

        lpo_jw_object(w, NULL);
        lpo_jw_text(w, "type", lpo_kineto_memory_type(m->type));
        lpo_jw_int(w, "device", m->device);
        lpo_jw_uint(w, "allocations", m->allocations);
        lpo_jw_uint(w, "frees", m->frees);
        lpo_jw_whole(w, "peak_allocated_bytes", m->allocated);
        lpo_jw_whole(w, "peak_reserved_bytes", m->reserved);
        lpo_jw_int(w, "growth_bytes", m->growth_bytes);
        lpo_jw_int(w, "largest_bytes", m->largest_bytes);
        lpo_jw_end(w);
    }
    lpo_jw_end(w);
}

static void write_sum(struct lpo_json_writer *w, const struct torch *t, const char *key,
                      const struct lpo_operator_sum *sum)
{
    lpo_jw_object(w, key);
    write_gpu(w, t, "works", (int64_t)sum->gpu_ops);
    write_gpu(w, t, "gpu_ns", sum->ns);
    lpo_jw_end(w);
}

static void metrics_json(const struct torch *t, struct lpo_str *out)
{
    struct lpo_json_writer w = lpo_json_writer(out, 2);

    lpo_jw_object(&w, NULL);
    lpo_jw_text(&w, "schema", "lpo-torch-metrics");
    lpo_jw_int(&w, "version", 1);
    lpo_jw_array(&w, "traces");
    for (size_t i = 0; i < t->s->nfiles; i++)
        lpo_jw_text(&w, NULL, t->s->files[i]);
    lpo_jw_end(&w);
    lpo_jw_uint(&w, "calls", t->ops->calls);
    write_sum(&w, t, "gpu", &t->ops->all);
    write_sum(&w, t, "gpu_outside_operators", &t->ops->outside);
    write_sum(&w, t, "gpu_without_launch", &t->ops->no_launch);
    lpo_report_devices_json(&w, "devices", t->s->analysis);
    write_memory(&w, t);
    lpo_jw_array(&w, "operators");
    for (size_t i = 0; i < t->ops->rows.len; i++)
        write_operator(&w, t, &t->ops->rows.at[i]);
    lpo_jw_end(&w);
    lpo_jw_end(&w);
}

static int write_md(const struct lpo_rundir *d, struct lpo_doc *made, const char *name,
                    struct lpo_err *err)
{
    LPO_AUTO(lpo_doc) doc = made;

    return lpo_writer_write(doc, &lpo_writer_md, lpo_path_join(d->arena, d->dir, name), err);
}

/* Another pass over the traces, so only where memory was asked for, or the trace says so itself. */
static void read_memory(struct torch *t)
{
    bool asked = lpo_settings_bool(t->d->config, "pipeline.torch_profiler.profile_memory");

    for (size_t i = 0; i < t->s->nfiles; i++) {
        const char *path = lpo_path_join(t->d->arena, t->d->dir, t->s->files[i]);

        if (asked || lpo_kineto_has_memory(path)) /* what cannot be read is told with the trace */
            lpo_kineto_memory(path, &t->memory, &(struct lpo_err){ 0 });
    }
}

int lpo_writer_torch_write(const struct lpo_rundir *d, struct lpo_err *err)
{
    struct torch t = { .d = d, .s = lpo_rundir_source(d, "torch_profiler") };
    LPO_STR json = { 0 };
    int rc;

    if (!t.s)
        return 0;
    t.ops = lpo_operators_create(t.s->analysis->trace, false);
    read_memory(&t);
    metrics_json(&t, &json);
    rc = write_md(d, lpo_report_operators_doc(d, t.s), "torch_profiler/operators.md", err);
    if (rc == 0)
        rc = write_md(d, report_doc(&t), "torch_profiler/report.md", err);
    if (rc == 0)
        rc = lpo_file_write_quick(lpo_path_join(d->arena, d->dir, "torch_profiler/metrics.json"),
                                  json.at, json.len, err);
    lpo_kineto_memory_free(&t.memory);
    lpo_operators_destroy(t.ops);
    return rc;
}
