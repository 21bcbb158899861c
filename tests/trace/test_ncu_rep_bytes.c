/* SPDX-License-Identifier: Apache-2.0 */
/* Reports made up byte by byte: cut short, packed, of another version, hostile. */
#include "../unit.h"

#include <zstd.h>

#include "dump.h"
#include "trace/ncu/rep.h"
#include "trace/reader.h"
#include "util/err.h"
#include "util/unpack.h"

static void varint(struct lpo_str *s, uint64_t v)
{
    for (; v >= 0x80; v >>= 7)
        lpo_str_addc(s, (char)(v | 0x80));
    lpo_str_addc(s, (char)v);
}

static void put_int(struct lpo_str *s, unsigned field, uint64_t v)
{
    varint(s, field << 3);
    varint(s, v);
}

static void put_bytes(struct lpo_str *s, unsigned field, const void *bytes, size_t len)
{
    varint(s, field << 3 | 2);
    varint(s, len);
    lpo_str_addn(s, bytes, len);
}

static void put_text(struct lpo_str *s, unsigned field, const char *text)
{
    put_bytes(s, field, text, strlen(text));
}

static void put_double(struct lpo_str *s, unsigned field, double v)
{
    varint(s, field << 3 | 1);
    lpo_str_addn(s, (const char *)&v, sizeof v);
}

static void put_sized(struct lpo_str *s, const struct lpo_str *message)
{
    uint32_t len = (uint32_t)message->len;

    lpo_str_addn(s, (const char *)&len, sizeof len);
    lpo_str_addn(s, lpo_str_text(message), message->len);
}

static void put_header(struct lpo_str *s, uint64_t version)
{
    LPO_STR h = { 0 };

    lpo_str_addn(s, "NVR", 4);
    put_int(&h, 1, version);
    put_sized(s, &h);
}

static void put_zeros(struct lpo_str *s, size_t len)
{
    for (size_t i = 0; i < len; i++)
        lpo_str_addc(s, 0);
}

static void put_metric(struct lpo_str *result, uint64_t name, double v)
{
    LPO_STR m = { 0 }, value = { 0 };

    put_double(&value, 3, v);
    put_int(&m, 1, name);
    put_bytes(&m, 2, value.at, value.len);
    put_bytes(result, 13, m.at, m.len);
}

/* A block with one result of two metrics; its own strings, or none; a source and a section of that
 * many bytes. */
static void put_large_block(struct lpo_str *s, const char *kernel, bool strings,
                            const struct lpo_str *nvtx, size_t source_bytes, size_t section_bytes)
{
    LPO_STR source = { 0 }, section = { 0 };
    LPO_STR result = { 0 }, payload = { 0 }, table = { 0 }, header = { 0 }, grid = { 0 };

    put_int(&grid, 1, 4);
    put_int(&grid, 2, 1);
    put_int(&grid, 3, 1);
    put_int(&result, 1, 77);
    put_text(&result, 6, "short");
    put_text(&result, 7, kernel);
    put_bytes(&result, 10, grid.at, grid.len);
    put_bytes(&result, 11, grid.at, grid.len);
    put_metric(&result, 0, 1500);
    put_metric(&result, 1, 0);
    put_zeros(&section, section_bytes);
    put_bytes(&result, 17, lpo_str_text(&section), section.len);
    if (nvtx)
        put_bytes(&result, 21, nvtx->at, nvtx->len);
    if (source_bytes) {
        put_zeros(&source, source_bytes);
        put_sized(&payload, &source);
        put_int(&header, 1, 1);
    }
    put_sized(&payload, &result);
    put_text(&table, 1, "gpu__time_duration.sum");
    put_text(&table, 1, "dram__bytes.sum");
    put_int(&header, 2, 1);
    if (strings)
        put_bytes(&header, 4, table.at, table.len);
    put_int(&header, 5, payload.len);
    put_sized(s, &header);
    lpo_str_addn(s, payload.at, payload.len);
}

static void put_block(struct lpo_str *s, const char *kernel, bool strings,
                      const struct lpo_str *nvtx)
{
    put_large_block(s, kernel, strings, nvtx, 0, 27);
}

#define ONE                                                                                        \
    "kernel k pid=-1 dev=0 stream=0 0+1500 4x1x1,4x1x1%s flags=1 gpu__time_duration.sum=1500ns "   \
    "dram__bytes.sum=0byte\n"

static int read_bytes(const struct lpo_str *s, struct lpo_trace *t, struct lpo_err *err)
{
    char path[UNIT_PATH];
    int rc;

    unit_file(s->at, s->len, path);
    rc = lpo_ncu_rep_reader.read(path, t, err);
    unlink(path);
    return rc;
}

static void expect(const struct lpo_str *s, const char *want)
{
    LPO_AUTO(lpo_trace) t = lpo_trace_create();
    LPO_STR got = { 0 };
    struct lpo_err err = { 0 };

    if (read_bytes(s, t, &err) < 0)
        fail_msg("%s", lpo_err_cause(&err));
    dump_trace(&got, t);
    assert_string_equal(lpo_str_text(&got), want);
}

