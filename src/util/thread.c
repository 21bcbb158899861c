/* SPDX-License-Identifier: Apache-2.0 */
#include "util/thread.h"

#include <sched.h>
#include <signal.h>
#include <unistd.h>

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

enum { MOST_WORKERS = 64 };

/* Those that this process may use: a task of a scheduler has few of a machine's. */
static size_t count_cores(void)
{
    cpu_set_t mine;
    long online = sysconf(_SC_NPROCESSORS_ONLN);

    if (sched_getaffinity(0, sizeof mine, &mine) == 0)
        return (size_t)CPU_COUNT(&mine);
    return online > 0 ? (size_t)online : 1;
}

size_t lpo_thread_workers(size_t count)
{
    size_t cores = count_cores(), workers = cores < MOST_WORKERS ? cores : MOST_WORKERS;

    return count < workers ? count : workers;
}

struct each {
    void (*one)(void *ctx, size_t i);
    void *ctx;
    size_t count, next; /* next: by atomic addition */
};

static void *work(void *arg)
{
    struct each *e = arg;
    size_t i;

    while ((i = __atomic_fetch_add(&e->next, 1, __ATOMIC_RELAXED)) < e->count)
        e->one(e->ctx, i);
    return NULL;
}

void lpo_thread_each(size_t count, void (*one)(void *ctx, size_t i), void *ctx)
{
    struct each e = { one, ctx, count, 0 };
    pthread_t threads[MOST_WORKERS];
    size_t started = 0, wanted = lpo_thread_workers(count);

    while (started + 1 < wanted && lpo_thread_start(&threads[started], work, &e) == 0)
        started++;
    work(&e);
    while (started)
        pthread_join(threads[--started], NULL);
}
