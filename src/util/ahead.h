/* SPDX-License-Identifier: Apache-2.0 */
/* util/ahead.h - work done ahead of its reader, on a second thread: the one such thread of lpo.
 *
 * The thread calls `fill` with one batch after the other until it returns false; the reader takes
 * them in order. A batch is the caller's struct, zeroed at first and filled again and again, so
 * what it has allocated is used again. At most four are filled and not yet read, so memory stays
 * the same however long the file is. What `fill` writes outside of its batch is the thread's alone
 * until lpo_ahead_next() has given NULL. */
#pragma once

#include "util/base.h"

struct lpo_ahead;

/* Up to four batches of `size` bytes. NULL, with errno set, when no thread can be started. */
struct lpo_ahead *lpo_ahead_start(size_t size, bool (*fill)(void *ctx, void *batch), void *ctx);
/* The next batch; gives the one before back to the thread. NULL after the last. */
void *lpo_ahead_next(struct lpo_ahead *a);
/* Ends the thread, in the middle too, then empties every batch with `release`. NULL is fine. */
void lpo_ahead_stop(struct lpo_ahead *a, void (*release)(void *batch));
