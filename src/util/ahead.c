/* SPDX-License-Identifier: Apache-2.0 */
#include "util/ahead.h"

#include <errno.h>
#include <pthread.h>

#include "util/thread.h"

/* Two would do for a thread that is always faster or always slower; four even out a file whose
 * pieces differ. */
enum { BATCHES = 4 };

/* Waking a thread costs as much as reading some ten kilobytes. So who had to wait is woken when
 * there are two batches to read, or room for two. */
enum { AT_ONCE = BATCHES / 2 };

struct lpo_ahead {
    bool (*fill)(void *ctx, void *batch);
    void *ctx;
    pthread_t thread;
    void *batches[BATCHES];

    pthread_mutex_t lock; /* guards what follows; the batches themselves change hands with it */
    pthread_cond_t moved;
    uint64_t filled, emptied; /* batches ever */
    bool stop, done;
    bool reading; /* the reader holds the batch that is emptied next */
};

/* Waits for room; false when nobody wants more. */
static bool wait_for_room(struct lpo_ahead *a)
{
    bool go;

    pthread_mutex_lock(&a->lock);
    while (!a->stop && a->filled - a->emptied == BATCHES)
        pthread_cond_wait(&a->moved, &a->lock);
    go = !a->stop;
    pthread_mutex_unlock(&a->lock);
    return go;
}

static void *run(void *arg)
{
    struct lpo_ahead *a = arg;
    bool more = true, wake;

    while (more && wait_for_room(a)) {
        /* `filled` is read without the lock: only this thread writes it. */
        more = a->fill(a->ctx, a->batches[a->filled % BATCHES]);
        pthread_mutex_lock(&a->lock);
        a->filled++;
        a->done = !more;
        wake = a->done || a->filled - a->emptied >= AT_ONCE;
        pthread_mutex_unlock(&a->lock);
        if (wake) /* without the lock, which the other would find taken */
            pthread_cond_signal(&a->moved);
    }
    return NULL;
}

static void forget(struct lpo_ahead *a)
{
    pthread_mutex_destroy(&a->lock);
    pthread_cond_destroy(&a->moved);
    for (int i = 0; i < BATCHES; i++)
        free(a->batches[i]);
    free(a);
}

struct lpo_ahead *lpo_ahead_start(size_t size, bool (*fill)(void *ctx, void *batch), void *ctx)
{
    struct lpo_ahead *a = lpo_xcalloc(1, sizeof *a);
    int rc;

    a->fill = fill;
    a->ctx = ctx;
    for (int i = 0; i < BATCHES; i++)
        a->batches[i] = lpo_xcalloc(1, size);
    pthread_mutex_init(&a->lock, NULL);
    pthread_cond_init(&a->moved, NULL);
    rc = lpo_thread_start(&a->thread, run, a);
    if (rc == 0)
        return a;
    forget(a);
    errno = rc;
    return NULL;
}

void *lpo_ahead_next(struct lpo_ahead *a)
{
    void *batch = NULL;
    bool wake;

    pthread_mutex_lock(&a->lock);
    /* given back first, or each side could wait for the other */
    wake = a->reading && a->filled - ++a->emptied == BATCHES - AT_ONCE;
    a->reading = false;
    if (a->filled == a->emptied)
        while (a->filled - a->emptied < AT_ONCE && !a->done)
            pthread_cond_wait(&a->moved, &a->lock);
    if (a->filled != a->emptied) {
        batch = a->batches[a->emptied % BATCHES];
        a->reading = true;
    }
    pthread_mutex_unlock(&a->lock);
    if (wake)
        pthread_cond_signal(&a->moved);
    return batch;
}

void lpo_ahead_stop(struct lpo_ahead *a, void (*release)(void *batch))
{
    if (!a)
        return;
    pthread_mutex_lock(&a->lock);
    a->stop = true;
    pthread_cond_signal(&a->moved);
    pthread_mutex_unlock(&a->lock);
    pthread_join(a->thread, NULL);
    for (int i = 0; i < BATCHES; i++)
        release(a->batches[i]);
    forget(a);
}
