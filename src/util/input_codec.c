/* SPDX-License-Identifier: Apache-2.0 */
#include "util/input.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#include <zstd.h>

#ifdef LPO_HAVE_ISAL
#include <isa-l/igzip_lib.h>
#else
#include <zlib.h>
#endif

#include "util/stale.h"
#include "util/work.h"

/* As read(). Where a network disk lost the file, it is opened again and read on from there. */
static ssize_t read_on(struct lpo_raw *raw, void *out, size_t len)
{
    unsigned tries = 0;

    for (;;) {
        ssize_t n = read(raw->fd, out, len);
        off_t at;
        int fd;

        if (n >= 0 || (errno != EINTR && (!raw->path || !lpo_stale_retry(errno, &tries))))
            return n;
        if (!tries)
            continue;
        at = lseek(raw->fd, 0, SEEK_CUR);
        fd = at < 0 ? -1 : open(raw->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
        if (fd >= 0 && lseek(fd, at, SEEK_SET) == at) {
            close(raw->fd);
            raw->fd = fd;
        } else if (fd >= 0) {
            close(fd);
        }
    }
}

int lpo_input_raw_fill(struct lpo_raw *raw)
{
    ssize_t n;

    if (raw->len > 0)
        return 1;
    if (raw->error)
        return 0;
    n = read_on(raw, raw->block,
                raw->at_once && raw->at_once < LPO_RAW_SIZE ? raw->at_once : LPO_RAW_SIZE);
    if (n < 0)
        raw->error = errno;
    if (n <= 0)
        return 0;
    lpo_work_bytes((size_t)n);
    raw->at = raw->block;
    raw->len = (size_t)n;
    raw->taken += (uint64_t)n;
    return 1;
}

static void take(struct lpo_raw *raw, size_t n)
{
    raw->at += n;
    raw->len -= n;
}

static void *plain_create(void)
{
    return NULL;
}

/* Does nothing but a hole of a sparse file follow? A file of a few KB can claim terabytes of zeros,
 * and no text format has a megabyte of them. */
static bool only_a_hole(int fd)
{
    off_t at = lseek(fd, 0, SEEK_CUR), data, end;

    if (at < 0)
        return false;
    data = lseek(fd, at, SEEK_DATA);
    if (data >= 0) {
        lseek(fd, at, SEEK_SET);
        return data - at > (off_t)64 << 20;
    }
    if (errno != ENXIO) /* the file system does not say */
        return false;
    end = lseek(fd, 0, SEEK_END);
    lseek(fd, at, SEEK_SET);
    return end - at > 1 << 20;
}

/* What was read to find the magic first; after that straight into the caller's block. */
static size_t plain_decode(void *state, struct lpo_raw *raw, char *out, size_t room,
                           const char **damage)
{
    size_t n = raw->len < room ? raw->len : room;
    ssize_t got;

    (void)state;
    if (n > 0) {
        memcpy(out, raw->at, n);
        take(raw, n);
        return n;
    }
    got = read_on(raw, out, room);
    if (got < 0)
        raw->error = errno;
    if (got > 0 && !out[0] && !out[got - 1] && only_a_hole(raw->fd))
        *damage = "the rest of the file is a hole: nothing was written there";
    return got > 0 ? (size_t)got : 0;
}

/* Is there another member after the one that ended? Zeros and other padding are not. */
static int gzip_goes_on(struct lpo_raw *raw)
{
    return lpo_input_raw_fill(raw) && raw->at[0] == 0x1f;
}

/* One decoder or the other: each begins a member and decodes what it has. */
#ifdef LPO_HAVE_ISAL

struct gzip {
    struct inflate_state z;
    bool between; /* a member has just ended */
};

static void gzip_begin(struct gzip *g)
{
    isal_inflate_init(&g->z);
    g->z.crc_flag = ISAL_GZIP;
}

static void gzip_begin_again(struct gzip *g)
{
    isal_inflate_reset(&g->z);
    g->z.crc_flag = ISAL_GZIP;
}

static const char *gzip_inflate(struct gzip *g, struct lpo_raw *raw)
{
    int rc = isal_inflate(&g->z);

    /* ISA-L 2.30 takes more than it was given of some damaged streams: what it says is left
     * is then larger than what there was. */
    if (g->z.avail_in > raw->len) {
        take(raw, raw->len);
        return "the gzip data is damaged";
    }
    take(raw, raw->len - g->z.avail_in);
    g->between = g->z.block_state == ISAL_BLOCK_FINISH;
    if (rc == ISAL_INCORRECT_CHECKSUM)
        return "the gzip data has a wrong checksum";
    return rc == ISAL_DECOMP_OK ? NULL : "the gzip data is damaged";
}

#else

struct gzip {
    z_stream z;
    bool between;
};

static void gzip_begin(struct gzip *g)
{
    inflateInit2(&g->z, 15 + 16);
}

static void gzip_begin_again(struct gzip *g)
{
    inflateReset(&g->z);
}

static const char *gzip_inflate(struct gzip *g, struct lpo_raw *raw)
{
    int rc = inflate(&g->z, Z_NO_FLUSH);

    take(raw, raw->len - g->z.avail_in);
    g->between = rc == Z_STREAM_END;
    return rc == Z_OK || rc == Z_STREAM_END || rc == Z_BUF_ERROR ? NULL
                                                                 : "the gzip data is damaged";
}

#endif

static void *gzip_create(void)
{
    struct gzip *g = lpo_xcalloc(1, sizeof *g);

    gzip_begin(g);
    return g;
}

static size_t gzip_decode(void *state, struct lpo_raw *raw, char *out, size_t room,
                          const char **damage)
{
    struct gzip *g = state;
    unsigned limit = room < UINT_MAX ? (unsigned)room : UINT_MAX;

    g->z.next_out = (unsigned char *)out;
    g->z.avail_out = limit;
    while (g->z.avail_out == limit && !*damage) {
        if (g->between) {
            if (!gzip_goes_on(raw))
                return 0;
            gzip_begin_again(g);
            g->between = false;
        }
        if (!lpo_input_raw_fill(raw)) {
            *damage = "the gzip data breaks off";
            return 0;
        }
        g->z.next_in = raw->at;
        g->z.avail_in = (unsigned)raw->len;
        *damage = gzip_inflate(g, raw);
    }
    return limit - g->z.avail_out;
}

static void gzip_destroy(void *state)
{
#ifndef LPO_HAVE_ISAL
    if (state)
        inflateEnd(&((struct gzip *)state)->z);
#endif
    free(state);
}

struct zstd {
    ZSTD_DCtx *z;
    size_t pending; /* what the decoder still expects of the frame; 0 between frames */
};

static void *zstd_create(void)
{
    struct zstd *s = lpo_xcalloc(1, sizeof *s);

    s->z = ZSTD_createDCtx();
    /* a frame may ask for a window of gigabytes; 128 MB is what zstd itself makes without --long */
    ZSTD_DCtx_setParameter(s->z, ZSTD_d_windowLogMax, 27);
    return s;
}

static void zstd_destroy(void *state)
{
    struct zstd *s = state;

    ZSTD_freeDCtx(s->z);
    free(s);
}

static size_t zstd_decode(void *state, struct lpo_raw *raw, char *out, size_t room,
                          const char **damage)
{
    struct zstd *s = state;
    ZSTD_outBuffer o = { out, room, 0 };

    while (o.pos == 0) {
        ZSTD_inBuffer in;
        int more = lpo_input_raw_fill(raw);

        if (!more && s->pending == 0)
            return 0;
        in = (ZSTD_inBuffer){ raw->at, raw->len, 0 };
        s->pending = ZSTD_decompressStream(s->z, &o, &in);
        take(raw, in.pos);
        if (ZSTD_isError(s->pending)) {
            *damage = "the zstd data is damaged";
            s->pending = 0;
            break;
        }
        if (!more && o.pos == 0) {
            *damage = "the zstd data breaks off";
            return 0;
        }
    }
    return o.pos;
}

static const struct lpo_codec codecs[] = {
    { "gzip", { 0x1f, 0x8b }, 2, gzip_create, gzip_destroy, gzip_decode },
    { "zstd", { 0x28, 0xb5, 0x2f, 0xfd }, 4, zstd_create, zstd_destroy, zstd_decode },
    { "plain", { 0 }, 0, plain_create, free, plain_decode },
};

const struct lpo_codec *lpo_input_codec_find(const unsigned char *head, size_t len)
{
    const struct lpo_codec *c = codecs;

    while (c->magic_len && (len < c->magic_len || memcmp(head, c->magic, c->magic_len) != 0))
        c++;
    return c;
}
