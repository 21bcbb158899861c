/* SPDX-License-Identifier: Apache-2.0 */
/* Findings about idle time: first calls against later ones, and what the host did in the gaps.
 * Times are microseconds. */
#include "findings_trace.h"

#include "analysis/analysis.h"
#include "region/tree.h"
#include "util/str.h"

/* Steps of 100 us; the first takes `first` and keeps the GPU waiting for 70 us less than that. */
static struct lpo_trace *steps(int64_t first, int count)
{
    struct lpo_trace *t = empty_trace();
    uint16_t device = lpo_trace_device(t, 0, -1);
    int64_t at = 0;

    push_call(t, &(struct span){ "cudaLaunchKernel", -20, -19 }, 0);
    push_op(t, &(struct op){ .name = "gemm", .start = -10, .end = 0, .launch = 1 }, 0, 0, device);
    for (int i = 0; i < count; i++) {
        int64_t took = i ? 100 : first;
        size_t call = t->launches.len;

        push_range(t, "step", at, at + took);
        push_call(t, &(struct span){ "cudaLaunchKernel", took - 75, took - 74 }, at);
        push_op(t, &(struct op){ .name = "gemm", .start = took - 70, .end = took, .launch = 1 }, at,
                call, device);
        at += took;
    }
    return t;
}

/* The kernel that ends the gap starts `late` after the first visit has ended: the gap still belongs
 * to the visit, as far as it lies in it, if that is nine tenths. */
static void a_gap_may_outlast_its_first_visit(void **state)
{
    static const struct {
        int64_t late;
        const char *id;
        int64_t saving;
    } rows[] = { { 0, "first-calls", 1000 },
                 { 100, "first-calls", 1000 },
                 { 120, "host-work", 1120 } };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        LPO_AUTO(lpo_trace) t = empty_trace();
        uint16_t device = lpo_trace_device(t, 0, -1);
        int64_t kernel = 1000 + rows[i].late;
        LPO_AUTO(lpo_analysis) a = NULL;
        LPO_AUTO(lpo_findings) f = NULL;

        push_call(t, &(struct span){ "cudaLaunchKernel", -20, -19 }, 0);
        push_call(t, &(struct span){ "cudaLaunchKernel", 900, 901 }, 0);
        push_op(t, &(struct op){ .name = "gemm", .start = -10, .end = 0, .launch = 1 }, 0, 0,
                device);
        push_op(t, &(struct op){ .name = "gemm", .start = kernel, .end = 1500, .launch = 2 }, 0, 0,
                device);
        push_range(t, "step", -100, 1000);
        for (int k = 0; k < 3; k++)
            push_range(t, "step", 1400 + 10 * k, 1401 + 10 * k);
        a = lpo_analysis_of(t, NULL);
        f = lpo_findings_create(NULL, NULL, a);
        assert_int_equal(f->all.len, 1);
        assert_string_equal(lpo_findings_id(f->all.at[0].kind), rows[i].id);
        assert_int_equal(f->all.at[0].saving_ns, us(rows[i].saving));
    }
}

static void a_first_visit_costs_no_more_than_it_took_longer(void **state)
{
    static const struct {
        int64_t first;
        int count;
        const char *id;
        int64_t saving;
    } rows[] = {
        { 1000, 4, "first-calls", 900 }, /* 930 idle, but only 900 longer than later ones */
        { 1000, 3, "host-work", 930 },   /* two later visits show nothing */
        { 190, 4, "launch-bound", 210 }  /* less than twice as long: 120 + 3 x 30 */
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        LPO_AUTO(lpo_trace) t = steps(rows[i].first, rows[i].count);
        LPO_AUTO(lpo_analysis) a = lpo_analysis_of(t, NULL);
        LPO_AUTO(lpo_findings) f = lpo_findings_create(NULL, NULL, a);

        assert_true(f->all.len > 0);
        assert_string_equal(lpo_findings_id(f->all.at[0].kind), rows[i].id);
        assert_int_equal(f->all.at[0].saving_ns, us(rows[i].saving));
    }
}

