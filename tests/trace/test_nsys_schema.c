/* SPDX-License-Identifier: Apache-2.0 */
/* Databases made up with SQL: schemas that are awkward, files that are not what they should be. */
#include "../unit.h"

#include <sqlite3.h>

#include "dump.h"
#include "trace/reader.h"
#include "util/err.h"

/* As nsys packs them, globalPid is pid<<24 and globalTid is pid<<24|tid. */
#define STRINGS                                                                                    \
    "CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT);"                                  \
    "INSERT INTO StringIds VALUES (1, 'k1(int)'), (2, 'k1'), (3, 'reg'), (4, 'dom');"
#define KERNELS                                                                                    \
    "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start, end, correlationId, globalPid, "               \
    "demangledName);"
#define NODES /* kernels, some of a CUDA graph */                                                  \
    "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start, end, correlationId, globalPid, demangledName," \
    " graphNodeId);"
#define CALLS                                                                                      \
    "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start, end, eventClass, globalTid, correlationId, "  \
    "nameId);"
#define NVTX                                                                                       \
    "CREATE TABLE NVTX_EVENTS(start, end, eventType, rangeId, text, globalTid, textId, domainId);"

static const struct sql_case {
    const char *name, *sql, *want;
} sql_cases[] = {
    { "newer tables have a suffix, the newest filled one counts",
      STRINGS
      "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL_V2(start, end, deviceId, streamId, correlationId, "
      "globalPid, demangledName);"
      "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL_V3(start, end, deviceId, streamId, correlationId, "
      "globalPid, demangledName, gridX, gridY, gridZ, blockX, blockY, blockZ);"
      "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL_V4(start);"
      "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL_VX(start);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL_V2 VALUES (1, 2, 0, 7, 9, 5<<24, 1);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL_V3 VALUES"
      " (10, 30, 1, 7, 9, 5<<24, 1, 2, 3, 4, 32, 1, 1);",
      "kernel k1(int) pid=5 dev=1 stream=7 10+20 2x3x4,32x1x1\n" },
    { "columns that are missing are unknown",
      STRINGS CALLS
      "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start, end, correlationId, globalPid, shortName);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (10, 30, 9, 5<<24, 2);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (4, 6, 0, 5<<24|6, 9, 0);",
      "kernel k1 pid=5 dev=0 stream=0 10+20 launch=4..6@6\n" },
    { "a launch is the outer of two calls, whatever their order",
      STRINGS KERNELS CALLS "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (10, 30, 9, 5<<24, 1);"
                            "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES"
                            " (4, 6, 1, 5<<24|6, 9, 0),"
                            " (3, 8, 0, 5<<24|6, 9, 0),"
                            " (3, 7, 1, 5<<24|6, 9, 0);",
      "kernel k1(int) pid=5 dev=0 stream=0 10+20 launch=3..8@6\n" },
    { "correlation ids belong to a process",
      STRINGS KERNELS CALLS "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES"
                            " (10, 30, 9, 5<<24, 1),"
                            " (11, 31, 9, 6<<24, 1),"
                            " (12, 32, 9, 7<<24, 1);"
                            "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES"
                            " (4, 6, 0, 6<<24|1, 9, 0),"
                            " (1, 2, 0, 5<<24|2, 9, 0);",
      "kernel k1(int) pid=5 dev=0 stream=0 10+20 launch=1..2@2\n"
      "kernel k1(int) pid=6 dev=0 stream=0 11+20 launch=4..6@1\n"
      "kernel k1(int) pid=7 dev=0 stream=0 12+20\n" },
    { "copies and sets",
      STRINGS
      "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY(start, end, deviceId, correlationId, globalPid, "
      "bytes, copyKind);"
      "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET(start, end, deviceId, correlationId, globalPid, "
      "bytes);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES"
      " (1, 3, 0, 1, 5<<24, 100, 1),"
      " (4, 5, 0, 2, 5<<24, 7, 99);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES (6, 9, 0, 3, 5<<24, 8);",
      "copy Memcpy HtoD pid=5 dev=0 stream=0 1+2 bytes=100\n"
      "copy Memcpy pid=5 dev=0 stream=0 4+1 bytes=7\n"
      "set Memset pid=5 dev=0 stream=0 6+3 bytes=8\n" },
    { "copies from pageable and pinned memory; a kind that is not known is not named",
      STRINGS
      "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY(start, end, deviceId, correlationId, globalPid, "
      "bytes, copyKind, srcKind, dstKind);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES"
      " (1, 3, 0, 1, 5<<24, 100, 1, 0, 2),"
      " (4, 5, 0, 2, 5<<24, 7, 2, 2, 1),"
      " (6, 7, 0, 3, 5<<24, 7, 1, NULL, 2),"
      " (8, 9, 0, 4, 5<<24, 7, 1, 7, 2);",
      "copy Memcpy HtoD (Pageable -> Device) pid=5 dev=0 stream=0 1+2 bytes=100\n"
      "copy Memcpy DtoH (Device -> Pinned) pid=5 dev=0 stream=0 4+1 bytes=7\n"
      "copy Memcpy HtoD pid=5 dev=0 stream=0 6+1 bytes=7\n"
      "copy Memcpy HtoD pid=5 dev=0 stream=0 8+1 bytes=7\n" },
    { "ranges: registered names, domains named late, two kinds, marks are none",
      STRINGS NVTX "INSERT INTO NVTX_EVENTS VALUES"
                   " (1, 9, 59, NULL, 'plain', 5<<24|6, NULL, 0),"
                   " (2, 8, 59, NULL, NULL, 5<<24|6, 3, 2),"
                   " (3, 7, 60, 1, 'S', 5<<24|7, NULL, NULL),"
                   " (4, NULL, 34, NULL, 'mark', 5<<24|6, NULL, 0),"
                   " (5, NULL, 75, NULL, NULL, 5<<24|6, 4, 2),"
                   " (6, 7, 59, NULL, 'x', 6<<24|6, NULL, 3);",
      "push plain pid=5 tid=6 1..9\n"
      "push dom@reg pid=5 tid=6 2..8\n"
      "start S pid=5 tid=7 3..7\n"
      "push x pid=6 tid=6 6..7\n" },
    { "a range never closed ends with its process",
      STRINGS KERNELS NVTX "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (10, 300, 9, 5<<24, 1);"
                           "INSERT INTO NVTX_EVENTS VALUES"
                           " (1, NULL, 59, NULL, 'a', 5<<24|6, NULL, 0),"
                           " (2, 3, 59, NULL, NULL, 6<<24|6, NULL, 0);",
      "kernel k1(int) pid=5 dev=0 stream=0 10+290\n"
      "push a pid=5 tid=6 1..300 open\n"
      "push (unnamed) pid=6 tid=6 2..3\n"
      "note 1 ranges were never closed: they end with their process\n"
      "note 1 ranges have no name\n" },
    { "a whole graph counts only where its nodes are not known",
      STRINGS NODES CALLS
      "CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE(start, end, deviceId, streamId, "
      "correlationId, globalPid, graphId);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (10, 30, 9, 5<<24, 1, 77);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES"
      " (10, 30, 0, 7, 9, 5<<24, 1),"
      " (40, 90, 0, 7, 10, 5<<24, 1);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES"
      " (1, 2, 0, 5<<24|6, 9, 0),"
      " (31, 32, 0, 5<<24|6, 10, 0);",
      "kernel k1(int) pid=5 dev=0 stream=0 10+20 launch=1..2@6 flags=4\n"
      "kernel CUDA graph 1 (whole launch) pid=5 dev=0 stream=7 40+50 launch=31..32@6 flags=12\n"
      "note 1 CUDA graph launches were traced as a whole (--cuda-graph-trace=graph): their "
      "kernels are not known one by one\n" },
    { "graph nodes know the ranges of their capture, through copies",
      STRINGS NODES NVTX
      "CREATE TABLE CUDA_GRAPH_NODE_EVENTS(start, end, nameId, globalTid, graphNodeId, "
      "originalGraphNodeId);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES"
      " (100, 110, 9, 5<<24, 1, 77),"
      " (110, 120, 9, 5<<24, 1, 78),"
      " (120, 121, 9, 5<<24, 1, 79);"
      "INSERT INTO CUDA_GRAPH_NODE_EVENTS VALUES"
      " (5, 6, 0, 5<<24|6, 7, NULL),"
      " (15, 16, 0, 5<<24|6, 8, 0),"
      " (50, 51, 0, 5<<24|6, 77, 7),"
      " (52, 53, 0, 5<<24|6, 78, 8);"
      "INSERT INTO NVTX_EVENTS VALUES"
      " (4, 8, 59, NULL, 'in', 5<<24|6, NULL, 0),"
      " (1, 20, 59, NULL, 'out', 5<<24|6, NULL, 0),"
      " (1, 90, 59, NULL, 'other', 5<<24|7, NULL, 0);",
      "kernel k1(int) pid=5 dev=0 stream=0 100+10 captured=out/in flags=4\n"
      "kernel k1(int) pid=5 dev=0 stream=0 110+10 captured=out flags=4\n"
      "kernel k1(int) pid=5 dev=0 stream=0 120+1 flags=4\n"
      "push in pid=5 tid=6 4..8\n"
      "push out pid=5 tid=6 1..20\n"
      "push other pid=5 tid=7 1..90\n" },
    { "one CUDA ordinal, two GPUs",
      STRINGS
      "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start, end, deviceId, correlationId, globalPid, "
      "demangledName);"
      "CREATE TABLE TARGET_INFO_CUDA_DEVICE(gpuId, cudaId, pid);"
      "INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (0, 0, 5), (3, 0, 6);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES"
      " (1, 2, 0, 1, 5<<24, 1),"
      " (1, 2, 0, 1, 6<<24, 1);",
      "kernel k1(int) pid=5 dev=0 stream=0 1+1\n"
      "kernel k1(int) pid=6 dev=3 stream=0 1+1\n"
      "note 0 processes number the GPUs differently: devices go by the ids of the machine, not by "
      "CUDA's\n" },
    { "strings without a key, damaged times",
      "CREATE TABLE StringIds(id INTEGER, value TEXT);"
      "INSERT INTO StringIds VALUES (1, 'k');" KERNELS NVTX
      "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES"
      " (10, 5, 9, 5<<24, 1),"
      " (-9223372036854775808, 9223372036854775807, 9, 5<<24, 1);"
      "INSERT INTO NVTX_EVENTS VALUES (9, 3, 59, NULL, 'a', 5<<24|6, NULL, 0);",
      "kernel k pid=5 dev=0 stream=0 10+0 flags=2\n"
      "kernel k pid=5 dev=0 stream=0 -2305843009213693952+4611686018427387904\n"
      "push a pid=5 tid=6 9..9\n"
      "note 1 ranges end before they begin: taken as empty\n" },
    { "warnings of the tool are passed on without paths",
      STRINGS
      "CREATE TABLE DIAGNOSTIC_EVENT(severity, text);"
      "INSERT INTO DIAGNOSTIC_EVENT VALUES (1, 'fine'), (2, 'Lost events, see /home/u/log');",
      "note 0 nsys says: Lost events, see\n" },
};

