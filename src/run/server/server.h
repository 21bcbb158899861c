/* SPDX-License-Identifier: Apache-2.0 */
/* run/server/server.h - a server and its load as one program (`lpo __server`).
 *
 *     start ── ready? ── warm-up ── load, recorded ── end
 *
 * Every stage runs this one program in place of the workload, with its profiler before it or inside
 * the server, so that all of them see the same. What happened is in server.json of the output
 * folder (docs/servers.md); the server's output is passed on.
 *
 * Returns 0 when the load was done, whatever the server said when it was ended; 1 when it was not;
 * 2 for wrong words; 130 when a signal asked for the end. */
#pragma once

#include <poll.h>
#include <sys/types.h>

#include "run/step.h"

struct lpo_node;
struct lpo_pattern;

/* A profiler that is switched from outside: the environment has a command for each end of the
 * window under load, one word in a line. */
#define LPO_SERVER_WINDOW_BEGIN "LPO_SERVER_WINDOW_BEGIN"
#define LPO_SERVER_WINDOW_END   "LPO_SERVER_WINDOW_END"

int lpo_run_server_main(int argc, const char *const *argv);

/* One HTTP request at a time, as much as it takes to ask a server whether it is
 * ready.
 *
 * Nothing here waits: the caller polls the descriptor together with its others and calls
 * lpo_run_http_turn(). Of the answer only the status is read, at most LPO_HTTP_HEAD bytes. Plain
 * http alone: a server under study listens on this machine. */
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

/* A server under load, as data: what is started, what is waited for, how long.
 *
 * Made from the config (workload.server.*) and passed to `lpo __server` (server.h) as words, so
 * that the command of a stage can be read and pasted into a shell, with a profiler before it or
 * not. One table says which key is which word. */
struct lpo_server_plan {
    const char *out_dir; /* absolute: server.json and what the client writes */
    const char *host;
    int64_t port; /* 0: a free one */
    struct lpo_words server, warmup, load;
    const char *ready_url, *ready_log; /* each that is not NULL must come true */
    int64_t ready_ns, warmup_ns, load_ns;
    const char *result;              /* the client's JSON, below out_dir */
    const char *window;              /* "load", "all" */
    int64_t after_ns, for_ns;        /* of a window under load: begins so late, lasts so long; 0 */
    const char *begin_url, *end_url; /* POST at both ends of the window; NULL */
    const char *signal;              /* "INT", "TERM" */
    int64_t grace_ns;
};

/* Words for `lpo __server`. */
void lpo_run_server_plan_add(struct lpo_arena *a, const struct lpo_server_plan *plan,
                             struct lpo_step *step);
/* workload.server.* of the config; the commands are the caller's. */
void lpo_run_server_plan_read(struct lpo_arena *a, const struct lpo_node *config,
                              struct lpo_server_plan *out);
/* The words back into a plan; borrows them. */
int lpo_run_server_plan_parse(struct lpo_arena *a, int argc, const char *const *argv,
                              struct lpo_server_plan *out, struct lpo_err *err);
/* What can be wrong before anything starts: URLs, patterns, a server that nothing is waited for.
 * LPO_E_CONFIG. */
int lpo_run_server_plan_check(struct lpo_arena *a, const struct lpo_server_plan *plan,
                              struct lpo_err *err);
/* @host@, @port@, @url@ and @out@ in every word and URL. The port must be known by now. */
void lpo_run_server_plan_fill_in(struct lpo_arena *a, struct lpo_server_plan *plan);

/* The server, and the clients beside it: started, watched, ended.
 *
 * Each has a process group of its own, so that one signal reaches all of its processes and no
 * other's. Nothing here waits. */

/* One of the server's outputs: copied to ours, line by line looked at. */
struct lpo_server_output {
    int fd, to;      /* -1: closed */
    char line[4096]; /* being gathered; the rest of a longer one is not looked at */
    size_t len;
    char last[200]; /* printable; the last line that was not empty */
};

struct lpo_server_process {
    pid_t pid; /* and process group; 0: not started */
    bool ended;
    int status;                        /* of waitpid() */
    int asked;                         /* the last signal that was sent to end it; 0 */
    int64_t asked_ns;                  /* when; monotonic */
    struct lpo_server_output out, err; /* of the server; a client's go where ours go */
};

/* `watched`: its output comes through pipes. `apart`: a client, which no profiler records. Fails
 * where the program cannot be started. */
int lpo_run_server_process_start(struct lpo_server_process *p, const struct lpo_words *words,
                                 bool watched, bool apart, struct lpo_err *err);

/* Copies what is there. True when a line matched. */
bool lpo_run_server_output_pump(struct lpo_server_output *o, struct lpo_pattern *pattern);
void lpo_run_server_output_close(struct lpo_server_output *o);

/* Takes every process that ended, these and orphans. */
void lpo_run_server_process_reap(struct lpo_server_process *const *all, size_t count);
/* Is a process of its group still there? */
bool lpo_run_server_process_lives(const struct lpo_server_process *p);
/* One step towards its end: `first`, then TERM, then KILL, `grace_ns` apart. To be called again and
 * again until it does not live. */
void lpo_run_server_process_end(struct lpo_server_process *p, int first, int64_t grace_ns);

/* "exit code 3", "killed by signal 9 (Killed)" */
void lpo_run_server_process_describe(const struct lpo_server_process *p, struct lpo_str *out);
