/* SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/counters/helper.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "run/clock.h"
#include "run/step.h"
#include "util/arena.h"
#include "util/path.h"
#include "util/str.h"

enum { LINE_MAX_BYTES = 4096 };

static const int64_t stop_ns = 10000000000; /* for the last round of decoding and the file */

/* What the program is given decides which GPUs there are and how they are numbered; what would load
 * a profiler into the sampler is left out. */
static const char *const follow[] = { "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER",
                                      "LD_LIBRARY_PATH" };
static const char *const drop[] = { "CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH",
                                    "LD_PRELOAD" };

static const struct lpo_env_var *of_step(const struct lpo_step *step, const char *name)
{
    const struct lpo_env_var *found = NULL;

    for (size_t i = 0; step && i < step->nenv; i++)
        if (strcmp(step->env[i].name, name) == 0)
            found = &step->env[i];
    return found;
}

static char **environment(struct lpo_arena *a, const struct lpo_step *step)
{
    struct lpo_env_var vars[sizeof follow / sizeof *follow + sizeof drop / sizeof *drop];
    size_t n = 0;

    for (size_t i = 0; i < sizeof follow / sizeof *follow; i++)
        if (of_step(step, follow[i]))
            vars[n++] = *of_step(step, follow[i]);
    for (size_t i = 0; i < sizeof drop / sizeof *drop; i++)
        vars[n++] = (struct lpo_env_var){ drop[i], NULL };
    return lpo_run_environment(a, vars, n);
}

static int spawn(struct lpo_arena *a, const char *const *argv, const struct lpo_step *step,
                 int in_fd, int out_fd, pid_t *pid)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attr;
    sigset_t none, all;
    int rc;

    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_init(&attr);
    posix_spawnattr_setpgroup(&attr, 0); /* Ctrl-C reaches lpo alone, which stops it afterwards */
    posix_spawnattr_setsigmask(&attr, &none);
    posix_spawnattr_setsigdefault(&attr, &all);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
                                        POSIX_SPAWN_SETSIGDEF);
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, in_fd, 0);
    posix_spawn_file_actions_adddup2(&files, out_fd, 1);
    posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addclosefrom_np(&files, 3);
    rc = posix_spawn(pid, argv[0], &files, &attr, (char *const *)argv, environment(a, step));
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attr);
    return rc;
}

void lpo_counters_helper_start(struct lpo_arena *a, const char *const *words,
                               const struct lpo_step *step, struct lpo_sampling *out)
{
    struct lpo_words argv = { 0 };
    const char *self = lpo_path_program(a);
    int in[2], said[2], rc;

    *out = (struct lpo_sampling){ .stop_fd = -1, .said_fd = -1 };
    if (!self) {
        out->failed = "lpo does not know its own path";
        return;
    }
    lpo_run_words_add(a, &argv, self);
    lpo_run_words_add(a, &argv, "sample-counters");
    for (; *words; words++)
        lpo_run_words_add(a, &argv, *words);
    if (pipe2(in, O_CLOEXEC) < 0) {
        out->failed = lpo_arena_printf(a, "cannot make a pipe: %s", strerror(errno));
        return;
    }
    if (pipe2(said, O_CLOEXEC) < 0) {
        out->failed = lpo_arena_printf(a, "cannot make a pipe: %s", strerror(errno));
        close(in[0]);
        close(in[1]);
        return;
    }
    rc = spawn(a, argv.at, step, in[0], said[1], &out->pid);
    close(in[0]);
    close(said[1]);
    out->stop_fd = in[1];
    out->said_fd = said[0];
    if (rc == 0)
        return;
    out->failed = lpo_arena_printf(a, "the sampler could not be started: %s", strerror(rc));
    out->pid = 0;
    close(out->stop_fd);
    close(out->said_fd);
}