static const char *one(struct lpo_str *to, const char *in)
{
    lpo_str_addf(to, ONE, in);
    return lpo_str_text(to);
}

static void made_up_report_is_read(void **state)
{
    LPO_STR s = { 0 }, want = { 0 };

    (void)state;
    put_header(&s, 7);
    put_block(&s, "k", true, NULL);
    put_block(&s, "k", false, NULL);
    one(&want, "");
    expect(&s, one(&want, ""));
}

static void cut_report_keeps_what_came_before(void **state)
{
    LPO_STR s = { 0 }, want = { 0 };
    size_t whole;

    (void)state;
    put_header(&s, 7);
    put_block(&s, "k", true, NULL);
    whole = s.len;
    put_block(&s, "k", false, NULL);
    one(&want, "");
    lpo_str_add(&want, "note 0 the report was cut short: the kernels before were read\n");
    for (size_t len = whole + 1; len < s.len; len += 7) {
        struct lpo_str cut = { s.at, len, len };

        expect(&cut, lpo_str_text(&want));
    }
}

/* The reader has some 256 kB of the file at hand, more where a message needs more. The sizes lie
 * around that, and above the 4 MB that it does not keep. */
static const struct window_case {
    const char *name;
    size_t source_bytes, section_bytes, blocks;
} window_cases[] = {
    { "many small messages", 0, 900, 1000 },
    { "a source beyond the window", 1 << 20, 100, 3 },
    { "a source that ends near the end of the window", (256 << 10) - 200, 100, 5 },
    { "results as large as a window", 0, 256 << 10, 9 },
    { "results of megabytes", 300, 5 << 20, 3 },
};

static void check_window(void **state)
{
    const struct window_case *c = *state;
    LPO_STR s = { 0 }, want = { 0 }, cut_want = { 0 };
    struct lpo_str cut;

    put_header(&s, 7);
    for (size_t i = 0; i < c->blocks; i++) {
        put_large_block(&s, "k", i == 0, NULL, c->source_bytes, c->section_bytes);
        one(i + 1 < c->blocks ? &cut_want : &want, "");
    }
    lpo_str_add(&want, lpo_str_text(&cut_want));
    expect(&s, lpo_str_text(&want));
    lpo_str_add(&cut_want, "note 0 the report was cut short: the kernels before were read\n");
    cut = (struct lpo_str){ s.at, s.len - 1, s.len - 1 };
    expect(&cut, lpo_str_text(&cut_want));
}

/* A file system makes a hole where a file is given a length and no bytes. */
static void a_hole_ends_the_report(void **state)
{
    LPO_AUTO(lpo_trace) t = lpo_trace_create();
    LPO_STR s = { 0 }, got = { 0 }, want = { 0 };
    struct lpo_err err = { 0 };
    char path[UNIT_PATH];

    (void)state;
    put_header(&s, 7);
    put_large_block(&s, "k", true, NULL, 0, 4096);
    unit_file(s.at, s.len, path);
    assert_int_equal(truncate(path, (off_t)4 << 30), 0);
    assert_int_equal(lpo_ncu_rep_reader.read(path, t, &err), 0);
    unlink(path);
    one(&want, "");
    lpo_str_add(&want, "note 0 the report was cut short: the kernels before were read\n");
    dump_trace(&got, t);
    assert_string_equal(lpo_str_text(&got), lpo_str_text(&want));
}

/* Another process cuts the file after its length was asked for: what is left is read, and a walk
 * that mapped the file would end here with SIGBUS. */
static const struct shrink_case {
    const char *name;
    uint64_t keep; /* bytes, once the first window was read */
} shrink_cases[] = {
    { "cut to nothing while it is read", 0 },
    { "cut behind what was read", (256 << 10) + 1000 },
    { "cut before what was read", 1000 },
};

static void check_shrink(void **state)
{
    const struct shrink_case *c = *state;
    LPO_AUTO(lpo_unpack_file) file = NULL;
    struct lpo_ncu_walk w = { 0 };
    struct lpo_ncu_batch b = { 0 };
    struct lpo_err err = { 0 };
    LPO_STR s = { 0 };
    char path[UNIT_PATH];
    uint64_t read;

    put_header(&s, 7);
    put_large_block(&s, "k", true, NULL, 0, 1 << 20);
    unit_file(s.at, s.len, path);
    assert_int_equal(lpo_unpack(path, &file, &err), 0);
    assert_int_equal(lpo_ncu_open(file, &w, &err), 0);
    lpo_ncu_window(&w, &b);
    assert_true(w.window_len > 1000 && w.window_len < s.len);
    read = w.at = w.window_len;
    assert_int_equal(truncate(path, (off_t)c->keep), 0);
    lpo_ncu_window(&w, &b);
    assert_int_equal(w.window_len, c->keep > read ? c->keep - read : 0);
    assert_true(w.len < s.len); /* it knows that the file ends here */
    assert_int_equal(w.io_error, 0);
    lpo_ncu_batch_release(&b);
    unlink(path);
}

