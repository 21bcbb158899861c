/* util/ring.h - work done ahead on a second thread, a few batches at a time.
 *
 * The thread calls `fill` with one batch after the other until it returns false; the reader takes
 * them in order. A batch is the caller's struct, zeroed at first and filled again and again, so
 * what it has allocated is used again. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct lpo_ring;

/* Up to four batches of `size` bytes. NULL when no thread is to be had. */
struct lpo_ring *lpo_ring_start(size_t size, bool (*fill)(void *ctx, void *batch), void *ctx);
/* The next batch; gives the one before back to the thread. NULL after the last. */
void *lpo_ring_next(struct lpo_ring *r);
/* Ends the thread, in the middle too, then frees every batch with `release`. */
void lpo_ring_stop(struct lpo_ring *r, void (*release)(void *batch));
