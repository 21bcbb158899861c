/* SPDX-License-Identifier: Apache-2.0 */
/* lpo ctl PID trace: a trace of a PyTorch that runs, without a daemon.
 *
 * Kineto reads /tmp/libkineto.conf when its process gets SIGUSR2, records as it says, and writes
 * the trace to ACTIVITIES_LOG_FILE with "_PID" before ".json". It catches the signal only where the
 * config that it was started with says ENABLE_SIGUSR2=YES; any other process would be killed, so
 * /proc is asked first. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/app.h"
#include "cli/ctl.h"
#include "cli/options.h"
#include "cli/trace_options.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/file.h"
#include "util/path.h"
#include "util/str.h"

static const char kineto_conf[] = "/tmp/libkineto.conf";

enum { WAIT_MS = 100, QUIET_ROUNDS = 5, USUAL_WAIT_S = 120 };

/* Does it catch SIGUSR2? "SigCgt" of /proc/PID/status is a mask in hexadecimal. */
static int check_process(long pid, struct lpo_err *err)
{
    char path[64];
    LPO_AUTO(lpo_file_text) text = NULL;
    const char *caught;

    snprintf(path, sizeof path, "/proc/%ld/status", pid);
    if (lpo_file_text_read(path, &text, err) < 0)
        return lpo_fail(err, LPO_E_NOTFOUND, "there is no process %ld", pid);
    caught = strstr(text->at, "\nSigCgt:");
    if (caught && strtoull(caught + 8, NULL, 16) >> (SIGUSR2 - 1) & 1)
        return 0;
    return lpo_fail(err, LPO_E_MISSING,
                    "process %ld does not listen for SIGUSR2, which would kill it: start the "
                    "program with KINETO_CONFIG=FILE, where FILE has the line ENABLE_SIGUSR2=YES "
                    "(and KINETO_USE_DAEMON=1, so that PyTorch counts steps)",
                    pid);
}

/* Where others may write, a name of ours may be somebody else's: it must be new. */
static int write_request(const char *conf, const char *log, size_t steps, size_t ms,
                         struct lpo_err *err)
{
    LPO_STR text = { 0 };
    int fd;
    bool whole;

    lpo_str_addf(&text, "ACTIVITIES_LOG_FILE=%s\nPROFILE_REPORT_INPUT_SHAPES=true\n", log);
    if (steps)
        lpo_str_addf(&text, "PROFILE_START_ITERATION_ROUNDUP=1\nACTIVITIES_ITERATIONS=%zu\n",
                     steps);
    else
        lpo_str_addf(&text, "ACTIVITIES_WARMUP_PERIOD_SECS=1\nACTIVITIES_DURATION_MSECS=%zu\n", ms);
    fd = open(conf, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return lpo_fail_errno(err,
                              "'%s' cannot be made: another request may be under way; else remove "
                              "it",
                              conf);
    whole = write(fd, text.at, text.len) == (ssize_t)text.len;
    close(fd);
    return whole ? 0 : lpo_fail_errno(err, "'%s' cannot be written", conf);
}

/* Kineto writes the trace where it stands: it is complete when it has stopped growing and ends as
 * JSON does. */
static bool ends_as_json(const char *path, off_t size)
{
    char last = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    for (off_t at = size; fd >= 0 && at-- > 0 && at > size - 16;)
        if (pread(fd, &last, 1, at) != 1 || !strchr(" \n\r\t", last))
            break;
    if (fd >= 0)
        close(fd);
    return last == '}' || last == ']';
}

static int wait_for(const char *path, long pid, size_t seconds, struct lpo_err *err)
{
    const struct timespec pause = { 0, WAIT_MS * 1000000L };
    off_t size = -1;
    int quiet = 0;

    for (size_t ms = 0; ms < seconds * 1000; ms += WAIT_MS) {
        struct stat s;

        nanosleep(&pause, NULL);
        if (stat(path, &s) == 0) {
            quiet = s.st_size == size ? quiet + 1 : 0;
            size = s.st_size;
            if (quiet >= QUIET_ROUNDS && ends_as_json(path, size))
                return 0;
        } else if (kill((pid_t)pid, 0) < 0) {
            return lpo_fail(err, LPO_E_CHILD, "process %ld ended before it wrote a trace", pid);
        }
    }
    return lpo_fail(err, LPO_E_CHILD,
                    "process %ld wrote no trace in %zu s: with --steps it must make steps that "
                    "PyTorch counts (an optimizer's, with KINETO_USE_DAEMON=1); --seconds needs "
                    "none; --wait gives it longer",
                    pid, seconds);
}

/* The report is that of `lpo report`, in lpo-report/ beside the trace. */
static int report(struct lpo_app *app, const char *trace, struct lpo_err *err)
{
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    char *argv[] = { "lpo", "report", lpo_arena_strdup(app->arena, trace), NULL };

    fprintf(app->out, "%s\n", trace);
    fflush(app->out);
    self[n > 0 ? n : 0] = '\0';
    execv(self, argv);
    return lpo_fail_errno(err, "'%s' is written; it cannot be reported on", trace);
}

int lpo_cli_ctl_trace(struct lpo_app *app, const struct lpo_args *args, struct lpo_err *err)
{
    const char *conf = getenv("LPO_KINETO_CONF"); /* for tests: Kineto's own is fixed */
    const char *dir = lpo_cli_args_text(args, "output", "lpo-trace"), *whole, *trace;
    long pid = strtol(args->words[0], NULL, 10);
    size_t steps = 0, seconds = 0, wait = 0;
    int rc = lpo_cli_count_from_args(args, "steps", 0, &steps, err);

    conf = conf ? conf : kineto_conf;
    if (rc == 0)
        rc = lpo_cli_count_from_args(args, "seconds", steps ? 0 : 5, &seconds, err);
    if (rc == 0)
        rc = lpo_cli_count_from_args(args, "wait", USUAL_WAIT_S, &wait, err);
    if (rc == 0 && steps && seconds)
        rc = lpo_fail(err, LPO_E_USAGE, "give --steps or --seconds, not both");
    if (rc == 0)
        rc = check_process(pid, err);
    if (rc == 0)
        rc = lpo_file_make_dirs(dir, err);
    if (rc < 0)
        return rc;
    whole = realpath(dir, NULL);
    dir = whole ? lpo_arena_strdup(app->arena, whole) : dir;
    free((void *)(uintptr_t)whole);
    trace = lpo_arena_printf(app->arena, "%s/kineto_%ld.json", dir, pid);
    unlink(trace);
    rc = write_request(conf, lpo_path_join(app->arena, dir, "kineto.json"), steps, seconds * 1000,
                       err);
    if (rc < 0)
        return rc;
    if (kill((pid_t)pid, SIGUSR2) < 0)
        rc = lpo_fail_errno(err, "process %ld cannot be asked", pid);
    else
        rc = wait_for(trace, pid, wait + seconds, err);
    unlink(conf);
    return rc < 0 ? rc : report(app, trace, err);
}
