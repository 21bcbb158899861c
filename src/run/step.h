/* SPDX-License-Identifier: Apache-2.0 */
/* run/step.h - a process to be started, as data.
 *
 * Stages turn config into steps; nothing runs here, so a plan is tested by reading it, printed by
 * --dry-run, and written to cmd.txt so that it can be pasted into a shell. */
#pragma once

#include "util/base.h"

struct lpo_env_var {
    const char *name;
    const char *value; /* NULL removes the variable */
};

/* Our own environment with these on top, for exec: NULL-terminated, what stays is not copied. */
char **lpo_run_environment(struct lpo_arena *a, const struct lpo_env_var *vars, size_t count);

struct lpo_step {
    const char *label; /* "native", "nsys export": for people */
    const char **argv; /* NULL-terminated */
    size_t argc;
    size_t program;          /* where in argv the program begins; before it stands what wraps it */
    struct lpo_env_var *env; /* on top of our own environment */
    size_t nenv;
    const char *cwd;         /* NULL: where lpo was called */
    const char *stdout_path; /* absolute; NULL throws the output away */
    const char *stderr_path;
    const char *cmd_path;  /* absolute; where the command is written; NULL: nowhere */
    int64_t timeout_ns;    /* 0: no limit */
    uint64_t output_limit; /* bytes kept per stream; 0: no limit */
    bool shown;            /* its output is the user's, and shown as it comes */
    bool optional;         /* its failure is a note, not the stage's failure */
    bool workload;         /* it runs the program that is studied */
    bool reads_input;      /* lpo's standard input is its own; else it has none */
    bool reports_missing;  /* its exit code 3 means that something it needs is not here */
};

/* A list of words that grows in an arena. */
struct lpo_words {
    const char **at; /* NULL-terminated */
    size_t len;
};

void lpo_run_words_add(struct lpo_arena *a, struct lpo_words *words, const char *word);
void lpo_run_words_addf(struct lpo_arena *a, struct lpo_words *words, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* "--flag value"; nothing where the value is NULL or empty. */
void lpo_run_words_add_flag(struct lpo_arena *a, struct lpo_words *words, const char *flag,
                            const char *value);

/* A list of steps that grows in an arena. */
struct lpo_steps {
    struct lpo_arena *arena;
    struct lpo_step *at;
    size_t len, cap;
};

struct lpo_step *lpo_run_steps_add(struct lpo_steps *steps, const char *label);
void lpo_run_steps_remove(struct lpo_steps *steps, size_t i);
void lpo_run_step_arg(struct lpo_arena *a, struct lpo_step *step, const char *word);
void lpo_run_step_argf(struct lpo_arena *a, struct lpo_step *step, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void lpo_run_step_args(struct lpo_arena *a, struct lpo_step *step, const char *const *words);
/* Puts the words of a tool before the program. A second call replaces what the first one put there,
 * so that a command can be rendered again after it was changed. */
void lpo_run_step_wrap(struct lpo_arena *a, struct lpo_step *step, const struct lpo_words *words);
/* A later value replaces an earlier one. */
void lpo_run_step_env(struct lpo_arena *a, struct lpo_step *step, const char *name,
                      const char *value);

/* "cd dir && \\\nA=b \\\nprog arg …\n", quoted for a POSIX shell; secret values print as
 * "$NAME", so that the pasted command takes them from the shell around it. */
void lpo_run_step_print(const struct lpo_step *step, struct lpo_str *out);
