/* SPDX-License-Identifier: Apache-2.0 */
#include "../unit.h"

#include <math.h>
#include <zlib.h>

#include "util/csv.h"
#include "util/err.h"
#include "util/file.h"
#include "util/str.h"
#include "util/unpack.h"

/* Rows as text: cells joined with '|', rows with '\n'. */
static void dump(struct lpo_csv *c, struct lpo_str *out)
{
    LPO_STR cell = { 0 };
    struct lpo_err err = { 0 };

    while (lpo_csv_next(c, &err) > 0) {
        for (size_t i = 0; i < c->count; i++)
            lpo_str_addf(out, "%s%s", i ? "|" : "", lpo_csv_cell_text(c->cells[i], &cell));
        lpo_str_addc(out, '\n');
    }
    assert_int_equal(err.code, 0);
}

static const struct row_case {
    const char *name, *text, *want;
    char lead;
} row_cases[] = {
    { "plain", "a,b\nc,d\n", "a|b\nc|d\n", 0 },
    { "no newline at the end", "a,b", "a|b\n", 0 },
    { "quoted comma and newline", "\"a,1\",\"b\nc\"\n", "a,1|b\nc\n", 0 },
    { "doubled quotes", "\"say \"\"hi\"\"\",x\n", "say \"hi\"|x\n", 0 },
    { "only a doubled quote", "\"\"\"\",x\n", "\"|x\n", 0 },
    { "empty cells", ",\"\",\n", "||\n", 0 },
    { "windows line ends", "a,b\r\n\"c\",\"d\"\r\n", "a|b\nc|d\n", 0 },
    { "quote that never closes", "\"abc", "abc\n", 0 },
    { "text behind a closing quote", "\"a\"b,c\n", "a|c\n", 0 },
    { "lines of another program are skipped", "\"a\",\"b\"\n==PROF== \"x\", 3\n\"c\",\"d\"\n",
      "a|b\nc|d\n", '"' },
    { "quote inside a bare cell", "a\"b,c\n", "a\"b|c\n", 0 },
};

static void check_row(void **state)
{
    const struct row_case *c = *state;
    LPO_AUTO(lpo_csv) csv = lpo_csv_text(c->text, strlen(c->text));
    LPO_STR got = { 0 };

    csv->lead = c->lead;
    dump(csv, &got);
    assert_string_equal(lpo_str_text(&got), c->want);
}

static const struct number_case {
    const char *name, *text;
    bool ok;
    double want;
} number_cases[] = {
    { "separators", "57,536", true, 57536 },
    { "decimals", "567,762,376,237.62", true, 567762376237.62 },
    { "trailing zeros", "16896.000000", true, 16896 },
    { "negative", "-0.5", true, -0.5 },
    { "exponent", "1.5e+10", true, 1.5e10 },
    { "more digits than a double holds", "12345678901234567890123.5", true,
      12345678901234567890123.5 },
    { "tiny", "4.9e-324", true, 4.9e-324 },
    { "negative beyond the fast path", "-123456789012345678.9", true, -123456789012345678.9 },
    { "instances behind the total", "1,024 (512; 512)", true, 1024 },
    { "not available", "n/a", false, 0 },
    { "empty", "", false, 0 },
    { "text", "No-CC", false, 0 },
    { "number then text", "12 px", false, 0 },
};

static struct lpo_csv_cell cell_of(const char *text)
{
    return (struct lpo_csv_cell){ text, (uint32_t)strlen(text), false };
}

static void check_number(void **state)
{
    const struct number_case *c = *state;
    double got = 0;

    assert_int_equal(lpo_csv_cell_number(cell_of(c->text), &got), c->ok);
    if (c->ok)
        assert_true(got == c->want);
}

static const struct scaled_case {
    const char *name, *text;
    int power;
    bool ok;
    int64_t want;
} scaled_cases[] = {
    { "nanoseconds as they are", "982845927", 0, true, 982845927 },
    { "microseconds, exact", "1623143089861.123", 3, true, 1623143089861123 },
    { "half rounds up", "0.0005", 3, true, 1 },
    { "below half rounds down", "0.00049", 3, true, 0 },
    { "seconds beyond a double's digits", "1687813257.637297504", 9, true, 1687813257637297504 },
    { "does not fit", "99999999999", 9, false, 0 },
    { "negative", "-1.5", 1, true, -15 },
};

static void check_scaled(void **state)
{
    const struct scaled_case *c = *state;
    int64_t got = 0;

    assert_int_equal(lpo_csv_cell_scaled(cell_of(c->text), c->power, &got), c->ok);
    assert_int_equal(got, c->want);
}

