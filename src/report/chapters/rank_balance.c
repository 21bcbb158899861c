/* SPDX-License-Identifier: Apache-2.0 */
/* In the chapter "Ranks": numbers of the program and sizes of all-to-alls, the most over the mean.
 */
#include "analysis/analysis.h"
#include "analysis/ranks/balance.h"
#include "analysis/tables/tables.h"
#include "report/chapters/chapters.h"
#include "report/doc/doc.h"
#include "report/trace_records.h"
#include "rundir/rundir.h"

enum { MOST_RECORDS = 1000 };

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

typedef struct lpo_rank_balance balance_row;

#define IS_NUMBER (r->kind == LPO_BALANCE_NUMBER)

static struct lpo_cell words_cell(const struct lpo_rows *rows, const balance_row *r)
{
    add_words(lpo_table_scratch(rows), lpo_tables_analysis(rows), r);
    return lpo_cell_scratch(rows);
}

static struct lpo_cell path_cell(const struct lpo_rows *rows, const balance_row *r)
{
    add_region(lpo_table_scratch(rows), lpo_tables_analysis(rows), r->node);
    return lpo_cell_scratch(rows);
}

#define BALANCE(X)                                                                                 \
    X(balance, words, "What", TEXT, KEY, "number and its region, or all-to-all",                   \
      words_cell(rows, r))                                                                         \
    X(balance, what, "Kind", TEXT, KEY, "number or all-to-all",                                    \
      IS_NUMBER ? "number" : "all-to-all")                                                         \
    X(balance, name, "Name", TEXT, KEY, "of the number; sent or received",                         \
      IS_NUMBER ? lpo_tables_name(rows, r->name) : lpo_cell_text(kinds[r->kind]))                  \
    X(balance, path, "Region", TEXT, KEY, "of the number",                                         \
      IS_NUMBER ? path_cell(rows, r) : lpo_cell_unknown())                                         \
    X(balance, group, "Group", TEXT, KEY, "of ranks", lpo_tables_name(rows, r->group))             \
    X(balance, ranks, "Ranks", COUNT, FACT, "that have it", r->ranks)                              \
    X(balance, calls, "Calls", COUNT, ADDS, "of a rank", r->calls, .minor = 1)                     \
    X(balance, per_call, "By call", FLAG, FACT, "calls of the ranks belong together", r->per_call) \
    X(balance, mean, "Mean", MEASURE(""), FACT, "over the ranks", r->mean)                         \
    X(balance, least, "Least", MEASURE(""), FACT, "of a rank", r->least)                           \
    X(balance, most, "Most", MEASURE(""), FACT, "of a rank", r->most)                              \
    X(balance, least_rank, "Least on", COUNT, FACT, "rank", r->least_rank)                         \
    X(balance, most_rank, "On rank", COUNT, FACT, "rank", r->most_rank)                            \
    X(balance, ratio, "Most / mean", MEASURE(""), FACT, "1 is balanced", r->ratio)                 \
    X(balance, call_ratio, "Call by call", MEASURE(""), FACT, "with the most of each call",        \
      r->call_ratio)

LPO_TABLE(balance, BALANCE)

static const struct lpo_table_kind balance_kind = LPO_TABLE_KIND(
    balance, "imbalance", "Numbers of the program and sizes of all-to-alls over ranks");

static struct lpo_rows balance_rows(struct lpo_arena *arena, const struct lpo_analysis *a)
{
    const struct lpo_ranks_balance *b = lpo_analysis_rank_balance(a);

    return lpo_tables_rows(lpo_tables_of(arena, a, NULL), &balance_kind, b ? b->rows.at : NULL,
                           b ? b->rows.len : 0);
}

void lpo_report_chapter_rank_balance(struct lpo_doc *doc, const struct lpo_rundir *d,
                                     const struct lpo_source *s)
{
    const struct lpo_rows rows = balance_rows(doc->arena, s->analysis);

    if (!lpo_analysis_rank_balance(s->analysis))
        return;
    lpo_doc_section(doc, "imbalance", "Balance of the work", 2);
    lpo_doc_paragraph(
        doc, "Numbers that the program gave with its ranges, and sizes of all-to-alls. Most / "
             "mean: the largest value of a rank over the mean of all ranks; 1 is balanced. Call by "
             "call: the same with the most of each call, since the ranks may take turns.");
    lpo_doc_table_of(doc, "imbalance", "", &rows,
                     "what=words ranks calls mean most most_rank ratio call_ratio", d->top);
}

void lpo_report_put_rank_balance(struct lpo_record *to, const struct lpo_analysis *a)
{
    struct lpo_rows rows = balance_rows(to->arena, a);

    if (!lpo_analysis_rank_balance(a))
        return;
    rows.count = rows.count < MOST_RECORDS ? rows.count : MOST_RECORDS;
    lpo_doc_put_rows(to, "imbalance", &rows,
                     "what name path group ranks calls per_call mean least most least_rank "
                     "most_rank ratio call_ratio");
}
