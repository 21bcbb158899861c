/* SPDX-License-Identifier: Apache-2.0 */
#include "run/child/supervise.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "run/child/cgroup.h"
#include "run/child/interrupt.h"
#include "run/child/stream.h"
#include "run/clock.h"
#include "run/step.h"
#include "util/file.h"
#include "util/path.h"

enum { TICK_MS = 200, DRAIN_MS = 300 };

static const int64_t default_grace_ns = 5000000000;

/* A signal reaches the process, not a call: this is one of the few variables that outlive calls. */
static struct {
    int fd;
    bool interrupted;
    unsigned times; /* lpo_run_supervise_wait() */
    sigset_t before;
} signals = { .fd = -1 };

int lpo_run_supervise_begin(struct lpo_err *err)
{
    if (signals.fd >= 0)
        return 0;
    signals.fd = lpo_run_signals_open(0, &signals.before);
    if (signals.fd < 0)
        return lpo_fail_errno(err, "cannot watch for signals");
    /* Orphans of a child become ours instead of init's: else a daemon that a tool leaves behind
     * (nsys does) could not be found and ended. */
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    lpo_run_cgroup_sweep();
    signals.interrupted = false;
    signals.times = 0;
    return 0;
}

void lpo_run_supervise_end(void)
{
    if (signals.fd < 0)
        return;
    close(signals.fd);
    signals.fd = -1;
    sigprocmask(SIG_SETMASK, &signals.before, NULL);
}

bool lpo_run_supervise_active(void)
{
    return signals.fd >= 0;
}

bool lpo_run_supervise_interrupted(void)
{
    return signals.interrupted;
}

unsigned lpo_run_supervise_wait(int64_t ns)
{
    struct pollfd p = { .fd = signals.fd, .events = POLLIN };
    struct signalfd_siginfo info;

    if (poll(&p, 1, (int)(ns / 1000000)) > 0)
        while (read(signals.fd, &info, sizeof info) == (ssize_t)sizeof info)
            if (info.ssi_signo != SIGCHLD) {
                signals.interrupted = true;
                signals.times++;
            }
    return signals.times;
}

/* One running child. */
struct child {
    const struct lpo_step *step;
    const struct lpo_watch *watch;
    struct lpo_result *result;
    pid_t pid;
    struct lpo_stream out, err;
    struct lpo_cgroup cgroup;
    int status_fd;             /* the guard writes here why the program could not be started */
    int64_t started, deadline; /* monotonic; 0: none */
    int asked;                 /* how far the escalation went: 0, INT, TERM, KILL */
    int64_t next_escalation;
    enum lpo_end reason; /* why we asked it to end */
    bool ended;
    int status;
    struct rusage usage;
    int64_t ended_at;
};

/* lpo __guard PID CGROUP prog args…, or the bare program where there is no guard. */
static const char **make_argv(struct lpo_arena *a, const struct lpo_step *step, const char *guard,
                              const struct lpo_cgroup *cgroup)
{
    const char **argv = lpo_arena_array(a, step->argc + 5, sizeof *argv);
    size_t n = 0;

    if (guard) {
        argv[n++] = guard;
        argv[n++] = "__guard";
        argv[n++] = lpo_arena_printf(a, "%d", (int)getpid());
        argv[n++] = cgroup->path;
    }
    memcpy(argv + n, step->argv, step->argc * sizeof *argv);
    return argv;
}

static int spawn(struct lpo_arena *a, struct child *c, int out_fd, int err_fd, int status_fd)
{
    const char *guard = c->watch ? c->watch->self_path : NULL;
    const char **argv = make_argv(a, c->step, guard, &c->cgroup);
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attr;
    sigset_t none, all;
    int rc;

    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_init(&attr);
    /* A group of its own: Ctrl-C in the terminal reaches lpo alone, which then decides how the
     * program ends, and one kill() reaches all of its processes. */
    posix_spawnattr_setpgroup(&attr, 0);
    posix_spawnattr_setsigmask(&attr, &none);
    posix_spawnattr_setsigdefault(&attr, &all);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
                                        POSIX_SPAWN_SETSIGDEF);
    posix_spawn_file_actions_init(&files);
    if (!c->step->reads_input)
        posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files, out_fd, 1);
    posix_spawn_file_actions_adddup2(&files, err_fd, 2);
    posix_spawn_file_actions_adddup2(&files, status_fd, 3);
    posix_spawn_file_actions_addclosefrom_np(&files, guard ? 4 : 3);
    if (c->step->cwd)
        posix_spawn_file_actions_addchdir_np(&files, c->step->cwd);
    rc = posix_spawnp(&c->pid, argv[0], &files, &attr, (char *const *)argv,
                      lpo_run_environment(a, c->step->env, c->step->nenv));
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attr);
    return rc;
}

