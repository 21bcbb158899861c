/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/nsysrep/file.h"

#include <stdlib.h>
#include <string.h>

#include "util/err.h"
#include "util/proto.h"

enum { MOST_FIELD = 48, DEEPEST = 3 };

/* Where a column is: field `number` of the payload, or of the sub-message of its table. */
struct column {
    const char *name;
    uint8_t number;
    bool in_sub;
    uint8_t otherwise; /* field to take where that one is absent; 0: none */
};

/* Events of `types` whose payload is field `payload`, or parts that are kept: `part` gives the
 * bytes, `path` the fields that lead to a row. */
struct table {
    const char *name;
    uint8_t types[5];
    uint8_t payload;
    uint8_t sub; /* sub-message that its rows have; 0: any */
    bool calls;  /* of the CUDA runtime and driver alone */
    const struct lpo_nsysrep_bytes *(*part)(const struct lpo_nsysrep_file *f);
    uint8_t path[DEEPEST]; /* shorter ones end with 0 */
    const struct column *columns;
};

enum { CALL_CLASS = 6 }; /* field of the payload of calls */
enum { SPARE = 0x80 };

/* What each GPU operation has. */
#define OP_COLUMNS                                                                                 \
    { "start", 1 }, { "end", 2 }, { "correlationId", 3 }, { "deviceId", 4 }, { "streamId", 6 },    \
    {                                                                                              \
        "globalPid", 8                                                                             \
    }

static const struct column kernel_columns[] = {
    OP_COLUMNS,
    { "demangledName", 1, true },
    { "shortName", 2, true },
    { "mangledName", 3, true },
    { "gridX", 10, true },
    { "gridY", 11, true },
    { "gridZ", 12, true },
    { "blockX", 13, true },
    { "blockY", 14, true },
    { "blockZ", 15, true },
    { "staticSharedMemory", 16, true },
    { "dynamicSharedMemory", 17, true },
    { "registersPerThread", 21, true },
    { "graphNodeId", 27, true },
    { NULL },
};

static const struct column copy_columns[] = {
    OP_COLUMNS,
    { "bytes", 1, true },
    { "copyKind", 2, true },
    { "srcKind", 4, true },
    { "dstKind", 5, true },
    { NULL },
};

static const struct column memset_columns[] = { OP_COLUMNS, { "bytes", 1, true }, { NULL } };
static const struct column graph_columns[] = { OP_COLUMNS, { "graphId", 1, true }, { NULL } };

static const struct column sync_columns[] = { OP_COLUMNS, { "syncType", 4, true, 2 }, { NULL } };

static const struct column call_columns[] = {
    { "start", 1 },  { "end", 2 },        { "correlationId", 3 },
    { "nameId", 7 }, { "globalTid", 13 }, { NULL },
};

static const struct column node_columns[] = {
    { "start", 1 }, { "globalTid", 13 }, { "graphNodeId", 1, true }, { NULL }
};

static const struct column nvtx_columns[] = {
    { "eventType", 1 }, { "start", 2 },   { "text", 7 },      { "globalTid", 9 },
    { "end", 10 },      { "textId", 12 }, { "domainId", 13 }, { NULL },
};

static const struct column process_columns[] = { { "globalPid", 2 },
                                                 { "name", 6, false, 5 },
                                                 { NULL } };
static const struct column diagnostic_columns[] = { { "severity", 3 }, { "text", 4 }, { NULL } };
static const struct column thread_columns[] = { { "nameId", 2 }, { "globalTid", 4 }, { NULL } };
static const struct column device_columns[] = {
    { "gpuId", 1 }, { "cudaId", 2 }, { "pid", 3 }, { NULL }
};

static const struct column gpu_columns[] = {
    { "id", 1 },
    { "name", 2 },
    { "l2CacheSize", 10 },
    { "totalMemory", 11 },
    { "clockRate", 13 },
    { "smCount", 14 },
    { "cuDevice", 15 },
    { "computeMajor", 41 },
    { "computeMinor", 42 },
    { NULL },
};

