/* SPDX-License-Identifier: Apache-2.0 */
/* The .xplane.pb of jax.profiler and XLA: what trace.json.gz is made of, without its limit.
 *
 * A file is planes (the host, each GPU), a plane lines (threads, streams), a line events. Names and
 * statistics stand once in a plane, by number, behind the lines. Each event becomes that of the
 * JSON (build.c), so that both files give the same. */

#include "trace/reader.h"
#include "trace/trace.h"
#include "trace/xprof/private.h"
#include "util/budget.h"
#include "util/file.h"
#include "util/proto.h"
#include "util/unpack.h"

/* Field numbers of tsl/profiler/protobuf/xplane.proto. */
enum { SPACE_PLANE = 1, SPACE_ERROR = 2, SPACE_WARNING = 3 };
enum { PLANE_NAME = 2, PLANE_LINE = 3, PLANE_EVENTS = 4, PLANE_STATS = 5, PLANE_STAT = 6 };
enum { LINE_ID = 1, LINE_NAME = 2, LINE_NS = 3, LINE_EVENT = 4, LINE_SHOWN = 11 };
enum { EVENT_KIND = 1, EVENT_PS = 2, EVENT_DURATION_PS = 3, EVENT_STAT = 4 };
enum { STAT_KIND = 1, STAT_DOUBLE = 2, STAT_UINT = 3, STAT_INT = 4, STAT_TEXT = 5, STAT_REF = 7 };
enum { ENTRY_KEY = 1, ENTRY_VALUE = 2, META_NAME = 2, META_STAT = 5 };

static const int64_t most_ns = (int64_t)4e18;

/* What stands once in a plane. */
struct meta {
    struct lpo_json_pull_text name;
    struct lpo_proto stats; /* of events: that all of one kind share */
};

struct metas {
    struct lpo_map_u64 *rows; /* by number */
    LPO_VEC(struct meta) at;
};

struct plane {
    struct lpo_xprof_build *build;
    struct lpo_trace *t;
    int64_t pid;
    struct lpo_json_pull_text name;
    struct metas events, stats;
    int64_t shift_ns; /* to the clock of the trace */
};

/* What XLA itself counted of an op, where it did. */
struct counted {
    double flops, bytes; /* below 0: it did not */
};

static struct lpo_json_pull_text text_of(const struct lpo_proto_field *f)
{
    return (struct lpo_json_pull_text){ f->wire == LPO_WIRE_BYTES ? (const char *)f->bytes : "",
                                        f->wire == LPO_WIRE_BYTES ? (size_t)f->value : 0, false };
}

static bool is(const struct lpo_json_pull_text *text, const char *word)
{
    return text->len == strlen(word) && memcmp(text->at, word, text->len) == 0;
}

/* --- names of a plane ----------------------------------------------------------------------- */

static void add_meta(struct metas *m, struct lpo_proto entry)
{
    struct lpo_proto_field f, inner;
    struct meta row = { .name = { "", 0, false } };
    uint64_t key = 0;
    uint32_t *slot;
    bool fresh;

    while (lpo_proto_next(&entry, &f)) {
        struct lpo_proto value = lpo_proto_inner(&f);

        if (f.number == ENTRY_KEY)
            key = f.value;
        if (f.number != ENTRY_VALUE || f.wire != LPO_WIRE_BYTES)
            continue;
        row.stats = value;
        while (lpo_proto_next(&value, &inner))
            if (inner.number == META_NAME)
                row.name = text_of(&inner);
    }
    slot = lpo_map_u64_put(m->rows, key, &fresh);
    if (!fresh)
        return;
    *slot = (uint32_t)m->at.len;
    lpo_vec_push(&m->at, row);
}

static const struct meta *find_meta(const struct metas *m, uint64_t key)
{
    const uint32_t *row = lpo_map_u64_find(m->rows, key);

    return row ? &m->at.at[*row] : NULL;
}

/* --- statistics of an event ----------------------------------------------------------------- */

static const struct {
    const char *name;
    size_t at;
    bool is_text;
} known[] = {
    { "name", offsetof(struct xprof_event, label), true },
    { "hlo_module", offsetof(struct xprof_event, module), true },
    { "hlo_op", offsetof(struct xprof_event, op), true },
    { "tf_op", offsetof(struct xprof_event, place), true },
    { "kernel_details", offsetof(struct xprof_event, kernel), true },
    { "memcpy_details", offsetof(struct xprof_event, copy), true },
    { "memset_details", offsetof(struct xprof_event, fill), true },
    { "correlation_id", offsetof(struct xprof_event, correlation), false },
    { "cuda_graph_id", offsetof(struct xprof_event, graph), false },
    { "step_num", offsetof(struct xprof_event, step), false },
};

