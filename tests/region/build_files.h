/* SPDX-License-Identifier: Apache-2.0 */
/* tests/region/build_files.h - the text of build.h as files of each format that lpo reads. */
#pragma once

#include <sqlite3.h>

#include "../unit.h"
#include "build.h"
#include "lpo/trace_format.h"
#include "trace/reader.h"
#include "util/budget.h"
#include "util/crc32c.h"
#include "util/err.h"
#include "util/str.h"

static inline void read_file_at(const char *path, struct lpo_trace *t)
{
    struct lpo_err err = { 0 };
    int rc = lpo_trace_read(path, t, &err);

    unlink(path);
    if (rc < 0)
        fail_msg("%s", lpo_err_cause(&err));
}

/* ---- the native format */

static inline void put_v(struct lpo_str *s, uint64_t v)
{
    for (; v > 0x7f; v >>= 7)
        lpo_str_addc(s, (char)(v | 0x80));
    lpo_str_addc(s, (char)v);
}

static inline void put_z(struct lpo_str *s, int64_t v)
{
    put_v(s, (uint64_t)v << 1 ^ (uint64_t)(v >> 63));
}

static inline void put_u(struct lpo_str *s, uint64_t v, int bytes)
{
    for (int i = 0; i < bytes; i++)
        lpo_str_addc(s, (char)(v >> (8 * i)));
}

static inline void put_text(struct lpo_str *s, const char *text)
{
    put_v(s, strlen(text));
    lpo_str_add(s, text);
}

static inline void put_block(struct lpo_str *file, unsigned kind, unsigned stream,
                             const struct lpo_str *payload)
{
    LPO_STR head = { 0 }, rest = { 0 };

    put_u(&head, LPOT_BLOCK_MAGIC, 4);
    put_u(&head, kind, 2);
    put_u(&head, 0, 2);
    put_u(&head, payload->len, 4);
    put_u(&rest, stream, 4);
    put_u(&rest, 0, 4); /* sequence */
    put_u(&rest, 1, 8);
    put_u(&rest, 1, 8);
    lpo_str_addn(&rest, lpo_str_text(payload), payload->len);
    put_u(&head, lpo_crc32c(lpo_crc32c(0, head.at, head.len), rest.at, rest.len), 4);
    lpo_str_addn(file, head.at, head.len);
    lpo_str_addn(file, rest.at, rest.len);
}

/* What a thread does, in order: at one moment ends come before starts, as a thread would. */
struct thread_event {
    int64_t ns;
    unsigned tag; /* enum lpot_event */
    size_t item;  /* in the list */
};

typedef LPO_VEC(struct thread_event) thread_events;

static inline int64_t push_key(const struct build_item *item)
{
    return item->open ? INT64_MAX : item->end;
}

/* Pushes in the order of nesting, with the pops between them; false where they do not nest. */
static inline bool stack_events(const struct build_list *list, const size_t *ranges, size_t count,
                                thread_events *out)
{
    size_t open[64], depth = 0;

    for (size_t i = 0; i <= count; i++) {
        const struct build_item *next = i < count ? &list->at.at[ranges[i]] : NULL;

        while (depth && (!next || push_key(&list->at.at[open[depth - 1]]) <= next->start)) {
            const struct build_item *top = &list->at.at[open[--depth]];

            if (!top->open)
                lpo_vec_push(out, ((struct thread_event){ top->end, LPOT_EV_POP, open[depth] }));
        }
        if (!next)
            break;
        if (depth && push_key(next) > push_key(&list->at.at[open[depth - 1]]))
            return false;
        lpo_vec_push(out, ((struct thread_event){ next->start, LPOT_EV_PUSH, ranges[i] }));
        open[depth++] = ranges[i];
    }
    return true;
}

/* Outer before inner; equal ones in the order of the text. */
static inline void sort_ranges(const struct build_list *list, size_t *ranges, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        for (size_t k = i; k; k--) {
            const struct build_item *a = &list->at.at[ranges[k - 1]], *b = &list->at.at[ranges[k]];
            size_t swap = ranges[k];

            if (a->start < b->start || (a->start == b->start && push_key(a) >= push_key(b)))
                break;
            ranges[k] = ranges[k - 1];
            ranges[k - 1] = swap;
        }
    }
}

