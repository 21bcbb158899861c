/* SPDX-License-Identifier: Apache-2.0 */
/* Traces of jax.profiler: trace.json.gz beside the .xplane.pb, and perfetto_trace.json.gz. */

#include "trace/fields.h"
#include "trace/reader.h"
#include "trace/trace.h"
#include "trace/xprof/private.h"

enum { MAX_VALUE = 4 << 20 };

/* Values of args are texts, numbers too. */
#define FIELD(inside, key, member, kind)                                                           \
    {                                                                                              \
        inside, key, offsetof(struct xprof_event, member), kind                                    \
    }
static const struct lpo_member fields[] = {
    FIELD("", "ph", phase, LPO_MEMBER_TEXT),
    FIELD("", "pid", pid, LPO_MEMBER_NUMBER),
    FIELD("", "tid", tid, LPO_MEMBER_NUMBER),
    FIELD("", "ts", start_ns, LPO_MEMBER_MICROSECONDS),
    FIELD("", "dur", dur_ns, LPO_MEMBER_MICROSECONDS),
    FIELD("", "name", name, LPO_MEMBER_TEXT),
    FIELD("args", "name", label, LPO_MEMBER_TEXT),
    FIELD("args", "hlo_module", module, LPO_MEMBER_TEXT),
    FIELD("args", "hlo_op", op, LPO_MEMBER_TEXT),
    FIELD("args", "tf_op", place, LPO_MEMBER_TEXT),
    FIELD("args", "kernel_details", kernel, LPO_MEMBER_TEXT),
    FIELD("args", "memcpy_details", copy, LPO_MEMBER_TEXT),
    FIELD("args", "memset_details", fill, LPO_MEMBER_TEXT),
    FIELD("args", "correlation_id", correlation, LPO_MEMBER_NUMBER),
    FIELD("args", "cuda_graph_id", graph, LPO_MEMBER_NUMBER),
    FIELD("args", "step_num", step, LPO_MEMBER_NUMBER),
};
#undef FIELD

struct step {
    bool first;
    struct xprof_event e;
};

/* 1: an event was read. 0: the list has ended. */
static int read_event(struct lpo_pull *q, void *ctx)
{
    struct step *s = ctx;
    bool first = s->first;
    int rc = lpo_json_pull_item(q, &first);

    if (rc <= 0)
        return rc;
    rc = lpo_trace_fields_read(q, fields, sizeof fields / sizeof *fields, &s->e);
    if (rc < 0)
        return rc;
    s->e.ph = s->e.phase.len == 1 ? *s->e.phase.at : 0;
    s->first = false;
    return 1;
}

struct file {
    struct lpo_json_stream *s;
    struct lpo_xprof_build *build;
    struct lpo_err *err;
    uint64_t events;
    bool seen;
};

static int read_list(struct file *f)
{
    struct step step = { .first = true };
    int rc;

    f->seen = true;
    while ((rc = lpo_json_stream_read(f->s, read_event, &step, f->err)) > 0) {
        f->events++;
        lpo_xprof_build_add(f->build, &step.e);
    }
    return rc;
}

static int read_object(struct file *f)
{
    bool first = true, is_list;
    int rc = lpo_json_stream_bracket(f->s, f->err);

    if (rc != '{')
        return rc < 0 ? rc : LPO_E_FORMAT;
    while ((rc = lpo_json_stream_key(f->s, &first, "traceEvents", &is_list, f->err)) > 0) {
        if (is_list && !f->seen && lpo_json_stream_bracket(f->s, f->err) == '[')
            rc = read_list(f);
        else
            rc = lpo_json_stream_skip(f->s, f->err);
        if (rc < 0)
            return rc;
    }
    return rc;
}

static int xprof_read(const char *path, struct lpo_trace *into, struct lpo_err *err)
{
    LPO_AUTO(lpo_json_stream) s = NULL;
    struct lpo_err scratch = { 0 };
    struct file f = { .err = &scratch };
    int rc = lpo_json_stream_open(path, LPO_PULL_LENIENT, MAX_VALUE, &s, err);

    if (rc < 0)
        return rc;
    f.s = s;
    f.build = lpo_xprof_build_create(into);
    into->has_ranges = true;
    rc = read_object(&f);
    lpo_xprof_build_finish(f.build);
    lpo_xprof_build_destroy(f.build);
    if (rc == LPO_E_IO)
        return lpo_fail(err, rc, "%s", lpo_err_cause(&scratch));
    if (!f.seen)
        return lpo_fail(err, LPO_E_FORMAT, "no list of events (\"traceEvents\") was found");
    if (rc < 0)
        lpo_trace_note_damage(into, 0,
                              "the file is cut off or broken: the %llu events before were read",
                              (unsigned long long)f.events);
    return 0;
}

/* XProf names its planes like this at the beginning; torch's profiler has properties of devices. */
static bool xprof_sniff(const char *path, const unsigned char *head, size_t len)
{
    static const char gpu[] = "\"/device:", host[] = "\"/host:", torch[] = "\"deviceProperties\"";

    (void)path;
    return head && len && (head[0] == '{' || head[0] <= ' ') &&
           !memmem(head, len, torch, sizeof torch - 1) &&
           memmem(head, len, "\"process_name\"", sizeof "\"process_name\"" - 1) &&
           (memmem(head, len, gpu, sizeof gpu - 1) || memmem(head, len, host, sizeof host - 1));
}

const struct lpo_reader lpo_xprof_reader = {
    .name = "xprof",
    .summary = "JAX profiler trace (trace.json.gz of jax.profiler)",
    .sniff = xprof_sniff,
    .read = xprof_read,
};
