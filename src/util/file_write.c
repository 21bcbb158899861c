/* SPDX-License-Identifier: Apache-2.0 */
/* Whole files out: written beside, flushed, renamed. */
#include "util/file.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "util/path.h"
#include "util/stale.h"
#include "util/thread.h"

static lpo_file_filter file_filter;

static int write_all(int fd, const char *bytes, size_t len)
{
    while (len > 0) {
        ssize_t n = write(fd, bytes, len);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        bytes += n;
        len -= (size_t)n;
    }
    return 0;
}

static uint32_t host_number(void)
{
    char host[65] = { 0 };

    gethostname(host, sizeof host - 1);
    return (uint32_t)lpo_str_hash(host, strlen(host));
}

/* Eight random bytes: a name that another user cannot guess and put a link under beforehand. */
void lpo_file_temp_name(char out[LPO_TEMP_NAME])
{
    unsigned char bytes[8];
    size_t n;

    if (getrandom(bytes, sizeof bytes, GRND_NONBLOCK) != (ssize_t)sizeof bytes) {
        /* O_EXCL still refuses what is there; only the guess gets easier */
        uint64_t seed = (uint64_t)getpid() << 32 ^ (uint64_t)clock() ^ (uintptr_t)&bytes;

        memcpy(bytes, &seed, sizeof bytes);
    }
    n = (size_t)snprintf(out, LPO_TEMP_NAME, LPO_TEMP_PREFIX "%08x", host_number());
    for (size_t i = 0; i < sizeof bytes; i++)
        n += (size_t)snprintf(out + n, LPO_TEMP_NAME - n, "%02x", bytes[i]);
}

bool lpo_file_temp_is_foreign(const char *name)
{
    char own[LPO_TEMP_NAME];

    snprintf(own, sizeof own, LPO_TEMP_PREFIX "%08x", host_number());
    return strlen(name) == LPO_TEMP_NAME - 1 && strncmp(name, own, strlen(own)) != 0;
}

