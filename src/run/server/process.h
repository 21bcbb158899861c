/* SPDX-License-Identifier: Apache-2.0 */
/* run/server/process.h - the server, and the clients beside it: started, watched, ended.
 *
 * Each has a process group of its own, so that one signal reaches all of its processes and no
 * other's. Nothing here waits. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct lpo_err;
struct lpo_pattern;
struct lpo_str;
struct lpo_words;

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
