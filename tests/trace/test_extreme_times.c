/* SPDX-License-Identifier: Apache-2.0 */
/* Times at the ends of what a number can hold, in every format that is read as text or bytes: the
 * durations are marked as unknown or the file is refused, and no sum overflows (UBSan watches). */
#include "../region/build_files.h"

#include "region/cells.h"
#include "region/scope.h"
#include "region/tree.h"
#include "region/windows.h"
#include "util/budget.h"

/* All that is summed of a trace. No sum is negative: a sum that overflowed would be. */
static void sum_all(const struct lpo_trace *t)
{
    LPO_AUTO(lpo_region_tree) tree = lpo_region_tree_create(t);
    LPO_AUTO(lpo_region_cells) cells = lpo_region_cells_create(tree, NULL);
    LPO_AUTO(lpo_region_windows) windows = lpo_region_windows_create(tree, 4);

    for (size_t i = 0; i < tree->visits.len; i++)
        assert_true(tree->visits.at[i].host_ns >= 0 && tree->visits.at[i].child_ns >= 0);
    for (size_t i = 0; i < cells->cells.len; i++)
        assert_true(cells->cells.at[i].sum.ns >= 0);
    for (size_t i = 0; i < windows->rows.len; i++)
        assert_true(windows->rows.at[i].end_ns >= windows->rows.at[i].start_ns);
}

static bool has_note(const struct lpo_trace *t, const char *words)
{
    for (size_t i = 0; i < t->notes.len; i++)
        if (strstr(lpo_trace_text(t, t->notes.at[i].text), words))
            return true;
    return false;
}

/* What cannot be is noted, or the file is refused. */
static void check_bytes(const char *bytes, size_t len, const char *note)
{
    LPO_AUTO(lpo_trace) t = lpo_trace_create();
    struct lpo_err err = { 0 };
    char path[UNIT_PATH];
    int rc;

    unit_file(bytes, len, path);
    rc = lpo_trace_read(path, t, &err);
    unlink(path);
    if (rc < 0) {
        assert_true(rc == LPO_E_RANGE || rc == LPO_E_FORMAT);
        return;
    }
    assert_true(has_note(t, note));
    sum_all(t);
}

/* ---- native: 64-bit ticks, differences and durations */

static const struct native_case {
    const char *name;
    uint64_t push, pop; /* ticks since the event before */
    int64_t start;      /* of the kernel, since 0 */
    uint64_t duration;
    int64_t back; /* of a second kernel, since the first */
} native_cases[] = {
    { "durations of 2^64", 1, UINT64_MAX, 1, UINT64_MAX, 1 },
    { "a start at the end of time", UINT64_MAX, 1, INT64_MAX, UINT64_MAX, 1 },
    { "a start before the epoch", 1, 1, -5, INT64_MAX, -5 },
    { "to one end and back to the other", 1, UINT64_MAX - 1, INT64_MAX, INT64_MAX, INT64_MIN },
};

static void put_kernel(struct lpo_str *s, int64_t start, uint64_t duration)
{
    lpo_str_addc(s, LPOT_GPU_KERNEL);
    put_v(s, 0);
    put_z(s, start);
    put_v(s, duration);
    put_z(s, 1);
}

static void native_file(const struct native_case *c, struct lpo_str *file)
{
    static const unsigned char place[] = { LPOT_GPU_PLACE, 0, 1, 7, LPOT_GPU_SHAPE, 0 };
    LPO_STR facts = { 0 }, events = { 0 }, gpu = { 0 };

    lpo_str_add(file, LPOT_MAGIC);
    put_u(file, LPOT_MAJOR, 2);
    put_u(file, LPOT_MINOR, 2);
    put_u(file, 0, 4);
    put_text(&facts, "clock");
    put_text(&facts, "realtime");
    put_block(file, LPOT_FACTS, 0, &facts);
    for (int i = 0; i < 2; i++) {
        lpo_str_addc(&events, LPOT_EV_PUSH | LPOT_EV_INLINE);
        put_v(&events, i ? 0 : c->push);
        put_text(&events, "r");
        lpo_str_addc(&events, LPOT_EV_START | LPOT_EV_INLINE);
        put_v(&events, 0);
        put_v(&events, (uint64_t)i);
        put_text(&events, "s");
        lpo_str_addc(&events, LPOT_EV_LAUNCH);
        put_v(&events, 0);
        put_z(&events, 1);
    }
    for (int i = 0; i < 2; i++) {
        lpo_str_addc(&events, LPOT_EV_POP);
        put_v(&events, i ? 0 : c->pop);
        lpo_str_addc(&events, LPOT_EV_END);
        put_v(&events, 0);
        put_v(&events, (uint64_t)i);
    }
    put_block(file, LPOT_THREAD, 1, &events);
    lpo_str_addn(&gpu, (const char *)place, sizeof place);
    for (int i = 0; i < 11; i++)
        put_v(&gpu, 0);
    put_kernel(&gpu, c->start, c->duration);
    put_kernel(&gpu, c->back, c->duration);
    put_block(file, LPOT_GPU, 0, &gpu);
}

