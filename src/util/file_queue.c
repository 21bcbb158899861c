/* SPDX-License-Identifier: Apache-2.0 */
#include "util/file_queue.h"

#include <pthread.h>
#include <unistd.h>

#include "util/file.h"
#include "util/path.h"
#include "util/thread.h"

/* So that memory stays small where files are made faster than a disk takes them. */
static const size_t most_waiting_bytes = 256 << 10;

/* Files that are written but not flushed and named: as many as a flush takes together. Each holds a
 * descriptor, and perhaps one of its folder. */
enum { MOST_UNNAMED = 128 };

struct folder {
    int fd;
    char *path;
};

struct unnamed {
    struct lpo_file_new file;
    char *path;
};

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
    struct unnamed unnamed[MOST_UNNAMED];
    struct folder folders[MOST_UNNAMED]; /* theirs */
    size_t files_len, folders_len;
};

static void entry_destroy(struct entry *e)
{
    free(e->path);
    lpo_str_free(&e->bytes);
    free(e);
}

/* What was written gets its name, up to the first that cannot be flushed or named; the rest is
 * dropped. An error goes to *err, if that is not NULL. */
static int name_all(struct lpo_file_queue *q, struct lpo_err *err)
{
    int fds[MOST_UNNAMED] = { 0 }, errors[MOST_UNNAMED] = { 0 }, rc = 0;
    size_t flushed = 0;

    for (size_t i = 0; i < q->files_len; i++)
        fds[i] = q->unnamed[i].file.fd;
    lpo_file_flush_all(fds, errors, q->files_len);
    while (flushed < q->files_len &&
           (rc = lpo_file_flushed(errors[flushed], q->unnamed[flushed].path, err)) == 0)
        flushed++;
    for (size_t i = 0; i < q->files_len; i++) {
        struct unnamed *u = &q->unnamed[i];

        if (i >= flushed) {
            lpo_file_new_drop(&u->file);
        } else if (lpo_file_new_name(&u->file, u->path, rc < 0 ? NULL : err) < 0) {
            rc = rc < 0 ? rc : LPO_E_IO;
            flushed = i;
        }
        free(u->path);
    }
    q->files_len = 0;
    return rc;
}

static int leave_folders(struct lpo_file_queue *q, struct lpo_err *err)
{
    int fds[MOST_UNNAMED] = { 0 }, errors[MOST_UNNAMED] = { 0 }, rc = 0;

    for (size_t i = 0; i < q->folders_len; i++)
        fds[i] = q->folders[i].fd;
    lpo_file_flush_all(fds, errors, q->folders_len);
    for (size_t i = 0; i < q->folders_len; i++) {
        if (rc == 0)
            rc = lpo_file_flushed_folder(errors[i], q->folders[i].path, err);
        close(fds[i]);
        free(q->folders[i].path);
    }
    q->folders_len = 0;
    return rc;
}

static int enter_folder(struct lpo_file_queue *q, const char *path, struct lpo_err *err)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    const char *folder = lpo_path_dir(a, path);
    int fd;

    for (size_t i = q->folders_len; i-- > 0;)
        if (strcmp(q->folders[i].path, folder) == 0)
            return q->folders[i].fd;
    fd = lpo_file_open_folder(folder);
    if (fd < 0)
        return lpo_fail_errno(err, "cannot write '%s'", path);
    q->folders[q->folders_len++] = (struct folder){ fd, lpo_xstrdup(folder) };
    return fd;
}

static int name_and_leave(struct lpo_file_queue *q)
{
    if (name_all(q, &q->err) < 0 || leave_folders(q, &q->err) < 0)
        return q->err.code;
    return 0;
}

static int write_unnamed(struct lpo_file_queue *q, const struct entry *e)
{
    struct unnamed *u = &q->unnamed[q->files_len];
    const char *bytes = lpo_str_text(&e->bytes);
    int fd = enter_folder(q, e->path, &q->err);

    if (fd < 0)
        return q->err.code;
    /* A report made again is mostly the one that is there. One with something hidden is written
     * all the same, since its permissions may be others. */
    if ((e->filtered || !lpo_file_new_same(fd, e->path, bytes, e->bytes.len, &u->file)) &&
        lpo_file_new_write(fd, e->path, bytes, e->bytes.len, e->filtered ? 0600 : 0666, &u->file,
                           &q->err) < 0)
        return q->err.code;
    u->path = lpo_xstrdup(e->path);
    q->files_len++;
    return 0;
}

static int write_entry(struct lpo_file_queue *q, const struct entry *e)
{
    if (write_unnamed(q, e) < 0) {
        /* a process may have few descriptors, or a disk little room: give back those held here */
        if (q->files_len == 0)
            return q->err.code;
        q->err = (struct lpo_err){ 0 };
        if (name_and_leave(q) < 0 || write_unnamed(q, e) < 0)
            return q->err.code;
    }
    return q->files_len < MOST_UNNAMED ? 0 : name_and_leave(q);
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

struct lpo_file_queue *lpo_file_queue_create(void)
{
    struct lpo_file_queue *q = lpo_xcalloc(1, sizeof *q);

    q->last = &q->first;
    pthread_mutex_init(&q->lock, NULL);
    pthread_cond_init(&q->moved, NULL);
    q->threaded = lpo_thread_start(&q->thread, run, q) == 0;
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

/* Once: afterwards there is no thread, no folder and no file without a name. */
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
    /* those before the one that failed are named; its error is the one that is kept */
    if (name_all(q, q->failed ? NULL : &q->err) < 0)
        q->failed = true;
    if (leave_folders(q, q->failed ? NULL : &q->err) < 0)
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
