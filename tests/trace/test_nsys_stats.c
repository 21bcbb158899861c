/* SPDX-License-Identifier: Apache-2.0 */
#include "../unit.h"

#include "dump.h"
#include "trace/reader.h"
#include "util/err.h"
#include "util/path.h"

static const struct csv_case {
    const char *name, *text, *want;
} csv_cases[] = {
    { "kernel sums",
      "Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name\n"
      "24.9,1231822285,329035,3743.7,3712.0,2079,5856,416.2,\"k<a, b>(T13)\"\n"
      "1.0,100,2,50.0,50.0,40,60,1.0,[CUDA memset]\n",
      "sum k<a, b>(T13) x329035 1231822285\n"
      "sum [CUDA memset] x2 100\n" },
    { "lines before the header, another unit, an older spelling",
      "Processing [x.sqlite] with [gpukernsum.py]...\n\n"
      "\"Time(%)\",\"Total Time (us)\",\"Instances\",\"Average\",\"Minimum\",\"Maximum\",\"Name\"\n"
      "100.0,12.345,3,4.115,4,5,k\n",
      "sum k x3 12345\n" },
    { "works",
      "Start (ns),Duration (ns),CorrId,GrdX,GrdY,GrdZ,BlkX,BlkY,BlkZ,Reg/Trd,StcSMem (MB),DymSMem "
      "(MB),Bytes (MB),Throughput (MB/s),SrcMemKd,DstMemKd,Device,Ctx,GreenCtx,Strm,Name\n"
      "1000,50,9,4,1,1,128,1,1,32,0.000,0.000,,,,,NVIDIA H200 (1),1,,7,\"k(int, int)\"\n"
      "2000,10,10,,,,,,,,,,134.218,4.1,Pageable,Device,NVIDIA H200 (1),1,,7,[CUDA memcpy "
      "Host-to-Device]\n",
      "kernel k(int, int) pid=-1 dev=1 stream=7 1000+50 4x1x1,128x1x1\n"
      "copy [CUDA memcpy Host-to-Device] pid=-1 dev=1 stream=7 2000+10 bytes=134218000\n" },
    { "works with their launch",
      "API Start (us),API Dur (us),Queue Start (us),Queue Dur (us),Kernel Start (us),Kernel Dur "
      "(us),Total Dur (us),PID,TID,DevId,API Function,GridXYZ,BlockXYZ,Kernel Name\n"
      "1.5,2.25,3,1,5.001,0.999,6,11,12,0,cudaLaunchKernel,   4    1    1, 128    1    1,k\n",
      "kernel k pid=11 dev=0 stream=0 5001+999 launch=1500..3750@12 4x1x1,128x1x1\n" },
    { "ranges, plain names",
      "Start (ns),End (ns),Duration (ns),DurChild (ns),DurNonChild "
      "(ns),Name,PID,TID,Lvl,NumChild,RangeId,ParentId,RangeStack,NameTree\n"
      "10,90,80,0,80,main,5,6,0,1,1,,:1,main\n"
      "20,30,10,0,10,aten::mm,5,6,1,0,2,1,:1:2,--aten::mm\n",
      "push main pid=5 tid=6 10..90\n"
      "push aten::mm pid=5 tid=6 20..30\n" },
    { "ranges, names with domains",
      "Start (ns),End (ns),Name,PID,TID\n"
      "10,90,:main,5,6\n"
      "20,30,\"TSL:Xla:#a=1,b=2#\",5,6\n",
      "push main pid=5 tid=6 10..90\n"
      "push TSL@Xla:#a=1,b=2# pid=5 tid=6 20..30\n" },
    { "projected ranges keep their own times",
      "Name,Projected Start (ns),Projected Duration (ns),Orig Start (ns),Orig Duration "
      "(ns),Style,PID,TID,NumGPUOps\n"
      ":A,100,50,10,5,PushPop,5,6,2\n"
      ":S,100,50,12,5,StartEnd,5,6,2\n",
      "push A pid=5 tid=6 10..15\n"
      "start S pid=5 tid=6 12..17\n" },
    { "rows that are damaged are counted",
      "Time (%),Total Time (ns),Instances,Name\n"
      "1,x,3,k\n"
      "1,5,1,k\n",
      "sum k x1 5\n"
      "note 1 rows of the CSV could not be understood: left out\n" },
};

