#include "../unit.h"

#include <sqlite3.h>

#include "dump.h"
#include "trace/readers.h"
#include "util/err.h"

/* --- Real exports ------------------------------------------------------------------------- */

/* Counted with SQL of our own, never with nsys. */
static const struct file_case {
    const char *name, *file;
    size_t works[3];
    int64_t ns[3];
    uint64_t bytes;
    size_t launches, matched_kernels, ranges, processes, devices;
} file_cases[] = {
    { "nsys 2025.3, one process",
      "h200_ranges.sqlite.gz",
      { 13, 0, 2 },
      { 1034302, 0, 32416 },
      134217728,
      15,
      13,
      8,
      1,
      1 },
    { "nsys 2022.2, two rows per call",
      "a100_old.sqlite.gz",
      { 5, 15, 0 },
      { 88573480, 284699600, 0 },
      3932160000,
      20,
      5,
      22,
      1,
      1 },
    { "nsys 2026.2, colliding ids of two processes",
      "h100_2gpu_cut.sqlite.gz",
      { 252, 62, 16 },
      { 49132248, 466014, 12320 },
      664994832 + 64,
      299,
      228,
      1143,
      2,
      2 },
};

static struct lpo_trace *read_file(const char *file)
{
    LPO_STR path = { 0 };
    struct lpo_trace *t = lpo_trace_create();
    struct lpo_err err = { 0 };

    lpo_str_addf(&path, "%s/tests/data/nsys/%s", unit_env("LPO_SOURCE_ROOT", "."), file);
    if (lpo_reader_nsys.read(lpo_str_text(&path), t, &err) < 0)
        fail_msg("%s: %s", file, lpo_err_cause(&err));
    return t;
}

static void check_file(void **state)
{
    const struct file_case *c = *state;
    LPO_AUTO(lpo_trace) t = read_file(c->file);
    size_t works[3] = { 0 }, matched = 0;
    int64_t ns[3] = { 0 };
    uint64_t bytes = 0;

    for (size_t i = 0; i < t->works.len; i++) {
        const struct lpo_work *w = &t->works.at[i];

        works[w->kind]++;
        ns[w->kind] += lpo_work_ns(w);
        bytes += w->bytes;
        matched += w->kind == LPO_KERNEL && w->launch != LPO_NONE;
    }
    for (int k = 0; k < 3; k++) {
        assert_int_equal(works[k], c->works[k]);
        assert_int_equal(ns[k], c->ns[k]);
    }
    assert_int_equal(bytes, c->bytes);
    assert_int_equal(t->launches.len, c->launches);
    assert_int_equal(matched, c->matched_kernels);
    assert_int_equal(t->ranges.len, c->ranges);
    assert_int_equal(t->processes.len, c->processes);
    assert_int_equal(t->devices.len, c->devices);
    assert_int_equal(t->notes.len, 0);
}

/* Attribution by pairs, slow and plain: what src/region must agree with. */
static const struct member_case {
    const char *name, *file, *range;
    size_t kernels;
    int64_t ns;
} member_cases[] = {
    { "A", "h200_ranges.sqlite.gz", "A", 8, 739455 },
    { "A1 inside A", "h200_ranges.sqlite.gz", "A1", 4, 476703 },
    { "B", "h200_ranges.sqlite.gz", "B", 2, 110143 },
    { "S, a start/end range", "h200_ranges.sqlite.gz", "S", 2, 131840 },
    { "the outer call lies in the range", "a100_old.sqlite.gz", "saxpy", 5, 88573480 },
    { "one of two processes", "h100_2gpu_cut.sqlite.gz",
      "FlashAttnFunc, seq = 45460, op_id = 991219", 1, 7867198 },
};

static bool inside(const struct lpo_trace *t, const struct lpo_work *w, const char *name)
{
    const struct lpo_launch *l;

    if (w->launch == LPO_NONE)
        return false;
    l = &t->launches.at[w->launch];
    for (size_t i = 0; i < t->ranges.len; i++) {
        const struct lpo_range *r = &t->ranges.at[i];

        if (r->thread == l->thread && r->start_ns <= l->start_ns && l->end_ns <= r->end_ns &&
            strcmp(lpo_trace_text(t, r->name), name) == 0)
            return true;
    }
    return false;
}

