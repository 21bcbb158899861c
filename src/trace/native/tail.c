/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/native/native.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lpo/trace_format.h"
#include "util/crc32c.h"
#include "util/path.h"

enum {
    DEFS_MOST = 1 << 20, /* the collector takes 64 KB */
    SLOT_MOST = 8 << 20, /* the largest LPO_COLLECT_BUFFER_KB */
    ALL_MOST = 64 << 20,
};

struct block_head {
    uint32_t magic;
    uint16_t kind, flags;
    uint32_t len, crc, stream, sequence;
    uint64_t ticks, steady_ns;
};
_Static_assert(sizeof(struct block_head) == LPOT_HEADER_BYTES, "as in the file");
_Static_assert(sizeof(struct lpot_tail_slot) == 64, "as in the file");

/* The newest block of a stream in the file. */
struct newest {
    bool any;
    uint32_t sequence, len;
};

/* What the file has, and the tail. */
struct tail {
    int fd;
    struct lpot_tail_head head;
    struct lpot_tail_slot slots[LPOT_TAIL_SLOTS_MAX];
    size_t slot_count;
    uint64_t end;           /* of the last whole block of the file */
    struct block_head last; /* that block */
    struct newest defs, streams[LPOT_TAIL_SLOTS_MAX];
};

static bool read_at(int fd, uint64_t at, void *out, size_t len)
{
    size_t got = 0;

    while (got < len) {
        ssize_t n = pread(fd, (char *)out + got, len - got, (off_t)(at + got));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        got += (size_t)n;
    }
    return true;
}

static uint64_t slot_at(const struct tail *t, size_t i)
{
    return LPOT_TAIL_HEAD_BYTES + t->head.defs_room + i * t->head.slot_bytes;
}