static void ask_to_end(struct child *c, int sig)
{
    int64_t grace = c->watch && c->watch->grace_ns ? c->watch->grace_ns : default_grace_ns;

    c->asked = sig;
    c->next_escalation = lpo_run_clock_ns() + grace;
    /* The whole group. KILL ends the guard too; its descendants then become our children, and
     * lpo_run_descendants_kill() finds them. */
    kill(-c->pid, sig);
}

static void escalate(struct child *c)
{
    if (!c->asked || lpo_run_clock_ns() < c->next_escalation)
        return;
    if (c->asked == SIGKILL) { /* the kernel does not let it go: a disk that hangs */
        c->ended = true;
        c->ended_at = lpo_run_clock_ns();
        c->status = SIGKILL;
        return;
    }
    ask_to_end(c, c->asked == SIGINT ? SIGTERM : SIGKILL);
}

static void take_signals(struct child *c)
{
    struct signalfd_siginfo info;

    while (read(signals.fd, &info, sizeof info) == (ssize_t)sizeof info) {
        int sig = (int)info.ssi_signo;

        if (sig == SIGCHLD)
            continue;
        if (c && !c->ended) {
            /* a second Ctrl-C means now */
            bool again = signals.interrupted && c->asked;

            c->reason = LPO_END_INTERRUPTED;
            ask_to_end(c, again ? SIGKILL : sig == SIGHUP ? SIGTERM : sig);
        }
        signals.interrupted = true;
    }
}

static void reap(struct child *c)
{
    pid_t pid = c->ended ? 0 : wait4(c->pid, &c->status, WNOHANG, &c->usage);

    if (pid == 0 || (pid < 0 && errno != ECHILD))
        return;
    if (pid < 0) /* somebody else took its status */
        c->status = 0xff00;
    c->ended = true;
    c->ended_at = lpo_run_clock_ns();
}

static void check_deadline(struct child *c)
{
    if (c->deadline && !c->asked && lpo_run_clock_ns() >= c->deadline) {
        c->reason = LPO_END_TIMEOUT;
        ask_to_end(c, SIGTERM);
    }
}

static void report_tick(struct child *c)
{
    const char *line = c->err.last_line[0] ? c->err.last_line : c->out.last_line;

    if (c->watch && c->watch->tick)
        c->watch->tick(c->watch->ctx, c->step, lpo_run_clock_ns() - c->started, line);
}

static bool streams_open(const struct child *c)
{
    return c->out.fd >= 0 || c->err.fd >= 0;
}

/* Until the program has ended and its pipes are drained. A grandchild may hold a pipe open for
 * ever: after the end we read a little longer, then close. */
static void watch_child(struct child *c)
{
    while (!c->ended || streams_open(c)) {
        struct pollfd fds[] = { { .fd = signals.fd, .events = POLLIN },
                                { .fd = c->out.fd, .events = POLLIN },
                                { .fd = c->err.fd, .events = POLLIN } };

        poll(fds, 3, c->ended ? 20 : TICK_MS);
        take_signals(c);
        if (fds[1].revents)
            lpo_run_stream_pump(&c->out);
        if (fds[2].revents)
            lpo_run_stream_pump(&c->err);
        reap(c);
        if (c->ended && lpo_run_clock_ns() - c->ended_at > (int64_t)DRAIN_MS * 1000000)
            break;
        if (!c->ended) {
            check_deadline(c);
            escalate(c);
        }
        report_tick(c);
    }
}

static int64_t timeval_ns(struct timeval t)
{
    return t.tv_sec * 1000000000ll + t.tv_usec * 1000ll;
}

