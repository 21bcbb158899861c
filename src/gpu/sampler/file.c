/* SPDX-License-Identifier: Apache-2.0 */
#include "gpu/sampler/file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "lpo/trace_format.h"
#include "util/crc32c.h"
#include "util/pack.h"

enum {
    BLOCK_BYTES = 64 << 10, /* samples are written when they are so many bytes, or when asked */
    LAST_WORDS = 16 << 10,  /* of the limit: what notes, losses and the end may still take */
    KINDS = LPO_COUNTERS_INTERVAL + 1,
};

struct lpo_sampler_file {
    int fd;
    char *path;
    uint64_t bytes, limit;
    int failed; /* LPO_E_LIMIT or LPO_E_IO: no more samples */
    uint32_t sequence[KINDS];
    uint32_t scales[LPO_COUNTERS_METRICS_MAX];
    size_t nmetrics;
    struct lpo_str gathered; /* samples of the next block, without their count */
    uint64_t count, last_end_ns;
    uint64_t written_until_ns; /* the end of the last sample that is in a block */
    uint64_t samples, lost, lost_ns;
    struct lpo_str block; /* header and payload, in one write */
};

static void put_fixed(struct lpo_str *s, uint64_t value, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        lpo_str_addc(s, (char)(unsigned char)(value >> (8 * i)));
}

static void put_text(struct lpo_str *s, const char *text)
{
    size_t len = strlen(text);

    lpo_pack_add(s, len);
    lpo_str_addn(s, text, len);
}

static int write_all(struct lpo_sampler_file *f, const char *at, size_t len)
{
    size_t done = 0;

    while (done < len) {
        ssize_t n = write(f->fd, at + done, len - done);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            int why = n < 0 ? errno : ENOSPC;

            /* A reader stops at what is not a whole block; without it more can still follow. */
            if (done && ftruncate(f->fd, (off_t)f->bytes) < 0)
                why = errno;
            errno = why;
            return -1;
        }
        done += (size_t)n;
    }
    f->bytes += len;
    return 0;
}

static uint64_t realtime_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* One block. `small`: one of the last words, which may use what the limit keeps back for them. */
static int put_block(struct lpo_sampler_file *f, enum lpo_counters_block kind, const char *payload,
                     size_t len, bool small, struct lpo_err *err)
{
    struct lpo_str *b = &f->block;
    uint64_t room = small || f->limit < LAST_WORDS ? 0 : LAST_WORDS;
    uint32_t crc;

    if (f->failed && !small)
        return f->failed;
    if (f->limit && f->bytes + LPOT_HEADER_BYTES + len + room > f->limit) {
        f->failed = LPO_E_LIMIT;
        return lpo_fail(err, LPO_E_LIMIT, "'%s' has reached its limit of %llu MB", f->path,
                        (unsigned long long)(f->limit / 1000000));
    }
    lpo_str_clear(b);
    put_fixed(b, LPOT_BLOCK_MAGIC, 4);
    put_fixed(b, kind, 4);
    put_fixed(b, len, 4);
    put_fixed(b, 0, 8); /* the checksum, and the stream */
    put_fixed(b, f->sequence[kind], 4);
    put_fixed(b, 0, 8);
    put_fixed(b, realtime_ns(), 8);
    crc = lpo_crc32c(lpo_crc32c(0, b->at, 12), b->at + 16, LPOT_HEADER_BYTES - 16);
    crc = lpo_crc32c(crc, payload, len);
    for (unsigned i = 0; i < 4; i++)
        b->at[12 + i] = (char)(unsigned char)(crc >> (8 * i));
    lpo_str_addn(b, payload, len);
    if (write_all(f, b->at, b->len) < 0) {
        f->failed = LPO_E_IO;
        return lpo_fail_errno(err, "cannot write '%s'", f->path);
    }
    f->sequence[kind]++;
    return 0;
}

