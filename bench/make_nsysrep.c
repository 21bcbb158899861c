/* SPDX-License-Identifier: Apache-2.0 */
/* make_nsysrep EXPORT.sqlite OUT.nsys-rep: a report of Nsight Systems with the content of an
 * export, for bench/ and for tests that need no NVIDIA tool.
 *
 * The events of all tables are merged by their start, so that blocks hold all kinds as those of
 * nsys do; each table keeps its order. Only what docs/nsys-rep.md describes is written, and nothing
 * of environment, command line and machine. */
#include <lz4.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/str.h"

enum { COLUMNS = 32, BLOCK_EVENTS = 7000, START_CLOCK = 1000 };
enum { VARINT = 0, BYTES = 2 };

/* Field `number` of the payload, or of the sub-message. */
struct column {
    const char *name;
    int number, sub;
};

struct table {
    const char *name, *order; /* column of time; NULL: before all events */
    int type;                 /* of the event; 0: its column eventType; -1: no event */
    int payload, sub;
    struct column columns[COLUMNS];
};

#define OP                                                                                         \
    { "start", 1, 0 }, { "end", 2, 0 }, { "correlationId", 3, 0 }, { "deviceId", 4, 0 },           \
        { "contextId", 5, 0 }, { "streamId", 6, 0 },                                               \
    {                                                                                              \
        "globalPid", 8, 0                                                                          \
    }
#define CALL                                                                                       \
    { "start", 1, 0 }, { "end", 2, 0 }, { "correlationId", 3, 0 }, { "eventClass", 6, 0 },         \
        { "nameId", 7, 0 }, { "returnValue", 8, 0 },                                               \
    {                                                                                              \
        "globalTid", 13, 0                                                                         \
    }

static const struct table tables[] = {
    { "PROCESSES", NULL, 27, 113, 0, { { "globalPid", 2, 0 }, { "name", 6, 0 } } },
    { "DIAGNOSTIC_EVENT",
      NULL,
      49,
      110,
      0,
      { { "source", 2, 0 }, { "severity", 3, 0 }, { "text", 4, 0 }, { "globalPid", 5, 0 } } },
    { "CUPTI_ACTIVITY_KIND_KERNEL",
      "start",
      79,
      107,
      101,
      { OP,
        { "demangledName", 1, 1 },
        { "shortName", 2, 1 },
        { "mangledName", 3, 1 },
        { "gridX", 10, 1 },
        { "gridY", 11, 1 },
        { "gridZ", 12, 1 },
        { "blockX", 13, 1 },
        { "blockY", 14, 1 },
        { "blockZ", 15, 1 },
        { "staticSharedMemory", 16, 1 },
        { "dynamicSharedMemory", 17, 1 },
        { "localMemoryPerThread", 18, 1 },
        { "localMemoryTotal", 19, 1 },
        { "gridId", 20, 1 },
        { "registersPerThread", 21, 1 },
        { "sharedMemoryExecuted", 22, 1 },
        { "cacheConfig", 23, 1 },
        { "launchType", 24, 1 },
        { "graphNodeId", 27, 1 } } },
    { "CUPTI_ACTIVITY_KIND_MEMCPY",
      "start",
      80,
      107,
      102,
      { OP,
        { "bytes", 1, 1 },
        { "copyKind", 2, 1 },
        { "srcKind", 4, 1 },
        { "dstKind", 5, 1 },
        { "copyCount", 16, 1 } } },
    { "CUPTI_ACTIVITY_KIND_MEMSET",
      "start",
      80,
      107,
      103,
      { OP, { "bytes", 1, 1 }, { "value", 2, 1 }, { "memKind", 4, 1 } } },
    { "CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
      "start",
      130,
      107,
      107,
      { OP, { "graphId", 1, 1 }, { "graphExecId", 2, 1 } } },
    { "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
      "start",
      106,
      107,
      105,
      { OP, { "eventId", 1, 1 }, { "syncType", 4, 1 } } },
    { "CUPTI_ACTIVITY_KIND_RUNTIME", "start", 48, 108, 0, { CALL } },
    { "CUDA_GRAPH_NODE_EVENTS", "start", 113, 108, 33, { CALL, { "graphNodeId", 1, 1 } } },
    { "NVTX_EVENTS",
      "start",
      0,
      102,
      0,
      { { "eventType", 1, 0 },
        { "start", 2, 0 },
        { "rangeId", 4, 0 },
        { "color", 6, 0 },
        { "text", 7, 0 },
        { "globalTid", 9, 0 },
        { "end", 10, 0 },
        { "textId", 12, 0 },
        { "domainId", 13, 0 } } },
};

