/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/tail.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "collect/collect.h"
#include "collect/guard.h"
#include "collect/mem.h"
#include "lpo/trace_format.h"

enum {
    DEFS_ROOM = 64 << 10,
    /* workers are many, and each does little */
    FORKED_DEFS_ROOM = 48 << 10,
    FORKED_SLOT = 16 << 10,
    ZEROS = 64 << 10,
};

/* Those where a page whose bytes were written once can always be stored to: no copy is made on
 * writing (btrfs, ZFS), and no server can refuse it later. */
static bool keeps_space(int fd)
{
    static const unsigned long kinds[] = { 0xef53 /* ext4 */, 0x58465342 /* XFS */,
                                           0x01021994 /* tmpfs */, 0x794c7630 /* overlayfs */ };
    struct statfs fs;

    if (fstatfs(fd, &fs) < 0)
        return false;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if ((unsigned long)fs.f_type == kinds[i])
            return true;
    return false;
}

/* Appends zeros, with no other system calls than those of a block: a thread may make its first call
 * in a sandbox. All of them or nothing that is used. */
static bool write_zeros(int fd, uint64_t from, size_t len)
{
    struct rlimit limit;
    uint8_t *zeros;

    /* past the limit SIGXFSZ would end the program */
    if (getrlimit(RLIMIT_FSIZE, &limit) < 0 ||
        (limit.rlim_cur != RLIM_INFINITY && from + len > limit.rlim_cur))
        return false;
    zeros = lpoc_map(ZEROS);
    while (zeros && len) {
        struct iovec io = { zeros, len < ZEROS ? len : ZEROS };
        long n = syscall(SYS_writev, fd, &io, 1);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        len -= (size_t)n;
    }
    lpoc_unmap(zeros, ZEROS);
    return zeros && !len;
}

/* The path of the trace, with the suffix for as long as the file's lock is held. */
static int at_path(struct lpoc_file *f, int (*act)(const char *path))
{
    size_t len = strlen(f->path);
    int rc = -1;

    lpoc_lock(&f->lock);
    if (len + sizeof LPOT_TAIL_SUFFIX <= sizeof f->path) {
        strcpy(f->path + len, LPOT_TAIL_SUFFIX);
        rc = act(f->path);
        f->path[len] = 0;
    }
    lpoc_unlock(&f->lock);
    return rc;
}

static int make(const char *path)
{
    return open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
}

_Static_assert(sizeof((struct lpoc *)0)->counters == sizeof((struct lpot_tail_head *)0)->totals,
               "each has a place");

static uint64_t slots_at(const struct lpot_tail_head *h)
{
    return LPOT_TAIL_HEAD_BYTES + h->defs_room;
}

static void map(struct lpoc *c, const struct lpot_tail_head *head)
{
    struct lpoc_tail *t = &c->tail;

    t->bytes = slots_at(head) + LPOT_TAIL_SLOTS_MAX * head->slot_bytes;
    if (!keeps_space(t->fd) || !write_zeros(t->fd, 0, slots_at(head)))
        return;
    t->head = mmap(NULL, t->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, t->fd, 0);
    if (t->head == MAP_FAILED) {
        t->head = NULL;
        return;
    }
    *t->head = *head;
    memcpy(t->head->totals, c->counters, sizeof c->counters);
    if (c->defs.used > c->defs.written) /* until these are in a block */
        t->head->defs = LPOT_TAIL_DEFS_LOST;
    c->defs.pending = (struct lpoc_pending){ .state = &t->head->defs,
                                             .at = (uint8_t *)t->head + LPOT_TAIL_HEAD_BYTES,
                                             .room = (uint32_t)head->defs_room,
                                             .mark = c->file.mark };
}

void lpoc_tail_open(struct lpoc *c, bool forked)
{
    struct lpot_tail_head head = {
        .magic = LPOT_TAIL_MAGIC,
        .major = LPOT_MAJOR,
        .pid = (uint32_t)getpid(),
        .defs_room = forked ? FORKED_DEFS_ROOM : DEFS_ROOM,
        .slot_bytes = forked ? FORKED_SLOT : (uint64_t)c->knobs.buffer_kb << 10,
        .start_ticks = c->clock.start_ticks,
        .start_steady_ns = c->clock.start_steady_ns,
    };
    struct lpoc_tail *t = &c->tail;
    struct stat st;

    *t = (struct lpoc_tail){ .fd = -1 };
    if (c->ring.on || !c->file.mark || !c->knobs.nvtx)
        return;
    t->fd = at_path(&c->file, make);
    if (t->fd < 0)
        return;
    t->fd = lpoc_file_move_up(t->fd);
    if (fstat(t->fd, &st) == 0) {
        t->dev = st.st_dev;
        t->ino = st.st_ino;
        flock(t->fd, LOCK_EX | LOCK_NB); /* says that its process lives */
        map(c, &head);
    }
    if (!t->head)
        lpoc_tail_remove(c);
}

static bool is_our_descriptor(const struct lpoc_tail *t)
{
    struct stat st;

    return t->fd >= 0 && fstat(t->fd, &st) == 0 && st.st_dev == t->dev && st.st_ino == t->ino;
}

struct lpot_tail_slot *lpoc_tail_slot(struct lpoc *c, size_t *bytes)
{
    struct lpoc_tail *t = &c->tail;
    uint64_t at;

    if (!t->head || t->slots == LPOT_TAIL_SLOTS_MAX || !lpoc_file_is_ours(&c->file) ||
        !is_our_descriptor(t))
        return NULL;
    at = slots_at(t->head) + t->slots * t->head->slot_bytes;
    if (!write_zeros(t->fd, at, t->head->slot_bytes)) {
        t->slots = LPOT_TAIL_SLOTS_MAX; /* a part of it may be there: no later one has its place */
        return NULL;
    }
    t->slots++;
    *bytes = t->head->slot_bytes;
    return (struct lpot_tail_slot *)(void *)((uint8_t *)t->head + at);
}

static void forget(struct lpoc *c)
{
    if (is_our_descriptor(&c->tail))
        close(c->tail.fd);
    c->tail.fd = -1;
    c->tail.slots = LPOT_TAIL_SLOTS_MAX;
}

void lpoc_tail_forked(struct lpoc *c)
{
    forget(c);
    /* Not unmapped: a signal handler that forks may have interrupted an event, which goes on. */
    if (c->tail.head)
        mmap(c->tail.head, c->tail.bytes, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    c->tail.head = NULL;
    c->defs.pending = (struct lpoc_pending){ 0 };
}

void lpoc_tail_remove(struct lpoc *c)
{
    if (c->tail.fd < 0 && !c->tail.head)
        return;
    at_path(&c->file, unlink);
    forget(c);
}