static void check_member(void **state)
{
    const struct member_case *c = *state;
    LPO_AUTO(lpo_trace) t = read_file(c->file);
    size_t kernels = 0;
    int64_t ns = 0;

    for (size_t i = 0; i < t->works.len; i++) {
        const struct lpo_work *w = &t->works.at[i];

        if (w->kind != LPO_KERNEL || !inside(t, w, c->range))
            continue;
        kernels++;
        ns += lpo_work_ns(w);
    }
    assert_int_equal(kernels, c->kernels);
    assert_int_equal(ns, c->ns);
}

/* The linker's name is the same in every source: what lays ncu's counters over this trace. */
static void kernels_have_their_linker_names(void **state)
{
    LPO_AUTO(lpo_trace) t = read_file("h200_ranges.sqlite.gz");

    (void)state;
    for (size_t i = 0; i < t->works.len; i++) {
        const struct lpo_work *w = &t->works.at[i];

        if (w->kind == LPO_KERNEL)
            assert_true(strncmp(lpo_trace_text(t, w->linker), "_Z", 2) == 0);
        else
            assert_int_equal(w->linker, 0);
    }
}

static void device_facts_are_told(void **state)
{
    LPO_AUTO(lpo_trace) t = read_file("h200_ranges.sqlite.gz");
    const struct lpo_device *d = &t->devices.at[0];

    (void)state;
    assert_string_equal(lpo_trace_text(t, d->name), "NVIDIA H200");
    assert_int_equal(d->sms, 132);
    assert_int_equal(d->cc_major, 9);
    assert_int_equal(d->l2_bytes, 62914560);
    assert_int_equal(d->sm_clock_khz, 1980000);
    assert_true(t->epoch_ns == 1794709464296477607);
}

/* Two files of one job on one clock: the second is shifted by the difference of their epochs. */
static void two_files_share_a_clock(void **state)
{
    LPO_AUTO(lpo_trace) t = read_file("a100_old.sqlite.gz");
    LPO_AUTO(lpo_trace) alone = read_file("h200_ranges.sqlite.gz");
    struct lpo_err err = { 0 };
    LPO_STR path = { 0 };
    int64_t shift = 1794709464296477607 - 1687813257637297504;

    (void)state;
    lpo_str_addf(&path, "%s/tests/data/nsys/h200_ranges.sqlite.gz",
                 unit_env("LPO_SOURCE_ROOT", "."));
    assert_int_equal(lpo_reader_nsys.read(lpo_str_text(&path), t, &err), 0);
    assert_int_equal(t->works.len, 20 + 15);
    assert_true(t->works.at[20].start_ns == alone->works.at[0].start_ns + shift);
    assert_true(t->works.at[20].launch != LPO_NONE);
    assert_int_equal(t->processes.len, 2);
}

/* lpo top needs neither ranges nor launches; what is left must not change. */
static void what_is_not_wanted_is_not_read(void **state)
{
    LPO_AUTO(lpo_trace) t = lpo_trace_create();
    LPO_STR path = { 0 };
    struct lpo_err err = { 0 };

    (void)state;
    t->skip = LPO_SKIP_LAUNCHES | LPO_SKIP_RANGES;
    lpo_str_addf(&path, "%s/tests/data/nsys/h200_ranges.sqlite.gz",
                 unit_env("LPO_SOURCE_ROOT", "."));
    assert_int_equal(lpo_reader_nsys.read(lpo_str_text(&path), t, &err), 0);
    assert_int_equal(t->works.len, 15);
    assert_int_equal(t->launches.len, 0);
    assert_int_equal(t->ranges.len, 0);
    for (size_t i = 0; i < t->works.len; i++)
        assert_int_equal(t->works.at[i].launch, LPO_NONE);
}

/* --- Schemas that were made up to be awkward ----------------------------------------------- */

#define TID(pid, tid) "(" #pid " * 16777216 + " #tid ")"
#define STRINGS                                                                                    \
    "CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT);"                                  \
    "INSERT INTO StringIds VALUES (1, 'k1(int)'), (2, 'k1'), (3, 'reg'), (4, 'dom');"
#define KERNELS(columns) "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(" columns ");"
#define CALLS                                                                                      \
    "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start, end, eventClass, globalTid, correlationId, "  \
    "nameId);"
#define NVTX                                                                                       \
    "CREATE TABLE NVTX_EVENTS(start, end, eventType, rangeId, text, globalTid, textId, domainId);"

