/* SPDX-License-Identifier: Apache-2.0 */
/* A Kineto trace is one JSON object with the events in "traceEvents" and facts around them, in any
 * order; the profiler of before 2021 wrote the bare list. */
#include "trace/kineto/private.h"

#include "trace/reader.h"
#include "trace/trace.h"
#include "util/budget.h"

enum {
    MAX_VALUE = 16 << 20, /* bytes of a value that is looked into */
    MAX_EVENT = 4 << 20,  /* of an event: a stray quote must not swallow the rest of the file */
    MAX_BROKEN = 1000,    /* events given up before the file is */
    KEY_ROOM = 64,
};

struct file {
    struct lpo_trace *t;
    struct lpo_json_stream *s;
    struct lpo_kineto_build *build;
    struct kineto_facts facts;
    unsigned wanted;
    bool seen_events;          /* the list was found */
    uint64_t events;           /* read whole */
    uint64_t repaired, broken; /* events with stray quotes; events given up */
    struct lpo_err *err;
};

/* One step along the list: a comma and an event, or the end. */
struct entry {
    unsigned wanted;
    bool first;    /* no comma before it */
    uint64_t lost; /* bytes that were read in vain: nested damage is read again at each level */
    struct kineto_event event;
    struct kineto_order order;
};

static int read_event(struct lpo_pull *q, struct entry *n)
{
    bool first = n->first;
    int rc = lpo_json_pull_item(q, &first);

    if (rc <= 0)
        return rc;
    rc = lpo_json_pull_peek(q);
    if (rc < 0)
        return rc;
    n->event.kind = KINETO_OTHER;
    n->event.python = false;
    rc = rc == '{' ? lpo_kineto_event_read(q, n->wanted, &n->order, &n->event)
                   : lpo_json_pull_skip(q);
    if (rc < 0)
        return rc;
    /* an event torn by a stray quote shows in what follows it */
    rc = lpo_json_pull_peek(q);
    if (rc >= 0 && rc != ',' && rc != ']')
        return LPO_E_FORMAT;
    n->first = false;
    return 1;
}

static int read_entry(struct lpo_pull *q, void *ctx)
{
    struct entry *n = ctx;
    const char *from = q->p, *end = q->end;
    bool clipped = end - q->p > MAX_EVENT;
    int rc;

    if (clipped)
        q->end = q->p + MAX_EVENT;
    rc = read_event(q, n);
    q->end = end;
    n->lost += rc < 0 ? (uint64_t)(q->p - from) : 0;
    return rc == LPO_PULL_MORE && clipped ? LPO_E_FORMAT : rc;
}

static bool torn(int rc)
{
    return rc == LPO_E_FORMAT || rc == LPO_E_LIMIT || rc == LPO_PULL_MORE;
}

/* 1: n->event is filled. 0: the list has ended. */
static int next_entry(struct file *f, struct entry *n)
{
    for (;;) {
        int rc = lpo_json_stream_read(f->s, read_entry, n, f->err), found;

        if (torn(rc)) {
            rc = lpo_json_stream_read_as(f->s, LPO_PULL_REPAIR, read_entry, n, f->err);
            f->repaired += rc > 0;
        }
        if (!torn(rc) || f->broken == MAX_BROKEN || n->lost > lpo_budget()->recovery_bytes)
            return rc;
        /* an event that never ends is the file's end only when no other comes after it */
        found = lpo_json_stream_resync(f->s, f->err);
        f->broken += found > 0 || rc != LPO_PULL_MORE;
        if (found <= 0)
            return found < 0 ? found : LPO_PULL_MORE;
        n->first = true;
    }
}

/* The opening bracket is behind us. */
static int read_list(struct file *f)
{
    struct entry n = { .wanted = f->wanted, .first = true };
    int rc;

    f->seen_events = true;
    while ((rc = next_entry(f, &n)) > 0) {
        f->events++;
        if (n.event.kind != KINETO_OTHER)
            lpo_kineto_build_add(f->build, &n.event);
        f->t->python_unread += n.event.python;
        f->t->counted_kernels += n.event.counted;
    }
    return rc;
}