struct stat {
    const struct lpo_json_pull_text *name;
    struct lpo_json_pull_text text;
    int64_t number;
    double real; /* below 0: not a number */
};

static bool read_stat(const struct plane *p, struct lpo_proto m, struct stat *out)
{
    struct lpo_proto_field f;

    *out = (struct stat){ .text = { "", 0, false }, .real = -1 };
    while (lpo_proto_next(&m, &f)) {
        const struct meta *meta =
            f.number == STAT_KIND || f.number == STAT_REF ? find_meta(&p->stats, f.value) : NULL;

        if (f.number == STAT_KIND && meta)
            out->name = &meta->name;
        else if (f.number == STAT_REF && meta)
            out->text = meta->name;
        else if (f.number == STAT_TEXT)
            out->text = text_of(&f);
        else if (f.number == STAT_DOUBLE && f.wire == LPO_WIRE_64)
            out->real = lpo_proto_double(&f);
        else if (f.number == STAT_UINT || f.number == STAT_INT)
            out->real = (double)(out->number = (int64_t)f.value);
    }
    return out->name != NULL;
}

static void take_stat(const struct stat *s, struct xprof_event *e, struct counted *counted)
{
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (is(s->name, known[i].name)) {
            if (known[i].is_text)
                *(struct lpo_json_pull_text *)((char *)e + known[i].at) = s->text;
            else if (s->real >= 0)
                *(int64_t *)((char *)e + known[i].at) = s->number;
            return;
        }
    if (is(s->name, "flops"))
        counted->flops = s->real;
    else if (is(s->name, "bytes_accessed"))
        counted->bytes = s->real;
}

static void take_stats(const struct plane *p, struct lpo_proto m, uint32_t number,
                       struct xprof_event *e, struct counted *counted)
{
    struct lpo_proto_field f;
    struct stat s;

    while (lpo_proto_next(&m, &f))
        if (f.number == number && f.wire == LPO_WIRE_BYTES && read_stat(p, lpo_proto_inner(&f), &s))
            take_stat(&s, e, counted);
}

/* --- events --------------------------------------------------------------------------------- */

static struct xprof_event new_event(const struct plane *p, char ph, int64_t tid,
                                    struct lpo_json_pull_text name)
{
    static const struct lpo_json_pull_text none = { .at = "" };

    return (struct xprof_event){ .ph = ph,
                                 .pid = p->pid,
                                 .tid = tid,
                                 .start_ns = LPO_NO_TIME,
                                 .dur_ns = LPO_NO_TIME,
                                 .name = name,
                                 .correlation = LPO_NO_TIME,
                                 .step = LPO_NO_TIME,
                                 .graph = LPO_NO_TIME,
                                 .label = none,
                                 .module = none,
                                 .op = none,
                                 .place = none,
                                 .kernel = none,
                                 .copy = none,
                                 .fill = none };
}

static void announce(const struct plane *p, const char *what, int64_t tid,
                     struct lpo_json_pull_text name)
{
    struct xprof_event e =
        new_event(p, 'M', tid, (struct lpo_json_pull_text){ what, strlen(what), false });

    e.label = name;
    lpo_xprof_build_add(p->build, &e);
}

static void add_counted(struct lpo_trace *t, size_t op, const struct counted *c)
{
    static const char flops[] = "xla__flops.sum", bytes[] = "xla__bytes_accessed.sum";
    uint32_t row;

    if (op >= t->gpu_ops.len || (c->flops < 0 && c->bytes < 0) || t->skip & LPO_SKIP_METRICS)
        return;
    row = t->gpu_ops.at[op].metrics = lpo_trace_metric_row(t);
    if (c->flops >= 0)
        lpo_trace_metric_set(t, row, lpo_trace_metric(t, flops, sizeof flops - 1, "FLOP"),
                             c->flops);
    if (c->bytes >= 0)
        lpo_trace_metric_set(t, row, lpo_trace_metric(t, bytes, sizeof bytes - 1, "byte"),
                             c->bytes);
}

