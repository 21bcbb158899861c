/* SPDX-License-Identifier: Apache-2.0 */
#include "util/thread.h"

#include <signal.h>

int lpo_thread_start(pthread_t *out, void *(*run)(void *arg), void *arg)
{
    sigset_t all, before;
    int rc;

    /* blocked before, so that no signal finds the thread between its start and its own call */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    rc = pthread_create(out, NULL, run, arg);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return rc;
}