static int read_events(struct file *f)
{
    int rc = lpo_json_stream_bracket(f->s, f->err);

    if (rc == '[')
        return read_list(f);
    return rc < 0 ? rc : LPO_E_FORMAT;
}

static const struct fact {
    const char *key;
    lpo_json_fn read;
} facts[] = {
    { "baseTimeNanoseconds", lpo_kineto_read_base },
    { "distributedInfo", lpo_kineto_read_distributed },
    { "deviceProperties", lpo_kineto_read_devices },
    { NULL, lpo_kineto_read_other },
};

static int read_fact(struct file *f, const char *key)
{
    const struct fact *row = facts;
    int rc;

    if (strcmp(key, "traceEvents") == 0)
        return read_events(f);
    while (row->key && strcmp(row->key, key) != 0)
        row++;
    rc = lpo_json_stream_read(f->s, row->read, &f->facts, f->err);
    return rc == LPO_E_LIMIT ? lpo_json_stream_skip(f->s, f->err) : rc;
}

struct key {
    bool first;
    char text[KEY_ROOM];
};

static int read_key(struct lpo_pull *q, void *ctx)
{
    struct key *k = ctx;
    struct lpo_json_pull_text text;
    bool first = k->first;
    int rc = lpo_json_pull_member(q, &first, &text);
    size_t len;

    if (rc <= 0)
        return rc;
    len = text.len < KEY_ROOM ? text.len : KEY_ROOM - 1;
    memcpy(k->text, text.at, len);
    k->text[len] = '\0';
    k->first = false;
    return 1;
}

/* Metadata that callers add goes into the file as it is, so it can be anything: after a broken
 * value we look for the next thing that could be an event. */
static int read_object(struct file *f)
{
    struct key k = { .first = true };
    int rc;

    while ((rc = lpo_json_stream_read(f->s, read_key, &k, f->err)) > 0) {
        rc = read_fact(f, k.text);
        if (rc == LPO_E_FORMAT && !f->seen_events && lpo_json_stream_resync(f->s, f->err) > 0)
            rc = read_list(f);
        if (rc < 0)
            return rc;
    }
    return rc;
}

static bool is_alike(const struct kineto_device *a, const struct kineto_device *b)
{
    return lpo_streq(a->name, b->name) && a->sms == b->sms && a->memory_bytes == b->memory_bytes;
}

/* AMD's events count the CPUs too, and the description does not: a GPU that is not in it is one of
 * those that are, and where they are alike it does not matter which. */
static const struct kineto_device *described(const struct kineto_facts *f, int32_t id)
{
    for (size_t k = 0; k < f->ndevices; k++)
        if (f->devices[k].id == id)
            return &f->devices[k];
    for (size_t k = 1; k < f->ndevices; k++)
        if (!is_alike(&f->devices[0], &f->devices[k]))
            return NULL;
    return f->ndevices && *f->devices[0].name ? &f->devices[0] : NULL;
}

static void name_devices(struct file *f)
{
    if (f->facts.ranks)
        lpo_trace_say_ranks(f->t, f->facts.ranks);
    for (size_t i = 0; i < f->t->devices.len; i++) {
        struct lpo_device *d = &f->t->devices.at[i];
        const struct kineto_device *v;

        if (d->rank != f->facts.rank || d->name != LPO_NONE)
            continue;
        v = described(&f->facts, d->id);
        if (!v)
            continue;
        d->name = lpo_trace_name(f->t, v->name);
        d->sms = v->sms;
        d->cc_major = v->cc_major;
        d->cc_minor = v->cc_minor;
        d->memory_bytes = v->memory_bytes;
    }
}

/* What the user should know about a file that was not whole. */
static void add_notes(struct file *f, int rc)
{
    const char *damage = lpo_json_stream_damage(f->s);

    if (damage)
        lpo_trace_note_damage(f->t, 0, "%s: the events before that were read", damage);
    else if (rc == LPO_PULL_MORE)
        lpo_trace_note_damage(f->t, 0, "the file is cut off: the %llu events before that were read",
                              (unsigned long long)f->events);
    else if (rc < 0)
        lpo_trace_note_damage(
            f->t, 0, "the file is broken at byte %llu: the %llu events read were kept",
            (unsigned long long)lpo_json_stream_offset(f->s), (unsigned long long)f->events);
    if (f->repaired)
        lpo_trace_note(f->t, f->repaired, "events with unescaped quotes, read nevertheless");
    if (f->broken)
        lpo_trace_note_damage(f->t, f->broken, "places that are not JSON, passed over");
}

