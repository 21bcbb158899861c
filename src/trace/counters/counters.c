/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/counters/counters.h"

#include <unistd.h>

#include "lpo/trace_format.h"
#include "trace/native/blocks.h"
#include "util/checked.h"
#include "util/proto.h"
#include "util/unpack.h"

enum { TEXT_MAX = 1024, FACTS_MAX = 256, NOTES_MAX = 64 };

static const int64_t time_max = INT64_C(1) << 62;

struct lpo_counters_file {
    struct lpo_arena *arena;
    struct lpo_native_blocks *blocks;
    struct lpo_unpack_file *plain; /* NULL: from memory */
    struct lpo_counters_about about;
    struct lpo_counters_metric metrics[LPO_COUNTERS_METRICS_MAX];
    double steps[LPO_COUNTERS_METRICS_MAX]; /* what one of a stored value is worth */
    struct lpo_counters_totals totals;
    const char *notes[NOTES_MAX];
    size_t notes_seen; /* kept from the first pass; a second one reads the same */
    /* the block that next() is in */
    struct lpo_proto samples;
    uint64_t left;
    int64_t last_end_ns; /* of the sample before, in this block */
    int64_t last_start_ns;
    int64_t interval_ns;
    double values[LPO_COUNTERS_METRICS_MAX];
};

static const struct lpo_native_format counters_format = { LPO_COUNTERS_MAGIC, LPO_COUNTERS_MAJOR,
                                                          "counters",
                                                          "file of sampled counters (.lpoc)" };

/* --- what the file says about itself --- */

static const char *text_of(struct lpo_counters_file *c, struct lpo_cursor *at)
{
    size_t len;
    const char *p = lpo_native_get_text(at, &len);

    if (!p)
        return "";
    return lpo_arena_name(c->arena, p, len < TEXT_MAX ? len : TEXT_MAX);
}

/* -1 for what is not a number from 0 up. */
static int64_t number_of(const char *text)
{
    char *end;
    long long n = strtoll(text, &end, 10);

    return *text >= '0' && *text <= '9' && !*end && n < time_max ? n : -1;
}

static void take_facts(struct lpo_counters_file *c, struct lpo_cursor at)
{
    struct lpo_counters_about *a = &c->about;
    const struct {
        const char *key;
        const char **text;
        int64_t *number;
    } known[] = {
        { "beside", &a->beside, NULL },
        { "sampler", &a->sampler, NULL },
        { "host", &a->host, NULL },
        { "trigger", &a->trigger, NULL },
        { "chip", &a->chip, NULL },
        { "device.name", &a->gpu_name, NULL },
        { "device.uuid", &a->gpu_uuid, NULL },
        { "pid", NULL, &a->pid },
        { "interval_ns", NULL, &a->interval_ns },
        { "device.index", NULL, &a->gpu_index },
    };

    for (int n = 0; n < FACTS_MAX && at.at < at.end && !at.bad; n++) {
        const char *key = text_of(c, &at), *value = text_of(c, &at);

        for (size_t i = 0; i < sizeof known / sizeof *known && !at.bad; i++) {
            if (strcmp(known[i].key, key) != 0)
                continue;
            if (known[i].text)
                *known[i].text = value;
            else
                *known[i].number = number_of(value);
        }
    }
}

static int take_metrics(struct lpo_counters_file *c, struct lpo_cursor at, struct lpo_err *err)
{
    uint64_t count = lpo_native_get_v(&at);

    if (at.bad || count > LPO_COUNTERS_METRICS_MAX)
        return lpo_fail(err, LPO_E_LIMIT, "it has more than %d metrics", LPO_COUNTERS_METRICS_MAX);
    for (uint64_t i = 0; i < count; i++) {
        struct lpo_counters_metric *m = &c->metrics[i];
        const char *name = text_of(c, &at);
        uint64_t meaning = lpo_native_get_v(&at), kind = lpo_native_get_v(&at);
        uint64_t scale = lpo_native_get_v(&at);
        const char *unit = text_of(c, &at);

        if (at.bad || scale == 0 || scale > LPO_COUNTERS_SCALE_MAX)
            return lpo_fail(err, LPO_E_FORMAT, "metric %d of its list cannot be read", (int)i + 1);
        *m = (struct lpo_counters_metric){
            .name = name,
            .unit = unit,
            .meaning = meaning < LPO_COUNTER_MEANINGS ? (enum lpo_counters_meaning)meaning
                                                      : LPO_COUNTER_OTHER,
            .kind = kind == LPO_COUNTER_SHARE ? LPO_COUNTER_SHARE : LPO_COUNTER_AMOUNT,
            .scale = (uint32_t)scale,
        };
        c->steps[i] = (double)scale;
    }
    c->about.nmetrics = (size_t)count;
    return 0;
}

