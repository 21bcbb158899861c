/* SPDX-License-Identifier: Apache-2.0 */
#include "server/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

static int prepared(int fd)
{
    int on = 1;

    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on); /* a token at a time */
    fcntl(fd, F_SETFL, O_NONBLOCK);
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    return fd;
}

static int open_any(const char *host, const char *port, bool listening)
{
    struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *all = NULL;
    int fd = -1, why = EADDRNOTAVAIL, on = 1;

    if (getaddrinfo(host, port, &hints, &all) != 0) {
        errno = EADDRNOTAVAIL;
        return -1;
    }
    for (struct addrinfo *a = all; a && fd < 0; a = a->ai_next) {
        fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (fd >= 0 && listening)
            setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
        if (fd >= 0 && (listening ? bind(fd, a->ai_addr, a->ai_addrlen) == 0 && listen(fd, 64) == 0
                                  : connect(fd, a->ai_addr, a->ai_addrlen) == 0))
            break;
        why = errno;
        if (fd >= 0)
            close(fd);
        fd = -1;
    }
    freeaddrinfo(all);
    errno = why;
    return fd < 0 ? -1 : prepared(fd);
}

int wire_listen(const char *host, const char *port)
{
    return open_any(host, port, true);
}

int wire_connect(const char *host, const char *port)
{
    return open_any(host, port, false);
}

/* Content-Length of the head; 0 where it is not said, SIZE_MAX where it makes no sense. */
static size_t content_length(const char *head, size_t len)
{
    static const char name[] = "content-length:";
    const char *end = head + len;

    for (const char *line = head; line < end;) {
        const char *next = memchr(line, '\n', (size_t)(end - line));

        if ((size_t)(end - line) > sizeof name && strncasecmp(line, name, sizeof name - 1) == 0) {
            const char *digits = line + sizeof name - 1;
            char *stop;
            unsigned long long v;

            digits += strspn(digits, " \t");
            errno = 0;
            v = strtoull(digits, &stop, 10);
            return *digits < '0' || *digits > '9' || errno || v > WIRE_BODY ? SIZE_MAX : (size_t)v;
        }
        line = next ? next + 1 : end;
    }
    return 0;
}

static void look_for_head(struct wire_message *m)
{
    const char *end = m->bytes.len ? strstr(m->bytes.at, "\r\n\r\n") : NULL;

    if (!end) {
        m->too_large = m->bytes.len > WIRE_HEAD;
        return;
    }
    m->head = (size_t)(end - m->bytes.at) + 4;
    m->body = content_length(m->bytes.at, m->head);
    m->too_large = m->head > WIRE_HEAD || m->body == SIZE_MAX;
}

int wire_read(int fd, struct wire_message *m)
{
    char bytes[16384];
    ssize_t n = recv(fd, bytes, sizeof bytes, 0);

    if (n < 0)
        return errno == EAGAIN || errno == EINTR ? 1 : -1;
    if (n == 0)
        return 0;
    if (m->bytes.len + (size_t)n > (size_t)WIRE_HEAD + WIRE_BODY) {
        m->too_large = true;
        return -1;
    }
    lpo_str_addn(&m->bytes, bytes, (size_t)n);
    if (!m->head)
        look_for_head(m);
    return 1;
}

bool wire_whole(const struct wire_message *m)
{
    return m->head && !m->too_large && m->bytes.len >= m->head + m->body;
}

bool wire_request(struct wire_message *m, const char **method, const char **path)
{
    char *at = m->bytes.at, *blank = strchr(at, ' '),
         *second = blank ? strchr(blank + 1, ' ') : NULL;

    if (!second || second > at + m->head || !lpo_str_starts(second + 1, "HTTP/1."))
        return false;
    *blank = *second = '\0';
    *method = at;
    *path = blank + 1;
    return true;
}

const char *wire_body(const struct wire_message *m)
{
    return m->bytes.at + m->head;
}

bool wire_flush(int fd, struct lpo_str *out)
{
    size_t sent = 0;

    while (sent < out->len) {
        ssize_t n = send(fd, out->at + sent, out->len - sent, MSG_NOSIGNAL);

        if (n < 0 && errno != EAGAIN && errno != EINTR)
            return false;
        if (n < 0)
            break;
        sent += (size_t)n;
    }
    if (sent) {
        memmove(out->at, out->at + sent, out->len - sent);
        out->len -= sent;
    }
    return true;
}

void wire_answer(struct lpo_str *out, int status, const char *type, const char *body)
{
    const char *reason = status == 200 ? "OK" : status == 404 ? "Not Found" : "Bad Request";

    lpo_str_addf(out,
                 "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n"
                 "Connection: close\r\n\r\n%s",
                 status, reason, type, strlen(body), body);
}
