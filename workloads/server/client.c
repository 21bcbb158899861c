/* SPDX-License-Identifier: Apache-2.0 */
/* toy_client - puts toy_server under load and measures it from outside.
 *
 * Sends POST /generate, `--concurrency` at a time or, with --rate, at random moments so many a
 * second; each answer is read as it comes. Writes what it measured as JSON (docs/servers.md):
 * time to the first token, between tokens, per further token, of the whole request. */
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "server/wire.h"
#include "toy/metrics.h"
#include "toy/run.h"
#include "toy/weights.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/file.h"
#include "util/json_write.h"
#include "util/str.h"
#include "util/vec.h"

enum { MOST_AT_ONCE = 512 };

struct options {
    const char *host, *port, *result;
    double requests, concurrency, rate, prompt_tokens, max_tokens, seed, timeout_s;
};

static const struct flag {
    const char *name;
    size_t at;
    bool text;
    double least, most;
    const char *help;
} flags[] = {
#define TEXT(name, help)                                                                           \
    {                                                                                              \
        "--" #name, offsetof(struct options, name), true, 0, 0, help                               \
    }
#define NUMBER(flag, name, least, most, help)                                                      \
    {                                                                                              \
        flag, offsetof(struct options, name), false, least, most, help                             \
    }
    TEXT(host, "of the server (127.0.0.1)"),
    TEXT(port, "of the server (8000)"),
    TEXT(result, "FILE: what was measured, as JSON"),
    NUMBER("--requests", requests, 1, 1e6, "how many (32)"),
    NUMBER("--concurrency", concurrency, 1, MOST_AT_ONCE, "at most so many at a time (4)"),
    NUMBER("--rate", rate, 0, 1e6, "so many a second, at random moments; 0: one after another (0)"),
    NUMBER("--prompt-tokens", prompt_tokens, 1, 100000, "tokens of a prompt (32)"),
    NUMBER("--max-tokens", max_tokens, 1, 100000, "the longest answer; the shortest is half (16)"),
    NUMBER("--seed", seed, 0, 1e9, "of lengths and moments (1)"),
    NUMBER("--timeout-s", timeout_s, 0.001, 1e6, "for each request (60)"),
};

enum { FLAGS = sizeof flags / sizeof *flags };

/* One request under way. */
struct request {
    int fd; /* -1: none */
    double sent_ms, first_ms, last_ms;
    int tokens;
    bool answered, done; /* "HTTP/1.1 200"; "[DONE]" */
    struct lpo_str out;
    char line[256];
    size_t len;
};

typedef LPO_VEC(double) numbers;

struct client {
    struct options o;
    struct request all[MOST_AT_ONCE];
    int started, completed, failed;
    double begin_ms, next_ms; /* when the next one is due */
    double input_tokens, output_tokens;
    numbers ttft, itl, tpot, e2e;
    const char *why; /* of the last failure */
};

/* --- requests ------------------------------------------------------------------------------- */

static void finish(struct client *c, struct request *r, const char *why)
{
    close(r->fd);
    lpo_str_free(&r->out);
    r->fd = -1;
    if (why) {
        c->failed++;
        c->why = why;
        return;
    }
    c->completed++;
    c->input_tokens += c->o.prompt_tokens;
    c->output_tokens += r->tokens;
    lpo_vec_push(&c->ttft, r->first_ms - r->sent_ms);
    lpo_vec_push(&c->e2e, r->last_ms - r->sent_ms);
    if (r->tokens > 1)
        lpo_vec_push(&c->tpot, (r->last_ms - r->first_ms) / (r->tokens - 1));
}

