/* SPDX-License-Identifier: Apache-2.0 */
/* The guard: a process between lpo and the program. When lpo is killed, even with -9, it ends the
 * program and all of its descendants; else it ends exactly as the program does. It prints nothing.
 *
 * A parent-death signal on the program itself would not do: exec of a set-uid program clears it,
 * and grandchildren do not inherit it. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "run/child/descendants.h"
#include "run/child/supervise.h"

extern char **environ;

enum { STATUS_FD = 3 };

static int start(const char *const *argv, pid_t *pid)
{
    posix_spawnattr_t attr;
    sigset_t none, all;
    int rc;

    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_init(&attr);
    posix_spawnattr_setsigmask(&attr, &none);
    posix_spawnattr_setsigdefault(&attr, &all);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    rc = posix_spawnp(pid, argv[0], NULL, &attr, (char *const *)argv, environ);
    posix_spawnattr_destroy(&attr);
    return rc;
}

/* Dies as the program died, so that lpo sees the same status; no core of ours beside its core. */
static int end_alike(int status)
{
    if (WIFSIGNALED(status)) {
        struct rlimit none = { 0, 0 };
        sigset_t none_blocked;

        setrlimit(RLIMIT_CORE, &none);
        signal(WTERMSIG(status), SIG_DFL);
        sigemptyset(&none_blocked);
        sigprocmask(SIG_SETMASK, &none_blocked, NULL);
        kill(getpid(), WTERMSIG(status));
        return 128 + WTERMSIG(status);
    }
    return WEXITSTATUS(status);
}

int lpo_run_guard_main(int argc, const char *const *argv)
{
    sigset_t set;
    pid_t parent = argc > 1 ? (pid_t)atoi(argv[0]) : -1, child;
    int rc;

    if (parent <= 0)
        return 2;
    argv++;
    fcntl(STATUS_FD, F_SETFD, FD_CLOEXEC);
    prctl(PR_SET_CHILD_SUBREAPER, 1); /* daemons of the program stay below us */
    prctl(PR_SET_PDEATHSIG, SIGUSR1);
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGINT); /* the group gets these, too: the program decides, we wait for it */
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    sigprocmask(SIG_BLOCK, &set, NULL);
    if (getppid() != parent)
        return 1; /* lpo died before PDEATHSIG was set; its pid is our first argument */
    rc = start(argv, &child);
    if (rc != 0) {
        ssize_t ignored = write(STATUS_FD, &rc, sizeof rc);

        (void)ignored;
        return 127;
    }
    close(STATUS_FD);
    for (;;) {
        int sig = 0, status;

        sigwait(&set, &sig);
        if (sig == SIGUSR1) {
            lpo_run_descendants_kill(-1);
            return 1;
        }
        if (sig != SIGCHLD)
            continue;
        for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
            if (pid == child)
                return end_alike(status);
        }
    }
}
