/* SPDX-License-Identifier: Apache-2.0 */
#include "../unit.h"

#include "util/arena.h"
#include "util/path.h"
#include "util/str.h"

static const struct safe_case {
    const char *name, *text;
    const char *starts; /* the safe name, up to the hash that follows what was changed */
    int same;
} safe_cases[] = {
    { "plain", "layer.3_a-b", "layer.3_a-b", 1 },
    { "parent folder", "../../x", "_._.._x-", 0 },
    { "dot", ".", "_-", 0 },
    { "empty", "", "-", 0 },
    { "slash and space", "a/b c", "a_b_c-", 0 },
    { "an option", "-x", "_x-", 0 },
    { "80 bytes stay",
      "01234567890123456789012345678901234567890123456789012345678901234567890123456789",
      "01234567890123456789012345678901234567890123456789012345678901234567890123456789", 1 },
    { "81 bytes are cut",
      "012345678901234567890123456789012345678901234567890123456789012345678901234567890",
      "01234567890123456789012345678901234567890123456789012345678901234567890-", 0 },
};

static void check_safe(void **state)
{
    const struct safe_case *c = *state;
    LPO_STR s = { 0 };

    lpo_path_add_safe(&s, c->text, strlen(c->text));
    assert_int_equal(strcmp(lpo_str_text(&s), c->text) == 0, c->same);
    assert_null(strchr(lpo_str_text(&s), '/'));
    assert_true(s.len <= 80 && s.len > 0);
    assert_memory_equal(lpo_str_text(&s), c->starts, strlen(c->starts));
    assert_int_equal(s.len, strlen(c->starts) + (c->same ? 0 : 8));
}

static const struct join_case {
    const char *name, *dir, *file, *want;
} joins[] = {
    { "two parts", "a", "b", "a/b" },
    { "one slash is enough", "a/", "b", "a/b" },
    { "an absolute second part stands alone", "a", "/b", "/b" },
    { "no folder", "", "b", "b" },
    { "no name", "a", "", "a" },
};

static void check_join(void **state)
{
    const struct join_case *c = *state;
    LPO_AUTO(lpo_arena) a = lpo_arena_create();

    assert_string_equal(lpo_path_join(a, c->dir, c->file), c->want);
}

static const struct part_case {
    const char *name, *path, *dir, *base;
} parts[] = {
    { "folder and file", "a/b/c.txt", "a/b", "c.txt" },
    { "a file alone", "c.txt", ".", "c.txt" },
    { "in the root", "/c", "/", "c" },
};

static void check_parts(void **state)
{
    const struct part_case *c = *state;
    LPO_AUTO(lpo_arena) a = lpo_arena_create();

    assert_string_equal(lpo_path_dir(a, c->path), c->dir);
    assert_string_equal(lpo_path_base(c->path), c->base);
}

static void what_is_on_disk(void **state)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    char file[UNIT_PATH];

    (void)state;
    unit_file("x", 1, file);
    assert_true(lpo_path_exists(file) && !lpo_path_is_dir(file));
    assert_true(lpo_path_exists("/tmp") && lpo_path_is_dir("/tmp"));
    assert_null(lpo_path_which(a, file)); /* it is there, but not a program */
    assert_non_null(lpo_path_which(a, "sh"));
    assert_string_equal(lpo_path_which(a, "/bin/sh"), "/bin/sh");
    assert_null(lpo_path_which(a, "no-such-program-at-all"));
    unlink(file);
    assert_false(lpo_path_exists(file));
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_ROWS(&u, safe_cases, check_safe);
    UNIT_ROWS(&u, joins, check_join);
    UNIT_ROWS(&u, parts, check_parts);
    UNIT_TEST(&u, what_is_on_disk);
    return unit_run(&u);
}
