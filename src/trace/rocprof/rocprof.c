/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON of AMD's rocprofv3: {"rocprofiler-sdk-tool": [a process, …]}. */

#include "trace/fields.h"
#include "trace/kineto/private.h"
#include "trace/reader.h"
#include "trace/rocprof/private.h"
#include "trace/trace.h"

enum { MAX_VALUE = 4 << 20, KEY = 64, DEEPEST = 6 };

static const char top_key[] = "rocprofiler-sdk-tool";

struct file {
    struct lpo_json_stream *s;
    struct lpo_rocprof_build *build;
    struct lpo_err *err;
    uint64_t rows;
    bool seen;
};

#define NUMBER(inside, key, slot)                                                                  \
    {                                                                                              \
        inside, key, offsetof(struct rocprof_row, n) + (slot) * sizeof(int64_t), LPO_MEMBER_NUMBER \
    }
#define TEXT(key, slot)                                                                            \
    {                                                                                              \
        "", key, offsetof(struct rocprof_row, text) + (slot) * sizeof(struct lpo_json_pull_text),  \
            LPO_MEMBER_TEXT                                                                        \
    }
/* One object of the lists, whichever it is. */
static const struct lpo_member fields[] = {
    NUMBER("", "kind", R_KIND),
    NUMBER("", "operation", R_OPERATION),
    NUMBER("", "thread_id", R_THREAD),
    NUMBER("correlation_id", "internal", R_CORRELATION),
    NUMBER("", "start_timestamp", R_START),
    NUMBER("", "end_timestamp", R_END),
    NUMBER("", "bytes", R_BYTES),
    NUMBER("agent_id", "handle", R_AGENT),
    NUMBER("src_agent_id", "handle", R_SOURCE),
    NUMBER("dst_agent_id", "handle", R_TARGET),
    NUMBER("queue_id", "handle", R_QUEUE),
    NUMBER("stream_id", "handle", R_STREAM),
    NUMBER("dispatch_info", "kernel_id", R_KERNEL),
    NUMBER("", "kernel_id", R_KERNEL),
    NUMBER("dispatch_info", "group_segment_size", R_GROUP_SEGMENT),
    NUMBER("workgroup_size", "x", R_GROUP),
    NUMBER("workgroup_size", "y", R_GROUP + 1),
    NUMBER("workgroup_size", "z", R_GROUP + 2),
    NUMBER("grid_size", "x", R_GRID),
    NUMBER("grid_size", "y", R_GRID + 1),
    NUMBER("grid_size", "z", R_GRID + 2),
    NUMBER("id", "handle", R_ID),
    NUMBER("", "type", R_TYPE),
    NUMBER("", "cu_count", R_CUS),
    NUMBER("", "logical_node_type_id", R_ORDINAL),
    NUMBER("", "max_engine_clk_fcompute", R_CLOCK),
    NUMBER("", "arch_vgpr_count", R_VGPRS),
    NUMBER("", "key", R_KEY),
    TEXT("formatted_kernel_name", R_NAME),
    TEXT("demangled_kernel_name", R_OTHER_NAME),
    TEXT("kernel_name", R_LINKER),
    TEXT("product_name", R_NAME),
    TEXT("value", R_VALUE),
};
#undef NUMBER
#undef TEXT

/* --- one step of the stream ----------------------------------------------------------------- */

struct key {
    bool first;
    char name[KEY]; /* of the members that matter; longer ones are cut */
};

static int read_key(struct lpo_pull *q, void *ctx)
{
    struct key *k = ctx;
    struct lpo_json_pull_text text;
    bool first = k->first;
    int rc = lpo_json_pull_member(q, &first, &text);

    if (rc <= 0)
        return rc;
    k->first = false;
    snprintf(k->name, sizeof k->name, "%.*s", text.len < KEY ? (int)text.len : KEY - 1, text.at);
    return 1;
}

struct item {
    bool first;
    struct rocprof_row row;
    struct lpo_json_pull_text text;
};

static int read_row(struct lpo_pull *q, void *ctx)
{
    struct item *i = ctx;
    bool first = i->first;
    int rc = lpo_json_pull_item(q, &first);

    if (rc > 0)
        rc = lpo_trace_fields_read(q, fields, sizeof fields / sizeof *fields, &i->row);
    else
        return rc;
    if (rc < 0)
        return rc;
    i->first = false;
    return 1;
}

static int read_name(struct lpo_pull *q, void *ctx)
{
    struct item *i = ctx;
    bool first = i->first;
    int rc = lpo_json_pull_item(q, &first);

    if (rc <= 0)
        return rc;
    rc = lpo_json_pull_peek(q) == '"' ? lpo_json_pull_string(q, &i->text) : lpo_json_pull_skip(q);
    if (rc < 0)
        return rc;
    i->first = false;
    return 1;
}

/* Before the next item of a list: 1, or 0 at its end. */
static int read_comma(struct lpo_pull *q, void *ctx)
{
    bool *list_first = ctx, first = *list_first;
    int rc = lpo_json_pull_item(q, &first);

    if (rc > 0)
        *list_first = false;
    return rc;
}

static int read_pid(struct lpo_pull *q, void *ctx)
{
    return lpo_kineto_number(q, 0, ctx);
}

/* --- the tree of the file ------------------------------------------------------------------- */

