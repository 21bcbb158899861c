/* SPDX-License-Identifier: Apache-2.0 */
/* The guard: two processes between lpo and the program.
 *
 *     lpo ── guard ── keeper ── program ── …
 *
 * When the process before it dies, even by kill -9, each of the two ends everything below it; so
 * lpo alone, or lpo and the guard together, may be killed. When the program ends, the keeper first
 * ends what the program left running and then ends exactly as the program did, and the guard
 * likewise: lpo sees the same status, and nothing depends on lpo being alive at that moment. They
 * print nothing.
 *
 * A parent-death signal on the program itself would not do: exec of a set-uid program clears it,
 * and grandchildren do not inherit it. It is set all the same, for the day when all three are
 * killed at once. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "run/child/cgroup.h"
#include "run/child/interrupt.h"
#include "run/child/supervise.h"
#include "util/path.h"

enum { STATUS_FD = 3 };

static bool offered;

void lpo_run_guard_offer(void)
{
    offered = true;
}

const char *lpo_run_guard_program(struct lpo_arena *a)
{
    return offered ? lpo_path_program(a) : NULL;
}

/* In the new process: as fresh as posix_spawn() would make it. */
static void become_program(const char *const *argv, pid_t group, pid_t keeper)
{
    sigset_t none;
    int why;

    setpgid(0, group); /* the group that lpo sends its signals to */
    for (int sig = 1; sig < NSIG; sig++)
        signal(sig, SIG_DFL);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != keeper)
        _exit(1);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    execvp(argv[0], (char *const *)argv);
    why = errno;
    if (write(STATUS_FD, &why, sizeof why) < 0)
        _exit(126);
    _exit(127);
}

static int start(const char *const *argv, pid_t group, const struct lpo_cgroup *cgroup, pid_t *pid)
{
    pid_t keeper = getpid();

    *pid = lpo_run_cgroup_fork(cgroup);
    if (*pid == 0)
        become_program(argv, group, keeper);
    return *pid < 0 ? errno : 0;
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

/* SIGUSR1 comes when `parent` dies. False: it is dead already. */
static bool follow(pid_t parent)
{
    prctl(PR_SET_CHILD_SUBREAPER, 1); /* daemons of the program stay below us */
    prctl(PR_SET_PDEATHSIG, SIGUSR1);
    return getppid() == parent;
}

static int watch(const sigset_t *set, pid_t child, pid_t group, struct lpo_cgroup *cgroup)
{
    for (;;) {
        int sig = 0, status;

        sigwait(set, &sig);
        if (sig == SIGUSR1) {
            lpo_run_cgroup_kill(cgroup);
            lpo_run_descendants_kill(group);
            lpo_run_cgroup_remove(cgroup);
            return 1;
        }
        if (sig != SIGCHLD)
            continue; /* the group gets INT and TERM, too: the program decides, we wait for it */
        for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
            if (pid != child)
                continue;
            lpo_run_cgroup_kill(cgroup);
            lpo_run_descendants_kill(0);
            return end_alike(status);
        }
    }
}

static int keep(const sigset_t *set, pid_t guard, const char *path, const char *const *argv)
{
    struct lpo_cgroup cgroup;
    pid_t child;
    int rc;

    setpgid(0, 0); /* a kill -9 of the program's group does not take the keeper along */
    if (!follow(guard))
        return 1;
    lpo_run_cgroup_hold(&cgroup, path);
    rc = start(argv, guard, &cgroup, &child);
    if (rc != 0) {
        ssize_t ignored = write(STATUS_FD, &rc, sizeof rc);

        (void)ignored;
        return 127;
    }
    close(STATUS_FD);
    return watch(set, child, guard, &cgroup);
}

int lpo_run_guard_main(int argc, const char *const *argv)
{
    pid_t parent = argc > 2 ? (pid_t)atoi(argv[0]) : -1, self = getpid(), keeper;
    struct lpo_cgroup cgroup;
    const char *path;
    sigset_t set;

    if (parent <= 0)
        return 2;
    path = argv[1];
    argv += 2;
    fcntl(STATUS_FD, F_SETFD, FD_CLOEXEC);
    prctl(PR_SET_NAME, "run-guard"); /* `pkill -9 lpo` means lpo, and leaves us our work */
    lpo_run_signals_ending(&set);
    sigaddset(&set, SIGCHLD);
    sigaddset(&set, SIGUSR1);
    sigprocmask(SIG_BLOCK, &set, NULL);
    if (!follow(parent))
        return 1; /* lpo died before the signal was set; its pid is our first argument */
    lpo_run_cgroup_hold(&cgroup, path);
    keeper = fork();
    if (keeper == 0)
        return keep(&set, self, path, argv);
    if (keeper < 0) {
        int why = errno;
        ssize_t ignored = write(STATUS_FD, &why, sizeof why);

        (void)ignored;
        return 127;
    }
    close(STATUS_FD);
    return watch(&set, keeper, 0, &cgroup);
}
