/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "../unit.h"

#include "report/doc/doc.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/file_queue.h"
#include "util/json.h"
#include "util/path.h"
#include "util/str.h"
#include "util/visible.h"
#include "writer/writer.h"

static const struct lpo_column columns[] = {
    { "name", "Name", LPO_CELL_TEXT, NULL },      { "n", "Launches", LPO_CELL_COUNT, NULL },
    { "gpu_ns", "GPU time", LPO_CELL_NS, NULL },  { "bytes", "Bytes", LPO_CELL_BYTES, NULL },
    { "share", "Share", LPO_CELL_PERCENT, NULL }, { "rate", "Rate", LPO_CELL_MEASURE, "FLOP/s" },
    { "seen", "Seen", LPO_CELL_FLAG, NULL },
};

static struct lpo_doc *sample(void)
{
    struct lpo_doc *doc = lpo_doc_create("test", "A <title>");
    struct lpo_table *t;

    lpo_doc_section(doc, "one", "Section | one", 1);
    lpo_doc_paragraph(doc, "It took %d ms.", 3);
    lpo_doc_fact(doc, "gpu", "GPU", TEXT, "H200");
    lpo_doc_fact(doc, "span", "Span", NS, 1500000);
    lpo_doc_fact(doc, "peak", "Peak", MEASURE("FLOP/s"), lpo_measure_unknown());
    t = lpo_doc_table(doc, "kernels", "Kernels", columns, 7);
    lpo_doc_row(t, "a|b`c`<script>", 1234567, 1234000, 1536, lpo_cell_share(1, 8),
                lpo_measure_estimated(2e12), lpo_cell_flag(true), lpo_cell_tree("=cmd()\n,x", 2));
    for (int i = 0; i < 3; i++)
        lpo_doc_row(t, lpo_cell_unknown());
    lpo_doc_row(t, lpo_cell_share(1, 0), lpo_cell_unknown(), lpo_cell_unknown());
    lpo_doc_note(doc, LPO_NOTE_WARNING, "lost %d records", 5);
    return doc;
}

static const struct writer_case {
    const char *name, *writer;
    const char *holds[8]; /* NULL-terminated: each must be in the output */
} writer_cases[] = {
    { "markdown escapes and prints units",
      "md",
      { "# A &lt;title>\n", "## Section \\| one\n",
        "| a\\|b\\`c\\`&lt;script> | 1,234,567 | 1.234\u00a0ms | 1.500\u00a0KiB | 12.5\u00a0% | "
        "~2\u00a0TFLOP/s | yes |",
        "It took 3\u00a0ms.\n", "| &emsp;&emsp;=cmd()\\\\n,x | n/a | n/a | n/a | n/a | n/a | n/a |",
        "> **Warning:** lost 5 records\n" } },
    { "json keeps exact values",
      "json",
      { "\"gpu_ns\": 1234000", "\"share\": 0.125", "\"_estimated\": [", "\"share\": null",
        "\"_depth\": 2", "\"name\": \"a|b`c`<script>\"" } },
    { "csv quotes and defuses formulas",
      "csv",
      { "name,n,gpu_ns,bytes,share,rate,seen,_estimated\r\n",
        "a|b`c`<script>,1234567,1234000,1536,0.125,2000000000000.0,1,rate\r\n",
        "\"'=cmd()\n,x\",,,,,,,\r\n" } },
    { "html escapes, and keeps the exact value beside the printed one",
      "html",
      { "<title>A &lt;title&gt;</title>", "<section id=\"one\">\n<h2>Section | one</h2>",
        "<th scope=\"row\">a|b`c`&lt;script&gt;</th><td data-v=\"1234567\">1,234,567</td>",
        "<td data-v=\"1234000\">1.234 ms</td>", "<td class=\"n\">n/a</td>", "default-src 'none'",
        "<b>Warning:</b> lost 5 records</p>" } },
    { "text aligns",
      "text",
      { "Name             Launches  GPU time", "\na|b`c`<script>  1,234,567  1.234 ms",
        "\n    =cmd()\\n,x" } },
};

