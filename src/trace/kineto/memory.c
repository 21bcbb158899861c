/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/memory.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "trace/kineto/private.h"
#include "trace/trace.h"
#include "util/err.h"
#include "util/input.h"
#include "util/json_stream.h"

enum { MAX_VALUE = 4 << 20, MAX_DEVICES = 64 };

static const int64_t most_bytes = (int64_t)1 << 52;

struct record {
    bool named, is_memory;
    int64_t type, device, bytes, allocated, reserved;
};

static const struct arg {
    const char *key;
    size_t at;
} args[] = {
    { "Device Type", offsetof(struct record, type) },
    { "Device Id", offsetof(struct record, device) },
    { "Bytes", offsetof(struct record, bytes) },
    { "Total Allocated", offsetof(struct record, allocated) },
    { "Total Reserved", offsetof(struct record, reserved) },
};

static int read_arg(struct lpo_pull *q, const struct lpo_json_pull_text *key, struct record *r)
{
    for (size_t i = 0; i < sizeof args / sizeof *args; i++)
        if (key->len == strlen(args[i].key) && memcmp(key->at, args[i].key, key->len) == 0)
            return lpo_kineto_number(q, 0, (int64_t *)((char *)r + args[i].at));
    return lpo_json_pull_skip(q);
}

static int read_args(struct lpo_pull *q, struct record *r)
{
    struct lpo_json_pull_text key;
    bool first = true;
    int rc = lpo_json_pull_peek(q);

    if (rc != '{')
        return rc < 0 ? rc : lpo_json_pull_skip(q);
    q->p++;
    while ((rc = lpo_json_pull_member(q, &first, &key)) > 0)
        if ((rc = read_arg(q, &key, r)) < 0)
            return rc;
    return rc;
}

static int read_member(struct lpo_pull *q, const struct lpo_json_pull_text *key, struct record *r)
{
    struct lpo_json_pull_text name;
    int rc = lpo_json_pull_peek(q);

    if (rc < 0)
        return rc;
    if (lpo_json_pull_is(key, "name") && rc == '"') {
        rc = lpo_json_pull_string(q, &name);
        if (rc == 0) {
            r->named = true;
            r->is_memory = lpo_json_pull_is(&name, "[memory]");
        }
        return rc;
    }
    /* other events may have large args, and their name mostly comes before */
    if (lpo_json_pull_is(key, "args") && (r->is_memory || !r->named))
        return read_args(q, r);
    return lpo_json_pull_skip(q);
}

struct step {
    bool first;
    struct record r;
};

/* 1: an event was read. 0: the list has ended. */
static int read_event(struct lpo_pull *q, void *ctx)
{
    struct step *s = ctx;
    struct lpo_json_pull_text key;
    bool first = s->first, first_member = true;
    int rc = lpo_json_pull_item(q, &first);

    if (rc <= 0)
        return rc;
    s->r = (struct record){ .type = LPO_NO_TIME,
                            .device = LPO_NO_TIME,
                            .bytes = LPO_NO_TIME,
                            .allocated = LPO_NO_TIME,
                            .reserved = LPO_NO_TIME };
    rc = lpo_json_pull_peek(q);
    if (rc < 0)
        return rc;
    if (rc != '{') {
        rc = lpo_json_pull_skip(q);
    } else {
        q->p++;
        while ((rc = lpo_json_pull_member(q, &first_member, &key)) > 0)
            if ((rc = read_member(q, &key, &s->r)) < 0)
                break;
    }
    if (rc < 0)
        return rc;
    s->first = false;
    return 1;
}

static bool sane(int64_t v)
{
    return v != LPO_NO_TIME && v >= 0 && v < most_bytes;
}

static void raise_to(struct lpo_measure *peak, int64_t v)
{
    if (sane(v) && (!lpo_measure_known(*peak) || (double)v > peak->value))
        *peak = lpo_measure_measured((double)v);
}

