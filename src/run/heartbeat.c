/* SPDX-License-Identifier: Apache-2.0 */
#include "run/heartbeat.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "run/clock.h"
#include "run/folder.h"
#include "util/path.h"
#include "util/thread.h"

#define ALIVE_FILE ".lpo-alive"

enum { BEAT_S = 2 };
static const int64_t silence_ns = 20000000000; /* a slow disk may hold up a few beats */

struct lpo_heartbeat {
    char *path;
    bool locked, stop;
    unsigned count;
    pthread_t thread;
    pthread_mutex_t lock; /* guards `stop` */
    pthread_cond_t stopped;
};

static void host_name(char out[65])
{
    memset(out, 0, 65);
    if (gethostname(out, 64) < 0 || !*out)
        strcpy(out, "?");
    for (char *c = out; *c; c++)
        if (*c <= ' ' || *c > '~')
            *c = '_';
}

/* Opened and closed each time: a network disk shows to others what was closed. Always as long as
 * before, so that a full disk has room for it. */
static void beat(struct lpo_heartbeat *h)
{
    int fd = open(h->path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
    char text[120], host[65];
    int n;

    if (fd < 0)
        return;
    host_name(host);
    n = snprintf(text, sizeof text, "%s %s %010u\n", host, h->locked ? "locked" : "unlocked",
                 ++h->count);
    if (pwrite(fd, text, (size_t)n, 0) < 0)
        h->count--; /* the next one says it */
    close(fd);
}

static void *beat_on(void *arg)
{
    struct lpo_heartbeat *h = arg;

    pthread_mutex_lock(&h->lock);
    while (!h->stop) {
        struct timespec until;

        pthread_mutex_unlock(&h->lock);
        beat(h);
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_sec += BEAT_S;
        pthread_mutex_lock(&h->lock);
        if (!h->stop)
            pthread_cond_timedwait(&h->stopped, &h->lock, &until);
    }
    pthread_mutex_unlock(&h->lock);
    return NULL;
}

static void heartbeat_free(struct lpo_heartbeat *h)
{
    pthread_cond_destroy(&h->stopped);
    pthread_mutex_destroy(&h->lock);
    free(h->path);
    free(h);
}

struct lpo_heartbeat *lpo_run_heartbeat_start(const char *dir, bool locked)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    struct lpo_heartbeat *h = lpo_xcalloc(1, sizeof *h);
    pthread_condattr_t steady;

    h->path = lpo_xstrdup(lpo_path_join(a, dir, ALIVE_FILE));
    h->locked = locked;
    pthread_mutex_init(&h->lock, NULL);
    pthread_condattr_init(&steady);
    pthread_condattr_setclock(&steady, CLOCK_MONOTONIC);
    pthread_cond_init(&h->stopped, &steady);
    pthread_condattr_destroy(&steady);
    if (lpo_thread_start(&h->thread, beat_on, h) == 0)
        return h;
    heartbeat_free(h);
    return NULL;
}

void lpo_run_heartbeat_stop(struct lpo_heartbeat *h)
{
    if (!h)
        return;
    pthread_mutex_lock(&h->lock);
    h->stop = true;
    pthread_cond_signal(&h->stopped);
    pthread_mutex_unlock(&h->lock);
    pthread_join(h->thread, NULL);
    unlink(h->path);
    heartbeat_free(h);
}

/* --- who waits ------------------------------------------------------------------------------ */

static void look(struct lpo_heartbeat_watch *w, struct lpo_arena *a, const char *dir)
{
    int fd =
        open(lpo_path_join(a, dir, ALIVE_FILE), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    char text[sizeof w->text] = { 0 };
    int64_t now = lpo_run_clock_ns();
    ssize_t n = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;

    if (fd >= 0)
        close(fd);
    if (!w->changed_ns)
        w->changed_ns = now;
    if (n <= 0 || strcmp(text, w->text) == 0)
        return;
    memcpy(w->text, text, sizeof text);
    w->changed_ns = now;
}

/* "host locked 0000000012": it held a lock that this machine sees. */
static bool lock_is_ours_to_ask(const struct lpo_heartbeat_watch *w)
{
    char host[65];
    size_t len;

    host_name(host);
    len = strlen(host);
    return strncmp(w->text, host, len) == 0 && strncmp(w->text + len, " locked ", 8) == 0;
}

/* The kernel gives the lock of a process that ended to whoever asks. */
static bool lock_is_free(struct lpo_arena *a, const char *dir)
{
    int fd = open(lpo_path_join(a, dir, LPO_RUN_LOCK), O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    bool is_free;

    if (fd < 0)
        return errno == ENOENT;
    is_free = flock(fd, LOCK_EX | LOCK_NB) == 0;
    close(fd);
    return is_free;
}

bool lpo_run_heartbeat_is_over(struct lpo_heartbeat_watch *w, const char *dir)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();

    look(w, a, dir);
    if (lock_is_ours_to_ask(w) && lock_is_free(a, dir))
        return true;
    return !lock_is_ours_to_ask(w) && lpo_run_clock_ns() - w->changed_ns >= silence_ns;
}
