/* SPDX-License-Identifier: Apache-2.0 */
/* server/wire.h - HTTP/1.1 as toy_server and toy_client speak it: one request a connection.
 *
 * Everything is bounded: a head, a body, and what waits to be sent. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "util/str.h"

enum { WIRE_HEAD = 16 << 10, WIRE_BODY = 1 << 20, WIRE_OUT = 4 << 20 };

/* A message that comes in, gathered until it is whole. */
struct wire_message {
    struct lpo_str bytes;
    size_t head;    /* bytes of the head with its empty line; 0: not whole yet */
    size_t body;    /* bytes of the body as the head says; SIZE_MAX: until the end, or chunked */
    bool too_large; /* beyond a limit above, or no HTTP: the connection is of no use any more */
};

/* A listening socket that does not block; -1 with errno. */
int wire_listen(const char *host, const char *port);
/* A connected socket that does not block; -1 with errno. */
int wire_connect(const char *host, const char *port);

/* Reads what is there. 1: more may come; 0: the other side has closed; -1: it broke. */
int wire_read(int fd, struct wire_message *m);
bool wire_whole(const struct wire_message *m); /* a request: head and body are here */
/* "POST /generate" as method and path, which are cut out of the head. False: it is neither. */
bool wire_request(struct wire_message *m, const char **method, const char **path);
/* The body of a whole request. */
const char *wire_body(const struct wire_message *m);

/* Sends what waits, as far as it goes. False: the connection broke. */
bool wire_flush(int fd, struct lpo_str *out);
/* A whole answer. */
void wire_answer(struct lpo_str *out, int status, const char *type, const char *body);
