/* SPDX-License-Identifier: Apache-2.0 */
/* tests/ranks/bad_disk.c - one folder is on a bad network disk (LD_PRELOAD).
 *
 * Every call on a path or descriptor below the folder LPO_BAD_DISK may be slow or fail, in the
 * process and in all that it starts, the collector in the program too. LPO_BAD_DISK_RULES is a list
 * with commas between its rows, CALL:WHAT or CALL:WHAT:N:
 *
 * - write:ENOSPC    all of them fail
 * - open:ESTALE:5   each fifth fails, counted in each process
 * - *:20            every call of every kind takes 20 ms longer
 * - rename:stop     it never comes back; signals are still handled
 *
 * With LPO_BAD_DISK_WHEN the rules hold only while that file exists: a disk that fills up, or comes
 * back. LPO_CLOCK_OFFSET_S moves the clock of the day by so many seconds, LPO_HOST_NAME is the name
 * of the machine. What libc does inside itself (stdio, glob) is not seen. */
#undef _FILE_OFFSET_BITS /* both names of each call are ours; with this set the one is the other   \
                          */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum call { OPEN, READ, WRITE, STAT, RENAME, LINK, UNLINK, MKDIR, FSYNC, LOCK, LIST, CALLS };
static const char *const names[CALLS] = { "open",   "read",  "write", "stat", "rename", "link",
                                          "unlink", "mkdir", "fsync", "lock", "list" };
static const struct {
    const char *name;
    int code;
} errors[] = {
    { "ENOSPC", ENOSPC }, { "EIO", EIO },       { "ESTALE", ESTALE }, { "EDQUOT", EDQUOT },
    { "ENOLCK", ENOLCK }, { "EACCES", EACCES }, { "EROFS", EROFS },   { "EPERM", EPERM },
};

static struct rule {
    int error, delay_ms, every;
    bool stop;
} rules[CALLS];
static atomic_int counts[CALLS];
static char folder[PATH_MAX], when[PATH_MAX];
static size_t folder_len;
static time_t clock_offset_s;

#define REAL(name) ((__typeof__(&(name)))dlsym(RTLD_NEXT, #name))

static void read_what(struct rule *r, const char *what, int every)
{
    if (strcmp(what, "stop") == 0)
        r->stop = true;
    else if (*what >= '0' && *what <= '9')
        r->delay_ms = atoi(what);
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (strcmp(what, errors[i].name) == 0)
            r->error = errors[i].code;
    if (!r->stop && !r->delay_ms && !r->error)
        abort(); /* a test with a rule that means nothing */
    r->every = every;
}

static void read_rules(char *text)
{
    char *rest = NULL;

    for (char *row = strtok_r(text, ",", &rest); row; row = strtok_r(NULL, ",", &rest)) {
        char *inner = NULL, *call = strtok_r(row, ":", &inner), *what = strtok_r(NULL, ":", &inner),
             *every = strtok_r(NULL, ":", &inner);
        bool known = false;

        for (int i = 0; what && i < CALLS; i++)
            if (strcmp(call, "*") == 0 || strcmp(call, names[i]) == 0) {
                read_what(&rules[i], what, every ? atoi(every) : 1);
                known = true;
            }
        if (!known)
            abort();
    }
}

__attribute__((constructor)) static void start(void)
{
    const char *dir = getenv("LPO_BAD_DISK"), *text = getenv("LPO_BAD_DISK_RULES"),
               *file = getenv("LPO_BAD_DISK_WHEN"), *offset = getenv("LPO_CLOCK_OFFSET_S");

    if (offset)
        clock_offset_s = atol(offset);
    if (!dir || !text)
        return;
    if (file)
        snprintf(when, sizeof when, "%s", file);
    char *copy = strdup(text);
    read_rules(copy);
    free(copy);
    snprintf(folder, sizeof folder, "%s", dir);
    folder_len = strlen(folder);
}

static bool below(const char *path)
{
    return folder_len && strncmp(path, folder, folder_len) == 0 &&
           (path[folder_len] == '/' || path[folder_len] == '\0');
}

