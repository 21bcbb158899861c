/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/view/request.h"

#include <strings.h>

#define KEY(word) word, sizeof(word) - 1

static bool begins(const char *at, const char *end, const char *word, size_t len)
{
    return (size_t)(end - at) >= len && memcmp(at, word, len) == 0;
}

/* Another page can make a browser come here under a name of its own (DNS rebinding): then the name
 * stands in Host. The port may be another one: that of a tunnel. */
static bool is_local(const char *host, size_t len)
{
    static const char *const names[] = { "localhost", "127.0.0.1", "[::1]" };

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t n = strlen(names[i]);

        if (len < n || strncasecmp(host, names[i], n) != 0 || (len > n && host[n] != ':'))
            continue;
        for (n = len > n ? n + 1 : n; n < len && host[n] >= '0' && host[n] <= '9'; n++)
            ;
        return n == len;
    }
    return false;
}

/* "GET /path?query HTTP/1.1" */
static int read_line(const char *at, const char *end, struct lpo_view_request *out)
{
    const char *space, *mark;

    if (!begins(at, end, KEY("GET ")))
        return memchr(at, ' ', (size_t)(end - at)) ? 405 : 400;
    at += 4;
    space = memchr(at, ' ', (size_t)(end - at));
    if (!space || *at != '/')
        return 400;
    if (!begins(space, end, KEY(" HTTP/1.")) || end - space != 9)
        return 505;
    mark = memchr(at, '?', (size_t)(space - at));
    out->path = at + 1;
    out->path_len = (size_t)((mark ? mark : space) - out->path);
    out->query = mark ? mark + 1 : space;
    out->query_len = (size_t)(space - out->query);
    return 200;
}

/* "Name: value"; *hosts counts those that say where the request goes. */
static int read_field(const char *at, const char *end, int *hosts)
{
    const char *colon = memchr(at, ':', (size_t)(end - at));

    if (!colon || colon == at || *at == ' ' || *at == '\t')
        return 400;
    if (colon - at != 4 || strncasecmp(at, "host", 4) != 0)
        return 200;
    for (at = colon + 1; at < end && (*at == ' ' || *at == '\t'); at++)
        ;
    while (end > at && (end[-1] == ' ' || end[-1] == '\t'))
        end--;
    (*hosts)++;
    return is_local(at, (size_t)(end - at)) ? 200 : 403;
}

int lpo_cli_view_request_read(const char *bytes, size_t len, struct lpo_view_request *out)
{
    const char *at = bytes, *stop = memmem(bytes, len, "\r\n\r\n", 4), *end;
    int hosts = 0, status;

    if (!stop || stop - bytes > LPO_VIEW_MOST_HEAD)
        return len > LPO_VIEW_MOST_HEAD ? 431 : 0;
    end = memmem(at, (size_t)(stop - at) + 2, "\r\n", 2);
    status = read_line(at, end, out);
    while (status == 200 && end < stop) {
        at = end + 2;
        end = memmem(at, (size_t)(stop - at) + 2, "\r\n", 2);
        status = read_field(at, end, &hosts);
    }
    return status == 200 && hosts != 1 ? 400 : status;
}

bool lpo_cli_view_request_number(const struct lpo_view_request *r, const char *key, int64_t *out)
{
    const char *at = r->query, *stop = r->query + r->query_len;
    size_t n = strlen(key);

    while (at < stop) {
        const char *end = memchr(at, '&', (size_t)(stop - at));
        bool minus, digits = false;

        end = end ? end : stop;
        if (!begins(at, end, key, n) || end - at == (ptrdiff_t)n || at[n] != '=') {
            at = end + 1;
            continue;
        }
        at += n + 1;
        minus = at < end && *at == '-';
        *out = 0;
        for (at += minus; at < end && *at >= '0' && *at <= '9'; at++, digits = true)
            if (__builtin_mul_overflow(*out, 10, out) ||
                __builtin_sub_overflow(*out, *at - '0', out))
                return false;
        return at == end && digits && (minus || !__builtin_sub_overflow(0, *out, out));
    }
    return false;
}
