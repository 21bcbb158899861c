/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/native/blocks.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "lpo/trace_format.h"
#include "trace/native/native.h"
#include "util/crc32c.h"
#include "util/stale.h"

struct lpo_native_blocks {
    int fd;     /* -1: from memory */
    char *path; /* to open it again; NULL: not by its name */
    int error;  /* errno of what could not be read; 0 */
    const uint8_t *bytes;
    size_t len;
    uint64_t at;
    uint8_t *payload;
    size_t cap;
    uint64_t ignored;
    struct lpo_str tail; /* follows the first `tail_at` bytes: what its process had not written */
    uint64_t tail_at;
};

/* The name leads to the file where the descriptor does not any more. */
static bool open_again(struct lpo_native_blocks *b, int error, unsigned *tries)
{
    int fd;

    if (!b->path || !lpo_stale_retry(error, tries))
        return false;
    fd = open(b->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd >= 0) {
        close(b->fd);
        b->fd = fd;
    }
    return true;
}

static bool copy_of(const void *bytes, size_t have, uint64_t at, void *out, size_t len)
{
    if (at > have || have - at < len)
        return false;
    if (len)
        memcpy(out, (const uint8_t *)bytes + at, len);
    return true;
}

/* Exactly `len` bytes at `at`, or false; what the disk refused is kept in b->error. */
static bool bytes_at(struct lpo_native_blocks *b, uint64_t at, void *out, size_t len)
{
    unsigned tries = 0;
    size_t got = 0;

    if (b->fd < 0)
        return copy_of(b->bytes, b->len, at, out, len);
    if (b->tail.len && at >= b->tail_at)
        return copy_of(b->tail.at, b->tail.len, at - b->tail_at, out, len);
    while (got < len) {
        ssize_t n = pread(b->fd, (uint8_t *)out + got, len - got, (off_t)(at + got));
        if (n < 0 && (errno == EINTR || open_again(b, errno, &tries)))
            continue;
        /* a pipe or a folder has no bytes at an offset: no trace, but the disk is not bad */
        if (n < 0 && errno != ESPIPE && errno != EISDIR && errno != EAGAIN)
            b->error = errno;
        if (n <= 0)
            return false;
        got += (size_t)n;
    }
    return true;
}

static const struct lpo_native_format trace_format = { LPOT_MAGIC, LPOT_MAJOR, "trace",
                                                       "trace of liblpo-collect.so" };

static int check_preamble(struct lpo_native_blocks *b, const struct lpo_native_format *format,
                          struct lpo_err *err)
{
    uint8_t preamble[LPOT_PREAMBLE_BYTES];
    unsigned major;

    bool whole = bytes_at(b, 0, preamble, sizeof preamble);

    if (b->error) {
        errno = b->error;
        return lpo_fail_errno(err, "cannot read '%s'", b->path ? b->path : format->word);
    }
    if (!whole || memcmp(preamble, format->magic, 8) != 0)
        return lpo_fail(err, LPO_E_FORMAT, "not a %s", format->what);
    major = preamble[8] + 256u * preamble[9];
    if (major != format->major)
        return lpo_fail(err, LPO_E_FORMAT, "%s format %u; this lpo reads format %u", format->word,
                        major, format->major);
    b->at = LPOT_PREAMBLE_BYTES;
    return 0;
}

static int begin(const struct lpo_native_format *format, int fd, const char *path,
                 const void *bytes, size_t len, struct lpo_native_blocks **out, struct lpo_err *err)
{
    struct lpo_native_blocks *b = lpo_xcalloc(1, sizeof *b);
    int rc;

    b->fd = fd;
    b->path = path ? lpo_xstrdup(path) : NULL;
    b->bytes = bytes;
    b->len = len;
    rc = check_preamble(b, format, err);
    if (rc < 0)
        lpo_native_blocks_destroy(b);
    else
        *out = b;
    return rc;
}

int lpo_native_blocks_as(const struct lpo_native_format *format, int fd, const void *bytes,
                         size_t len, struct lpo_native_blocks **out, struct lpo_err *err)
{
    return begin(format, fd, NULL, bytes, len, out, err);
}

int lpo_native_blocks_open(const char *path, struct lpo_native_blocks **out, struct lpo_err *err)
{
    unsigned tries = 0;
    int fd, rc;

    do /* a FIFO would wait */
        fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    while (fd < 0 && lpo_stale_retry(errno, &tries));
    if (fd < 0)
        return lpo_fail_errno(err, "cannot open '%s'", path);
    rc = begin(&trace_format, fd, path, NULL, 0, out, err);
    if (rc == 0 && !lpo_native_tail_read(fd, path, &(*out)->tail, &(*out)->tail_at))
        lpo_str_free(&(*out)->tail);
    return rc;
}

