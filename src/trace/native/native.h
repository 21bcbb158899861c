/* SPDX-License-Identifier: Apache-2.0 */
/* trace/native/native.h - the trace of our own collector (lpo/trace_format.h).
 *
 * Two passes over the file: names, facts and clock first, then the streams of events. A file cut
 * off by whatever killed the program gives all up to its last whole block and a note. */
#pragma once

#include "util/base.h"

struct lpo_trace;

/* What lpo_native_reader does, on bytes in memory. */
int lpo_native_read_bytes(const void *bytes, size_t len, struct lpo_trace *into,
                          struct lpo_err *err);

/* What a process had not written when it ended (lpo/trace_format.h). */

/* The trace at `path` is open as `fd`. True: `blocks` are bytes that follow its first *end. False:
 * it has no tail, or one that does not belong to what is in it. */
bool lpo_native_tail_read(int fd, const char *path, struct lpo_str *blocks, uint64_t *end);

/* Each trace of a folder gets what its process had not written, and the tail is removed: not while
 * the process lives. What cannot be written is read from the tail as before. */
void lpo_native_tails_finish(const char *dir);
