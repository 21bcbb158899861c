/* SPDX-License-Identifier: Apache-2.0 */
#include "../unit.h"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>

#include "run/server/server.h"
#include "util/err.h"

static const struct url_case {
    const char *name, *text;
    int code;
    const char *host, *port, *path;
} urls[] = {
    { "whole", "http://127.0.0.1:8000/health?x=1", 0, "127.0.0.1", "8000", "/health?x=1" },
    { "no path", "http://host:1", 0, "host", "1", "/" },
    { "no port", "http://host/a", 0, "host", "80", "/a" },
    { "an IPv6 address", "http://[::1]:65535/", 0, "::1", "65535", "/" },
    { "https is refused", "https://host/", LPO_E_CONFIG, NULL, NULL, NULL },
    { "no host is refused", "http://:80/", LPO_E_CONFIG, NULL, NULL, NULL },
    { "an open bracket is refused", "http://[::1", LPO_E_CONFIG, NULL, NULL, NULL },
    { "port 0 is refused", "http://host:0/", LPO_E_CONFIG, NULL, NULL, NULL },
    { "a large port is refused", "http://host:65536/", LPO_E_CONFIG, NULL, NULL, NULL },
    { "a port of letters is refused", "http://host:http/", LPO_E_CONFIG, NULL, NULL, NULL },
    { "no digits are refused", "http://host:/", LPO_E_CONFIG, NULL, NULL, NULL },
    { "a blank is refused", "http://host/a b", LPO_E_CONFIG, NULL, NULL, NULL },
    { "a line of its own is refused", "http://host/\r\nX: y", LPO_E_CONFIG, NULL, NULL, NULL },
    { "a question without a path is refused", "http://host?x", LPO_E_CONFIG, NULL, NULL, NULL },
};

static void check_url(void **state)
{
    const struct url_case *c = *state;
    struct lpo_http_url url;
    struct lpo_err err = { 0 };

    assert_int_equal(lpo_run_http_url_parse(c->text, &url, &err), c->code);
    if (c->code)
        return;
    assert_string_equal(url.host, c->host);
    assert_string_equal(url.port, c->port);
    assert_string_equal(url.path, c->path);
}

static void a_long_url_is_refused(void **state)
{
    char text[LPO_HTTP_URL + 10];
    struct lpo_http_url url;
    struct lpo_err err = { 0 };

    (void)state;
    memset(text, 'a', sizeof text);
    memcpy(text, "http://", 7);
    text[sizeof text - 1] = '\0';
    assert_int_equal(lpo_run_http_url_parse(text, &url, &err), LPO_E_CONFIG);
    text[300] = '/'; /* now the host alone is too long */
    text[400] = '\0';
    assert_int_equal(lpo_run_http_url_parse(text, &url, &err), LPO_E_CONFIG);
}

/* A listener, and the URL that leads to it. */
static int listen_somewhere(struct lpo_http_url *url)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t len = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(fd, 4), 0);
    getsockname(fd, (struct sockaddr *)&at, &len);
    *url = (struct lpo_http_url){ .host = "127.0.0.1", .path = "/health" };
    snprintf(url->port, sizeof url->port, "%d", ntohs(at.sin_port));
    return fd;
}

static void go_on(struct lpo_http *h, enum lpo_http_state until)
{
    for (int i = 0; i < 1000 && h->state != until && h->state != LPO_HTTP_FAILED; i++) {
        struct pollfd p = lpo_run_http_pollfd(h);

        poll(&p, 1, 20);
        lpo_run_http_turn(h);
    }
}

static const struct answer_case {
    const char *name, *text;
    enum lpo_http_state state;
    int status;
} answers[] = {
    { "ready", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", LPO_HTTP_ANSWERED, 200 },
    { "loading", "HTTP/1.0 503 Service Unavailable\r\n\r\n", LPO_HTTP_ANSWERED, 503 },
    { "no reason, no line end", "HTTP/1.1 204", LPO_HTTP_ANSWERED, 204 },
    { "not HTTP", "SSH-2.0-OpenSSH_9.2\r\n", LPO_HTTP_FAILED, 0 },
    { "no status", "HTTP/1.1 \r\n", LPO_HTTP_FAILED, 0 },
    { "a status of four digits", "HTTP/1.1 2000 OK\r\n", LPO_HTTP_FAILED, 0 },
    { "nothing", "", LPO_HTTP_FAILED, 0 },
};

static void check_answer(void **state)
{
    const struct answer_case *c = *state;
    struct lpo_http h = { .fd = -1 };
    struct lpo_http_url url;
    int listener = listen_somewhere(&url), fd;
    char request[1024] = "";

    lpo_run_http_start(&h, "GET", &url, 20000000000);
    fd = accept(listener, NULL, NULL);
    lpo_run_http_turn(&h);
    assert_true(recv(fd, request, sizeof request - 1, 0) > 0);
    assert_ptr_equal(strstr(request, "GET /health HTTP/1.1\r\nHost: 127.0.0.1:"), request);
    assert_non_null(strstr(request, "\r\n\r\n"));
    assert_int_equal(send(fd, c->text, strlen(c->text), 0), strlen(c->text));
    close(fd);
    go_on(&h, LPO_HTTP_ANSWERED);
    assert_int_equal(h.state, c->state);
    assert_int_equal(h.status, c->status);
    lpo_run_http_close(&h);
    close(listener);
}

/* More than the bound without a line end: what is there is looked at. */
static void a_long_answer_is_bounded(void **state)
{
    struct lpo_http h = { .fd = -1 };
    struct lpo_http_url url;
    int listener = listen_somewhere(&url), fd;
    char text[2 * LPO_HTTP_HEAD];

    (void)state;
    memset(text, 'x', sizeof text);
    lpo_run_http_start(&h, "POST", &url, 20000000000);
    fd = accept(listener, NULL, NULL);
    assert_int_equal(send(fd, text, sizeof text, 0), sizeof text);
    go_on(&h, LPO_HTTP_ANSWERED);
    assert_int_equal(h.state, LPO_HTTP_FAILED);
    close(fd);
    close(listener);
}

static void silence_ends_in_time(void **state)
{
    struct lpo_http h = { .fd = -1 };
    struct lpo_http_url url;
    int listener = listen_somewhere(&url);

    (void)state;
    lpo_run_http_start(&h, "GET", &url, 30000000);
    go_on(&h, LPO_HTTP_ANSWERED);
    assert_int_equal(h.state, LPO_HTTP_FAILED);
    assert_string_equal(h.why, "no answer in time");
    assert_true(lpo_run_http_is_taken(&url, 5000000000));
    close(listener);
    assert_false(lpo_run_http_is_taken(&url, 5000000000));
    lpo_run_http_start(&h, "GET", &url, 30000000);
    go_on(&h, LPO_HTTP_ANSWERED);
    assert_int_equal(h.state, LPO_HTTP_FAILED);
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_ROWS(&u, urls, check_url);
    UNIT_ROWS(&u, answers, check_answer);
    UNIT_TEST(&u, a_long_url_is_refused);
    UNIT_TEST(&u, a_long_answer_is_bounded);
    UNIT_TEST(&u, silence_ends_in_time);
    return unit_run(&u);
}
