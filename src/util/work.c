/* SPDX-License-Identifier: Apache-2.0 */
#include "util/work.h"

#include <pthread.h>
#include <stdatomic.h>

#include "util/path.h"

/* One process has one terminal; `bytes` is counted for each block, so without the lock. */
static struct {
    const struct lpo_work_watch *watch;
    unsigned depth;
    pthread_mutex_t lock; /* of the state */
    struct lpo_work_state state;
    atomic_uint_fast64_t bytes;
} work = { .lock = PTHREAD_MUTEX_INITIALIZER };

void lpo_work_watch(const struct lpo_work_watch *watch)
{
    work.watch = watch;
}

void lpo_work_begin(const char *phase)
{
    if (!work.watch || work.depth++)
        return;
    pthread_mutex_lock(&work.lock);
    work.state = (struct lpo_work_state){ .phase = phase };
    atomic_store(&work.bytes, 0);
    pthread_mutex_unlock(&work.lock);
    work.watch->begin();
}

void lpo_work_end(void)
{
    if (!work.watch || !work.depth || --work.depth)
        return;
    work.watch->end();
    pthread_mutex_lock(&work.lock);
    work.state.phase = NULL;
    pthread_mutex_unlock(&work.lock);
}

void lpo_work_expect(size_t files, uint64_t bytes)
{
    pthread_mutex_lock(&work.lock);
    work.state.of_files += files;
    work.state.of_bytes += bytes;
    pthread_mutex_unlock(&work.lock);
}

void lpo_work_file(const char *path)
{
    pthread_mutex_lock(&work.lock);
    work.state.files++;
    snprintf(work.state.file, sizeof work.state.file, "%s", lpo_path_base(path));
    pthread_mutex_unlock(&work.lock);
}

void lpo_work_bytes(size_t bytes)
{
    atomic_fetch_add_explicit(&work.bytes, bytes, memory_order_relaxed);
}

void lpo_work_look(struct lpo_work_state *out)
{
    pthread_mutex_lock(&work.lock);
    *out = work.state;
    pthread_mutex_unlock(&work.lock);
    out->bytes = atomic_load(&work.bytes);
}
