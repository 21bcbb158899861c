/* SPDX-License-Identifier: Apache-2.0 */
/* run/server/http.h - one HTTP request at a time, as much as it takes to ask a server whether it is
 * ready.
 *
 * Nothing here waits: the caller polls the descriptor together with its others and calls
 * lpo_run_http_turn(). Of the answer only the status is read, at most LPO_HTTP_HEAD bytes. Plain
 * http alone: a server under study listens on this machine. */
#pragma once

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lpo_err;

enum { LPO_HTTP_HEAD = 4096, LPO_HTTP_URL = 2048 };

/* http://host[:port][/path] */
struct lpo_http_url {
    char host[256]; /* without the brackets of an IPv6 address */
    char port[8];   /* "80" where it is not said */
    char path[LPO_HTTP_URL];
};

/* LPO_E_CONFIG with what is wrong. */
int lpo_run_http_url_parse(const char *text, struct lpo_http_url *out, struct lpo_err *err);

enum lpo_http_state { LPO_HTTP_IDLE, LPO_HTTP_BUSY, LPO_HTTP_ANSWERED, LPO_HTTP_FAILED };

struct lpo_http {
    enum lpo_http_state state;
    int status;      /* of an answer: 200, 503 */
    const char *why; /* of a failure */
    int fd;
    int64_t deadline; /* monotonic */
    bool sent;
    unsigned tries; /* requests that this one and those before it were */
    size_t out_len, out_at, in_len;
    char out[LPO_HTTP_URL + 512], in[LPO_HTTP_HEAD];
};

/* Begins a request in `h`, which is { 0 } before the first; a failure to connect is a state, not an
 * error. `method` is GET or POST, which has an empty body. */
void lpo_run_http_start(struct lpo_http *h, const char *method, const struct lpo_http_url *url,
                        int64_t limit_ns);
/* What to poll for; fd -1: nothing. */
struct pollfd lpo_run_http_pollfd(const struct lpo_http *h);
/* After poll(): goes on as far as it can without waiting. */
void lpo_run_http_turn(struct lpo_http *h);
void lpo_run_http_close(struct lpo_http *h);

/* Does something accept connections there? Waits `limit_ns` at most. */
bool lpo_run_http_is_taken(const struct lpo_http_url *url, int64_t limit_ns);
