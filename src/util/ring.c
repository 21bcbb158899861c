#include "util/ring.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#include "util/arena.h"

enum { BATCHES = 4 };

struct lpo_ring {
    bool (*fill)(void *ctx, void *batch);
    void *ctx;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t moved;
    void *batches[BATCHES];
    uint64_t filled, emptied; /* batches ever */
    bool stop, done, reading;
};

/* Waits for room; false when nobody wants more. */
static bool wait_for_room(struct lpo_ring *r)
{
    bool go;

    pthread_mutex_lock(&r->lock);
    while (!r->stop && r->filled - r->emptied == BATCHES)
        pthread_cond_wait(&r->moved, &r->lock);
    go = !r->stop;
    pthread_mutex_unlock(&r->lock);
    return go;
}

static void *run(void *arg)
{
    struct lpo_ring *r = arg;
    bool more = true;

    while (more && wait_for_room(r)) {
        more = r->fill(r->ctx, r->batches[r->filled % BATCHES]);
        pthread_mutex_lock(&r->lock);
        r->filled++;
        r->done = !more;
        pthread_cond_signal(&r->moved);
        pthread_mutex_unlock(&r->lock);
    }
    return NULL;
}

static void forget(struct lpo_ring *r)
{
    pthread_mutex_destroy(&r->lock);
    pthread_cond_destroy(&r->moved);
    for (int i = 0; i < BATCHES; i++)
        free(r->batches[i]);
    free(r);
}

struct lpo_ring *lpo_ring_start(size_t size, bool (*fill)(void *ctx, void *batch), void *ctx)
{
    struct lpo_ring *r = lpo_xcalloc(1, sizeof *r);

    r->fill = fill;
    r->ctx = ctx;
    for (int i = 0; i < BATCHES; i++)
        r->batches[i] = lpo_xcalloc(1, size);
    pthread_mutex_init(&r->lock, NULL);
    pthread_cond_init(&r->moved, NULL);
    if (pthread_create(&r->thread, NULL, run, r) == 0)
        return r;
    forget(r);
    return NULL;
}

void *lpo_ring_next(struct lpo_ring *r)
{
    void *batch = NULL;

    pthread_mutex_lock(&r->lock);
    if (r->reading) {
        r->emptied++;
        r->reading = false;
        pthread_cond_signal(&r->moved);
    }
    while (r->filled == r->emptied && !r->done)
        pthread_cond_wait(&r->moved, &r->lock);
    if (r->filled != r->emptied) {
        batch = r->batches[r->emptied % BATCHES];
        r->reading = true;
    }
    pthread_mutex_unlock(&r->lock);
    return batch;
}

void lpo_ring_stop(struct lpo_ring *r, void (*release)(void *batch))
{
    pthread_mutex_lock(&r->lock);
    r->stop = true;
    pthread_cond_signal(&r->moved);
    pthread_mutex_unlock(&r->lock);
    pthread_join(r->thread, NULL);
    for (int i = 0; i < BATCHES; i++)
        release(r->batches[i]);
    forget(r);
}
