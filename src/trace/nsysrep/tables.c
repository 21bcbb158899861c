/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/nsysrep/file.h"

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
    uint8_t sub;   /* sub-message that its rows have; 0: any */
    bool calls;    /* of the CUDA runtime and driver alone */
    bool many;     /* too many rows to keep their payloads */
    unsigned skip; /* who skips one of these asks for none of its rows */
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
    { "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
      { 106 },
      107,
      .sub = 105,
      .skip = LPO_SKIP_LAUNCHES | LPO_SKIP_CALLS,
      .columns = sync_columns },
    { "CUPTI_ACTIVITY_KIND_RUNTIME",
      { 48 },
      108,
      .calls = true,
      .skip = LPO_SKIP_LAUNCHES,
      .columns = call_columns },
    { "CUDA_GRAPH_NODE_EVENTS", { 113 }, 108, .sub = 33, .columns = node_columns },
    { "NVTX_EVENTS", { 59, 60, 39, 75 }, 102, .many = true, .columns = nvtx_columns },
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

/* The columns asked for of a table. */
struct maker {
    struct lpo_nsysrep *rep;
    const struct table *table;
    size_t cells;
    /* The cell of each field, plus one; 0: nobody asked. With SPARE: where no other gave it. */
    uint8_t top[MOST_FIELD], sub[MOST_FIELD];
};

struct walk {
    struct lpo_nsysrep *rep;
    struct maker maker, side; /* without a table: of the session; no rows beside */
    struct lpo_nsys_beside *beside;
    bool side_has[LPO_NSYS_COLUMNS];

    struct lpo_nsysrep_events *events; /* NULL: of parts that are kept */
    struct lpo_proto at[DEEPEST];      /* of those: the messages that it is in */
    int depth;
    const struct lpo_nsysrep_rows *given; /* rows that came together */
    struct lpo_nsysrep_rows own;          /* NULL events: one row */
    size_t next;                          /* cell of `given` */
    bool done;
};

static const struct table *find_table(const char *name)
{
    for (const struct table *t = tables; t < tables + NTABLES; t++)
        if (strcmp(t->name, name) == 0)
            return t;
    return NULL;
}

static void set_column(uint8_t *cells, const struct column *c, uint8_t cell)
{
    cells[c->number] = cell;
    if (c->otherwise)
        cells[c->otherwise] = cell | SPARE;
}

static void set_columns(struct maker *m, bool *has, const char *const *names)
{
    for (m->cells = 0; names[m->cells] && m->cells < LPO_NSYS_COLUMNS; m->cells++) {
        const struct column *c = m->table->columns;

        while (c->name && strcmp(c->name, names[m->cells]) != 0)
            c++;
        if (!c->name)
            continue;
        has[m->cells] = true;
        set_column(c->in_sub ? m->sub : m->top, c, (uint8_t)(m->cells + 1));
    }
}

static bool make_row(void *ctx, struct lpo_nsysrep_rows *rows, struct lpo_proto payload);

static struct lpo_nsysrep_maker maker_of(struct maker *m)
{
    return (struct lpo_nsysrep_maker){ (uint32_t)1 << (m->table - tables), make_row, m };
}

/* The rows of another table come with the first walk over all blocks. */
static void begin_events(struct walk *w)
{
    struct lpo_nsysrep_maker makers[2] = { maker_of(&w->maker) };

    w->beside = w->rep->beside;
    w->rep->beside = NULL;
    if (w->beside) {
        w->side = (struct maker){ w->rep, find_table(w->beside->table) };
        set_columns(&w->side, w->side_has, w->beside->names);
        makers[1] = maker_of(&w->side);
    }
    w->events = lpo_nsysrep_events_begin(&w->rep->index, makers, w->beside ? 2 : 1);
}

static void set_beside(void *source, struct lpo_nsys_beside *side)
{
    struct lpo_nsysrep *rep = source;

    rep->beside = side;
}