static void check_writer(void **state)
{
    const struct writer_case *c = *state;
    LPO_AUTO(lpo_doc) doc = sample();
    LPO_STR out = { 0 };

    lpo_writer_find(c->writer)->write(doc, &out);
    for (int i = 0; i < 8 && c->holds[i]; i++)
        if (!strstr(lpo_str_text(&out), c->holds[i]))
            fail_msg("no '%s' in:\n%s", c->holds[i], lpo_str_text(&out));
}

/* Two scopes in sections of one id, and a row that looks like a mark. */
static void csv_marks_name_the_scope(void **state)
{
    static const char *const scopes[] = { "aggregate", "a, \"b\"\n# c" };
    static const char want[] = "# regions/rows aggregate\r\nname,n\r\n\"## encoder\",1\r\n\r\n"
                               "# regions/rows a   b \\n# c\r\nname,n\r\n\"## encoder\",1\r\n";
    LPO_AUTO(lpo_doc) doc = lpo_doc_create("test", "t");
    LPO_STR out = { 0 };

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct lpo_table *t;

        lpo_doc_section(doc, "regions", scopes[i], 1);
        t = lpo_doc_table(doc, "rows", "", columns, 2);
        lpo_doc_row(t, "## encoder", 1);
    }
    lpo_writer_find("csv")->write(doc, &out);
    assert_string_equal(lpo_str_text(&out), want);
}

static const struct measure_case {
    const char *name;
    struct lpo_measure value;
    const char *want; /* the same value as count, as duration, as bytes and as measure */
} measure_cases[] = {
    { "a real is rounded where the column is whole",
      { 2.5e3 + 0.75, LPO_COMPUTED },
      "2501,2501,2501,2500.75\r\n" },
    { "unknown is empty everywhere", { 7, LPO_UNKNOWN }, ",,,\r\n" },
    { "beyond a whole number is not 0",
      { 1e19, LPO_COMPUTED },
      ",,10000000000000000000,1e+19\r\n" },
    { "endless is unknown", { INFINITY, LPO_COMPUTED }, ",,,\r\n" },
};

static void check_measure(void **state)
{
    static const struct lpo_column kinds[] = { { "n", "", LPO_CELL_COUNT, NULL },
                                               { "ns", "", LPO_CELL_NS, NULL },
                                               { "bytes", "", LPO_CELL_BYTES, NULL },
                                               { "rate", "", LPO_CELL_MEASURE, "" } };
    const struct measure_case *c = *state;
    LPO_AUTO(lpo_doc) doc = lpo_doc_create("test", "t");
    struct lpo_table *t = lpo_doc_table(doc, "rows", "", kinds, 4);
    LPO_STR out = { 0 };

    for (int i = 0; i < 4; i++)
        lpo_doc_row(t, c->value);
    lpo_writer_find("csv")->write(doc, &out);
    assert_string_equal(strchr(lpo_str_text(&out), '\n') + 1, c->want);
}

static void json_parses(void **state)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    LPO_AUTO(lpo_doc) doc = sample();
    LPO_STR out = { 0 };
    const struct lpo_json *v = NULL;

    (void)state;
    lpo_doc_put(lpo_doc_put_list(doc->data, "extra"), LPO_V(1));
    lpo_writer_find("json")->write(doc, &out);
    assert_int_equal(lpo_json_parse(a, out.at, out.len, &v, NULL), 0);
    assert_string_equal(lpo_json_text(lpo_json_get(v, "schema"), ""), "lpo.report/3");
    assert_int_equal(lpo_json_get(v, "extra")->count, 1);
}

