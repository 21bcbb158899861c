/* SPDX-License-Identifier: Apache-2.0 */
/* toy_server - the toy model behind HTTP, with continuous batching.
 *
 *     GET  /health    200 as soon as the weights are made
 *     POST /generate  {"prompt": "text" or [token, …], "max_tokens": 16}
 *                     answered in chunks, a line "data: {"token": 17}" for each token as it is
 *                     made, and "data: [DONE]"
 *
 * One thread does all: between two steps of the batch it looks after the connections. SIGTERM and
 * SIGINT: no new request is taken, those under way are finished, exit code 0. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "nvtx_lite.h"
#include "server/batch.h"
#include "server/wire.h"
#include "toy/run.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/json.h"
#include "util/str.h"

enum {
    MOST_CONNECTIONS = 256,
    IDLE_MS = 30000, /* a connection that sends nothing */
    DRAIN_MS = 5000, /* after the signal */
};

enum state { FREE, READING, WAITING, RUNNING, CLOSING };

struct connection {
    enum state state;
    int fd;
    double since_ms;
    struct wire_message in;
    struct lpo_str out;
    int *prompt, count, answer;
};

struct server {
    struct toy_options o;
    struct toy_batch *batch;
    const char *host, *port;
    int listener, signals;
    double ending_ms; /* 0: it goes on */
    struct connection all[MOST_CONNECTIONS];
};

static void drop(struct server *s, struct connection *c)
{
    toy_batch_leave(s->batch, c);
    close(c->fd);
    lpo_str_free(&c->in.bytes);
    lpo_str_free(&c->out);
    free(c->prompt);
    *c = (struct connection){ .state = FREE, .fd = -1 };
}

static void refuse(struct connection *c, int status, const char *why)
{
    LPO_STR body = { 0 };

    lpo_str_add(&body, "{\"error\": ");
    lpo_str_addf(&body, "\"%s\"}\n", why);
    wire_answer(&c->out, status, "application/json", body.at);
    c->state = CLOSING;
}

/* --- requests ------------------------------------------------------------------------------- */

/* Text has no tokenizer here: its bytes are its tokens. */
static void take_prompt(struct server *s, struct connection *c, const struct lpo_json *prompt)
{
    const int vocab = s->o.model.vocab;
    const char *text = lpo_json_text(prompt, NULL);
    size_t n = text ? prompt->len : prompt && prompt->kind == LPO_JSON_ARRAY ? prompt->count : 0;
    size_t i = 0;

    if (n == 0 || n > (size_t)s->o.model.context)
        return;
    c->prompt = lpo_xcalloc(n, sizeof *c->prompt);
    c->count = (int)n;
    if (text) {
        for (; i < n; i++)
            c->prompt[i] = (unsigned char)text[i] % vocab;
        return;
    }
    LPO_JSON_EACH(token, prompt)
    {
        int64_t v = lpo_json_int(token, -1);

        c->prompt[i++] = v >= 0 && v < vocab ? (int)v : -1; /* -1 is refused with the rest */
    }
}

static void take_generate(struct server *s, struct connection *c)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    const struct lpo_json *body = NULL;
    struct lpo_err err = { 0 };
    int64_t answer;

    if (lpo_json_parse(a, wire_body(&c->in), c->in.body, &body, &err) < 0) {
        refuse(c, 400, "the body is not JSON");
        return;
    }
    take_prompt(s, c, lpo_json_get(body, "prompt"));
    answer = lpo_json_int(lpo_json_get(body, "max_tokens"), 16);
    c->answer = answer > 0 && answer < 1 << 20 ? (int)answer : 0;
    if (toy_batch_check(s->batch, c->prompt, c->count, c->answer, &err) < 0) {
        refuse(c, 400, "prompt and max_tokens do not fit, or a token is not in the vocabulary");
        return;
    }
    c->state = WAITING;
}

