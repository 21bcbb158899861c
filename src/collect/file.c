/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "collect/encode.h"
#include "collect/guard.h"
#include "collect/mem.h"
#include "lpo/trace_format.h"
#include "util/crc32c.h"

enum { NAMES_TRIED = 1000, FD_LEAST = 64 };
enum { PAUSE_FIRST_NS = 10000000, PAUSE_MOST_NS = 1000000000 }; /* between tries of a bad disk */

static void set_failure(struct lpoc_file *f, int failure)
{
    __atomic_store_n(&f->failure, failure, __ATOMIC_RELAXED);
}

/* By hand: printf takes more stack than a signal handler may have. The first name of a rank, try 0,
 * has no pid in it. */
static bool make_path(char *out, const struct lpoc_place *place, unsigned try)
{
    size_t len = strlen(place->dir);

    if (len + 64 > LPOC_PATH_MAX)
        return false;
    memcpy(out, place->dir, len); /* NOLINT(bugprone-not-null-terminated-result): ends below */
    out[len++] = '/';
    if (place->rank >= 0) {
        strcpy(out + len, "rank");
        len += 4;
        len += lpoc_put_decimal(out + len, place->rank);
        if (try)
            out[len++] = '.';
    }
    if (try)
        len += lpoc_put_decimal(out + len, getpid());
    if (try > 1) {
        out[len++] = '-';
        len += lpoc_put_decimal(out + len, try);
    }
    strcpy(out + len, LPOT_SUFFIX);
    return true;
}

/* A descriptor, or -errno. */
static int open_fresh(struct lpoc_file *f, const struct lpoc_place *place)
{
    for (unsigned i = place->rank >= 0 && !place->forked ? 0 : 1; i <= NAMES_TRIED; i++) {
        int fd;

        if (!make_path(f->path, place, i))
            return -ENAMETOOLONG;
        fd = open(f->path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (fd >= 0)
            return fd;
        if (errno != EEXIST)
            return -errno;
    }
    return -EEXIST;
}

int lpoc_file_move_up(int fd)
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

    errno = 0;
    return fstat(fd, &st) == 0 && st.st_dev == f->dev && st.st_ino == f->ino;
}

/* All of it, or an errno and *written. Raw: write() is a cancellation point of libc. */
static int write_all(int fd, struct iovec *io, int count, size_t total, size_t *written)
{
    *written = 0;
    while (*written < total) {
        long n = syscall(SYS_writev, fd, io, count);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? errno : ENOSPC;
        *written += (size_t)n;
        for (size_t left = (size_t)n; left && count;) { /* a part was written: try the rest */
            size_t piece = left < io->iov_len ? left : io->iov_len;
            io->iov_base = (uint8_t *)io->iov_base + piece;
            io->iov_len -= piece;
            left -= piece;
            if (!io->iov_len)
                io++, count--;
        }
    }
    return 0;
}

/* A page that the kernel empties in every copy of this memory, however the copy was made. */
static uint32_t *make_mark(void)
{
    uint32_t *mark = lpoc_map(4096);

    if (mark && madvise(mark, 4096, MADV_WIPEONFORK) < 0) { /* before Linux 4.14 */
        lpoc_unmap(mark, 4096);
        return NULL;
    }
    return mark;
}

bool lpoc_file_is_ours(const struct lpoc_file *f)
{
    return f->mark ? *f->mark != 0 : getpid() == f->pid;
}

/* An open file takes the place of the parent's, if there was one. */
static void settle(struct lpoc_file *f, int fd, const struct stat *st, uint64_t limit_bytes)
{
    if (f->fd >= 0 && same_file(f, f->fd))
        close(f->fd);
    f->dev = st->st_dev;
    f->ino = st->st_ino;
    f->bytes = LPOT_PREAMBLE_BYTES;
    f->limit = limit_bytes;
    f->reserve_at = 0;
    f->troubles = (struct lpoc_troubles){ 0 };
    f->torn_at = f->torn_end = 0;
    set_failure(f, 0);
    f->explained = false;
    f->pid = getpid();
    if (!f->mark)
        f->mark = make_mark();
    if (f->mark)
        *f->mark = 1;
    if (!f->scratch)
        f->scratch = lpoc_map(LPOC_RESERVE);
    f->fd = fd;
}