/* The window slides many times and a row is longer than the window. */
static void rows_across_windows(void **state)
{
    LPO_AUTO(lpo_csv) csv = NULL;
    LPO_STR text = { 0 };
    struct lpo_err err = { 0 };
    char path[UNIT_PATH];
    gzFile gz;
    int64_t n;
    uint64_t rows = 0;

    for (int i = 0; i < 200000; i++)
        lpo_str_addf(&text, "\"%d\",\"na\"\"me,%d\"\n", i, i);
    lpo_str_add(&text, "\"200000\",\"");
    for (int i = 0; i < 3000000; i++)
        lpo_str_addc(&text, 'x');
    lpo_str_add(&text, "\"\n");
    unit_file("", 0, path);
    gz = gzopen(path, "wb1");
    assert_int_equal(gzwrite(gz, text.at, (unsigned)text.len), (int)text.len);
    gzclose(gz);
    assert_int_equal(lpo_csv_open(path, &csv, &err), 0);
    unlink(path);
    for (; lpo_csv_next(csv, &err) > 0; rows++) {
        if (rows == 1000 && *state)
            lpo_csv_read_ahead(csv);
        if (rows == 1000 && *state)
            continue; /* the row in hand is gone */
        assert_int_equal(csv->count, 2);
        assert_true(lpo_csv_cell_int(csv->cells[0], &n));
        assert_int_equal(n, rows);
        assert_int_equal(csv->line, rows + 1);
    }
    assert_int_equal(rows, 200001);
    assert_false(csv->cut);
}

static void rows_across_windows_ahead(void **state)
{
    (void)state;
    rows_across_windows((void *[]){ "ahead" });
}

/* Leaving early must not wait for a thread that waits for us. */
static void reading_ahead_can_be_left(void **state)
{
    LPO_AUTO(lpo_csv) csv = NULL;
    LPO_STR text = { 0 };
    struct lpo_err err = { 0 };

    (void)state;
    for (int i = 0; i < 300000; i++)
        lpo_str_addf(&text, "%d,row\n", i);
    csv = lpo_csv_text(text.at, text.len);
    lpo_csv_read_ahead(csv);
    assert_int_equal(lpo_csv_next(csv, &err), 1);
    assert_true(lpo_csv_cell_is(csv->cells[1], "row"));
}

static void a_row_too_long_ahead_is_an_error(void **state)
{
    LPO_AUTO(lpo_csv) csv = NULL;
    struct lpo_err err = { 0 };
    size_t len = 20 << 20;
    char path[UNIT_PATH], *text = malloc(len);

    (void)state;
    memset(text, 'x', len);
    memcpy(text, "a,b\n\"", 5);
    unit_file(text, len, path);
    free(text);
    assert_int_equal(lpo_csv_open(path, &csv, &err), 0);
    unlink(path);
    lpo_csv_read_ahead(csv);
    assert_int_equal(lpo_csv_next(csv, &err), 1);
    assert_int_equal(lpo_csv_next(csv, &err), LPO_E_LIMIT);
    assert_non_null(strstr(lpo_err_cause(&err), "line 2"));
}

static void cut_gzip_keeps_its_start(void **state)
{
    LPO_AUTO(lpo_unpack_file) u = NULL;
    LPO_STR text = { 0 };
    struct lpo_err err = { 0 };
    char path[UNIT_PATH], first[8] = { 0 };
    gzFile gz;

    (void)state;
    unit_file("", 0, path);
    gz = gzopen(path, "wb");
    for (int i = 0; i < 100000; i++)
        lpo_str_addf(&text, "%d,", i * 7919);
    gzwrite(gz, text.at, (unsigned)text.len);
    gzclose(gz);
    assert_int_equal(truncate(path, 100000), 0);
    assert_int_equal(lpo_unpack(path, &u, &err), 0);
    unlink(path);
    assert_true(u->cut);
    assert_int_equal(read(u->fd, first, 7), 7);
    assert_string_equal(first, "0,7919,");
}

static void missing_file_is_named(void **state)
{
    struct lpo_csv *c = NULL;
    struct lpo_err err = { 0 };

    (void)state;
    assert_int_equal(lpo_csv_open("/nowhere/x.csv", &c, &err), LPO_E_IO);
    assert_non_null(strstr(lpo_err_cause(&err), "/nowhere/x.csv"));
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_ROWS(&u, row_cases, check_row);
    UNIT_ROWS(&u, number_cases, check_number);
    UNIT_ROWS(&u, scaled_cases, check_scaled);
    UNIT_TEST(&u, rows_across_windows);
    UNIT_TEST(&u, rows_across_windows_ahead);
    UNIT_TEST(&u, reading_ahead_can_be_left);
    UNIT_TEST(&u, a_row_too_long_ahead_is_an_error);
    UNIT_TEST(&u, cut_gzip_keeps_its_start);
    UNIT_TEST(&u, missing_file_is_named);
    return unit_run(&u);
}
