/* SPDX-License-Identifier: Apache-2.0 */
/* run/server/plan.h - a server under load, as data: what is started, what is waited for, how long.
 *
 * Made from the config (workload.server.*) and passed to `lpo __server` (server.h) as words, so
 * that the command of a stage can be read and pasted into a shell, with a profiler before it or
 * not. One table says which key is which word. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "run/step.h"

struct lpo_arena;
struct lpo_err;
struct lpo_node;

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