static void fill_result(struct child *c)
{
    struct lpo_result *r = c->result;
    const char *line = c->err.last_line[0] ? c->err.last_line : c->out.last_line;
    int why;

    r->wall_ns = c->ended_at - c->started;
    r->user_ns = timeval_ns(c->usage.ru_utime);
    r->system_ns = timeval_ns(c->usage.ru_stime);
    r->peak_rss_bytes = (uint64_t)c->usage.ru_maxrss * 1024;
    r->stdout_bytes = c->out.bytes;
    r->stderr_bytes = c->err.bytes;
    r->lost_bytes = c->out.lost + c->err.lost;
    r->disk_errno = c->out.disk_errno ? c->out.disk_errno : c->err.disk_errno;
    snprintf(r->last_line, sizeof r->last_line, "%s", line);
    r->end = WIFSIGNALED(c->status) ? LPO_END_SIGNAL : LPO_END_EXIT;
    r->code = WIFSIGNALED(c->status) ? WTERMSIG(c->status) : WEXITSTATUS(c->status);
    if (c->asked)
        r->end = c->reason;
    if (read(c->status_fd, &why, sizeof why) == (ssize_t)sizeof why) {
        r->end = LPO_END_NOT_STARTED;
        r->code = why;
    }
}

static int not_started(struct lpo_result *r, int why)
{
    r->end = LPO_END_NOT_STARTED;
    r->code = why;
    return 0;
}

static int supervise(struct lpo_arena *a, struct child *c, struct lpo_err *err)
{
    int out[2], errs[2], status[2], rc;

    if (c->step->cwd && !lpo_path_is_dir(c->step->cwd))
        return not_started(c->result, ENOTDIR);
    rc = lpo_run_stream_pipes(out, errs, err);
    if (rc < 0)
        return rc;
    if (pipe2(status, O_CLOEXEC | O_NONBLOCK) < 0) {
        close(out[0]);
        close(out[1]);
        close(errs[0]);
        close(errs[1]);
        return lpo_fail_errno(err, "cannot make a pipe");
    }
    c->status_fd = status[0];
    lpo_run_stream_open(&c->out, out[0], c->step->stdout_path, c->step->output_limit);
    lpo_run_stream_open(&c->err, errs[0], c->step->stderr_path, c->step->output_limit);
    c->err.is_stderr = true;
    if (c->step->shown && c->watch && c->watch->output) {
        c->out.echo = c->err.echo = c->watch->output;
        c->out.echo_ctx = c->err.echo_ctx = c->watch->ctx;
    }
    c->started = lpo_run_clock_ns();
    c->deadline = c->step->timeout_ns ? c->started + c->step->timeout_ns : 0;
    c->result->started_ns = lpo_run_clock_unix_ns();
    if (c->watch && c->watch->self_path) /* the guard's child enters it */
        lpo_run_cgroup_make(&c->cgroup);
    c->result->cgroup = c->cgroup.path[0] != '\0';
    c->result->no_cgroup = c->cgroup.why;
    rc = spawn(a, c, out[1], errs[1], status[1]);
    close(out[1]);
    close(errs[1]);
    close(status[1]);
    if (rc == 0) {
        watch_child(c);
        if (c->watch && c->watch->ended)
            c->watch->ended(c->watch->ended_ctx);
        lpo_run_cgroup_kill(&c->cgroup);
        c->result->left_running = !lpo_run_descendants_kill(c->pid);
    }
    if (!lpo_run_cgroup_remove(&c->cgroup))
        c->result->left_running = true;
    lpo_run_stream_close(&c->out);
    lpo_run_stream_close(&c->err);
    if (rc == 0)
        fill_result(c);
    else
        not_started(c->result, rc);
    close(status[0]);
    return 0;
}

int lpo_run_supervise(const struct lpo_step *step, const struct lpo_watch *watch,
                      struct lpo_result *out, struct lpo_err *err)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    struct child c = { .step = step, .watch = watch, .result = out, .cgroup = { .fd = -1 } };
    int rc;

    *out = (struct lpo_result){ 0 };
    if (signals.fd < 0 && lpo_run_supervise_begin(err) < 0)
        return err->code;
    take_signals(NULL);
    if (signals.interrupted) {
        out->end = LPO_END_INTERRUPTED;
        return 0;
    }
    lpo_run_interrupt_hold();
    rc = supervise(a, &c, err);
    lpo_run_interrupt_release();
    return rc;
}

