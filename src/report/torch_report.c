/* SPDX-License-Identifier: Apache-2.0 */
/* What the PyTorch profiler found: torch_profiler/report.md and, for machines, metrics.json. */
#include <stdlib.h>

#include "analysis/analysis.h"
#include "analysis/memory/memory.h"
#include "analysis/operators/operators.h"
#include "analysis/tables/tables.h"
#include "analysis/wall/timeline.h"
#include "report/chapters/chapters.h"
#include "report/doc/doc.h"
#include "report/documents.h"
#include "report/tables/tables.h"
#include "report/trace_notes.h"
#include "report/trace_records.h"
#include "rundir/rundir.h"
#include "trace/trace.h"

#define TORCH_SCHEMA "lpo.torch/2"
#define COUNT(a)     (sizeof(a) / sizeof *(a))

enum { KERNELS_EACH = 5 };

struct torch {
    const struct lpo_rundir *d;
    const struct lpo_source *s;
    const struct lpo_operators *ops;
    const struct lpo_memory_peaks *memory;
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
        lpo_doc_note(doc, LPO_NOTE_INFO,
                     "No GPU operations were recorded, so GPU times are not known.");
        return;
    }
    lpo_doc_fact_ns(doc, "gpu_ns", "GPU time", t->ops->all.ns);
    lpo_doc_fact_ns(doc, "gpu_outside_ns", "launched outside every operator", t->ops->outside.ns);
    lpo_doc_fact_ns(doc, "gpu_no_launch_ns", "without a launch record", t->ops->no_launch.ns);
}

enum { GPUS = 8, ROWS = 10 }; /* of the tables on idle time */

static void idle(struct lpo_doc *doc, const struct torch *t)
{
    const struct lpo_analysis *a = t->s->analysis;

    lpo_doc_section(doc, "idle", "GPU idle between kernels", 1);
    if (!a->timeline || !a->timeline->devices.len) {
        lpo_doc_paragraph(doc, "Not known: no GPU operations were recorded.");
        return;
    }
    lpo_report_add_wall(doc, a, GPUS);
    lpo_report_add_blocked_calls(doc, a, ROWS);
    lpo_report_add_longest_gaps(doc, a, ROWS);
    lpo_report_add_devices(doc, a);
}

static const struct lpo_column memory_columns[] = {
    { "device", "GPU", LPO_CELL_TEXT, NULL },
    { "allocations", "Allocations", LPO_CELL_COUNT, NULL },
    { "frees", "Frees", LPO_CELL_COUNT, NULL },
    { "peak_allocated_bytes", "Peak in use", LPO_CELL_BYTES, NULL },
    { "peak_reserved_bytes", "Peak reserved", LPO_CELL_BYTES, NULL },
    { "growth_bytes", "Growth", LPO_CELL_BYTES, NULL },
    { "largest_bytes", "Largest allocation", LPO_CELL_BYTES, NULL },
};

static struct lpo_measure bytes(int64_t n)
{
    return n == LPO_NO_TIME ? lpo_measure_unknown() : lpo_measure_measured((double)n);
}

static const struct lpo_device *device_of(const struct torch *t,
                                          const struct lpo_memory_peaks_row *m)
{
    const struct lpo_trace *trace = t->s->analysis->trace;

    return &trace->devices.at[trace->allocators.at[m->allocator].device];
}

static void memory(struct lpo_doc *doc, const struct torch *t)
{
    struct lpo_table *table;

    lpo_doc_section(doc, "memory", "Memory", 1);
    if (!t->memory->rows.len) {
        lpo_doc_paragraph(doc, "The trace holds no allocations of a GPU: "
                               "pipeline.torch_profiler.profile_memory=true records them.");
        return;
    }
    table = lpo_doc_table(doc, "memory", "", memory_columns, COUNT(memory_columns));
    for (size_t i = 0; i < t->memory->rows.len; i++) {
        const struct lpo_memory_peaks_row *m = &t->memory->rows.at[i];

        lpo_doc_row_text(table, lpo_report_device_scope(doc->arena, device_of(t, m)));
        lpo_doc_row_count(table, m->allocations);
        lpo_doc_row_count(table, m->frees);
        lpo_doc_row_measure(table, bytes(m->peak_bytes));
        lpo_doc_row_measure(table, bytes(m->most_reserved));
        lpo_doc_row_bytes(table, (double)m->growth_bytes);
        lpo_doc_row_bytes(table, (double)m->largest_bytes);
    }
}

