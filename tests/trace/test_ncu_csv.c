/* SPDX-License-Identifier: Apache-2.0 */
#include "../unit.h"

#include "dump.h"
#include "trace/ncu/private.h"
#include "trace/reader.h"
#include "util/err.h"

/* --- units ---------------------------------------------------------------------------------- */

static const struct unit_case {
    const char *name, *base;
    double scale;
} unit_cases[] = {
    { "us", "ns", 1e3 },
    { "msecond", "ns", 1e6 },
    { "Kbyte", "byte", 1e3 },
    { "Tbyte/s", "byte/s", 1e12 },
    { "Gbyte/second", "byte/s", 1e9 },
    { "Kbyte/block", "byte/block", 1e3 },
    { "Ghz", "hz", 1e9 },
    { "cycle/nsecond", "hz", 1e9 },
    { "SM", "SM", 1 },
    { "%", "%", 1 },
    { "inst/cycle", "inst/cycle", 1 },
    { "Minst", "inst", 1e6 },
    { "", "", 1 },
};

static void check_unit(void **state)
{
    const struct unit_case *c = *state;
    char base[LPO_NCU_UNIT];
    double scale = lpo_ncu_unit_scale(c->name, strlen(c->name), base);

    assert_true(scale == c->scale);
    assert_string_equal(base, c->base);
}

/* --- the NVTX cells ------------------------------------------------------------------------- */

#define NONE ":none:none:none:none:none:none\""

static const struct cell_case {
    const char *name, *push_pop, *start_end, *want;
    unsigned threads;
} cell_cases[] = {
    { "nothing open", "", "", "", 0 },
    { "nested", "510  \"<default domain>:A" NONE "  \"<default domain>:A1" NONE " ", "", "A/A1",
      1 },
    { "start/end has an id", "776  ", " \"3:<default domain>:S" NONE " ", "~S#4", 1 },
    { "both kinds, push/pop first", "1  \"<default domain>:A" NONE " ",
      " \"0:<default domain>:S" NONE " ", "A/~S#1", 1 },
    { "domain", "1  \"LLM:decode" NONE " ", "", "LLM@decode", 1 },
    { "colons in the name", "1  \"<default domain>:aten::mm: x" NONE " ", "", "aten::mm: x", 1 },
    { "quotes in the name",
      "1  \"<default domain>:say \"hi\" " NONE "  \"<default domain>:B" NONE " ", "",
      "say \"hi\" /B", 1 },
    { "a quote and spaces in the name", "1  \"<default domain>:a\"  \"b" NONE " ", "", "a\"  \"b",
      1 },
    { "slash in the name", "1  \"<default domain>:a/b" NONE " ", "", "a/b", 1 },
    { "several threads: the first",
      "1  \"<default domain>:A" NONE "  2  \"<default domain>:B" NONE " ", "", "A", 2 },
    { "payload and colour", "1  \"<default domain>:A:uint64:7:argb:4278190335:none:none\" ", "",
      "A", 1 },
    { "the name is in the message", "1  \"D::none:none:none:none:registered:layer\" ", "",
      "D@layer", 1 },
    { "garbage", "x \"\" \"a\" 1", "\"0:", "", 1 },
};

static void check_cell(void **state)
{
    const struct cell_case *c = *state;
    LPO_AUTO(lpo_trace) t = lpo_trace_create();
    LPO_STR got = { 0 };
    unsigned threads = 99;
    uint32_t stack = lpo_ncu_cells_stack(t, c->push_pop, strlen(c->push_pop), c->start_end,
                                         strlen(c->start_end), &threads);

    dump_stack(&got, t, stack);
    assert_string_equal(lpo_str_text(&got), c->want);
    assert_int_equal(threads, c->threads);
}

/* --- pages ---------------------------------------------------------------------------------- */

#define HEAD "\"ID\",\"Process ID\",\"Process Name\",\"Host Name\","
#define KERNEL                                                                                     \
    "\"Kernel Name\",\"Context\",\"Stream\",\"Block Size\",\"Grid Size\",\"Device\",\"CC\","
#define NVTX_COLUMNS                                                                               \
    "\"thread Domain:Push/Pop_Range:PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg\","               \
    "\"Id:Domain:Start/Stop_Range:PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg\","
#define ROW(id, kernel)                                                                            \
    "\"" id "\",\"5\",\"prog\",\"secret-host\",\"" kernel                                          \
    "\",\"1\",\"7\",\"(32, 2, 1)\",\"(4, 1, 1)\",\"1\",\"9.0\","
#define DETAILS "\"Section Name\",\"Metric Name\",\"Metric Unit\",\"Metric Value\",\"Rule Name\"\n"

