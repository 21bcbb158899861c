/* SPDX-License-Identifier: Apache-2.0 */
/* util/thread.h - a second thread that leaves signals to the program's own.
 *
 * A Ctrl-C must reach who waits for it, so all signals are blocked in the new thread. */
#pragma once

#include <pthread.h>

/* 0, or an error number where the system has no thread to give. */
int lpo_thread_start(pthread_t *out, void *(*run)(void *arg), void *arg);