static int read_list(struct file *f, const char *list)
{
    struct item item = { .first = true };
    int rc = lpo_json_stream_bracket(f->s, f->err);

    if (rc != '[')
        return rc < 0 ? rc : lpo_json_stream_skip(f->s, f->err);
    while ((rc = lpo_json_stream_read(f->s, read_row, &item, f->err)) > 0) {
        lpo_rocprof_build_row(f->build, list, &item.row);
        f->rows++;
    }
    return rc;
}

typedef int (*member_fn)(struct file *f, const char *name);

static int read_object(struct file *f, member_fn member)
{
    struct key key = { .first = true };
    int rc = lpo_json_stream_bracket(f->s, f->err);

    if (rc != '{')
        return rc < 0 ? rc : lpo_json_stream_skip(f->s, f->err);
    while ((rc = lpo_json_stream_read(f->s, read_key, &key, f->err)) > 0)
        if ((rc = member(f, key.name)) < 0)
            return rc;
    return rc;
}

static int read_kind_member(struct file *f, const char *name)
{
    struct item item = { .first = true };
    int rc;

    if (strcmp(name, "operations") != 0)
        return lpo_json_stream_skip(f->s, f->err);
    rc = lpo_json_stream_bracket(f->s, f->err);
    if (rc != '[')
        return rc < 0 ? rc : lpo_json_stream_skip(f->s, f->err);
    while ((rc = lpo_json_stream_read(f->s, read_name, &item, f->err)) > 0)
        lpo_rocprof_build_operation(f->build, &item.text);
    return rc;
}

static int read_kinds(struct file *f)
{
    bool first = true;
    int rc = lpo_json_stream_bracket(f->s, f->err);

    if (rc != '[')
        return rc < 0 ? rc : lpo_json_stream_skip(f->s, f->err);
    while ((rc = lpo_json_stream_read(f->s, read_comma, &first, f->err)) > 0) {
        lpo_rocprof_build_kind(f->build);
        if ((rc = read_object(f, read_kind_member)) < 0)
            return rc;
    }
    return rc;
}

static int read_strings_member(struct file *f, const char *name)
{
    if (strcmp(name, "buffer_records") == 0)
        return read_kinds(f);
    return strcmp(name, "marker_api") == 0 ? read_list(f, "marker_api of strings")
                                           : lpo_json_stream_skip(f->s, f->err);
}

static int read_record_member(struct file *f, const char *name)
{
    return lpo_rocprof_build_wants(name) ? read_list(f, name) : lpo_json_stream_skip(f->s, f->err);
}

static int read_metadata_member(struct file *f, const char *name)
{
    int64_t pid = LPO_NO_TIME;
    int rc;

    if (strcmp(name, "pid") != 0)
        return lpo_json_stream_skip(f->s, f->err);
    rc = lpo_json_stream_read(f->s, read_pid, &pid, f->err);
    if (rc >= 0 && pid >= 0)
        lpo_rocprof_build_process(f->build, pid);
    return rc;
}

static int read_process_member(struct file *f, const char *name)
{
    if (strcmp(name, "metadata") == 0)
        return read_object(f, read_metadata_member);
    if (strcmp(name, "strings") == 0)
        return read_object(f, read_strings_member);
    if (strcmp(name, "buffer_records") == 0)
        return read_object(f, read_record_member);
    return read_record_member(f, name);
}

static int read_top_member(struct file *f, const char *name)
{
    bool first = true;
    int rc;

    if (strcmp(name, top_key) != 0)
        return lpo_json_stream_skip(f->s, f->err);
    f->seen = true;
    rc = lpo_json_stream_bracket(f->s, f->err);
    if (rc != '[')
        return rc < 0 ? rc : LPO_E_FORMAT;
    while ((rc = lpo_json_stream_read(f->s, read_comma, &first, f->err)) > 0)
        if ((rc = read_object(f, read_process_member)) < 0)
            return rc;
    return rc;
}

static int rocprof_read(const char *path, struct lpo_trace *into, struct lpo_err *err)
{
    LPO_AUTO(lpo_json_stream) s = NULL;
    struct lpo_err scratch = { 0 };
    struct file f = { .err = &scratch };
    int rc = lpo_json_stream_open(path, LPO_PULL_LENIENT, MAX_VALUE, &s, err);

    if (rc < 0)
        return rc;
    f.s = s;
    f.build = lpo_rocprof_build_create(into);
    into->has_ranges = true;
    rc = read_object(&f, read_top_member);
    lpo_rocprof_build_finish(f.build);
    lpo_rocprof_build_destroy(f.build);
    if (rc == LPO_E_IO)
        return lpo_fail(err, rc, "%s", lpo_err_cause(&scratch));
    if (!f.seen)
        return lpo_fail(err, LPO_E_FORMAT, "no \"%s\" was found", top_key);
    if (rc < 0)
        lpo_trace_note_damage(into, 0,
                              "the file is cut off or broken: the %llu records before were read",
                              (unsigned long long)f.rows);
    return 0;
}

static bool rocprof_sniff(const char *path, const unsigned char *head, size_t len)
{
    static const char mark[] = "\"rocprofiler-sdk-tool\"";

    (void)path;
    return len && memmem(head, len < 256 ? len : 256, mark, sizeof mark - 1);
}

const struct lpo_reader lpo_rocprof_reader = {
    .name = "rocprof",
    .summary = "rocprofv3 JSON (AMD)",
    .sniff = rocprof_sniff,
    .read = rocprof_read,
};
