/* SPDX-License-Identifier: Apache-2.0 */
#include "util/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "util/arena.h"
#include "util/err.h"
#include "util/path.h"
#include "util/spool.h"
#include "util/str.h"

static const size_t default_limit = (size_t)1 << 30;
static lpo_file_filter file_filter;

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

int lpo_file_text_read_limit(const char *path, size_t limit, struct lpo_file_text **out,
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

/* Eight random bytes: a name that another user cannot guess and put a link under beforehand. */
void lpo_file_temp_name(char out[LPO_TEMP_NAME])
{
    unsigned char bytes[8];
    size_t n = sizeof LPO_TEMP_PREFIX - 1;

    if (getrandom(bytes, sizeof bytes, GRND_NONBLOCK) != (ssize_t)sizeof bytes) {
        /* O_EXCL still refuses what is there; only the guess gets easier */
        uint64_t seed = (uint64_t)getpid() << 32 ^ (uint64_t)clock() ^ (uintptr_t)&bytes;

        memcpy(bytes, &seed, sizeof bytes);
    }
    memcpy(out, LPO_TEMP_PREFIX, n);
    for (size_t i = 0; i < sizeof bytes; i++)
        n += (size_t)snprintf(out + n, LPO_TEMP_NAME - n, "%02x", bytes[i]);
}

/* The lock marks the file as being written: lpo_file_sweep() leaves it alone. It goes with the
 * descriptor, so a writer that was killed holds none. */
static int open_temp(int dir, char name[LPO_TEMP_NAME], mode_t mode)
{
    for (int i = 0; i < 100; i++) {
        int fd;

        lpo_file_temp_name(name);
        fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
        if (fd >= 0)
            flock(fd, LOCK_EX | LOCK_NB);
        if (fd >= 0 || errno != EEXIST)
            return fd;
    }
    return -1;
}

/* The file that is being written, for lpo_file_drop_temp(). Two threads that write at the same
 * time cost nothing but a file that is swept later. */
static struct {
    volatile sig_atomic_t dir; /* descriptor + 1; 0: none */
    char name[LPO_TEMP_NAME];
} in_writing;

/* The last scratch files; whoever made one may have removed it long ago. */
enum { SCRATCH_NAMES = 8 };
static struct {
    char at[SCRATCH_NAMES][256];
    atomic_uint made;
} scratch;

void lpo_file_drop_temp(void)
{
    if (in_writing.dir > 0)
        unlinkat(in_writing.dir - 1, in_writing.name, 0);
    for (size_t i = 0; i < SCRATCH_NAMES; i++)
        if (scratch.at[i][0] && unlink(scratch.at[i]) < 0)
            rmdir(scratch.at[i]);
}

/* One try. 1: the temporary file vanished before it could be renamed. */
static int replace_in(int dir, const char *path, const void *bytes, size_t len, mode_t mode,
                      struct lpo_err *err)
{
    char temp[LPO_TEMP_NAME];
    int fd = open_temp(dir, temp, mode), rc = 0;

    if (fd < 0)
        return lpo_fail_errno(err, "cannot write '%s'", path);
    memcpy(in_writing.name, temp, sizeof temp);
    in_writing.dir = dir + 1;
    if (write_all(fd, bytes, len) < 0 || fsync(fd) < 0)
        rc = lpo_fail_errno(err, "cannot write '%s'", path);
    else if (renameat(dir, temp, dir, lpo_path_base(path)) < 0)
        rc = errno == ENOENT ? 1 : lpo_fail_errno(err, "cannot put '%s' in place", path);
    if (rc != 0)
        unlinkat(dir, temp, 0);
    in_writing.dir = 0;
    /* after the rename: the lock goes with the descriptor */
    if (close(fd) < 0 && rc == 0)
        rc = lpo_fail_errno(err, "cannot write '%s'", path);
    return rc;
}

int lpo_file_open_folder(const char *path)
{
    int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (dir < 0 && errno == EACCES) /* one may write into a folder that one may not list */
        dir = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    return dir;
}

int lpo_file_flush_folder(int dir, const char *path, struct lpo_err *err)
{
    if (fsync(dir) < 0 && errno != EINVAL && errno != EBADF) /* some file systems cannot do that */
        return lpo_fail_errno(err, "cannot write the folder '%s'", path);
    return 0;
}

int lpo_file_replace(int dir, const char *path, const void *bytes, size_t len, unsigned mode,
                     struct lpo_err *err)
{
    int rc = 1;

    /* A sweep of another lpo may find the file in the moment before it is locked: write it again.
     */
    for (int i = 0; rc == 1 && i < 3; i++)
        rc = replace_in(dir, path, bytes, len, (mode_t)mode, err);
    if (rc == 1)
        rc = lpo_fail(err, LPO_E_IO, "cannot write '%s': its temporary file is removed each time",
                      path);
    return rc;
}

static int replace_file(const char *path, const void *bytes, size_t len, unsigned mode,
                        struct lpo_err *err)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    const char *folder = lpo_path_dir(a, path);
    int dir = lpo_file_open_folder(folder), rc;

    if (dir < 0)
        return lpo_fail_errno(err, "cannot write '%s'", path);
    rc = lpo_file_replace(dir, path, bytes, len, mode, err);
    if (rc == 0)
        rc = lpo_file_flush_folder(dir, folder, err);
    close(dir);
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

int lpo_file_make_dirs(const char *path, struct lpo_err *err)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    char *copy = lpo_arena_strdup(a, path);

    for (char *p = copy + 1; *copy && p[-1]; p++) {
        char c = *p;

        if (c != '/' && c != '\0')
            continue;
        *p = '\0';
        if (mkdir(copy, 0777) < 0 && errno != EEXIST)
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
static const time_t scratch_age_s = 10; /* younger ones may not be locked yet */

static const char *scratch_dir(void)
{
    const char *dir = getenv("TMPDIR");

    return dir && *dir ? dir : "/tmp";
}

/* Nobody holds its lock: the process that wrote it is gone. */
static bool is_abandoned(int dir, const char *name)
{
    struct stat st, same;
    int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    bool free;

    if (fd < 0)
        return false;
    free = fstat(fd, &st) == 0 && st.st_uid == geteuid() &&
           (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode)) && flock(fd, LOCK_EX | LOCK_NB) == 0 &&
           fstatat(dir, name, &same, AT_SYMLINK_NOFOLLOW) == 0 && same.st_ino == st.st_ino;
    close(fd);
    return free;
}

int lpo_file_remove_at(int dir, const char *name)
{
    int rc = 0, fd;
    DIR *d;

    if (unlinkat(dir, name, 0) == 0 || errno == ENOENT)
        return 0;
    if (errno != EISDIR && errno != EPERM)
        return -1;
    fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return -1;
    d = fdopendir(fd);
    if (!d) {
        close(fd);
        return -1;
    }
    for (struct dirent *e; rc == 0 && (e = readdir(d));)
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            rc = lpo_file_remove_at(fd, e->d_name);
    closedir(d);
    return rc < 0 ? rc : unlinkat(dir, name, AT_REMOVEDIR);
}

static void sweep(int dir, bool deep, int depth)
{
    int copy = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = copy >= 0 ? fdopendir(copy) : NULL;

    if (!d && copy >= 0)
        close(copy);
    for (struct dirent *e; d && (e = readdir(d));) {
        if (lpo_str_starts(e->d_name, LPO_TEMP_PREFIX)) {
            if (is_abandoned(dir, e->d_name))
                lpo_file_remove_at(dir, e->d_name);
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
    for (size_t i = 0; i < sizeof whats / sizeof *whats; i++)
        if (lpo_str_starts(name + strlen(scratch_prefix), whats[i]))
            return true;
    return false;
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
        if (is_abandoned(dirfd(d), e->d_name))
            lpo_file_remove_at(dirfd(d), e->d_name);
    }
    if (d)
        closedir(d);
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
    char *file;
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
    free(file);
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
