/* SPDX-License-Identifier: Apache-2.0 */
/* What a page keeps when it has not room for all: rows, chapters, columns, levels of a tree. */
#include "../unit.h"

#include "report/doc/doc.h"
#include "util/str.h"
#include "writer/writer.h"

/* A page of limited length: every table gives up rows, one that must be whole does not. */
static void markdown_keeps_to_its_length(void **state)
{
    static const struct lpo_column one[] = { { "n", "N", LPO_CELL_COUNT, NULL } };
    LPO_AUTO(lpo_doc) doc = lpo_doc_create("run", "t");
    struct lpo_table *tables[3], *small;
    LPO_STR out = { 0 };
    size_t lines = 0;

    (void)state;
    for (int i = 0; i < 3; i++) {
        tables[i] = lpo_doc_table(doc, "t", "", one, 1);
        for (uint64_t r = 0; r < 50; r++)
            lpo_doc_row_count(tables[i], r);
    }
    /* three rows are no longer than one and the line that says so */
    small = lpo_doc_table(doc, "small", "", one, 1);
    for (uint64_t r = 1001; r < 1004; r++)
        lpo_doc_row_count(small, r);
    small->least_rows = 1;
    tables[0]->least_rows = SIZE_MAX;
    tables[1]->least_rows = 20;
    doc->most_lines = 100;
    lpo_writer_find("md")->write(doc, &out);
    for (size_t i = 0; i < out.len; i++)
        lines += out.at[i] == '\n';
    assert_in_range(lines, 95, 100);
    assert_non_null(strstr(out.at, "| 49 |")); /* of the first */
    assert_non_null(strstr(out.at, "| 1,003 |"));
    assert_non_null(strstr(out.at, " of 50 rows are shown; the JSON report has all."));
}

/* Details are left out before tables have fewer than half of their least, the least of them first.
 */
static void long_pages_leave_out_details(void **state)
{
    static const struct lpo_column one[] = { { "a", "A", LPO_CELL_COUNT, NULL } };
    static const unsigned minor[] = { 0, 1, 2, 0 };
    static const char *const titles[] = { "First", "Second", "Third", "Fourth" };
    LPO_AUTO(lpo_doc) doc = lpo_doc_create("run", "t");
    LPO_STR out = { 0 };

    (void)state;
    for (int i = 0; i < 4; i++) {
        struct lpo_table *t;

        lpo_doc_section(doc, "s", titles[i], 1);
        lpo_doc_section_is_minor(doc, minor[i]);
        t = lpo_doc_table(doc, "t", "", one, 1);
        for (uint64_t r = 0; r < 50; r++)
            lpo_doc_row_count(t, r);
    }
    doc->most_lines = 35; /* a heading, a head, three rows, what is cut, and lines between */
    lpo_writer_find("md")->write(doc, &out);
    assert_non_null(strstr(out.at, "## Second"));
    assert_null(strstr(out.at, "## Third"));
    assert_non_null(strstr(out.at, "3 of 50 rows"));
    assert_non_null(
        strstr(out.at, "\nLeft out, to keep this page short: Third. The JSON report has all.\n"));
    out.len = 0;
    doc->most_lines = 29;
    lpo_writer_find("md")->write(doc, &out);
    assert_non_null(strstr(out.at, "short: Second, Third. The"));
    assert_non_null(strstr(out.at, "## Fourth"));
    out.len = 0;
    doc->most_lines = 0;
    lpo_writer_find("md")->write(doc, &out);
    assert_null(strstr(out.at, "Left out"));
}

/* Where a table is too wide, names are cut, then minor columns left out; numbers are whole. */
static void wide_tables_fit(void **state)
{
    static const struct lpo_column wide[] = {
        { "name", "Name", LPO_CELL_TEXT, NULL },
        { "a", "A rather long title", LPO_CELL_COUNT, NULL, 0 },
        { "b", "Another rather long title", LPO_CELL_COUNT, NULL, 1 },
        { "c", "The last of the long titles", LPO_CELL_COUNT, NULL, 2 },
    };
    LPO_AUTO(lpo_doc) doc = lpo_doc_create("run", "t");
    struct lpo_table *t = lpo_doc_table(doc, "t", "", wide, 4);
    char name[200];
    LPO_STR out = { 0 };

    (void)state;
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    lpo_doc_row_text(t, name);
    for (int i = 0; i < 3; i++)
        lpo_doc_row_count(t, 1234567);
    lpo_writer_find("text")->write(doc, &out);
    assert_non_null(strstr(out.at, "Another rather long title"));
    assert_null(strstr(out.at, "The last"));
    for (const char *p = out.at; *p; p += strcspn(p, "\n") + 1)
        assert_in_range(strcspn(p, "\n"), 0, 102); /* "…" is three bytes */
    doc->whole = true;
    lpo_str_clear(&out);
    lpo_writer_find("text")->write(doc, &out);
    assert_non_null(strstr(out.at, name));
    assert_non_null(strstr(out.at, "The last"));
}

/* A narrow tree keeps its levels: four of them fit into ten columns. */
static void trees_keep_their_levels(void **state)
{
    static const char *const names[] = { "decode", "step", "layer*", "mlp" };
    static const struct lpo_column two[] = { { "name", "Name", LPO_CELL_TEXT, NULL },
                                             { "n", "Launches", LPO_CELL_COUNT, NULL } };
    LPO_AUTO(lpo_doc) doc = lpo_doc_create("run", "t");
    struct lpo_table *t = lpo_doc_table(doc, "t", "", two, 2);
    LPO_STR out = { 0 };

    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        lpo_doc_row_tree(t, names[i], strlen(names[i]), i);
        lpo_doc_row_count(t, i);
    }
    lpo_writer_find("text")->write(doc, &out);
    assert_non_null(strstr(out.at, "\ndecode "));
    assert_non_null(strstr(out.at, "\n  step "));
    assert_non_null(strstr(out.at, "\n    layer* "));
    assert_non_null(strstr(out.at, "\n      mlp "));
    lpo_str_clear(&out);
    lpo_writer_find("md")->write(doc, &out);
    assert_non_null(strstr(out.at, "| &emsp;&emsp;&emsp;mlp |"));
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_TEST(&u, markdown_keeps_to_its_length);
    UNIT_TEST(&u, long_pages_leave_out_details);
    UNIT_TEST(&u, wide_tables_fit);
    UNIT_TEST(&u, trees_keep_their_levels);
    return unit_run(&u);
}