static void add_sections(struct lpo_doc *doc, const struct torch *t)
{
    const struct lpo_analysis *a = t->s->analysis;

    facts(doc, t);
    lpo_doc_section(doc, "operators", "Most expensive operators", 1);
    lpo_doc_paragraph(doc, "operators.md has all of them, also by input shapes.");
    lpo_report_add_operators(doc, a, "operators", t->d->top);
    if (has_gpu(t)) {
        lpo_doc_section(doc, "operator_kernels", "GPU operations by operator", 1);
        lpo_report_add_operator_kernels(doc, a, t->d->top, KERNELS_EACH);
    }
    idle(doc, t);
    memory(doc, t);
    lpo_doc_section(doc, "coverage", "What these numbers cover", 1);
    lpo_report_notes_doc(doc, a, t->s->select);
}

static void put_gpu(struct lpo_record *r, const struct torch *t, const char *key, int64_t v)
{
    lpo_doc_put_int_if(r, key, has_gpu(t), v);
}

static void put_memory(struct lpo_record *data, const struct torch *t)
{
    struct lpo_record *rows;

    if (!t->memory->rows.len) {
        lpo_doc_put_null(data, "memory");
        return;
    }
    rows = lpo_doc_put_list(data, "memory");
    for (size_t i = 0; i < t->memory->rows.len; i++) {
        const struct lpo_memory_peaks_row *m = &t->memory->rows.at[i];
        struct lpo_record *r = lpo_doc_put_record(rows, NULL);

        lpo_doc_put_text(r, "type", "GPU");
        lpo_doc_put_int(r, "device", device_of(t, m)->id);
        lpo_doc_put_uint(r, "allocations", m->allocations);
        lpo_doc_put_uint(r, "frees", m->frees);
        lpo_doc_put_whole(r, "peak_allocated_bytes", bytes(m->peak_bytes));
        lpo_doc_put_whole(r, "peak_reserved_bytes", bytes(m->most_reserved));
        lpo_doc_put_int(r, "growth_bytes", m->growth_bytes);
        lpo_doc_put_int(r, "largest_bytes", m->largest_bytes);
    }
}

static void put_sum(struct lpo_record *data, const struct torch *t, const char *key,
                    const struct lpo_operator_sum *sum)
{
    struct lpo_record *r = lpo_doc_put_record(data, key);

    put_gpu(r, t, "gpu_ops", (int64_t)sum->gpu_ops);
    put_gpu(r, t, "gpu_ns", sum->ns);
}

static void put_metrics(struct lpo_record *data, const struct torch *t)
{
    struct lpo_record *traces = lpo_doc_put_list(data, "traces");
    const struct lpo_rows operators = lpo_tables_operators_as(
        lpo_tables_of(data->arena, t->s->analysis, NULL), LPO_OPERATORS_BY_TOTAL);

    for (size_t i = 0; i < t->s->nfiles; i++)
        lpo_doc_put_text(traces, NULL, t->s->files[i]);
    lpo_doc_put_uint(data, "calls", t->ops->calls);
    put_sum(data, t, "gpu", &t->ops->all);
    put_sum(data, t, "gpu_outside_operators", &t->ops->outside);
    put_sum(data, t, "gpu_without_launch", &t->ops->no_launch);
    lpo_report_put_devices(data, t->s->analysis);
    put_memory(data, t);
    lpo_doc_put_rows_and(data, "operators", &operators,
                         "operator=name calls cpu_total_ns=host_ns cpu_self_ns=host_ns_self "
                         "cpu_min_ns=host_ns_min cpu_max_ns=host_ns_max gpu_total_ns=gpu_ns_total "
                         "gpu_self_ns=gpu_ns_self gpu_ops_self=gpu_operations_self",
                         lpo_report_put_operator_kernels);
}

struct lpo_doc *lpo_report_torch_doc(const struct lpo_rundir *d)
{
    struct torch t = { .d = d, .s = lpo_rundir_source_with(d, LPO_ROLE_OPERATORS) };
    struct lpo_doc *doc;

    if (!t.s)
        return NULL;
    t.ops = lpo_analysis_operators(t.s->analysis, false);
    t.memory = lpo_analysis_memory(t.s->analysis);
    doc = lpo_doc_create_data(TORCH_SCHEMA, "torch", "PyTorch profiler");
    add_sections(doc, &t);
    put_metrics(doc->data, &t);
    return doc;
}
