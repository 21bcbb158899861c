/* SPDX-License-Identifier: Apache-2.0 */
/* The database of rocprofv3 (rocpd): its rows become those of the JSON, which build.c takes.
 *
 * A file has a set of tables for each process, with the same suffix behind their names. */

#include "trace/nsys/db.h"
#include "trace/reader.h"
#include "trace/rocprof/private.h"

enum { MOST_EVENTS = 1 << 26, MOST_FILES = 256, AGENT_GPU = 2 };

/* What a row of rocpd_event says of the call or operation that names it. */
struct event {
    int64_t correlation; /* equal for a launch and what it launched */
    uint32_t category;   /* name id; LPO_NONE */
    uint32_t message;    /* of a range; LPO_NONE */
};

struct database {
    struct lpo_nsys *db;
    struct lpo_trace *t;
    struct lpo_rocprof_build *build;
    struct lpo_err *err;
    const char *suffix;          /* of the tables at hand */
    struct lpo_map_u64 *strings; /* id to the row of `names` */
    LPO_VEC(uint32_t) names;
    LPO_VEC(struct event) events; /* by id */
    struct lpo_map_u64 *threads;  /* id to its number */
};

static struct rocprof_row empty_row(void)
{
    static const struct lpo_json_pull_text none = { .at = "" };
    struct rocprof_row r;

    for (int i = 0; i < R_NUMBERS; i++)
        r.n[i] = LPO_NO_TIME;
    for (int i = 0; i < R_TEXTS; i++)
        r.text[i] = none;
    return r;
}

static struct lpo_json_pull_text text_at(const struct lpo_nsys_rows *rows, int column)
{
    struct lpo_json_pull_text text = { .at = "" };
    size_t len = 0;
    const char *at = lpo_nsys_chars(rows, column, &len);

    if (len)
        text = (struct lpo_json_pull_text){ .at = at, .len = len };
    return text;
}

static struct lpo_json_pull_text name_text(const struct database *d, uint32_t name)
{
    return (struct lpo_json_pull_text){ .at = lpo_trace_text(d->t, name),
                                        .len = lpo_trace_text_len(d->t, name) };
}

/* The number or text behind "key": in a small JSON object. */
static const char *json_at(struct lpo_json_pull_text json, const char *key)
{
    const char *at = memmem(json.at, json.len, key, strlen(key)), *end = json.at + json.len;

    at = at ? at + strlen(key) : end;
    while (at < end && strchr("\": ", *at))
        at++;
    return at < end ? at : NULL;
}

/* --- a table --------------------------------------------------------------------------------- */

typedef void take_row(struct database *d, const struct lpo_nsys_rows *rows);

static int each_row(struct database *d, const char *table, const char *const *names, take_row *take)
{
    struct lpo_nsys_rows rows;
    LPO_STR name = { 0 };
    int rc;

    lpo_str_addf(&name, "%s%s", table, d->suffix);
    rc = lpo_nsys_begin(lpo_nsys_tables_of(d->db), &rows, lpo_str_text(&name), names, d->err);
    while (rc > 0 && (rc = lpo_nsys_step(&rows, d->t)) > 0)
        take(d, &rows);
    lpo_nsys_end(&rows);
    return rc;
}

/* --- what rows refer to ---------------------------------------------------------------------- */

static void take_string(struct database *d, const struct lpo_nsys_rows *rows)
{
    struct lpo_json_pull_text text = text_at(rows, 1);

    *lpo_map_u64_put(d->strings, (uint64_t)lpo_nsys_int(rows, 0), NULL) = (uint32_t)d->names.len;
    lpo_vec_push(&d->names, lpo_trace_namen(d->t, text.at, text.len));
    lpo_rocprof_build_operation(d->build, &text);
}

static uint32_t string_at(const struct database *d, const struct lpo_nsys_rows *rows, int column)
{
    const uint32_t *row = lpo_map_u64_find(d->strings, (uint64_t)lpo_nsys_int(rows, column));

    return row ? d->names.at[*row] : LPO_NONE;
}

static void take_process(struct database *d, const struct lpo_nsys_rows *rows)
{
    lpo_rocprof_build_process(d->build, lpo_nsys_int(rows, 0));
}

static void take_thread(struct database *d, const struct lpo_nsys_rows *rows)
{
    *lpo_map_u64_put(d->threads, (uint64_t)lpo_nsys_int(rows, 0), NULL) =
        (uint32_t)lpo_nsys_int(rows, 1);
}