/* Puts an event behind all that are not later. */
static inline void insert_event(thread_events *events, struct thread_event e)
{
    size_t i;

    lpo_vec_push(events, e);
    for (i = events->len - 1; i && events->at[i - 1].ns > e.ns; i--)
        events->at[i] = events->at[i - 1];
    events->at[i] = e;
}

static inline void put_event(struct lpo_str *s, const struct build_item *item,
                             const struct thread_event *e, int64_t *ticks, int64_t *corr,
                             int64_t *node)
{
    int64_t id = (int64_t)e->item + 1; /* of the launch, the graph node and the range alike */

    lpo_str_addc(
        s,
        (char)(e->tag | (e->tag == LPOT_EV_PUSH || e->tag == LPOT_EV_START ? LPOT_EV_INLINE : 0)));
    put_v(s, (uint64_t)(e->ns - *ticks));
    *ticks = e->ns;
    if (e->tag == LPOT_EV_START || e->tag == LPOT_EV_END)
        put_v(s, (uint64_t)id);
    if (e->tag == LPOT_EV_PUSH || e->tag == LPOT_EV_START)
        put_text(s, item->name);
    if (e->tag == LPOT_EV_LAUNCH) {
        put_z(s, id - *corr);
        *corr = id;
    }
    if (e->tag == LPOT_EV_NODE) {
        put_z(s, id - *node);
        *node = id;
    }
}

static inline bool native_thread(const struct build_list *list, int process, int thread,
                                 struct lpo_str *file)
{
    thread_events events = { 0 };
    size_t ranges[64], count = 0;
    int64_t ticks = 0, corr = 0, node = 0;
    LPO_STR payload = { 0 };
    bool nests;

    for (size_t i = 0; i < list->at.len; i++) {
        const struct build_item *item = &list->at.at[i];

        if (item->process == process && item->thread == thread && item->kind == BUILD_PUSH_POP)
            ranges[count++] = i;
    }
    sort_ranges(list, ranges, count);
    nests = stack_events(list, ranges, count, &events);
    for (size_t i = 0; i < list->at.len; i++) {
        const struct build_item *item = &list->at.at[i];
        bool kernel = item->kind == BUILD_KERNEL;

        if (item->process != process || item->thread != thread || item->kind == BUILD_PUSH_POP)
            continue;
        if (kernel && item->capture != BUILD_NO_CAPTURE)
            insert_event(&events, (struct thread_event){ item->capture, LPOT_EV_NODE, i });
        insert_event(&events, (struct thread_event){ item->start,
                                                     kernel ? LPOT_EV_LAUNCH : LPOT_EV_START, i });
        if (!item->open)
            insert_event(&events, (struct thread_event){
                                      item->end, kernel ? LPOT_EV_RETURN : LPOT_EV_END, i });
    }
    for (size_t i = 0; i < events.len; i++)
        put_event(&payload, &list->at.at[events.at[i].item], &events.at[i], &ticks, &corr, &node);
    if (nests && events.len)
        put_block(file, LPOT_THREAD, (unsigned)thread, &payload);
    lpo_vec_free(&events);
    return nests;
}

