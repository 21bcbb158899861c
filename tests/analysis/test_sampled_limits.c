/* SPDX-License-Identifier: Apache-2.0 */
/* Sampled counters where they say little or nothing: shares of graphs, kernels that are never
 * alone, too many configurations, other times; and what they say about single calls. */
#include "sampled_world.h"

/* Shares of a CUDA graph's time: sums by region, nothing by kernel. */
static void graph_shares_have_no_figures(void **unused)
{
    struct world w = new_world();
    const struct lpo_sampled_gpu *g;
    double is, want;

    (void)unused;
    steps(&w, 300);
    for (size_t i = 0; i < w.trace->gpu_ops.len; i++)
        w.trace->gpu_ops.at[i].flags |= LPO_GPU_OP_SHARE | LPO_GPU_OP_GRAPH;
    sample(&w, 0, 0);
    g = lay(&w);
    assert_non_null(g);
    assert_int_equal(g->shares, w.trace->gpu_ops.len);
    is = given(&w, NULL, 0, &want);
    assert_close(is, want, 1e-9);
    for (size_t i = 0; i < g->configs.len; i++)
        assert_false(lpo_counters_config_known(g, 0, &g->configs.at[i]));
    end_world(&w);
}

/* A kernel that is never without its neighbour, and far shorter than a sample. */
static void no_figure_that_data_cannot_support(void **unused)
{
    struct world w = new_world();
    const struct lpo_sampled_gpu *g;

    (void)unused;
    for (int i = 0; i < 3000; i++) {
        run(&w, "gemm_large", 20000, 200, 60e6);
        run(&w, "elementwise_tiny", 900, 200, 5e3);
    }
    sample(&w, 0, 0);
    g = lay(&w);
    assert_non_null(g);
    assert_true(lpo_counters_config_known(g, 0, config(&w, "gemm_large")));
    assert_false(lpo_counters_config_known(g, 0, config(&w, "elementwise_tiny")));
    end_world(&w);
}

static void too_many_configurations(void **unused)
{
    struct world w = new_world();
    const struct lpo_sampled_gpu *g;
    size_t single = 0;
    double is, want;

    (void)unused;
    for (int i = 0; i < 4000; i++) {
        char name[32];

        snprintf(name, sizeof name, "kernel_%d", i % 1300);
        run(&w, name, 20000 + i % 1300 * 3, 1000, 1e6);
    }
    sample(&w, 0, 0);
    g = lay(&w);
    assert_non_null(g);
    assert_int_equal(g->configs.len, 1300);
    assert_true(g->unknowns <= LPO_SAMPLED_UNKNOWNS);
    for (size_t i = 0; i < g->configs.len; i++)
        single += g->configs.at[i].single;
    assert_true(single > 900 && single < 1300);
    is = given(&w, NULL, 0, &want);
    assert_close(is, want, 1e-9);
    end_world(&w);
}

static void samples_of_another_time(void **unused)
{
    struct world w = new_world();

    (void)unused;
    steps(&w, 50);
    sample(&w, 0, 0);
    for (size_t i = 0; i < w.samples.len; i++) {
        w.samples.at[i].start_ns += 3600000000000;
        w.samples.at[i].end_ns += 3600000000000;
    }
    assert_null(lay(&w));
    assert_int_equal(w.trace->metrics.len, 0);
    assert_int_equal(w.trace->gpu_ops.at[0].metrics, LPO_NONE);
    end_world(&w);
}

/* Values that ncu measured of the same kernels stay. */
static void metrics_of_ncu_stay(void **unused)
{
    struct world w = new_world();
    uint32_t column = lpo_trace_metric(w.trace, "x.sum", 5, "byte"), row;
    const struct lpo_sampled_gpu *g;

    (void)unused;
    steps(&w, 100);
    row = lpo_trace_metric_row(w.trace);
    lpo_trace_metric_set(w.trace, row, column, 77);
    w.trace->gpu_ops.at[0].metrics = row;
    sample(&w, 0, 0);
    g = lay(&w);
    assert_non_null(g);
    assert_float_equal(lpo_trace_metric_get(w.trace, w.trace->gpu_ops.at[0].metrics, column), 77,
                       0);
    assert_true(
        lpo_trace_metric_get(w.trace, w.trace->gpu_ops.at[0].metrics, g->metrics[0].column) > 80e6);
    assert_int_equal(w.trace->gpu_ops.at[0].flags & LPO_GPU_OP_SAMPLED, 0);
    assert_int_equal(w.trace->gpu_ops.at[4].flags & LPO_GPU_OP_SAMPLED, LPO_GPU_OP_SAMPLED);
    end_world(&w);
}