static void take_agent(struct database *d, const struct lpo_nsys_rows *rows)
{
    struct lpo_json_pull_text type = text_at(rows, 1), more = text_at(rows, 5);
    const char *cus = json_at(more, "\"cu_count\""),
               *clock = json_at(more, "\"max_engine_clk_fcompute\"");
    struct rocprof_row r = empty_row();

    r.n[R_ID] = lpo_nsys_int(rows, 0);
    r.n[R_TYPE] = type.len == 3 && memcmp(type.at, "GPU", 3) == 0 ? AGENT_GPU : 0;
    r.n[R_ORDINAL] = lpo_nsys_int(rows, 2);
    r.n[R_CUS] = cus ? atoll(cus) : 0;
    r.n[R_CLOCK] = clock ? atoll(clock) : 0;
    r.text[R_NAME] = text_at(rows, 3);
    if (!r.text[R_NAME].len)
        r.text[R_NAME] = text_at(rows, 4);
    lpo_rocprof_build_row(d->build, "agents", &r);
}

static void take_kernel(struct database *d, const struct lpo_nsys_rows *rows)
{
    struct rocprof_row r = empty_row();

    r.n[R_KERNEL] = lpo_nsys_int(rows, 0);
    r.text[R_NAME] = text_at(rows, 1);
    r.text[R_LINKER] = text_at(rows, 2);
    if (!lpo_nsys_null(rows, 3))
        r.n[R_VGPRS] = lpo_nsys_int(rows, 3);
    lpo_rocprof_build_row(d->build, "kernel_symbols", &r);
}

static void take_event(struct database *d, const struct lpo_nsys_rows *rows)
{
    int64_t id = lpo_nsys_int(rows, 0), stack = lpo_nsys_int(rows, 1);
    struct lpo_json_pull_text more = text_at(rows, 4);
    const char *message = json_at(more, "\"message\""), *end;
    struct event e = { stack ? stack : lpo_nsys_int(rows, 2), string_at(d, rows, 3), LPO_NONE };

    if (id < 0 || id >= MOST_EVENTS)
        return;
    end = message ? memchr(message, '"', (size_t)(more.at + more.len - message)) : NULL;
    if (end)
        e.message = lpo_trace_namen(d->t, message, (size_t)(end - message));
    while (d->events.len <= (size_t)id)
        lpo_vec_push(&d->events, (struct event){ 0, LPO_NONE, LPO_NONE });
    d->events.at[id] = e;
}

static struct event event_at(const struct database *d, const struct lpo_nsys_rows *rows, int column)
{
    int64_t id = lpo_nsys_int(rows, column);

    return id >= 0 && (size_t)id < d->events.len ? d->events.at[id]
                                                 : (struct event){ 0, LPO_NONE, LPO_NONE };
}

/* --- what happened --------------------------------------------------------------------------- */

static int64_t known_or_none(const struct lpo_nsys_rows *rows, int column)
{
    return lpo_nsys_null(rows, column) ? LPO_NO_TIME : lpo_nsys_int(rows, column);
}

static void take_dispatch(struct database *d, const struct lpo_nsys_rows *rows)
{
    static const enum rocprof_number slots[] = {
        R_START, R_END,       R_AGENT,     R_KERNEL, R_QUEUE,    R_STREAM,   R_GROUP_SEGMENT,
        R_GROUP, R_GROUP + 1, R_GROUP + 2, R_GRID,   R_GRID + 1, R_GRID + 2,
    };
    struct rocprof_row r = empty_row();

    for (int i = 0; i < (int)(sizeof slots / sizeof *slots); i++)
        r.n[slots[i]] = known_or_none(rows, i);
    r.n[R_CORRELATION] = event_at(d, rows, 13).correlation;
    lpo_rocprof_build_row(d->build, "kernel_dispatch", &r);
}

static void take_copy(struct database *d, const struct lpo_nsys_rows *rows)
{
    static const enum rocprof_number slots[] = { R_START, R_END,   R_SOURCE, R_TARGET,
                                                 R_BYTES, R_QUEUE, R_STREAM };
    struct rocprof_row r = empty_row();

    for (int i = 0; i < (int)(sizeof slots / sizeof *slots); i++)
        r.n[slots[i]] = known_or_none(rows, i);
    r.n[R_CORRELATION] = event_at(d, rows, 7).correlation;
    lpo_rocprof_build_row(d->build, "memory_copy", &r);
}

