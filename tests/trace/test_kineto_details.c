/* SPDX-License-Identifier: Apache-2.0 */
/* What a Kineto file says beside kernels, ranges and operators: memory, sizes of collectives,
 * waits, and arrows from forward to backward operators. */
#include "../unit.h"

#include "trace/trace.h"
#include "util/err.h"
#include "util/str.h"

#include "kineto_text.h"

/* The events as a file, behind other members of it. */
static struct lpo_trace *read_events(const char *head, const char *const *events, size_t count,
                                     uint32_t skip, struct lpo_err *err)
{
    LPO_STR text = { 0 };

    lpo_str_addf(&text, "{%s\"traceEvents\": [", head);
    for (size_t i = 0; i < count; i++)
        lpo_str_addf(&text, "%s%s", i ? "," : "", events[i]);
    lpo_str_add(&text, "]}");
    return kineto_read(lpo_str_text(&text), skip, err);
}

#define READ_EVENTS(head, events, skip, err)                                                       \
    read_events(head, events, sizeof events / sizeof *events, skip, err)

#define INSTANT(cat, name, ts, args)                                                               \
    "{\"ph\": \"i\", " cat "\"s\": \"t\", \"name\": \"" name                                       \
    "\", \"pid\": 3, \"tid\": 3, \"ts\": " ts ", \"args\": {" args "}}"
#define MEMORY(ts, type, id, allocated, reserved)                                                  \
    INSTANT("\"cat\": \"cpu_instant_event\", ", "[memory]", ts,                                    \
            "\"Bytes\": 8, \"Device Type\": " type ", \"Device Id\": " id                          \
            ", \"Total Allocated\": " allocated ", \"Total Reserved\": " reserved)

/* Memory of the GPUs that worked, on the clock of the trace; not of the host, not what is absurd.
 */
static void allocators_are_series(void **state)
{
    static const char base[] = "\"baseTimeNanoseconds\": 1000, ";
    static const char *const events[] = {
        X("kernel", "k", "0", "7", "2", "1", GPU),
        MEMORY("1", "1", "0", "100", "900"),
        MEMORY("2", "0", "-1", "7", "0"),
        MEMORY("3", "6", "0", "300", "900"),
        MEMORY("4", "1", "5", "1", "1"),
        MEMORY("5", "1", "0", "-4", "9999999999999999999999"),
        INSTANT("", "[memory]", "6",
                "\"Device Type\": 1, \"Device Id\": 0, \"Total Allocated\": 50"),
        INSTANT("", "other", "7", "\"Device Type\": 1, \"Device Id\": 0, \"Total Allocated\": 60"),
    };
    struct lpo_err err = { 0 };
    LPO_AUTO(lpo_trace) t = READ_EVENTS(base, events, 0, &err);
    LPO_AUTO(lpo_trace) without = READ_EVENTS(base, events, LPO_SKIP_CALLS, &err);
    const struct lpo_series *allocated;

    (void)state;
    assert_non_null(t);
    assert_int_equal(t->devices.len, 1);
    assert_int_equal(t->series.len, 2);
    allocated = &t->series.at[0];
    assert_string_equal(lpo_trace_text(t, allocated->name), "Allocated");
    assert_int_equal(allocated->points.len, 3);
    assert_int_equal(allocated->points.at[0].ns, 2000);
    assert_true(allocated->points.at[0].value == 100);
    assert_true(allocated->points.at[1].value == 300);
    assert_int_equal(allocated->points.at[2].ns, 7000);
    assert_true(allocated->points.at[2].value == 50);
    assert_string_equal(lpo_trace_text(t, t->series.at[1].name), "Reserved");
    assert_int_equal(t->series.at[1].points.len, 2);
    assert_int_equal(without->series.len, 0);
}

