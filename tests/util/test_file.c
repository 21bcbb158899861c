/* SPDX-License-Identifier: Apache-2.0 */
#include "../unit.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

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
    LPO_AUTO(lpo_file_text) text = NULL;
    char path[UNIT_PATH];

    unit_file("what was there before", 21, path);
    assert_int_equal(lpo_file_write(path, c->bytes, c->len, NULL), 0);
    assert_int_equal(lpo_file_text_read(path, &text, NULL), 0);
    assert_int_equal(text->len, c->len);
    assert_memory_equal(text->at, c->bytes, c->len + 1);
    unlink(path);
}

/* A temporary file that nobody locks was left by a killed process; a locked one is in use. */
static void only_abandoned_files_are_swept(void **state)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    char dir[] = "/tmp/lpo-test-file-XXXXXX";
    const char *left, *held, *mine, *link, *tree;
    int fd;

    (void)state;
    assert_non_null(mkdtemp(dir));
    left = lpo_path_join(a, dir, "in/" LPO_TEMP_PREFIX "left");
    held = lpo_path_join(a, dir, LPO_TEMP_PREFIX "held");
    mine = lpo_path_join(a, dir, "mine");
    link = lpo_path_join(a, dir, LPO_TEMP_PREFIX "link");
    tree = lpo_path_join(a, dir, LPO_TEMP_PREFIX "tree");
    assert_int_equal(lpo_file_make_dirs(lpo_path_join(a, dir, "in"), NULL), 0);
    assert_int_equal(lpo_file_make_dirs(lpo_path_join(a, tree, "deep"), NULL), 0);
    assert_int_equal(lpo_file_write(left, "x", 1, NULL), 0);
    assert_int_equal(lpo_file_write(mine, "x", 1, NULL), 0);
    assert_int_equal(symlink(mine, link), 0);
    fd = open(held, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(flock(fd, LOCK_EX), 0);
    lpo_file_sweep(dir, true);
    assert_false(lpo_path_exists(left));
    assert_false(lpo_path_exists(tree));
    assert_true(lpo_path_exists(held));
    assert_true(lpo_path_exists(mine));
    close(fd);
    lpo_file_sweep(dir, false);
    assert_false(lpo_path_exists(held));
    assert_int_equal(lpo_file_remove_at(AT_FDCWD, dir), 0);
}

/* The locks of another machine may not be seen here: only a day says that nobody writes it. */
static void files_of_another_machine_stay_a_day(void **state)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    char dir[] = "/tmp/lpo-test-file-XXXXXX", name[LPO_TEMP_NAME];
    struct timespec two_days_ago[2] = { { time(NULL) - 172800, 0 }, { time(NULL) - 172800, 0 } };
    const char *path;

    (void)state;
    assert_non_null(mkdtemp(dir));
    lpo_file_temp_name(name);
    assert_false(lpo_file_temp_is_foreign(name));
    name[strlen(LPO_TEMP_PREFIX)] ^= 1; /* a digit of the machine's number: 8 and 9, a and ` */
    assert_true(lpo_file_temp_is_foreign(name));
    path = lpo_path_join(a, dir, name);
    assert_int_equal(lpo_file_write(path, "x", 1, NULL), 0);
    lpo_file_sweep(dir, true);
    assert_true(lpo_path_exists(path));
    assert_int_equal(utimensat(AT_FDCWD, path, two_days_ago, 0), 0);
    lpo_file_sweep(dir, true);
    assert_false(lpo_path_exists(path));
    assert_int_equal(lpo_file_remove_at(AT_FDCWD, dir), 0);
}

/* The link is replaced; what it leads to stays as it was. */
static void a_link_is_not_written_through(void **state)
{
    LPO_AUTO(lpo_file_text) text = NULL;
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    char target[UNIT_PATH];
    const char *link;

    (void)state;
    unit_file("theirs", 6, target);
    link = lpo_arena_printf(a, "%s-link", target);
    assert_int_equal(symlink(target, link), 0);
    assert_int_equal(lpo_file_write(link, "ours", 4, NULL), 0);
    assert_int_equal(lpo_file_text_read(target, &text, NULL), 0);
    assert_string_equal(text->at, "theirs");
    unlink(link);
    unlink(target);
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

    UNIT_TEST(&u, only_abandoned_files_are_swept);
    UNIT_TEST(&u, files_of_another_machine_stay_a_day);
    UNIT_TEST(&u, a_link_is_not_written_through);
    UNIT_ROWS(&u, cases, check_file);
    UNIT_TEST(&u, what_cannot_be_read);
    UNIT_TEST(&u, a_write_that_fails_leaves_nothing);
    UNIT_TEST(&u, folders_are_made_once);
    return unit_run(&u);
}
