/* SPDX-License-Identifier: Apache-2.0 */
/* The command of lpo that answers a call, in a process of its own. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/mcp/private.h"
#include "util/path.h"

extern char **environ;

/* The report of a large job has some 30 MB; nobody can use more. */
enum { MOST_PRINTED = 256 << 20, MOST_SAID = 64 << 10 };

int lpo_cli_mcp_child_start(struct mcp_child *c, const struct mcp_plan *p, struct lpo_err *err)
{
    const char *self = lpo_path_program(p->arena);
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t ignored;
    LPO_VEC(char *) argv = { 0 };
    int out[2], said[2], rc;

    if (!self)
        return lpo_fail(err, LPO_E_MISSING, "cannot find the path of the program lpo");
    if (pipe2(out, O_CLOEXEC) < 0)
        return lpo_fail_errno(err, "cannot make a pipe");
    if (pipe2(said, O_CLOEXEC) < 0) {
        close(out[0]);
        close(out[1]);
        return lpo_fail_errno(err, "cannot make a pipe");
    }
    lpo_vec_push(&argv, (char *)(uintptr_t)self);
    for (size_t i = 0; i < p->words.len; i++)
        lpo_vec_push(&argv, (char *)(uintptr_t)p->words.at[i]);
    lpo_vec_push(&argv, NULL);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, out[1], 1);
    posix_spawn_file_actions_adddup2(&actions, said[1], 2);
    posix_spawnattr_init(&attributes);
    sigemptyset(&ignored);
    sigaddset(&ignored, SIGPIPE);
    posix_spawnattr_setsigdefault(&attributes, &ignored);
    /* in a group of its own, to be killed with what it starts */
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF);
    rc = posix_spawn(&c->pid, self, &actions, &attributes, argv.at, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    lpo_vec_free(&argv);
    close(out[1]);
    close(said[1]);
    c->out = out[0];
    c->err = said[0];
    c->too_long = false;
    lpo_str_clear(&c->printed);
    lpo_str_clear(&c->said);
    if (rc == 0)
        return 0;
    c->pid = -1;
    close(c->out);
    close(c->err);
    c->out = c->err = -1;
    errno = rc;
    return lpo_fail_errno(err, "cannot start %s", self);
}

void lpo_cli_mcp_child_read(struct mcp_child *c, int *fd, struct lpo_str *into)
{
    size_t most = into == &c->printed ? MOST_PRINTED : MOST_SAID;
    ssize_t n = read(*fd, lpo_str_room(into, 1 << 16), 1 << 16);

    if (n > 0 && into->len + (size_t)n > most)
        c->too_long |= into == &c->printed; /* it is read on, so that the child ends */
    else if (n > 0)
        into->len += (size_t)n;
    if (n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN)) {
        close(*fd);
        *fd = -1;
    }
}

int lpo_cli_mcp_child_end(struct mcp_child *c)
{
    int status = 0;
    pid_t ended;

    if (c->out >= 0)
        close(c->out);
    if (c->err >= 0)
        close(c->err);
    c->out = c->err = -1;
    do
        ended = waitpid(c->pid, &status, 0);
    while (ended < 0 && errno == EINTR);
    c->pid = -1;
    if (ended < 0)
        return 0; /* somebody else's SIGCHLD was ignored: what was printed decides */
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

void lpo_cli_mcp_child_kill(struct mcp_child *c)
{
    if (c->pid > 0)
        kill(-c->pid, SIGKILL);
}
