/* SPDX-License-Identifier: Apache-2.0 */
/* run/child/stream.h - one output stream of a child: from its pipe to a file, with the last line
 * kept.
 *
 * Secrets that lpo knows are replaced on the way, as in every file that lpo writes. Only bytes that
 * may be the beginning of one wait for what follows them, so a log can still be watched. */
#pragma once

#include "util/base.h"

struct lpo_stream {
    int fd;        /* read end of the pipe; -1 once closed */
    int file_fd;   /* -1: not kept */
    bool as_it_is; /* a file without a name that lpo itself reads: nothing is replaced */
    void (*echo)(void *ctx, bool is_stderr, const char *bytes, size_t len); /* may be NULL */
    void *echo_ctx;
    bool is_stderr;
    struct lpo_str held; /* may be the beginning of a secret */
    size_t written;      /* of `held`: kept to recognise what follows */
    struct lpo_str path; /* of the file */
    uint64_t bytes, lost, limit;
    int disk_errno;      /* why something is missing */
    char last_line[200]; /* printable; what the program printed last */
    char line[200];      /* being gathered */
    size_t line_len;
};

/* Both pipes of a child, closed in programs that it starts itself, or neither. */
int lpo_run_stream_pipes(int out[2], int errs[2], struct lpo_err *err);
/* Takes over `fd`. A file that cannot be opened is remembered in disk_errno; the pipe is drained
 * all the same, so that the program does not block. */
void lpo_run_stream_open(struct lpo_stream *s, int fd, const char *path, uint64_t limit);
/* Reads what is there; closes the pipe at its end. */
void lpo_run_stream_pump(struct lpo_stream *s);
void lpo_run_stream_close(struct lpo_stream *s);