static inline void native_gpu(const struct build_list *list, int process, struct lpo_str *file)
{
    static const char place[] = { LPOT_GPU_PLACE, 0, 1, 7 };
    int64_t start = 0, corr = 0, node = 0;
    LPO_STR payload = { 0 }, defs = { 0 };
    unsigned shapes = 0;

    lpo_str_addn(&payload, place, sizeof place);
    for (size_t i = 0; i < list->at.len; i++) {
        const struct build_item *item = &list->at.at[i];
        int64_t id = (int64_t)i + 1;
        bool graph = item->capture != BUILD_NO_CAPTURE;

        if (item->process != process || item->kind != BUILD_KERNEL)
            continue;
        lpo_str_addc(&defs, LPOT_DEF_STRING);
        put_text(&defs, item->name);
        lpo_str_addc(&payload, LPOT_GPU_SHAPE);
        put_v(&payload, shapes + 1); /* the string of this shape */
        for (int k = 0; k < 10; k++)
            put_v(&payload, k < 6);
        put_v(&payload, 0);
        lpo_str_addc(&payload, (char)(LPOT_GPU_KERNEL | (graph ? LPOT_GPU_GRAPH : 0)));
        put_v(&payload, shapes++);
        put_z(&payload, item->gpu_start - start);
        put_v(&payload, (uint64_t)item->ns);
        put_z(&payload, id - corr);
        if (graph) {
            put_v(&payload, 1);
            put_z(&payload, id - node);
            node = id;
        }
        start = item->gpu_start;
        corr = id;
    }
    put_block(file, LPOT_DEFS, 0, &defs);
    if (shapes)
        put_block(file, LPOT_GPU, 0, &payload);
}

enum { BUILD_THREADS = 4 }; /* of a process, as a row of a test has them */

/* A file per process. */
static inline void build_native(const struct build_list *list, struct lpo_trace *t)
{
    for (int process = 1; process <= 2; process++) {
        LPO_STR file = { 0 }, facts = { 0 };
        char path[UNIT_PATH], pid[12];

        snprintf(pid, sizeof pid, "%d", process);
        lpo_str_add(&file, LPOT_MAGIC);
        put_u(&file, LPOT_MAJOR, 2);
        put_u(&file, LPOT_MINOR, 2);
        put_u(&file, 0, 4);
        put_text(&facts, "pid");
        put_text(&facts, pid);
        put_text(&facts, "clock");
        put_text(&facts, "realtime");
        put_block(&file, LPOT_FACTS, 0, &facts);
        for (int thread = 1; thread <= BUILD_THREADS; thread++)
            native_thread(list, process, thread, &file);
        native_gpu(list, process, &file);
        unit_file(file.at, file.len, path);
        read_file_at(path, t);
    }
}

static inline bool native_can(const struct build_list *list)
{
    LPO_STR file = { 0 };
    bool can = true;

    for (int process = 1; process <= 2; process++)
        for (int thread = 1; thread <= BUILD_THREADS; thread++)
            can = native_thread(list, process, thread, &file) && can;
    return can;
}

/* The same file, with ranges that are summed while they are read: as if it were very large. */
static inline void build_native_summed(const struct build_list *list, struct lpo_trace *t)
{
    const struct lpo_budget usual = *lpo_budget();
    struct lpo_budget small = usual;

    small.range_bytes = 0;
    lpo_budget_use(&small);
    build_native(list, t);
    lpo_budget_use(&usual);
    for (size_t i = 0; i < t->ranges.len; i++)
        assert_true(t->ranges.at[i].kind == LPO_START_END ||
                    t->ranges.at[i].flags & LPO_RANGE_SUMMED);
}

/* ---- Kineto */

/* Times in microseconds, with three digits behind the point. */
static inline void kineto_event(struct lpo_str *s, const char *cat, const char *name, int64_t start,
                                int64_t end, bool open)
{
    lpo_str_addf(s, "%s{\"ph\":\"X\",\"cat\":\"%s\",\"name\":\"%s\",\"ts\":%lld.%03lld",
                 s->at[s->len - 1] == '[' ? "" : ",", cat, name, (long long)start / 1000,
                 (long long)start % 1000);
    if (!open)
        lpo_str_addf(s, ",\"dur\":%lld.%03lld", (long long)(end - start) / 1000,
                     (long long)(end - start) % 1000);
}

static inline bool kineto_can(const struct build_list *list)
{
    for (size_t i = 0; i < list->at.len; i++)
        if (list->at.at[i].kind == BUILD_START_END || list->at.at[i].capture != BUILD_NO_CAPTURE)
            return false;
    return true;
}

