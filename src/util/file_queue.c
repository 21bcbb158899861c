/* SPDX-License-Identifier: Apache-2.0 */
#include "util/file_queue.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/arena.h"
#include "util/err.h"
#include "util/file.h"
#include "util/path.h"
#include "util/str.h"

/* So that memory stays small where files are made faster than a disk takes them. */
static const size_t most_waiting_bytes = 256 << 10;

struct entry {
    char *path;
    struct lpo_str bytes;
    bool filtered; /* the filter hid something: a file for its owner alone */
    struct entry *next;
};

struct lpo_file_queue {
    pthread_t thread;
    bool threaded; /* the thread was started; else the caller writes */

    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t moved;
    struct entry *first, **last;
    size_t waiting_bytes;
    bool finish; /* nothing more is added */
    bool failed; /* read by both; `err` is the thread's until it has ended */

    struct lpo_err err;
    /* The folder of the last file, whose new name is not flushed yet; -1: none. */
    int folder_fd;
    char *folder;
};

static void entry_destroy(struct entry *e)
{
    free(e->path);
    lpo_str_free(&e->bytes);
    free(e);
}

static int leave_folder(struct lpo_file_queue *q)
{
    int rc = 0;

    if (q->folder_fd >= 0) {
        rc = lpo_file_flush_folder(q->folder_fd, q->folder, &q->err);
        close(q->folder_fd);
    }
    free(q->folder);
    q->folder = NULL;
    q->folder_fd = -1;
    return rc;
}

static int enter_folder(struct lpo_file_queue *q, const char *path)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    const char *folder = lpo_path_dir(a, path);

    if (q->folder && strcmp(q->folder, folder) == 0)
        return 0;
    if (leave_folder(q) < 0)
        return q->err.code;
    q->folder_fd = lpo_file_open_folder(folder);
    if (q->folder_fd < 0)
        return lpo_fail_errno(&q->err, "cannot write '%s'", path);
    q->folder = lpo_xstrdup(folder);
    return 0;
}

static int write_entry(struct lpo_file_queue *q, const struct entry *e)
{
    if (enter_folder(q, e->path) < 0)
        return q->err.code;
    return lpo_file_replace(q->folder_fd, e->path, lpo_str_text(&e->bytes), e->bytes.len,
                            e->filtered ? 0600 : 0666, &q->err);
}

/* Writes one, unless one before could not be written. */
static void use_entry(struct lpo_file_queue *q, struct entry *e)
{
    bool failed = q->failed; /* only this side sets it */

    failed = failed || write_entry(q, e) < 0;
    pthread_mutex_lock(&q->lock);
    q->failed = failed;
    q->waiting_bytes -= e->bytes.len;
    pthread_cond_signal(&q->moved);
    pthread_mutex_unlock(&q->lock);
    entry_destroy(e);
}

/* The next one, or NULL when none will come. */
static struct entry *take(struct lpo_file_queue *q)
{
    struct entry *e;

    pthread_mutex_lock(&q->lock);
    while (!q->first && !q->finish)
        pthread_cond_wait(&q->moved, &q->lock);
    e = q->first;
    if (e) {
        q->first = e->next;
        if (!q->first)
            q->last = &q->first;
    }
    pthread_mutex_unlock(&q->lock);
    return e;
}

static void *run(void *arg)
{
    struct lpo_file_queue *q = arg;

    for (struct entry *e; (e = take(q));)
        use_entry(q, e);
    return NULL;
}

/* Signals belong to the program's own thread, as in ahead.c. */
static bool start_thread(struct lpo_file_queue *q)
{
    sigset_t all, before;
    int rc;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    rc = pthread_create(&q->thread, NULL, run, q);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return rc == 0;
}

struct lpo_file_queue *lpo_file_queue_create(void)
{
    struct lpo_file_queue *q = lpo_xcalloc(1, sizeof *q);

    q->last = &q->first;
    q->folder_fd = -1;
    pthread_mutex_init(&q->lock, NULL);
    pthread_cond_init(&q->moved, NULL);
    q->threaded = start_thread(q);
    return q;
}

static void put(struct lpo_file_queue *q, struct entry *e)
{
    pthread_mutex_lock(&q->lock);
    while (q->waiting_bytes > 0 && q->waiting_bytes + e->bytes.len > most_waiting_bytes)
        pthread_cond_wait(&q->moved, &q->lock);
    q->waiting_bytes += e->bytes.len;
    *q->last = e;
    q->last = &e->next;
    pthread_cond_signal(&q->moved);
    pthread_mutex_unlock(&q->lock);
}

void lpo_file_queue_add(struct lpo_file_queue *q, const char *path, struct lpo_str *bytes)
{
    struct entry *e = lpo_xcalloc(1, sizeof *e);

    e->path = lpo_xstrdup(path);
    e->filtered = lpo_file_filtered(lpo_str_text(bytes), bytes->len, &e->bytes);
    if (e->filtered) {
        lpo_str_free(bytes);
    } else {
        e->bytes = *bytes;
        *bytes = (struct lpo_str){ 0 };
    }
    if (q->threaded) {
        put(q, e);
    } else {
        q->waiting_bytes += e->bytes.len;
        use_entry(q, e);
    }
}

/* Once: afterwards there is no thread and no folder. */
static void wait_for_all(struct lpo_file_queue *q)
{
    if (q->threaded) {
        pthread_mutex_lock(&q->lock);
        q->finish = true;
        pthread_cond_signal(&q->moved);
        pthread_mutex_unlock(&q->lock);
        pthread_join(q->thread, NULL);
        q->threaded = false;
    }
    if (q->failed) { /* the error is already there: keep it */
        if (q->folder_fd >= 0)
            close(q->folder_fd);
        q->folder_fd = -1;
    }
    if (leave_folder(q) < 0)
        q->failed = true;
}

int lpo_file_queue_finish(struct lpo_file_queue *q, struct lpo_err *err)
{
    wait_for_all(q);
    if (!q->failed)
        return 0;
    if (err)
        *err = q->err;
    return q->err.code;
}

void lpo_file_queue_destroy(struct lpo_file_queue *q)
{
    if (!q)
        return;
    wait_for_all(q);
    pthread_mutex_destroy(&q->lock);
    pthread_cond_destroy(&q->moved);
    free(q);
}