int lpo_sampler_file_create(const char *path, uint64_t limit_bytes, struct lpo_sampler_file **out,
                            struct lpo_err *err)
{
    char preamble[LPOT_PREAMBLE_BYTES] = LPO_COUNTERS_MAGIC;
    struct lpo_sampler_file *f;
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0666);

    if (fd < 0)
        return lpo_fail_errno(err, "cannot write '%s'", path);
    preamble[8] = LPO_COUNTERS_MAJOR;
    preamble[10] = LPO_COUNTERS_MINOR;
    f = lpo_xcalloc(1, sizeof *f);
    f->fd = fd;
    f->path = lpo_xstrdup(path);
    f->limit = limit_bytes;
    if (write_all(f, preamble, sizeof preamble) < 0) {
        lpo_fail_errno(err, "cannot write '%s'", path);
        lpo_sampler_file_destroy(f);
        return LPO_E_IO;
    }
    *out = f;
    return 0;
}

void lpo_sampler_file_destroy(struct lpo_sampler_file *f)
{
    if (!f)
        return;
    close(f->fd);
    lpo_str_free(&f->gathered);
    lpo_str_free(&f->block);
    free(f->path);
    free(f);
}

int lpo_sampler_file_facts(struct lpo_sampler_file *f, const char *const (*pairs)[2], size_t count,
                           struct lpo_err *err)
{
    LPO_STR payload = { 0 };

    for (size_t i = 0; i < count; i++) {
        if (!pairs[i][1] || !*pairs[i][1])
            continue;
        put_text(&payload, pairs[i][0]);
        put_text(&payload, pairs[i][1]);
    }
    return put_block(f, LPO_COUNTERS_FACTS, lpo_str_text(&payload), payload.len, false, err);
}

int lpo_sampler_file_metrics(struct lpo_sampler_file *f, const struct lpo_sampler_metric *metrics,
                             size_t count, struct lpo_err *err)
{
    LPO_STR payload = { 0 };

    if (count > LPO_COUNTERS_METRICS_MAX)
        return lpo_fail(err, LPO_E_LIMIT, "more than %d metrics", LPO_COUNTERS_METRICS_MAX);
    lpo_pack_add(&payload, count);
    for (size_t i = 0; i < count; i++) {
        put_text(&payload, metrics[i].name);
        lpo_pack_add(&payload, metrics[i].meaning);
        lpo_pack_add(&payload, metrics[i].kind);
        lpo_pack_add(&payload, metrics[i].scale);
        put_text(&payload, metrics[i].unit);
        f->scales[i] = metrics[i].scale;
    }
    f->nmetrics = count;
    return put_block(f, LPO_COUNTERS_METRICS, lpo_str_text(&payload), payload.len, false, err);
}

/* 0 for unknown: a counter is never negative, and what no counter can have counted is unknown. */
static uint64_t stored(double value, uint32_t scale)
{
    double scaled = value * scale;

    return scaled >= 0 && scaled < 0x1p62 ? 1 + (uint64_t)llround(scaled) : 0;
}

int lpo_sampler_file_sample(struct lpo_sampler_file *f, uint64_t start_ns, uint64_t end_ns,
                            const double *values, struct lpo_err *err)
{
    if (f->failed)
        return f->failed;
    lpo_pack_add_signed(&f->gathered, (int64_t)(start_ns - f->last_end_ns));
    lpo_pack_add(&f->gathered, end_ns - start_ns);
    for (size_t i = 0; i < f->nmetrics; i++)
        lpo_pack_add(&f->gathered, stored(values[i], f->scales[i]));
    f->last_end_ns = end_ns;
    f->count++;
    f->samples++;
    return f->gathered.len < BLOCK_BYTES ? 0 : lpo_sampler_file_flush(f, err);
}

