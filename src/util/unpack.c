#include "util/unpack.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <zlib.h>
#include <zstd.h>

#include "util/arena.h"
#include "util/err.h"

enum { CHUNK = 1 << 18 };

/* One direction of bytes: `in` compressed, `out` a temporary file. */
struct pump {
    int in, out;
    size_t written;
    unsigned char *from, *to; /* CHUNK each */
};

static ssize_t fill(struct pump *p)
{
    ssize_t n;

    do
        n = read(p->in, p->from, CHUNK);
    while (n < 0 && errno == EINTR);
    return n;
}

static int drain(struct pump *p, size_t len, struct lpo_err *err)
{
    const unsigned char *at = p->to;

    p->written += len;
    if (p->written > LPO_UNPACK_LIMIT)
        return lpo_fail(err, LPO_E_LIMIT, "inflates to more than %zu GiB", LPO_UNPACK_LIMIT >> 30);
    while (len > 0) {
        ssize_t n = write(p->out, at, len);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return lpo_fail_errno(err, "cannot write the inflated bytes (TMPDIR full?)");
        at += n;
        len -= (size_t)n;
    }
    return 0;
}

/* One step of zlib over what `z` holds; members may follow each other. 1: a member ended. */
static int gz_step(struct pump *p, z_stream *z, struct lpo_err *err)
{
    int rc;

    z->next_out = p->to;
    z->avail_out = CHUNK;
    rc = inflate(z, Z_NO_FLUSH);
    if (drain(p, CHUNK - z->avail_out, err) < 0)
        return err->code;
    if (rc == Z_STREAM_END)
        return inflateReset(z) == Z_OK ? 1 : lpo_fail(err, LPO_E_FORMAT, "broken gzip stream");
    if (rc != Z_OK && rc != Z_BUF_ERROR)
        return lpo_fail(err, LPO_E_FORMAT, "broken gzip stream: %s", z->msg ? z->msg : "no reason");
    return 0;
}

/* A broken or short stream keeps what came before it. */
static int pump_gz(struct pump *p, bool *cut, struct lpo_err *err)
{
    z_stream z = { 0 };
    int rc = 0;
    bool ended = false;

    if (inflateInit2(&z, 15 + 32) != Z_OK)
        return lpo_fail(err, LPO_E_IO, "zlib did not start");
    for (;;) {
        ssize_t n = fill(p);

        if (n < 0)
            rc = lpo_fail_errno(err, "cannot read");
        if (n <= 0)
            break;
        z.next_in = p->from;
        z.avail_in = (unsigned)n;
        do {
            rc = gz_step(p, &z, err);
            ended = rc == 1;
        } while (rc >= 0 && (z.avail_in > 0 || z.avail_out == 0));
        if (rc < 0)
            break;
    }
    inflateEnd(&z);
    *cut = !ended;
    if (rc == LPO_E_FORMAT && p->written > 0)
        return 0;
    return rc < 0 ? rc : 0;
}

static int pump_zstd(struct pump *p, bool *cut, struct lpo_err *err)
{
    ZSTD_DStream *z = ZSTD_createDStream();
    size_t left = 0;
    int rc = 0;
    ssize_t n = 1;

    if (!z)
        return lpo_fail(err, LPO_E_IO, "zstd did not start");
    while (rc == 0 && (n = fill(p)) > 0) {
        ZSTD_inBuffer in = { p->from, (size_t)n, 0 };
        ZSTD_outBuffer out = { p->to, CHUNK, CHUNK };

        while (rc == 0 && (in.pos < in.size || out.pos == out.size)) {
            out.pos = 0;
            left = ZSTD_decompressStream(z, &out, &in);
            if (ZSTD_isError(left)) {
                rc = lpo_fail(err, LPO_E_FORMAT, "broken zstd stream: %s", ZSTD_getErrorName(left));
                break;
            }
            rc = drain(p, out.pos, err);
        }
    }
    ZSTD_freeDStream(z);
    if (n < 0)
        return lpo_fail_errno(err, "cannot read");
    *cut = left != 0;
    return rc == LPO_E_FORMAT && p->written > 0 ? 0 : rc;
}