static const struct table thread_names = {
    "ThreadNames",
    NULL,
    -1,
    0,
    0,
    { { "nameId", 2, 0 }, { "priority", 3, 0 }, { "globalTid", 4, 0 } }
};
static const struct table cuda_devices = {
    "TARGET_INFO_CUDA_DEVICE",
    NULL,
    -1,
    0,
    0,
    { { "gpuId", 1, 0 }, { "cudaId", 2, 0 }, { "pid", 3, 0 } }
};
static const struct table gpus = { "TARGET_INFO_GPU",
                                   NULL,
                                   -1,
                                   0,
                                   0,
                                   { { "id", 1, 0 },
                                     { "name", 2, 0 },
                                     { "l2CacheSize", 10, 0 },
                                     { "totalMemory", 11, 0 },
                                     { "clockRate", 13, 0 },
                                     { "smCount", 14, 0 },
                                     { "cuDevice", 15, 0 },
                                     { "computeMajor", 41, 0 },
                                     { "computeMinor", 42, 0 } } };

enum { NTABLES = sizeof tables / sizeof *tables };

static sqlite3 *db;
static FILE *out;

/* --- protobuf ------------------------------------------------------------------------------- */

static void add_varint(struct lpo_str *s, uint64_t v)
{
    for (; v > 0x7f; v >>= 7)
        lpo_str_addc(s, (char)(v | 0x80));
    lpo_str_addc(s, (char)v);
}

static void add_number(struct lpo_str *s, int number, uint64_t v)
{
    add_varint(s, (uint64_t)number << 3 | VARINT);
    add_varint(s, v);
}

static void add_bytes(struct lpo_str *s, int number, const char *bytes, size_t len)
{
    add_varint(s, (uint64_t)number << 3 | BYTES);
    add_varint(s, len);
    lpo_str_addn(s, bytes, len);
}

static void add_message(struct lpo_str *s, int number, const struct lpo_str *m)
{
    add_bytes(s, number, lpo_str_text(m), m->len);
}

/* --- rows of the export --------------------------------------------------------------------- */

struct rows {
    const struct table *table;
    sqlite3_stmt *stmt; /* NULL: no such table, or at its end */
    int64_t at;         /* start of the row that it stands on */
};

static bool has_column(const char *table, const char *column)
{
    LPO_STR sql = { 0 };
    sqlite3_stmt *s = NULL;
    bool has;

    lpo_str_addf(&sql, "SELECT \"%s\".\"%s\" FROM \"%s\" LIMIT 1", table, column, table);
    has = sqlite3_prepare_v2(db, lpo_str_text(&sql), -1, &s, NULL) == SQLITE_OK;
    sqlite3_finalize(s);
    return has;
}

static void step_rows(struct rows *r)
{
    if (r->stmt && sqlite3_step(r->stmt) == SQLITE_ROW) {
        r->at = r->table->order ? sqlite3_column_int64(r->stmt, 0) : INT64_MIN;
        return;
    }
    sqlite3_finalize(r->stmt);
    r->stmt = NULL;
}

/* In a report the id of a name is its place; an export that was filtered has gaps. */
static void number_strings(void)
{
    sqlite3_exec(db,
                 "CREATE TEMP TABLE places (id INTEGER PRIMARY KEY, place INTEGER);"
                 "INSERT INTO places SELECT id, row_number() OVER (ORDER BY id) - 1 FROM StringIds",
                 NULL, NULL, NULL);
}

static void add_selected(struct lpo_str *sql, const char *table, const char *column)
{
    static const char ids[] = " demangledName shortName mangledName nameId textId ";
    LPO_STR word = { 0 };

    lpo_str_addf(&word, " %s ", column);
    if (!has_column(table, column))
        lpo_str_add(sql, ", NULL");
    else if (strstr(ids, lpo_str_text(&word)))
        lpo_str_addf(sql, ", coalesce((SELECT place FROM places WHERE id = t.\"%s\"), t.\"%s\")",
                     column, column);
    else
        lpo_str_addf(sql, ", \"%s\"", column);
}