static void zstd_is_inflated(void **state)
{
    LPO_STR s = { 0 }, want = { 0 };
    char packed[4096];
    size_t n;

    (void)state;
    put_header(&s, 7);
    put_block(&s, "k", true, NULL);
    n = ZSTD_compress(packed, sizeof packed, s.at, s.len, 3);
    assert_false(ZSTD_isError(n));
    expect(&(struct lpo_str){ packed, n, n }, one(&want, ""));
}

static void put_range(struct lpo_str *scope, unsigned name_field, const char *name,
                      unsigned visit_field, uint64_t visit)
{
    LPO_STR r = { 0 };

    if (visit_field < name_field)
        put_int(&r, visit_field, visit);
    if (name)
        put_text(&r, name_field, name);
    else
        put_text(&r, name_field + 1, "\x0a\x03msg"); /* attributes that hold a text */
    if (visit_field > name_field)
        put_int(&r, visit_field, visit);
    put_bytes(scope, 3, r.at, r.len);
}

static void put_thread(struct lpo_str *state, uint64_t id, uint64_t domain, const char *a,
                       const char *b)
{
    LPO_STR scope = { 0 }, thread = { 0 };

    put_int(&scope, 1, domain);
    put_range(&scope, 1, a, 3, 10);
    put_range(&scope, 1, b, 3, 12);
    put_int(&thread, 1, id);
    put_bytes(&thread, 2, scope.at, scope.len);
    put_bytes(state, 2, thread.at, thread.len);
}

static void ranges_of_the_launching_thread_count(void **state)
{
    LPO_STR s = { 0 }, want = { 0 }, nvtx = { 0 }, domain = { 0 }, scope = { 0 };

    (void)state;
    put_thread(&nvtx, 76, 5, "other", "thread");
    put_thread(&nvtx, 77, 5, "decode", NULL);
    put_int(&domain, 1, 5);
    put_text(&domain, 2, "LLM");
    put_bytes(&nvtx, 1, domain.at, domain.len);
    put_int(&scope, 1, 0);
    put_range(&scope, 2, "S", 1, 3);
    put_bytes(&nvtx, 3, scope.at, scope.len);
    put_header(&s, 7);
    put_block(&s, "k", true, &nvtx);
    expect(&s, one(&want, " in=LLM@decode#11/LLM@msg#13/~S#4"));
}

static void range_results_are_named(void **state)
{
    LPO_STR s = { 0 }, want = { 0 }, header = { 0 };

    (void)state;
    put_header(&s, 7);
    put_block(&s, "k", true, NULL);
    put_int(&header, 5, 4);
    put_int(&header, 7, 1);
    put_sized(&s, &header);
    lpo_str_addn(&s, "\0\0\0", 4);
    one(&want, "");
    lpo_str_add(&want, "note 1 range results (range replay) cannot be read from the report: export "
                       "them with ncu --import FILE --page raw --csv\n");
    expect(&s, lpo_str_text(&want));
}

static void other_version_names_the_way_out(void **state)
{
    LPO_AUTO(lpo_trace) t = lpo_trace_create();
    LPO_STR s = { 0 };
    struct lpo_err err = { 0 };

    (void)state;
    put_header(&s, 8);
    assert_int_equal(read_bytes(&s, t, &err), LPO_E_FORMAT);
    assert_non_null(strstr(lpo_err_cause(&err), "version 8"));
    assert_non_null(strstr(lpo_err_cause(&err), "ncu --import"));
}

static const struct hostile_case {
    const char *name, *bytes;
    size_t len;
} hostile_cases[] = {
    { "empty", "", 0 },
    { "magic alone", "NVR\0", 4 },
    { "header larger than the file", "NVR\0\xff\xff\xff\xff", 8 },
    { "endless varint", "NVR\0\x0b\0\0\0\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 19 },
    { "another file", "PK\3\4....", 8 },
};

static void check_hostile(void **state)
{
    const struct hostile_case *c = *state;
    LPO_AUTO(lpo_trace) t = lpo_trace_create();
    struct lpo_str s = { (char *)c->bytes, c->len, c->len };
    struct lpo_err err = { 0 };

    assert_int_equal(read_bytes(&s, t, &err), LPO_E_FORMAT);
    assert_true(strlen(lpo_err_cause(&err)) > 10);
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_TEST(&u, made_up_report_is_read);
    UNIT_TEST(&u, cut_report_keeps_what_came_before);
    UNIT_ROWS(&u, window_cases, check_window);
    UNIT_TEST(&u, a_hole_ends_the_report);
    UNIT_ROWS(&u, shrink_cases, check_shrink);
    UNIT_TEST(&u, zstd_is_inflated);
    UNIT_TEST(&u, ranges_of_the_launching_thread_count);
    UNIT_TEST(&u, range_results_are_named);
    UNIT_TEST(&u, other_version_names_the_way_out);
    UNIT_ROWS(&u, hostile_cases, check_hostile);
    return unit_run(&u);
}
