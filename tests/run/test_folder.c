/* SPDX-License-Identifier: Apache-2.0 */
#include "../unit.h"

#include <sys/stat.h>
#include <unistd.h>

#include "run/child/supervise.h"
#include "run/folder.h"
#include "run/manifest.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/path.h"

static char scratch[] = "/tmp/lpo-test-rundir-XXXXXX";

static void same_second_two_folders(void **state)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    const char *wanted = lpo_path_join(a, scratch, "deep/20260101-000000");
    const char *one = NULL, *two = NULL;
    struct lpo_err err = { 0 };

    (void)state;
    assert_int_equal(lpo_run_folder_create(a, wanted, &one, &err), 0);
    assert_int_equal(lpo_run_folder_create(a, wanted, &two, &err), 0);
    assert_string_equal(one, wanted);
    assert_true(strcmp(two + strlen(two) - 2, "-2") == 0);
}

static void unwritable_place_is_told(void **state)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    const char *out = NULL;
    struct lpo_err err = { 0 };

    (void)state;
    assert_int_equal(lpo_run_folder_create(a, "/proc/nowhere/x", &out, &err), LPO_E_IO);
    assert_non_null(strstr(lpo_err_cause(&err), "/proc/nowhere"));
}

static void manifest_reads_back(void **state)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    struct lpo_manifest m = { .arena = a, .dir = scratch, .version = "9", .state = LPO_RUNNING };
    struct lpo_manifest back = { .arena = a, .dir = scratch };
    struct lpo_result r = { .end = LPO_END_SIGNAL, .code = 9, .wall_ns = 5 };
    struct lpo_stage_record *s = lpo_run_manifest_add(&m, "native");
    struct lpo_err err = { 0 };

    (void)state;
    s->state = LPO_FAILED;
    s->message = "it \"broke\"\n";
    lpo_run_manifest_note(&m, s, "lost %d records", 3);
    lpo_run_manifest_step(&m, s, "native", "killed by signal 9 (Killed)", &r);
    assert_int_equal(lpo_run_manifest_save(&m, &err), 0);
    assert_int_equal(lpo_run_manifest_load(&back, &err), 0);
    assert_int_equal(back.state, LPO_RUNNING);
    s = lpo_run_manifest_stage(&back, "native");
    assert_non_null(s);
    assert_int_equal(s->state, LPO_FAILED);
    assert_string_equal(s->message, "it \"broke\"\n");
    assert_string_equal(s->notes[0], "lost 3 records");
    assert_int_equal(s->steps[0].exit_code, -1);
    assert_int_equal(s->steps[0].wall_ns, 5);
}

static const struct schema_case {
    const char *name, *text;
    int code;
    const char *says; /* part of the message */
} schema_cases[] = {
    { "the schema of today", "{\"schema\": \"lpo.run/1\", \"state\": \"done\"}", 0, "" },
    { "the bare number of old", "{\"schema\": 1, \"state\": \"done\"}", 0, "" },
    { "newer", "{\"schema\": \"lpo.run/99\", \"state\": \"done\"}", LPO_E_FORMAT, "99" },
    { "newer, as a number", "{\"schema\": 99, \"state\": \"done\"}", LPO_E_FORMAT, "99" },
    { "of another file", "{\"schema\": \"lpo.env/1\", \"state\": \"done\"}", LPO_E_FORMAT,
      "schema" },
    { "none", "{\"state\": \"done\"}", LPO_E_FORMAT, "schema" },
};

static void check_schema(void **state)
{
    const struct schema_case *c = *state;
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    struct lpo_manifest back = { .arena = a, .dir = scratch };
    struct lpo_err err = { 0 };

    assert_int_equal(lpo_run_folder_write(scratch, "run.json", c->text, strlen(c->text), &err), 0);
    assert_int_equal(lpo_run_manifest_load(&back, &err), c->code);
    if (c->code)
        assert_non_null(strstr(lpo_err_cause(&err), c->says));
}

static void list_and_remove(void **state)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    struct lpo_paths files = { 0 };
    const char *sub = NULL;
    struct lpo_err err = { 0 };

    (void)state;
    assert_int_equal(lpo_run_folder_sub(a, scratch, "nsys/inner", &sub, &err), 0);
    assert_int_equal(lpo_run_folder_write(scratch, "nsys/inner/b", "x", 1, &err), 0);
    assert_int_equal(lpo_run_folder_write(scratch, "nsys/a", "x", 1, &err), 0);
    assert_int_equal(symlink("/etc", lpo_path_join(a, scratch, "nsys/link")), 0);
    lpo_run_folder_list(a, scratch, "nsys", &files);
    assert_int_equal(files.len, 2);
    assert_string_equal(files.at[0], "nsys/a");
    assert_string_equal(files.at[1], "nsys/inner/b");
    assert_int_equal(lpo_run_folder_remove(a, scratch, "nsys", &err), 0);
    assert_false(lpo_path_exists(lpo_path_join(a, scratch, "nsys")));
    assert_true(lpo_path_exists("/etc"));
}

int main(void)
{
    struct unit u = { 0 };

    if (!mkdtemp(scratch))
        return 1;
    UNIT_TEST(&u, same_second_two_folders);
    UNIT_TEST(&u, unwritable_place_is_told);
    UNIT_TEST(&u, manifest_reads_back);
    UNIT_ROWS(&u, schema_cases, check_schema);
    UNIT_TEST(&u, list_and_remove);
    return unit_run(&u);
}