/* Facts and metrics stand before the first sample: one short pass. */
static int read_about(struct lpo_counters_file *c, struct lpo_err *err)
{
    struct lpo_native_block b = { 0 };
    bool metrics = false;

    c->about = (struct lpo_counters_about){
        .chip = "",
        .gpu_name = "",
        .host = "",
        .trigger = "",
        .sampler = "",
        .beside = "",
        .gpu_uuid = "",
        .gpu_index = -1,
        .interval_ns = -1,
        .pid = -1,
        .metrics = c->metrics,
    };
    while (lpo_native_blocks_next(c->blocks, &b) && b.kind != LPO_COUNTERS_SAMPLES) {
        struct lpo_cursor at = { b.payload, b.payload + b.len, false };

        if (b.kind == LPO_COUNTERS_FACTS)
            take_facts(c, at);
        if (b.kind != LPO_COUNTERS_METRICS || metrics)
            continue;
        if (take_metrics(c, at, err) < 0)
            return err ? err->code : LPO_E_FORMAT;
        metrics = true;
    }
    if (b.kind == LPO_COUNTERS_SAMPLES && !metrics)
        return lpo_fail(err, LPO_E_FORMAT, "it has samples before the list of its metrics");
    lpo_counters_rewind(c);
    return 0;
}

/* --- opening --- */

static int open_blocks(struct lpo_counters_file *c, int fd, const void *bytes, size_t len,
                       struct lpo_counters_file **out, struct lpo_err *err)
{
    int rc = lpo_native_blocks_as(&counters_format, fd, bytes, len, &c->blocks, err);

    c->arena = lpo_arena_create();
    if (rc == 0)
        rc = read_about(c, err);
    if (rc < 0)
        lpo_counters_file_destroy(c);
    else
        *out = c;
    return rc;
}

int lpo_counters_open(const char *path, struct lpo_counters_file **out, struct lpo_err *err)
{
    struct lpo_unpack_file *plain = NULL;
    struct lpo_counters_file *c;
    int fd, rc = lpo_unpack(path, &plain, err);

    if (rc < 0)
        return rc;
    lpo_unpack_file_unname(plain);
    fd = dup(plain->fd);
    if (fd < 0) {
        lpo_unpack_file_destroy(plain);
        return lpo_fail_errno(err, "cannot read '%s'", path);
    }
    c = lpo_xcalloc(1, sizeof *c);
    c->plain = plain;
    rc = open_blocks(c, fd, NULL, 0, out, err);
    return rc < 0 ? lpo_ctx(err, "cannot read '%s' as sampled counters", path) : 0;
}

int lpo_counters_over(const void *bytes, size_t len, struct lpo_counters_file **out,
                      struct lpo_err *err)
{
    return open_blocks(lpo_xcalloc(1, sizeof(struct lpo_counters_file)), -1, bytes, len, out, err);
}

void lpo_counters_file_destroy(struct lpo_counters_file *c)
{
    if (!c)
        return;
    lpo_native_blocks_destroy(c->blocks);
    lpo_unpack_file_destroy(c->plain);
    lpo_arena_destroy(c->arena);
    free(c);
}

const struct lpo_counters_about *lpo_counters_about(const struct lpo_counters_file *c)
{
    return &c->about;
}

const struct lpo_counters_totals *lpo_counters_totals(const struct lpo_counters_file *c)
{
    return &c->totals;
}

void lpo_counters_rewind(struct lpo_counters_file *c)
{
    lpo_native_blocks_rewind(c->blocks);
    c->totals = (struct lpo_counters_totals){ .cpu_ns = -1, .wall_ns = -1, .notes = c->notes };
    c->left = 0;
    c->last_start_ns = 0;
    c->interval_ns = c->about.interval_ns;
}

/* --- samples --- */

static bool get_v(struct lpo_proto *p, uint64_t *out)
{
    *out = 0;
    return lpo_proto_varint(p, out) && !p->bad;
}

/* The times of the next sample; false: they are damaged, and so is all that follows in its block.
 */
static bool get_times(struct lpo_counters_file *c, struct lpo_counters_sample *out)
{
    uint64_t z, duration;
    int64_t start;

    if (!get_v(&c->samples, &z) || !get_v(&c->samples, &duration))
        return false;
    if (__builtin_add_overflow(c->last_end_ns, (int64_t)((z >> 1) ^ (0 - (z & 1))), &start))
        return false;
    if (start < 0 || start >= time_max || duration >= (uint64_t)(time_max - start))
        return false;
    out->start_ns = start;
    out->end_ns = c->last_end_ns = start + (int64_t)duration;
    return true;
}

static bool get_values(struct lpo_counters_file *c)
{
    for (size_t i = 0; i < c->about.nmetrics; i++) {
        uint64_t v;

        if (!get_v(&c->samples, &v))
            return false;
        /* 0 is unknown; dividing keeps what multiplying by 1 / scale would round. */
        c->values[i] = v ? (double)(v - 1) / c->steps[i] : NAN;
    }
    return true;
}