static const struct sql_case {
    const char *name, *sql, *want;
} sql_cases[] = {
    { "newer tables have a suffix, the newest filled one counts",
      STRINGS "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL_V2(start, end, deviceId, streamId, "
              "correlationId, globalPid, demangledName);"
              "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL_V3(start, end, deviceId, streamId, "
              "correlationId, globalPid, demangledName, gridX, gridY, gridZ, blockX, blockY, "
              "blockZ);"
              "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL_V4(start);"
              "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL_VX(start);"
              "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL_V2 VALUES (1, 2, 0, 7, 9, " TID(
                  5, 0) ", 1);"
                        "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL_V3 VALUES (10, 30, 1, 7, 9, " TID(
                            5, 0) ", 1, 2, 3, 4, 32, 1, 1);",
      "kernel k1(int) pid=5 dev=1 stream=7 10+20 2x3x4,32x1x1\n" },
    { "columns that are missing are unknown",
      STRINGS KERNELS("start, end, correlationId, globalPid, shortName") CALLS
      "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (10, 30, 9, " TID(
          5, 0) ", 2);"
                "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (4, 6, 0, " TID(5, 6) ", 9, 0);",
      "kernel k1 pid=5 dev=0 stream=0 10+20 launch=4..6@6\n" },
    { "a launch is the outer of two calls, whatever their order",
      STRINGS KERNELS("start, end, correlationId, globalPid, demangledName") CALLS
      "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (10, 30, 9, " TID(
          5, 0) ", 1);"
                "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (4, 6, 1, " TID(
                    5, 6) ", 9, 0),"
                          "(3, 8, 0, " TID(5, 6) ", 9, 0), (3, 7, 1, " TID(5, 6) ", 9, 0);",
      "kernel k1(int) pid=5 dev=0 stream=0 10+20 launch=3..8@6\n" },
    { "correlation ids belong to a process",
      STRINGS KERNELS("start, end, correlationId, globalPid, demangledName") CALLS
      "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (10, 30, 9, " TID(
          5, 0) ", 1),"
                "(11, 31, 9, " TID(6, 0) ", 1), (12, 32, 9, " TID(
                    7, 0) ", 1);"
                          "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (4, 6, 0, " TID(
                              6, 1) ", 9, 0),"
                                    "(1, 2, 0, " TID(5, 2) ", 9, 0);",
      "kernel k1(int) pid=5 dev=0 stream=0 10+20 launch=1..2@2\n"
      "kernel k1(int) pid=6 dev=0 stream=0 11+20 launch=4..6@1\n"
      "kernel k1(int) pid=7 dev=0 stream=0 12+20\n" },
    { "copies and sets",
      STRINGS
      "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY(start, end, deviceId, correlationId, "
      "globalPid, bytes, copyKind);"
      "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET(start, end, deviceId, correlationId, "
      "globalPid, bytes);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (1, 3, 0, 1, " TID(
          5, 0) ", 100, 1), (4, 5, 0, 2, " TID(5, 0) ", 7, 99);"
                                                     "INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET "
                                                     "VALUES (6, 9, 0, 3, " TID(5, 0) ", 8);",
      "copy Memcpy HtoD pid=5 dev=0 stream=0 1+2 bytes=100\n"
      "copy Memcpy pid=5 dev=0 stream=0 4+1 bytes=7\n"
      "set Memset pid=5 dev=0 stream=0 6+3 bytes=8\n" },
    { "ranges: registered names, domains named late, two kinds, marks are none",
      STRINGS NVTX "INSERT INTO NVTX_EVENTS VALUES (1, 9, 59, NULL, 'plain', " TID(
          5, 6) ", NULL, 0), (2, 8, 59, NULL, NULL, " TID(5,
                                                          6) ", 3, 2), (3, 7, 60, 1, "
                                                             "'S', " TID(
                                                                 5,
                                                                 7) ", NULL, "
                                                                    "NULL), (4, "
                                                                    "NULL, 34, "
                                                                    "NULL, "
                                                                    "'mark',"
                                                                    " " TID(5,
                                                                            6) ","
                                                                               " "
                                                                               "N"
                                                                               "U"
                                                                               "L"
                                                                               "L"
                                                                               ","
                                                                               " "
                                                                               "0"
                                                                               ")"
                                                                               ","
                                                                               " "
                                                                               "("
                                                                               "5"
                                                                               ","
                                                                               " "
                                                                               "N"
                                                                               "U"
                                                                               "L"
                                                                               "L"
                                                                               ","
                                                                               " "
                                                                               "7"
                                                                               "5"
                                                                               ","
                                                                               " "
                                                                               "N"
                                                                               "U"
                                                                               "L"
                                                                               "L"
                                                                               ","
                                                                               " "
                                                                               "N"
                                                                               "U"
                                                                               "L"
                                                                               "L"
                                                                               ","
                                                                               " " TID(
                                                                                   5,
                                                                                   6) ", 4, 2), "
                                                                                      "(6, 7, 59, "
                                                                                      "NULL, "
                                                                                      "'x', " TID(
                                                                                          6,
                                                                                          6) ", "
                                                                                             "NULL,"
                                                                                             " 3);",
      "push plain pid=5 tid=6 1..9\n"
      "push dom@reg pid=5 tid=6 2..8\n"
      "start S pid=5 tid=7 3..7\n"
      "push x pid=6 tid=6 6..7\n" },
    { "a range never closed ends with its process",
      STRINGS KERNELS("start, end, correlationId, globalPid, demangledName") NVTX
      "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (10, 300, 9, " TID(
          5, 0) ", 1);"
                "INSERT INTO NVTX_EVENTS VALUES (1, NULL, 59, NULL, 'a', " TID(
                    5, 6) ", NULL, 0),"
                          "(2, 3, 59, NULL, NULL, " TID(6, 6) ", NULL, 0);",
      "kernel k1(int) pid=5 dev=0 stream=0 10+290\n"
      "push a pid=5 tid=6 1..300 open\n"
      "push (unnamed) pid=6 tid=6 2..3\n"
      "note 1 ranges were never closed: they end with their process\n"
      "note 1 ranges have no name\n" },
    { "a whole graph counts only where its nodes are not known",
      STRINGS KERNELS("start, end, correlationId, globalPid, demangledName, graphNodeId") CALLS
      "CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE(start, end, deviceId, streamId, "
      "correlationId, globalPid, graphId);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (10, 30, 9, " TID(
          5, 0) ", 1, 77);"
                "INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (10, 30, 0, 7, "
                "9, " TID(5, 0) ", 1), (40, 90, 0, 7, 10, " TID(
                    5, 0) ", 1);"
                          "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1, 2, 0, " TID(
                              5, 6) ", 9, 0),"
                                    "(31, 32, 0, " TID(5, 6) ", 10, 0);",
      "kernel k1(int) pid=5 dev=0 stream=0 10+20 launch=1..2@6 flags=4\n"
      "kernel CUDA graph 1 (whole launch) pid=5 dev=0 stream=7 40+50 launch=31..32@6 flags=12\n"
      "note 1 CUDA graph launches were traced as a whole (--cuda-graph-trace=graph): their "
      "kernels are not known one by one\n" },
    { "graph nodes know the ranges of their capture, through copies",
      STRINGS KERNELS("start, end, correlationId, globalPid, demangledName, graphNodeId") NVTX
      "CREATE TABLE CUDA_GRAPH_NODE_EVENTS(start, end, nameId, globalTid, graphNodeId, "
      "originalGraphNodeId);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (100, 110, 9, " TID(
          5, 0) ", 1, 77),"
                "(110, 120, 9, " TID(5, 0) ", 1, 78), (120, 121, 9, " TID(
                    5, 0) ", 1, 79);"
                          "INSERT INTO CUDA_GRAPH_NODE_EVENTS VALUES (5, 6, 0, " TID(
                              5, 6) ", 7, NULL),"
                                    "(15, 16, 0, " TID(5, 6) ", 8, 0), (50, 51, 0, " TID(
                                        5, 6) ", 77, 7),"
                                              "(52, 53, 0, " TID(
                                                  5,
                                                  6) ", 78, 8);"
                                                     "INSERT INTO NVTX_EVENTS VALUES (4, 8, 59, "
                                                     "NULL, 'in', " TID(
                                                         5,
                                                         6) ", NULL, 0),"
                                                            "(1, 20, 59, NULL, 'out', " TID(
                                                                5,
                                                                6) ", NULL, 0), (1, 90, 59, NULL, "
                                                                   "'other', " TID(5,
                                                                                   7) ", NULL, 0);",
      "kernel k1(int) pid=5 dev=0 stream=0 100+10 captured=out/in flags=4\n"
      "kernel k1(int) pid=5 dev=0 stream=0 110+10 captured=out flags=4\n"
      "kernel k1(int) pid=5 dev=0 stream=0 120+1 flags=4\n"
      "push in pid=5 tid=6 4..8\n"
      "push out pid=5 tid=6 1..20\n"
      "push other pid=5 tid=7 1..90\n" },
    { "one CUDA ordinal, two GPUs",
      STRINGS KERNELS(
          "start, end, deviceId, correlationId, globalPid, demangledName") "CREATE TABLE "
                                                                           "TARGET_INFO_CUDA_"
                                                                           "DEVICE(gpuId, cudaId, "
                                                                           "pid);"
                                                                           "INSERT INTO "
                                                                           "TARGET_INFO_CUDA_"
                                                                           "DEVICE VALUES (0, 0, "
                                                                           "5), (3, 0, 6);"
                                                                           "INSERT INTO "
                                                                           "CUPTI_ACTIVITY_KIND_"
                                                                           "KERNEL VALUES (1, 2, "
                                                                           "0, 1, " TID(
                                                                               5, 0) ", 1),"
                                                                                     "(1, 2, 0, "
                                                                                     "1, " TID(
                                                                                         6,
                                                                                         0) ", 1);",
      "kernel k1(int) pid=5 dev=0 stream=0 1+1\n"
      "kernel k1(int) pid=6 dev=3 stream=0 1+1\n"
      "note 0 processes number the GPUs differently: devices go by the ids of the machine, not by "
      "CUDA's\n" },
    { "strings without a key, damaged times",
      "CREATE TABLE StringIds(id INTEGER, value TEXT); INSERT INTO StringIds VALUES (1, "
      "'k');" KERNELS("start, end, correlationId, globalPid, demangledName") NVTX
      "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (10, 5, 9, " TID(
          5, 0) ", 1),"
                "(-9223372036854775808, 9223372036854775807, 9, " TID(
                    5, 0) ", 1);"
                          "INSERT INTO NVTX_EVENTS VALUES (9, 3, 59, NULL, 'a', " TID(
                              5, 6) ", NULL, 0);",
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

static void make_db(const char *path, const char *sql)
{
    sqlite3 *db = NULL;
    char *why = NULL;

    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    if (sqlite3_exec(db, sql, NULL, NULL, &why) != SQLITE_OK)
        fail_msg("%s", why);
    sqlite3_close(db);
}

static void check_sql(void **state)
{
    const struct sql_case *c = *state;
    LPO_AUTO(lpo_trace) t = lpo_trace_create();
    LPO_STR got = { 0 };
    struct lpo_err err = { 0 };
    char path[UNIT_PATH];

    unit_file("", 0, path);
    make_db(path, c->sql);
    if (lpo_reader_nsys.read(path, t, &err) < 0)
        fail_msg("%s", lpo_err_cause(&err));
    unlink(path);
    dump_trace(&got, t);
    assert_string_equal(lpo_str_text(&got), c->want);
}

/* --- Files that are not what they should be ------------------------------------------------ */

static void other_sqlite_is_refused(void **state)
{
    LPO_AUTO(lpo_trace) t = lpo_trace_create();
    struct lpo_err err = { 0 };
    char path[UNIT_PATH];

    (void)state;
    unit_file("", 0, path);
    make_db(path, "CREATE TABLE bookmarks(url);");
    assert_int_equal(lpo_reader_nsys.read(path, t, &err), LPO_E_FORMAT);
    assert_non_null(strstr(lpo_err_cause(&err), "nsys export"));
    unlink(path);
}

static void cut_file_gives_what_is_there(void **state)
{
    LPO_AUTO(lpo_trace) t = lpo_trace_create();
    LPO_STR sql = { 0 }, notes = { 0 };
    struct lpo_err err = { 0 };
    char path[UNIT_PATH];

    (void)state;
    lpo_str_add(&sql, STRINGS KERNELS("start, end, correlationId, globalPid, demangledName"));
    lpo_str_add(&sql, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 20000) "
                      "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT i, i + 1, i, 83886080, 1 "
                      "FROM n;");
    unit_file("", 0, path);
    make_db(path, lpo_str_text(&sql));
    assert_int_equal(truncate(path, 200000), 0);
    assert_int_equal(lpo_reader_nsys.read(path, t, &err), 0);
    unlink(path);
    assert_true(t->works.len > 1000 && t->works.len < 20000);
    dump_trace(&notes, t);
    assert_non_null(strstr(lpo_str_text(&notes), "read in part"));
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_ROWS(&u, file_cases, check_file);
    UNIT_ROWS(&u, member_cases, check_member);
    UNIT_TEST(&u, kernels_have_their_linker_names);
    UNIT_TEST(&u, device_facts_are_told);
    UNIT_TEST(&u, two_files_share_a_clock);
    UNIT_TEST(&u, what_is_not_wanted_is_not_read);
    UNIT_ROWS(&u, sql_cases, check_sql);
    UNIT_TEST(&u, other_sqlite_is_refused);
    UNIT_TEST(&u, cut_file_gives_what_is_there);
    return unit_run(&u);
}
