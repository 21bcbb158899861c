/* SPDX-License-Identifier: Apache-2.0 */
/* trace/native/tail.h - what a process had not written when it ended (lpo/trace_format.h). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct lpo_str;

/* The trace at `path` is open as `fd`. True: `blocks` are bytes that follow its first *end. False:
 * it has no tail, or one that does not belong to what is in it. */
bool lpo_native_tail_read(int fd, const char *path, struct lpo_str *blocks, uint64_t *end);

/* Each trace of a folder gets what its process had not written, and the tail is removed: not while
 * the process lives. What cannot be written is read from the tail as before. */
void lpo_native_tails_finish(const char *dir);
