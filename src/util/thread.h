/* SPDX-License-Identifier: Apache-2.0 */
/* util/thread.h - a second thread that leaves signals to the program's own.
 *
 * A Ctrl-C must reach who waits for it, so all signals are blocked in the new thread. */
#pragma once

#include <pthread.h>

#include "util/base.h"

/* 0, or an error number where the system has no thread to give. */
int lpo_thread_start(pthread_t *out, void *(*run)(void *arg), void *arg);

/* Calls one(ctx, 0) … one(ctx, count - 1) in any order, on a thread for each core; this one works
 * too. Returns when all are done. */
void lpo_thread_each(size_t count, void (*one)(void *ctx, size_t i), void *ctx);
/* How many threads that is, of so many calls: as many cores as the process may use (taskset,
 * Slurm). */
size_t lpo_thread_workers(size_t count);
