/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "run/child/stream.h"
#include "run/clock.h"
#include "run/server/server.h"
#include "util/pattern.h"

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

static int bad_url(const char *text, const char *what, struct lpo_err *err)
{
    return lpo_fail(err, LPO_E_CONFIG, "'%s' %s; write http://host:port/path", text, what);
}

/* A blank or a line break would end the request line and begin a header of its own. */
static bool is_plain(const char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text <= ' ' || *text == 0x7f)
            return false;
    return true;
}

static int take_port(const char *text, const char *at, size_t len, struct lpo_http_url *out,
                     struct lpo_err *err)
{
    if (len < 1 || len > 5)
        return bad_url(text, "has no port number after the colon", err);
    memcpy(out->port, at, len);
    out->port[len] = '\0';
    if (strspn(out->port, "0123456789") != len || atoi(out->port) < 1 || atoi(out->port) > 65535)
        return bad_url(text, "has a port that is not from 1 to 65535", err);
    return 0;
}

int lpo_run_http_url_parse(const char *text, struct lpo_http_url *out, struct lpo_err *err)
{
    const char *host, *end, *rest;
    bool bracket;

    if (!lpo_str_starts(text, "http://"))
        return bad_url(text, "is not plain http", err);
    if (strlen(text) >= LPO_HTTP_URL || !is_plain(text))
        return bad_url(text, "is too long, or has blanks", err);
    host = text + strlen("http://");
    bracket = *host == '[';
    host += bracket;
    end = host + strcspn(host, bracket ? "]" : ":/?#");
    rest = bracket && *end ? end + 1 : end;
    if (end == host || (size_t)(end - host) >= sizeof out->host || (bracket && !*end))
        return bad_url(text, "names no host", err);
    memcpy(out->host, host, (size_t)(end - host));
    out->host[end - host] = '\0';
    strcpy(out->port, "80");
    if (*rest == ':') {
        size_t len = strcspn(++rest, "/?#");

        if (take_port(text, rest, len, out, err) < 0)
            return err->code;
        rest += len;
    }
    if (*rest && *rest != '/')
        return bad_url(text, "has something other than a path after the host", err);
    snprintf(out->path, sizeof out->path, "%s", *rest ? rest : "/");
    return 0;
}

static void fail(struct lpo_http *h, const char *why)
{
    if (h->fd >= 0)
        close(h->fd);
    h->fd = -1;
    h->state = LPO_HTTP_FAILED;
    h->why = why;
}

/* A socket that is connecting; -1 with errno. */
static int connect_one(const struct addrinfo *a)
{
    int fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int why;

    if (fd < 0)
        return -1;
    if (connect(fd, a->ai_addr, a->ai_addrlen) == 0 || errno == EINPROGRESS)
        return fd;
    why = errno;
    close(fd);
    errno = why;
    return -1;
}

static struct addrinfo *look_up(const struct lpo_http_url *url, const char **why)
{
    struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *found = NULL;
    int rc = getaddrinfo(url->host, url->port, &hints, &found);

    if (rc != 0)
        *why = gai_strerror(rc);
    return rc == 0 ? found : NULL;
}

/* A name may have several addresses, and a server that listens on one of them: each try begins with
 * the next. */
static int connect_any(const struct addrinfo *found, unsigned tries)
{
    size_t count = 0;
    int fd = -1;

    for (const struct addrinfo *a = found; a; a = a->ai_next)
        count++;
    for (size_t i = 0; i < count && fd < 0; i++) {
        const struct addrinfo *a = found;

        for (size_t k = (tries + i) % count; k; k--)
            a = a->ai_next;
        fd = connect_one(a);
    }
    return fd;
}

