/* SPDX-License-Identifier: Apache-2.0 */
/* What a page keeps when it has not room for all: rows, chapters, columns, levels of a tree. */
#include "../unit.h"

#include "report/doc/doc.h"
#include "util/str.h"
#include "writer/writer.h"

static struct lpo_table *add_rows(struct lpo_doc *doc, const char *id, const int64_t *ns, size_t n)
{
    static const struct lpo_column two[] = { { "name", "Name", LPO_CELL_TEXT, NULL },
                                             { "ns", "Time", LPO_CELL_NS, NULL } };
    struct lpo_table *t = lpo_doc_table(doc, id, "", two, 2);

    for (size_t i = 0; i < n; i++) {
        lpo_doc_row(t, lpo_arena_printf(t->arena, "%s%zu", id, i), ns[i]);
    }
    return t;
}

/* A short page cuts each table where its rows stop mattering, whatever else is on it. */
static const struct short_case {
    const char *name;
    size_t rows, least, want;
    int64_t first, others; /* ns of the first 12 rows and of the rest */
} short_cases[] = {
    {
        "a long tail goes",
        100,
        0,
        12,
        1000000,
        1000,
    },
    { "what matters stays", 40, 0, 40, 1000, 1000 },
    { "a least number stays", 100, 20, 20, 1000000, 1 },
    { "at most sixty that are alike", 200, 0, 60, 1000, 1000 },
    { "two rows are no longer than the line", 14, 0, 14, 1000000, 1 },
    { "all", 100, SIZE_MAX, 100, 1000000, 1 },
};

static void short_pages_cut_tails(void **state)
{
    const struct short_case *c = *state;
    LPO_AUTO(lpo_doc) doc = lpo_doc_create("run", "t");
    int64_t ns[200];
    LPO_STR out = { 0 }, page = { 0 };
    const char *file;
    char last[20], next[20];

    for (size_t i = 0; i < c->rows; i++)
        ns[i] = i < 12 ? c->first : c->others;
    lpo_doc_section(doc, "part", "Part", 1);
    add_rows(doc, "r", ns, c->rows)->least_rows = c->least;
    doc->is_short = true;
    lpo_writer_find("md")->write(doc, &out);
    snprintf(last, sizeof last, "| r%zu |", c->want - 1);
    snprintf(next, sizeof next, "| r%zu |", c->want);
    assert_non_null(strstr(out.at, last));
    assert_null(strstr(out.at, next));
    assert_true(!strstr(out.at, "(details/part.md)") == (c->want == c->rows));
    file = lpo_writer_find("md")->chapter(doc, 0, &page);
    assert_true(!file == (c->want == c->rows));
    snprintf(last, sizeof last, "| r%zu |", c->rows - 1);
    if (file)
        assert_non_null(strstr(page.at, last)); /* the page of the chapter is whole */
    doc->is_short = false;                      /* report.md=long */
    out.len = 0;
    lpo_writer_find("md")->write(doc, &out);
    assert_non_null(strstr(out.at, last));
    assert_null(strstr(out.at, "details/"));
}

/* Of a tree the own share of a row counts, and a row stays with those around it. */
static void short_trees_keep_parents(void **state)
{
    static const struct lpo_column two[] = { { "name", "Name", LPO_CELL_TEXT, NULL },
                                             { "ns", "Time", LPO_CELL_NS, NULL } };
    LPO_AUTO(lpo_doc) doc = lpo_doc_create("run", "t");
    struct lpo_table *t = lpo_doc_table(doc, "t", "", two, 2);
    LPO_STR out = { 0 };

    (void)state;
    for (int i = 0; i < 10; i++) {
        char name[20];

        for (unsigned depth = 0; depth < 3; depth++) {
            snprintf(name, sizeof name, "n%d.%u", i, depth);
            lpo_doc_row(t, lpo_cell_tree(name, depth), i == 5 || depth == 2 ? 1 : 100000);
        }
    }
    doc->is_short = true;
    lpo_writer_find("md")->write(doc, &out);
    assert_non_null(strstr(out.at, "| n9.0 |"));
    assert_non_null(strstr(out.at, "| &emsp;n9.1 |"));
    assert_null(strstr(out.at, "n9.2"));
    assert_null(strstr(out.at, "n5."));
}