static const struct packing {
    unsigned char magic[4];
    size_t len;
    int (*pump)(struct pump *p, bool *cut, struct lpo_err *err);
} packings[] = {
    { { 0x1f, 0x8b }, 2, pump_gz },
    { { 0x28, 0xb5, 0x2f, 0xfd }, 4, pump_zstd },
};

static const struct packing *packing_of(int fd)
{
    unsigned char head[4] = { 0 };
    ssize_t n = pread(fd, head, sizeof head, 0);

    for (size_t i = 0; i < sizeof packings / sizeof *packings; i++) {
        if (n >= (ssize_t)packings[i].len && !memcmp(head, packings[i].magic, packings[i].len))
            return &packings[i];
    }
    return NULL;
}

static int temp_file(struct lpo_unpacked *u, struct lpo_err *err)
{
    const char *dir = getenv("TMPDIR");
    static const char name[] = "/lpo-XXXXXX";
    size_t len;

    if (!dir || !*dir)
        dir = "/tmp";
    len = strlen(dir);
    u->temp = lpo_xmalloc(len + sizeof name);
    memcpy(u->temp, dir, len);
    memcpy(u->temp + len, name, sizeof name);
    u->fd = mkostemp(u->temp, O_CLOEXEC);
    if (u->fd < 0) {
        int rc = lpo_fail_errno(err, "cannot make a temporary file in '%s'", dir);

        free(u->temp);
        u->temp = NULL;
        return rc;
    }
    u->path = u->temp;
    return 0;
}

static int inflate_to_temp(struct lpo_unpacked *u, int in, const struct packing *packing,
                           struct lpo_err *err)
{
    struct pump p = { .in = in };
    int rc = temp_file(u, err);

    if (rc < 0)
        return rc;
    p.out = u->fd;
    p.from = lpo_xmalloc(CHUNK);
    p.to = lpo_xmalloc(CHUNK);
    rc = packing->pump(&p, &u->cut, err);
    free(p.from);
    free(p.to);
    if (rc == 0 && lseek(u->fd, 0, SEEK_SET) < 0)
        rc = lpo_fail_errno(err, "cannot rewind the temporary file");
    return rc;
}

int lpo_unpack(const char *path, struct lpo_unpacked **out, struct lpo_err *err)
{
    LPO_AUTO(lpo_unpacked) u = lpo_xcalloc(1, sizeof *u);
    const struct packing *packing;
    struct stat st;
    int in, rc;

    u->fd = -1;
    in = open(path, O_RDONLY | O_CLOEXEC);
    if (in < 0)
        return lpo_fail_errno(err, "cannot open '%s'", path);
    if (fstat(in, &st) == 0 && S_ISDIR(st.st_mode)) {
        close(in);
        return lpo_fail(err, LPO_E_IO, "'%s' is a folder, not a file", path);
    }
    packing = packing_of(in);
    if (packing) {
        rc = inflate_to_temp(u, in, packing, err);
        close(in);
        if (rc < 0)
            return lpo_ctx(err, "cannot inflate '%s'", path);
    } else {
        u->fd = in;
        u->path = path;
    }
    *out = u;
    u = NULL;
    return 0;
}

void lpo_unpacked_unname(struct lpo_unpacked *u)
{
    if (!u->temp)
        return;
    unlink(u->temp);
    free(u->temp);
    u->temp = NULL;
    u->path = NULL;
}

void lpo_unpacked_destroy(struct lpo_unpacked *u)
{
    if (!u)
        return;
    lpo_unpacked_unname(u);
    if (u->fd >= 0)
        close(u->fd);
    free(u);
}