/* True: a sample. False: the block has no more. */
static bool next_in_block(struct lpo_counters_file *c, struct lpo_counters_sample *out)
{
    while (c->left) {
        if (c->samples.at == c->samples.end || !get_times(c, out) || !get_values(c)) {
            c->totals.skipped +=
                c->left < 1u << 20 ? c->left : 1; /* a damaged count may be anything */
            c->left = 0;
            return false;
        }
        c->left--;
        if (out->end_ns <= out->start_ns || out->start_ns < c->last_start_ns) {
            c->totals.skipped++;
            continue;
        }
        out->values = c->values;
        out->lost = 0;
        out->why = LPO_COUNTERS_LOST_OTHER;
        out->interval_ns = c->interval_ns;
        c->last_start_ns = out->start_ns;
        c->totals.samples++;
        return true;
    }
    return false;
}

static bool take_loss(struct lpo_counters_file *c, struct lpo_cursor at,
                      struct lpo_counters_sample *out)
{
    uint64_t from = lpo_native_get_v(&at), span = lpo_native_get_v(&at);
    uint64_t samples = lpo_native_get_v(&at), why = lpo_native_get_v(&at);

    if (at.bad || from >= (uint64_t)time_max || span >= (uint64_t)time_max - from) {
        c->totals.skipped++;
        return false;
    }
    out->start_ns = (int64_t)from;
    out->end_ns = (int64_t)(from + span);
    if (out->start_ns < c->last_start_ns)
        out->start_ns = c->last_start_ns;
    if (out->end_ns <= out->start_ns) {
        c->totals.skipped++;
        return false;
    }
    out->values = NULL;
    out->lost = samples < UINT64_C(1) << 48 ? samples : 0;
    out->why =
        why <= LPO_COUNTERS_LOST_CHANGE ? (enum lpo_counters_why)why : LPO_COUNTERS_LOST_OTHER;
    out->interval_ns = c->interval_ns;
    c->last_start_ns = out->start_ns;
    c->totals.losses++;
    c->totals.lost += out->lost;
    c->totals.lost_ns = lpo_ns_add(c->totals.lost_ns, out->end_ns - out->start_ns);
    return true;
}

static void take_note(struct lpo_counters_file *c, struct lpo_cursor at)
{
    size_t i = c->totals.nnotes;

    if (i == NOTES_MAX)
        return;
    lpo_native_get_v(&at); /* its code: for programs that know it */
    if (i == c->notes_seen)
        c->notes[c->notes_seen++] = text_of(c, &at);
    c->totals.nnotes++;
}

static void take_interval(struct lpo_counters_file *c, struct lpo_cursor at)
{
    uint64_t interval;

    lpo_native_get_v(&at); /* since when: the samples that follow say so, too */
    interval = lpo_native_get_v(&at);
    if (!at.bad && interval > 0 && interval < (uint64_t)time_max)
        c->interval_ns = (int64_t)interval;
}

static void take_end(struct lpo_counters_file *c, struct lpo_cursor at)
{
    c->totals.ended = true;
    while (at.at < at.end && !at.bad) {
        uint64_t which = lpo_native_get_v(&at), value = lpo_native_get_v(&at);

        if (at.bad)
            return;
        if (which == LPO_COUNTERS_TOTAL_CPU_NS && value < (uint64_t)time_max)
            c->totals.cpu_ns = (int64_t)value;
        if (which == LPO_COUNTERS_TOTAL_WALL_NS && value < (uint64_t)time_max)
            c->totals.wall_ns = (int64_t)value;
        if (which == LPO_COUNTERS_TOTAL_ENDED_BY && value <= LPO_COUNTERS_ENDED_ERROR)
            c->totals.ended_by = (unsigned)value;
    }
}

bool lpo_counters_next(struct lpo_counters_file *c, struct lpo_counters_sample *out)
{
    struct lpo_native_block b;

    while (!next_in_block(c, out)) {
        struct lpo_cursor at;

        if (!lpo_native_blocks_next(c->blocks, &b)) {
            c->totals.ignored_bytes = lpo_native_blocks_ignored(c->blocks);
            return false;
        }
        at = (struct lpo_cursor){ b.payload, b.payload + b.len, false };
        if (b.kind == LPO_COUNTERS_SAMPLES) {
            c->samples = lpo_proto(b.payload, b.len);
            c->last_end_ns = 0;
            if (!get_v(&c->samples, &c->left))
                c->left = 0;
        } else if (b.kind == LPO_COUNTERS_LOSS && take_loss(c, at, out)) {
            return true;
        } else if (b.kind == LPO_COUNTERS_NOTE) {
            take_note(c, at);
        } else if (b.kind == LPO_COUNTERS_INTERVAL) {
            take_interval(c, at);
        } else if (b.kind == LPO_COUNTERS_END) {
            take_end(c, at);
        }
    }
    return true;
}

bool lpo_counters_sniff(const unsigned char *head, size_t len)
{
    return len >= LPOT_PREAMBLE_BYTES && memcmp(head, LPO_COUNTERS_MAGIC, 8) == 0;
}

int lpo_counters_find(const struct lpo_counters_about *about, enum lpo_counters_meaning meaning)
{
    for (size_t i = 0; i < about->nmetrics; i++)
        if (about->metrics[i].meaning == meaning)
            return (int)i;
    return -1;
}