/* Reads the database that `sql` makes, only its first `keep` bytes unless that is 0. */
static int read_sql(const char *sql, off_t keep, struct lpo_trace *t, struct lpo_err *err)
{
    char path[UNIT_PATH], *why = NULL;
    sqlite3 *db = NULL;
    int rc;

    unit_file("", 0, path);
    assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL),
                     SQLITE_OK);
    if (sqlite3_exec(db, sql, NULL, NULL, &why) != SQLITE_OK)
        fail_msg("%s", why);
    sqlite3_close(db);
    if (keep)
        assert_int_equal(truncate(path, keep), 0);
    rc = lpo_nsys_reader.read(path, t, err);
    unlink(path);
    return rc;
}

static void check_sql(void **state)
{
    const struct sql_case *c = *state;
    LPO_AUTO(lpo_trace) t = lpo_trace_create();
    LPO_STR got = { 0 };
    struct lpo_err err = { 0 };

    if (read_sql(c->sql, 0, t, &err) < 0)
        fail_msg("%s", lpo_err_cause(&err));
    dump_trace(&got, t);
    assert_string_equal(lpo_str_text(&got), c->want);
}

static void other_sqlite_is_refused(void **state)
{
    LPO_AUTO(lpo_trace) t = lpo_trace_create();
    struct lpo_err err = { 0 };

    (void)state;
    assert_int_equal(read_sql("CREATE TABLE bookmarks(url);", 0, t, &err), LPO_E_FORMAT);
    assert_non_null(strstr(lpo_err_cause(&err), "nsys export"));
}