static void take_request(struct server *s, struct connection *c)
{
    const char *method, *path;

    if (!wire_request(&c->in, &method, &path))
        refuse(c, 400, "no HTTP/1 request");
    else if (strcmp(method, "GET") == 0 && strcmp(path, "/health") == 0) {
        wire_answer(&c->out, 200, "text/plain", "ok\n");
        c->state = CLOSING;
    } else if (strcmp(method, "POST") == 0 && strcmp(path, "/generate") == 0)
        take_generate(s, c);
    else
        refuse(c, 404, "no such page");
}

/* --- tokens --------------------------------------------------------------------------------- */

static void add_chunk(struct connection *c, const char *text)
{
    lpo_str_addf(&c->out, "%zx\r\n%s\r\n", strlen(text), text);
}

static void emit(void *owner, int token, bool last)
{
    struct connection *c = owner;
    char line[64];

    snprintf(line, sizeof line, "data: {\"token\": %d}\n\n", token);
    add_chunk(c, line);
    if (!last)
        return;
    add_chunk(c, "data: [DONE]\n\n");
    lpo_str_add(&c->out, "0\r\n\r\n");
    c->state = CLOSING;
}

/* In the order of the table, which is nearly that of their coming. */
static void join_waiting(struct server *s)
{
    for (int i = 0; i < MOST_CONNECTIONS; i++) {
        struct connection *c = &s->all[i];

        if (c->state != WAITING)
            continue;
        if (!toy_batch_join(s->batch, c->prompt, c->count, c->answer, c))
            return;
        c->state = RUNNING;
        lpo_str_add(&c->out, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
                             "Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n");
    }
}

/* --- connections ---------------------------------------------------------------------------- */

static void accept_some(struct server *s)
{
    for (int i = 0; i < MOST_CONNECTIONS; i++) {
        struct connection *c = &s->all[i];
        int fd;

        if (c->state != FREE)
            continue;
        fd = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0)
            return;
        *c = (struct connection){ .state = READING, .fd = fd, .since_ms = toy_now_ms() };
    }
}

static void serve(struct server *s, struct connection *c, short events)
{
    if (c->state == READING && events & (POLLIN | POLLHUP | POLLERR)) {
        if (wire_read(c->fd, &c->in) <= 0 || c->in.too_large) {
            drop(s, c);
            return;
        }
        if (wire_whole(&c->in))
            take_request(s, c);
    } else if (events & (POLLHUP | POLLERR)) {
        drop(s, c);
        return;
    }
    if (!wire_flush(c->fd, &c->out) || c->out.len > WIRE_OUT ||
        (c->state == CLOSING && c->out.len == 0) ||
        (c->state == READING && toy_now_ms() - c->since_ms > IDLE_MS))
        drop(s, c);
}

static void turn(struct server *s)
{
    struct pollfd fds[MOST_CONNECTIONS + 2];
    bool busy = toy_batch_active(s->batch) > 0;
    struct signalfd_siginfo info;

    for (int i = 0; i < MOST_CONNECTIONS; i++) {
        const struct connection *c = &s->all[i];

        fds[i] = (struct pollfd){ .fd = c->state == FREE ? -1 : c->fd };
        fds[i].events = (short)((c->state == READING ? POLLIN : 0) | (c->out.len ? POLLOUT : 0));
        busy |= c->state == WAITING;
    }
    fds[MOST_CONNECTIONS] =
        (struct pollfd){ .fd = s->ending_ms > 0 ? -1 : s->listener, .events = POLLIN };
    fds[MOST_CONNECTIONS + 1] = (struct pollfd){ .fd = s->signals, .events = POLLIN };
    poll(fds, MOST_CONNECTIONS + 2, busy ? 0 : 500);
    if (fds[MOST_CONNECTIONS + 1].revents &&
        read(s->signals, &info, sizeof info) == (ssize_t)sizeof info && !(s->ending_ms > 0))
        s->ending_ms = toy_now_ms();
    for (int i = 0; i < MOST_CONNECTIONS; i++)
        if (s->all[i].state != FREE)
            serve(s, &s->all[i], fds[i].revents);
    if (fds[MOST_CONNECTIONS].revents)
        accept_some(s);
}