static void series_over_time_adds_up(void **unused)
{
    struct world w = new_world();
    const struct lpo_sampled_gpu *g;
    double sum = 0, ns = 0;

    (void)unused;
    steps(&w, 4000);
    sample(&w, 0, 0);
    g = lay(&w);
    assert_non_null(g);
    assert_true(g->bins <= LPO_SAMPLED_BINS && g->bins > LPO_SAMPLED_BINS / 2);
    for (size_t i = 0; i < g->bins; i++) {
        sum += g->series[i * (METRICS + 1)];
        ns += g->series[i * (METRICS + 1) + METRICS];
    }
    assert_close(sum, g->metrics[0].total, 1e-9);
    assert_close(ns, (double)(g->samples * INTERVAL), 0.001);
    end_world(&w);
}

/* Calls of 400 us move 50 MB and one more each time, with the first of all twice as much; calls of
 * 20 us are never alone in a sample. */
static void calls_one_by_one(void **unused)
{
    struct world w = new_world();
    const struct lpo_sampled_gpu *g;
    struct lpo_call_spread s;
    uint32_t a, b;

    (void)unused;
    w.first = LPO_COUNTER_DRAM_BYTES;
    for (int i = 0; i < 41; i++) {
        int64_t from = w.now_ns;

        run(&w, i ? "long" : "first", 400000, 0, i ? 50e6 + 1e6 * i : 100e6);
        range(&w, "A", from, w.now_ns);
        w.now_ns += INTERVAL + 7 * (i % 13); /* nothing runs beside it in its last sample */
        run(&w, "outside", 60000, 500, 2e6);
        from = w.now_ns;
        run(&w, "short", 20000, 300, 1e6);
        range(&w, "B", from, w.now_ns);
        run(&w, "outside", 60000, 500, 2e6);
    }
    sample(&w, 0, 0);
    w.samples.at[w.samples.len / 2].lost = true; /* may be a part of one call */
    g = lay(&w);
    assert_non_null(g);
    a = node(&w, "A");
    s = lpo_counters_call_spread(g, &a, 1);
    assert_int_equal(s.calls, 41);
    assert_true(s.counted >= 40);
    assert_close(s.first[LPO_CALL_DRAM_BYTES].value, 100e6, 0.02);
    assert_close(s.least[LPO_CALL_DRAM_BYTES].value, 51e6, 0.02);
    assert_close(s.median[LPO_CALL_DRAM_BYTES].value, 70.5e6, 0.02);
    assert_close(s.most[LPO_CALL_DRAM_BYTES].value, 90e6, 0.02);
    assert_close(s.most[LPO_CALL_DRAM_RATE].value, 90e6 / 400e-6, 0.02);
    assert_close(s.median[LPO_CALL_TENSOR_ACTIVE].value, 10, 0.02);
    assert_false(lpo_measure_known(s.median[LPO_CALL_SM_ACTIVE])); /* cycles, not a share */
    assert_true(s.border_ns < 0.25 * s.gpu_ns);
    b = node(&w, "B");
    s = lpo_counters_call_spread(g, &b, 1);
    assert_int_equal(s.calls, 41);
    assert_int_equal(s.counted, 0);
    assert_false(lpo_measure_known(s.median[LPO_CALL_DRAM_BYTES]));
    s = lpo_counters_call_spread(g, (const uint32_t[]){ a, b }, 2);
    assert_int_equal(s.calls, 82);
    end_world(&w);
}

/* Read without written, or the other way round, is no traffic. */
static void calls_without_dram_traffic(void **unused)
{
    struct world w = new_world();
    const struct lpo_sampled_gpu *g;
    struct lpo_call_spread s;
    uint32_t a;

    (void)unused;
    for (int i = 0; i < 20; i++) {
        int64_t from = w.now_ns;

        run(&w, "long", 400000, 100000, 50e6);
        range(&w, "A", from, w.now_ns);
    }
    sample(&w, 0, 0);
    g = lay(&w);
    assert_non_null(g);
    a = node(&w, "A");
    s = lpo_counters_call_spread(g, &a, 1);
    assert_int_equal(s.counted, 20);
    assert_false(lpo_measure_known(s.median[LPO_CALL_DRAM_BYTES]));
    assert_close(s.median[LPO_CALL_TENSOR_ACTIVE].value, 10, 0.02);
    end_world(&w);
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_TEST(&u, graph_shares_have_no_figures);
    UNIT_TEST(&u, no_figure_that_data_cannot_support);
    UNIT_TEST(&u, too_many_configurations);
    UNIT_TEST(&u, samples_of_another_time);
    UNIT_TEST(&u, metrics_of_ncu_stay);
    UNIT_TEST(&u, series_over_time_adds_up);
    UNIT_TEST(&u, calls_one_by_one);
    UNIT_TEST(&u, calls_without_dram_traffic);
    return unit_run(&u);
}