int lpoc_file_open(struct lpoc_file *f, const struct lpoc_place *place, uint64_t limit_bytes)
{
    uint8_t preamble[LPOT_PREAMBLE_BYTES] = LPOT_MAGIC;
    struct iovec io = { preamble, sizeof preamble };
    struct stat st;
    size_t written;
    int fd, failure = 0;

    preamble[8] = LPOT_MAJOR;
    preamble[10] = LPOT_MINOR;
    set_failure(f, LPOC_NOT_OURS);
    mkdir(place->dir, 0777); /* the usual answer is EEXIST */
    fd = open_fresh(f, place);
    if (fd < 0)
        return -fd;
    fd = lpoc_file_move_up(fd);
    if (fstat(fd, &st) < 0)
        failure = errno;
    else
        failure = write_all(fd, &io, 1, sizeof preamble, &written);
    if (failure) {
        unlink(f->path); /* an empty file would only look like a damaged trace */
        close(fd);
        return failure;
    }
    settle(f, fd, &st, limit_bytes);
    return 0;
}

void lpoc_file_forked(struct lpoc_file *f)
{
    pthread_mutex_init(&f->lock, NULL);
    set_failure(f, LPOC_NOT_OURS);
}

/* Someone closed it behind our back: get it again by name, if it is still there. */
static int fd_of(struct lpoc_file *f)
{
    int again;

    if (f->fd >= 0 && same_file(f, f->fd))
        return f->fd;
    if (f->fd >= 0 && errno == ESTALE)
        close(f->fd);
    again = open(f->path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW);
    if (again >= 0 && !same_file(f, again)) {
        close(again);
        again = -1;
    }
    f->fd = again >= 0 ? lpoc_file_move_up(again) : -1;
    return f->fd;
}