int lpo_native_blocks_over(const void *bytes, size_t len, struct lpo_native_blocks **out,
                           struct lpo_err *err)
{
    return lpo_native_blocks_as(&trace_format, -1, bytes, len, out, err);
}

void lpo_native_blocks_destroy(struct lpo_native_blocks *b)
{
    if (!b)
        return;
    if (b->fd >= 0)
        close(b->fd);
    lpo_str_free(&b->tail);
    free(b->payload);
    free(b->path);
    free(b);
}

static uint64_t fixed(const uint8_t *p, unsigned bytes)
{
    uint64_t v = 0;

    for (unsigned i = 0; i < bytes; i++)
        v |= (uint64_t)p[i] << (8 * i);
    return v;
}

static uint64_t bytes_left(struct lpo_native_blocks *b)
{
    off_t end;

    if (b->fd < 0)
        return b->len - b->at;
    if (b->tail.len)
        return b->tail_at + b->tail.len - b->at;
    end = lseek(b->fd, 0, SEEK_END);
    return end < 0 || (uint64_t)end < b->at ? 0 : (uint64_t)end - b->at;
}

/* The header's payload into memory; false when the file ends first. The length is the file's
 * claim: nothing is allocated that the file could not hold. */
static bool load_payload(struct lpo_native_blocks *b, size_t len)
{
    if (bytes_left(b) < LPOT_HEADER_BYTES + (uint64_t)len)
        return false;
    if (len >= b->cap) { /* a payload of no bytes still has an address */
        b->payload = lpo_xrealloc(b->payload, len + 1, 1);
        b->cap = len + 1;
    }
    return bytes_at(b, b->at + LPOT_HEADER_BYTES, b->payload, len);
}

/* A process that is killed leaves a block half written. The checksum ends the file there; all
 * before it is whole. */
bool lpo_native_blocks_next(struct lpo_native_blocks *b, struct lpo_native_block *out)
{
    uint8_t head[LPOT_HEADER_BYTES];
    uint32_t crc;
    size_t len;

    b->ignored = bytes_left(b);
    if (!bytes_at(b, b->at, head, sizeof head) || fixed(head, 4) != LPOT_BLOCK_MAGIC)
        return false;
    len = (size_t)fixed(head + 8, 4);
    if (len > LPOT_PAYLOAD_MAX || !load_payload(b, len))
        return false;
    crc = lpo_crc32c(0, head, 12);
    crc = lpo_crc32c(crc, head + 16, sizeof head - 16);
    if (lpo_crc32c(crc, b->payload, len) != fixed(head + 12, 4))
        return false;
    *out = (struct lpo_native_block){
        .kind = (unsigned)fixed(head + 4, 2),
        .stream = (uint32_t)fixed(head + 16, 4),
        .sequence = (uint32_t)fixed(head + 20, 4),
        .ticks = fixed(head + 24, 8),
        .real_ns = fixed(head + 32, 8),
        .payload = b->payload,
        .len = len,
    };
    b->at += sizeof head + len;
    b->ignored = 0;
    return true;
}

void lpo_native_blocks_rewind(struct lpo_native_blocks *b)
{
    b->at = LPOT_PREAMBLE_BYTES;
}

int lpo_native_blocks_failed(const struct lpo_native_blocks *b, struct lpo_err *err)
{
    errno = b->error;
    return b->error ? lpo_fail_errno(err, "cannot read '%s' whole", b->path ? b->path : "the trace")
                    : 0;
}

uint64_t lpo_native_blocks_ignored(const struct lpo_native_blocks *b)
{
    return b->ignored;
}

/* Reading past the end gives zeros and sets a mark, so that a record is read without a test for
 * each of its numbers and judged once. */
uint8_t lpo_native_get_byte(struct lpo_cursor *c)
{
    if (c->bad || c->at == c->end) {
        c->bad = true;
        return 0;
    }
    return *c->at++;
}

uint64_t lpo_native_get_v(struct lpo_cursor *c)
{
    uint64_t value = 0;

    if (!c->bad && c->at < c->end && *c->at < 0x80) /* as most are */
        return *c->at++;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        uint8_t byte = lpo_native_get_byte(c);
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return c->bad ? 0 : value;
    }
    c->bad = true;
    return 0;
}

int64_t lpo_native_get_z(struct lpo_cursor *c)
{
    uint64_t v = lpo_native_get_v(c);

    return (int64_t)((v >> 1) ^ (0 - (v & 1)));
}