/* Steps of 100 us with numbers. The first takes `first`, and its kernel
 * runs for `work`; so does every `every`th. */
static struct lpo_trace *numbered(const char *name, int64_t first, int64_t work, int count,
                                  int every)
{
    struct lpo_trace *t = empty_trace();
    uint16_t device = lpo_trace_device(t, 0, -1);
    int64_t at = 0;

    push_call(t, &(struct span){ "cudaLaunchKernel", -20, -19 }, 0);
    push_op(t, &(struct op){ .name = "gemm", .start = -10, .end = 0, .launch = 1 }, 0, 0, device);
    for (int i = 0; i < count; i++) {
        bool is_first = i == 0 || (every && i % every == 0);
        int64_t took = is_first ? first : 100, busy = is_first ? work : 70;
        size_t call = t->launches.len;
        LPO_STR text = { 0 };

        lpo_str_addf(&text, name, every ? i % every : i);
        push_range(t, lpo_str_text(&text), at, at + took);
        push_call(t, &(struct span){ "cudaLaunchKernel", took - busy - 5, took - busy - 4 }, at);
        push_op(t, &(struct op){ .name = "gemm", .start = took - busy, .end = took, .launch = 1 },
                at, call, device);
        at += took;
    }
    return t;
}

/* "step0", "step1", …: no path has later visits, so the first is compared with the others. */
static void the_first_of_numbered_ranges(void **state)
{
    static const struct {
        const char *name;
        int64_t first, work;
        int count, every;
        size_t found;
    } rows[] = {
        { "step%d", 1000, 70, 4, 0, 1 },
        { "step%d", 200, 70, 9, 0, 1 },
        { "step%d", 1000, 70, 3, 0, 0 },  /* two later ones do not show what is normal */
        { "step%d", 190, 70, 9, 0, 0 },   /* not twice as long */
        { "step%d", 1000, 900, 4, 0, 0 }, /* the GPU did more work: a prompt, say */
        { "step%d", 1000, 300, 4, 0, 0 }, /* four times as much */
        { "step%d", 1000, 130, 4, 0, 1 }, /* some more, but that does not explain it */
        { "step%d", 1000, 40, 4, 0, 1 },
        { "layer%d", 1000, 70, 6, 3, 0 }, /* layer0 is always the longest one */
        { "layer%d", 1000, 70, 8, 4, 0 },
        { "aten::mm, seq = %d", 1000, 70, 9, 0, 0 }, /* operators may get other shapes */
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        LPO_AUTO(lpo_trace)
        t = numbered(rows[i].name, rows[i].first, rows[i].work, rows[i].count, rows[i].every);
        LPO_AUTO(lpo_analysis) a = lpo_analysis_of(t, NULL);
        LPO_AUTO(lpo_findings) f = lpo_findings_create(NULL, NULL, a);

        print_message("# row %zu\n", i);
        assert_int_equal(f->first.len, rows[i].found);
        if (!f->first.len)
            continue;
        assert_true(f->first.at[0].numbered);
        assert_int_equal(f->first.at[0].start_ns, 0);
        assert_int_equal(f->first.at[0].end_ns, us(rows[i].first));
        assert_int_equal(f->first.at[0].later_ns, us(100));
        assert_int_equal(f->first.at[0].later, rows[i].count - 1);
    }
}

/* What is idle in the first of them is the cost of a first call, and the evidence has both. */
static void the_first_of_numbered_ranges_is_no_steady_cost(void **state)
{
    LPO_AUTO(lpo_trace) t = numbered("step%d", 1000, 70, 4, 0);
    LPO_AUTO(lpo_analysis) a = lpo_analysis_of(t, NULL);
    LPO_AUTO(lpo_findings) f = lpo_findings_create(NULL, NULL, a);

    (void)state;
    assert_true(f->all.len > 0);
    assert_string_equal(lpo_findings_id(f->all.at[0].kind), "first-calls");
    assert_int_equal(f->all.at[0].saving_ns, us(900));
    assert_true(evidence(&f->all.at[0], LPO_FACT_MEMBER_NS)->value == (double)us(1000));
    assert_true(evidence(&f->all.at[0], LPO_FACT_MEMBERS_NS)->value == (double)us(100));
}

