/* SPDX-License-Identifier: Apache-2.0 */
/* Members of events in any order: what was at a place in the event before decides nothing. */
#include "../unit.h"

#include "trace/reader.h"
#include "trace/trace.h"
#include "util/err.h"

#include <unistd.h>

#define KERNEL(name, args)                                                                         \
    "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"" name                                       \
    "\", \"pid\": 0, \"tid\": 7, \"ts\": 5, \"dur\": 1, \"args\": {" args "}}"

static struct lpo_trace *read_text(const char *text)
{
    struct lpo_trace *t = lpo_trace_create();
    struct lpo_err err = { 0 };
    char path[UNIT_PATH];

    unit_file(text, strlen(text), path);
    assert_int_equal(lpo_trace_read(path, t, &err), 0);
    unlink(path);
    return t;
}

/* "dtype" of a kernel that is no collective is nobody's; at the same place of a collective it is
 * read. */
static void a_collective_after_a_kernel(void **state)
{
    LPO_AUTO(lpo_trace)
    t = read_text(
        "{\"traceEvents\": [" KERNEL(
            "gemm",
            "\"device\": 0, \"dtype\": \"x\", \"Collective name\": \"y\", \"stream\": 7") ", " //
        KERNEL("ncclDevKernel_AllReduce",
               "\"device\": 0, \"dtype\": \"BFloat16\", \"Collective name\": \"allreduce\", "
               "\"stream\": 8") ", " //
        KERNEL("gemm",
               "\"device\": 0, \"dtype\": \"x\", \"Collective name\": \"y\", \"stream\": 9") "]}");

    (void)state;
    assert_int_equal(t->gpu_ops.len, 3);
    assert_int_equal(t->collectives.len, 1);
    assert_int_equal(t->collectives.at[0].op, 1);
    assert_string_equal(lpo_trace_text(t, t->collectives.at[0].dtype), "BFloat16");
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(t->gpu_ops.at[i].stream, 7 + i);
}

static void members_change_their_places(void **state)
{
    LPO_AUTO(lpo_trace)
    t = read_text(
        "{\"traceEvents\": ["
        "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"a\", \"pid\": 1, \"tid\": 2, \"ts\": 10, "
        "\"dur\": 5, \"args\": {\"Input Dims\": [[1]], \"Sequence number\": 3}}, "
        "{\"name\": \"b\", \"cat\": \"cpu_op\", \"ph\": \"X\", \"tid\": 2, \"pid\": 1, \"dur\": 7, "
        "\"args\": {\"Sequence number\": 4, \"Input Dims\": [[2]]}, \"ts\": 20}, "
        "{\"args\": {\"Input Dims\": [[3]]}, \"ts\": 30, \"dur\": 1, \"name\": \"c\", \"ph\": "
        "\"X\", "
        "\"cat\": \"cpu_op\", \"pid\": 1, \"tid\": 2}, "
        "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"nane\": \"x\", \"name\": \"d\", \"pid\": 1, "
        "\"tid\": 2, "
        "\"ts\": 40, \"dur\": 2, \"args\": {\"input dims\": [[4]], \"Sequence numbeR\": 6}}"
        "]}");
    static const int64_t lengths[] = { 5000, 7000, 1000, 2000 };
    static const uint32_t sequences[] = { 3, 4, LPO_NONE, 6 };

    (void)state;
    assert_int_equal(t->ops.len, 4);
    for (size_t i = 0; i < 4; i++) {
        const struct lpo_op *o = &t->ops.at[i];
        char name[] = { (char)('a' + i), 0 }, dims[] = { '[', '[', (char)('1' + i), ']', ']', 0 };

        assert_string_equal(lpo_trace_text(t, o->name), name);
        assert_int_equal(o->end_ns - o->start_ns, lengths[i]);
        assert_int_equal(o->sequence, sequences[i]);
        assert_string_equal(lpo_trace_text(t, t->op_args.at[o->args].dims), dims);
    }
}

static void an_empty_key(void **state)
{
    LPO_AUTO(lpo_trace)
    t = read_text("{\"traceEvents\": [" KERNEL("a", "\"\": 1, \"stream\": 3, \"\": {}") "]}");

    (void)state;
    assert_int_equal(t->gpu_ops.len, 1);
    assert_int_equal(t->gpu_ops.at[0].stream, 3);
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_TEST(&u, a_collective_after_a_kernel);
    UNIT_TEST(&u, members_change_their_places);
    UNIT_TEST(&u, an_empty_key);
    return unit_run(&u);
}
