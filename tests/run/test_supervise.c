/* SPDX-License-Identifier: Apache-2.0 */
#include "../unit.h"

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "run/child/cgroup.h"
#include "run/child/supervise.h"
#include "run/clock.h"
#include "run/step.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/file.h"
#include "util/path.h"
#include "util/str.h"

static char scratch[] = "/tmp/lpo-test-supervise-XXXXXX";

static const struct run_case {
    const char *name, *script;
    double timeout_s;
    enum lpo_end end;
    int code;
    const char *out, *last_line; /* what stdout.log holds; what was said last */
    double at_most_s;
} run_cases[] = {
    { "exit code", "exit 7", 0, LPO_END_EXIT, 7, "", "", 5 },
    { "output is kept", "echo a; echo b; echo bad >&2", 0, LPO_END_EXIT, 0, "a\nb\n", "bad", 5 },
    { "last line without newline", "printf 'x\\ry'", 0, LPO_END_EXIT, 0, "x\ry", "y", 5 },
    { "death by signal", "kill -SEGV $$", 0, LPO_END_SIGNAL, SIGSEGV, "", "", 5 },
    { "time limit", "sleep 30", 0.2, LPO_END_TIMEOUT, SIGTERM, "", "", 5 },
    { "TERM ignored", "trap '' TERM; while :; do sleep 1; done", 0.2, LPO_END_TIMEOUT, SIGKILL, "",
      "", 8 },
    { "pipes closed early", "exec >&- 2>&-; sleep 0.3; exit 3", 0, LPO_END_EXIT, 3, "", "", 5 },
    { "grandchild holds the pipe", "sleep 60 & echo up; exit 0", 0, LPO_END_EXIT, 0, "up\n", "up",
      5 },
    { "stdin is empty", "cat; echo end", 0, LPO_END_EXIT, 0, "end\n", "end", 5 },
};

static struct lpo_step *shell_step(struct lpo_steps *steps, const char *script)
{
    struct lpo_step *step = lpo_run_steps_add(steps, "test");
    const char *const argv[] = { "/bin/sh", "-c", script, NULL };

    lpo_run_step_args(steps->arena, step, argv);
    step->stdout_path = lpo_path_join(steps->arena, scratch, "stdout.log");
    step->stderr_path = lpo_path_join(steps->arena, scratch, "stderr.log");
    return step;
}

static const struct lpo_watch *guarded(void)
{
    static struct lpo_watch w;

    w = (struct lpo_watch){ .grace_ns = 300000000, .self_path = getenv("LPO_BIN") };
    return &w;
}

static void check_run(void **state)
{
    const struct run_case *c = *state;
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    LPO_AUTO(lpo_file_text) text = NULL;
    struct lpo_steps steps = { .arena = a };
    struct lpo_step *step = shell_step(&steps, c->script);
    struct lpo_result r;
    struct lpo_err err = { 0 };

    step->timeout_ns = (int64_t)(c->timeout_s * 1e9);
    assert_int_equal(lpo_run_supervise(step, guarded(), &r, &err), 0);
    assert_int_equal(r.end, c->end);
    assert_int_equal(r.code, c->code);
    assert_true((double)r.wall_ns < c->at_most_s * 1e9);
    assert_string_equal(r.last_line, c->last_line);
    assert_int_equal(lpo_file_text_read(step->stdout_path, &text, &err), 0);
    assert_string_equal(text->at, c->out);
}

static void missing_program_is_a_result(void **state)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    struct lpo_steps steps = { .arena = a };
    struct lpo_step *step = lpo_run_steps_add(&steps, "test");
    struct lpo_result r;
    struct lpo_err err = { 0 };
    LPO_STR how = { 0 };

    (void)state;
    lpo_run_step_arg(a, step, "/no/such/program");
    assert_int_equal(lpo_run_supervise(step, guarded(), &r, &err), 0);
    assert_int_equal(r.end, LPO_END_NOT_STARTED);
    assert_int_equal(r.code, ENOENT);
    lpo_run_result_describe(&r, step, &how);
    assert_non_null(strstr(lpo_str_text(&how), "/no/such/program"));
}

static void gigabytes_are_cut(void **state)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    struct lpo_steps steps = { .arena = a };
    struct lpo_step *step = shell_step(&steps, "head -c 50000000 /dev/zero");
    struct lpo_result r;
    struct lpo_err err = { 0 };
    struct stat st;

    (void)state;
    step->output_limit = 1000000;
    assert_int_equal(lpo_run_supervise(step, guarded(), &r, &err), 0);
    assert_int_equal(r.stdout_bytes, 50000000);
    assert_int_equal(r.lost_bytes, 49000000);
    assert_int_equal(stat(step->stdout_path, &st), 0);
    assert_int_equal(st.st_size, 1000000);
}

static void full_disk_does_not_block(void **state)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    struct lpo_steps steps = { .arena = a };
    struct lpo_step *step = shell_step(&steps, "head -c 3000000 /dev/zero; exit 4");
    struct lpo_result r;
    struct lpo_err err = { 0 };

    (void)state;
    step->stdout_path = "/dev/full";
    assert_int_equal(lpo_run_supervise(step, guarded(), &r, &err), 0);
    assert_int_equal(r.code, 4);
    assert_int_equal(r.disk_errno, ENOSPC);
    assert_int_equal(r.lost_bytes, 3000000);
}

/* A nap of a length that no other run of this test uses. */
static const char *nap(void)
{
    static char text[40];

    snprintf(text, sizeof text, "sleep 9%d", (int)getpid());
    return text;
}