/* Column 0 is the time, then those of the table. */
static void begin_rows(struct rows *r, const struct table *t)
{
    LPO_STR sql = { 0 };

    *r = (struct rows){ .table = t };
    lpo_str_addf(&sql, "SELECT %s", t->order ? t->order : "NULL");
    for (const struct column *c = t->columns; c->name; c++)
        add_selected(&sql, t->name, c->name);
    lpo_str_addf(&sql, " FROM \"%s\" t", t->name);
    if (sqlite3_prepare_v2(db, lpo_str_text(&sql), -1, &r->stmt, NULL) != SQLITE_OK)
        r->stmt = NULL;
    step_rows(r);
}

static void add_column(struct lpo_str *s, sqlite3_stmt *stmt, int i, int number)
{
    if (sqlite3_column_type(stmt, i) == SQLITE_TEXT)
        add_bytes(s, number, (const char *)sqlite3_column_text(stmt, i),
                  (size_t)sqlite3_column_bytes(stmt, i));
    else if (sqlite3_column_type(stmt, i) == SQLITE_INTEGER)
        add_number(s, number, (uint64_t)sqlite3_column_int64(stmt, i));
}

static void add_row(struct lpo_str *s, struct rows *r)
{
    static struct lpo_str sub;

    lpo_str_clear(&sub);
    for (int i = 0; r->table->columns[i].name; i++)
        add_column(r->table->columns[i].sub ? &sub : s, r->stmt, i + 1,
                   r->table->columns[i].number);
    if (r->table->sub)
        add_message(s, r->table->sub, &sub);
}

static void add_event(struct lpo_str *s, struct rows *r)
{
    static struct lpo_str event, payload;
    int64_t type = r->table->type ? r->table->type : sqlite3_column_int64(r->stmt, 1);

    lpo_str_clear(&event);
    lpo_str_clear(&payload);
    add_row(&payload, r);
    add_number(&event, 1, (uint64_t)type);
    add_message(&event, r->table->payload, &payload);
    add_message(s, 1, &event);
}

/* Every row of a table as field `number` of `s`. */
static uint64_t add_rows(struct lpo_str *s, const struct table *t, int number)
{
    struct rows r;
    uint64_t n = 0;

    for (begin_rows(&r, t); r.stmt; step_rows(&r), n++) {
        LPO_STR m = { 0 };

        add_row(&m, &r);
        add_message(s, number, &m);
    }
    return n;
}

/* --- the file ------------------------------------------------------------------------------- */

static void put(const struct lpo_str *s)
{
    fwrite(lpo_str_text(s), 1, s->len, out);
}

static void put_message(const struct lpo_str *m)
{
    LPO_STR len = { 0 };

    add_varint(&len, m->len);
    put(&len);
    put(m);
}

static void put_block(const struct lpo_str *body)
{
    LPO_STR plain = { 0 }, lengths = { 0 };
    int room, packed;
    char *bytes;

    add_varint(&plain, body->len);
    lpo_str_addn(&plain, lpo_str_text(body), body->len);
    room = LZ4_compressBound((int)plain.len);
    bytes = malloc((size_t)room);
    packed = LZ4_compress_default(lpo_str_text(&plain), bytes, (int)plain.len, room);
    add_varint(&lengths, (uint64_t)packed);
    add_varint(&lengths, plain.len);
    put(&lengths);
    fwrite(bytes, 1, (size_t)packed, out);
    free(bytes);
}

/* Events of all tables by their start into a temporary file, since their count comes before them.
 */
static uint64_t put_events(void)
{
    struct rows rows[NTABLES];
    struct lpo_str body = { 0 };
    uint64_t n = 0;

    for (int i = 0; i < NTABLES; i++)
        begin_rows(&rows[i], &tables[i]);
    for (;; n++) {
        struct rows *first = NULL;

        for (int i = 0; i < NTABLES; i++)
            if (rows[i].stmt && (!first || rows[i].at < first->at))
                first = &rows[i];
        if (body.len && (!first || n % BLOCK_EVENTS == 0)) {
            put_block(&body);
            lpo_str_clear(&body);
        }
        if (!first)
            break;
        add_event(&body, first);
        step_rows(first);
    }
    free(body.at);
    return n;
}

static uint64_t put_strings(void)
{
    LPO_STR body = { 0 };
    sqlite3_stmt *s = NULL;
    uint64_t n = 0;

    sqlite3_prepare_v2(db, "SELECT value FROM StringIds ORDER BY id", -1, &s, NULL);
    for (; s && sqlite3_step(s) == SQLITE_ROW; n++)
        add_bytes(&body, 1, (const char *)sqlite3_column_text(s, 0),
                  (size_t)sqlite3_column_bytes(s, 0));
    sqlite3_finalize(s);
    put_block(&body);
    return n;
}

