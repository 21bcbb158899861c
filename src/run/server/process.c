/* SPDX-License-Identifier: Apache-2.0 */
#include "run/server/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "run/child/stream.h"
#include "run/clock.h"
#include "run/step.h"
#include "util/err.h"
#include "util/pattern.h"
#include "util/str.h"

extern char **environ;

/* A process that the kernel holds on to, or that is another's zombie, is left to who comes after
 * us. */
static const int64_t give_up_ns = 3000000000;

/* What makes a program load a collector or a profiler of lpo. A client is not what is studied, and
 * its own ranges and kernels would be counted as the server's. */
static void leave_profilers_out(void)
{
    static const char *const names[] = { "NVTX_INJECTION64_PATH", "CUDA_INJECTION64_PATH",
                                         "LPO_TORCH_PROFILE" };

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        unsetenv(names[i]);
    for (char **e = environ; e && *e;) {
        char name[80] = "";
        size_t len = strcspn(*e, "=");

        if ((lpo_str_starts(*e, "LPO_COLLECT_") || lpo_str_starts(*e, "LPO_SERVER_WINDOW_")) &&
            len < sizeof name) {
            memcpy(name, *e, len);
            unsetenv(name); /* moves the ones behind it to here */
        } else {
            e++;
        }
    }
}

/* In the new process; returns only where exec failed. */
static void become(const struct lpo_words *words, const int *pipes, bool apart, pid_t parent)
{
    sigset_t none;

    setpgid(0, 0);
    for (int sig = 1; sig < NSIG; sig++)
        signal(sig, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    if (pipes) {
        dup2(pipes[0], 1);
        dup2(pipes[1], 2);
    }
    if (apart)
        leave_profilers_out();
    execvp(words->at[0], (char *const *)words->at);
}

static void output_open(struct lpo_server_output *o, int fd, int to)
{
    *o = (struct lpo_server_output){ .fd = fd, .to = to };
    fcntl(fd, F_SETFL, O_NONBLOCK);
}

static int fork_it(struct lpo_server_process *p, const struct lpo_words *words, const int *pipes,
                   bool apart, struct lpo_err *err)
{
    pid_t parent = getpid();
    int status[2], why = 0;

    if (pipe2(status, O_CLOEXEC) < 0)
        return lpo_fail_errno(err, "cannot make a pipe");
    p->pid = fork();
    if (p->pid == 0) {
        become(words, pipes, apart, parent);
        why = errno;
        if (write(status[1], &why, sizeof why) < 0)
            _exit(126);
        _exit(127);
    }
    close(status[1]);
    if (p->pid < 0) {
        p->pid = 0;
        close(status[0]);
        return lpo_fail_errno(err, "cannot start '%s'", words->at[0]);
    }
    setpgid(p->pid, p->pid); /* both sides: neither must be first */
    if (read(status[0], &why, sizeof why) == (ssize_t)sizeof why) {
        close(status[0]);
        waitpid(p->pid, NULL, 0);
        p->pid = 0;
        return lpo_fail(err, LPO_E_CHILD, "cannot start '%s': %s", words->at[0], strerror(why));
    }
    close(status[0]);
    return 0;
}

int lpo_run_server_process_start(struct lpo_server_process *p, const struct lpo_words *words,
                                 bool watched, bool apart, struct lpo_err *err)
{
    int out[2], errs[2], rc;

    *p = (struct lpo_server_process){ .out.fd = -1, .err.fd = -1 };
    if (!watched)
        return fork_it(p, words, NULL, apart, err);
    rc = lpo_run_stream_pipes(out, errs, err);
    if (rc < 0)
        return rc;
    rc = fork_it(p, words, (const int[]){ out[1], errs[1] }, apart, err);
    close(out[1]);
    close(errs[1]);
    output_open(&p->out, out[0], STDOUT_FILENO);
    output_open(&p->err, errs[0], STDERR_FILENO);
    return rc;
}

static void write_all(int fd, const char *at, size_t len)
{
    while (len) {
        ssize_t n = write(fd, at, len);

        if (n < 0 && errno != EINTR)
            return; /* who reads it has gone: the server goes on all the same */
        at += n > 0 ? n : 0;
        len -= n > 0 ? (size_t)n : 0;
    }
}

static bool end_line(struct lpo_server_output *o, struct lpo_pattern *pattern)
{
    size_t len = o->len, kept;

    o->len = 0;
    while (len && (o->line[len - 1] == '\r' || o->line[len - 1] == ' '))
        len--;
    if (!len)
        return false;
    kept = len < sizeof o->last - 1 ? len : sizeof o->last - 1;
    for (size_t i = 0; i < kept; i++)
        o->last[i] = (unsigned char)o->line[i] < ' ' ? ' ' : o->line[i];
    o->last[kept] = '\0';
    return pattern && lpo_pattern_matches(pattern, o->line, len);
}

bool lpo_run_server_output_pump(struct lpo_server_output *o, struct lpo_pattern *pattern)
{
    char bytes[65536];
    bool matched = false;
    ssize_t n;

    if (o->fd < 0)
        return false;
    n = read(o->fd, bytes, sizeof bytes);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (n <= 0) {
        matched = end_line(o, pattern);
        lpo_run_server_output_close(o);
        return matched;
    }
    write_all(o->to, bytes, (size_t)n);
    for (ssize_t i = 0; i < n; i++) {
        if (bytes[i] == '\n')
            matched |= end_line(o, pattern);
        else if (o->len < sizeof o->line)
            o->line[o->len++] = bytes[i];
    }
    return matched;
}

void lpo_run_server_output_close(struct lpo_server_output *o)
{
    if (o->fd >= 0)
        close(o->fd);
    o->fd = -1;
}

void lpo_run_server_process_reap(struct lpo_server_process *const *all, size_t count)
{
    int status;
    pid_t pid;

    while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
        for (size_t i = 0; i < count; i++)
            if (all[i]->pid == pid) {
                all[i]->ended = true;
                all[i]->status = status;
            }
    for (size_t i = 0; pid < 0 && errno == ECHILD && i < count; i++)
        all[i]->ended = all[i]->ended || all[i]->pid;
}

bool lpo_run_server_process_lives(const struct lpo_server_process *p)
{
    if (p->asked == SIGKILL && lpo_run_clock_ns() - p->asked_ns > give_up_ns)
        return false;
    return p->pid && (!p->ended || kill(-p->pid, 0) == 0);
}

void lpo_run_server_process_end(struct lpo_server_process *p, int first, int64_t grace_ns)
{
    int64_t now = lpo_run_clock_ns();

    if (!p->pid || p->asked == SIGKILL || (p->asked && now - p->asked_ns < grace_ns))
        return;
    p->asked = !p->asked ? first : p->asked == SIGTERM ? SIGKILL : SIGTERM;
    p->asked_ns = now;
    kill(-p->pid, p->asked);
}

void lpo_run_server_process_describe(const struct lpo_server_process *p, struct lpo_str *out)
{
    if (WIFSIGNALED(p->status))
        lpo_str_addf(out, "killed by signal %d (%s)", WTERMSIG(p->status),
                     strsignal(WTERMSIG(p->status)));
    else
        lpo_str_addf(out, "exit code %d", WEXITSTATUS(p->status));
}
