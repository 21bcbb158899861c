/* SPDX-License-Identifier: Apache-2.0 */
/* Sockets: one thread, an answer a connection. Whoever is on this machine can come to the port, so
 * the address has a secret in it; browsers of other machines cannot come here at all. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cli/app.h"
#include "cli/screen.h"
#include "cli/view/request.h"
#include "cli/view/view.h"
#include "run/clock.h"

enum { USUAL_PORT = 8765, MOST_CONNECTIONS = 32, TICK_MS = 500, SECRET_BYTES = 16 };
static const int64_t patience_ns = 10000000000; /* for a head, for the next piece of an answer */
static const int64_t last_ns = 10000000000;     /* for a browser that comes for the last page */

struct connection {
    int fd; /* -1: none */
    int64_t until_ns;
    char head[LPO_VIEW_MOST_HEAD + 512];
    size_t got;
    struct lpo_str out; /* empty: the head has not come yet */
    size_t sent;
};

struct server {
    struct lpo_view_page *page;
    int fd;
    char secret[2 * SECRET_BYTES + 1];
    struct connection all[MOST_CONNECTIONS];
};

static void hang_up(struct connection *c)
{
    close(c->fd);
    lpo_str_free(&c->out);
    c->fd = -1;
}

static const char *reason_of(int status)
{
    static const struct {
        int status;
        const char *reason;
    } reasons[] = {
        { 200, "OK" },
        { 400, "Bad Request" },
        { 403, "Forbidden" },
        { 404, "Not Found" },
        { 405, "Method Not Allowed" },
        { 431, "Request Header Fields Too Large" },
        { 505, "HTTP Version Not Supported" },
    };
    size_t i = 0;

    while (reasons[i].status != status)
        i++;
    return reasons[i].reason;
}

/* Nothing is allowed to others: no CORS, no frames, no guessed types, nothing kept. */
static void put_answer(struct connection *c, int status, const char *type,
                       const struct lpo_str *body)
{
    lpo_str_addf(&c->out,
                 "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n%s"
                 "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"
                 "Content-Security-Policy: frame-ancestors 'none'\r\n"
                 "Cross-Origin-Resource-Policy: same-origin\r\nReferrer-Policy: no-referrer\r\n"
                 "Connection: close\r\n\r\n",
                 status, reason_of(status), type, body->len, status == 405 ? "Allow: GET\r\n" : "");
    lpo_str_addn(&c->out, lpo_str_text(body), body->len);
}

/* What stands behind "/SECRET/"; NULL: the secret is another one. All of it is compared, so that
 * time says nothing about a part of it. */
static const char *behind_secret(const struct server *s, const struct lpo_view_request *r)
{
    size_t n = sizeof s->secret - 1;
    unsigned char differs = 0;

    if (r->path_len <= n || r->path[n] != '/')
        return NULL;
    for (size_t i = 0; i < n; i++)
        differs |= (unsigned char)(r->path[i] ^ s->secret[i]);
    return differs ? NULL : r->path + n + 1;
}

static void answer(struct server *s, struct connection *c)
{
    struct lpo_view_request r;
    int status = lpo_cli_view_request_read(c->head, c->got, &r);
    const char *type = "text/plain; charset=utf-8", *name;
    LPO_STR body = { 0 };

    if (!status)
        return;
    if (status == 200) {
        name = behind_secret(s, &r);
        status = name ? lpo_cli_view_page_answer(s->page, &r, name,
                                                 (size_t)(r.path + r.path_len - name), &type, &body)
                      : 404;
    }
    if (status != 200) {
        lpo_str_clear(&body);
        type = "text/plain; charset=utf-8";
        lpo_str_addf(&body, "%d %s\n", status, reason_of(status));
    }
    put_answer(c, status, type, &body);
}

static void receive(struct server *s, struct connection *c)
{
    ssize_t n = read(c->fd, c->head + c->got, sizeof c->head - c->got);

    if (n <= 0) {
        if (n == 0 || (errno != EAGAIN && errno != EINTR))
            hang_up(c);
        return;
    }
    c->got += (size_t)n;
    answer(s, c);
}

/* After the last byte only this side is closed: what a client still sends must not make the kernel
 * throw the answer away. */
static void give(struct connection *c)
{
    ssize_t n = send(c->fd, c->out.at + c->sent, c->out.len - c->sent, MSG_NOSIGNAL);

    if (n < 0 && errno != EAGAIN && errno != EINTR) {
        hang_up(c);
        return;
    }
    if (n > 0) {
        c->sent += (size_t)n;
        c->until_ns = lpo_run_clock_ns() + patience_ns;
    }
    if (c->sent == c->out.len)
        shutdown(c->fd, SHUT_WR);
}

static void drain(struct connection *c)
{
    char rest[4096];
    ssize_t n = read(c->fd, rest, sizeof rest);

    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
        hang_up(c);
}

