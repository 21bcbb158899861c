/* SPDX-License-Identifier: Apache-2.0 */
#include "../unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "run/child/supervise.h"
#include "run/folder.h"
#include "run/manifest.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/file.h"
#include "util/path.h"

static char scratch[] = "/tmp/lpo-test-rundir-XXXXXX";

/* Both begin before either is there: the place is decided when a folder is complete. */
static void same_second_two_folders(void **state)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    const char *wanted = lpo_path_join(a, scratch, "deep/20260101-000000");
    struct lpo_run_folder one, two;
    struct lpo_err err = { 0 };

    (void)state;
    assert_int_equal(lpo_run_folder_begin(a, wanted, &one, &err), 0);
    assert_int_equal(lpo_run_folder_begin(a, wanted, &two, &err), 0);
    assert_false(lpo_path_exists(wanted));
    assert_int_equal(lpo_run_folder_publish(a, &one, &err), 0);
    assert_int_equal(lpo_run_folder_publish(a, &two, &err), 0);
    assert_string_equal(one.dir, wanted);
    assert_true(strcmp(two.dir + strlen(two.dir) - 2, "-2") == 0);
    lpo_run_folder_close(&one);
    lpo_run_folder_close(&two);
    assert_true(lpo_path_exists(wanted));
}

static void unpublished_leaves_nothing(void **state)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    const char *wanted = lpo_path_join(a, scratch, "empty/run");
    struct lpo_run_folder f;
    struct lpo_err err = { 0 };

    (void)state;
    assert_int_equal(lpo_run_folder_begin(a, wanted, &f, &err), 0);
    assert_int_equal(lpo_run_folder_write(f.dir, "config.yaml", "x", 1, &err), 0);
    lpo_run_folder_close(&f);
    assert_int_equal(rmdir(lpo_path_join(a, scratch, "empty")),
                     0); /* fails where it is not empty */
}

/* Ranks of a job begin at the same time, and each sweeps before it makes its folder. */
static void another_sweeps_meanwhile(void **state)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    const char *above = lpo_path_join(a, scratch, "swept");
    struct lpo_err err = { 0 };
    enum { SWEEPERS = 4 }; /* more than there are cores: one is stopped between two steps */
    pid_t sweepers[SWEEPERS];
    int made = 0;

    (void)state;
    assert_int_equal(lpo_file_make_dirs(above, &err), 0);
    for (size_t i = 0; i < SWEEPERS; i++) {
        sweepers[i] = fork();
        if (sweepers[i] != 0)
            continue;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;)
            lpo_file_sweep(above, true);
    }
    for (int i = 0; i < 300; i++) {
        struct lpo_run_folder f;

        if (lpo_run_folder_begin(a, lpo_path_join(a, above, "run"), &f, &err) == 0) {
            made += lpo_run_folder_write(f.dir, "config.yaml", "x", 1, &err) == 0;
            lpo_run_folder_close(&f);
        }
    }
    for (size_t i = 0; i < SWEEPERS; i++) {
        kill(sweepers[i], SIGKILL);
        waitpid(sweepers[i], NULL, 0);
    }
    assert_int_equal(made, 300);
}

static void folder_of_others_is_refused(void **state)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    const char *wanted = lpo_path_join(a, scratch, "theirs");
    struct lpo_run_folder f;
    struct lpo_err err = { 0 };

    (void)state;
    assert_int_equal(lpo_file_make_dirs(lpo_path_join(a, wanted, "native"), &err), 0);
    assert_int_equal(lpo_run_folder_begin(a, wanted, &f, &err), LPO_E_CONFIG);
    assert_non_null(strstr(lpo_err_cause(&err), "not empty"));
    assert_true(lpo_path_exists(lpo_path_join(a, wanted, "native")));
}

static void one_holder_at_a_time(void **state)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    const char *wanted = lpo_path_join(a, scratch, "locked");
    char pid[40];
    struct lpo_run_folder one, two;
    struct lpo_err err = { 0 };

    (void)state;
    assert_int_equal(lpo_run_folder_begin(a, wanted, &one, &err), 0);
    assert_int_equal(lpo_run_folder_write(one.dir, "run.json", "{}", 2, &err), 0);
    assert_int_equal(lpo_run_folder_publish(a, &one, &err), 0);
    assert_int_equal(lpo_run_folder_open(a, wanted, &two, &err), LPO_E_USAGE);
    snprintf(pid, sizeof pid, "process %d on ", (int)getpid());
    assert_non_null(strstr(lpo_err_cause(&err), pid));
    lpo_run_folder_close(&two);
    lpo_run_folder_close(&one);
    assert_int_equal(lpo_run_folder_open(a, wanted, &two, &err), 0);
    lpo_run_folder_close(&two);
}