static void check_native(void **state)
{
    LPO_STR file = { 0 };

    native_file(*state, &file);
    check_bytes(file.at, file.len, "no clock can have shown");
}

static void check_native_summed(void **state)
{
    const struct lpo_budget usual = *lpo_budget();
    struct lpo_budget small = usual;
    LPO_STR file = { 0 };

    small.range_bytes = small.gpu_record_bytes = 0;
    native_file(*state, &file);
    lpo_budget_use(&small);
    check_bytes(file.at, file.len, "no clock can have shown");
    lpo_budget_use(&usual);
}

/* ---- Kineto: numbers of any length */

static const struct kineto_case {
    const char *name, *ts, *dur, *note;
} kineto_cases[] = {
    { "the largest number", "9223372036854775807", "9223372036854775807",
      "without a time that can be read" },
    { "the smallest number", "-9223372036854775808", "9223372036854775807",
      "without a time that can be read" },
    { "larger than any integer", "1e300", "1e300", "without a time that can be read" },
    { "a negative duration", "100", "-9223372036854775808", "without a duration" },
    { "longer than a year", "0", "1e14", "no clock can have shown" },
};

static void check_kineto(void **state)
{
    static const char *const cats[] = { "kernel",          "cuda_runtime",    "cpu_op",
                                        "user_annotation", "python_function", "gpu_memcpy" };
    const struct kineto_case *c = *state;
    LPO_STR s = { 0 };

    lpo_str_add(&s, "{\"traceEvents\":[");
    for (int round = 0; round < 3; round++)
        for (size_t i = 0; i < sizeof cats / sizeof *cats; i++)
            lpo_str_addf(&s,
                         "%s{\"ph\":\"X\",\"cat\":\"%s\",\"name\":\"n\",\"pid\":1,\"tid\":1,"
                         "\"ts\":%s,\"dur\":%s,\"args\":{\"correlation\":%d,\"device\":0,"
                         "\"stream\":7}}",
                         s.at[s.len - 1] == '[' ? "" : ",", cats[i], c->ts, c->dur, round);
    lpo_str_add(&s, "]}");
    check_bytes(s.at, s.len, c->note);
}

/* ---- pages of ncu: a duration is a metric, in any unit */

static const struct ncu_case {
    const char *name, *unit, *value;
} ncu_cases[] = {
    { "more seconds than fit", "second", "9223372036854775807" },
    { "more nanoseconds than fit", "nsecond", "1e300" },
    { "the largest integer", "nsecond", "9223372036854775807" },
    { "a negative duration", "nsecond", "-9223372036854775808" },
    { "not a number", "nsecond", "nan" },
};

static void check_ncu(void **state)
{
    const struct ncu_case *c = *state;
    LPO_AUTO(lpo_trace) t = lpo_trace_create();
    LPO_STR s = { 0 };
    struct lpo_err err = { 0 };
    char path[UNIT_PATH];

    lpo_str_addf(&s,
                 "\"ID\",\"Kernel Name\",\"Grid Size\",\"Block Size\",\"gpu__time_duration.sum\"\n"
                 "\"\",\"\",\"\",\"\",\"%s\"\n",
                 c->unit);
    for (int i = 0; i < 3; i++)
        lpo_str_addf(&s, "\"%d\",\"k\",\"(1, 1, 1)\",\"(1, 1, 1)\",\"%s\"\n", i, c->value);
    unit_file(s.at, s.len, path);
    assert_int_equal(lpo_trace_read(path, t, &err), 0);
    unlink(path);
    assert_int_equal(t->gpu_ops.len, 3);
    for (size_t i = 0; i < t->gpu_ops.len; i++) /* not known, and not 0 either */
        assert_true(t->gpu_ops.at[i].flags & LPO_GPU_OP_NO_LENGTH);
    sum_all(t);
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_ROWS(&u, native_cases, check_native);
    UNIT_ROWS(&u, native_cases, check_native_summed);
    UNIT_ROWS(&u, kineto_cases, check_kineto);
    UNIT_ROWS(&u, ncu_cases, check_ncu);
    return unit_run(&u);
}
