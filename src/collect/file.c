#include "collect/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "lpo/trace_format.h"
#include "util/crc32c.h"

enum { NAMES_TRIED = 1000, FD_LEAST = 64 };

static int open_fresh(struct lpoc_file *f, const char *dir)
{
    for (int i = 1; i <= NAMES_TRIED; i++) {
        char tail[32] = "";
        int len, fd;

        if (i > 1)
            snprintf(tail, sizeof tail, "-%d", i);
        len =
            snprintf(f->path, sizeof f->path, "%s/%ld%s%s", dir, (long)getpid(), tail, LPOT_SUFFIX);
        if (len < 0 || (size_t)len >= sizeof f->path)
            return -1;
        fd = open(f->path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0644);
        if (fd >= 0 || errno != EEXIST)
            return fd;
    }
    return -1;
}

/* Programs expect the lowest numbers to be theirs. */
static int move_up(int fd)
{
    int high = fcntl(fd, F_DUPFD_CLOEXEC, FD_LEAST);

    if (high < 0)
        return fd;
    close(fd);
    return high;
}

static bool same_file(const struct lpoc_file *f, int fd)
{
    struct stat st;

    return fstat(fd, &st) == 0 && st.st_dev == f->dev && st.st_ino == f->ino;
}

/* Raw system calls: write() is a cancellation point, and a thread cancelled here would keep our
 * locks for ever. */
static bool write_all(int fd, struct iovec *io, int count, size_t total)
{
    long n = syscall(SYS_writev, fd, io, count);

    return n >= 0 && (size_t)n == total;
}

int lpoc_file_open(struct lpoc_file *f, const char *dir, uint64_t limit_bytes)
{
    uint8_t preamble[LPOT_PREAMBLE_BYTES] = LPOT_MAGIC;
    struct iovec io = { preamble, sizeof preamble };
    struct stat st;
    int fd;

    preamble[8] = LPOT_MAJOR;
    preamble[10] = LPOT_MINOR;
    f->fd = -1;
    f->dead = true;
    mkdir(dir, 0777); /* the usual answer is EEXIST */
    fd = open_fresh(f, dir);
    if (fd < 0)
        return -1;
    fd = move_up(fd);
    if (fstat(fd, &st) < 0 || !write_all(fd, &io, 1, sizeof preamble)) {
        close(fd);
        return -1;
    }
    f->dev = st.st_dev;
    f->ino = st.st_ino;
    f->bytes = sizeof preamble;
    f->limit = limit_bytes;
    f->dead = f->full = false;
    f->fd = fd;
    return 0;
}

void lpoc_file_close(struct lpoc_file *f)
{
    if (f->fd >= 0 && same_file(f, f->fd))
        close(f->fd);
    f->fd = -1;
    f->dead = true;
}

/* Someone closed it behind our back: get it again by name, if it is still there. */
static int fd_of(struct lpoc_file *f)
{
    int fd = __atomic_load_n(&f->fd, __ATOMIC_ACQUIRE);
    int again;

    if (fd >= 0 && same_file(f, fd))
        return fd;
    again = open(f->path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW);
    if (again >= 0 && !same_file(f, again)) {
        close(again);
        again = -1;
    }
    if (again >= 0)
        again = move_up(again);
    __atomic_store_n(&f->fd, again, __ATOMIC_RELEASE);
    return again;
}

/* A write past RLIMIT_FSIZE would send SIGXFSZ and end the program. */
static bool fits(const struct lpoc_file *f, uint64_t at, size_t len, bool footer)
{
    struct rlimit limit;

    if (footer)
        ; /* the last words are small and say why the rest is missing */
    else if (__atomic_load_n(&f->full, __ATOMIC_RELAXED) || (f->limit && at + len > f->limit))
        return false;
    return getrlimit(RLIMIT_FSIZE, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY ||
           at + len <= limit.rlim_cur;
}

static void put32(uint8_t *p, uint32_t v)
{
    memcpy(p, &v, 4); /* little-endian machines only, as the CUDA ones are */
}

static void put64(uint8_t *p, uint64_t v)
{
    memcpy(p, &v, 8);
}

int lpoc_file_block(struct lpoc_file *f, struct lpoc_clock *clock, unsigned kind, uint32_t stream,
                    uint32_t sequence, const void *payload, size_t len, bool *over_limit)
{
    uint8_t head[LPOT_HEADER_BYTES] = { 0 };
    struct iovec io[2] = { { head, sizeof head }, { (void *)(uintptr_t)payload, len } };
    struct lpoc_moment now = lpoc_clock_now(clock);
    size_t total = sizeof head + len;
    uint64_t at;
    uint32_t crc;
    int fd;

    if (__atomic_load_n(&f->dead, __ATOMIC_ACQUIRE) || len > LPOT_PAYLOAD_MAX)
        return -1;
    at = __atomic_fetch_add(&f->bytes, total, __ATOMIC_RELAXED);
    if (!fits(f, at, total, kind == LPOT_FOOTER || kind == LPOT_NOTE)) {
        __atomic_fetch_sub(&f->bytes, total, __ATOMIC_RELAXED);
        if (!__atomic_exchange_n(&f->full, true, __ATOMIC_RELAXED) && over_limit)
            *over_limit = true;
        return -1;
    }
    put32(head, LPOT_BLOCK_MAGIC);
    put32(head + 4, kind);
    put32(head + 8, (uint32_t)len);
    put32(head + 16, stream);
    put32(head + 20, sequence);
    put64(head + 24, now.ticks);
    put64(head + 32, now.real_ns);
    crc = lpo_crc32c(0, head, 12);
    crc = lpo_crc32c(crc, head + 16, sizeof head - 16);
    put32(head + 12, lpo_crc32c(crc, payload, len));
    fd = fd_of(f);
    if (fd >= 0 && write_all(fd, io, len ? 2 : 1, total))
        return 0;
    __atomic_store_n(&f->dead, true, __ATOMIC_RELEASE);
    return -1;
}
