/* SPDX-License-Identifier: Apache-2.0 */
#include "util/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "util/path.h"
#include "util/spool.h"
#include "util/stale.h"

static const size_t default_limit = (size_t)1 << 30;

/* Pipes and /proc files have no size, so read until the end and grow. */
static int read_all(int fd, const char *path, size_t limit, struct lpo_file_text *t,
                    struct lpo_err *err)
{
    size_t cap = 0;

    for (;;) {
        ssize_t n;

        if (cap - t->len < 2) {
            cap = cap ? cap * 2 : 16384;
            t->at = lpo_xrealloc(t->at, cap, 1);
        }
        n = read(fd, t->at + t->len, cap - t->len - 1);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return lpo_fail_errno(err, "cannot read '%s'", path);
        if (n == 0)
            break;
        t->len += (size_t)n;
        if (t->len > limit)
            return lpo_fail(err, LPO_E_LIMIT, "'%s' is larger than %zu bytes", path, limit);
    }
    t->at[t->len] = '\0';
    return 0;
}

static int read_once(const char *path, size_t limit, struct lpo_file_text **out,
                     struct lpo_err *err)
{
    LPO_AUTO(lpo_file_text) t = NULL;
    LPO_AUTO(lpo_spool) copy = NULL;
    struct stat st;
    bool pipe = strcmp(path, "-") != 0 && lpo_spool_needed(path);
    int fd, rc;

    /* a FIFO that nobody writes to would block in open() for ever: it is read with a time limit */
    if (pipe && lpo_spool_create(path, &copy, err) < 0)
        return err ? err->code : LPO_E_IO;
    fd = open(pipe ? lpo_spool_path(copy) : path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return lpo_fail_errno(err, "cannot open '%s'", path);
    if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode)) {
        close(fd);
        return lpo_fail(err, LPO_E_IO, "'%s' is a folder, not a file", path);
    }
    t = lpo_xcalloc(1, sizeof *t);
    rc = read_all(fd, path, limit ? limit : default_limit, t, err);
    close(fd);
    if (rc < 0)
        return rc;
    *out = t;
    t = NULL;
    return 0;
}

int lpo_file_text_read_limit(const char *path, size_t limit, struct lpo_file_text **out,
                             struct lpo_err *err)
{
    unsigned tries = 0;
    struct lpo_err why;
    int rc;

    do {
        why = (struct lpo_err){ 0 };
        rc = read_once(path, limit, out, &why);
    } while (rc < 0 && lpo_stale_retry(why.system, &tries));
    if (rc < 0 && err)
        *err = why;
    return rc;
}

int lpo_file_text_read(const char *path, struct lpo_file_text **out, struct lpo_err *err)
{
    return lpo_file_text_read_limit(path, 0, out, err);
}

void lpo_file_text_destroy(struct lpo_file_text *t)
{
    if (!t)
        return;
    free(t->at);
    free(t);
}

int lpo_file_make_dirs(const char *path, struct lpo_err *err)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    char *copy = lpo_arena_strdup(a, path);
    unsigned tries = 0;

    for (char *p = copy + 1; *copy && p[-1]; p++) {
        char c = *p;

        if (c != '/' && c != '\0')
            continue;
        *p = '\0';
        while (mkdir(copy, 0777) < 0 && errno != EEXIST)
            if (!lpo_stale_retry(errno, &tries))
                return lpo_fail_errno(err, "cannot make the folder '%s'", copy);
        *p = c;
        if (c == '\0')
            break;
    }
    if (!lpo_path_is_dir(path))
        return lpo_fail(err, LPO_E_IO, "'%s' is not a folder", path);
    return 0;
}

/* --- temporary files ------------------------------------------------------------------------ */

enum { SWEEP_DEPTH = 16 };

static const char scratch_prefix[] = "lpo-";
static const time_t foreign_age_s = 24 * 3600; /* no clock is so far off */
static const time_t scratch_age_s = 10;        /* younger ones may not be locked yet */

static const char *scratch_dir(void)
{
    const char *dir = getenv("TMPDIR");

    return dir && *dir ? dir : "/tmp";
}

/* Where nobody holds its lock: the process that wrote it is gone. It is removed with the lock held,
 * so that who has just made it and comes for the lock knows that it goes. */
static void remove_abandoned(int dir, const char *name)
{
    struct stat st, same;
    int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

    if (fd < 0)
        return;
    if (fstat(fd, &st) == 0 && st.st_uid == geteuid() &&
        (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode)) && flock(fd, LOCK_EX | LOCK_NB) == 0 &&
        fstatat(dir, name, &same, AT_SYMLINK_NOFOLLOW) == 0 && same.st_ino == st.st_ino)
        lpo_file_remove_at(dir, name);
    close(fd);
}

/* Locks of many network disks hold on one machine only. */
static bool may_sweep(int dir, const char *name)
{
    struct stat st;

    return !lpo_file_temp_is_foreign(name) || (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
                                               time(NULL) - st.st_mtime > foreign_age_s);
}

int lpo_file_remove_at(int dir, const char *name)
{
    char room[2048];
    int rc = 0, fd;
    long n = 0;

    if (unlinkat(dir, name, 0) == 0 || errno == ENOENT)
        return 0;
    if (errno != EISDIR && errno != EPERM)
        return -1;
    fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return -1;
    /* without opendir(): a signal handler may not allocate */
    while (rc == 0 && (n = syscall(SYS_getdents64, fd, room, sizeof room)) > 0)
        for (long at = 0; rc == 0 && at < n;) {
            const struct dirent64 *e = (const void *)(room + at);

            if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
                rc = lpo_file_remove_at(fd, e->d_name);
            at += e->d_reclen;
        }
    close(fd);
    return rc < 0 || n < 0 ? -1 : unlinkat(dir, name, AT_REMOVEDIR);
}