static int read_all(struct file *f)
{
    int rc = lpo_json_stream_bracket(f->s, f->err);

    if (rc == '{')
        rc = read_object(f);
    else if (rc == '[')
        rc = read_list(f);
    else
        rc = LPO_E_FORMAT;
    if (rc == LPO_E_IO)
        return rc;
    if (!f->seen_events)
        return lpo_fail(f->err, LPO_E_FORMAT, "no list of events (\"traceEvents\") was found");
    lpo_kineto_build_finish(f->build, &f->facts);
    name_devices(f);
    add_notes(f, rc);
    return 0;
}

static unsigned wanted_kinds(uint32_t skip)
{
    unsigned wanted = KINETO_BIT(KINETO_KERNEL) | KINETO_BIT(KINETO_COPY) |
                      KINETO_BIT(KINETO_MEMSET) | KINETO_BIT(KINETO_META);

    if (!(skip & LPO_SKIP_LAUNCHES))
        wanted |= KINETO_BIT(KINETO_CALL);
    if (!(skip & LPO_SKIP_OPS))
        wanted |= KINETO_BIT(KINETO_OP) | KINETO_BIT(KINETO_OLD_OP) | KINETO_BIT(KINETO_FLOW);
    if (!(skip & LPO_SKIP_RANGES))
        wanted |=
            KINETO_BIT(KINETO_RANGE) | KINETO_BIT(KINETO_OLD_OP) | KINETO_BIT(KINETO_GPU_RANGE);
    if (!(skip & LPO_SKIP_CALLS))
        wanted |= KINETO_BIT(KINETO_PYTHON) | KINETO_BIT(KINETO_MEMORY) | KINETO_BIT(KINETO_SYNC);
    if (skip & LPO_SKIP_BUT_PYTHON)
        wanted |= KINETO_BIT(KINETO_PYTHON);
    return wanted;
}

static int kineto_read(const char *path, struct lpo_trace *into, struct lpo_err *err)
{
    LPO_AUTO(lpo_json_stream) s = NULL;
    struct lpo_err scratch = { 0 };
    struct file f = { .t = into,
                      .facts = { .rank = (int32_t)into->file_rank - 1 },
                      .err = &scratch };
    int rc = lpo_json_stream_open(path, LPO_PULL_LENIENT, MAX_VALUE, &s, err);

    if (rc < 0)
        return rc;
    f.s = s;
    f.wanted = wanted_kinds(into->skip);
    f.build = lpo_kineto_build_create(into);
    into->has_ranges = true;
    rc = read_all(&f);
    lpo_kineto_build_destroy(f.build);
    if (rc < 0)
        return lpo_fail(err, rc, "%s", lpo_err_cause(&scratch));
    return 0;
}

static bool kineto_sniff(const char *path, const unsigned char *head, size_t len)
{
    static const char *const marks[] = { "\"traceEvents\"",      "\"ph\"",
                                         "\"deviceProperties\"", "\"distributedInfo\"",
                                         "\"schemaVersion\"",    "\"traceName\"" };
    size_t i = 0;

    (void)path;
    if (len >= 3 && memcmp(head, "\xef\xbb\xbf", 3) == 0)
        i = 3;
    while (i < len && head[i] <= ' ')
        i++;
    if (i == len || (head[i] != '{' && head[i] != '['))
        return false;
    return lpo_any(m, sizeof marks / sizeof *marks, memmem(head, len, marks[m], strlen(marks[m])));
}

const struct lpo_reader lpo_kineto_reader = {
    .name = "kineto",
    .summary = "PyTorch profiler trace (Kineto JSON, also .gz and .zst)",
    .sniff = kineto_sniff,
    .read = kineto_read,
};