static const struct page_case {
    const char *name, *text, *want;
} page_cases[] = {
    { "raw, scaled units, separators",
      HEAD KERNEL "\"dram__bytes.sum\",\"gpu__time_duration.sum\"\n"
                  "\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"Mbyte\",\"us\"\n" ROW(
                      "0", "k(int, int)") "\"1,234.5\",\"6.75\"\n",
      "kernel k(int, int) pid=5 dev=1 stream=7 0+6750 4x1x1,32x2x1 flags=1 "
      "dram__bytes.sum=1.2345e+09byte gpu__time_duration.sum=6750ns\n" },
    { "raw, n/a and empty are unknown, no duration",
      HEAD KERNEL "\"a__b.sum\",\"c__d.avg\",\"e__f.max\"\n" ROW("0", "k") "\"n/a\",\"\",\"3\"\n",
      "kernel k pid=5 dev=1 stream=7 0+0 4x1x1,32x2x1 flags=3 e__f.max=3\n" },
    { "columns in another order, without quotes",
      "gpu__time_duration.sum,Kernel Name,ID,Grid Size,Block Size\n"
      "ns,,,,\n"
      "100,k,0,\"(1, 2, 3)\",\"(4, 5, 6)\"\n",
      "kernel k pid=-1 dev=0 stream=0 0+100 1x2x3,4x5x6 flags=1 gpu__time_duration.sum=100ns\n" },
    { "lines of ncu and of the program in between",
      "hello \"world\n==PROF== Connected to process 5 (/x/y)\n" HEAD KERNEL "\"a__b.sum\"\n"
      "==PROF== Profiling \"k\" - 0: 0%....50%....100% - 1 pass\n" ROW(
          "0", "k") "\"1\"\n"
                    "==WARNING== No more, \"really\"\nsum = 3, ok\n" ROW("1", "k2") "\"2\"\n",
      "kernel k pid=5 dev=1 stream=7 0+0 4x1x1,32x2x1 flags=3 a__b.sum=1\n"
      "kernel k2 pid=5 dev=1 stream=7 0+0 4x1x1,32x2x1 flags=3 a__b.sum=2\n" },
    { "ranges",
      HEAD NVTX_COLUMNS KERNEL "\"a__b.sum\"\n"
                               "\"0\",\"5\",\"prog\",\"h\",\"5  \"\"<default "
                               "domain>:A:none:none:none:none:none:none\"\" \",\"\",\"k\",\"1\","
                               "\"7\",\"(1, 1, 1)\",\"(1, 1, 1)\",\"0\",\"9.0\",\"1\"\n"
                               "\"1\",\"5\",\"prog\",\"h\",\"\",\"\",\"k\",\"1\",\"7\",\"(1, 1, "
                               "1)\",\"(1, 1, 1)\",\"0\",\"9.0\",\"1\"\n",
      "kernel k pid=5 dev=0 stream=7 0+0 1x1x1,1x1x1 in=A flags=3 a__b.sum=1\n"
      "kernel k pid=5 dev=0 stream=7 0+0 1x1x1,1x1x1 in= flags=3 a__b.sum=1\n" },
    { "facts of the launch and the device",
      HEAD KERNEL "\"launch__registers_per_thread\",\"device__attribute_multiprocessor_count\","
                  "\"device__attribute_display_name\",\"launch__func_cache_config\"\n" ROW(
                      "0", "k") "\"32\",\"132\",\"NVIDIA H200\",\"CachePreferNone\"\n",
      "kernel k pid=5 dev=1 stream=7 0+0 4x1x1,32x2x1 flags=3 launch__registers_per_thread=32\n" },
    { "details: labels become metrics, units are scaled back, rules are no metrics",
      HEAD KERNEL DETAILS ROW(
          "0",
          "k") "\"GPU Speed Of Light Throughput\",\"Duration\",\"us\","
               "\"6.75\",\n" ROW(
                   "0",
                   "k") "\"GPU Speed Of Light "
                        "Throughput\",\"Memory Throughput\",\"%\",\"19.66\",\n" ROW(
                            "0",
                            "k") "\"SpeedOfLight\",\"\",\"\",\"\","
                                 "\"SOLBottleneck\"\n" ROW(
                                     "0",
                                     "k") "\"Memory Workload "
                                          "Analysis\",\"Memory "
                                          "Throughput\",\"Gbyte/"
                                          "s\",\"345.14\",\n" ROW(
                                              "1",
                                              "k") "\"Command line "
                                                   "profiler "
                                                   "metrics\","
                                                   "\"flop_count_"
                                                   "hp.sum\",\"\","
                                                   "\"n/a\",\n" ROW(
                                                       "1",
                                                       "k") "\"Comm"
                                                            "and "
                                                            "line "
                                                            "profil"
                                                            "er "
                                                            "metric"
                                                            "s\","
                                                            "\"dram"
                                                            "__"
                                                            "bytes_"
                                                            "read."
                                                            "sum\","
                                                            "\"Kbyt"
                                                            "e\","
                                                            "\"2."
                                                            "5\","
                                                            "\n" ROW(
                                                                "1",
                                                                "k") "\"New Section\",\"Some "
                                                                     "Label\",\"warp\",\"1.5\",\n",
      "kernel k pid=5 dev=1 stream=7 0+6750 4x1x1,32x2x1 flags=1 gpu__time_duration.sum=6750ns "
      "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed=19.66% "
      "dram__bytes.sum.per_second=3.4514e+11byte/s\n"
      "kernel k pid=5 dev=1 stream=7 0+0 4x1x1,32x2x1 flags=3 dram__bytes_read.sum=2500byte "
      "New Section: Some Label=1.5warp\n" },
    { "a replayed range is no kernel",
      HEAD KERNEL "\"gpu__time_duration.sum\"\n"
                  "\"0\",\"5\",\"prog\",\"h\",\"\",\"1\",\"7\",\"\",\"\",\"0\",\"9.0\",\"250\"\n",
      "kernel (range) pid=5 dev=0 stream=7 0+250 flags=9 gpu__time_duration.sum=250\n" },
    { "a row cut short keeps its start, a stub is left out",
      HEAD KERNEL "\"a__b.sum\",\"c__d.sum\"\n" ROW("0", "k") "\"1\"\n\"1\",\"5\"\n",
      "kernel k pid=5 dev=1 stream=7 0+0 4x1x1,32x2x1 flags=3 a__b.sum=1\n"
      "note 1 lines of the CSV are not rows of ncu: left out\n" },
    { "two outputs in one file",
      HEAD KERNEL
      "\"a__b.sum\"\n" ROW("0", "k") "\"1\"\n" HEAD KERNEL
                                     "\"x__y.sum\",\"a__b.sum\"\n" ROW("0", "k") "\"2\",\"3\"\n",
      "kernel k pid=5 dev=1 stream=7 0+0 4x1x1,32x2x1 flags=3 a__b.sum=1\n"
      "kernel k pid=5 dev=1 stream=7 0+0 4x1x1,32x2x1 flags=3 a__b.sum=3 x__y.sum=2\n" },
    { "no kernels at all", HEAD KERNEL "\"a__b.sum\"\n", "" },
};