static void take_region(struct database *d, const struct lpo_nsys_rows *rows)
{
    const uint32_t *thread = lpo_map_u64_find(d->threads, (uint64_t)lpo_nsys_int(rows, 2));
    const uint32_t *name = lpo_map_u64_find(d->strings, (uint64_t)lpo_nsys_int(rows, 3));
    struct event e = event_at(d, rows, 4);
    bool marker = strstr(lpo_trace_text(d->t, e.category), "MARKER") != NULL;
    struct rocprof_row r = empty_row();

    r.n[R_START] = lpo_nsys_int(rows, 0);
    r.n[R_END] = lpo_nsys_int(rows, 1);
    r.n[R_THREAD] = thread ? (int64_t)*thread : lpo_nsys_int(rows, 2);
    r.n[R_KIND] = 0;
    r.n[R_OPERATION] = name ? (int64_t)*name : -1;
    r.n[R_CORRELATION] = e.correlation;
    if (marker) { /* its text is kept under a number of its own */
        uint32_t text = e.message != LPO_NONE ? e.message : string_at(d, rows, 3);

        r.n[R_CORRELATION] = r.n[R_KEY] = lpo_nsys_int(rows, 4);
        r.text[R_VALUE] = name_text(d, text);
        lpo_rocprof_build_row(d->build, "marker_api of strings", &r);
    }
    lpo_rocprof_build_row(d->build, marker ? "marker_api" : "hip_api", &r);
}

/* In the order in which rows refer to each other. */
static const struct table {
    const char *name;
    const char *columns[16];
    take_row *take;
} tables[] = {
    { "rocpd_string", { "id", "string" }, take_string },
    { "rocpd_info_process", { "pid" }, take_process },
    { "rocpd_info_thread", { "id", "tid" }, take_thread },
    { "rocpd_info_agent",
      { "id", "type", "type_index", "product_name", "model_name", "extdata" },
      take_agent },
    { "rocpd_info_kernel_symbol",
      { "id", "display_name", "kernel_name", "arch_vgpr_count" },
      take_kernel },
    { "rocpd_event", { "id", "stack_id", "correlation_id", "category_id", "extdata" }, take_event },
    { "rocpd_kernel_dispatch",
      { "start", "end", "agent_id", "kernel_id", "queue_id", "stream_id", "group_segment_size",
        "workgroup_size_x", "workgroup_size_y", "workgroup_size_z", "grid_size_x", "grid_size_y",
        "grid_size_z", "event_id" },
      take_dispatch },
    { "rocpd_memory_copy",
      { "start", "end", "src_agent_id", "dst_agent_id", "size", "queue_id", "stream_id",
        "event_id" },
      take_copy },
    { "rocpd_region", { "start", "end", "tid", "name_id", "event_id" }, take_region },
};

static int read_set(struct database *d)
{
    int rc = 0;

    d->strings = lpo_map_u64_create(0);
    d->threads = lpo_map_u64_create(0);
    d->build = lpo_rocprof_build_create(d->t);
    lpo_rocprof_build_kind(d->build);
    for (size_t i = 0; i < sizeof tables / sizeof *tables && rc >= 0; i++)
        rc = each_row(d, tables[i].name, tables[i].columns, tables[i].take);
    lpo_rocprof_build_finish(d->build);
    lpo_rocprof_build_destroy(d->build);
    lpo_map_u64_destroy(d->strings);
    lpo_map_u64_destroy(d->threads);
    lpo_vec_free(&d->names);
    lpo_vec_free(&d->events);
    return rc < 0 ? rc : 0;
}

static int rocpd_read(const char *path, struct lpo_trace *into, struct lpo_err *err)
{
    static const char dispatches[] = "rocpd_kernel_dispatch";
    LPO_AUTO(lpo_nsys) db = NULL;
    const char *name;
    size_t sets = 0;
    int rc = 0;

    if (lpo_nsys_open(path, &db, err) < 0)
        return err->code;
    into->has_ranges = true;
    for (size_t i = 0; rc == 0 && sets < MOST_FILES && (name = lpo_nsys_table_at(db, i)); i++)
        if (lpo_str_starts(name, dispatches)) {
            struct database d = { .db = db, .t = into, .err = err };

            d.suffix = name + sizeof dispatches - 1;
            rc = read_set(&d);
            sets++;
        }
    if (rc == 0 && !sets)
        return lpo_fail(err, LPO_E_FORMAT, "a database of rocpd without the table %s", dispatches);
    if (rc == 0 && lpo_nsys_cut(db))
        lpo_trace_note_damage(into, 0, "the file was cut short: what is there was read");
    return rc;
}

static bool rocpd_sniff(const char *path, const unsigned char *head, size_t len)
{
    static const char magic[] = "SQLite format 3", mark[] = "rocpd_";

    (void)path;
    return len >= sizeof magic && memcmp(head, magic, sizeof magic) == 0 &&
           memmem(head, len, mark, sizeof mark - 1);
}

const struct lpo_reader lpo_rocpd_reader = {
    .name = "rocpd",
    .like = "rocprof",
    .summary = "rocprofv3 database (AMD, --output-format rocpd)",
    .sniff = rocpd_sniff,
    .read = rocpd_read,
};