/* Is a process with this command line there, after up to a minute to vanish? */
static int still_there(const char *command)
{
    char line[200];

    snprintf(line, sizeof line, "pgrep -xf '%s' >/dev/null", command);
    for (int i = 0; i < 1200; i++) {
        if (system(line) != 0)
            return 0;
        usleep(50000);
    }
    return 1;
}

static void daemons_end_with_their_stage(void **state)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    struct lpo_steps steps = { .arena = a };
    struct lpo_step *step = shell_step(&steps, lpo_arena_printf(a, "setsid %s & sleep 0.2", nap()));
    struct lpo_result r;
    struct lpo_err err = { 0 };

    (void)state;
    assert_int_equal(lpo_run_supervise(step, guarded(), &r, &err), 0);
    assert_false(still_there(nap()));
}

/* The parent dies with -9; its guard must end the whole family. */
static void nothing_survives_kill_9(void **state)
{
    const char *sleeper = nap();
    char there[80];
    pid_t pid = fork();

    (void)state;
    if (pid == 0) {
        struct lpo_arena *a = lpo_arena_create();
        struct lpo_steps steps = { .arena = a };
        struct lpo_step *step =
            shell_step(&steps, lpo_arena_printf(a, "setsid %s & %s", sleeper, sleeper));
        struct lpo_result r;

        lpo_run_supervise_end();
        lpo_run_supervise(step, guarded(), &r, NULL);
        _exit(0);
    }
    snprintf(there, sizeof there, "pgrep -xf '%s' >/dev/null", sleeper);
    for (int i = 0; i < 1200 && system(there) != 0; i++)
        usleep(50000);
    assert_int_equal(system(there), 0);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    assert_false(still_there(sleeper));
}

static void capture_keeps_stdout(void **state)
{
    static const char *const good[] = { "/bin/echo", "hi", NULL };
    static const char *const bad[] = { "/bin/false", NULL };
    struct lpo_err err = { 0 };
    LPO_STR out = { 0 };

    (void)state;
    assert_int_equal(lpo_run_capture(good, 5000000000, &out, &err), 0);
    assert_string_equal(lpo_str_text(&out), "hi\n");
    assert_int_equal(lpo_run_capture(bad, 5000000000, &out, &err), LPO_E_CHILD);
}

/* Without a descriptor /proc cannot be read: then lpo cannot find the daemon, and says so. */
static void blind_is_not_certain(void **state)
{
    struct rlimit before, none;
    bool sure;
    pid_t pid;

    (void)state;
    assert_int_equal(lpo_run_supervise_begin(NULL), 0); /* makes us the reaper */
    pid = fork();
    if (pid == 0) {
        setsid();
        for (;;)
            pause();
    }
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = before;
    none.rlim_cur = 0;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    sure = lpo_run_descendants_kill(0);
    setrlimit(RLIMIT_NOFILE, &before);
    assert_false(sure);
    assert_int_equal(kill(pid, 0), 0);
    assert_true(lpo_run_descendants_kill(0));
    assert_int_equal(kill(pid, 0), -1);
}

/* A supervisor that ignores SIGCHLD passes that on, and the kernel then tells nobody of an end. */
static void an_end_that_nobody_can_wait_for(void **state)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    struct lpo_steps steps = { .arena = a };
    struct lpo_result r;
    struct lpo_err err = { 0 };
    struct sigaction before;
    struct lpo_watch bare = { 0 };

    (void)state;
    sigaction(SIGCHLD, &(struct sigaction){ .sa_handler = SIG_IGN }, &before);
    assert_int_equal(lpo_run_supervise(shell_step(&steps, "echo x"), &bare, &r, &err), 0);
    assert_int_equal(r.end, LPO_END_EXIT);
    assert_int_equal(r.code, 255);
    assert_string_equal(r.last_line, "x");
    sigaction(SIGCHLD, &before, NULL);
}

/* Last, because the answer stays: an interrupted session starts nothing more. */
static void interrupt_is_forwarded(void **state)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    struct lpo_steps steps = { .arena = a };
    struct lpo_step *step =
        shell_step(&steps, "trap 'echo got; exit 9' INT; kill -INT $PPID; kill -INT $OUTER; "
                           "while :; do sleep 0.05; done");
    char pid[32];
    struct lpo_result r;
    struct lpo_err err = { 0 };

    (void)state;
    snprintf(pid, sizeof pid, "%d", (int)getpid());
    lpo_run_step_env(a, step, "OUTER", pid);
    assert_int_equal(lpo_run_supervise(step, guarded(), &r, &err), 0);
    assert_int_equal(r.end, LPO_END_INTERRUPTED);
    assert_true(lpo_run_supervise_interrupted());
    assert_string_equal(r.last_line, "got");
}

int main(void)
{
    struct unit u = { 0 };

    if (!mkdtemp(scratch))
        return 1;
    UNIT_ROWS(&u, run_cases, check_run);
    UNIT_TEST(&u, missing_program_is_a_result);
    UNIT_TEST(&u, gigabytes_are_cut);
    UNIT_TEST(&u, full_disk_does_not_block);
    UNIT_TEST(&u, daemons_end_with_their_stage);
    UNIT_TEST(&u, nothing_survives_kill_9);
    UNIT_TEST(&u, capture_keeps_stdout);
    UNIT_TEST(&u, blind_is_not_certain);
    UNIT_TEST(&u, an_end_that_nobody_can_wait_for);
    UNIT_TEST(&u, interrupt_is_forwarded);
    return unit_run(&u);
}