static void collectives_have_their_sizes(void **state)
{
    static const char *const events[] = {
        X("kernel", "gemm", "0", "7", "2", "1", GPU),
        X("kernel", "ncclDevKernel_AllReduce", "0", "7", "4", "1",
          GPU ", \"Collective name\": \"allreduce\", \"In msg nelems\": 64, "
              "\"Out msg nelems\": 32, \"Group size\": 8, \"dtype\": \"BFloat16\""),
        X("kernel", "ncclDevKernel_SendRecv", "0", "7", "6", "1", GPU),
    };
    struct lpo_err err = { 0 };
    LPO_AUTO(lpo_trace) t = READ_EVENTS("", events, 0, &err);

    (void)state;
    assert_non_null(t);
    assert_int_equal(t->collectives.len, 1);
    assert_int_equal(t->collectives.at[0].op, 1);
    assert_string_equal(lpo_trace_text(t, t->collectives.at[0].kind), "allreduce");
    assert_string_equal(lpo_trace_text(t, t->collectives.at[0].dtype), "BFloat16");
    assert_int_equal(t->collectives.at[0].in_count, 64);
    assert_int_equal(t->collectives.at[0].out_count, 32);
    assert_int_equal(t->collectives.at[0].ranks, 8);
}

/* A stream that waits for an event, a host that waits for a stream; one of a GPU that did nothing,
 * one without its streams and one without a time are left out. */
static void waits_name_their_events(void **state)
{
    static const char *const events[] = {
        X("kernel", "k", "0", "7", "1", "1", "\"device\": 0, \"stream\": 7"),
        X("cuda_sync", "Stream Wait Event", "0", "24", "9", "1",
          "\"wait_on_stream\": 20, \"wait_on_cuda_event_record_corr_id\": 5, \"stream\": 24, "
          "\"correlation\": 6, \"device\": 0"),
        X("cuda_runtime", "cudaEventRecord", "9", "9", "4", "1", "\"correlation\": 5"),
        X("cuda_sync", "Stream Sync", "0", "7", "12", "8",
          "\"stream\": 7, \"correlation\": 15, \"device\": 0"),
        X("cuda_sync", "Event Sync", "0", "-1", "13", "8",
          "\"wait_on_stream\": -1, \"stream\": -1, \"device\": 0"),
        X("cuda_sync", "Stream Sync", "3", "7", "14", "8", "\"stream\": 7, \"device\": 3"),
        ("{\"ph\": \"X\", \"cat\": \"cuda_sync\", \"name\": \"Stream Sync\", \"pid\": 0, "
         "\"tid\": 7, \"args\": {\"stream\": 7, \"device\": 0}}"),
    };
    struct lpo_err err = { 0 };
    LPO_AUTO(lpo_trace) t = READ_EVENTS("\"schemaVersion\": 1, ", events, 0, &err);

    (void)state;
    assert_non_null(t);
    assert_int_equal(t->devices.len, 1);
    assert_int_equal(t->notes.len, 0);
    assert_int_equal(t->waits.len, 2);
    assert_int_equal(t->waits.at[0].kind, LPO_WAIT_STREAM_FOR_EVENT);
    assert_int_equal(t->waits.at[0].ns, 9000);
    assert_int_equal(t->waits.at[0].record_ns, 4000);
    assert_int_equal(t->waits.at[0].stream, 24);
    assert_int_equal(t->waits.at[0].on_stream, 20);
    assert_int_equal(t->waits.at[1].kind, LPO_WAIT_HOST_FOR_STREAM);
    assert_int_equal(t->waits.at[1].stream, 7);
    assert_true(t->waits.at[1].record_ns == LPO_NO_TIME);
}

#define FLOW(ph, id, tid, ts, cat)                                                                 \
    "{\"ph\": \"" ph "\", \"id\": " id ", \"pid\": 1, \"tid\": " tid ", \"ts\": " ts               \
    ", \"cat\": \"" cat "\", \"name\": \"" cat "\"}"