int lpo_sampler_file_flush(struct lpo_sampler_file *f, struct lpo_err *err)
{
    LPO_STR payload = { 0 };
    int rc;

    if (f->count == 0)
        return f->failed;
    lpo_pack_add(&payload, f->count);
    lpo_str_addn(&payload, f->gathered.at, f->gathered.len);
    rc = put_block(f, LPO_COUNTERS_SAMPLES, payload.at, payload.len, false, err);
    if (rc < 0)
        f->samples -= f->count; /* they are in no block */
    else
        f->written_until_ns = f->last_end_ns;
    lpo_str_clear(&f->gathered);
    f->count = 0;
    f->last_end_ns = 0;
    return rc;
}

int lpo_sampler_file_loss(struct lpo_sampler_file *f, uint64_t from_ns, uint64_t to_ns,
                          uint64_t samples, enum lpo_counters_why why, const char *text,
                          struct lpo_err *err)
{
    LPO_STR payload = { 0 };
    struct lpo_err ignored = { 0 };

    lpo_sampler_file_flush(f, &ignored); /* its failure stays in f->failed */
    lpo_pack_add(&payload, from_ns);
    lpo_pack_add(&payload, to_ns > from_ns ? to_ns - from_ns : 0);
    lpo_pack_add(&payload, samples);
    lpo_pack_add(&payload, why);
    put_text(&payload, text);
    f->lost += samples;
    f->lost_ns += to_ns > from_ns ? to_ns - from_ns : 0;
    return put_block(f, LPO_COUNTERS_LOSS, payload.at, payload.len, true, err);
}

int lpo_sampler_file_interval(struct lpo_sampler_file *f, uint64_t from_ns, uint64_t interval_ns,
                              uint64_t round_ns, struct lpo_err *err)
{
    LPO_STR payload = { 0 };
    struct lpo_err ignored = { 0 };

    lpo_sampler_file_flush(f, &ignored); /* what came before is of the interval before */
    lpo_pack_add(&payload, from_ns);
    lpo_pack_add(&payload, interval_ns);
    lpo_pack_add(&payload, round_ns);
    return put_block(f, LPO_COUNTERS_INTERVAL, payload.at, payload.len, true, err);
}

int lpo_sampler_file_note(struct lpo_sampler_file *f, const char *text, struct lpo_err *err)
{
    LPO_STR payload = { 0 };

    lpo_pack_add(&payload, 0);
    put_text(&payload, text);
    return put_block(f, LPO_COUNTERS_NOTE, payload.at, payload.len, true, err);
}

static uint64_t not_negative(int64_t n)
{
    return n > 0 ? (uint64_t)n : 0;
}

int lpo_sampler_file_end(struct lpo_sampler_file *f, const struct lpo_sampler_file_totals *t,
                         struct lpo_err *err)
{
    struct lpo_err ignored = { 0 };
    LPO_STR payload = { 0 };

    lpo_sampler_file_flush(f, &ignored);
    {
        const uint64_t totals[][2] = {
            { LPO_COUNTERS_TOTAL_SAMPLES, f->samples },
            { LPO_COUNTERS_TOTAL_LOST, f->lost },
            { LPO_COUNTERS_TOTAL_LOST_NS, f->lost_ns },
            { LPO_COUNTERS_TOTAL_CPU_NS, not_negative(t->cpu_ns) },
            { LPO_COUNTERS_TOTAL_ROUNDS, t->rounds },
            { LPO_COUNTERS_TOTAL_ENDED_BY, t->ended_by },
            { LPO_COUNTERS_TOTAL_WALL_NS, not_negative(t->wall_ns) },
        };

        for (size_t i = 0; i < sizeof totals / sizeof *totals; i++) {
            lpo_pack_add(&payload, totals[i][0]);
            lpo_pack_add(&payload, totals[i][1]);
        }
    }
    return put_block(f, LPO_COUNTERS_END, payload.at, payload.len, true, err);
}

uint64_t lpo_sampler_file_samples(const struct lpo_sampler_file *f)
{
    return f->samples;
}

uint64_t lpo_sampler_file_written_until(const struct lpo_sampler_file *f)
{
    return f->written_until_ns;
}

uint64_t lpo_sampler_file_lost(const struct lpo_sampler_file *f)
{
    return f->lost;
}
