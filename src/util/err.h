/* SPDX-License-Identifier: Apache-2.0 */
/* util/err.h - errors as values that gather context on the way up.
 *
 * A function that can fail returns 0 or a negative LPO_E_* code and takes `struct lpo_err *err`
 * last. The deepest failure calls lpo_fail(); every level above may add one line with lpo_ctx().
 * The err lives in the command's frame and allocates nothing; only cli/ prints it, once. */
#pragma once

#include <stddef.h>
#include <stdio.h>

enum lpo_code {
    LPO_E_USAGE = -1,       /* the command line is wrong */
    LPO_E_CONFIG = -2,      /* the config or an override is wrong */
    LPO_E_FORMAT = -3,      /* a file is not what it should be */
    LPO_E_RANGE = -4,       /* a value does not fit */
    LPO_E_IO = -5,          /* the system refused: open, read, write, spawn */
    LPO_E_MISSING = -6,     /* a tool, library or permission is not here */
    LPO_E_LIMIT = -7,       /* input beyond a documented limit: depth, count, size */
    LPO_E_CHILD = -8,       /* a program we started failed */
    LPO_E_INTERRUPTED = -9, /* the user stopped us */
    LPO_E_NOTFOUND = -10,   /* looked up something that is not there */
    LPO_E_NOPROGRAM = -11,  /* the user's own program is not there: 127, as a shell says it */
};

#define LPO_ERR_TEXT  6144
#define LPO_ERR_LINES 12

struct lpo_err {
    int code;                   /* of the deepest failure; 0 while nothing failed */
    int system;                 /* errno of the cause, where the system refused; 0 */
    unsigned lines;             /* how many lines were gathered */
    unsigned at[LPO_ERR_LINES]; /* where each begins in text; the first is the cause */
    unsigned used;
    const char *file; /* source position of the cause */
    int line;
    char text[LPO_ERR_TEXT];
};

/* Start an error: sets code and cause, forgets what was there. Returns `code`.
 * `err` may be NULL where the caller only wants the code. */
#define lpo_fail(err, code, ...) lpo_err_fail((err), (code), __FILE__, __LINE__, __VA_ARGS__)
/* Add one line of context. Returns the code of the cause. */
#define lpo_ctx(err, ...) lpo_err_ctx((err), __VA_ARGS__)
/* As lpo_fail with LPO_E_IO and strerror(errno) at the end of the line. */
#define lpo_fail_errno(err, ...) lpo_err_fail_errno((err), __FILE__, __LINE__, __VA_ARGS__)

#ifdef __clang_analyzer__ /* which looks into one file at a time: what these return is not 0 */
#undef lpo_fail
#undef lpo_ctx
#undef lpo_fail_errno
#define lpo_fail(err, code, ...)                                                                   \
    (lpo_err_fail((err), (code), __FILE__, __LINE__, __VA_ARGS__), (code))
#define lpo_ctx(err, ...) (lpo_err_ctx((err), __VA_ARGS__), LPO_E_IO)
#define lpo_fail_errno(err, ...)                                                                   \
    (lpo_err_fail_errno((err), __FILE__, __LINE__, __VA_ARGS__), LPO_E_IO)
#endif

int lpo_err_fail(struct lpo_err *err, int code, const char *file, int line, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));
int lpo_err_fail_errno(struct lpo_err *err, const char *file, int line, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
int lpo_err_ctx(struct lpo_err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The cause, without context: "" while nothing failed. */
const char *lpo_err_cause(const struct lpo_err *err);

/* "who: outermost\n  because: …\n  because: cause\n" */
void lpo_err_print(FILE *to, const char *who, const struct lpo_err *err);
/* "  raised at src/util/json.c:120\n": the line of ours that raised it, for --debug. */
void lpo_err_print_source(FILE *to, const struct lpo_err *err);

/* The process exit code of the design page for an error code. */
int lpo_err_exit_code(int code);
