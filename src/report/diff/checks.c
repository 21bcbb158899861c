/* SPDX-License-Identifier: Apache-2.0 */
/* Limits and whether they were kept: the table that JUnit XML is made of, too. */

#include "analysis/diff/budgets.h"
#include "report/diff/diff.h"
#include "report/doc/doc.h"
#include "util/units.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

bool lpo_report_diff_failed(const struct lpo_report_diff_options *o)
{
    return lpo_any(i, o->checks.len, o->checks.at[i].state == LPO_DIFF_FAILED);
}

static void add_value(struct lpo_str *s, enum lpo_diff_unit unit, double v)
{
    if (isnan(v))
        lpo_str_add(s, "n/a");
    else if (unit == LPO_DIFF_BYTES)
        lpo_units_add_bytes(s, v);
    else if (unit == LPO_DIFF_NUMBER)
        lpo_str_addf(s, "%.6g", v);
    else
        lpo_units_add_duration(s, (int64_t)llround(v));
}

/* "decode/layer*: 1.2 ms in A, 1.5 ms in B (25.0 % worse); the limit is 5%" */
static void add_message(struct lpo_str *s, const struct lpo_diff_check *c)
{
    if (c->state == LPO_DIFF_NO_MATCH && lpo_str_starts(c->budget->what, "metric:")) {
        lpo_str_addf(s, "not checked: no such counter %s",
                     isnan(c->budget->share) ? "in B" : "on both sides");
        return;
    }
    if (c->state == LPO_DIFF_NO_MATCH) {
        lpo_str_addf(s, "nothing in B is called '%s'", c->budget->what);
        return;
    }
    lpo_str_addf(s, "%s: ", c->name);
    add_value(s, c->unit, c->a);
    lpo_str_add(s, " in A, ");
    add_value(s, c->unit, c->b);
    lpo_str_add(s, " in B");
    if (!isnan(c->change))
        lpo_str_addf(s, " (%.2f %% %s)", 100 * fabs(c->change), c->change > 0 ? "worse" : "better");
    lpo_str_addf(s, "; the limit is %s", c->budget->limit);
    if (c->state == LPO_DIFF_BY_CHANCE)
        lpo_str_add(s, "; chance can explain the change");
}

static const struct lpo_column columns[] = {
    { "check", "Check", LPO_CELL_TEXT, NULL },
    { "state", "State", LPO_CELL_TEXT, NULL },
    { "message", "What was found", LPO_CELL_TEXT, NULL, 0, 60 },
};

void lpo_report_diff_checks(struct lpo_doc *doc, const struct lpo_diff *d,
                            const struct lpo_report_diff_options *o)
{
    struct lpo_table *t;

    if (!o->gated)
        return;
    lpo_doc_section(doc, "checks", "Limits", 1);
    t = lpo_doc_table(doc, "checks", "", columns, COUNT(columns));
    t->least_rows = SIZE_MAX;
    lpo_doc_row(t, "comparable", d->comparable ? "passed" : "not comparable",
                d->comparable ? "" : lpo_report_diff_sentence(doc->arena, d));
    for (size_t i = 0; d->comparable && i < o->checks.len; i++) {
        LPO_STR message = { 0 };

        add_message(&message, &o->checks.at[i]);
        lpo_doc_row(t, o->checks.at[i].budget->what, lpo_diff_state_name(o->checks.at[i].state),
                    lpo_str_text(&message));
    }
}

void lpo_report_diff_put_checks(struct lpo_record *to, const struct lpo_report_diff_options *o)
{
    static const char *const units[] = { "ns", "ms", "bytes", "number" };
    struct lpo_record *list = lpo_doc_put_list(to, "checks");

    for (size_t i = 0; i < o->checks.len; i++) {
        const struct lpo_diff_check *c = &o->checks.at[i];

        lpo_doc_put(lpo_doc_put_record(list, NULL), LPO_KV("check", c->budget->what),
                    LPO_KV("limit", c->budget->limit),
                    LPO_KV("state", lpo_diff_state_name(c->state)), LPO_KV("name", c->name),
                    LPO_KV("unit", units[c->unit]), LPO_KV("a", c->a), LPO_KV("b", c->b),
                    LPO_KV("worse", c->change));
    }
}