/* A write past RLIMIT_FSIZE would send SIGXFSZ and end the program. */
static bool fits(const struct lpoc_file *f, size_t len, bool small)
{
    struct rlimit limit;

    /* Notes and totals may pass the user's limit: they are small, and say why the rest is missing.
     */
    if (!small && f->limit && f->bytes + len > f->limit)
        return false;
    return getrlimit(RLIMIT_FSIZE, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY ||
           f->bytes + len <= limit.rlim_cur;
}

static void put32(uint8_t *p, uint32_t v)
{
    memcpy(p, &v, 4); /* little-endian machines only, as the CUDA ones are */
}

static void put64(uint8_t *p, uint64_t v)
{
    memcpy(p, &v, 8);
}

static void put_header(uint8_t *head, const struct lpoc_moment *now, const struct lpoc_block *b)
{
    uint32_t crc;

    memset(head, 0, LPOT_HEADER_BYTES);
    put32(head, LPOT_BLOCK_MAGIC);
    put32(head + 4, b->kind);
    put32(head + 8, (uint32_t)b->len);
    put32(head + 16, b->stream);
    put32(head + 20, b->sequence);
    put64(head + 24, now->ticks);
    put64(head + 32, now->steady_ns);
    crc = lpo_crc32c(0, head, 12);
    crc = lpo_crc32c(crc, head + 16, LPOT_HEADER_BYTES - 16);
    put32(head + 12, lpo_crc32c(crc, b->payload, b->len));
}

/* Cuts off what was left of a block by an earlier try. 0 or an errno. */
static int mend(struct lpoc_file *f, int fd)
{
    struct stat st;

    if (!f->torn_end)
        return 0;
    if (fstat(fd, &st) < 0)
        return errno;
    if (st.st_size != f->torn_end) /* a forked child has written after it */
        return LPOC_NOT_OURS;
    if (ftruncate(fd, f->torn_at) < 0)
        return errno;
    f->torn_at = f->torn_end = 0;
    return 0;
}

/* Appends a block; what was written of one that does not fit is cut off again. 0 or an errno. */
static int append(struct lpoc_file *f, int fd, const struct lpoc_moment *now,
                  const struct lpoc_block *b)
{
    uint8_t head[LPOT_HEADER_BYTES];
    struct iovec io[2] = { { head, sizeof head }, { (void *)(uintptr_t)b->payload, b->len } };
    struct stat st;
    size_t written;
    int failure;

    put_header(head, now, b);
    failure = write_all(fd, io, b->len ? 2 : 1, sizeof head + b->len, &written);
    if (failure && written && fstat(fd, &st) == 0 && (size_t)st.st_size >= written &&
        ftruncate(fd, st.st_size - (off_t)written) < 0) {
        f->torn_at = st.st_size - (off_t)written; /* the reader would stop there */
        f->torn_end = st.st_size;
    }
    return failure;
}

static int append_once(struct lpoc_file *f, const struct lpoc_moment *now,
                       const struct lpoc_block *b)
{
    int fd = fd_of(f), failure;

    if (fd < 0)
        return EBADF;
    failure = mend(f, fd);
    return failure ? failure : append(f, fd, now, b);
}

static int try_block(struct lpoc_file *f, const struct lpoc_moment *now, const struct lpoc_block *b)
{
    int failure;

    if (!fits(f, LPOT_HEADER_BYTES + b->len, b->kind == LPOT_FOOTER || b->kind == LPOT_NOTE))
        return LPOC_AT_LIMIT;
    failure = append_once(f, now, b);
    /* a handle went stale, as on NFS: the file is got by name again */
    return failure == ESTALE ? append_once(f, now, b) : failure;
}

static bool is_for_good(int failure)
{
    return failure == LPOC_AT_LIMIT || failure == LPOC_NOT_OURS;
}

/* What a try has shown, and when to try again. */
static void judge(struct lpoc_file *f, uint64_t now_ns, int failure)
{
    struct lpoc_troubles *t = &f->troubles;

    if (failure && !f->failure) {
        t->from_ns = now_ns;
        t->why = t->count ? t->why : failure;
        t->pause_ns = 0;
    } else if (!failure && f->failure) {
        t->count++;
        t->ns += now_ns > t->from_ns ? now_ns - t->from_ns : 0;
    }
    if (failure) {
        t->pause_ns = t->pause_ns ? t->pause_ns * 2 : PAUSE_FIRST_NS;
        if (t->pause_ns > PAUSE_MOST_NS)
            t->pause_ns = PAUSE_MOST_NS;
        t->again_ns = now_ns + t->pause_ns;
    }
    set_failure(f, failure);
}

int lpoc_file_block(struct lpoc_file *f, const struct lpoc_moment *now, const struct lpoc_block *b)
{
    int rc = -1;

    lpoc_lock(&f->lock);
    if (b->len <= LPOT_PAYLOAD_MAX && !is_for_good(f->failure) &&
        (!f->failure || now->steady_ns >= f->troubles.again_ns)) {
        judge(f, now->steady_ns, try_block(f, now, b));
        if (!f->failure) {
            f->bytes += LPOT_HEADER_BYTES + b->len;
            rc = 0;
        }
    }
    lpoc_unlock(&f->lock);
    return rc;
}

bool lpoc_file_may_recover(const struct lpoc_file *f)
{
    int failure = __atomic_load_n(&f->failure, __ATOMIC_RELAXED);

    return failure && !is_for_good(failure);
}

void lpoc_file_hurry(struct lpoc_file *f)
{
    lpoc_lock(&f->lock);
    f->troubles.again_ns = 0;
    lpoc_unlock(&f->lock);
}

void lpoc_file_in_parent(struct lpoc_file *f, const struct lpoc_moment *now,
                         const struct lpoc_block *b)
{
    if (f->fd >= 0 && same_file(f, f->fd)) {
        append(f, f->fd, now, b);
        close(f->fd);
    }
    f->fd = -1;
}

static void put_blocks(uint8_t *out, const struct lpoc_moment *now, const struct lpoc_block *blocks,
                       unsigned count)
{
    struct lpoc_block filler = { .kind = LPOT_RESERVED };
    size_t used = 0;

    memset(out, 0, LPOC_RESERVE);
    for (unsigned i = 0; i < count; i++) {
        size_t total = LPOT_HEADER_BYTES + blocks[i].len;
        if (used + total + LPOT_HEADER_BYTES > LPOC_RESERVE)
            continue;
        put_header(out + used, now, &blocks[i]);
        memcpy(out + used + LPOT_HEADER_BYTES, blocks[i].payload, blocks[i].len);
        used += total;
    }
    filler.payload = out + used + LPOT_HEADER_BYTES; /* zeros */
    filler.len = LPOC_RESERVE - used - LPOT_HEADER_BYTES;
    put_header(out + used, now, &filler);
}

int lpoc_file_reserve(struct lpoc_file *f, const struct lpoc_moment *now)
{
    struct lpoc_block b = { .kind = LPOT_RESERVED, .len = LPOC_RESERVE - LPOT_HEADER_BYTES };
    uint64_t at = f->bytes;

    if (!f->scratch)
        return -1;
    memset(f->scratch, 0, LPOC_RESERVE);
    b.payload = f->scratch;
    if (lpoc_file_block(f, now, &b) < 0)
        return -1;
    f->reserve_at = at;
    return 0;
}

void lpoc_file_last_words(struct lpoc_file *f, const struct lpoc_moment *now,
                          const struct lpoc_block *blocks, unsigned count)
{
    int fd;

    lpoc_lock(&f->lock);
    fd = f->reserve_at ? fd_of(f) : -1;
    if (fd >= 0) {
        put_blocks(f->scratch, now, blocks, count);
        /* Linux appends whatever pwrite() says while the file is open for appending. */
        fcntl(fd, F_SETFL, 0);
        syscall(SYS_pwrite64, fd, f->scratch, (size_t)LPOC_RESERVE, (off_t)f->reserve_at);
        fcntl(fd, F_SETFL, O_APPEND);
    }
    lpoc_unlock(&f->lock);
}
