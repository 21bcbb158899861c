/* SPDX-License-Identifier: Apache-2.0 */
/* Findings in words: every kind, fact and caution has its sentence, and what lpo run prints last.
 */
#include "../unit.h"

#include "analysis/analysis.h"
#include "analysis/findings/findings.h"
#include "report/findings/findings.h"
#include "rundir/rundir.h"
#include "trace/trace.h"
#include "util/arena.h"
#include "util/str.h"

/* One launch is late: kernels of 100 us, a gap of 50 us between them. */
static struct lpo_trace *late_launch(void)
{
    struct lpo_trace *t = lpo_trace_create();
    uint16_t process = lpo_trace_process(t, 1, -1), device = lpo_trace_device(t, 0, -1);
    uint32_t thread = lpo_trace_thread(t, process, 1), call = lpo_trace_name(t, "cudaLaunchKernel");

    t->processes.at[process].has_calls = true;
    for (uint32_t i = 0; i < 2; i++) {
        int64_t at = i * 150000;

        lpo_vec_push(&t->launches, (struct lpo_launch){ at - 10000, at - 9000, thread });
        lpo_vec_push(&t->calls, (struct lpo_api_call){ at - 10000, at - 9000, call, thread });
        lpo_vec_push(&t->gpu_ops, (struct lpo_gpu_op){ .start_ns = at,
                                                       .end_ns = at + 100000,
                                                       .name = lpo_trace_name(t, "gemm"),
                                                       .launch = i,
                                                       .stack = LPO_NONE,
                                                       .capture = LPO_NONE,
                                                       .shape = LPO_NONE,
                                                       .metrics = LPO_NONE,
                                                       .process = process,
                                                       .device = device,
                                                       .kind = LPO_KERNEL });
    }
    return t;
}

static void the_last_lines_of_a_run(void **state)
{
    LPO_AUTO(lpo_trace) t = late_launch();
    LPO_AUTO(lpo_analysis) a = lpo_analysis_of(t, NULL);
    LPO_AUTO(lpo_arena) arena = lpo_arena_create();
    struct lpo_source s = { .trace = t, .analysis = a };
    LPO_STR text = { 0 };

    (void)state;
    lpo_report_findings_lines(arena, NULL, &s, &text);
    assert_string_equal(lpo_str_text(&text),
                        "Take care: Only 2 kernels were recorded: too few for firm conclusions.\n"
                        "Of 250 us, the GPU computed for 80.0 % and was idle for 20.0 %.\n"
                        "1. The GPU waits for the next launch in gaps of up to 200 us: at most "
                        "50 us (20.0 %)\n");
}

static void without_gpu_operations_nothing_is_printed(void **state)
{
    LPO_AUTO(lpo_trace) t = lpo_trace_create();
    LPO_AUTO(lpo_analysis) a = lpo_analysis_of(t, NULL);
    LPO_AUTO(lpo_arena) arena = lpo_arena_create();
    struct lpo_source s = { .trace = t, .analysis = a };
    LPO_STR text = { 0 };

    (void)state;
    lpo_report_findings_lines(arena, NULL, &s, &text);
    assert_int_equal(text.len, 0);
}

static void everything_has_its_words(void **state)
{
    LPO_AUTO(lpo_trace) t = late_launch();
    /* a trace that is analysed is const: no name may come later */
    const uint32_t call = lpo_trace_name(t, "cudaMalloc"), frame = lpo_trace_name(t, "a.py(1): f");
    LPO_AUTO(lpo_analysis) a = lpo_analysis_of(t, NULL);
    LPO_AUTO(lpo_findings) found = lpo_findings_create(NULL, NULL, a);
    LPO_AUTO(lpo_arena) arena = lpo_arena_create();
    struct lpo_source s = { .trace = t, .analysis = a };
    struct lpo_finding_words w = { arena, &s, found };

    (void)state;
    for (int kind = 0; kind < LPO_FINDING_KINDS; kind++) {
        struct lpo_finding f = {
            .kind = (enum lpo_finding_kind)kind, .saving_ns = 1000, .node = LPO_NONE, .name = call
        };

        assert_non_null(lpo_findings_id(f.kind));
        assert_null(strchr(lpo_report_finding_title(&w, &f), '%'));
        assert_true(strlen(lpo_report_finding_advice(&w, &f)) > 20);
    }
    for (int fact = 0; fact < LPO_FACTS; fact++) {
        struct lpo_finding f = { .nevidence = 1 };
        struct lpo_finding_fact out;

        f.evidence[0] = (struct lpo_evidence){ (enum lpo_fact)fact, 3, frame };
        if (fact == LPO_FACT_IN_CALL)
            continue; /* the title has it */
        assert_true(lpo_report_finding_evidence(&w, &f, 0, &out));
        assert_null(strstr(out.text, "%v"));
        assert_null(strstr(out.text, "%n"));
        assert_null(strstr(out.text, "%s"));
        assert_true(out.value == 3);
    }
    for (int kind = 0; kind < LPO_CAUTION_KINDS; kind++) {
        struct lpo_caution c = { .kind = (enum lpo_caution_kind)kind, .nevidence = 1 };

        c.evidence[0] = (struct lpo_evidence){ LPO_FACT_SHARE, 0.5, LPO_NONE };
        assert_non_null(lpo_findings_caution_id(c.kind));
        if (kind != LPO_CAUTION_JOBS) /* it names the jobs */
            assert_non_null(strstr(lpo_report_finding_caution(&w, &c), "50.0 %"));
    }
}

