/* SPDX-License-Identifier: Apache-2.0 */
#include "../unit.h"

#include "util/arena.h"
#include "util/err.h"
#include "util/file.h"
#include "util/path.h"

static const struct file_case {
    const char *name, *bytes;
    size_t len;
} cases[] = {
    { "nothing", "", 0 },
    { "text", "hello\n", 6 },
    { "a NUL inside", "a\0b", 3 },
};

static void check_file(void **state)
{
    const struct file_case *c = *state;
    int (*const writers[])(const char *, const void *, size_t,
                           struct lpo_err *) = { lpo_file_write, lpo_file_write_quick };

    for (int i = 0; i < 2; i++) {
        LPO_AUTO(lpo_file_text) text = NULL;
        char path[UNIT_PATH];

        unit_file("what was there before", 21, path);
        assert_int_equal(writers[i](path, c->bytes, c->len, NULL), 0);
        assert_int_equal(lpo_file_text_read(path, &text, NULL), 0);
        assert_int_equal(text->len, c->len);
        assert_memory_equal(text->at, c->bytes, c->len + 1);
        unlink(path);
    }
}

static void what_cannot_be_read(void **state)
{
    struct lpo_file_text *text = NULL;
    struct lpo_err err = { 0 };
    char path[UNIT_PATH];

    (void)state;
    assert_true(lpo_file_text_read("/tmp", &text, &err) < 0); /* a folder */
    assert_true(lpo_file_text_read("/no/such/file", &text, &err) < 0);
    assert_non_null(strstr(lpo_err_cause(&err), "/no/such/file"));
    unit_file("12345", 5, path);
    assert_true(lpo_file_text_read_limit(path, 4, &text, &err) < 0);
    assert_null(text);
    unlink(path);
}

static void a_write_that_fails_leaves_nothing(void **state)
{
    struct lpo_err err = { 0 };

    (void)state;
    assert_true(lpo_file_write("/no/such/folder/x", "a", 1, &err) < 0);
    assert_non_null(strstr(lpo_err_cause(&err), "/no/such/folder"));
}

static void folders_are_made_once(void **state)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    char path[UNIT_PATH];
    const char *deep;

    (void)state;
    unit_file("", 0, path);
    unlink(path);
    deep = lpo_path_join(a, path, "a/b");
    assert_int_equal(lpo_file_make_dirs(deep, NULL), 0);
    assert_int_equal(lpo_file_make_dirs(deep, NULL), 0);
    assert_true(lpo_path_is_dir(deep));
    rmdir(deep);
    rmdir(lpo_path_join(a, path, "a"));
    rmdir(path);
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_ROWS(&u, cases, check_file);
    UNIT_TEST(&u, what_cannot_be_read);
    UNIT_TEST(&u, a_write_that_fails_leaves_nothing);
    UNIT_TEST(&u, folders_are_made_once);
    return unit_run(&u);
}