/* What lies in numbered steps is compared too: its path has a number further out. */
static void ranges_inside_numbered_ones(void **state)
{
    LPO_AUTO(lpo_trace) t = empty_trace();
    LPO_AUTO(lpo_analysis) a = NULL;
    LPO_AUTO(lpo_findings) f = NULL;

    (void)state;
    for (int i = 0; i < 6; i++) {
        LPO_STR text = { 0 };

        lpo_str_addf(&text, "step %d", i);
        push_range(t, lpo_str_text(&text), i * 100, i * 100 + 100);
        push_range(t, "load", i * 100, i * 100 + (i ? 30 : 90));
        push_range(t, "run", i * 100 + 90, i * 100 + 100);
    }
    a = lpo_analysis_of(t, NULL);
    f = lpo_findings_create(NULL, NULL, a);
    assert_int_equal(f->first.len, 1); /* load: 90, later 30 */
    assert_int_equal(f->first.at[0].end_ns, us(90));
    assert_int_equal(f->first.at[0].later_ns, us(30));
}

/* A layer takes longer in prefill than in decode: that is no first call. */
static void ranges_are_compared_along_their_path(void **state)
{
    LPO_AUTO(lpo_trace) t = empty_trace();
    LPO_AUTO(lpo_analysis) a = NULL;
    LPO_AUTO(lpo_findings) f = NULL;

    (void)state;
    push_range(t, "prefill", 0, 1000);
    push_range(t, "layer", 0, 1000);
    for (int i = 0; i < 6; i++) {
        push_range(t, "decode", 1000 + i * 100, 1100 + i * 100);
        push_range(t, "layer", 1000 + i * 100, 1000 + i * 100 + (i ? 40 : 90));
    }
    a = lpo_analysis_of(t, NULL);
    f = lpo_findings_create(NULL, NULL, a);
    assert_int_equal(f->first.len, 1); /* decode/layer: 90, later 40 */
    assert_int_equal(f->first.at[0].start_ns, us(1000));
    assert_int_equal(f->first.at[0].later_ns, us(40));
    assert_int_equal(f->first.at[0].later, 5);
}

/* The first call of an operator with the same shapes, as for tuned convolutions. */
static struct lpo_trace *convolutions(int64_t first, bool shaped)
{
    struct lpo_trace *t = empty_trace();
    uint16_t device = lpo_trace_device(t, 0, -1);
    int64_t at = 0;

    push_call(t, &(struct span){ "cudaLaunchKernel", -20, -19 }, 0);
    push_op(t, &(struct op){ .name = "gemm", .start = -10, .end = 10, .launch = 1 }, 0, 0, device);
    for (int i = 0; i < 5; i++) {
        int64_t took = i ? 20 : first;
        size_t call = t->launches.len;

        lpo_vec_push(&t->ops, (struct lpo_op){
                                  us(at), us(at + took), lpo_trace_name(t, "aten::conv"), 0,
                                  shaped ? lpo_trace_name(t, "[[1, 3]]") : LPO_NONE, LPO_NONE });
        push_call(t, &(struct span){ "cudaLaunchKernel", took - 12, took - 11 }, at);
        push_op(t,
                &(struct op){ .name = "gemm", .start = took - 10, .end = took + 10, .launch = 1 },
                at, call, device);
        at += took;
    }
    return t;
}