static const struct lpo_nsysrep_bytes *thread_names(const struct lpo_nsysrep_file *f)
{
    return &f->thread_names;
}

static const struct lpo_nsysrep_bytes * final(const struct lpo_nsysrep_file *f)
{
    return &f->final;
}

static const struct table tables[] = {
    { "CUPTI_ACTIVITY_KIND_KERNEL", { 79 }, 107, .sub = 101, .columns = kernel_columns },
    { "CUPTI_ACTIVITY_KIND_MEMCPY", { 80, 142 }, 107, .sub = 102, .columns = copy_columns },
    { "CUPTI_ACTIVITY_KIND_MEMSET", { 80 }, 107, .sub = 103, .columns = memset_columns },
    { "CUPTI_ACTIVITY_KIND_GRAPH_TRACE", { 130 }, 107, .sub = 107, .columns = graph_columns },
    { "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", { 106 }, 107, .sub = 105, .columns = sync_columns },
    { "CUPTI_ACTIVITY_KIND_RUNTIME", { 48 }, 108, .calls = true, .columns = call_columns },
    { "CUDA_GRAPH_NODE_EVENTS", { 113 }, 108, .sub = 33, .columns = node_columns },
    { "NVTX_EVENTS", { 59, 60, 39, 75 }, 102, .columns = nvtx_columns },
    { "PROCESSES", { 27 }, 113, .columns = process_columns },
    { "DIAGNOSTIC_EVENT", { 49 }, 110, .columns = diagnostic_columns },
    { "ThreadNames", .part = thread_names, .path = { 1 }, .columns = thread_columns },
    { "TARGET_INFO_GPU", .part = final, .path = { 1, 2, 7 }, .columns = gpu_columns },
    { "TARGET_INFO_CUDA_DEVICE", .part = final, .path = { 1, 2, 9 }, .columns = device_columns },
};

enum { NTABLES = sizeof tables / sizeof *tables };

/* Without rows of its own: the one value is a number of the report. */
static const char session_table[] = "TARGET_INFO_SESSION_START_TIME";
static const char session_column[] = "utcEpochNs";

/* --- one pass over a table ------------------------------------------------------------------ */

struct walk {
    struct lpo_nsysrep *rep;
    const struct table *table; /* NULL: of the session */
    size_t cells;              /* asked for */
    /* The cell of each field, plus one; 0: nobody asked. With SPARE: where no other gave it. */
    uint8_t top[MOST_FIELD], sub[MOST_FIELD];
    struct lpo_nsysrep_events *events; /* NULL: of parts that are kept */
    struct lpo_proto at[DEEPEST];      /* of those: the messages that it is in */
    int depth;
    bool done;
};

static void set_column(uint8_t *cells, const struct column *c, uint8_t cell)
{
    cells[c->number] = cell;
    if (c->otherwise)
        cells[c->otherwise] = cell | SPARE;
}

static void set_columns(struct walk *w, struct lpo_nsys_rows *rows, const char *const *names)
{
    for (w->cells = 0; names[w->cells] && w->cells < LPO_NSYS_COLUMNS; w->cells++) {
        const struct column *c = w->table->columns;

        while (c->name && strcmp(c->name, names[w->cells]) != 0)
            c++;
        if (!c->name)
            continue;
        rows->has[w->cells] = true;
        set_column(c->in_sub ? w->sub : w->top, c, (uint8_t)(w->cells + 1));
    }
}

static int begin_walk(void *source, struct lpo_nsys_rows *rows, const char *table,
                      const char *const *names, struct lpo_err *err)
{
    const struct table *t = tables;
    struct walk *w;

    (void)err;
    while (t < tables + NTABLES && strcmp(t->name, table) != 0)
        t++;
    if (t == tables + NTABLES && strcmp(table, session_table) != 0)
        return 0;
    w = rows->walk = lpo_xcalloc(1, sizeof *w);
    w->rep = source;
    if (t == tables + NTABLES) {
        w->done = w->rep->utc_ns == LPO_NO_TIME || strcmp(names[0], session_column) != 0;
        return 1;
    }
    w->table = t;
    set_columns(w, rows, names);
    if (t->part)
        w->at[0] = lpo_proto(t->part(w->rep->index.file)->at, t->part(w->rep->index.file)->len);
    else
        w->events =
            lpo_nsysrep_events_begin(&w->rep->index, (uint32_t)1 << (t - tables), t->payload);
    return 1;
}