static struct {
    atomic_bool set;
    char path[PATH_MAX];
} building;

void lpo_file_building(const char *path)
{
    atomic_store(&building.set, false);
    if (!path || strlen(path) >= sizeof building.path)
        return;
    strcpy(building.path, path);
    atomic_store(&building.set, true);
}

void lpo_file_drop_building(void)
{
    /* another thread may still put files there */
    for (int tries = 0; tries < 100 && atomic_load(&building.set); tries++)
        if (lpo_file_remove_at(AT_FDCWD, building.path) == 0)
            return;
}

static void sweep(int dir, bool deep, int depth)
{
    int copy = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = copy >= 0 ? fdopendir(copy) : NULL;

    if (!d && copy >= 0)
        close(copy);
    for (struct dirent *e; d && (e = readdir(d));) {
        if (lpo_str_starts(e->d_name, LPO_TEMP_PREFIX)) {
            if (may_sweep(dir, e->d_name))
                remove_abandoned(dir, e->d_name);
        } else if (deep && e->d_type == DT_DIR && depth < SWEEP_DEPTH &&
                   strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0) {
            int below = openat(dir, e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

            if (below < 0)
                continue;
            sweep(below, true, depth + 1);
            close(below);
        }
    }
    if (d)
        closedir(d);
}

void lpo_file_sweep(const char *dir, bool deep)
{
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0)
        return;
    sweep(fd, deep, 0);
    close(fd);
}

static bool is_scratch_name(const char *name)
{
    static const char *const whats[] = { "capture-", "inflate-", "pipe-", "nsys-" };

    if (!lpo_str_starts(name, scratch_prefix))
        return false;
    return lpo_any(i, sizeof whats / sizeof *whats,
                   lpo_str_starts(name + strlen(scratch_prefix), whats[i]));
}

void lpo_file_sweep_scratch(void)
{
    DIR *d = opendir(scratch_dir());

    for (struct dirent *e; d && (e = readdir(d));) {
        struct stat st;

        if (!is_scratch_name(e->d_name) ||
            fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
            time(NULL) - st.st_mtime < scratch_age_s)
            continue;
        remove_abandoned(dirfd(d), e->d_name);
    }
    if (d)
        closedir(d);
}

/* The last scratch files; whoever made one may have removed it long ago. */
enum { SCRATCH_NAMES = 8 };
static struct {
    char at[SCRATCH_NAMES][256];
    atomic_uint made;
} scratch;

void lpo_file_drop_scratch(void)
{
    for (size_t i = 0; i < SCRATCH_NAMES; i++)
        if (scratch.at[i][0] && unlink(scratch.at[i]) < 0)
            rmdir(scratch.at[i]);
}

/* For lpo_file_drop_temp(). */
static void remember(const char *path)
{
    if (strlen(path) < sizeof scratch.at[0])
        strcpy(scratch.at[atomic_fetch_add(&scratch.made, 1) % SCRATCH_NAMES], path);
}

/* A name to make something under, after a look for what others left. */
static char *scratch_template(const char *what)
{
    static bool swept;
    const char *dir = scratch_dir();
    size_t room = strlen(dir) + strlen(what) + sizeof scratch_prefix + 16;
    char *path = lpo_xmalloc(room);

    if (!swept)
        lpo_file_sweep_scratch();
    swept = true;
    snprintf(path, room, "%s/%s%s-XXXXXX", dir, scratch_prefix, what);
    return path;
}

int lpo_file_scratch(const char *what, char **path, struct lpo_err *err)
{
    int fd;

    *path = scratch_template(what);
    fd = mkostemp(*path, O_CLOEXEC); /* O_EXCL, mode 0600 */
    if (fd < 0) {
        lpo_fail_errno(err, "cannot make a temporary file in '%s'", scratch_dir());
        free(*path);
        *path = NULL;
        return -1;
    }
    flock(fd, LOCK_EX | LOCK_NB);
    remember(*path);
    return fd;
}

int lpo_file_scratch_folder(const char *what, const char *inside, char **path, struct lpo_err *err)
{
    int fd = -1;
    LPO_FREED char *file = NULL;
    size_t room;

    *path = scratch_template(what);
    if (mkdtemp(*path)) /* mode 0700 */
        fd = open(*path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) {
        lpo_fail_errno(err, "cannot make a temporary folder in '%s'", scratch_dir());
        free(*path);
        *path = NULL;
        return -1;
    }
    flock(fd, LOCK_EX | LOCK_NB);
    room = strlen(*path) + strlen(inside) + 2;
    file = lpo_xmalloc(room);
    snprintf(file, room, "%s/%s", *path, inside);
    remember(file); /* before its folder, which must be empty to go */
    remember(*path);
    return fd;
}

int lpo_file_scratch_write(int fd, const char *at, size_t len, struct lpo_err *err)
{
    while (len > 0) {
        ssize_t n = write(fd, at, len);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return lpo_fail_errno(err, "cannot write a temporary file (is TMPDIR full?)");
        at += n;
        len -= (size_t)n;
    }
    return 0;
}