static void a_first_call_of_an_operator(void **state)
{
    static const struct {
        int64_t first;
        bool shaped;
        const char *id;
    } rows[] = {
        { 520, true, "first-calls" },
        { 40, true, "first-calls" },
        { 39, true, "launch-bound" }, /* less than twice as long */
        { 520, false, "first-calls" },
        { 199, false, "launch-bound" }, /* without shapes it must take ten times as long */
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        LPO_AUTO(lpo_trace) t = convolutions(rows[i].first, rows[i].shaped);
        LPO_AUTO(lpo_analysis) a = lpo_analysis_of(t, NULL);
        LPO_AUTO(lpo_findings) f = lpo_findings_create(NULL, NULL, a);

        assert_int_equal(f->all.len, 1);
        assert_string_equal(lpo_findings_id(f->all.at[0].kind), rows[i].id);
        assert_int_equal(f->all.at[0].saving_ns, us(rows[i].first - 20));
        assert_true(evidence(&f->all.at[0], LPO_FACT_IN_OPERATOR)->value ==
                    (double)us(rows[i].first - 20));
        if (strcmp(rows[i].id, "first-calls") != 0)
            continue;
        assert_true(evidence(&f->all.at[0], LPO_FACT_FIRST_NS)->value == (double)us(rows[i].first));
        assert_true(evidence(&f->all.at[0], LPO_FACT_LATER_NS)->value == (double)us(20));
    }
}

/* The frame of the program that has most of the idle time, not that of the longest gap. */
static void the_host_is_named_by_most_of_the_time(void **state)
{
    LPO_AUTO(lpo_trace) t = empty_trace();
    uint16_t device = lpo_trace_device(t, 0, -1);
    LPO_AUTO(lpo_analysis) a = NULL;
    LPO_AUTO(lpo_findings) f = NULL;
    const char *const names[] = { "a.py(1): often", "torch/_tensor.py(9): inner",
                                  "<built-in method copy_ of Tensor object at 0x7ed6>" };
    const struct lpo_finding *host;
    LPO_STR path = { 0 };

    (void)state;
    push_range(t, "train", -1000, 100000);
    for (int64_t i = 0; i < 4; i++) { /* gaps of 990, 400, 400 and 400 us */
        int64_t start = i ? 1000 + (i - 1) * 410 : 0, end = i ? start + 410 : 1000;

        if (i == 0) {
            push_call(t, &(struct span){ "cudaLaunchKernel", -20, -19 }, 0);
            push_op(t, &(struct op){ .name = "gemm", .start = 0, .end = 10, .launch = 1 }, 0, 0,
                    device);
            lpo_vec_push(&t->python, (struct lpo_python_call){
                                         us(0), us(995), lpo_trace_name(t, "b.py(2): once"), 0 });
        }
        for (int64_t k = 0; i && k < 3; k++)
            lpo_vec_push(&t->python, (struct lpo_python_call){ us(start + k), us(end - 3 - k),
                                                               lpo_trace_name(t, names[k]), 0 });
        push_call(t, &(struct span){ "cudaLaunchKernel", end - 2, end - 1 }, 0);
        push_op(t, &(struct op){ .name = "gemm", .start = end, .end = end + 10, .launch = 1 }, 0,
                t->launches.len - 1, device);
    }
    a = lpo_analysis_of(t, NULL);
    f = lpo_findings_create(NULL, NULL, a);
    assert_int_equal(f->all.len, 1);
    host = &f->all.at[0];
    assert_string_equal(lpo_findings_id(host->kind), "host-work");
    assert_int_equal(host->saving_ns, us(990 + 3 * 400));
    assert_string_equal(lpo_trace_text(t, evidence(host, LPO_FACT_IN_PYTHON)->name), names[0]);
    assert_true(evidence(host, LPO_FACT_IN_PYTHON)->value ==
                (double)us(3 * 397)); /* the launch comes after it */
    lpo_region_add_path(a->tree, host->node, &path);
    assert_string_equal(lpo_str_text(&path), "train");
}

/* The host waits in `call` on a thread for `gap` us, then launches a kernel of 1 us. */
static int64_t wait_and_launch(struct lpo_trace *t, const char *call, uint64_t tid, int64_t at,
                               int64_t gap)
{
    size_t first = t->launches.len;

    push_call(t, &(struct span){ call, at, at + gap - 1 }, 0);
    push_call(t, &(struct span){ "cudaLaunchKernel", at + gap - 1, at + gap }, 0);
    for (size_t i = first; i < first + 2; i++)
        t->launches.at[i].thread = t->calls.at[i].thread = lpo_trace_thread(t, 0, tid);
    push_op(t, &(struct op){ .name = "gemm", .start = at + gap, .end = at + gap + 1, .launch = 2 },
            0, first, lpo_trace_device(t, 0, -1));
    return at + gap + 1;
}