static void cut_file_gives_what_is_there(void **state)
{
    static const char many[] = STRINGS KERNELS
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 20000) "
        "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT i, i + 1, i, 5<<24, 1 FROM n;";
    LPO_AUTO(lpo_trace) t = lpo_trace_create();
    LPO_STR notes = { 0 };
    struct lpo_err err = { 0 };

    (void)state;
    assert_int_equal(read_sql(many, 200000, t, &err), 0);
    assert_true(t->gpu_ops.len > 1000 && t->gpu_ops.len < 20000);
    dump_trace(&notes, t);
    assert_non_null(strstr(lpo_str_text(&notes), "read in part"));
}

/* A row of synchronization names device 0 whatever the device: its stream says which one. A process
 * or a stream without GPU operations is no answer, and waits for events have no record. */
static void streams_that_the_host_waits_for(void **state)
{
    static const char sql[] = STRINGS
        "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start, end, deviceId, streamId, correlationId, "
        "globalPid, demangledName);"
        "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (10, 20, 1, 15, 1, 5<<24, 1), "
        "(30, 40, 0, 7, 2, 5<<24, 1), (50, 60, 1, 7, 3, 5<<24, 1);"
        "CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION(start, end, deviceId, streamId, "
        "correlationId, globalPid, syncType);"
        "INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES (12, 25, 0, 15, 9, 5<<24, 3), "
        "(32, 45, 0, 7, 9, 5<<24, 3), (33, 45, 0, 15, 9, 6<<24, 3), (34, 45, 0, 99, 9, 5<<24, 3), "
        "(35, 45, 0, 15, 9, 5<<24, 2), (36, 45, 0, NULL, 9, 5<<24, 3);";
    LPO_AUTO(lpo_trace) t = lpo_trace_create();
    struct lpo_err err = { 0 };

    (void)state;
    assert_int_equal(read_sql(sql, 0, t, &err), 0);
    assert_int_equal(t->processes.len, 1);
    assert_int_equal(t->waits.len, 1);
    assert_int_equal(t->waits.at[0].ns, 12);
    assert_int_equal(t->waits.at[0].stream, 15);
    assert_int_equal(t->devices.at[t->waits.at[0].device].id, 1);
    assert_int_equal(t->waits.at[0].kind, LPO_WAIT_HOST_FOR_STREAM);
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_ROWS(&u, sql_cases, check_sql);
    UNIT_TEST(&u, other_sqlite_is_refused);
    UNIT_TEST(&u, cut_file_gives_what_is_there);
    UNIT_TEST(&u, streams_that_the_host_waits_for);
    return unit_run(&u);
}