static bool fd_below(int fd)
{
    char link[32], path[PATH_MAX];
    ssize_t n;

    if (!folder_len || fd < 0)
        return false;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    n = REAL(readlink)(link, path, sizeof path - 1);
    path[n > 0 ? n : 0] = '\0';
    return below(path);
}

static bool path_below(int dir, const char *path)
{
    char here[PATH_MAX];

    if (!folder_len || !path || *path == '/')
        return folder_len && path && below(path);
    if (dir != AT_FDCWD)
        return fd_below(dir);
    if (!getcwd(here, sizeof here / 2))
        return false;
    strcat(here, "/");
    strncat(here, path, sizeof here / 2 - 2);
    return below(here);
}

static void pause_ms(long ms)
{
    struct timespec t = { ms / 1000, ms % 1000 * 1000000 };

    while (nanosleep(&t, &t) < 0 && errno == EINTR)
        ;
}

/* True: the call must fail, with errno set. */
static bool goes_wrong(enum call call, bool here)
{
    const struct rule *r = &rules[call];
    int saved = errno;

    if (!here || (!r->error && !r->delay_ms && !r->stop) ||
        (when[0] && syscall(SYS_access, when, F_OK) < 0) || ++counts[call] % r->every != 0) {
        errno = saved;
        return false;
    }
    while (r->stop)
        pause_ms(1000);
    if (r->delay_ms)
        pause_ms(r->delay_ms);
    errno = r->error ? r->error : saved;
    return r->error != 0;
}

/* --- by path -------------------------------------------------------------------------------- */

#define MODE_OF(flags)                                                                             \
    mode_t mode = 0;                                                                               \
    if ((flags) & (O_CREAT | O_TMPFILE)) {                                                         \
        va_list more;                                                                              \
        va_start(more, flags);                                                                     \
        mode = va_arg(more, mode_t);                                                               \
        va_end(more);                                                                              \
    }

#define OPENS(name)                                                                                \
    int name(const char *path, int flags, ...)                                                     \
    {                                                                                              \
        MODE_OF(flags)                                                                             \
        return goes_wrong(OPEN, path_below(AT_FDCWD, path)) ? -1 : REAL(name)(path, flags, mode);  \
    }
#define OPENS_AT(name)                                                                             \
    int name(int dir, const char *path, int flags, ...)                                            \
    {                                                                                              \
        MODE_OF(flags)                                                                             \
        return goes_wrong(OPEN, path_below(dir, path)) ? -1 : REAL(name)(dir, path, flags, mode);  \
    }
OPENS(open)
OPENS(open64)
OPENS_AT(openat)
OPENS_AT(openat64)

#define FOPENS(name)                                                                               \
    FILE *name(const char *path, const char *mode)                                                 \
    {                                                                                              \
        return goes_wrong(OPEN, path_below(AT_FDCWD, path)) ? NULL : REAL(name)(path, mode);       \
    }
FOPENS(fopen)
FOPENS(fopen64)

/* NOLINTBEGIN(bugprone-macro-parentheses) */
#define STATS(name, type)                                                                          \
    int name(const char *path, type *st)                                                           \
    {                                                                                              \
        return goes_wrong(STAT, path_below(AT_FDCWD, path)) ? -1 : REAL(name)(path, st);           \
    }
#define STATS_AT(name, type)                                                                       \
    int name(int dir, const char *path, type *st, int flags)                                       \
    {                                                                                              \
        return goes_wrong(STAT, path_below(dir, path)) ? -1 : REAL(name)(dir, path, st, flags);    \
    }
/* NOLINTEND(bugprone-macro-parentheses) */
STATS(stat, struct stat)
STATS(stat64, struct stat64)
STATS(lstat, struct stat)
STATS(lstat64, struct stat64)
STATS_AT(fstatat, struct stat)
STATS_AT(fstatat64, struct stat64)

int access(const char *path, int how)
{
    return goes_wrong(STAT, path_below(AT_FDCWD, path)) ? -1 : REAL(access)(path, how);
}

int rename(const char *from, const char *to)
{
    return goes_wrong(RENAME, path_below(AT_FDCWD, to)) ? -1 : REAL(rename)(from, to);
}

int renameat(int d, const char *from, int e, const char *to)
{
    return goes_wrong(RENAME, path_below(e, to)) ? -1 : REAL(renameat)(d, from, e, to);
}