static void add_offset(struct lpo_str *s, int from, int to, uint64_t offset)
{
    LPO_STR m = { 0 }, text = { 0 };

    lpo_str_add_uint(&text, offset);
    add_number(&m, 1, (uint64_t)from);
    add_number(&m, 2, (uint64_t)to);
    add_message(&m, 5, &text);
    add_bytes(&m, 6, "Offset", 6);
    add_message(s, 1, &m);
}

static void add_header(struct lpo_str *s)
{
    LPO_STR offsets = { 0 };
    sqlite3_stmt *q = NULL;
    uint64_t utc = 0;

    sqlite3_prepare_v2(db, "SELECT utcEpochNs FROM TARGET_INFO_SESSION_START_TIME", -1, &q, NULL);
    if (q && sqlite3_step(q) == SQLITE_ROW)
        utc = (uint64_t)sqlite3_column_int64(q, 0);
    sqlite3_finalize(q);
    add_offset(&offsets, 1, 3, 0);
    add_offset(&offsets, 3, 9, START_CLOCK - utc);
    if (utc)
        add_message(s, 16, &offsets);
    add_number(s, 17, START_CLOCK);
}

static void add_final(struct lpo_str *s)
{
    LPO_STR machine = { 0 }, devices = { 0 };

    add_rows(&devices, &gpus, 7);
    add_rows(&devices, &cuda_devices, 9);
    add_number(&machine, 1, 1);
    add_message(&machine, 2, &devices);
    add_message(s, 1, &machine);
}

static void add_entry(struct lpo_str *s, const char *name, long at, long len)
{
    LPO_STR m = { 0 };

    add_bytes(&m, 1, name, strlen(name));
    add_number(&m, 2, (uint64_t)at);
    add_number(&m, 3, (uint64_t)len);
    add_message(s, 1, &m);
}

static void copy_file(FILE *from)
{
    static char bytes[1 << 20];
    size_t n;

    rewind(from);
    while ((n = fread(bytes, 1, sizeof bytes, from)) > 0)
        fwrite(bytes, 1, n, out);
}

/* Returns where the strings begin. */
static long put_raw(void)
{
    LPO_STR header = { 0 }, counts = { 0 }, threads = { 0 }, last = { 0 };
    FILE *report = out, *events = tmpfile(), *strings = tmpfile();
    long at;

    out = events;
    add_number(&counts, 1, put_events());
    out = strings;
    add_number(&counts, 3, put_strings());
    out = report;
    add_number(&counts, 5, add_rows(&threads, &thread_names, 1));
    add_number(&counts, 15, 0);
    add_header(&header);
    add_final(&last);
    fputs("QDTEXT00", out);
    put_message(&header);
    put_message(&counts);
    copy_file(events);
    at = ftell(out);
    copy_file(strings);
    put_message(&threads);
    put_message(&last);
    fclose(events);
    fclose(strings);
    return at;
}

static void put_report(void)
{
    LPO_STR offsets = { 0 }, directory = { 0 };
    long raw, strings, end;
    uint64_t at;

    fputs("NVIDIA Tegra Profiler Report 2025@5@1@121-0v0.", out);
    raw = ftell(out);
    strings = put_raw();
    end = ftell(out);
    add_bytes(&offsets, 1, "lz4", 3);
    add_number(&offsets, 2, (uint64_t)(strings - raw - 8));
    put(&offsets);
    add_entry(&directory, "Raw Sampling Data", raw, end - raw);
    add_entry(&directory, "Sampling Data Offsets", end, (long)offsets.len);
    at = (uint64_t)ftell(out);
    put(&directory);
    fwrite(&at, sizeof at, 1, out);
    fputs("U3w[END]", out);
}

int main(int argc, char **argv)
{
    LPO_STR part = { 0 };

    if (argc != 3 || sqlite3_open_v2(argv[1], &db, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK) {
        fputs("usage: make_nsysrep EXPORT.sqlite OUT.nsys-rep\n", stderr);
        return 2;
    }
    lpo_str_addf(&part, "%s.part", argv[2]);
    out = fopen(lpo_str_text(&part), "wb");
    if (!out)
        return perror(argv[2]), 1;
    number_strings();
    put_report();
    sqlite3_close(db);
    if (fclose(out) != 0 || rename(lpo_str_text(&part), argv[2]) != 0)
        return perror(argv[2]), 1;
    return 0;
}