static void add_event(struct plane *p, struct lpo_proto m, int64_t tid, int64_t line_ns)
{
    struct lpo_proto all = m;
    struct lpo_proto_field f;
    struct xprof_event e = new_event(p, 'X', tid, (struct lpo_json_pull_text){ "", 0, false });
    struct counted counted = { -1, -1 };
    const size_t op = p->t->gpu_ops.len;
    const struct meta *meta = NULL;
    int64_t ps = 0, length_ps = 0;

    while (lpo_proto_next(&m, &f)) {
        if (f.number == EVENT_KIND)
            meta = find_meta(&p->events, f.value);
        else if (f.number == EVENT_PS)
            ps = (int64_t)f.value;
        else if (f.number == EVENT_DURATION_PS)
            length_ps = (int64_t)f.value;
    }
    if (meta) {
        e.name = meta->name;
        take_stats(p, meta->stats, META_STAT, &e, &counted);
    }
    take_stats(p, all, EVENT_STAT, &e, &counted);
    e.start_ns = line_ns + ps / 1000;
    e.dur_ns = length_ps / 1000;
    lpo_xprof_build_add(p->build, &e);
    add_counted(p->t, op, &counted);
}

static void add_line(struct plane *p, struct lpo_proto m)
{
    struct lpo_proto all = m;
    struct lpo_proto_field f;
    struct lpo_json_pull_text name = { "", 0, false };
    int64_t id = 0, ns = 0;

    while (lpo_proto_next(&m, &f)) {
        if (f.number == LINE_ID)
            id = (int64_t)f.value;
        else if (f.number == LINE_NAME || f.number == LINE_SHOWN)
            name = f.number == LINE_NAME || !name.len ? text_of(&f) : name;
        else if (f.number == LINE_NS)
            ns = (int64_t)f.value;
    }
    announce(p, "thread_name", id, name);
    ns = ns > most_ns || ns < -most_ns ? 0 : ns + p->shift_ns;
    while (lpo_proto_next(&all, &f))
        if (f.number == LINE_EVENT && f.wire == LPO_WIRE_BYTES)
            add_event(p, lpo_proto_inner(&f), id, ns);
}

/* --- planes --------------------------------------------------------------------------------- */

/* XProf says of a GPU what its driver says; the version of CUDA's kind is one only there. */
static void add_device(const struct plane *p, struct lpo_proto m, uint16_t device)
{
    struct lpo_device *d = &p->t->devices.at[device];
    struct lpo_proto_field f;
    bool amd = false;

    while (lpo_proto_next(&m, &f)) {
        struct stat s;

        if (f.number != PLANE_STAT || f.wire != LPO_WIRE_BYTES ||
            !read_stat(p, lpo_proto_inner(&f), &s))
            continue;
        if (is(s.name, "device_vendor"))
            amd = is(&s.text, "AMD");
        else if (is(s.name, "core_count"))
            d->sms = (uint32_t)s.number;
        else if (is(s.name, "memory_size"))
            d->memory_bytes = (uint64_t)s.number;
        else if (is(s.name, "clock_rate"))
            d->sm_clock_khz = (uint32_t)s.number;
        else if (is(s.name, "compute_cap_major"))
            d->cc_major = (uint32_t)s.number;
        else if (is(s.name, "compute_cap_minor"))
            d->cc_minor = (uint32_t)s.number;
    }
    if (amd)
        d->cc_major = d->cc_minor = 0;
}

static void read_metas(struct plane *p, struct lpo_proto m)
{
    struct lpo_proto_field f;

    while (lpo_proto_next(&m, &f)) {
        if (f.wire != LPO_WIRE_BYTES)
            continue;
        if (f.number == PLANE_NAME)
            p->name = text_of(&f);
        else if (f.number == PLANE_EVENTS)
            add_meta(&p->events, lpo_proto_inner(&f));
        else if (f.number == PLANE_STATS)
            add_meta(&p->stats, lpo_proto_inner(&f));
    }
}

static void begin_plane(struct plane *p, struct lpo_proto m)
{
    p->events.rows = lpo_map_u64_create(0);
    p->stats.rows = lpo_map_u64_create(0);
    read_metas(p, m);
}

static void end_plane(struct plane *p)
{
    lpo_map_u64_destroy(p->events.rows);
    lpo_map_u64_destroy(p->stats.rows);
    lpo_vec_free(&p->events.at);
    lpo_vec_free(&p->stats.at);
}

static void read_plane(struct plane p, struct lpo_proto m)
{
    struct lpo_proto all = m;
    struct lpo_proto_field f;
    const size_t devices = p.t->devices.len;

    begin_plane(&p, m);
    announce(&p, "process_name", 0, p.name);
    if (p.t->devices.len > devices)
        add_device(&p, m, (uint16_t)devices);
    while (lpo_proto_next(&all, &f))
        if (f.number == PLANE_LINE && f.wire == LPO_WIRE_BYTES)
            add_line(&p, lpo_proto_inner(&f));
    end_plane(&p);
}