static void unwritable_place_is_told(void **state)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    struct lpo_run_folder out;
    struct lpo_err err = { 0 };

    (void)state;
    assert_int_equal(lpo_run_folder_begin(a, "/proc/nowhere/x", &out, &err), LPO_E_IO);
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
    struct lpo_err err = { 0 };

    (void)state;
    assert_int_equal(lpo_file_make_dirs(lpo_path_join(a, scratch, "nsys/inner"), &err), 0);
    assert_int_equal(lpo_run_folder_write(scratch, "nsys/inner/b", "x", 1, &err), 0);
    assert_int_equal(lpo_run_folder_write(scratch, "nsys/a", "x", 1, &err), 0);
    assert_int_equal(symlink("/etc", lpo_path_join(a, scratch, "nsys/link")), 0);
    assert_int_equal(lpo_run_folder_list(a, scratch, "nsys", &files, &err), 0);
    assert_int_equal(files.len, 2);
    assert_string_equal(files.at[0], "nsys/a");
    assert_string_equal(files.at[1], "nsys/inner/b");
    assert_int_equal(lpo_run_folder_remove(a, scratch, "nsys", &err), 0);
    assert_false(lpo_path_exists(lpo_path_join(a, scratch, "nsys")));
    assert_true(lpo_path_exists("/etc"));
}

/* "Could not look" is not "nothing there". */
static void unreadable_is_not_empty(void **state)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    struct lpo_paths files = { 0 };
    struct rlimit before, none;
    struct lpo_err err = { 0 };
    int rc;

    (void)state;
    assert_int_equal(lpo_file_make_dirs(lpo_path_join(a, scratch, "native"), &err), 0);
    assert_int_equal(lpo_run_folder_list(a, scratch, "no-such-folder", &files, &err), 0);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = before;
    none.rlim_cur = 0;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    rc = lpo_run_folder_list(a, scratch, "native", &files, &err);
    setrlimit(RLIMIT_NOFILE, &before);
    assert_int_equal(rc, LPO_E_IO);
    assert_non_null(strstr(lpo_err_cause(&err), strerror(EMFILE)));
}

static const struct clear_case {
    const char *name;
    const char *files[4];
    bool is_kept; /* somebody's file was there, too */
} clear_cases[] = {
    { "all of it is listed", { "ncu/a", "ncu/in/b" }, false },
    { "the folder is listed", { "ncu/" }, false },
    { "a file is not listed", { "ncu/a" }, true },
    { "nothing is listed", { NULL }, true },
    { "a list that leads outside", { "ncu/../outside/c", "ncu/a", "ncu/in/b" }, false },
};

static void check_clear(void **state)
{
    const struct clear_case *c = *state;
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    const char *kept = NULL;
    struct lpo_err err = { 0 };
    size_t n = 0;

    while (c->files[n])
        n++;
    lpo_file_make_dirs(lpo_path_join(a, scratch, "ncu/in"), &err);
    lpo_file_make_dirs(lpo_path_join(a, scratch, "outside"), &err);
    lpo_run_folder_write(scratch, "ncu/a", "x", 1, &err);
    lpo_run_folder_write(scratch, "ncu/in/b", "x", 1, &err);
    lpo_run_folder_write(scratch, "outside/c", "x", 1, &err);
    assert_int_equal(lpo_run_folder_clear(a, scratch, "ncu", c->files, n, &kept, &err), 0);
    assert_false(lpo_path_exists(lpo_path_join(a, scratch, "ncu")));
    assert_true(lpo_path_exists(lpo_path_join(a, scratch, "outside/c")));
    assert_int_equal(kept != NULL, c->is_kept);
    if (kept) {
        assert_true(lpo_path_exists(lpo_path_join(a, scratch, lpo_path_join(a, kept, "in/b"))));
        assert_int_equal(lpo_run_folder_remove(a, scratch, kept, &err), 0);
    }
}

/* A link in the run folder leads to what is not ours. */
static void links_are_not_followed(void **state)
{
    static const char *const files[] = { "workload/nsys/c", "workload/nsys/" };
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    const char *kept = NULL;
    struct lpo_err err = { 0 };

    (void)state;
    lpo_file_make_dirs(lpo_path_join(a, scratch, "outside/nsys"), &err);
    lpo_run_folder_write(scratch, "outside/nsys/c", "x", 1, &err);
    assert_int_equal(symlink("outside", lpo_path_join(a, scratch, "workload")), 0);
    assert_true(lpo_run_folder_clear(a, scratch, "workload/nsys", files, 2, &kept, &err) < 0);
    assert_true(lpo_run_folder_remove(a, scratch, "workload/nsys", &err) < 0);
    assert_true(lpo_path_exists(lpo_path_join(a, scratch, "outside/nsys/c")));
}

int main(void)
{
    struct unit u = { 0 };

    if (!mkdtemp(scratch))
        return 1;
    UNIT_TEST(&u, same_second_two_folders);
    UNIT_TEST(&u, unpublished_leaves_nothing);
    UNIT_TEST(&u, another_sweeps_meanwhile);
    UNIT_TEST(&u, folder_of_others_is_refused);
    UNIT_TEST(&u, one_holder_at_a_time);
    UNIT_TEST(&u, unwritable_place_is_told);
    UNIT_TEST(&u, manifest_reads_back);
    UNIT_ROWS(&u, schema_cases, check_schema);
    UNIT_TEST(&u, list_and_remove);
    UNIT_TEST(&u, unreadable_is_not_empty);
    UNIT_ROWS(&u, clear_cases, check_clear);
    UNIT_TEST(&u, links_are_not_followed);
    return unit_run(&u);
}
