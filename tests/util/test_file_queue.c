/* SPDX-License-Identifier: Apache-2.0 */
/* Files that a second thread writes: all of them, whole, in their folders, or the first error. */
#include "../unit.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

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

/* Each file that waits for its name holds a descriptor; a process may have few. */
static void few_descriptors_are_enough(void **state)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    LPO_AUTO(lpo_file_queue) q = lpo_file_queue_create();
    char dir[] = "/tmp/lpo-test-queue-XXXXXX";
    struct rlimit few, before;

    (void)state;
    make_folders(a, dir);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    few = before;
    few.rlim_cur = 16;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    for (size_t i = 0; i < 60; i++)
        add_text(q, file_name(a, dir, i), "x");
    assert_int_equal(lpo_file_queue_finish(q, NULL), 0);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    for (size_t i = 0; i < 60; i++)
        assert_true(lpo_path_exists(file_name(a, dir, i)));
    assert_int_equal(lpo_file_remove_at(AT_FDCWD, dir), 0);
}

/* What an interrupted process does: no file is left that has no name yet. */
static void a_signal_leaves_none_without_a_name(void **state)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    char dir[] = "/tmp/lpo-test-queue-XXXXXX";
    struct lpo_file_new files[5];
    int fd;

    (void)state;
    make_folders(a, dir);
    fd = lpo_file_open_folder(lpo_path_join(a, dir, "0"));
    for (int i = 0; i < 5; i++)
        assert_int_equal(lpo_file_new_write(fd, "f", "x", 1, 0666, &files[i], NULL), 0);
    lpo_file_drop_temp();
    assert_int_equal(rmdir(lpo_path_join(a, dir, "0")), 0); /* empty */
    for (int i = 0; i < 5; i++)
        lpo_file_new_drop(&files[i]);
    close(fd);
    assert_int_equal(lpo_file_remove_at(AT_FDCWD, dir), 0);
}

/* A sweep of another process may remove the temporary name: the bytes are written again. */
static void a_file_that_was_swept_is_written_again(void **state)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    LPO_AUTO(lpo_file_text) text = NULL;
    char dir[] = "/tmp/lpo-test-queue-XXXXXX";
    struct lpo_file_new f;
    LPO_STR bytes = { 0 };
    int fd;

    (void)state;
    put_bytes(&bytes, 3, 100000);
    make_folders(a, dir);
    fd = lpo_file_open_folder(dir);
    assert_int_equal(lpo_file_new_write(fd, "f", bytes.at, bytes.len, 0640, &f, NULL), 0);
    assert_int_equal(unlinkat(fd, f.temp, 0), 0);
    assert_int_equal(lpo_file_new_name(&f, "f", NULL), 0);
    assert_int_equal(lpo_file_text_read(lpo_path_join(a, dir, "f"), &text, NULL), 0);
    assert_int_equal(text->len, bytes.len);
    assert_memory_equal(text->at, bytes.at, bytes.len);
    close(fd);
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

static ino_t inode(const char *path)
{
    struct stat st;

    assert_int_equal(lstat(path, &st), 0);
    return S_ISREG(st.st_mode) ? st.st_ino : 0;
}

/* What stands under the name before the queue writes `text`; is it the same file afterwards? */
static const struct same_case {
    const char *name, *before, *text;
    bool link, stays;
} sames[] = {
    { "the same bytes: the file stays", "abc", "abc", false, true },
    { "nothing, as before", "", "", false, true },
    { "other bytes of the same length", "abd", "abc", false, false },
    { "longer", "abc", "abcd", false, false },
    { "shorter", "abc", "ab", false, false },
    { "a link to the same bytes becomes a file", "abc", "abc", true, false },
};

static void check_same(void **state)
{
    const struct same_case *c = *state;
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    LPO_AUTO(lpo_file_queue) q = lpo_file_queue_create();
    LPO_AUTO(lpo_file_text) text = NULL;
    char dir[] = "/tmp/lpo-test-queue-XXXXXX";
    const char *path, *other;
    ino_t before;

    make_folders(a, dir);
    path = lpo_path_join(a, dir, "0/f");
    other = lpo_path_join(a, dir, "other");
    assert_int_equal(lpo_file_write(c->link ? other : path, c->before, strlen(c->before), NULL), 0);
    if (c->link)
        assert_int_equal(symlink(other, path), 0);
    before = inode(path);
    add_text(q, path, c->text);
    assert_int_equal(lpo_file_queue_finish(q, NULL), 0);
    assert_true((inode(path) == before) == c->stays);
    assert_true(inode(path) != 0); /* a plain file */
    assert_int_equal(lpo_file_text_read(path, &text, NULL), 0);
    assert_string_equal(text->at, c->text);
    assert_int_equal(lpo_file_remove_at(AT_FDCWD, dir), 0);
}

/* A pipe under the name is replaced, and nobody waits for its other end. */
static void a_pipe_is_replaced(void **state)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    LPO_AUTO(lpo_file_queue) q = lpo_file_queue_create();
    char dir[] = "/tmp/lpo-test-queue-XXXXXX";
    const char *path;

    (void)state;
    make_folders(a, dir);
    path = lpo_path_join(a, dir, "0/f");
    assert_int_equal(mkfifo(path, 0600), 0);
    add_text(q, path, "");
    assert_int_equal(lpo_file_queue_finish(q, NULL), 0);
    assert_true(inode(path) != 0);
    assert_int_equal(lpo_file_remove_at(AT_FDCWD, dir), 0);
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_ROWS(&u, cases, check_queue);
    UNIT_ROWS(&u, sames, check_same);
    UNIT_TEST(&u, a_pipe_is_replaced);
    UNIT_TEST(&u, the_first_error_is_kept_and_ends_it);
    UNIT_TEST(&u, few_descriptors_are_enough);
    UNIT_TEST(&u, a_signal_leaves_none_without_a_name);
    UNIT_TEST(&u, a_file_that_was_swept_is_written_again);
    UNIT_TEST(&u, the_filter_sees_every_file);
    return unit_run(&u);
}