/* Advice that the program follows already, or that cannot help, is not given. */
static void advice_fits_the_facts(void **state)
{
    LPO_AUTO(lpo_trace) t = late_launch();
    const uint32_t loader = lpo_trace_name(t, "enumerate(DataLoader)#_SingleProcess.__next__");
    LPO_AUTO(lpo_analysis) a = lpo_analysis_of(t, NULL);
    LPO_AUTO(lpo_arena) arena = lpo_arena_create();
    struct lpo_source s = { .trace = t,
                            .analysis = a,
                            .what = "the trace of the PyTorch profiler" };
    struct lpo_finding_words w = { arena, &s, NULL };
    const struct {
        enum lpo_finding_kind kind;
        struct lpo_evidence evidence;
        const char *has, *lacks;
    } rows[] = {
        { LPO_FINDING_LAUNCH_BOUND, { LPO_FACT_GAPS, 3, LPO_NONE }, "torch.compile or", "mode=" },
        { LPO_FINDING_LAUNCH_BOUND,
          { LPO_FACT_COMPILED, 0, LPO_NONE },
          "mode=",
          "torch.compile or" },
        { LPO_FINDING_LAUNCH_BOUND,
          { LPO_FACT_GRAPHS, 9, LPO_NONE },
          "more of the work",
          "compile" },
        { LPO_FINDING_SMALL_KERNELS,
          { LPO_FACT_COMPILED, 0, LPO_NONE },
          "graph breaks",
          "them: torch" },
        { LPO_FINDING_COPIES, { LPO_FACT_HIDES_NS, 10, LPO_NONE }, "Copy less", "another stream" },
        { LPO_FINDING_COMMUNICATION, { LPO_FACT_HIDES_NS, 10, LPO_NONE }, "Send less", "Overlap" },
        { LPO_FINDING_HOST_WORK, { LPO_FACT_IN_OPERATOR, 501, loader }, "num_workers", "Find out" },
        { LPO_FINDING_HOST_WORK, { LPO_FACT_IN_OPERATOR, 500, loader }, "Find out", "num_workers" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct lpo_finding f = { .kind = rows[i].kind, .saving_ns = 1000, .nevidence = 1 };

        f.evidence[0] = rows[i].evidence;
        assert_non_null(strstr(lpo_report_finding_advice(&w, &f), rows[i].has));
        assert_null(strstr(lpo_report_finding_advice(&w, &f), rows[i].lacks));
    }
}

/* Kernels that nobody waits for, and that nothing was counted of: whether they could be faster is
 * not known. */
static void what_is_not_known_is_not_denied(void **state)
{
    LPO_AUTO(lpo_trace) t = late_launch();
    LPO_AUTO(lpo_analysis) a = lpo_analysis_of(t, NULL);
    struct lpo_source s = { .trace = t, .analysis = a };
    struct lpo_findings f = { .any_device = true, .span_ns = 100, .compute_ns = 50 };

    (void)state;
    assert_non_null(strstr(lpo_report_finding_none(&s, &f), "could be faster is not known"));
    f.kernels_judged = true;
    assert_null(strstr(lpo_report_finding_none(&s, &f), "not known"));
    f.kernels_judged = false;
    f.compute_ns = 49; /* most of the time is something else */
    assert_null(strstr(lpo_report_finding_none(&s, &f), "not known"));
}

/* Which tool helps depends on what the trace lacks: calls, or launch records. */
static void why_idle_time_is_unknown(void **state)
{
    static const struct {
        bool launches;
        const char *has;
    } rows[] = { { true, "lpo run since version" }, { false, "Begin the capture earlier" } };

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        LPO_AUTO(lpo_trace) t = late_launch();
        LPO_AUTO(lpo_analysis) a = NULL;
        LPO_AUTO(lpo_findings) f = NULL;
        struct lpo_source s = { .trace = t };

        t->processes.at[0].has_calls = false;
        t->gpu_ops.at[1].start_ns += 100000; /* the gap is more than a fifth of the span */
        t->gpu_ops.at[1].end_ns += 100000;
        if (!rows[i].launches)
            t->gpu_ops.at[1].launch = LPO_NONE;
        s.analysis = a = lpo_analysis_of(t, NULL);
        f = lpo_findings_create(NULL, NULL, a);
        assert_non_null(strstr(lpo_report_finding_none(&s, f), rows[i].has));
    }
}

