/* SPDX-License-Identifier: Apache-2.0 */
/* tests/torture/faults.c - a library that goes wrong on purpose (LD_PRELOAD).
 *
 * It counts the calls that touch files and processes in the one process it is loaded into, and does
 * one bad thing at the N-th of a kind:
 *
 * - LPO_FAULT_CALL=rename LPO_FAULT_AT=3 LPO_FAULT=kill: killed right before the third rename
 * - LPO_FAULT=ENOSPC (EIO, …): that call and all later ones of the kind fail
 * - LPO_FAULT=short: that write writes, or that read reads, half of what it was asked to
 * - LPO_FAULT=stall: that call never comes back, and makes the file LPO_FAULT_NOTE
 * - LPO_FAULT_COUNT=file: nothing goes wrong; the counts are written there
 *
 * `once` behind the name of an error (ENOSPC:once) makes only that call fail. Children are spared:
 * the variables leave the environment before main() starts. Reads and writes of descriptors 0 to 2
 * are not counted, so that messages still reach people. */
/* Both names of open() are ours; with this set the one is the other. */
#undef _FILE_OFFSET_BITS
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

enum call { RENAME, FSYNC, WRITE, OPEN, SPAWN, UNLINK, MKDIR, FLOCK, READ, PIPE, MALLOC, CALLS };
static const char *const names[CALLS] = { "rename", "fsync", "write", "open", "spawn", "unlink",
                                          "mkdir",  "flock", "read",  "pipe", "malloc" };
static const struct {
    const char *name;
    int code;
} errors[] = {
    { "ENOSPC", ENOSPC }, { "EIO", EIO },     { "EMFILE", EMFILE }, { "EACCES", EACCES },
    { "ENOMEM", ENOMEM }, { "EINTR", EINTR }, { "ENOLCK", ENOLCK }, { "ESTALE", ESTALE },
};

static atomic_int counts[CALLS];
static int want_call = -1, want_at, want_error;
static bool want_kill, want_stall, want_short, want_once, ready;
static char count_file[4096], note_file[4096];

__attribute__((constructor)) static void start(void)
{
    const char *call = getenv("LPO_FAULT_CALL"), *at = getenv("LPO_FAULT_AT"),
               *what = getenv("LPO_FAULT"), *file = getenv("LPO_FAULT_COUNT"),
               *note = getenv("LPO_FAULT_NOTE");

    for (int i = 0; call && i < CALLS; i++)
        if (strcmp(call, names[i]) == 0)
            want_call = i;
    want_at = at ? atoi(at) : 0;
    if (what) {
        size_t len = strcspn(what, ":");

        want_kill = strcmp(what, "kill") == 0;
        want_stall = strcmp(what, "stall") == 0;
        want_short = strcmp(what, "short") == 0;
        want_once = strcmp(what + len, ":once") == 0;
        for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
            if (strlen(errors[i].name) == len && strncmp(what, errors[i].name, len) == 0)
                want_error = errors[i].code;
    }
    if (file)
        snprintf(count_file, sizeof count_file, "%s", file);
    if (note)
        snprintf(note_file, sizeof note_file, "%s", note);
    unsetenv("LD_PRELOAD");
    unsetenv("LPO_FAULT_CALL");
    unsetenv("LPO_FAULT_AT");
    unsetenv("LPO_FAULT");
    unsetenv("LPO_FAULT_COUNT");
    unsetenv("LPO_FAULT_NOTE");
    ready = true;
}

__attribute__((destructor)) static void end(void)
{
    FILE *f;

    ready = false;
    if (!count_file[0] || !(f = fopen(count_file, "w")))
        return;
    for (int i = 0; i < CALLS; i++)
        fprintf(f, "%s %d\n", names[i], counts[i]);
    fclose(f);
}

/* Never comes back; signals are still handled. The file tells the test that we are here. */
static void stall(void)
{
    ready = false;
    if (note_file[0])
        close(creat(note_file, 0600));
    ready = true;
    for (;;)
        sleep(1);
}

/* Counts a call; true when it must fail, with errno set. */
static bool fails(enum call call)
{
    int n;

    if (!ready)
        return false;
    n = ++counts[call];
    if ((int)call != want_call || n < want_at)
        return false;
    if (want_kill && n == want_at)
        kill(getpid(), SIGKILL);
    if (want_stall && n == want_at)
        stall();
    if (!want_error || (want_once && n > want_at))
        return false;
    errno = want_error;
    return true;
}

#define REAL(name) ((__typeof__(&(name)))dlsym(RTLD_NEXT, #name))

int rename(const char *from, const char *to)
{
    return fails(RENAME) ? -1 : REAL(rename)(from, to);
}