/* A record with a member of every kind, and what JSON makes of it. */
static void json_prints_records(void **state)
{
    static const char want[] =
        "{\n \"schema\": \"lpo.test/1\",\n \"none\": null,\n \"yes\": true,\n"
        " \"down\": -3,\n \"most\": 18446744073709551615,\n \"half\": 0.5,\n"
        " \"rounded\": 3,\n \"endless\": null,\n \"text\": \"a\\\"b\",\n"
        " \"list\": [\n  1,\n  {}\n ],\n \"inner\": {\n  \"ns\": 7,\n"
        "  \"unknown\": null\n }\n}\n";
    LPO_AUTO(lpo_doc) doc = lpo_doc_create_data("lpo.test/1", "test", "t");
    struct lpo_record *r = doc->data, *inner;
    LPO_STR out = { 0 };

    (void)state;
    lpo_doc_paragraph(doc, "for people, not in this JSON");
    lpo_doc_put(r, LPO_KV("none", lpo_jv_null()), LPO_KV("yes", lpo_jv_flag(true)),
                LPO_KV("down", -3), LPO_KV("most", UINT64_MAX), LPO_KV("half", 0.5),
                LPO_KV("rounded", lpo_jv_whole(lpo_measure_computed(2.6))),
                LPO_KV("endless", INFINITY), LPO_KV("text", "a\"b"));
    inner = lpo_doc_put_list(r, "list");
    lpo_doc_put(inner, LPO_V(1));
    lpo_doc_put_record(inner, NULL);
    inner = lpo_doc_put_record(r, "inner");
    lpo_doc_put(inner, LPO_KV("ns", lpo_jv_int_if(true, 7)),
                LPO_KV("unknown", lpo_jv_int_if(false, 7)));
    lpo_writer_find("json")->write(doc, &out);
    assert_string_equal(lpo_str_text(&out), want);
    for (size_t i = 0; lpo_writer_at(i); i++) /* records are for machines */
        if (lpo_writer_at(i)->write && !lpo_writer_at(i)->records) {
            lpo_str_clear(&out);
            lpo_writer_at(i)->write(doc, &out);
            assert_null(strstr(lpo_str_text(&out), "unknown"));
        }
}

static void make_square(const void *ctx, size_t i, struct lpo_record *out)
{
    lpo_doc_put(out, LPO_KV("n", i), LPO_KV(ctx, i * i));
}

/* More records than are held at a time, and a stream of none. */
static void json_prints_streams(void **state)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    LPO_AUTO(lpo_doc) doc = lpo_doc_create_data("lpo.test/1", "test", "t");
    const struct lpo_json *v = NULL;
    LPO_STR out = { 0 };
    int64_t n = 0;

    (void)state;
    lpo_doc_put_stream(doc->data, "squares", 1000, make_square, "square");
    lpo_doc_put_stream(doc->data, "none", 0, make_square, "square");
    lpo_writer_find("json")->write(doc, &out);
    assert_int_equal(lpo_json_parse(a, out.at, out.len, &v, NULL), 0);
    assert_int_equal(lpo_json_get(v, "squares")->count, 1000);
    LPO_JSON_EACH(r, lpo_json_get(v, "squares"))
    {
        assert_int_equal(lpo_json_int(lpo_json_get(r, "n"), -1), n);
        assert_int_equal(lpo_json_int(lpo_json_get(r, "square"), -1), n * n);
        n++;
    }
    assert_non_null(strstr(out.at, "\"none\": []"));
}

/* The data of a report stands on one line for each member. */
static void json_keeps_data_of_reports_short(void **state)
{
    LPO_AUTO(lpo_doc) doc = lpo_doc_create("run", "t");
    struct lpo_record *list = lpo_doc_put_list(doc->data, "rows");
    LPO_STR out = { 0 };

    (void)state;
    lpo_doc_put(lpo_doc_put_record(list, NULL), LPO_KV("n", 1));
    lpo_doc_put(lpo_doc_put_record(list, NULL), LPO_KV("n", 2));
    lpo_doc_put_record(doc->data, "after");
    lpo_writer_find("json")->write(doc, &out);
    assert_non_null(strstr(out.at, "\n \"rows\": [{\"n\": 1}, {\"n\": 2}],\n \"after\": {}\n}\n"));
}

/* Every row of the table is whole, and no two claim one name or one file. */
static void the_table_of_writers_is_whole(void **state)
{
    (void)state;
    for (size_t i = 0; lpo_writer_at(i); i++) {
        const struct lpo_writer *w = lpo_writer_at(i);

        assert_ptr_equal(lpo_writer_find(w->name), w);
        assert_true(w->summary && *w->summary);
        assert_true(!strcmp(w->kind, "run") || !strcmp(w->kind, "page") ||
                    !strcmp(w->kind, "timeline") || !strcmp(w->kind, "diff"));
        assert_true(!w->write != !w->draw); /* bytes of the document, or of each figure */
        assert_int_equal(w->draw || w->print, strstr(w->file, "%s") != NULL);
        for (size_t k = 0; k < i; k++) {
            assert_string_not_equal(lpo_writer_at(k)->name, w->name);
            assert_string_not_equal(lpo_writer_at(k)->file, w->file);
        }
    }
    assert_null(lpo_writer_find("docx"));
}

