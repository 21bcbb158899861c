/* SPDX-License-Identifier: Apache-2.0 */
/* trace/native/native.h - the trace of our own collector (lpo/trace_format.h).
 *
 * Two passes over the file: names, facts and clock first, then the streams of events. A file cut
 * off by whatever killed the program gives all up to its last whole block and a note. */
#pragma once

#include <stddef.h>

struct lpo_err;
struct lpo_trace;

/* What lpo_native_reader does, on bytes in memory. */
int lpo_native_read_bytes(const void *bytes, size_t len, struct lpo_trace *into,
                          struct lpo_err *err);