void lpo_run_http_start(struct lpo_http *h, const char *method, const struct lpo_http_url *url,
                        int64_t limit_ns)
{
    struct addrinfo *found;
    int len;

    *h = (struct lpo_http){ .state = LPO_HTTP_BUSY, .fd = -1, .tries = h->tries + 1 };
    h->deadline = lpo_run_clock_ns() + limit_ns;
    found = look_up(url, &h->why);
    h->fd = connect_any(found, h->tries);
    if (h->fd < 0) {
        fail(h, h->why ? h->why : strerror(errno));
    } else {
        len = snprintf(h->out, sizeof h->out,
                       "%s %s HTTP/1.1\r\nHost: %s:%s\r\nUser-Agent: lpo\r\nAccept: */*\r\n"
                       "Connection: close\r\n%s\r\n",
                       method, url->path, url->host, url->port,
                       strcmp(method, "POST") == 0 ? "Content-Length: 0\r\n" : "");
        h->out_len = (size_t)len; /* fits: host and path are bounded */
    }
    if (found)
        freeaddrinfo(found);
}

struct pollfd lpo_run_http_pollfd(const struct lpo_http *h)
{
    struct pollfd p = { .fd = -1 };

    if (h->state == LPO_HTTP_BUSY) {
        p.fd = h->fd;
        p.events = h->sent ? POLLIN : POLLOUT;
    }
    return p;
}

static bool would_wait(void)
{
    return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR || errno == EINPROGRESS;
}

static void send_some(struct lpo_http *h)
{
    while (h->out_at < h->out_len) {
        ssize_t n = send(h->fd, h->out + h->out_at, h->out_len - h->out_at, MSG_NOSIGNAL);

        if (n < 0) {
            if (!would_wait() && errno != ENOTCONN)
                fail(h, strerror(errno));
            return;
        }
        h->out_at += (size_t)n;
    }
    h->sent = true;
}

/* "HTTP/1.1 200 OK" */
static void take_status(struct lpo_http *h)
{
    const char *at = h->in;

    if (!lpo_str_starts(at, "HTTP/1.") || !isdigit((unsigned char)at[7]) || at[8] != ' ' ||
        strspn(at + 9, "0123456789") != 3) {
        fail(h, "the server that answers there does not speak HTTP");
        return;
    }
    h->status = atoi(at + 9);
    close(h->fd);
    h->fd = -1;
    h->state = LPO_HTTP_ANSWERED;
}

static void receive_some(struct lpo_http *h)
{
    ssize_t n = recv(h->fd, h->in + h->in_len, sizeof h->in - 1 - h->in_len, 0);

    if (n < 0) {
        if (!would_wait())
            fail(h, strerror(errno));
        return;
    }
    h->in_len += (size_t)n;
    h->in[h->in_len] = '\0';
    if (strchr(h->in, '\n') || n == 0 || h->in_len == sizeof h->in - 1)
        take_status(h);
}

void lpo_run_http_turn(struct lpo_http *h)
{
    if (h->state == LPO_HTTP_BUSY && !h->sent)
        send_some(h);
    if (h->state == LPO_HTTP_BUSY && h->sent)
        receive_some(h);
    if (h->state == LPO_HTTP_BUSY && lpo_run_clock_ns() >= h->deadline)
        fail(h, "no answer in time");
}

void lpo_run_http_close(struct lpo_http *h)
{
    if (h->state == LPO_HTTP_BUSY && h->fd >= 0)
        close(h->fd);
    h->fd = -1;
    h->state = LPO_HTTP_IDLE;
}

bool lpo_run_http_is_taken(const struct lpo_http_url *url, int64_t limit_ns)
{
    const char *why = NULL;
    struct addrinfo *found = look_up(url, &why);
    bool taken = false;

    for (struct addrinfo *a = found; a && !taken; a = a->ai_next) {
        struct pollfd p = { .fd = connect_one(a), .events = POLLOUT };
        int problem = 0;
        socklen_t len = sizeof problem;

        if (p.fd < 0)
            continue;
        taken = poll(&p, 1, (int)(limit_ns / 1000000)) > 0 &&
                getsockopt(p.fd, SOL_SOCKET, SO_ERROR, &problem, &len) == 0 && problem == 0;
        close(p.fd);
    }
    if (found)
        freeaddrinfo(found);
    return taken;
}