static int read_text(const char *text, struct lpo_trace *t, struct lpo_err *err)
{
    char path[UNIT_PATH];
    const struct lpo_reader *reader = NULL;
    int rc;

    unit_file(text, strlen(text), path);
    rc = lpo_trace_reader_find(path, &reader, err);
    if (rc == 0) {
        assert_ptr_equal(reader, &lpo_nsys_stats_reader);
        rc = reader->read(path, t, err);
    }
    unlink(path);
    return rc;
}

static void check_csv(void **state)
{
    const struct csv_case *c = *state;
    LPO_AUTO(lpo_trace) t = lpo_trace_create();
    LPO_STR got = { 0 };
    struct lpo_err err = { 0 };

    if (read_text(c->text, t, &err) < 0)
        fail_msg("%s", lpo_err_cause(&err));
    dump_trace(&got, t);
    assert_string_equal(lpo_str_text(&got), c->want);
}

static const struct refuse_case {
    const char *name, *text, *says;
} refuse_cases[] = {
    { "host calls", "Time (%),Total Time (ns),Num Calls,Avg (ns),Name\n1,2,3,4,x\n", "host calls" },
    { "host time of ranges", "Time (%),Total Time (ns),Instances,Avg (ns),Style,Range\n",
      "ranges" },
};

static void check_refuse(void **state)
{
    const struct refuse_case *c = *state;
    LPO_AUTO(lpo_trace) t = lpo_trace_create();
    struct lpo_err err = { 0 };

    assert_int_equal(read_text(c->text, t, &err), LPO_E_FORMAT);
    assert_non_null(strstr(lpo_err_cause(&err), c->says));
    assert_non_null(strstr(lpo_err_cause(&err), "SQLite"));
}

static const struct real_case {
    const char *name, *file;
    size_t sums, ranges;
    uint64_t count;
    int64_t ns;
} real_cases[] = {
    { "DeepSeek-OCR, whole run", "dsocr_all_stage.cuda_gpu_kern_sum.csv", 113, 0, 1695983,
      4946064742 },
    { "nbody", "nbody.nvtx_pushpop_trace.csv", 0, 131, 0, 0 },
    /* 27,891 rows, and a range for each scope around the ops of XLA (trace/xla_names.h) */
    { "a JAX training run, deep names", "sm80_pax_gpt_fsdp4_proc0.nvtx_pushpop_trace.csv.gz", 0,
      49737, 0, 0 },
};

static void check_real(void **state)
{
    const struct real_case *c = *state;
    LPO_AUTO(lpo_trace) t = lpo_trace_create();
    LPO_STR path = { 0 };
    struct lpo_err err = { 0 };
    uint64_t count = 0;
    int64_t ns = 0;

    lpo_str_addf(&path, "%s/../shared/data/traces/nsys_stats/%s", unit_env("LPO_SOURCE_ROOT", "."),
                 c->file);
    if (!lpo_path_exists(lpo_str_text(&path)))
        return; /* the data folder is not part of the source */
    assert_int_equal(lpo_trace_read(lpo_str_text(&path), t, &err), 0);
    for (size_t i = 0; i < t->summaries.len; i++) {
        count += t->summaries.at[i].count;
        ns += t->summaries.at[i].total_ns;
    }
    assert_int_equal(t->summaries.len, c->sums);
    assert_int_equal(t->ranges.len, c->ranges);
    assert_int_equal(count, c->count);
    assert_int_equal(ns, c->ns);
    assert_int_equal(t->notes.len, 0);
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_ROWS(&u, csv_cases, check_csv);
    UNIT_ROWS(&u, refuse_cases, check_refuse);
    UNIT_ROWS(&u, real_cases, check_real);
    return unit_run(&u);
}