/* 200,000 gaps, nine of each of 20,000 names: a search through all names for each gap would look
 * at 2,000,000,000 of them. */
static void many_names_of_calls(void **state)
{
    LPO_AUTO(lpo_trace) t = empty_trace();
    LPO_AUTO(lpo_analysis) a = NULL;
    LPO_AUTO(lpo_findings) f = NULL;
    int64_t at = wait_and_launch(t, "cudaStreamSynchronize", 1, 0, 40);

    (void)state;
    for (int i = 0; i < 200000; i++) {
        char name[32];

        snprintf(name, sizeof name, "call%d", i / 10);
        at = i % 10 ? wait_and_launch(t, name, 1, at, 4)
                    : wait_and_launch(t, "cudaStreamSynchronize", 1, at, 40);
    }
    a = lpo_analysis_of(t, NULL);
    f = lpo_findings_create(NULL, NULL, a);
    assert_int_equal(f->all.len, 1);
    assert_int_equal(f->all.at[0].kind, LPO_FINDING_BLOCKED);
    assert_string_equal(lpo_trace_text(t, f->all.at[0].name), "cudaStreamSynchronize");
    assert_int_equal(f->all.at[0].saving_ns, us(20000 * 40));
    assert_true(evidence(&f->all.at[0], LPO_FACT_GAPS)->value == 20000);
}

/* Threads that take turns: each gap is compared with the operators of its own. */
static void operators_of_threads_that_take_turns(void **state)
{
    LPO_AUTO(lpo_trace) t = empty_trace();
    LPO_AUTO(lpo_analysis) a = NULL;
    LPO_AUTO(lpo_findings) f = NULL;
    int64_t at = wait_and_launch(t, "cudaStreamSynchronize", 1, 0, 40);

    (void)state;
    for (int i = 0; i < 50; i++) {
        uint64_t tid = i % 5 < 2 ? 1 : 2;
        const char *name = tid == 1 ? "aten::item" : "aten::nonzero";

        lpo_vec_push(&t->ops, (struct lpo_op){ us(at), us(at + 40), lpo_trace_name(t, name),
                                               lpo_trace_thread(t, 0, tid), LPO_NONE, LPO_NONE });
        at = wait_and_launch(t, "cudaStreamSynchronize", tid, at, 40);
    }
    a = lpo_analysis_of(t, NULL);
    f = lpo_findings_create(NULL, NULL, a);
    assert_int_equal(f->all.len, 1);
    assert_int_equal(f->all.at[0].saving_ns, us(50 * 40));
    assert_string_equal(lpo_trace_text(t, evidence(&f->all.at[0], LPO_FACT_IN_OPERATOR)->name),
                        "aten::nonzero");
    assert_true(evidence(&f->all.at[0], LPO_FACT_IN_OPERATOR)->value == (double)us(30 * 40));
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_TEST(&u, a_gap_may_outlast_its_first_visit);
    UNIT_TEST(&u, a_first_visit_costs_no_more_than_it_took_longer);
    UNIT_TEST(&u, ranges_are_compared_along_their_path);
    UNIT_TEST(&u, the_first_of_numbered_ranges);
    UNIT_TEST(&u, the_first_of_numbered_ranges_is_no_steady_cost);
    UNIT_TEST(&u, ranges_inside_numbered_ones);
    UNIT_TEST(&u, a_first_call_of_an_operator);
    UNIT_TEST(&u, the_host_is_named_by_most_of_the_time);
    UNIT_TEST(&u, many_names_of_calls);
    UNIT_TEST(&u, operators_of_threads_that_take_turns);
    return unit_run(&u);
}
