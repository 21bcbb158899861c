/* SPDX-License-Identifier: Apache-2.0 */
/* JUnit XML, as CI servers read it: every row of the tables whose id is "checks" is a test. Their
 * columns `check`, `state` and `message` are the name, the outcome and what is said about it. */

#include "report/doc/doc.h"
#include "writer/markup.h"
#include "writer/writer.h"

static void add_text(struct lpo_str *out, const char *text)
{
    lpo_writer_markup_add(out, text, strlen(text), 0);
}

static const char *cell_of(const struct lpo_table *t, size_t row, const char *key)
{
    for (size_t c = 0; c < t->ncolumns; c++)
        if (strcmp(t->columns[c].key, key) == 0 && t->columns[c].type == LPO_CELL_TEXT) {
            const struct lpo_doc_cell *cell = lpo_doc_table_cell(t, row, c);

            return cell->how == LPO_UNKNOWN ? "" : cell->text;
        }
    return "";
}

/* The outcome of a row as an element of JUnit; NULL: it passed. */
static const char *element_of(const char *state)
{
    static const struct {
        const char *state, *element;
    } states[] = { { "failed", "failure" },
                   { "not comparable", "error" },
                   { "nothing matched", "skipped" } };

    for (size_t i = 0; i < sizeof states / sizeof *states; i++)
        if (strcmp(states[i].state, state) == 0)
            return states[i].element;
    return NULL;
}

struct counts {
    size_t tests, failures, errors, skipped;
};

static void write_case(struct lpo_str *out, const struct lpo_table *t, size_t row,
                       const char *suite, struct counts *n)
{
    const char *element = element_of(cell_of(t, row, "state"));

    n->tests++;
    lpo_str_add(out, "    <testcase classname=\"");
    add_text(out, suite);
    lpo_str_add(out, "\" name=\"");
    add_text(out, cell_of(t, row, "check"));
    if (!element) {
        lpo_str_add(out, "\"/>\n");
        return;
    }
    n->failures += strcmp(element, "failure") == 0;
    n->errors += strcmp(element, "error") == 0;
    n->skipped += strcmp(element, "skipped") == 0;
    lpo_str_addf(out, "\">\n      <%s message=\"", element);
    add_text(out, cell_of(t, row, "message"));
    lpo_str_add(out, "\"/>\n    </testcase>\n");
}

static void junit_write(const struct lpo_doc *doc, struct lpo_str *out)
{
    LPO_STR cases = { 0 };
    LPO_STR suite = { 0 };
    struct counts n = { 0 };

    lpo_str_addf(&suite, "lpo.%s", doc->kind);
    for (size_t i = 0; i < doc->sections.len; i++)
        for (size_t k = 0; k < doc->sections.at[i]->items.len; k++) {
            const struct lpo_item *item = &doc->sections.at[i]->items.at[k];

            if (item->kind != LPO_ITEM_TABLE || strcmp(item->table->id, "checks") != 0)
                continue;
            for (size_t r = 0; r < lpo_doc_table_rows(item->table); r++)
                write_case(&cases, item->table, r, lpo_str_text(&suite), &n);
        }
    lpo_str_addf(out,
                 "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite "
                 "name=\"%s\" tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" skipped=\"%zu\">\n",
                 lpo_str_text(&suite), n.tests, n.failures, n.errors, n.skipped);
    lpo_str_addn(out, lpo_str_text(&cases), cases.len);
    lpo_str_add(out, "  </testsuite>\n</testsuites>\n");
}

const struct lpo_writer lpo_writer_junit = {
    .name = "junit",
    .summary = "the checks of a comparison as tests, for CI servers",
    .kind = "diff",
    .file = "checks.xml",
    .write = junit_write,
};