#define OP(name, tid, ts, dur) X("cpu_op", name, "1", tid, ts, dur, "")
#define TWO_OPS                OP("aten::mm", "1", "10", "5") "," OP("MmBackward0", "2", "50", "9")

/* `want`: names of forward and backward operators. */
static const struct flow_case {
    const char *name, *text, *want;
} flows[] = {
    { "an arrow joins two operators",
      FILE_OF(TWO_OPS
              "," FLOW("s", "1", "1", "10", "fwdbwd") "," FLOW("f", "1", "2", "50", "fwdbwd")),
      "aten::mm>MmBackward0" },
    { "the end before the start, and both before the operators",
      FILE_OF(
          FLOW("f", "9", "2", "50", "fwdbwd") "," FLOW("s", "9", "1", "10", "fwdbwd") "," TWO_OPS),
      "aten::mm>MmBackward0" },
    { "the category before the phase",
      FILE_OF(TWO_OPS ",{\"cat\": \"fwdbwd\", \"ts\": 10, \"tid\": 1, \"pid\": 1, \"id\": 3, "
                      "\"ph\": \"s\"}," FLOW("f", "3", "2", "50", "fwdbwd")),
      "aten::mm>MmBackward0" },
    { "launches have arrows, too",
      FILE_OF(TWO_OPS "," FLOW("s", "1", "1", "10", "ac2g") "," FLOW("f", "1", "2", "50", "ac2g")),
      "" },
    { "half an arrow",
      FILE_OF(TWO_OPS
              "," FLOW("s", "1", "1", "10", "fwdbwd") "," FLOW("f", "2", "2", "50", "fwdbwd")),
      "" },
    { "an end where no operator begins",
      FILE_OF(TWO_OPS
              "," FLOW("s", "1", "1", "10", "fwdbwd") "," FLOW("f", "1", "2", "50.001", "fwdbwd")),
      "" },
    { "an arrow back in time",
      FILE_OF(TWO_OPS
              "," FLOW("f", "1", "1", "10", "fwdbwd") "," FLOW("s", "1", "2", "50", "fwdbwd")),
      "" },
    { "of two operators that begin together the inner one",
      FILE_OF(TWO_OPS "," OP("aten::linear", "1", "10", "7") "," FLOW(
          "s", "1", "1", "10", "fwdbwd") "," FLOW("f", "1", "2", "50", "fwdbwd")),
      "aten::mm>MmBackward0" },
    { "an id that is used twice: the first",
      FILE_OF(TWO_OPS "," FLOW("s", "1", "1", "10", "fwdbwd") "," FLOW(
          "f", "1", "2", "50", "fwdbwd") "," FLOW("f", "1", "2", "70", "fwdbwd")),
      "aten::mm>MmBackward0" },
    { "a thread without events",
      FILE_OF(TWO_OPS
              "," FLOW("s", "1", "7", "10", "fwdbwd") "," FLOW("f", "1", "2", "50", "fwdbwd")),
      "" },
};

static void check_flow(void **state)
{
    const struct flow_case *c = *state;
    struct lpo_err err = { 0 };
    LPO_AUTO(lpo_trace) t = kineto_read(c->text, 0, &err);
    LPO_STR got = { 0 };

    assert_non_null(t);
    assert_int_equal(t->threads.len, 2);
    for (size_t i = 0; i < t->op_links.len; i++)
        lpo_str_addf(&got, "%s%s>%s", i ? " " : "",
                     lpo_trace_text(t, t->ops.at[t->op_links.at[i].forward].name),
                     lpo_trace_text(t, t->ops.at[t->op_links.at[i].backward].name));
    assert_string_equal(lpo_str_text(&got), c->want);
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_TEST(&u, allocators_are_series);
    UNIT_TEST(&u, collectives_have_their_sizes);
    UNIT_TEST(&u, waits_name_their_events);
    UNIT_ROWS(&u, flows, check_flow);
    return unit_run(&u);
}