/* Text, since its bytes are tokens of any vocabulary. */
static void add_request(const struct options *o, int number, struct lpo_str *out)
{
    const uint64_t stream = toy_mix((uint64_t)o->seed, (uint64_t)number);
    const int half = (int)o->max_tokens / 2, most = (int)o->max_tokens;
    const int answer = most - (int)(toy_mix(stream, 1) % (uint64_t)(half + 1));
    LPO_STR body = { 0 };

    lpo_str_add(&body, "{\"prompt\": \"");
    for (int i = 0; i < (int)o->prompt_tokens; i++)
        lpo_str_addc(&body, (char)('a' + toy_mix(stream, 2 + (uint64_t)i) % 26));
    lpo_str_addf(&body, "\", \"max_tokens\": %d}", answer);
    lpo_str_addf(out,
                 "POST /generate HTTP/1.1\r\nHost: %s:%s\r\nContent-Type: application/json\r\n"
                 "Content-Length: %zu\r\nConnection: close\r\n\r\n%s",
                 o->host, o->port, body.len, body.at);
}

/* An answer to open requests is looked at before another one is sent. */
static void start(struct client *c, struct request *r)
{
    int number = c->started++;
    double now = toy_now_ms();

    *r = (struct request){ .sent_ms = now };
    if (c->o.rate > 0) /* the time between arrivals of a Poisson process */
        c->next_ms +=
            -1e3 / c->o.rate * log1p(-toy_unit(toy_mix((uint64_t)c->o.seed, 7), (uint64_t)number));
    r->fd = wire_connect(c->o.host, c->o.port);
    if (r->fd < 0) {
        c->failed++;
        c->why = strerror(errno);
        return;
    }
    add_request(&c->o, number, &r->out);
}

static void take_line(struct client *c, struct request *r)
{
    double now = toy_now_ms();

    r->line[r->len] = '\0';
    if (lpo_str_starts(r->line, "HTTP/1.1 200"))
        r->answered = true;
    if (lpo_str_starts(r->line, "data: [DONE]"))
        r->done = true;
    if (!r->answered || !lpo_str_starts(r->line, "data: {"))
        return;
    if (r->tokens++)
        lpo_vec_push(&c->itl, now - r->last_ms);
    else
        r->first_ms = now;
    r->last_ms = now;
}

static void take_bytes(struct client *c, struct request *r, const char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (bytes[i] == '\n') {
            take_line(c, r);
            r->len = 0;
        } else if (r->len < sizeof r->line - 1) {
            r->line[r->len++] = bytes[i];
        }
    }
}

static void serve(struct client *c, struct request *r, short events)
{
    char bytes[16384];
    ssize_t n;

    if (!wire_flush(r->fd, &r->out)) {
        finish(c, r, "the connection broke");
        return;
    }
    if (events & (POLLIN | POLLHUP | POLLERR)) {
        n = read(r->fd, bytes, sizeof bytes);
        if (n > 0)
            take_bytes(c, r, bytes, (size_t)n);
        if (r->done && r->tokens)
            finish(c, r, NULL);
        else if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
            finish(c, r, r->answered ? "an answer was cut" : "a request was refused");
    }
    if (r->fd >= 0 && toy_now_ms() - r->sent_ms > c->o.timeout_s * 1e3)
        finish(c, r, "a request took longer than --timeout-s");
}

static void turn(struct client *c)
{
    struct pollfd fds[MOST_AT_ONCE];
    const int most = (int)c->o.concurrency;
    int wait_ms = 100;

    for (int i = 0; i < most; i++) {
        struct request *r = &c->all[i];
        bool due = c->started < (int)c->o.requests && toy_now_ms() >= c->next_ms;

        if (r->fd < 0 && due)
            start(c, r);
        fds[i] = (struct pollfd){ .fd = r->fd };
        fds[i].events = (short)(POLLIN | (r->out.len ? POLLOUT : 0));
    }
    if (c->o.rate > 0 && c->started < (int)c->o.requests) {
        double left = ceil(c->next_ms - toy_now_ms());

        wait_ms = left < 0 ? 0 : left < 100 ? (int)left : 100;
    }
    poll(fds, (nfds_t)most, wait_ms);
    for (int i = 0; i < most; i++)
        if (c->all[i].fd >= 0)
            serve(c, &c->all[i], fds[i].revents);
}

/* --- results -------------------------------------------------------------------------------- */

