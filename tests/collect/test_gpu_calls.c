/* SPDX-License-Identifier: Apache-2.0 */
/* CUDA calls that can block, from the callbacks to the causes of idle time. */
#include "../unit.h"
#include "analysis/wall/wall.h"
#include "gpu_case.h"
#include "region/tree.h"

/* Names of the calls in the order in which they were made. */
static void add_calls(const struct lpo_trace *t, struct lpo_str *out)
{
    for (size_t i = 0; i < t->calls.len; i++)
        lpo_str_addf(out, "%s\n", lpo_trace_text(t, t->calls.at[i].name));
}

static const struct gpu_case cases[] = {
    { "the outermost call, by the name that the program used",
      "calls",
      { 0 },
      "cudaStreamSynchronize\ncudaMalloc\ncuModuleLoadDataEx\ncuMemcpyHtoDAsync_v2\n" },
    { "calls of the driver alone",
      "calls",
      { "LPO_COLLECT_CALLS=1" },
      "cuStreamSynchronize\ncuMemAlloc_v2\ncuModuleLoadDataEx\ncuMemcpyHtoDAsync_v2\n" },
    { "none", "calls", { "LPO_COLLECT_CALLS=0" }, "" },
    { "queries in a loop are one call",
      "queries",
      { 0 },
      "cudaEventQuery (in a loop)\ncudaEventQuery (in a loop)\ncudaMalloc\n" },
    { "without copies there is no launch of them, but the call",
      "calls",
      { "LPO_COLLECT_COPIES=0", "LPO_COLLECT_CALLS=1" },
      "cuStreamSynchronize\ncuMemAlloc_v2\ncuModuleLoadDataEx\ncuMemcpyHtoDAsync_v2\n" },
};

static void check_names(void **state)
{
    const struct gpu_case *r = *state;
    struct traced t;
    LPO_STR text = { 0 };
    LPO_STR got = { 0 };

    gpu_run(r->scenario, r->env, &t, &text);
    add_calls(t.trace, &got);
    assert_string_equal(lpo_str_text(&got), r->want);
    assert_int_equal(t.trace->processes.at[0].has_calls, r->want[0] != 0);
    assert_int_equal(t.trace->notes.len, 0);
    traced_free(&t);
}

/* The call lies between the launches around it, on their thread, and took its time. */
static void check_times(void **state)
{
    struct traced t;
    LPO_STR text = { 0 };
    const struct lpo_launch *before, *after;
    const struct lpo_api_call *call;

    (void)state;
    gpu_run("calls", NULL, &t, &text);
    call = &t.trace->calls.at[0];
    before = &t.trace->launches.at[t.trace->gpu_ops.at[0].launch];
    after = &t.trace->launches.at[t.trace->gpu_ops.at[1].launch];
    assert_int_equal(call->thread, before->thread);
    assert_true(before->start_ns <= call->start_ns && call->end_ns <= after->start_ns);
    assert_true(call->end_ns - call->start_ns >= 1900000);
    traced_free(&t);
}

/* With calls recorded, and with them alone, blocked and host can be told apart. */
static void check_causes_known(void **state)
{
    static const char *const off[] = { "LPO_COLLECT_CALLS=0", NULL };
    static const char *const refused[] = { "FAKE_FAIL=cuptiEnableCallback.2:27", NULL };
    static const char *const *const envs[] = { NULL, off, refused };

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct traced t;
        LPO_STR text = { 0 };

        gpu_run("calls", envs[i], &t, &text);
        {
            LPO_AUTO(lpo_region_tree) tree = lpo_region_tree_create(t.trace);
            LPO_AUTO(lpo_wall) wall = lpo_wall_create(tree);

            assert_int_equal(wall->no_calls, i != 0);
            assert_int_equal(wall->devices.at[0].idle[LPO_IDLE_UNKNOWN].ns != 0, i != 0);
        }
        traced_free(&t);
    }
}

static void check_many(void **state)
{
    struct traced t;
    LPO_STR text = { 0 };

    (void)state;
    gpu_run("many_calls", NULL, &t, &text);
    assert_int_equal(t.trace->calls.len, 1000);
    for (size_t i = 1; i < 1000; i++)
        assert_true(t.trace->calls.at[i].start_ns >= t.trace->calls.at[i - 1].end_ns);
    traced_free(&t);
    lpo_str_free(&text);
    gpu_run("call_threads", NULL, &t, &text);
    assert_int_equal(t.trace->calls.len, 1200);
    assert_int_equal(t.trace->notes.len, 0);
    traced_free(&t);
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_ROWS(&u, cases, check_names);
    UNIT_TEST(&u, check_times);
    UNIT_TEST(&u, check_causes_known);
    UNIT_TEST(&u, check_many);
    return unit_run(&u);
}