/* Details have a page of their own; a chapter that another page has all of links that one. */
static void details_are_linked(void **state)
{
    static const int64_t ns[] = { 3, 2, 1 };
    LPO_AUTO(lpo_doc) doc = lpo_doc_create("run", "t");
    LPO_STR out = { 0 }, page = { 0 };

    (void)state;
    for (int i = 0; i < 3; i++) {
        lpo_doc_section(doc, i == 2 ? "x" : "s", i == 0 ? "First" : i == 1 ? "Second" : "Third", 1);
        add_rows(doc, "t", ns, 3)->detail = i == 2;
        if (i == 1)
            lpo_doc_section_is_detail(doc);
        if (i == 2)
            lpo_doc_section_page(doc, "x.md");
    }
    doc->is_short = true;
    lpo_writer_find("md")->write(doc, &out);
    assert_non_null(strstr(out.at, "## First"));
    assert_null(strstr(out.at, "## Second"));
    assert_non_null(strstr(out.at, "More: [Second](details/s-2.md), [Third](x.md)."));
    assert_null(lpo_writer_find("md")->chapter(doc, 0, &page));
    assert_string_equal(lpo_writer_find("md")->chapter(doc, 1, &page), "details/s-2.md");
    assert_non_null(strstr(page.at, "[t](../report.md)"));
    assert_null(lpo_writer_find("md")->chapter(doc, 2, &page));
}

/* Columns without a value in any row, and facts that are not known, are left to machines. */
static void what_is_unknown_is_left_out(void **state)
{
    static const struct lpo_column three[] = { { "n", "N", LPO_CELL_COUNT, NULL },
                                               { "a", "Absent", LPO_CELL_NS, NULL },
                                               { "m", "Message", LPO_CELL_TEXT, NULL } };
    LPO_AUTO(lpo_doc) doc = lpo_doc_create("run", "t");
    struct lpo_table *t = lpo_doc_table(doc, "t", "", three, 3);
    LPO_STR out = { 0 };

    (void)state;
    lpo_doc_fact(doc, "f", "Fact", TEXT, lpo_cell_unknown());
    for (uint64_t i = 0; i < 2; i++) {
        lpo_doc_row(t, i, lpo_cell_unknown(), "");
    }
    for (const char *const *w = (const char *const[]){ "md", "text", NULL }; *w; w++) {
        lpo_str_clear(&out);
        lpo_writer_find(*w)->write(doc, &out);
        assert_non_null(strstr(out.at, "N"));
        assert_null(strstr(out.at, "Absent"));
        assert_null(strstr(out.at, "Message"));
        assert_null(strstr(out.at, "Fact"));
    }
    lpo_str_clear(&out);
    lpo_writer_find("csv")->write(doc, &out);
    assert_non_null(strstr(out.at, "a"));
}

/* Names that begin alike are cut in the middle, others at their end. */
static void names_stay_distinct(void **state)
{
    static const struct lpo_column one[] = { { "name", "Name", LPO_CELL_TEXT, NULL },
                                             { "n", "A number", LPO_CELL_COUNT, NULL } };
    LPO_AUTO(lpo_doc) doc = lpo_doc_create("run", "t");
    struct lpo_table *t = lpo_doc_table(doc, "t", "", one, 2);
    LPO_STR out = { 0 };
    char name[300];

    (void)state;
    for (int i = 0; i < 3; i++) {
        memset(name, 'x', 250);
        snprintf(name + 250, sizeof name - 250, "<float,%d>", i);
        lpo_doc_row(t, name, 1);
    }
    lpo_writer_find("text")->write(doc, &out);
    for (int i = 0; i < 3; i++) {
        snprintf(name, sizeof name, "x<float,%d>  ", i);
        assert_non_null(strstr(out.at, name));
    }
    assert_non_null(strstr(out.at, "\nxxx"));
    assert_non_null(strstr(out.at, "\xe2\x80\xa6"));
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
    lpo_doc_row(t, name);
    for (int i = 0; i < 3; i++)
        lpo_doc_row(t, 1234567);
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
        lpo_doc_row(t, lpo_cell_tree(names[i], i), i);
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

    UNIT_ROWS(&u, short_cases, short_pages_cut_tails);
    UNIT_TEST(&u, short_trees_keep_parents);
    UNIT_TEST(&u, details_are_linked);
    UNIT_TEST(&u, what_is_unknown_is_left_out);
    UNIT_TEST(&u, names_stay_distinct);
    UNIT_TEST(&u, wide_tables_fit);
    UNIT_TEST(&u, trees_keep_their_levels);
    return unit_run(&u);
}
