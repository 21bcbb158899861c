/* SPDX-License-Identifier: Apache-2.0 */
/* collect/guard.h - stretches of the collector that nothing may interrupt for good.
 *
 * A lock of the collector is held only inside a guard: every signal of the thread is blocked and
 * its cancellation is off. So no signal handler runs while its own thread holds a lock (it would
 * wait for itself), and neither a siglongjmp() nor a cancelled thread leaves with one. A guard
 * costs two system calls, so the hot path has none: a handler that interrupts it finds `busy` set
 * and is turned away (thread.h).
 *
 * Guards nest; only the outermost does anything. errno is kept. */
#pragma once

#include <pthread.h>
#include <stdbool.h>

void lpoc_guard(void);
void lpoc_unguard(void);

/* A guard and a mutex. */
void lpoc_lock(pthread_mutex_t *mutex);
bool lpoc_try_lock(pthread_mutex_t *mutex); /* false: another thread has it, and nothing is held */
void lpoc_unlock(pthread_mutex_t *mutex);