static void welcome(struct server *s)
{
    int fd = accept4(s->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    struct connection *c = s->all;

    while (c < s->all + MOST_CONNECTIONS && c->fd >= 0)
        c++;
    if (fd < 0 || c == s->all + MOST_CONNECTIONS) {
        if (fd >= 0)
            close(fd);
        return;
    }
    *c = (struct connection){ .fd = fd, .until_ns = lpo_run_clock_ns() + patience_ns };
}

static void step(struct server *s, struct connection *c)
{
    if (!c->out.len)
        receive(s, c);
    else if (c->sent < c->out.len)
        give(c);
    else
        drain(c);
}

static void serve_ready(struct server *s)
{
    struct pollfd p[MOST_CONNECTIONS + 1] = { { s->fd, POLLIN, 0 } };

    for (int i = 0; i < MOST_CONNECTIONS; i++) {
        const struct connection *c = &s->all[i];

        p[i + 1] = (struct pollfd){ c->fd, c->sent < c->out.len ? POLLOUT : POLLIN, 0 };
    }
    if (poll(p, MOST_CONNECTIONS + 1, TICK_MS) < 0)
        return;
    for (int i = 0; i < MOST_CONNECTIONS; i++) {
        struct connection *c = &s->all[i];

        if (c->fd >= 0 && p[i + 1].revents)
            step(s, c);
        if (c->fd >= 0 && lpo_run_clock_ns() > c->until_ns)
            hang_up(c); /* silent, or has got everything and does not go */
    }
    if (p[0].revents)
        welcome(s);
}

/* A run that was followed has ended, and its last page went out or nobody came for it. */
static bool is_over(const struct server *s, int64_t *ended_ns)
{
    bool any = false;

    if (!s->page->followed || s->page->dir)
        return false;
    *ended_ns = *ended_ns ? *ended_ns : lpo_run_clock_ns();
    for (int i = 0; i < MOST_CONNECTIONS; i++)
        any |= s->all[i].fd >= 0;
    return (s->page->delivered && !any) || lpo_run_clock_ns() - *ended_ns > last_ns;
}

static int listen_at(int port, struct lpo_err *err)
{
    struct sockaddr_in at = { .sin_family = AF_INET,
                              .sin_port = htons((uint16_t)(port < 0 ? USUAL_PORT : port)),
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), yes = 1;

    if (fd < 0)
        return lpo_fail_errno(err, "cannot make a socket");
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (bind(fd, (struct sockaddr *)&at, sizeof at) == 0 && listen(fd, MOST_CONNECTIONS) == 0)
        return fd;
    if (port < 0 && errno == EADDRINUSE) {
        close(fd);
        return listen_at(0, err);
    }
    lpo_fail_errno(err, "cannot listen at port %d of this machine; --port N takes another",
                   ntohs(at.sin_port));
    close(fd);
    return err->code;
}

static int make_secret(struct server *s, struct lpo_err *err)
{
    unsigned char bytes[SECRET_BYTES];

    if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes)
        return lpo_fail_errno(err, "no random numbers for the address");
    for (int i = 0; i < SECRET_BYTES; i++)
        snprintf(s->secret + 2 * i, 3, "%02x", bytes[i]);
    return 0;
}

/* One line for programs, the rest for people. */
static void say_where(const struct server *s, bool open)
{
    struct lpo_app *app = s->page->app;
    struct sockaddr_in at = { 0 };
    socklen_t len = sizeof at;
    char url[128];

    getsockname(s->fd, (struct sockaddr *)&at, &len);
    snprintf(url, sizeof url, "http://127.0.0.1:%d/%s/", ntohs(at.sin_port), s->secret);
    fprintf(app->out, "%s\n", url);
    fflush(app->out);
    fprintf(app->log,
            "lpo view: from another machine: ssh -L %d:127.0.0.1:%d HOST, then the same address; "
            "%s\n",
            ntohs(at.sin_port), ntohs(at.sin_port),
            s->page->followed ? "it ends with the run" : "Ctrl-C ends it");
    if (open)
        lpo_cli_open_address(app, url);
}

int lpo_cli_view_serve(struct lpo_view_page *p, int port, bool open, struct lpo_err *err)
{
    struct server s = { .page = p, .fd = listen_at(port, err) };
    int64_t ended_ns = 0;

    for (int i = 0; i < MOST_CONNECTIONS; i++)
        s.all[i].fd = -1;
    if (s.fd < 0 || make_secret(&s, err) < 0)
        return err->code;
    for (say_where(&s, open); !is_over(&s, &ended_ns); lpo_cli_view_page_follow(p))
        serve_ready(&s);
    for (int i = 0; i < MOST_CONNECTIONS; i++)
        if (s.all[i].fd >= 0)
            hang_up(&s.all[i]);
    close(s.fd);
    return 0;
}
