/* SPDX-License-Identifier: Apache-2.0 */

#include "report/ncu_rules.h"
#include "analysis/analysis.h"
#include "analysis/counters/rules.h"
#include "region/kernel_name/short.h"
#include "report/doc/doc.h"
#include "rundir/rundir.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

enum { MOST_RECORDS = 10000 };

static const struct lpo_column columns[] = {
    { "kernel", "Kernel", LPO_CELL_TEXT, NULL },
    { "title", "ncu says", LPO_CELL_TEXT, NULL },
    { "section", "Section", LPO_CELL_TEXT, NULL, 2 },
    { "launches", "Launches", LPO_CELL_COUNT, NULL, 1 },
    { "gpu_ns", "GPU time", LPO_CELL_NS, NULL },
    { "speedup", "Could save", LPO_CELL_PERCENT, NULL },
    { "saving_ns", "That is", LPO_CELL_NS, NULL },
};

/* The source that has rules: whatever tool the others are from. */
static const struct lpo_source *source_of(const struct lpo_rundir *d)
{
    return lpo_find(i, d->sources.at, d->sources.len,
                    d->sources.at[i].analysis && d->sources.at[i].trace->rules.len);
}

static const char *name_of(const struct lpo_trace *t, uint32_t name)
{
    return name == LPO_NONE ? NULL : lpo_trace_text(t, name);
}

static const char *title_of(const struct lpo_trace *t, const struct lpo_counters_rule *r)
{
    return name_of(t, r->title != LPO_NONE ? r->title : r->rule);
}

static const char *short_kernel(struct lpo_arena *a, const char *name)
{
    LPO_STR text = { 0 };

    if (!*name)
        return name;
    lpo_region_short_name((struct lpo_kernel_span){ name, strlen(name) }, &text);
    return lpo_arena_name(a, lpo_str_text(&text), text.len);
}

static void add_row(struct lpo_table *table, const struct lpo_trace *t,
                    const struct lpo_counters_rule *r)
{
    const char *kernel = lpo_trace_text(t, r->kernel);

    lpo_doc_row(table, lpo_cell_path(kernel, short_kernel(table->arena, kernel), 0), title_of(t, r),
                name_of(t, r->section), r->launches, r->gpu_ns,
                r->speedup == LPO_SPEEDUP_GLOBAL
                    ? lpo_cell_percent(lpo_measure_estimated(r->percent))
                    : lpo_cell_unknown(),
                lpo_measure_estimated(r->saving_ns));
}

/* The words of each rule once, of the row that saves most: others differ in their numbers. */
static void add_texts(struct lpo_doc *doc, const struct lpo_trace *t,
                      const struct lpo_counters_rules *rules, size_t shown, bool all)
{
    size_t n = 0;

    for (size_t i = 0; i < rules->rows.len && n < shown; i++) {
        const struct lpo_counters_rule *r = &rules->rows.at[i];
        bool before = false;

        if (!all && r->kind != LPO_RULE_ADVICE)
            continue;
        n++;
        for (size_t k = 0; k < i && !before; k++)
            before = rules->rows.at[k].title == r->title && rules->rows.at[k].rule == r->rule;
        if (!before)
            lpo_doc_paragraph(doc, "%s: %s", title_of(t, r) ? title_of(t, r) : "rule",
                              lpo_trace_text(t, r->text));
    }
}

void lpo_report_ncu_rules(struct lpo_doc *doc, const struct lpo_rundir *d, int level, size_t most,
                          bool all)
{
    const struct lpo_source *s = source_of(d);
    const struct lpo_counters_rules *rules = s ? lpo_analysis_rules(s->analysis) : NULL;
    struct lpo_table *table;
    size_t fit = 0, shown = 0;

    for (size_t i = 0; rules && i < rules->rows.len; i++)
        fit += all || rules->rows.at[i].kind == LPO_RULE_ADVICE;
    if (!fit)
        return;
    lpo_doc_section(doc, "ncu_rules", "What ncu advises", level);
    lpo_doc_paragraph(doc, "Rules of Nsight Compute about the kernels that it profiled. What could "
                           "be saved is its estimate for the kernel's own time, not for the run; "
                           "estimates for one kernel cannot be added up.");
    table = lpo_doc_table(doc, "ncu_rules", "", columns, COUNT(columns));
    for (size_t i = 0; i < rules->rows.len && shown < most; i++)
        if (all || rules->rows.at[i].kind == LPO_RULE_ADVICE) {
            add_row(table, s->trace, &rules->rows.at[i]);
            shown++;
        }
    if (shown < fit)
        table->total_rows = fit;
    add_texts(doc, s->trace, rules, shown, all);
}

void lpo_report_put_ncu_rules(struct lpo_record *to, const struct lpo_rundir *d)
{
    const struct lpo_source *s = source_of(d);
    const struct lpo_counters_rules *rules = s ? lpo_analysis_rules(s->analysis) : NULL;
    struct lpo_record *list;

    if (!rules || !rules->rows.len)
        return;
    list = lpo_doc_put_list(to, "ncu_rules");
    for (size_t i = 0; i < rules->rows.len && i < MOST_RECORDS; i++) {
        const struct lpo_counters_rule *r = &rules->rows.at[i];

        lpo_doc_put(
            lpo_doc_put_record(list, NULL), LPO_KV("kernel", lpo_trace_text(s->trace, r->kernel)),
            LPO_KV("section", name_of(s->trace, r->section)),
            LPO_KV("rule", name_of(s->trace, r->rule)),
            LPO_KV("title", name_of(s->trace, r->title)),
            LPO_KV("kind", lpo_counters_rule_kind(r->kind)),
            LPO_KV("text", lpo_trace_text(s->trace, r->text)), LPO_KV("launches", r->launches),
            LPO_KV("gpu_ns", r->gpu_ns), LPO_KV("speedup", lpo_counters_rule_speedup(r->speedup)),
            LPO_KV("speedup_percent", r->percent), LPO_KV("saving_ns", r->saving_ns));
    }
}