/* Every writer makes its files of the same document: the table names them. */
static void every_writer_writes_its_files(void **state)
{
    static const char *const files[] = {
        "report.txt",           "report.md",   "report.json",
        "csv/kernels.csv",      "report.html", "timeline.perfetto.json",
        "figures/roofline.svg", "checks.xml",  "comment.md"
    };
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    LPO_AUTO(lpo_doc) doc = sample();
    LPO_AUTO(lpo_file_queue) queue = lpo_file_queue_create();
    char dir[] = "/tmp/lpo-writers-XXXXXX";
    struct lpo_figure *f = lpo_doc_figure(doc, "roofline", "Roofline", LPO_FIG_SCATTER);
    struct lpo_err err = { 0 };

    (void)state;
    lpo_doc_figure_point(f, "needed", "<b>", 10, 100);
    assert_non_null(mkdtemp(dir));
    for (size_t i = 0; lpo_writer_at(i); i++)
        assert_int_equal(lpo_writer_queue_into(doc, lpo_writer_at(i), dir, queue, &err), 0);
    assert_int_equal(lpo_file_queue_finish(queue, &err), 0);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        const char *path = lpo_path_join(a, dir, files[i]);

        if (!lpo_path_exists(path))
            fail_msg("no %s", files[i]);
        unlink(path);
    }
    rmdir(lpo_path_join(a, dir, "figures"));
    rmdir(lpo_path_join(a, dir, "csv"));
    assert_int_equal(rmdir(dir), 0); /* nothing else was written */
}

/* What a roof allows stands beside it. */
static void roofs_have_their_rates(void **state)
{
    LPO_AUTO(lpo_doc) doc = lpo_doc_create("run", "t");
    struct lpo_figure *f = lpo_doc_figure(doc, "roofline", "Roofline", LPO_FIG_SCATTER);
    LPO_STR out = { 0 };

    (void)state;
    lpo_doc_figure_point(f, "roof", "memory", 0.01, 4.8e10);
    lpo_doc_figure_point(f, "roof", "ridge", 10, 4.8e13);
    lpo_doc_figure_point(f, "roof", "compute", 1000, 4.8e13);
    lpo_doc_figure_point(f, "needed", "decode", 1, 1e12);
    assert_true(lpo_writer_svg.draw(f, &out));
    assert_non_null(strstr(out.at, ">memory 4.800 TB/s</text>"));
    assert_non_null(strstr(out.at, ">compute 48 TFLOP/s</text>"));
}

/* Shares of a peak: a kernel that uses none of it is a point, too. */
static void shares_stand_on_linear_axes(void **state)
{
    LPO_AUTO(lpo_doc) doc = lpo_doc_create("run", "t");
    struct lpo_figure *f = lpo_doc_figure(doc, "shares", "Shares", LPO_FIG_SCATTER);
    LPO_STR out = { 0 };

    (void)state;
    f->percent = true;
    lpo_doc_figure_point(f, "balanced", "none of it", 0, 0);
    lpo_doc_figure_point(f, "balanced", "all of it", 100, 100);
    lpo_doc_figure_point(f, "balanced", "no share", 1e300, -1);
    assert_true(lpo_writer_svg.draw(f, &out));
    assert_non_null(strstr(out.at, "<circle cx=\"80.0\" cy=\"360.0\""));
    assert_non_null(strstr(out.at, "<circle cx=\"740.0\" cy=\"40.0\""));
    assert_null(strstr(out.at, "no share"));
    assert_non_null(strstr(out.at, ">60</text>"));
}