int renameat2(int d, const char *from, int e, const char *to, unsigned flags)
{
    return goes_wrong(RENAME, path_below(e, to)) ? -1 : REAL(renameat2)(d, from, e, to, flags);
}

int link(const char *from, const char *to)
{
    return goes_wrong(LINK, path_below(AT_FDCWD, to)) ? -1 : REAL(link)(from, to);
}

int unlink(const char *path)
{
    return goes_wrong(UNLINK, path_below(AT_FDCWD, path)) ? -1 : REAL(unlink)(path);
}

int unlinkat(int dir, const char *path, int flags)
{
    return goes_wrong(UNLINK, path_below(dir, path)) ? -1 : REAL(unlinkat)(dir, path, flags);
}

int mkdir(const char *path, mode_t mode)
{
    return goes_wrong(MKDIR, path_below(AT_FDCWD, path)) ? -1 : REAL(mkdir)(path, mode);
}

int mkdirat(int dir, const char *path, mode_t mode)
{
    return goes_wrong(MKDIR, path_below(dir, path)) ? -1 : REAL(mkdirat)(dir, path, mode);
}

DIR *opendir(const char *path)
{
    return goes_wrong(LIST, path_below(AT_FDCWD, path)) ? NULL : REAL(opendir)(path);
}

/* --- by descriptor -------------------------------------------------------------------------- */

ssize_t read(int fd, void *bytes, size_t len)
{
    return goes_wrong(READ, fd_below(fd)) ? -1 : REAL(read)(fd, bytes, len);
}

ssize_t pread(int fd, void *bytes, size_t len, off_t at)
{
    return goes_wrong(READ, fd_below(fd)) ? -1 : REAL(pread)(fd, bytes, len, at);
}

ssize_t pread64(int fd, void *bytes, size_t len, off64_t at)
{
    return goes_wrong(READ, fd_below(fd)) ? -1 : REAL(pread64)(fd, bytes, len, at);
}

ssize_t write(int fd, const void *bytes, size_t len)
{
    return goes_wrong(WRITE, fd_below(fd)) ? -1 : REAL(write)(fd, bytes, len);
}

ssize_t pwrite(int fd, const void *bytes, size_t len, off_t at)
{
    return goes_wrong(WRITE, fd_below(fd)) ? -1 : REAL(pwrite)(fd, bytes, len, at);
}

ssize_t pwrite64(int fd, const void *bytes, size_t len, off64_t at)
{
    return goes_wrong(WRITE, fd_below(fd)) ? -1 : REAL(pwrite64)(fd, bytes, len, at);
}

int fsync(int fd)
{
    return goes_wrong(FSYNC, fd_below(fd)) ? -1 : REAL(fsync)(fd);
}

int fdatasync(int fd)
{
    return goes_wrong(FSYNC, fd_below(fd)) ? -1 : REAL(fdatasync)(fd);
}

int flock(int fd, int how)
{
    return goes_wrong(LOCK, fd_below(fd)) ? -1 : REAL(flock)(fd, how);
}

DIR *fdopendir(int fd)
{
    return goes_wrong(LIST, fd_below(fd)) ? NULL : REAL(fdopendir)(fd);
}

/* The collector writes past libc's write(). */
long syscall(long number, ...)
{
    static long (*real)(long, ...);
    long a[6];
    va_list more;

    va_start(more, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(more, long);
    va_end(more);
    if (!real)
        real = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
    if (number == SYS_writev && goes_wrong(WRITE, fd_below((int)a[0])))
        return -1;
    return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

/* --- the clock of the day ------------------------------------------------------------------- */

int clock_gettime(clockid_t id, struct timespec *t)
{
    long rc = syscall(SYS_clock_gettime, (long)id, t);

    if (rc == 0 && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE))
        t->tv_sec += clock_offset_s;
    return (int)rc;
}

time_t time(time_t *out)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    if (out)
        *out = t.tv_sec;
    return t.tv_sec;
}

int gethostname(char *out, size_t len)
{
    const char *name = getenv("LPO_HOST_NAME");

    if (!name)
        return REAL(gethostname)(out, len);
    snprintf(out, len, "%s", name);
    return 0;
}
