/* SPDX-License-Identifier: Apache-2.0 */
/* What the PyTorch profiler found: torch_profiler/report.md and, for machines, metrics.json. */

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

#define TORCH_SCHEMA "lpo.torch/2"
#define COUNT(a)     (sizeof(a) / sizeof *(a))

enum { KERNELS_EACH = 5 };

struct torch {
    const struct lpo_rundir *d;
    const struct lpo_source *s;
    const struct lpo_operators *ops;
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
    lpo_doc_fact(doc, "operators", "Operators", COUNT, t->ops->rows.len);
    lpo_doc_fact(doc, "calls", "Calls", COUNT, t->ops->calls);
    lpo_doc_fact(doc, "cpu_self_ns", "CPU time in operators", NS, self_ns);
    if (!has_gpu(t)) {
        lpo_doc_fact(doc, "gpu_ns", "GPU time", TEXT, lpo_cell_unknown());
        lpo_doc_note(doc, LPO_NOTE_INFO,
                     "No GPU operations were recorded, so GPU times are not known.");
        return;
    }
    lpo_doc_fact(doc, "gpu_ns", "GPU time", NS, t->ops->all.ns);
    lpo_doc_fact(doc, "gpu_outside_ns", "launched outside every operator", NS, t->ops->outside.ns);
    lpo_doc_fact(doc, "gpu_no_launch_ns", "without a launch record", NS, t->ops->no_launch.ns);
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

static void memory(struct lpo_doc *doc, const struct torch *t)
{
    const struct lpo_rows rows = lpo_report_memory_rows(doc->arena, t->s->analysis);

    lpo_doc_section(doc, "memory", "Memory", 1);
    if (!rows.count) {
        lpo_doc_paragraph(doc, "The trace holds no allocations of a GPU: "
                               "pipeline.torch_profiler.profile_memory=true records them.");
        return;
    }
    lpo_doc_table_of(
        doc, "memory", "", &rows,
        "device=scope allocations~0 frees~0 peak_allocated_bytes=peak_bytes:Peak_in_use "
        "peak_reserved_bytes=most_reserved_bytes:Peak_reserved~0 growth_bytes "
        "largest_bytes",
        0);
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
    lpo_doc_put(r, LPO_KV(key, lpo_jv_int_if(has_gpu(t), v)));
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
    const struct lpo_rows memory = lpo_report_memory_rows(data->arena, t->s->analysis);
    struct lpo_record *traces = lpo_doc_put_list(data, "traces");
    const struct lpo_rows operators = lpo_tables_operators_as(
        lpo_tables_of(data->arena, t->s->analysis, NULL), LPO_OPERATORS_BY_TOTAL);

    for (size_t i = 0; i < t->s->nfiles; i++)
        lpo_doc_put(traces, LPO_V(t->s->files[i]));
    lpo_doc_put(data, LPO_KV("calls", t->ops->calls));
    put_sum(data, t, "gpu", &t->ops->all);
    put_sum(data, t, "gpu_outside_operators", &t->ops->outside);
    put_sum(data, t, "gpu_without_launch", &t->ops->no_launch);
    lpo_report_put_devices(data, t->s->analysis);
    if (memory.count)
        lpo_doc_put_rows(data, "memory", &memory,
                         "type device=gpu allocations frees peak_allocated_bytes=peak_bytes "
                         "peak_reserved_bytes=most_reserved_bytes growth_bytes largest_bytes");
    else
        lpo_doc_put(data, LPO_KV("memory", lpo_jv_null()));
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
    doc = lpo_doc_create_data(TORCH_SCHEMA, "torch", "PyTorch profiler");
    add_sections(doc, &t);
    put_metrics(doc->data, &t);
    return doc;
}