static int begin_walk(void *source, struct lpo_nsys_rows *rows, const char *table,
                      const char *const *names, struct lpo_err *err)
{
    const struct table *t = find_table(table);
    struct lpo_nsysrep *rep = source;
    struct walk *w;

    (void)err;
    if (!t && strcmp(table, session_table) != 0)
        return 0;
    w = rows->walk = lpo_xcalloc(1, sizeof *w);
    w->rep = rep;
    w->given = &w->own;
    if (!t) {
        w->done = rep->utc_ns == LPO_NO_TIME || strcmp(names[0], session_column) != 0;
        w->maker.cells = LPO_NSYS_COLUMNS;
        return 1;
    }
    w->maker = (struct maker){ rep, t };
    set_columns(&w->maker, rows->has, names);
    if (t->part)
        w->at[0] = lpo_proto(t->part(rep->index.file)->at, t->part(rep->index.file)->len);
    else
        begin_events(w);
    return 1;
}

static void end_walk(struct lpo_nsys_rows *rows)
{
    struct walk *w = rows->walk;

    if (!w)
        return;
    lpo_nsysrep_events_end(w->events);
    lpo_vec_free(&w->own.cells);
    lpo_vec_free(&w->own.texts);
    free(w);
    rows->walk = NULL;
}

/* --- rows, on the thread of the walk -------------------------------------------------------- */

/* A row under way: cell 0 is its mark. */
struct row {
    int64_t *cells;
    uint32_t given, is_text;
    struct lpo_nsysrep_rows *rows;
};

/* Puts the field where `cells` says; false where nobody asked for it. */
static inline bool read_field(struct row *r, const uint8_t *cells, const struct lpo_proto_field *f)
{
    unsigned cell = f->number < MOST_FIELD ? cells[f->number] : 0, c = (cell & ~SPARE) - 1;

    if (!cell)
        return false;
    if (cell & SPARE && r->given >> c & 1)
        return true;
    r->given |= (uint32_t)1 << c;
    r->is_text &= ~((uint32_t)1 << c); /* a field may stand there twice, once as a number */
    r->cells[c + 1] = (int64_t)f->value;
    if (f->wire == LPO_WIRE_BYTES) {
        size_t at = r->rows->texts.len;

        lpo_vec_reserve(&r->rows->texts, at + f->value);
        memcpy(r->rows->texts.at + at, f->bytes, f->value);
        r->rows->texts.len = at + f->value;
        r->cells[c + 1] |= (int64_t)at << 32;
        r->is_text |= (uint32_t)1 << c;
    }
    return true;
}

static void read_fields(struct row *r, const uint8_t *cells, struct lpo_proto m)
{
    struct lpo_proto_field f;

    while (lpo_proto_next(&m, &f))
        read_field(r, cells, &f);
}

static struct row begin_row(struct lpo_nsysrep_rows *rows, size_t cells)
{
    struct row r = { .rows = rows };

    lpo_vec_reserve(&rows->cells, rows->cells.len + 1 + cells);
    r.cells = rows->cells.at + rows->cells.len;
    memset(r.cells, 0, (1 + cells) * sizeof *r.cells);
    return r;
}

static void end_row(struct row *r, size_t cells)
{
    r->cells[0] = (int64_t)((uint64_t)r->is_text << 32 | r->given);
    r->rows->cells.len += 1 + cells;
}

/* Of a call: was it one of the CUDA runtime or driver? With stacks they have a class of their own.
 */
static bool is_of_class(struct maker *m, uint64_t class)
{
    enum { RUNTIME = 0, DRIVER = 1, WITH_STACK = 67 };

    if (!m->table->calls || class == RUNTIME || class == DRIVER || class == WITH_STACK)
        return true;
    m->rep->classes[class < LPO_NSYSREP_CLASSES ? class : LPO_NSYSREP_CLASSES - 1]++;
    return false;
}

/* The payload of an event as a row, where it is one of this table. */
static bool make_row(void *ctx, struct lpo_nsysrep_rows *rows, struct lpo_proto payload)
{
    struct maker *m = ctx;
    struct row r = begin_row(rows, m->cells);
    struct lpo_proto_field f;
    uint64_t class = 0; /* where it is absent, too */
    bool found = m->table->sub == 0;

    while (lpo_proto_next(&payload, &f)) {
        if (read_field(&r, m->top, &f))
            continue;
        if (f.number == CALL_CLASS) {
            class = f.value;
        } else if (f.number == m->table->sub && f.wire == LPO_WIRE_BYTES) {
            read_fields(&r, m->sub, lpo_proto_inner(&f));
            found = true;
        }
    }
    if (!found || !is_of_class(m, class))
        return false;
    end_row(&r, m->cells);
    return true;
}