uint64_t lpo_native_get_fixed(struct lpo_cursor *c, unsigned bytes)
{
    const char *p = lpo_native_get_bytes(c, bytes);

    return p ? fixed((const uint8_t *)p, bytes) : 0;
}

const char *lpo_native_get_bytes(struct lpo_cursor *c, size_t len)
{
    const uint8_t *p = c->at;

    if (c->bad || (size_t)(c->end - c->at) < len) {
        c->bad = true;
        return NULL;
    }
    c->at += len;
    return (const char *)p;
}

const char *lpo_native_get_text(struct lpo_cursor *c, size_t *len)
{
    *len = (size_t)lpo_native_get_v(c);
    return lpo_native_get_bytes(c, *len);
}

enum { APART_NS = 10000000 }; /* reading a pair errs by some 30 ns: over 10 ms that is nothing */
#define LATEST_NS (INT64_MAX / 4)

int64_t lpo_native_ns(uint64_t ns)
{
    return ns > (uint64_t)LATEST_NS ? LATEST_NS : (int64_t)ns;
}

void lpo_native_tick_clock_add(struct lpo_tick_clock *c, uint64_t ticks, uint64_t real_ns)
{
    lpo_vec_push(&c->pairs, (struct lpo_tick_pair){ ticks, (uint64_t)lpo_native_ns(real_ns) });
}

LPO_COMPARE(by_ticks, struct lpo_tick_pair, LPO_UP(ticks));

void lpo_native_tick_clock_settle(struct lpo_tick_clock *c)
{
    struct lpo_tick_pair *p = c->pairs.at, last;
    size_t kept = 1;

    if (c->pairs.len < 2)
        return;
    qsort(p, c->pairs.len, sizeof *p, by_ticks);
    last = p[c->pairs.len - 1];
    for (size_t i = 1; i < c->pairs.len; i++)
        if (p[i].real_ns >= p[kept - 1].real_ns + APART_NS && p[i].ticks > p[kept - 1].ticks)
            p[kept++] = p[i];
    /* The end of the run counts however short it was, in the place of one too near to it. */
    if (last.ticks > p[kept - 1].ticks && last.real_ns > p[kept - 1].real_ns) {
        if (kept > 1)
            p[kept - 1] = last;
        else
            p[kept++] = last;
    }
    c->pairs.len = kept;
}

/* ticks * rise / run. Each event of a trace comes here, and most products fit in 64 bits, where a
 * division takes a third of the time. */
static inline uint64_t scaled(uint64_t ticks, uint64_t rise, uint64_t run)
{
    unsigned __int128 whole;
    uint64_t product;

    if (!__builtin_mul_overflow(ticks, rise, &product))
        return product / run;
    whole = (unsigned __int128)ticks * rise / run;
    return whole > UINT64_MAX ? UINT64_MAX : (uint64_t)whole;
}

/* On the line through pairs i and i + 1, or beyond either end of it. */
static inline int64_t on_line(const struct lpo_tick_pair *p, uint64_t ticks)
{
    uint64_t run = p[1].ticks - p[0].ticks, rise = p[1].real_ns - p[0].real_ns, move;

    if (ticks >= p[0].ticks) {
        move = scaled(ticks - p[0].ticks, rise, run);
        return move > LATEST_NS - p[0].real_ns ? LATEST_NS : (int64_t)(p[0].real_ns + move);
    }
    move = scaled(p[0].ticks - ticks, rise, run);
    return move > p[0].real_ns ? 0 : (int64_t)(p[0].real_ns - move);
}

int64_t lpo_native_tick_clock_ns(struct lpo_tick_clock *c, uint64_t ticks)
{
    const struct lpo_tick_pair *p = c->pairs.at;
    size_t n = c->pairs.len, low = 0, high;

    if (c->ticks_are_ns || n == 0)
        return lpo_native_ns(ticks);
    if (n == 1)
        return (int64_t)p[0].real_ns;
    if (c->last + 1 < n && ticks >= p[c->last].ticks && ticks < p[c->last + 1].ticks)
        return on_line(p + c->last, ticks);
    high = n - 1;
    while (low + 1 < high) {
        size_t mid = (low + high) / 2;
        if (p[mid].ticks <= ticks)
            low = mid;
        else
            high = mid;
    }
    c->last = low;
    return on_line(p + low, ticks);
}

void lpo_native_tick_clock_free(struct lpo_tick_clock *c)
{
    lpo_vec_free(&c->pairs);
}
