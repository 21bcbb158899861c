#include <math.h>

#include "../unit.h"

#include "report/doc/doc.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/json.h"
#include "util/str.h"
#include "writer/visible.h"
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
    lpo_doc_fact_text(doc, "gpu", "GPU", "H200");
    lpo_doc_fact_ns(doc, "span", "Span", 1500000);
    lpo_doc_fact_measure(doc, "peak", "Peak", lpo_measure_unknown(), "FLOP/s");
    t = lpo_doc_table(doc, "kernels", "Kernels", columns, 7);
    lpo_doc_row_text(t, "a|b`c`<script>");
    lpo_doc_row_count(t, 1234567);
    lpo_doc_row_ns(t, 1234000);
    lpo_doc_row_bytes(t, 1536);
    lpo_doc_row_share(t, 1, 8);
    lpo_doc_row_measure(t, lpo_measure_estimated(2e12));
    lpo_doc_row_flag(t, true);
    lpo_doc_row_tree(t, "=cmd()\n,x", 9, 2);
    for (int i = 0; i < 3; i++)
        lpo_doc_row_unknown(t);
    lpo_doc_row_share(t, 1, 0);
    lpo_doc_row_unknown(t);
    lpo_doc_row_unknown(t);
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
        "| a\\|b\\`c\\`&lt;script> | 1,234,567 | 1.234 ms | 1.500 KiB | 12.5 % | ~2 TFLOP/s | yes "
        "|",
        "| &emsp;&emsp;=cmd()\\\\n,x | n/a | n/a | n/a | n/a | n/a | n/a |", "- Peak: n/a\n",
        "> **Warning:** lost 5 records\n" } },
    { "json keeps exact values",
      "json",
      { "\"gpu_ns\": 1234000", "\"share\": 12.5", "\"_estimated\": [", "\"share\": null",
        "\"_depth\": 2", "\"name\": \"a|b`c`<script>\"" } },
    { "csv quotes and defuses formulas",
      "csv",
      { "name,n,gpu_ns,bytes,share,rate,seen,_estimated\r\n",
        "a|b`c`<script>,1234567,1234000,1536,12.5,2000000000000.0,1,rate\r\n",
        "\"'=cmd()\n,x\",,,,,,,\r\n" } },
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
        lpo_doc_row_text(t, "## encoder");
        lpo_doc_row_count(t, 1);
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
        lpo_doc_row_measure(t, c->value);
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
    lpo_doc_attach(doc, "extra", "[1]", 3);
    lpo_writer_find("json")->write(doc, &out);
    assert_int_equal(lpo_json_parse(a, out.at, out.len, &v, NULL), 0);
    assert_string_equal(lpo_json_text(lpo_json_get(v, "schema"), ""), "lpo.report/1");
    assert_int_equal(lpo_json_get(v, "extra")->count, 1);
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

    lpo_writer_add_visible(&out, c->text, strlen(c->text), c->max);
    assert_string_equal(lpo_str_text(&out), c->want);
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_ROWS(&u, writer_cases, check_writer);
    UNIT_ROWS(&u, measure_cases, check_measure);
    UNIT_TEST(&u, csv_marks_name_the_scope);
    UNIT_TEST(&u, json_parses);
    UNIT_TEST(&u, perfetto_parses);
    UNIT_ROWS(&u, visible_cases, check_visible);
    return unit_run(&u);
}
