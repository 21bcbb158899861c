/* SPDX-License-Identifier: Apache-2.0 */

#include <malloc.h>

#include "rundir/read.h"
#include "trace/reader.h"
#include "trace/trace.h"
#include "util/thread.h"

enum { AHEAD = 2 /* files of a worker that wait to be taken */ };

struct many_result {
    struct lpo_trace *trace; /* NULL: not read, or it failed */
    struct lpo_err err;
    bool done;
};

struct lpo_rundir_many {
    struct lpo_rundir_many_file *files;
    struct many_result *results;
    size_t count;
    unsigned skip;
    pthread_t *workers;
    size_t nworkers;
    pthread_mutex_t lock; /* of what follows, and of the results */
    pthread_cond_t moved;
    size_t next, taken; /* the file that is read next; taken next */
    bool stop;
};

/* False: there is none, or nobody wants more. */
static bool next_file(struct lpo_rundir_many *m, size_t *out)
{
    bool any;

    pthread_mutex_lock(&m->lock);
    while (!m->stop && m->next < m->count && m->next >= m->taken + AHEAD * m->nworkers)
        pthread_cond_wait(&m->moved, &m->lock);
    any = !m->stop && m->next < m->count;
    *out = any ? m->next++ : 0;
    pthread_mutex_unlock(&m->lock);
    return any;
}

static void *work(void *arg)
{
    struct lpo_rundir_many *m = arg;
    size_t i;

    while (next_file(m, &i)) {
        struct lpo_trace *t = lpo_trace_create();
        struct lpo_err err = { 0 };

        t->skip = m->skip;
        t->file_rank = m->files[i].file_rank;
        if (lpo_rundir_read_trace(m->files[i].path, m->files[i].program, t, &err) < 0) {
            lpo_trace_destroy(t);
            t = NULL;
        }
        pthread_mutex_lock(&m->lock);
        m->results[i] = (struct many_result){ t, err, true };
        pthread_cond_broadcast(&m->moved);
        pthread_mutex_unlock(&m->lock);
    }
    return NULL;
}

struct lpo_rundir_many *lpo_rundir_many_start(const struct lpo_rundir_many_file *files,
                                              size_t count, unsigned skip)
{
    size_t workers = lpo_thread_workers(count);
    struct lpo_rundir_many *m;

    if (workers < 2)
        return NULL;
    m = lpo_xcalloc(1, sizeof *m);
    m->files = lpo_xcalloc(count, sizeof *m->files);
    memcpy(m->files, files, count * sizeof *files);
    m->results = lpo_xcalloc(count, sizeof *m->results);
    m->workers = lpo_xcalloc(workers, sizeof *m->workers);
    m->count = count;
    m->skip = skip;
    pthread_mutex_init(&m->lock, NULL);
    pthread_cond_init(&m->moved, NULL);
    pthread_mutex_lock(&m->lock); /* nobody starts before it is known how many there are */
    while (m->nworkers < workers && lpo_thread_start(&m->workers[m->nworkers], work, m) == 0)
        m->nworkers++;
    pthread_mutex_unlock(&m->lock);
    if (m->nworkers)
        return m;
    lpo_rundir_many_destroy(m);
    return NULL;
}

int lpo_rundir_many_append(struct lpo_rundir_many *m, struct lpo_trace *into, struct lpo_err *err)
{
    LPO_AUTO(lpo_trace) t = NULL;
    struct many_result *r;
    size_t i;

    pthread_mutex_lock(&m->lock);
    i = m->taken;
    r = &m->results[i];
    while (!r->done)
        pthread_cond_wait(&m->moved, &m->lock);
    m->taken++;
    pthread_cond_broadcast(&m->moved);
    pthread_mutex_unlock(&m->lock);
    t = r->trace;
    r->trace = NULL;
    if (t)
        return lpo_trace_append_file(into, t, m->files[i].path, err);
    into->sources++;
    *err = r->err;
    return err->code;
}

void lpo_rundir_many_destroy(struct lpo_rundir_many *m)
{
    if (!m)
        return;
    pthread_mutex_lock(&m->lock);
    m->stop = true;
    pthread_cond_broadcast(&m->moved);
    pthread_mutex_unlock(&m->lock);
    for (size_t i = 0; i < m->nworkers; i++)
        pthread_join(m->workers[i], NULL);
    for (size_t i = 0; i < m->count; i++)
        lpo_trace_destroy(m->results[i].trace);
    pthread_cond_destroy(&m->moved);
    pthread_mutex_destroy(&m->lock);
    free(m->workers);
    free(m->results);
    free(m->files);
    free(m);
    malloc_trim(0); /* traces came and went in the heaps of the workers */
}