static inline void build_kineto(const struct build_list *list, struct lpo_trace *t)
{
    LPO_STR s = { 0 };
    char path[UNIT_PATH];

    lpo_str_add(&s, "{\"schemaVersion\":1,\"traceEvents\":[");
    for (size_t i = 0; i < list->at.len; i++) {
        const struct build_item *item = &list->at.at[i];
        bool kernel = item->kind == BUILD_KERNEL;

        kineto_event(&s, kernel ? "cuda_runtime" : "user_annotation",
                     kernel ? "cudaLaunchKernel" : item->name, item->start, item->end, item->open);
        lpo_str_addf(&s, ",\"pid\":%d,\"tid\":%d,\"args\":{\"correlation\":%zu}}", item->process,
                     item->thread, i + 1);
        if (!kernel)
            continue;
        kineto_event(&s, "kernel", item->name, item->gpu_start, item->gpu_start + item->ns, false);
        lpo_str_addf(&s,
                     ",\"pid\":0,\"tid\":7,\"args\":{\"correlation\":%zu,\"device\":0,"
                     "\"stream\":7}}",
                     i + 1);
    }
    lpo_str_add(&s, "]}");
    unit_file(s.at, s.len, path);
    read_file_at(path, t);
}

/* ---- Nsight Systems */

static inline void nsys_item(struct lpo_str *s, const struct build_item *item, size_t id)
{
    long long pid = (long long)item->process << 24, tid = pid | item->thread;

    if (item->kind != BUILD_KERNEL) {
        lpo_str_addf(s, "INSERT INTO NVTX_EVENTS VALUES(%lld,", (long long)item->start);
        if (item->open)
            lpo_str_add(s, "NULL");
        else
            lpo_str_addf(s, "%lld", (long long)item->end);
        lpo_str_addf(s, ",%d,%lld,'%s');", item->kind == BUILD_START_END ? 60 : 59, tid,
                     item->name);
        return;
    }
    lpo_str_addf(s, "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES(%lld,%lld,%lld,%zu);",
                 (long long)item->start, (long long)item->end, tid, id);
    lpo_str_addf(s, "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES(%lld,%lld,%zu,%lld,'%s',%zu);",
                 (long long)item->gpu_start, (long long)(item->gpu_start + item->ns), id, pid,
                 item->name, item->capture == BUILD_NO_CAPTURE ? 0 : id);
    if (item->capture != BUILD_NO_CAPTURE)
        lpo_str_addf(s, "INSERT INTO CUDA_GRAPH_NODE_EVENTS VALUES(%lld,%lld,%zu,0);",
                     (long long)item->capture, tid, id);
}

static inline void build_nsys(const struct build_list *list, struct lpo_trace *t)
{
    char path[UNIT_PATH], *why = NULL;
    sqlite3 *db = NULL;
    LPO_STR s = { 0 };

    lpo_str_add(&s,
                "CREATE TABLE NVTX_EVENTS(start, end, eventType, globalTid, text);"
                "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start, end, globalTid, correlationId);"
                "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start, end, correlationId, globalPid,"
                " demangledName, graphNodeId);"
                "CREATE TABLE CUDA_GRAPH_NODE_EVENTS(start, globalTid, graphNodeId,"
                " originalGraphNodeId);");
    for (size_t i = 0; i < list->at.len; i++)
        nsys_item(&s, &list->at.at[i], i + 1);
    unit_file("", 0, path);
    assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL),
                     SQLITE_OK);
    if (sqlite3_exec(db, s.at, NULL, NULL, &why) != SQLITE_OK)
        fail_msg("%s", why);
    sqlite3_close(db);
    read_file_at(path, t);
}

static inline bool nsys_can(const struct build_list *list)
{
    (void)list;
    return true;
}

/* Whether a format can say such a thing: Kineto has no start/end ranges and no captures, and a
 * stack of the collector cannot be popped in the middle. */
static const struct build_source {
    const char *name;
    bool (*can)(const struct build_list *list);
    void (*read)(const struct build_list *list, struct lpo_trace *t);
} build_sources[] = {
    { "native", native_can, build_native },
    { "native, summed", native_can, build_native_summed },
    { "kineto", kineto_can, build_kineto },
    { "nsys", nsys_can, build_nsys },
};

enum { BUILD_SOURCES = sizeof build_sources / sizeof *build_sources };
