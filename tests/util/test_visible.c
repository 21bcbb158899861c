/* SPDX-License-Identifier: Apache-2.0 */
/* The stream that shows what is printed on it, whatever pieces the text comes in. */
#include "../unit.h"

#include "util/str.h"
#include "util/visible.h"

static const struct stream_case {
    const char *name, *text, *want;
} cases[] = {
    { "plain lines stay", "one\n\ttwo\n", "one\n\ttwo\n" },
    { "letters of any language stay", "\xc3\xa9\xe4\xb8\xad\xf0\x9f\x98\x80\n",
      "\xc3\xa9\xe4\xb8\xad\xf0\x9f\x98\x80\n" },
    { "escape sequences", "a\x1b[31mb\a\r\n", "a\\u{1b}[31mb\\u{7}\\u{d}\n" },
    { "C1 controls, as UTF-8 and as bytes",
      "\xc2\x9b"
      "1m\x9b"
      "1m\n",
      "\\u{9b}1m\\x9b1m\n" },
    { "bidi and invisible marks", "\xe2\x80\xae\xe2\x80\x8b\xf3\xa0\x81\x81\n",
      "\\u{202e}\\u{200b}\\u{e0041}\n" },
    { "a character that breaks off", "x\xe2\x80", "x\\xe2\\x80" },
    { "a character that breaks off before a letter", "\xe2\x80x\n", "\\xe2\\x80x\n" },
    { "bytes that begin no character", "\xff\xf8\x80\n", "\\xff\\xf8\\x80\n" },
};

/* Printed in pieces of `step` bytes, each sent at once. */
static void check_in_pieces(const struct stream_case *c, size_t step)
{
    char *text = NULL;
    size_t len, all = strlen(c->text);
    FILE *to = open_memstream(&text, &len), *f = lpo_visible_stream(to);

    assert_non_null(f);
    for (size_t i = 0; i < all; i += step) {
        size_t n = all - i < step ? all - i : step;

        assert_int_equal(fwrite(c->text + i, 1, n, f), n);
        assert_int_equal(fflush(f), 0);
    }
    assert_int_equal(fclose(f), 0);
    fclose(to);
    assert_string_equal(text, c->want);
    free(text);
}

static void check_stream(void **state)
{
    const struct stream_case *c = *state;

    for (size_t step = 1; step <= 5; step++)
        check_in_pieces(c, step);
    check_in_pieces(c, 4096);
}

static void check_one_mark(void **state)
{
    LPO_STR out = { 0 };

    (void)state;
    lpo_visible_add(&out, "abcd\xe2\x80\xa6 and more", 15, 6); /* the end of what is kept is one */
    assert_string_equal(lpo_str_text(&out), "abcd\xe2\x80\xa6");
}

static void check_refused_write(void **state)
{
    FILE *to = fopen("/dev/full", "w"), *f = lpo_visible_stream(to);

    (void)state;
    fputs("x\n", f);
    assert_true(fflush(f) != 0 || ferror(f));
    fclose(f);
    fclose(to);
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_ROWS(&u, cases, check_stream);
    unit_add(&u, "a name that had been cut has one mark", check_one_mark, NULL);
    unit_add(&u, "a full disk is an error of the stream", check_refused_write, NULL);
    return unit_run(&u);
}