static int read_text(const char *text, struct lpo_trace *t, struct lpo_err *err)
{
    char path[UNIT_PATH];
    int rc;

    unit_file(text, strlen(text), path);
    rc = lpo_ncu_csv_reader.read(path, t, err);
    unlink(path);
    return rc;
}

static void check_page(void **state)
{
    const struct page_case *c = *state;
    LPO_AUTO(lpo_trace) t = lpo_trace_create();
    LPO_STR got = { 0 };
    struct lpo_err err = { 0 };

    assert_true(lpo_ncu_csv_reader.sniff("x.csv", (const unsigned char *)c->text, strlen(c->text)));
    if (read_text(c->text, t, &err) < 0)
        fail_msg("%s", lpo_err_cause(&err));
    dump_trace(&got, t);
    assert_string_equal(lpo_str_text(&got), c->want);
    for (uint32_t i = 0; i < lpo_trace_name_count(t); i++)
        assert_null(strstr(lpo_trace_text(t, i), "secret-host"));
}

static void device_is_known(void **state)
{
    LPO_AUTO(lpo_trace) t = lpo_trace_create();
    struct lpo_err err = { 0 };

    (void)state;
    assert_int_equal(read_text(HEAD KERNEL "\"device__attribute_multiprocessor_count\","
                                           "\"device__attribute_display_name\"\n" ROW(
                                               "0", "k") "\"132\",\"NVIDIA H200\"\n",
                               t, &err),
                     0);
    assert_int_equal(t->devices.at[0].sms, 132);
    assert_int_equal(t->devices.at[0].cc_major, 9);
    assert_string_equal(lpo_trace_text(t, t->devices.at[0].name), "NVIDIA H200");
    assert_int_equal(t->metrics.len, 0);
}

static void a_summary_is_refused(void **state)
{
    LPO_AUTO(lpo_trace) t = lpo_trace_create();
    struct lpo_err err = { 0 };

    (void)state;
    assert_int_equal(
        read_text("\"Process ID\",\"Kernel Name\",\"Invocations\",\"Metric Name\"\n", t, &err),
        LPO_E_FORMAT);
    assert_non_null(strstr(lpo_err_cause(&err), "--page raw"));
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_ROWS(&u, unit_cases, check_unit);
    UNIT_ROWS(&u, cell_cases, check_cell);
    UNIT_ROWS(&u, page_cases, check_page);
    UNIT_TEST(&u, device_is_known);
    UNIT_TEST(&u, a_summary_is_refused);
    return unit_run(&u);
}
