/* SPDX-License-Identifier: Apache-2.0 */
/* Scenarios of who calls: many threads, short ones, and one that ends while it still records. */
#include <pthread.h>

#include "nvtx_client.h"

static void *worker(void *arg)
{
    int rounds = *(int *)arg;

    pthread_setname_np(pthread_self(), "worker");
    for (int i = 0; i < rounds; i++) {
        nvtx_lite_push("outer");
        nvtx_lite_push(i % 2 ? "odd" : "even");
        nvtx_lite_pop();
        nvtx_lite_pop();
    }
    return NULL;
}

static int threads(void)
{
    pthread_t t[8];
    int rounds = 10000;

    for (int i = 0; i < 8; i++)
        CHECK(pthread_create(&t[i], NULL, worker, &rounds) == 0);
    for (int i = 0; i < 8; i++)
        pthread_join(t[i], NULL);
    return 0;
}

static int many_threads(void)
{
    int rounds = 2;

    for (int i = 0; i < 200; i++) {
        pthread_t t[4];
        for (int k = 0; k < 4; k++)
            CHECK(pthread_create(&t[k], NULL, worker, &rounds) == 0);
        for (int k = 0; k < 4; k++)
            pthread_join(t[k], NULL);
    }
    return 0;
}

/* A range that starts in one thread and ends in another. */
static void *ender(void *id)
{
    nvtx_lite_end(*(uint64_t *)id);
    return NULL;
}

static int across(void)
{
    uint64_t id = nvtx_lite_start("job");
    pthread_t t;

    CHECK(pthread_create(&t, NULL, ender, &id) == 0);
    pthread_join(t, NULL);
    return 0;
}

/* The collector's own thread state must be made anew after its destructor ran. */
static pthread_key_t late_key;

static void late(void *arg)
{
    (void)arg;
    nvtx_lite_push("late");
    nvtx_lite_pop();
}

static void *with_destructor(void *arg)
{
    pthread_setname_np(pthread_self(), "worker");
    pthread_setspecific(late_key, arg);
    nvtx_lite_push("early");
    nvtx_lite_pop();
    return NULL;
}

static int destructors(void)
{
    pthread_t t;

    nvtx_lite_push("first");
    nvtx_lite_pop();
    pthread_key_create(&late_key, late);
    CHECK(pthread_create(&t, NULL, with_destructor, &late_key) == 0);
    pthread_join(t, NULL);
    return 0;
}

const struct scenario thread_scenarios[] = {
    { "threads", threads }, { "many_threads", many_threads },
    { "across", across },   { "destructors", destructors },
    { NULL, NULL },
};