static bool is_idle(const struct server *s)
{
    for (int i = 0; i < MOST_CONNECTIONS; i++)
        if (s->all[i].state > READING)
            return false;
    return true;
}

static int run(struct server *s, struct lpo_err *err)
{
    int rc = 0;

    while (rc == 0 &&
           !(s->ending_ms > 0 && (is_idle(s) || toy_now_ms() - s->ending_ms > DRAIN_MS))) {
        turn(s);
        join_waiting(s);
        if (toy_batch_active(s->batch))
            rc = toy_batch_step(s->batch, emit, err);
    }
    for (int i = 0; i < MOST_CONNECTIONS; i++)
        if (s->all[i].state != FREE)
            drop(s, &s->all[i]);
    return rc;
}

/* --- the program ---------------------------------------------------------------------------- */

/* Its own words are cut out; the others are those of toy_llm. */
static int read_words(struct server *s, struct lpo_arena *a, int argc, char **argv,
                      struct lpo_err *err)
{
    static char *const room[] = { "--batch",          "8",  "--prompt-tokens", "256",
                                  "--max-new-tokens", "256" };
    const size_t first = sizeof room / sizeof *room;
    char **words = lpo_arena_array(a, (size_t)argc + first + 1, sizeof *words);
    size_t n = first;

    memcpy(words, room, sizeof room); /* before the user's: later wins */
    for (int i = 1; i < argc; i++) {
        const char **own = strcmp(argv[i], "--host") == 0   ? &s->host
                           : strcmp(argv[i], "--port") == 0 ? &s->port
                                                            : NULL;

        if (!own)
            words[n++] = argv[i];
        else if (++i < argc)
            *own = argv[i];
    }
    return toy_options_read(a, (int)n, words, NULL, &s->o, err);
}

static int help(void)
{
    LPO_STR text = { 0 };

    toy_options_help(&text);
    printf("usage: toy_server [--host 127.0.0.1] [--port 8000] [option...]\n"
           "The toy model behind HTTP: GET /health, POST /generate. --batch is how many sequences\n"
           "share a step; --prompt-tokens and --max-new-tokens together are the longest one.\n%s",
           text.at);
    return 0;
}

static int open_server(struct server *s, struct lpo_err *err)
{
    sigset_t set;
    int rc;

    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigprocmask(SIG_BLOCK, &set, NULL);
    s->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    s->listener = wire_listen(s->host, s->port);
    if (s->listener < 0)
        return lpo_fail_errno(err, "cannot listen on %s, port %s", s->host, s->port);
    nvtx_lite_push("load"); /* a tool is loaded now, not by the first request */
    rc = toy_batch_create(&s->o, &s->batch, err);
    nvtx_lite_pop();
    return rc;
}

int main(int argc, char **argv)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    struct server *s = LPO_NEW(a, struct server);
    struct lpo_err err = { 0 };
    int rc;

    s->host = "127.0.0.1";
    s->port = "8000";
    for (int i = 0; i < MOST_CONNECTIONS; i++)
        s->all[i].fd = -1;
    if (read_words(s, a, argc, argv, &err) < 0) {
        lpo_err_print(stderr, "toy_server", &err);
        return 2;
    }
    if (s->o.help)
        return help();
    rc = open_server(s, &err);
    if (rc == 0) {
        printf("toy_server: ready on http://%s:%s, %d sequences a step\n", s->host, s->port,
               s->o.batch);
        fflush(stdout);
        rc = run(s, &err);
    }
    toy_batch_destroy(s->batch);
    if (rc < 0)
        lpo_err_print(stderr, "toy_server", &err);
    return rc < 0 ? 1 : 0;
}