static void idle_although_launched_is_said(void **state)
{
    LPO_AUTO(lpo_trace) t = late_launch();
    LPO_AUTO(lpo_analysis) a = NULL;
    LPO_AUTO(lpo_analysis) early = NULL;
    LPO_AUTO(lpo_findings) f = NULL;
    LPO_AUTO(lpo_arena) arena = lpo_arena_create();
    struct lpo_source s = { .trace = t };
    struct lpo_finding_words w = { arena, &s, NULL };

    (void)state;
    s.analysis = a = lpo_analysis_of(t, NULL);
    w.findings = f = lpo_findings_create(NULL, NULL, a);
    assert_null(lpo_report_finding_queued(&w)); /* it was late */
    t->launches.at[1].start_ns = 1000;
    s.analysis = early = lpo_analysis_of(t, NULL);
    assert_string_equal(lpo_report_finding_queued(&w),
                        "For 50 us (20.0 %) the GPU was idle although its next work had been "
                        "launched, and none of its streams was busy: it waited for something that "
                        "is not in this trace, such as work of another GPU or process, or records "
                        "are missing. No finding counts that.");
}

static void pinned_memory_only_where_it_is_known_to_help(void **state)
{
    struct lpo_finding f = { .kind = LPO_FINDING_COPIES, .saving_ns = 1000 };

    (void)state;
    assert_null(strstr(lpo_report_finding_advice(NULL, &f), "pinned"));
    f.nevidence = 1;
    f.evidence[0] = (struct lpo_evidence){ LPO_FACT_PAGEABLE_NS, 500, LPO_NONE };
    assert_null(strstr(lpo_report_finding_advice(NULL, &f), "pinned"));
    f.evidence[0].value = 501;
    assert_non_null(strstr(lpo_report_finding_advice(NULL, &f), "pinned"));
    f.nevidence = 2; /* where the rate of pinned copies is known, what they save decides */
    f.evidence[1] = (struct lpo_evidence){ LPO_FACT_PINNED_SAVES_NS, 99, LPO_NONE };
    assert_null(strstr(lpo_report_finding_advice(NULL, &f), "pinned"));
    f.evidence[1].value = 100;
    assert_non_null(strstr(lpo_report_finding_advice(NULL, &f), "pinned"));
}

static void what_is_outside_stands_in_the_caution(void **state)
{
    LPO_AUTO(lpo_trace) t = late_launch();
    const uint32_t op = lpo_trace_name(t, "aten::mm"), kernel = lpo_trace_name(t, "gemm");
    LPO_AUTO(lpo_analysis) a = lpo_analysis_of(t, NULL);
    LPO_AUTO(lpo_arena) arena = lpo_arena_create();
    struct lpo_source s = { .trace = t, .analysis = a };
    struct lpo_finding_words w = { arena, &s, NULL };
    struct lpo_caution c = { .kind = LPO_CAUTION_OUTSIDE, .nevidence = 3 };

    (void)state;
    c.evidence[0] = (struct lpo_evidence){ LPO_FACT_SHARE, 0.5, LPO_NONE };
    c.evidence[1] = (struct lpo_evidence){ LPO_FACT_OUTSIDE_OPERATOR, 0.3, op };
    c.evidence[2] = (struct lpo_evidence){ LPO_FACT_OUTSIDE_KERNEL, 0.1, kernel };
    assert_string_equal(
        lpo_report_finding_caution(&w, &c),
        "50.0 % of the time of all kernels belongs to no marked region (30.0 % under "
        "aten::mm, 10.0 % in gemm): mark those parts of the program too.");
}