int renameat(int d, const char *from, int e, const char *to)
{
    return fails(RENAME) ? -1 : REAL(renameat)(d, from, e, to);
}

int renameat2(int d, const char *from, int e, const char *to, unsigned flags)
{
    return fails(RENAME) ? -1 : REAL(renameat2)(d, from, e, to, flags);
}

int fsync(int fd)
{
    return fails(FSYNC) ? -1 : REAL(fsync)(fd);
}

int fdatasync(int fd)
{
    return fails(FSYNC) ? -1 : REAL(fdatasync)(fd);
}

ssize_t write(int fd, const void *bytes, size_t len)
{
    if (fd > 2) {
        if (fails(WRITE))
            return -1;
        if (want_short && want_call == WRITE && counts[WRITE] == want_at && len > 1)
            len /= 2;
    }
    return REAL(write)(fd, bytes, len);
}

static size_t short_read(int fd, size_t len)
{
    return fd > 2 && want_short && want_call == READ && counts[READ] == want_at && len > 1 ? len / 2
                                                                                           : len;
}

ssize_t read(int fd, void *bytes, size_t len)
{
    if (fd > 2 && fails(READ))
        return -1;
    return REAL(read)(fd, bytes, short_read(fd, len));
}

ssize_t pread(int fd, void *bytes, size_t len, off_t at)
{
    if (fd > 2 && fails(READ))
        return -1;
    return REAL(pread)(fd, bytes, short_read(fd, len), at);
}

ssize_t pread64(int fd, void *bytes, size_t len, off64_t at)
{
    if (fd > 2 && fails(READ))
        return -1;
    return REAL(pread64)(fd, bytes, short_read(fd, len), at);
}

int pipe2(int ends[2], int flags)
{
    return fails(PIPE) ? -1 : REAL(pipe2)(ends, flags);
}

/* How many cgroups of others lpo looks at depends on who else runs it. */
static bool counted(const char *path)
{
    return strncmp(path, "/sys/fs/cgroup", 14) != 0 && strncmp(path, "cgroup.", 7) != 0;
}

/* The mode is there when the flags say that a file is made. */
#define OPEN_WITH(call)                                                                            \
    mode_t mode = 0;                                                                               \
    if (flags & (O_CREAT | O_TMPFILE)) {                                                           \
        va_list more;                                                                              \
        va_start(more, flags);                                                                     \
        mode = va_arg(more, mode_t);                                                               \
        va_end(more);                                                                              \
    }                                                                                              \
    return counted(path) && fails(OPEN) ? -1 : call

int open(const char *path, int flags, ...)
{
    OPEN_WITH(REAL(open)(path, flags, mode));
}

int open64(const char *path, int flags, ...)
{
    OPEN_WITH(REAL(open64)(path, flags, mode));
}

int openat(int dir, const char *path, int flags, ...)
{
    OPEN_WITH(REAL(openat)(dir, path, flags, mode));
}

int openat64(int dir, const char *path, int flags, ...)
{
    OPEN_WITH(REAL(openat64)(dir, path, flags, mode));
}

int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
                const posix_spawnattr_t *attr, char *const argv[], char *const env[])
{
    return fails(SPAWN) ? errno : REAL(posix_spawn)(pid, path, actions, attr, argv, env);
}

int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
                 const posix_spawnattr_t *attr, char *const argv[], char *const env[])
{
    return fails(SPAWN) ? errno : REAL(posix_spawnp)(pid, file, actions, attr, argv, env);
}

pid_t fork(void)
{
    return fails(SPAWN) ? -1 : REAL(fork)();
}

int unlink(const char *path)
{
    return fails(UNLINK) ? -1 : REAL(unlink)(path);
}

int unlinkat(int dir, const char *path, int flags)
{
    return fails(UNLINK) ? -1 : REAL(unlinkat)(dir, path, flags);
}

int mkdir(const char *path, mode_t mode)
{
    return fails(MKDIR) ? -1 : REAL(mkdir)(path, mode);
}

int mkdirat(int dir, const char *path, mode_t mode)
{
    return fails(MKDIR) ? -1 : REAL(mkdirat)(dir, path, mode);
}

int flock(int fd, int how)
{
    return fails(FLOCK) ? -1 : REAL(flock)(fd, how);
}

/* dlsym() itself allocates, so libc's own names are taken. */
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *p, size_t size);

void *malloc(size_t size)
{
    return fails(MALLOC) ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return fails(MALLOC) ? NULL : __libc_calloc(count, size);
}

void *realloc(void *p, size_t size)
{
    return fails(MALLOC) ? NULL : __libc_realloc(p, size);
}