void lpo_run_result_describe(const struct lpo_result *r, const struct lpo_step *step,
                             struct lpo_str *out)
{
    switch (r->end) {
    case LPO_END_EXIT:
        lpo_str_addf(out, "exit code %d", r->code);
        break;
    case LPO_END_SIGNAL:
        lpo_str_addf(out, "killed by signal %d (%s)", r->code, strsignal(r->code));
        if (r->code == SIGKILL) /* we send INT and TERM first, so this one was not ours */
            lpo_str_add(out, ", as the kernel does when memory runs out");
        break;
    case LPO_END_TIMEOUT:
        lpo_str_addf(out, "time limit of %.4g s reached", (double)step->timeout_ns / 1e9);
        break;
    case LPO_END_INTERRUPTED:
        lpo_str_add(out, "interrupted");
        break;
    case LPO_END_NOT_STARTED:
        lpo_str_addf(out, "could not start '%s': %s", step->argv[0],
                     r->code == ENOTDIR && step->cwd ? "its working folder is not there"
                                                     : strerror(r->code));
        break;
    }
}

enum { ANSWER_BYTES = 65536 };

/* Helper programs go through the same supervision as stages. */
static int run(struct lpo_arena *a, const char *const *argv, int64_t timeout_ns, uint64_t limit,
               const char *path, struct lpo_err *err)
{
    struct lpo_steps steps = { .arena = a };
    struct lpo_step *step = lpo_run_steps_add(&steps, argv[0]);
    struct lpo_watch watch = { .self_path = lpo_run_guard_program(a) };
    struct lpo_result r;
    LPO_STR how = { 0 };

    lpo_run_step_args(a, step, argv);
    step->stdout_path = path;
    step->timeout_ns = timeout_ns;
    step->output_limit = limit;
    if (lpo_run_supervise(step, &watch, &r, err) < 0)
        return err ? err->code : LPO_E_CHILD;
    if (r.end == LPO_END_EXIT && r.code == 0)
        return 0;
    lpo_run_result_describe(&r, step, &how);
    if (r.end == LPO_END_EXIT && r.last_line[0]) /* its own words say more than the number */
        lpo_str_addf(&how, ": %s", r.last_line);
    return lpo_fail(err, LPO_E_CHILD, "%s: %s", argv[0], lpo_str_text(&how));
}

int lpo_run_capture_file(struct lpo_arena *a, const char *const *argv, int64_t timeout_ns,
                         uint64_t limit, const char **out, int *fd, struct lpo_err *err)
{
    bool ours = !lpo_run_supervise_active();
    char *name = NULL;
    int rc;

    *fd = lpo_file_scratch("capture", &name, err);
    if (*fd < 0)
        return err ? err->code : LPO_E_IO;
    /* From here on the file has no name, so nothing is left whatever ends us. Its descriptor still
     * has a path for those who want one. */
    unlink(name);
    free(name);
    *out = lpo_arena_printf(a, "/proc/self/fd/%d", *fd);
    rc = run(a, argv, timeout_ns, limit, *out, err);
    if (ours) /* a command that only asks keeps the signals it had, and the one that came */
        lpo_run_supervise_end();
    if (ours && lpo_run_supervise_interrupted())
        raise(SIGINT);
    if (rc < 0) {
        close(*fd);
        *fd = -1;
    }
    return rc;
}

int lpo_run_capture(const char *const *argv, int64_t timeout_ns, struct lpo_str *out,
                    struct lpo_err *err)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    LPO_AUTO(lpo_file_text) text = NULL;
    const char *path = NULL;
    int fd, rc = lpo_run_capture_file(a, argv, timeout_ns, ANSWER_BYTES, &path, &fd, err);

    if (rc < 0)
        return rc;
    rc = lpo_file_text_read(path, &text, err);
    close(fd);
    if (rc == 0)
        lpo_str_addn(out, text->at, text->len);
    return rc;
}