/* What is all of a number that the reader has seen is said without it. */
static void a_number_is_said_once(void **state)
{
    LPO_AUTO(lpo_trace) t = late_launch();
    const uint32_t gemm = lpo_trace_name(t, "gemm"), op = lpo_trace_name(t, "aten::mm");
    LPO_AUTO(lpo_analysis) a = lpo_analysis_of(t, NULL);
    LPO_AUTO(lpo_arena) arena = lpo_arena_create();
    struct lpo_source s = { .trace = t, .analysis = a };
    struct lpo_finding_words w = { arena, &s, NULL };
    const struct {
        int64_t saving_ns;
        struct lpo_evidence evidence[4];
        const char *text;
    } rows[] = {
        { 17170000,
          { { LPO_FACT_ALL_NS, 17170000, 0 },
            { LPO_FACT_KERNEL, 17170000, gemm },
            { LPO_FACT_EXPOSED_NS, 17170000, 0 } },
          "all of it is gemm; none of it is hidden; " },
        { 17170000, /* the same digits, not the same number */
          { { LPO_FACT_ALL_NS, 17170003, 0 },
            { LPO_FACT_KERNEL, 17170002, gemm },
            { LPO_FACT_EXPOSED_NS, 17170000, 0 } },
          "nearly all of it is gemm; next to none of it is hidden; " },
        { 5000000,
          { { LPO_FACT_ALL_NS, 17170000, 0 },
            { LPO_FACT_KERNEL, 9000000, gemm },
            { LPO_FACT_EXPOSED_NS, 5000000, 0 },
            { LPO_FACT_SIMULATED_NS, 5000000, 0 } },
          "17.17 ms in all; gemm took 9 ms of that; computing did not cover 5 ms of that; a "
          "simulation of the trace without it ends 5 ms sooner: the program waits for other things "
          "too; " },
        { 5001000,
          { { LPO_FACT_IDLE_NS, 5001000, 0 },
            { LPO_FACT_GAPS, 2, 0 },
            { LPO_FACT_LONGEST_NS, 5000999, 0 },
            { LPO_FACT_IN_OPERATOR, 5001000, op } },
          "the GPU was idle for 5.001 ms; gaps: 2; the longest gap took nearly all of it; for all "
          "of "
          "it the host was in aten::mm; " },
        { 3000000,
          { { LPO_FACT_GPU_NS, 8000000, 0 },
            { LPO_FACT_KERNEL, 8000000, gemm },
            { LPO_FACT_SHORTER_NS, 5000000, 0 } },
          "GPU time 8 ms; all of it is gemm; these kernels would take 5 ms less, but a simulation "
          "of the trace with that ends only 3 ms sooner: the program waits for other things "
          "too; " },
        { 5000000,
          { { LPO_FACT_OTHER_GPUS, 2, 0 },
            { LPO_FACT_OTHER_MIN_NS, 7000000, 0 },
            { LPO_FACT_OTHER_MAX_NS, 7000000, 0 } },
          "other GPUs with the same: 2; there 7 ms each; " },
        { 5000000,
          { { LPO_FACT_GPU_NS, 8000000, 0 }, { LPO_FACT_SHORTER_NS, 5000000, 0 } },
          "GPU time 8 ms; a simulation of the trace with these kernels shorter ends as much "
          "sooner; " },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct lpo_finding f = { .saving_ns = rows[i].saving_ns };
        struct lpo_finding_fact fact;
        LPO_STR text = { 0 };

        for (; f.nevidence < 4 && rows[i].evidence[f.nevidence].value > 0; f.nevidence++)
            f.evidence[f.nevidence] = rows[i].evidence[f.nevidence];
        for (size_t k = 0; lpo_report_finding_evidence(&w, &f, k, &fact); k++)
            lpo_str_addf(&text, "%s; ", fact.text);
        assert_string_equal(lpo_str_text(&text), rows[i].text);
    }
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_TEST(&u, the_last_lines_of_a_run);
    UNIT_TEST(&u, without_gpu_operations_nothing_is_printed);
    UNIT_TEST(&u, everything_has_its_words);
    UNIT_TEST(&u, pinned_memory_only_where_it_is_known_to_help);
    UNIT_TEST(&u, advice_fits_the_facts);
    UNIT_TEST(&u, a_number_is_said_once);
    UNIT_TEST(&u, what_is_not_known_is_not_denied);
    UNIT_TEST(&u, why_idle_time_is_unknown);
    UNIT_TEST(&u, idle_although_launched_is_said);
    UNIT_TEST(&u, what_is_outside_stands_in_the_caution);
    return unit_run(&u);
}
