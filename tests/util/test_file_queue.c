/* SPDX-License-Identifier: Apache-2.0 */
/* Files that a second thread writes: all of them, whole, in their folders, or the first error. */
#include "../unit.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "util/arena.h"
#include "util/err.h"
#include "util/file.h"
#include "util/file_queue.h"
#include "util/path.h"
#include "util/str.h"

enum { FOLDERS = 3 };

static const struct queue_case {
    const char *name;
    size_t files, bytes;
} cases[] = {
    { "nothing", 0, 0 },
    { "an empty file", 1, 0 },
    { "many small ones", 300, 20 },
    { "more than may wait", 8, 200000 },
    { "one that is more than may wait alone", 2, 1000000 },
};

static const char *file_name(struct lpo_arena *a, const char *dir, size_t i)
{
    return lpo_arena_printf(a, "%s/%zu/file-%zu", dir, i / 2 % FOLDERS, i);
}

static void put_bytes(struct lpo_str *s, size_t file, size_t len)
{
    for (size_t i = 0; i < len; i++)
        lpo_str_addc(s, (char)(file * 31 + i));
}

static const char *make_folders(struct lpo_arena *a, char *dir)
{
    assert_non_null(mkdtemp(dir));
    for (size_t i = 0; i < FOLDERS; i++)
        assert_int_equal(lpo_file_make_dirs(lpo_arena_printf(a, "%s/%zu", dir, i), NULL), 0);
    return dir;
}

static void check_queue(void **state)
{
    const struct queue_case *c = *state;
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    LPO_AUTO(lpo_file_queue) q = lpo_file_queue_create();
    char dir[] = "/tmp/lpo-test-queue-XXXXXX";

    make_folders(a, dir);
    for (size_t i = 0; i < c->files; i++) {
        LPO_STR s = { 0 };

        put_bytes(&s, i, c->bytes);
        lpo_file_queue_add(q, file_name(a, dir, i), &s);
        assert_null(s.at); /* taken */
    }
    assert_int_equal(lpo_file_queue_finish(q, NULL), 0);
    for (size_t i = 0; i < c->files; i++) {
        LPO_AUTO(lpo_file_text) text = NULL;
        LPO_STR want = { 0 };

        put_bytes(&want, i, c->bytes);
        assert_int_equal(lpo_file_text_read(file_name(a, dir, i), &text, NULL), 0);
        assert_int_equal(text->len, want.len);
        assert_memory_equal(text->at, lpo_str_text(&want), want.len);
        assert_int_equal(unlink(file_name(a, dir, i)), 0);
    }
    for (size_t i = 0; i < FOLDERS; i++) /* nothing is left beside them */
        assert_int_equal(rmdir(lpo_arena_printf(a, "%s/%zu", dir, i)), 0);
    assert_int_equal(rmdir(dir), 0);
}

static void add_text(struct lpo_file_queue *q, const char *path, const char *text)
{
    LPO_STR s = { 0 };

    lpo_str_add(&s, text);
    lpo_file_queue_add(q, path, &s);
}

static void the_first_error_is_kept_and_ends_it(void **state)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    LPO_AUTO(lpo_file_queue) q = lpo_file_queue_create();
    char dir[] = "/tmp/lpo-test-queue-XXXXXX";
    struct lpo_err err = { 0 };

    (void)state;
    make_folders(a, dir);
    add_text(q, lpo_path_join(a, dir, "0/before"), "x");
    add_text(q, lpo_path_join(a, dir, "none/broken"), "x");
    add_text(q, lpo_path_join(a, dir, "nowhere/other"), "x");
    add_text(q, lpo_path_join(a, dir, "1/after"), "x");
    assert_int_equal(lpo_file_queue_finish(q, &err), LPO_E_IO);
    assert_non_null(strstr(lpo_err_cause(&err), "none/broken"));
    assert_true(lpo_path_exists(lpo_path_join(a, dir, "0/before")));
    assert_false(lpo_path_exists(lpo_path_join(a, dir, "1/after")));
    assert_int_equal(lpo_file_remove_at(AT_FDCWD, dir), 0);
}

static bool hide_secret(const void *bytes, size_t len, struct lpo_str *out)
{
    if (len != 6 || memcmp(bytes, "secret", 6) != 0)
        return false;
    lpo_str_add(out, "(hidden)");
    return true;
}

static void the_filter_sees_every_file(void **state)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    LPO_AUTO(lpo_file_queue) q = lpo_file_queue_create();
    LPO_AUTO(lpo_file_text) text = NULL;
    char dir[] = "/tmp/lpo-test-queue-XXXXXX";
    struct stat st;

    (void)state;
    make_folders(a, dir);
    lpo_file_set_filter(hide_secret);
    add_text(q, lpo_path_join(a, dir, "0/f"), "secret");
    lpo_file_set_filter(NULL);
    assert_int_equal(lpo_file_queue_finish(q, NULL), 0);
    assert_int_equal(lpo_file_text_read(lpo_path_join(a, dir, "0/f"), &text, NULL), 0);
    assert_string_equal(text->at, "(hidden)");
    assert_int_equal(stat(lpo_path_join(a, dir, "0/f"), &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_int_equal(lpo_file_remove_at(AT_FDCWD, dir), 0);
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_ROWS(&u, cases, check_queue);
    UNIT_TEST(&u, the_first_error_is_kept_and_ends_it);
    UNIT_TEST(&u, the_filter_sees_every_file);
    return unit_run(&u);
}
