/* SPDX-License-Identifier: Apache-2.0 */
/* What stands around the events: base time, rank, GPUs. */
#include "trace/kineto/private.h"

#include "trace/trace.h"

/* A member of an object that is wanted: a number, or with `text` a string. */
struct field {
    const char *key;
    int64_t *number;
    struct lpo_json_pull_text *text;
};

static int read_field(struct lpo_pull *q, const struct lpo_json_pull_text *key,
                      const struct field *f)
{
    for (; f->key; f++) {
        if (strlen(f->key) != key->len || memcmp(f->key, key->at, key->len) != 0)
            continue;
        if (f->number)
            return lpo_kineto_number(q, 0, f->number);
        return lpo_json_pull_peek(q) == '"' ? lpo_json_pull_string(q, f->text)
                                            : lpo_json_pull_skip(q);
    }
    return lpo_json_pull_skip(q);
}

/* Any value; what is wanted of it when it is an object. */
static int read_object(struct lpo_pull *q, const struct field *fields)
{
    struct lpo_json_pull_text key;
    bool first = true;
    int rc = lpo_json_pull_peek(q);

    if (rc != '{')
        return rc < 0 ? rc : lpo_json_pull_skip(q);
    q->p++;
    while ((rc = lpo_json_pull_member(q, &first, &key)) > 0) {
        rc = read_field(q, &key, fields);
        if (rc < 0)
            return rc;
    }
    return rc;
}

int lpo_kineto_read_base(struct lpo_pull *q, void *facts)
{
    struct kineto_facts *f = facts;
    int64_t ns = LPO_NO_TIME;
    int rc = lpo_kineto_number(q, 0, &ns);

    f->has_base = rc == 0 && ns != LPO_NO_TIME;
    f->base_ns = f->has_base ? ns : 0;
    return rc;
}

int lpo_kineto_read_distributed(struct lpo_pull *q, void *facts)
{
    struct kineto_facts *f = facts;
    int64_t rank = -1, ranks = 0;
    struct field fields[] = { { "rank", &rank, NULL }, { "world_size", &ranks, NULL }, { 0 } };
    int rc = read_object(q, fields);

    if (rc == 0 && rank >= 0 && rank <= INT32_MAX)
        f->rank = (int32_t)rank;
    if (rc == 0 && ranks > 0 && ranks <= INT32_MAX)
        f->ranks = (uint32_t)ranks;
    return rc;
}

static uint64_t known(int64_t v)
{
    return v > 0 ? (uint64_t)v : 0;
}

static int read_device(struct lpo_pull *q, struct kineto_device *d)
{
    struct lpo_json_pull_text name = { 0 };
    int64_t id = -1, sms = 0, major = 0, minor = 0, memory = 0;
    struct field fields[] = {
        { "id", &id, NULL },
        { "name", NULL, &name },
        { "numSms", &sms, NULL },
        { "computeMajor", &major, NULL },
        { "computeMinor", &minor, NULL },
        { "totalGlobalMem", &memory, NULL },
        { 0 },
    };
    int rc = read_object(q, fields);

    *d = (struct kineto_device){ .id = id,
                                 .sms = (uint32_t)known(sms),
                                 .cc_major = (uint32_t)known(major),
                                 .cc_minor = (uint32_t)known(minor),
                                 .memory_bytes = known(memory) };
    if (name.len >= sizeof d->name)
        name.len = sizeof d->name - 1;
    memcpy(d->name, name.len ? name.at : "", name.len);
    return rc;
}

int lpo_kineto_read_devices(struct lpo_pull *q, void *facts)
{
    struct kineto_facts *f = facts;
    struct kineto_device d;
    size_t count = 0;
    bool first = true;
    int rc = lpo_json_pull_peek(q);

    if (rc != '[')
        return rc < 0 ? rc : lpo_json_pull_skip(q);
    q->p++;
    while ((rc = lpo_json_pull_item(q, &first)) > 0) {
        rc = read_device(q, &d);
        if (rc < 0)
            return rc;
        if (count < KINETO_DEVICES)
            f->devices[count++] = d;
    }
    if (rc == 0)
        f->ndevices = count;
    return rc;
}

int lpo_kineto_read_other(struct lpo_pull *q, void *facts)
{
    const char *from = q->p;
    int rc = lpo_json_pull_skip(q);

    (void)facts;
    /* metadata goes into the file as its author wrote it: one that swallows the events is broken */
    if (rc == LPO_PULL_MORE && memmem(from, (size_t)(q->end - from), "\"traceEvents\"", 13))
        return LPO_E_FORMAT;
    return rc;
}
