/* kernels.md and operators.md: the long tables. */
#include "region/operators.h"
#include "region/scope.h"
#include "report/analysis.h"
#include "report/chapters.h"
#include "report/doc.h"
#include "report/run_data.h"
#include "report/tables.h"
#include "trace/trace.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

enum { REGIONS = 40, KERNELS_OF_REGION = 10, OPERATORS = 200 };

struct lpo_doc *lpo_kernels_doc(const struct lpo_run_data *d, const struct lpo_source *s)
{
    struct lpo_doc *doc = lpo_doc_create("kernels", "Kernels");
    LPO_AUTO(lpo_scope) all = NULL;

    (void)d;
    if (!s || !s->analysis->cells->cells.len) {
        lpo_doc_paragraph(doc, "No GPU work was recorded in this run.");
        return doc;
    }
    all =
        lpo_scope_create(s->analysis->cells, (struct lpo_scope_id){ LPO_SCOPE_ALL, 0 }, s->select);
    lpo_doc_section(doc, "all", "All kernels", 1);
    lpo_doc_paragraph(doc, "From %s, by GPU time.", s->what);
    lpo_add_top_kernels(doc, s->analysis, 0);
    lpo_doc_section(doc, "classes", "Kinds of kernels", 1);
    lpo_doc_paragraph(doc, "Guessed from the names of the kernels.");
    lpo_add_classes(doc, s->analysis);
    if (s->analysis->tree->nodes.len) {
        lpo_doc_section(doc, "regions", "Kernels by region", 1);
        lpo_add_region_kernels(doc, all, REGIONS, KERNELS_OF_REGION);
    }
    return doc;
}

static const struct lpo_column operator_columns[] = {
    { "calls", "Calls", LPO_CELL_COUNT, NULL },
    { "cpu_total_ns", "CPU total", LPO_CELL_NS, NULL },
    { "cpu_self_ns", "CPU self", LPO_CELL_NS, NULL },
    { "gpu_total_ns", "GPU total", LPO_CELL_NS, NULL },
    { "gpu_self_ns", "GPU self", LPO_CELL_NS, NULL },
    { "share", "GPU share", LPO_CELL_PERCENT, NULL },
    { "works", "Works", LPO_CELL_COUNT, NULL },
    { "operator", "Operator", LPO_CELL_TEXT, NULL },
    { "shapes", "Input shapes", LPO_CELL_TEXT, NULL },
};

static void operator_table(struct lpo_doc *doc, const struct lpo_trace *trace, const char *id,
                           bool by_shapes)
{
    LPO_AUTO(lpo_operators) ops = lpo_operators_create(trace, by_shapes);
    struct lpo_table *t =
        lpo_doc_table(doc, id, "", operator_columns, COUNT(operator_columns) - (by_shapes ? 0 : 1));

    for (size_t i = 0; i < ops->rows.len && i < OPERATORS; i++) {
        const struct lpo_operator *o = &ops->rows.at[i];

        lpo_row_count(t, o->calls);
        lpo_row_ns(t, o->cpu_total_ns);
        lpo_row_ns(t, o->cpu_self_ns);
        lpo_row_ns(t, o->gpu_total_ns);
        lpo_row_ns(t, o->gpu_self_ns);
        lpo_row_share(t, (double)o->gpu_self_ns, (double)ops->all.ns);
        lpo_row_count(t, o->works_self);
        lpo_row_textn(t, lpo_trace_text(trace, o->name), lpo_trace_text_len(trace, o->name));
        if (by_shapes)
            lpo_row_text(t, o->shapes == LPO_NONE ? NULL : lpo_trace_text(trace, o->shapes));
    }
    if (ops->rows.len > OPERATORS)
        t->total_rows = ops->rows.len;
}

struct lpo_doc *lpo_operators_doc(const struct lpo_run_data *d, const struct lpo_source *s)
{
    struct lpo_doc *doc = lpo_doc_create("operators", "Operators");

    (void)d;
    if (!s || !s->analysis->trace->ops.len) {
        lpo_doc_paragraph(doc, "No operators were recorded in this run: they come from the PyTorch "
                               "profiler (pipeline.torch_profiler.enable=true).");
        return doc;
    }
    lpo_doc_section(doc, "operators", "By operator", 1);
    lpo_doc_paragraph(doc,
                      "From %s. Total includes the operators called inside, self does not; "
                      "GPU time is that of the work launched inside.",
                      s->what);
    operator_table(doc, s->analysis->trace, "operators", false);
    lpo_doc_section(doc, "shapes", "By operator and input shapes", 1);
    operator_table(doc, s->analysis->trace, "operator_shapes", true);
    return doc;
}