/* --- and where they are read ---------------------------------------------------------------- */

static void show_row(struct lpo_nsys_rows *out, const struct lpo_nsysrep_rows *rows, size_t cell)
{
    uint64_t mark = (uint64_t)rows->cells.at[cell];

    out->given = (uint32_t)mark;
    out->is_text = (uint32_t)(mark >> 32);
    out->cells = rows->cells.at + cell + 1;
    out->texts = rows->texts.at;
}

static void give_beside(struct walk *w, const struct lpo_nsys_rows *of,
                        const struct lpo_nsysrep_rows *rows)
{
    struct lpo_nsys_rows side = { .of = of->of };

    memcpy(side.has, w->side_has, sizeof side.has);
    for (size_t cell = 0; cell < rows->cells.len; cell += 1 + w->side.cells) {
        show_row(&side, rows, cell);
        w->beside->row(w->beside->ctx, &side);
    }
}

static int step_events(struct walk *w, struct lpo_nsys_rows *rows, struct lpo_trace *t)
{
    const struct lpo_nsysrep_rows *given[2];

    while (w->next >= w->given->cells.len) {
        if (!lpo_nsysrep_events_next(w->events, given, t)) {
            if (w->beside)
                w->beside->done = true;
            return 0;
        }
        w->given = given[0];
        w->next = 0;
        if (w->beside)
            give_beside(w, rows, given[1]);
    }
    show_row(rows, w->given, w->next);
    w->next += 1 + w->maker.cells;
    return 1;
}

static int show_own(struct walk *w, struct lpo_nsys_rows *rows, struct row *r)
{
    end_row(r, w->maker.cells);
    show_row(rows, &w->own, 0);
    return 1;
}

/* --- parts that are kept -------------------------------------------------------------------- */

/* Down the path of the table, message by message. */
static int step_part(struct walk *w, struct lpo_nsys_rows *rows)
{
    const struct table *t = w->maker.table;

    while (w->depth >= 0) {
        struct lpo_proto_field f;

        if (!lpo_proto_next(&w->at[w->depth], &f)) {
            w->depth--;
        } else if (f.number != t->path[w->depth] || f.wire != LPO_WIRE_BYTES) {
            continue;
        } else if (w->depth + 1 < DEEPEST && t->path[w->depth + 1]) {
            w->at[++w->depth] = lpo_proto_inner(&f);
        } else {
            struct row r = begin_row(&w->own, w->maker.cells);

            read_fields(&r, w->maker.top, lpo_proto_inner(&f));
            return show_own(w, rows, &r);
        }
    }
    return 0;
}

static int step_walk(struct lpo_nsys_rows *rows, struct lpo_trace *t)
{
    struct walk *w = rows->walk;
    struct row r;

    if (w->events)
        return step_events(w, rows, t);
    w->own.cells.len = w->own.texts.len = 0;
    if (w->maker.table)
        return step_part(w, rows);
    if (w->done)
        return 0;
    w->done = true;
    r = begin_row(&w->own, w->maker.cells);
    r.cells[1] = w->rep->utc_ns;
    r.given = 1;
    return show_own(w, rows, &r);
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

void lpo_nsysrep_tables_begin(struct lpo_nsysrep *rep, unsigned skip)
{
    static const struct lpo_nsys_source calls = { begin_walk,  step_walk, end_walk,
                                                  name_string, name_text, set_beside };

    rep->given = (struct lpo_nsys_tables){ &calls, rep };
    rep->utc_ns = lpo_nsysrep_utc(rep->index.file);
    list_strings(rep);
    for (size_t i = 0; i < NTABLES; i++) {
        rep->index.payloads[i] = tables[i].payload;
        if (!tables[i].part && !tables[i].many && !(tables[i].skip & skip))
            rep->index.keep |= (uint32_t)1 << i;
        for (const uint8_t *type = tables[i].types; *type; type++)
            rep->index.readers[*type] |= (uint32_t)1 << i;
    }
}

void lpo_nsysrep_tables_end(struct lpo_nsysrep *rep)
{
    lpo_nsysrep_index_free(&rep->index);
    lpo_vec_free(&rep->anchors);
    free(rep->names);
}

bool lpo_nsysrep_type_is_read(const struct lpo_nsysrep *rep, uint32_t type)
{
    return rep->index.readers[type] != 0;
}
