/* SPDX-License-Identifier: Apache-2.0 */
#include "toy/pool.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "nvtx_lite.h"
#include "util/arena.h"
#include "util/err.h"

struct worker {
    struct toy_pool *pool;
    pthread_t thread;
    int part;
};

struct toy_pool {
    pthread_mutex_t lock;
    pthread_cond_t start, done;
    unsigned round; /* counts jobs, so that a worker never runs one twice */
    int parts, busy;
    bool stop, ranges;
    const char *name;
    toy_part_fn *fn;
    void *job;
    struct worker *workers; /* parts - 1 of them */
};

static void work(struct worker *w)
{
    struct toy_pool *p = w->pool;

    if (p->ranges)
        nvtx_lite_push(p->name);
    p->fn(p->job, w->part, p->parts);
    if (p->ranges)
        nvtx_lite_pop();
}

static void *worker_main(void *arg)
{
    struct worker *w = arg;
    struct toy_pool *p = w->pool;
    unsigned seen = 0;

    for (;;) {
        pthread_mutex_lock(&p->lock);
        while (p->round == seen && !p->stop)
            pthread_cond_wait(&p->start, &p->lock);
        seen = p->round;
        if (p->stop) {
            pthread_mutex_unlock(&p->lock);
            return NULL;
        }
        pthread_mutex_unlock(&p->lock);
        work(w);
        pthread_mutex_lock(&p->lock);
        if (--p->busy == 0)
            pthread_cond_signal(&p->done);
        pthread_mutex_unlock(&p->lock);
    }
}

int toy_pool_create(int threads, struct toy_pool **out, struct lpo_err *err)
{
    struct toy_pool *p = lpo_xcalloc(1, sizeof *p);

    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->start, NULL);
    pthread_cond_init(&p->done, NULL);
    p->parts = 1;
    p->workers = lpo_xcalloc(threads > 1 ? threads - 1 : 1, sizeof *p->workers);
    for (int i = 1; i < threads; i++) {
        struct worker *w = &p->workers[i - 1];
        int rc;

        *w = (struct worker){ .pool = p, .part = i };
        rc = pthread_create(&w->thread, NULL, worker_main, w);
        if (rc) {
            toy_pool_destroy(p);
            return lpo_fail(err, LPO_E_IO, "cannot start thread %d: %s", i, strerror(rc));
        }
        p->parts++;
    }
    *out = p;
    return 0;
}

void toy_pool_destroy(struct toy_pool *p)
{
    if (!p)
        return;
    pthread_mutex_lock(&p->lock);
    p->stop = true;
    pthread_cond_broadcast(&p->start);
    pthread_mutex_unlock(&p->lock);
    for (int i = 1; i < p->parts; i++)
        pthread_join(p->workers[i - 1].thread, NULL);
    pthread_cond_destroy(&p->start);
    pthread_cond_destroy(&p->done);
    pthread_mutex_destroy(&p->lock);
    free(p->workers);
    free(p);
}

void toy_pool_run(struct toy_pool *p, const char *name, bool ranges, toy_part_fn *fn, void *job)
{
    if (p->parts == 1) {
        fn(job, 0, 1);
        return;
    }
    pthread_mutex_lock(&p->lock);
    p->name = name;
    p->ranges = ranges;
    p->fn = fn;
    p->job = job;
    p->busy = p->parts - 1;
    p->round++;
    pthread_cond_broadcast(&p->start);
    pthread_mutex_unlock(&p->lock);
    fn(job, 0, p->parts);
    pthread_mutex_lock(&p->lock);
    while (p->busy)
        pthread_cond_wait(&p->done, &p->lock);
    pthread_mutex_unlock(&p->lock);
}