static void end_walk(struct lpo_nsys_rows *rows)
{
    struct walk *w = rows->walk;

    if (!w)
        return;
    lpo_nsysrep_events_end(w->events);
    free(w);
    rows->walk = NULL;
}

/* --- rows ----------------------------------------------------------------------------------- */

/* Puts the field where `cells` says; false where nobody asked for it. */
static inline bool read_field(struct lpo_nsys_rows *rows, const uint8_t *cells,
                              const struct lpo_proto_field *f)
{
    unsigned cell = f->number < MOST_FIELD ? cells[f->number] : 0, c = (cell & ~SPARE) - 1;

    if (!cell)
        return false;
    if (cell & SPARE && rows->given >> c & 1)
        return true;
    rows->cells[c] =
        (struct lpo_nsys_cell){ (int64_t)f->value,
                                f->wire == LPO_WIRE_BYTES ? (const char *)f->bytes : NULL };
    rows->given |= (uint32_t)1 << c;
    return true;
}

static void read_fields(struct lpo_nsys_rows *rows, const uint8_t *cells, struct lpo_proto m)
{
    struct lpo_proto_field f;

    while (lpo_proto_next(&m, &f))
        read_field(rows, cells, &f);
}

/* Of a call: was it one of the CUDA runtime or driver? With stacks they have a class of their own.
 */
static bool is_of_class(struct walk *w, uint64_t class)
{
    enum { RUNTIME = 0, DRIVER = 1, WITH_STACK = 67 };

    if (!w->table->calls || class == RUNTIME || class == DRIVER || class == WITH_STACK)
        return true;
    w->rep->classes[class < LPO_NSYSREP_CLASSES ? class : LPO_NSYSREP_CLASSES - 1]++;
    return false;
}

/* The payload of an event as a row, where it is one of this table. */
static bool read_payload(struct walk *w, struct lpo_nsys_rows *rows, struct lpo_proto m)
{
    struct lpo_proto_field f;
    uint64_t class = UINT64_MAX;
    bool found = w->table->sub == 0;

    rows->given = 0;
    while (lpo_proto_next(&m, &f)) {
        if (read_field(rows, w->top, &f))
            continue;
        if (f.number == CALL_CLASS) {
            class = f.value;
        } else if (f.number == w->table->sub && f.wire == LPO_WIRE_BYTES) {
            read_fields(rows, w->sub, lpo_proto_inner(&f));
            found = true;
        }
    }
    return found && is_of_class(w, class);
}

static int step_events(struct walk *w, struct lpo_nsys_rows *rows, struct lpo_trace *t)
{
    struct lpo_proto payload;

    while (lpo_nsysrep_events_next(w->events, &payload, t))
        if (read_payload(w, rows, payload))
            return 1;
    return 0;
}

/* --- parts that are kept -------------------------------------------------------------------- */

/* Down the path of the table, message by message. */
static int step_part(struct walk *w, struct lpo_nsys_rows *rows)
{
    while (w->depth >= 0) {
        struct lpo_proto_field f;

        if (!lpo_proto_next(&w->at[w->depth], &f)) {
            w->depth--;
        } else if (f.number != w->table->path[w->depth] || f.wire != LPO_WIRE_BYTES) {
            continue;
        } else if (w->depth + 1 < DEEPEST && w->table->path[w->depth + 1]) {
            w->at[++w->depth] = lpo_proto_inner(&f);
        } else {
            rows->given = 0;
            read_fields(rows, w->top, lpo_proto_inner(&f));
            return 1;
        }
    }
    return 0;
}

