/* SPDX-License-Identifier: Apache-2.0 */
/* In the chapter "Ranks": numbers of the program and sizes of all-to-alls, the most over the mean.
 */
#include "analysis/analysis.h"
#include "analysis/ranks/balance.h"
#include "region/scope.h"
#include "region/tree.h"
#include "report/chapters/chapters.h"
#include "report/doc/doc.h"
#include "report/trace_records.h"
#include "rundir/rundir.h"
#include "trace/trace.h"
#include "util/arena.h"
#include "util/str.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

enum { MOST_RECORDS = 1000 };

static const struct lpo_column columns[] = {
    { "what", "What", LPO_CELL_TEXT, NULL },
    { "ranks", "Ranks", LPO_CELL_COUNT, NULL },
    { "calls", "Calls", LPO_CELL_COUNT, NULL, 1 },
    { "mean", "Mean", LPO_CELL_MEASURE, "" },
    { "most", "Most", LPO_CELL_MEASURE, "" },
    { "most_rank", "On rank", LPO_CELL_COUNT, NULL },
    { "ratio", "Most / mean", LPO_CELL_MEASURE, "" },
    { "call_ratio", "Call by call", LPO_CELL_MEASURE, "" },
};

static const char *const kinds[] = { "number", "received", "sent" };

static void add_region(struct lpo_str *out, const struct lpo_analysis *a, uint32_t node)
{
    if (node == LPO_NODE_OUTSIDE)
        lpo_str_add(out, "(outside)");
    else
        lpo_region_add_path(a->tree, node, out);
}

/* "tokens in decode/moe", "all-to-all of group 2, received" */
static void add_words(struct lpo_str *out, const struct lpo_analysis *a,
                      const struct lpo_rank_balance *r)
{
    if (r->kind == LPO_BALANCE_NUMBER) {
        lpo_str_addf(out, "%s in ",
                     r->name == LPO_NONE ? "payload" : lpo_trace_text(a->trace, r->name));
        add_region(out, a, r->node);
        return;
    }
    lpo_str_add(out, "all-to-all");
    if (r->group != LPO_NONE)
        lpo_str_addf(out, " of group %s", lpo_trace_text(a->trace, r->group));
    lpo_str_addf(out, ", elements %s", kinds[r->kind]);
}

void lpo_report_chapter_rank_balance(struct lpo_doc *doc, const struct lpo_rundir *d,
                                     const struct lpo_source *s)
{
    const struct lpo_ranks_balance *b = lpo_analysis_rank_balance(s->analysis);
    struct lpo_table *t;

    if (!b)
        return;
    lpo_doc_section(doc, "imbalance", "Balance of the work", 2);
    lpo_doc_paragraph(doc, "Numbers that the program gave with its ranges, and sizes of "
                           "all-to-alls. Most / mean: what the rank with most of it has, over the "
                           "mean of the ranks; 1 is balanced. Call by call: the same with the most "
                           "of each call, since the ranks may take turns.");
    t = lpo_doc_table(doc, "imbalance", "", columns, COUNT(columns));
    for (size_t i = 0; i < b->rows.len && i < d->top; i++) {
        const struct lpo_rank_balance *r = &b->rows.at[i];
        LPO_STR words = { 0 };

        add_words(&words, s->analysis, r);
        lpo_doc_row_textn(t, lpo_str_text(&words), words.len);
        lpo_doc_row_count(t, r->ranks);
        lpo_doc_row_count(t, r->calls);
        lpo_doc_row_measure(t, lpo_measure_computed(r->mean));
        lpo_doc_row_measure(t, lpo_measure_computed(r->most));
        lpo_doc_row_count(t, (uint64_t)r->most_rank);
        lpo_doc_row_measure(t, lpo_measure_computed(r->ratio));
        lpo_doc_row_measure(t, r->call_ratio);
    }
    if (b->rows.len > d->top)
        t->total_rows = b->rows.len;
}

void lpo_report_put_rank_balance(struct lpo_record *to, const struct lpo_analysis *a)
{
    const struct lpo_ranks_balance *b = lpo_analysis_rank_balance(a);
    struct lpo_record *list;

    if (!b)
        return;
    list = lpo_doc_put_list(to, "imbalance");
    for (size_t i = 0; i < b->rows.len && i < MOST_RECORDS; i++) {
        const struct lpo_rank_balance *r = &b->rows.at[i];
        struct lpo_record *one = lpo_doc_put_record(list, NULL);
        bool number = r->kind == LPO_BALANCE_NUMBER;
        LPO_STR path = { 0 };

        if (number)
            add_region(&path, a, r->node);
        lpo_doc_put_text(one, "what", number ? "number" : "all-to-all");
        lpo_doc_put_text(one, "name",
                         !number               ? kinds[r->kind]
                         : r->name == LPO_NONE ? NULL
                                               : lpo_trace_text(a->trace, r->name));
        lpo_doc_put_text(one, "path", number ? lpo_str_text(&path) : NULL);
        lpo_doc_put_text(one, "group",
                         r->group == LPO_NONE ? NULL : lpo_trace_text(a->trace, r->group));
        lpo_doc_put_uint(one, "ranks", r->ranks);
        lpo_doc_put_uint(one, "calls", r->calls);
        lpo_doc_put_flag(one, "per_call", r->per_call);
        lpo_doc_put_real(one, "mean", r->mean);
        lpo_doc_put_real(one, "least", r->least);
        lpo_doc_put_real(one, "most", r->most);
        lpo_doc_put_int(one, "least_rank", r->least_rank);
        lpo_doc_put_int(one, "most_rank", r->most_rank);
        lpo_doc_put_real(one, "ratio", r->ratio);
        lpo_doc_put_measure(one, "call_ratio", r->call_ratio);
    }
}