/* The next line it prints, without its end; NULL: it said nothing more, or not in time. */
static const char *next_line(struct lpo_arena *a, struct lpo_sampling *s, int64_t deadline_ns)
{
    char line[LINE_MAX_BYTES];
    size_t len = 0;

    for (;;) {
        int64_t left = deadline_ns - lpo_run_clock_ns();
        struct pollfd fd = { .fd = s->said_fd, .events = POLLIN };
        ssize_t n;
        char c;

        if (left < 0 || poll(&fd, 1, (int)(left / 1000000) + 1) == 0)
            return NULL;
        n = read(s->said_fd, &c, 1);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return len ? lpo_arena_strndup(a, line, len) : NULL;
        if (c == '\n')
            return lpo_arena_strndup(a, line, len);
        if (len < sizeof line)
            line[len++] = c;
    }
}

static void read_totals(struct lpo_sampling *s, const char *line)
{
    s->done =
        sscanf(line,
               "done samples=%" SCNu64 " lost=%" SCNu64 " lost_ns=%" SCNd64 " cpu_ns=%" SCNd64
               " wall_ns=%" SCNd64 " rounds=%*u ended_by=%u",
               &s->samples, &s->lost, &s->lost_ns, &s->cpu_ns, &s->wall_ns, &s->ended_by) == 6;
    line = strstr(line, " interval_ns=");
    if (!line || sscanf(line, " interval_ns=%" SCNd64 " lengthened=%u", &s->interval_ns,
                        &s->lengthened) != 2)
        s->lengthened = 0;
}

static void take_line(struct lpo_sampling *s, const char *line)
{
    if (lpo_str_starts(line, "failed: "))
        s->failed = line + strlen("failed: ");
    else if (lpo_str_starts(line, "ready ")) {
        s->ready = true;
        s->about = line + strlen("ready ");
    } else
        read_totals(s, line);
}

void lpo_counters_helper_wait_ready(struct lpo_arena *a, struct lpo_sampling *s,
                                    int64_t deadline_ns)
{
    const char *line;

    if (!s->pid || s->ready || s->failed)
        return;
    line = next_line(a, s, deadline_ns);
    if (line)
        take_line(s, line);
    if (!s->ready && !s->failed)
        s->failed = lpo_run_clock_ns() >= deadline_ns ? "the sampler was not ready in time"
                                                      : "the sampler ended at once";
}

static void wait_for_end(struct lpo_sampling *s, int64_t deadline_ns)
{
    struct pollfd fd = { .fd = s->said_fd, .events = POLLIN };
    int status;

    /* It has closed its output, or is about to: the end follows within moments. */
    while (waitpid(s->pid, &status, WNOHANG) == 0) {
        if (lpo_run_clock_ns() > deadline_ns)
            kill(s->pid, SIGKILL);
        poll(&fd, 0, 1);
    }
    s->pid = 0;
}

void lpo_counters_helper_stop(struct lpo_arena *a, struct lpo_sampling *s)
{
    int64_t deadline = lpo_run_clock_ns() + (s->ready ? stop_ns : 0);
    const char *line;
    ssize_t n;

    if (!s->pid)
        return;
    n = write(s->stop_fd, "x", 1); /* one that is gone already needs no telling */
    (void)n;
    close(s->stop_fd);
    while (s->ready && (line = next_line(a, s, deadline)))
        take_line(s, line);
    if (s->ready && !s->done && !s->failed)
        s->failed = "the sampler was killed before it could write its totals";
    wait_for_end(s, deadline);
    close(s->said_fd);
}

void lpo_counters_helper_read_said(struct lpo_arena *a, const char *file, struct lpo_sampling *s)
{
    const char *path = lpo_arena_printf(a, "%s.said", file), *line;

    *s = (struct lpo_sampling){ .stop_fd = -1 };
    s->said_fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (s->said_fd < 0) {
        s->failed = "the program did not start CUDA with the collector inside";
        return;
    }
    while ((line = next_line(a, s, lpo_run_clock_ns() + stop_ns)))
        take_line(s, line);
    close(s->said_fd);
    unlink(path);
    if (s->ready && !s->done && !s->failed)
        s->failed = "the program ended before the sampler inside could write its totals";
    else if (!s->ready && !s->failed)
        s->failed = "the program ended before the sampler inside had begun";
}
