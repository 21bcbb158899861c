/* SPDX-License-Identifier: Apache-2.0 */
/* run/child/capture.h - short helper programs (git, ncu --version), their output kept.
 *
 * They are supervised as stages are: a helper that hangs or starts daemons leaves nothing behind.
 */
#pragma once

#include <stdint.h>

struct lpo_arena;
struct lpo_err;
struct lpo_str;

/* Runs a short helper program (`git rev-parse`, `ncu --version`) and keeps its stdout (64 KiB at
 * most). Returns 0 only when it ended with exit code 0 within the limit. */
int lpo_run_capture(const char *const *argv, int64_t timeout_ns, struct lpo_str *out,
                    struct lpo_err *err);

/* The same, its stdout in a temporary file without a name: *out is a path to it for as long as the
 * caller keeps *fd open. `limit` 0: all of it. */
int lpo_run_capture_file(struct lpo_arena *a, const char *const *argv, int64_t timeout_ns,
                         uint64_t limit, const char **out, int *fd, struct lpo_err *err);