static int write_result(struct client *c, double seconds, struct lpo_err *err)
{
    LPO_STR text = { 0 };
    struct lpo_json_writer w = lpo_json_writer(&text, 2);

    if (!c->o.result)
        return 0;
    lpo_jw_object(&w, NULL);
    lpo_jw_put(&w, LPO_KV("schema", "lpo.client/1"), LPO_KV("client", "toy_client"),
               LPO_KV("completed", c->completed), LPO_KV("failed", c->failed),
               LPO_KV("concurrency", c->o.concurrency),
               LPO_KV("rate", c->o.rate > 0 ? c->o.rate : NAN), LPO_KV("duration_s", seconds),
               LPO_KV("input_tokens", c->input_tokens), LPO_KV("output_tokens", c->output_tokens),
               LPO_KV("requests_per_s", c->completed / seconds),
               LPO_KV("output_tokens_per_s", c->output_tokens / seconds));
    toy_stats_write(&w, "ttft_ms", c->ttft.at, c->ttft.len);
    toy_stats_write(&w, "itl_ms", c->itl.at, c->itl.len);
    toy_stats_write(&w, "tpot_ms", c->tpot.at, c->tpot.len);
    toy_stats_write(&w, "e2e_ms", c->e2e.at, c->e2e.len);
    lpo_jw_end(&w);
    return lpo_file_write(c->o.result, text.at, text.len, err);
}

/* --- the program ---------------------------------------------------------------------------- */

static int set(struct options *o, const struct flag *f, const char *value, struct lpo_err *err)
{
    char *end = NULL;
    double v;

    if (f->text) {
        *(const char **)((char *)o + f->at) = value;
        return 0;
    }
    v = strtod(value, &end);
    if (end == value || *end || !(v >= f->least && v <= f->most))
        return lpo_fail(err, LPO_E_USAGE, "%s '%s' is not a number from %g to %g", f->name, value,
                        f->least, f->most);
    *(double *)((char *)o + f->at) = v;
    return 0;
}

static int read_words(struct options *o, int argc, char **argv, struct lpo_err *err)
{
    for (int i = 1; i < argc; i += 2) {
        size_t k = 0;

        while (k < FLAGS && strcmp(flags[k].name, argv[i]) != 0)
            k++;
        if (k == FLAGS || i + 1 >= argc)
            return lpo_fail(err, LPO_E_USAGE,
                            "'%s' is no option, or has no value; --help lists "
                            "them",
                            argv[i]);
        if (set(o, &flags[k], argv[i + 1], err) < 0)
            return err->code;
    }
    return 0;
}

static int help(void)
{
    printf("usage: toy_client [option value...]\nPuts toy_server under load and measures it.\n");
    for (size_t i = 0; i < FLAGS; i++)
        printf("  %-18s %s\n", flags[i].name, flags[i].help);
    return 0;
}

int main(int argc, char **argv)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    struct client *c = LPO_NEW(a, struct client);
    struct lpo_err err = { 0 };
    double seconds;
    int rc;

    c->o = (struct options){ "127.0.0.1", "8000", NULL, 32, 4, 0, 32, 16, 1, 60 };
    if (argc > 1 && strcmp(argv[1], "--help") == 0)
        return help();
    if (read_words(&c->o, argc, argv, &err) < 0) {
        lpo_err_print(stderr, "toy_client", &err);
        return 2;
    }
    for (int i = 0; i < MOST_AT_ONCE; i++)
        c->all[i].fd = -1;
    c->begin_ms = c->next_ms = toy_now_ms();
    while (c->completed + c->failed < (int)c->o.requests)
        turn(c);
    seconds = (toy_now_ms() - c->begin_ms) / 1e3;
    rc = write_result(c, seconds, &err);
    if (rc < 0)
        lpo_err_print(stderr, "toy_client", &err);
    printf("toy_client: %d requests, %d failed, %.1f tokens/s\n", c->completed, c->failed,
           c->output_tokens / seconds);
    if (c->failed)
        fprintf(stderr, "toy_client: %d requests failed, the last: %s\n", c->failed, c->why);
    lpo_vec_free(&c->ttft);
    lpo_vec_free(&c->itl);
    lpo_vec_free(&c->tpot);
    lpo_vec_free(&c->e2e);
    return rc < 0 || !c->completed ? 1 : 0;
}