/* "Task Environment" says when the profile began; times count from there. */
static int64_t read_epoch(struct plane p, struct lpo_proto m)
{
    struct lpo_proto_field f;
    struct stat s;
    int64_t epoch = LPO_NO_TIME;

    begin_plane(&p, m);
    while (lpo_proto_next(&m, &f))
        if (f.number == PLANE_STAT && f.wire == LPO_WIRE_BYTES &&
            read_stat(&p, lpo_proto_inner(&f), &s) && is(s.name, "profile_start_time") &&
            s.number > 0 && s.number < most_ns)
            epoch = s.number;
    end_plane(&p);
    return epoch;
}

/* Files of several hosts are put on the clock of the first. */
static int64_t find_shift(struct plane p, struct lpo_proto m)
{
    struct lpo_proto_field f;
    struct lpo_trace *t = p.t;
    int64_t epoch = LPO_NO_TIME;

    while (epoch == LPO_NO_TIME && lpo_proto_next(&m, &f))
        if (f.number == SPACE_PLANE && f.wire == LPO_WIRE_BYTES)
            epoch = read_epoch(p, lpo_proto_inner(&f));
    if (epoch == LPO_NO_TIME)
        return 0;
    if (t->epoch_ns == LPO_NO_TIME && t->gpu_ops.len == 0 && t->ranges.len == 0)
        t->epoch_ns = epoch;
    return t->epoch_ns == LPO_NO_TIME ? 0 : epoch - t->epoch_ns;
}

static void read_planes(struct lpo_proto m, struct lpo_trace *into)
{
    struct plane p = { .build = lpo_xprof_build_create(into), .t = into };
    struct lpo_proto_field f;

    p.shift_ns = find_shift(p, m);
    while (lpo_proto_next(&m, &f)) {
        struct lpo_json_pull_text said = text_of(&f);

        p.pid++;
        if (f.number == SPACE_PLANE && f.wire == LPO_WIRE_BYTES)
            read_plane(p, lpo_proto_inner(&f));
        else if ((f.number == SPACE_ERROR || f.number == SPACE_WARNING) && said.len)
            lpo_trace_note(into, 0, "XProf says: %.*s", said.len < 200 ? (int)said.len : 200,
                           said.at);
    }
    if (m.bad)
        lpo_trace_note_damage(into, 0,
                              "the file is cut off or broken: the planes before were read");
    lpo_xprof_build_finish(p.build);
    lpo_xprof_build_destroy(p.build);
}

static int read(const char *path, struct lpo_trace *into, struct lpo_err *err)
{
    LPO_AUTO(lpo_unpack_file) file = NULL;
    LPO_AUTO(lpo_file_text) bytes = NULL;

    if (lpo_unpack(path, &file, err) < 0 ||
        lpo_file_text_read_limit(file->path, lpo_budget()->whole_file_bytes, &bytes, err) < 0)
        return err ? err->code : LPO_E_IO;
    into->has_ranges = true;
    read_planes(lpo_proto(bytes->at, bytes->len), into);
    return 0;
}

/* The first plane has one of these names, before anything of size. */
static bool sniff(const char *path, const unsigned char *head, size_t len)
{
    static const char *const names[] = { "/host:", "/device:", "Task Environment", "#Chip" };
    struct lpo_proto m = lpo_proto(head, len);
    struct lpo_proto_field f;
    uint64_t key, size;

    (void)path;
    if (!len || !lpo_proto_varint(&m, &key) || key != (SPACE_PLANE << 3 | LPO_WIRE_BYTES) ||
        !lpo_proto_varint(&m, &size))
        return false;
    while (lpo_proto_next(&m, &f) && f.number <= PLANE_NAME)
        for (size_t i = 0; f.number == PLANE_NAME && i < sizeof names / sizeof *names; i++)
            if (f.wire == LPO_WIRE_BYTES && f.value >= strlen(names[i]) &&
                memcmp(f.bytes, names[i], strlen(names[i])) == 0)
                return true;
    return false;
}

const struct lpo_reader lpo_xplane_reader = {
    .name = "xplane",
    .like = "xprof",
    .summary = "XLA profile (.xplane.pb of jax.profiler)",
    .sniff = sniff,
    .read = read,
};