static bool open_tail(struct tail *t, const char *path)
{
    LPO_STR name = { 0 };
    struct stat st;

    lpo_str_addf(&name, "%s%s", path, LPOT_TAIL_SUFFIX);
    t->fd = open(lpo_str_text(&name), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (t->fd < 0 || fstat(t->fd, &st) < 0 || !S_ISREG(st.st_mode) ||
        !read_at(t->fd, 0, &t->head, sizeof t->head) ||
        memcmp(t->head.magic, LPOT_TAIL_MAGIC, sizeof t->head.magic) != 0 ||
        t->head.major != LPOT_MAJOR || t->head.defs_room > DEFS_MOST ||
        t->head.slot_bytes > SLOT_MOST || t->head.slot_bytes < sizeof t->slots[0])
        return false;
    while (t->slot_count < LPOT_TAIL_SLOTS_MAX &&
           slot_at(t, t->slot_count + 1) <= (uint64_t)st.st_size &&
           read_at(t->fd, slot_at(t, t->slot_count), &t->slots[t->slot_count], sizeof t->slots[0]))
        t->slot_count++;
    return true;
}

static struct newest *stream_of(struct tail *t, const struct block_head *b)
{
    if (b->kind == LPOT_DEFS)
        return &t->defs;
    if (b->kind != LPOT_THREAD && b->kind != LPOT_THREAD_FRESH)
        return NULL;
    return lpo_find(i, t->streams, t->slot_count, t->slots[i].stream == b->stream);
}

/* Headers alone: whether each block is whole is asked by who reads them. */
static void scan_file(struct tail *t, int fd)
{
    struct block_head b;
    struct stat st;

    t->end = LPOT_PREAMBLE_BYTES;
    if (fstat(fd, &st) < 0)
        return;
    while (read_at(fd, t->end, &b, sizeof b) && b.magic == LPOT_BLOCK_MAGIC &&
           b.len <= LPOT_PAYLOAD_MAX && t->end + sizeof b + b.len <= (uint64_t)st.st_size) {
        struct newest *newest = stream_of(t, &b);

        if (newest)
            *newest = (struct newest){ true, b.sequence, b.len };
        t->end += sizeof b + b.len;
        t->last = b;
    }
}

/* Ticks as a time, by the line through the start of the clock and the last block. */
static uint64_t steady_of(const struct tail *t, uint64_t ticks)
{
    const struct lpot_tail_head *h = &t->head;
    uint64_t run = t->last.ticks - h->start_ticks, rise = t->last.steady_ns - h->start_steady_ns;

    if (ticks <= t->last.ticks || t->last.ticks <= h->start_ticks ||
        t->last.steady_ns <= h->start_steady_ns)
        return t->last.steady_ns;
    return t->last.steady_ns + (uint64_t)((unsigned __int128)(ticks - t->last.ticks) * rise / run);
}

static void add_block(struct lpo_str *out, struct block_head b, const void *payload)
{
    b.magic = LPOT_BLOCK_MAGIC;
    b.crc = lpo_crc32c(0, &b, offsetof(struct block_head, crc));
    b.crc = lpo_crc32c(b.crc, &b.stream, sizeof b - offsetof(struct block_head, stream));
    b.crc = lpo_crc32c(b.crc, payload, b.len);
    lpo_str_addn(out, (const char *)&b, sizeof b);
    lpo_str_addn(out, payload, b.len);
}

/* The payload is `b.len` bytes of the tail at `from`. False: they are not there. */
static bool add_of_tail(const struct tail *t, struct lpo_str *out, struct block_head b,
                        uint64_t from)
{
    LPO_STR payload = { 0 };

    if (out->len + b.len > ALL_MOST || !read_at(t->fd, from, lpo_str_room(&payload, b.len), b.len))
        return false;
    add_block(out, b, payload.at);
    return true;
}

/* Names first. False: the events may use some that are nowhere. */
static bool add_defs(const struct tail *t, struct lpo_str *out)
{
    uint32_t sequence = (uint32_t)(t->head.defs >> 32), len = (uint32_t)t->head.defs;
    uint32_t next = t->defs.any ? t->defs.sequence + 1 : 0;

    if (sequence + 1 == next)
        return true; /* they are in the file, and the process ended before it said so */
    if (sequence != next || len > t->head.defs_room)
        return false;
    return !len || add_of_tail(t, out,
                               (struct block_head){ .kind = LPOT_DEFS,
                                                    .len = len,
                                                    .sequence = sequence,
                                                    .ticks = t->last.ticks,
                                                    .steady_ns = t->last.steady_ns },
                               LPOT_TAIL_HEAD_BYTES);
}

static void add_events(const struct tail *t, size_t i, struct lpo_str *out)
{
    const struct lpot_tail_slot *s = &t->slots[i];
    const struct newest *in_file = &t->streams[i];
    uint32_t from = (uint32_t)s->at_in_file, sequence = (uint32_t)(s->at_in_file >> 32);
    uint32_t fresh = s->fresh;

    if (in_file->any && in_file->sequence == sequence) {
        from += in_file->len;
        sequence++;
        fresh = 0;
    }
    if (!s->stream || s->committed > t->head.slot_bytes - sizeof *s || s->committed <= from)
        return;
    add_of_tail(t, out,
                (struct block_head){ .kind = fresh && !from ? LPOT_THREAD_FRESH : LPOT_THREAD,
                                     .len = s->committed - from,
                                     .stream = s->stream,
                                     .sequence = sequence,
                                     .ticks = s->ticks > t->last.ticks ? s->ticks : t->last.ticks,
                                     .steady_ns = steady_of(t, s->ticks) },
                slot_at(t, i) + sizeof *s + from);
}

/* The totals of the process, and that it did not write them itself. */
static void add_footer(struct tail *t, struct lpo_str *out)
{
    LPO_STR totals = { 0 };

    t->head.totals[LPOT_COUNT_FINISHED] = 1;
    for (unsigned i = 1; i < sizeof t->head.totals / sizeof *t->head.totals; i++) {
        uint64_t value = t->head.totals[i];

        if (!value)
            continue;
        lpo_str_addc(&totals, (char)i);
        for (; value >= 0x80; value >>= 7)
            lpo_str_addc(&totals, (char)(value | 0x80));
        lpo_str_addc(&totals, (char)value);
    }
    add_block(out,
              (struct block_head){ .kind = LPOT_FOOTER,
                                   .len = (uint32_t)totals.len,
                                   .ticks = t->last.ticks,
                                   .steady_ns = t->last.steady_ns },
              totals.at);
}

bool lpo_native_tail_read(int fd, const char *path, struct lpo_str *blocks, uint64_t *end)
{
    struct tail t = { .fd = -1 };
    bool usable = open_tail(&t, path);

    if (usable) {
        scan_file(&t, fd);
        usable = add_defs(&t, blocks);
    }
    if (usable) {
        for (size_t i = 0; i < t.slot_count; i++)
            add_events(&t, i, blocks);
        add_footer(&t, blocks);
        *end = t.end;
    }
    if (t.fd >= 0)
        close(t.fd);
    return usable;
}

/* The lock goes with the process, unless it closed all its descriptors. */
static bool is_alive(const char *path)
{
    struct tail t = { .fd = -1 };
    bool alive = open_tail(&t, path) && (kill((pid_t)t.head.pid, 0) == 0 || errno == EPERM ||
                                         flock(t.fd, LOCK_EX | LOCK_NB) < 0);

    if (t.fd >= 0)
        close(t.fd);
    return alive;
}

/* What is left of a block that was being written goes. */
static bool append(int fd, uint64_t end, const struct lpo_str *blocks)
{
    size_t done = 0;

    if (ftruncate(fd, (off_t)end) < 0)
        return false;
    while (done < blocks->len) {
        ssize_t n = pwrite(fd, blocks->at + done, blocks->len - done, (off_t)(end + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        done += (size_t)n;
    }
    return true;
}

static void finish(const char *path)
{
    LPO_STR blocks = { 0 }, tail = { 0 };
    uint64_t end;
    int fd;

    if (is_alive(path) || (fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)) < 0)
        return;
    lpo_str_addf(&tail, "%s%s", path, LPOT_TAIL_SUFFIX);
    if (lpo_native_tail_read(fd, path, &blocks, &end) && append(fd, end, &blocks))
        unlink(lpo_str_text(&tail));
    close(fd);
}

void lpo_native_tails_finish(const char *dir)
{
    DIR *d = lpo_path_open_dir(dir);
    const struct dirent *e;

    while (d && (e = readdir(d)))
        if (lpo_str_ends(e->d_name, LPOT_SUFFIX LPOT_TAIL_SUFFIX)) {
            LPO_STR path = { 0 };

            lpo_str_addf(&path, "%s/%.*s", dir, (int)(strlen(e->d_name) - strlen(LPOT_TAIL_SUFFIX)),
                         e->d_name);
            finish(lpo_str_text(&path));
        }
    if (d)
        closedir(d);
}