static int step_walk(struct lpo_nsys_rows *rows, struct lpo_trace *t)
{
    struct walk *w = rows->walk;

    if (w->table)
        return w->events ? step_events(w, rows, t) : step_part(w, rows);
    if (w->done)
        return 0;
    w->done = true;
    rows->cells[0].number = w->rep->utc_ns;
    rows->given = 1;
    return 1;
}

/* --- names ---------------------------------------------------------------------------------- */

enum { STRING = 1, STRING_KEY = STRING << 3 | LPO_WIRE_BYTES };

static bool next_string(struct lpo_proto *m, struct lpo_proto_field *f)
{
    while (lpo_proto_next(m, f))
        if (f->number == STRING && f->wire == LPO_WIRE_BYTES)
            return true;
    return false;
}

/* How many were passed. Most have less than 128 bytes: a key and a length of one byte each. */
static uint64_t pass_strings(struct lpo_proto *m, uint64_t most)
{
    const unsigned char *at = m->at;
    struct lpo_proto_field f;
    uint64_t n = 0;

    while (n < most && m->end - at >= 2 && at[0] == STRING_KEY && at[1] < 0x80 &&
           at[1] <= m->end - at - 2) {
        at += 2 + at[1];
        n++;
    }
    m->at = at;
    while (n < most && next_string(m, &f))
        n++;
    return n;
}

static void list_strings(struct lpo_nsysrep *rep)
{
    const struct lpo_nsysrep_bytes *all = &rep->index.file->strings;
    struct lpo_proto m = lpo_proto(all->at, all->len);

    while (m.at < m.end) {
        lpo_vec_push(&rep->anchors, (uint32_t)(m.at - all->at));
        rep->strings += pass_strings(&m, LPO_NSYSREP_ANCHOR);
    }
    rep->names = lpo_xcalloc((size_t)rep->strings + 1, sizeof *rep->names);
}

static uint32_t name_text(void *source, struct lpo_trace *t, const char *text, size_t len)
{
    (void)source; /* a text is in the file as often as it is asked for: no bound of its own */
    return lpo_trace_namen(t, text, len);
}

static uint32_t name_string(void *source, struct lpo_trace *t, int64_t id)
{
    struct lpo_nsysrep *rep = source;
    const struct lpo_nsysrep_bytes *all = &rep->index.file->strings;
    struct lpo_proto m;
    struct lpo_proto_field f;
    size_t from;

    if (id < 0 || (uint64_t)id >= rep->strings)
        return LPO_NONE;
    if (rep->names[id])
        return rep->names[id] - 1;
    from = rep->anchors.at[id / LPO_NSYSREP_ANCHOR];
    m = lpo_proto(all->at + from, all->len - from);
    pass_strings(&m, (uint64_t)id % LPO_NSYSREP_ANCHOR);
    if (!next_string(&m, &f) || !f.value)
        return LPO_NONE;
    rep->names[id] = lpo_trace_namen(t, (const char *)f.bytes, (size_t)f.value) + 1;
    return rep->names[id] - 1;
}

/* --- the source ----------------------------------------------------------------------------- */

void lpo_nsysrep_tables_begin(struct lpo_nsysrep *rep)
{
    static const struct lpo_nsys_source calls = { begin_walk, step_walk, end_walk, name_string,
                                                  name_text };

    rep->given = (struct lpo_nsys_tables){ &calls, rep };
    rep->utc_ns = lpo_nsysrep_utc(rep->index.file);
    list_strings(rep);
    for (size_t i = 0; i < NTABLES; i++)
        for (const uint8_t *type = tables[i].types; *type; type++)
            rep->index.readers[*type] |= (uint32_t)1 << i;
}

void lpo_nsysrep_tables_end(struct lpo_nsysrep *rep)
{
    lpo_vec_free(&rep->anchors);
    free(rep->names);
}

bool lpo_nsysrep_type_is_read(const struct lpo_nsysrep *rep, uint32_t type)
{
    return rep->index.readers[type] != 0;
}