static struct lpo_memory_peak *row_of(struct lpo_kineto_memory *m, const struct record *r)
{
    int64_t type = r->type == LPO_NO_TIME ? 0 : r->type;
    int64_t device = r->device == LPO_NO_TIME ? -1 : r->device;

    for (size_t i = 0; i < m->rows.len; i++)
        if (m->rows.at[i].type == type && m->rows.at[i].device == device)
            return &m->rows.at[i];
    if (m->rows.len == MAX_DEVICES)
        return NULL;
    lpo_vec_push(&m->rows, (struct lpo_memory_peak){ .type = type, .device = device });
    return &m->rows.at[m->rows.len - 1];
}

static void count(struct lpo_kineto_memory *m, const struct record *r)
{
    struct lpo_memory_peak *row;

    if (!r->is_memory || r->bytes == LPO_NO_TIME || r->bytes >= most_bytes ||
        r->bytes <= -most_bytes || !(row = row_of(m, r)))
        return;
    m->events++;
    row->allocations += r->bytes > 0;
    row->frees += r->bytes < 0;
    if (r->bytes > row->largest_bytes)
        row->largest_bytes = r->bytes;
    /* an absurd file must not overflow the sum; a real one never comes near */
    if (row->now_bytes < most_bytes * 512 && row->now_bytes > -most_bytes * 512)
        row->now_bytes += r->bytes;
    if (row->now_bytes > row->growth_bytes)
        row->growth_bytes = row->now_bytes;
    raise_to(&row->allocated, r->allocated);
    raise_to(&row->reserved, r->reserved);
}

static int read_list(struct lpo_json_stream *s, struct lpo_kineto_memory *into, struct lpo_err *err)
{
    struct step step = { .first = true };
    int rc;

    while ((rc = lpo_json_stream_read(s, read_event, &step, err)) > 0)
        count(into, &step.r);
    return rc;
}

static int read_object(struct lpo_json_stream *s, struct lpo_kineto_memory *into,
                       struct lpo_err *err)
{
    bool first = true, is_list;
    int rc;

    while ((rc = lpo_json_stream_key(s, &first, "traceEvents", &is_list, err)) > 0) {
        if (is_list && lpo_json_stream_bracket(s, err) == '[')
            return read_list(s, into, err);
        if ((rc = lpo_json_stream_skip(s, err)) < 0)
            return rc;
    }
    return rc;
}

static int by_device(const void *a, const void *b)
{
    const struct lpo_memory_peak *x = a, *y = b;

    if (x->type != y->type)
        return x->type > y->type ? 1 : -1;
    return (x->device > y->device) - (x->device < y->device);
}

bool lpo_kineto_has_memory(const char *path)
{
    static const char mark[] = "\"profile_memory\"";
    unsigned char head[16384];
    size_t len = 0;

    return lpo_input_head(path, head, sizeof head, &len, NULL) == 0 &&
           memmem(head, len, mark, sizeof mark - 1) != NULL;
}

int lpo_kineto_memory(const char *path, struct lpo_kineto_memory *into, struct lpo_err *err)
{
    LPO_AUTO(lpo_json_stream) s = NULL;
    int rc = lpo_json_stream_open(path, LPO_PULL_LENIENT, MAX_VALUE, &s, err);

    if (rc < 0)
        return rc;
    rc = lpo_json_stream_bracket(s, err);
    if (rc == '[')
        rc = read_list(s, into, err);
    else if (rc == '{')
        rc = read_object(s, into, err);
    if (into->rows.len)
        qsort(into->rows.at, into->rows.len, sizeof *into->rows.at, by_device);
    return rc == LPO_E_IO ? rc : 0;
}

void lpo_kineto_memory_free(struct lpo_kineto_memory *m)
{
    lpo_vec_free(&m->rows);
}

const char *lpo_kineto_memory_type(int64_t type)
{
    enum { CPU = 0, CUDA = 1, HIP = 6 }; /* c10::DeviceType */

    return type == CPU ? "CPU" : type == CUDA || type == HIP ? "GPU" : "other";
}