/* From the least to the most; a hostile label is text, a cell beyond all bounds is not drawn. */
static void heat_has_a_cell_for_each_point(void **state)
{
    LPO_AUTO(lpo_doc) doc = lpo_doc_create("run", "t");
    struct lpo_figure *f = lpo_doc_figure(doc, "heat", "Heat", LPO_FIG_HEAT);
    LPO_STR out = { 0 };

    (void)state;
    f->y_title = "ns";
    assert_false(lpo_writer_svg.draw(f, &out));
    lpo_doc_figure_point(f, "3", "<b>", 0, 1000);
    lpo_doc_figure_point(f, "4", "<b>", 1, 3000);
    lpo_doc_figure_point(f, "3", "rank 1", 0, 2000);
    lpo_doc_figure_point(f, "9", "rank 1", 1e300, 2000);
    lpo_doc_figure_point(f, "9", "rank 1", 1, NAN);
    assert_true(lpo_writer_svg.draw(f, &out));
    assert_non_null(strstr(out.at, "fill=\"#ddebff\"><title>&lt;b&gt;, 3: 1 us</title>"));
    assert_non_null(strstr(out.at, "fill=\"#032f62\"><title>&lt;b&gt;, 4: 3 us</title>"));
    assert_non_null(strstr(out.at, "<title>rank 1, 3: 2 us</title>"));
    assert_null(strstr(out.at, "rank 1, 9"));
}

static void perfetto_parses(void **state)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    LPO_AUTO(lpo_doc) doc = lpo_doc_create("timeline", "t");
    struct lpo_figure *f = lpo_doc_figure(doc, "t", "t", LPO_FIG_LANES);
    const struct lpo_json *v = NULL;
    LPO_STR out = { 0 };

    (void)state;
    lpo_doc_figure_lane(f, "GPU 0", "stream 7");
    lpo_doc_figure_lane(f, "process 1", "thread 1");
    lpo_doc_figure_lane(f, "GPU 0", "stream 8");
    lpo_doc_figure_span(f, 2, "k\"\n", 1234567, 1234999);
    lpo_writer_find("perfetto")->write(doc, &out);
    assert_int_equal(lpo_json_parse(a, out.at, out.len, &v, NULL), 0);
    assert_non_null(strstr(out.at, "\"pid\":1,\"tid\":3,\"ts\":1234.567,\"dur\":0.432}"));
}

static const struct visible_case {
    const char *name, *text;
    size_t max;
    const char *want;
} visible_cases[] = {
    { "plain", "abc", 0, "abc" },
    { "newline and tab", "a\n\tb", 0, "a\\n\\tb" },
    { "escape sequence", "\x1b[31m", 0, "\\u{1b}[31m" },
    { "bidi override", "a\xe2\x80\xaetxt", 0, "a\\u{202e}txt" },
    { "zero width", "a\xe2\x80\x8b", 0, "a\\u{200b}" },
    { "broken utf-8", "a\xff", 0, "a\\xff" },
    { "umlauts stay", "\xc3\xa4", 0, "\xc3\xa4" },
    { "cut", "abcdef", 4, "abc\xe2\x80\xa6" },
    { "just fits", "abcd", 4, "abcd" },
    { "cut never splits an escape", "ab\n\n", 4, "ab\xe2\x80\xa6" },
};

static void check_visible(void **state)
{
    const struct visible_case *c = *state;
    LPO_STR out = { 0 };

    lpo_visible_add(&out, c->text, strlen(c->text), c->max);
    assert_string_equal(lpo_str_text(&out), c->want);
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_ROWS(&u, writer_cases, check_writer);
    UNIT_ROWS(&u, measure_cases, check_measure);
    UNIT_TEST(&u, csv_marks_name_the_scope);
    UNIT_TEST(&u, json_parses);
    UNIT_TEST(&u, json_prints_records);
    UNIT_TEST(&u, json_prints_streams);
    UNIT_TEST(&u, json_keeps_data_of_reports_short);
    UNIT_TEST(&u, the_table_of_writers_is_whole);
    UNIT_TEST(&u, every_writer_writes_its_files);
    UNIT_TEST(&u, roofs_have_their_rates);
    UNIT_TEST(&u, shares_stand_on_linear_axes);
    UNIT_TEST(&u, heat_has_a_cell_for_each_point);
    UNIT_TEST(&u, perfetto_parses);
    UNIT_ROWS(&u, visible_cases, check_visible);
    return unit_run(&u);
}
