/* SPDX-License-Identifier: Apache-2.0 */
/* run/child/supervise.h - one child at a time, from start to the last of its descendants.
 *
 * The program runs in a process group of its own, under a guard (`lpo __guard`, guard.c) that ends
 * it and its descendants when lpo is killed with -9. Its output is copied to files as it comes.
 * Interrupts are forwarded, then escalated: INT, TERM, KILL. Nothing here prints; the caller
 * follows through `watch`. */
#pragma once

#include "util/base.h"

struct lpo_step;

enum lpo_end {
    LPO_END_EXIT,        /* `code` is the exit code */
    LPO_END_SIGNAL,      /* `code` is the signal */
    LPO_END_TIMEOUT,     /* ended by us at the time limit */
    LPO_END_INTERRUPTED, /* ended by us because the user asked */
    LPO_END_NOT_STARTED, /* `code` is errno */
};

struct lpo_result {
    enum lpo_end end;
    int code;
    int64_t started_ns, wall_ns; /* unix time; duration */
    int64_t user_ns, system_ns;  /* of the program and its waited-for children */
    uint64_t peak_rss_bytes;
    uint64_t stdout_bytes, stderr_bytes; /* written by the program */
    uint64_t lost_bytes;                 /* not kept: over the output limit, or the disk refused */
    bool left_running;     /* a process it started could not be ended, or may be there unseen */
    bool cgroup;           /* it ran in a cgroup of its own (cgroup.h) … */
    const char *no_cgroup; /* … or why it did not; NULL: none was wanted */
    int disk_errno;        /* why the output could not be kept; 0 */
    char last_line[200];   /* of stderr, else stdout: what the tool printed last */
};

/* Called a few times a second and at every new line of output. */
struct lpo_watch {
    void (*tick)(void *ctx, const struct lpo_step *step, int64_t elapsed_ns, const char *last_line);
    /* What a step that is `shown` prints, as it comes and as its log has it; may be NULL. */
    void (*output)(void *ctx, bool is_stderr, const char *bytes, size_t len);
    void *ctx;
    /* The program has ended, and what it left running not yet: the moment to end what runs beside
     * it, which is ended by force next. May be NULL. */
    void (*ended)(void *ctx);
    void *ended_ctx;
    int64_t grace_ns;      /* between INT, TERM and KILL; 0 means 5 s */
    const char *self_path; /* our own program, for the guard; NULL starts without one */
};

/* Blocks INT, TERM and HUP for the process and reads them from a descriptor; call once before the
 * first lpo_run_supervise(). Also makes lpo the reaper of orphans. */
int lpo_run_supervise_begin(struct lpo_err *err);
void lpo_run_supervise_end(void);
bool lpo_run_supervise_active(void);      /* between the two */
bool lpo_run_supervise_interrupted(void); /* did the user ask to stop? */

/* Waits so long, or until a child ends or the user asks to stop. Returns how often the user did
 * since lpo_run_supervise_begin(). For who starts children of his own. */
unsigned lpo_run_supervise_wait(int64_t ns);

/* Runs the step to its end. Fails only when supervision itself is impossible; a program that
 * fails, times out or cannot be started is a result. */
int lpo_run_supervise(const struct lpo_step *step, const struct lpo_watch *watch,
                      struct lpo_result *out, struct lpo_err *err);

/* One line for people: "exit code 3", "killed by signal 9 (Killed)", "time limit of 5 s reached".
 */
void lpo_run_result_describe(const struct lpo_result *r, const struct lpo_step *step,
                             struct lpo_str *out);

/* The hidden command behind the guard: argv is lpo's pid, a cgroup or "", and the program; returns
 * its exit code. */
int lpo_run_guard_main(int argc, const char *const *argv);
/* lpo's main() says that it has that command; until then there is no guard (a test program). */
void lpo_run_guard_offer(void);
/* For lpo_watch.self_path; NULL where there is no guard. */
const char *lpo_run_guard_program(struct lpo_arena *a);

/* Short helper programs (git, ncu --version), their output kept.
 *
 * They are supervised as stages are: a helper that hangs or starts daemons leaves nothing behind.
 */

/* Runs a short helper program (`git rev-parse`, `ncu --version`) and keeps its stdout (64 KiB at
 * most). Returns 0 only when it ended with exit code 0 within the limit. */
int lpo_run_capture(const char *const *argv, int64_t timeout_ns, struct lpo_str *out,
                    struct lpo_err *err);

/* The same, its stdout in a temporary file without a name: *out is a path to it for as long as the
 * caller keeps *fd open. `limit` 0: all of it. */
int lpo_run_capture_file(struct lpo_arena *a, const char *const *argv, int64_t timeout_ns,
                         uint64_t limit, const char **out, int *fd, struct lpo_err *err);