bool lpo_file_keep(int fd)
{
    struct stat st;

    if (flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
        return false;
    return fstat(fd, &st) < 0 || st.st_nlink > 0;
}

/* The lock marks the file as being written. It goes with the descriptor, so a writer that was
 * killed holds none. */
static int open_temp(int dir, char name[LPO_TEMP_NAME], mode_t mode)
{
    unsigned tries = 0;

    for (int i = 0; i < 100; i++) {
        int fd;

        lpo_file_temp_name(name);
        fd = openat(dir, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
        if (fd >= 0 ? lpo_file_keep(fd) : errno != EEXIST && !lpo_stale_retry(errno, &tries))
            return fd;
        if (fd >= 0)
            close(fd);
    }
    return -1;
}

/* Files without a name yet, for lpo_file_drop_temp(). One that finds no free place here costs
 * nothing but a file that is swept later. */
enum { IN_WRITING = 128 };
static struct {
    atomic_int dir; /* descriptor + 1; 0: free; -1: being filled */
    char name[LPO_TEMP_NAME];
} in_writing[IN_WRITING];

static void remember(const struct lpo_file_new *f)
{
    for (size_t i = 0; i < IN_WRITING; i++) {
        int none = 0;

        if (!atomic_compare_exchange_strong(&in_writing[i].dir, &none, -1))
            continue;
        memcpy(in_writing[i].name, f->temp, sizeof f->temp);
        atomic_store(&in_writing[i].dir, f->dir + 1);
        return;
    }
}

static void forget(const struct lpo_file_new *f)
{
    for (size_t i = 0; i < IN_WRITING; i++)
        if (atomic_load(&in_writing[i].dir) == f->dir + 1 &&
            memcmp(in_writing[i].name, f->temp, sizeof f->temp) == 0)
            atomic_store(&in_writing[i].dir, 0);
}

void lpo_file_drop_temp(void)
{
    for (size_t i = 0; i < IN_WRITING; i++) {
        int dir = atomic_load(&in_writing[i].dir);

        if (dir > 0)
            unlinkat(dir - 1, in_writing[i].name, 0);
    }
    lpo_file_drop_scratch();
    lpo_file_drop_building();
}

void lpo_file_new_drop(struct lpo_file_new *f)
{
    if (*f->temp) {
        unlinkat(f->dir, f->temp, 0);
        forget(f);
    }
    close(f->fd);
}

static int write_once(int dir, const char *path, const void *bytes, size_t len, unsigned mode,
                      struct lpo_file_new *out, struct lpo_err *err)
{
    *out = (struct lpo_file_new){ .dir = dir, .mode = mode };
    out->fd = open_temp(dir, out->temp, (mode_t)mode);
    if (out->fd < 0)
        return lpo_fail_errno(err, "cannot write '%s'", path);
    remember(out);
    if (write_all(out->fd, bytes, len) < 0) {
        int rc = lpo_fail_errno(err, "cannot write '%s'", path);

        lpo_file_new_drop(out);
        return rc;
    }
    return 0;
}

/* A handle that became stale is of no use any more: a new file is begun. */
int lpo_file_new_write(int dir, const char *path, const void *bytes, size_t len, unsigned mode,
                       struct lpo_file_new *out, struct lpo_err *err)
{
    struct lpo_err why;
    unsigned tries = 0;
    int rc;

    do {
        why = (struct lpo_err){ 0 };
        rc = write_once(dir, path, bytes, len, mode, out, &why);
    } while (rc < 0 && lpo_stale_retry(why.system, &tries));
    if (rc < 0) {
        if (err)
            *err = why;
        return rc;
    }
    /* the disk may begin; whoever flushes later waits less, and for many files at once */
    sync_file_range(out->fd, 0, 0, SYNC_FILE_RANGE_WRITE);
    return 0;
}

static bool holds(int fd, const char *bytes, size_t len)
{
    char block[32 << 10];
    struct stat st;

    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || (uintmax_t)st.st_size != len)
        return false;
    while (len > 0) {
        ssize_t n = read(fd, block, len < sizeof block ? len : sizeof block);

        if (n <= 0 || memcmp(block, bytes, (size_t)n) != 0)
            return false;
        bytes += n;
        len -= (size_t)n;
    }
    return true;
}

bool lpo_file_new_same(int dir, const char *path, const void *bytes, size_t len,
                       struct lpo_file_new *out)
{
    /* not blocking: a pipe under that name has nobody at its other end */
    int fd = openat(dir, lpo_path_base(path), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

    *out = (struct lpo_file_new){ .dir = dir, .fd = fd };
    if (fd >= 0 && holds(fd, bytes, len))
        return true;
    if (fd >= 0)
        close(fd);
    return false;
}

struct flushing {
    const int *fds;
    int *errors;
    size_t count;
    atomic_size_t next;
};

/* One alone: 0 or errno. */
static int flush(int fd)
{
    unsigned tries = 0;

    while (fsync(fd) < 0)
        if (!lpo_stale_retry(errno, &tries))
            return errno;
    return 0;
}

static void *flush_some(void *arg)
{
    struct flushing *f = arg;
    size_t i;

    while ((i = atomic_fetch_add(&f->next, 1)) < f->count)
        f->errors[i] = flush(f->fds[i]);
    return NULL;
}

void lpo_file_flush_all(const int *fds, int *errors, size_t count)
{
    enum { THREADS = 7 }; /* beside the caller's */
    struct flushing f = { .fds = fds, .errors = errors, .count = count };
    pthread_t threads[THREADS];
    size_t started = 0;

    while (started < THREADS && started + 1 < count &&
           lpo_thread_start(&threads[started], flush_some, &f) == 0)
        started++;
    flush_some(&f);
    while (started > 0)
        pthread_join(threads[--started], NULL);
}

/* A sweep of another lpo may have found the file in the moment before it was locked, and removed
 * its name. The bytes are still behind the descriptor: they get another name. */
static int write_again(struct lpo_file_new *f, const char *path, struct lpo_err *err)
{
    struct lpo_file_new again;
    char block[16384];
    off_t at = 0;
    ssize_t n;

    if (lpo_file_new_write(f->dir, path, NULL, 0, f->mode, &again, err) < 0)
        return err ? err->code : LPO_E_IO;
    while ((n = pread(f->fd, block, sizeof block, at)) > 0 &&
           write_all(again.fd, block, (size_t)n) == 0)
        at += n;
    if (n != 0 || fsync(again.fd) < 0) {
        int rc = lpo_fail_errno(err, "cannot write '%s'", path);

        lpo_file_new_drop(&again);
        return rc;
    }
    forget(f);
    close(f->fd);
    *f = again;
    return 0;
}

int lpo_file_new_name(struct lpo_file_new *f, const char *path, struct lpo_err *err)
{
    unsigned tries = 0;
    int rc = 0;

    if (!*f->temp) {
        close(f->fd);
        return 0;
    }
    for (int i = 0; renameat(f->dir, f->temp, f->dir, lpo_path_base(path)) < 0; i++) {
        if (lpo_stale_retry(errno, &tries))
            continue;
        if (errno != ENOENT)
            rc = lpo_fail_errno(err, "cannot put '%s' in place", path);
        else if (i == 2)
            rc = lpo_fail(err, LPO_E_IO,
                          "cannot write '%s': another program keeps removing its temporary file",
                          path);
        else
            rc = write_again(f, path, err);
        if (rc < 0) {
            lpo_file_new_drop(f);
            return rc;
        }
    }
    forget(f);
    /* after the rename: the lock goes with the descriptor */
    return close(f->fd) < 0 ? lpo_fail_errno(err, "cannot write '%s'", path) : 0;
}

int lpo_file_open_folder(const char *path)
{
    unsigned tries = 0;
    int dir;

    do
        dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    while (dir < 0 && lpo_stale_retry(errno, &tries));
    if (dir < 0 && errno == EACCES) /* one may write into a folder that one may not list */
        dir = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    return dir;
}

int lpo_file_flushed(int error, const char *path, struct lpo_err *err)
{
    errno = error;
    return error ? lpo_fail_errno(err, "cannot write '%s'", path) : 0;
}

int lpo_file_flushed_folder(int error, const char *path, struct lpo_err *err)
{
    /* some file systems cannot flush a folder */
    return error == EINVAL || error == EBADF ? 0 : lpo_file_flushed(error, path, err);
}

static int replace_once(const char *path, const void *bytes, size_t len, unsigned mode,
                        struct lpo_err *err)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    const char *folder = lpo_path_dir(a, path);
    int dir = lpo_file_open_folder(folder), rc;
    struct lpo_file_new f;

    if (dir < 0)
        return lpo_fail_errno(err, "cannot write '%s'", path);
    rc = lpo_file_new_write(dir, path, bytes, len, mode, &f, err);
    if (rc == 0) {
        rc = lpo_file_flushed(flush(f.fd), path, err);
        if (rc < 0)
            lpo_file_new_drop(&f);
        else
            rc = lpo_file_new_name(&f, path, err);
    }
    if (rc == 0)
        rc = lpo_file_flushed_folder(flush(dir), folder, err);
    close(dir);
    return rc;
}

static int replace_file(const char *path, const void *bytes, size_t len, unsigned mode,
                        struct lpo_err *err)
{
    unsigned tries = 0;
    struct lpo_err why;
    int rc;

    do {
        why = (struct lpo_err){ 0 };
        rc = replace_once(path, bytes, len, mode, &why);
    } while (rc < 0 && lpo_stale_retry(why.system, &tries));
    if (rc < 0 && err)
        *err = why;
    return rc;
}

void lpo_file_set_filter(lpo_file_filter filter)
{
    file_filter = filter;
}

bool lpo_file_filtered(const void *bytes, size_t len, struct lpo_str *out)
{
    return file_filter && file_filter(bytes, len, out);
}

int lpo_file_write(const char *path, const void *bytes, size_t len, struct lpo_err *err)
{
    LPO_STR other = { 0 };

    if (lpo_file_filtered(bytes, len, &other))
        return replace_file(path, lpo_str_text(&other), other.len, 0600, err);
    return replace_file(path, bytes, len, 0666, err);
}

int lpo_file_write_private(const char *path, const void *bytes, size_t len, struct lpo_err *err)
{
    LPO_STR other = { 0 };
    bool changed = lpo_file_filtered(bytes, len, &other);

    return replace_file(path, changed ? lpo_str_text(&other) : bytes, changed ? other.len : len,
                        0600, err);
}
