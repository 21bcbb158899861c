/* SPDX-License-Identifier: Apache-2.0 */
/* Sampled counters over traces of which the truth is known: each launch moves a stated number of
 * bytes, evenly over its time, and samples count what moves in theirs. */
#include "sampled_world.h"

static void sums_are_what_was_counted(void **unused)
{
    struct world w = new_world();
    const struct lpo_sampled_gpu *g;
    double is, want;

    (void)unused;
    steps(&w, 600);
    sample(&w, 100000, 100000);
    g = lay(&w);
    assert_non_null(g);
    is = given(&w, NULL, 0, &want);
    assert_close(is, want, 1e-9);
    assert_close(g->metrics[0].total, want, 1e-9);
    is = given(&w, "A", 0, &want);
    assert_close(is, want, 0.002);
    is = given(&w, "B", 0, &want);
    assert_close(is, want, 0.01);
    assert_close(value_of(&w, "big"), 90e6, 0.01);
    assert_close(value_of(&w, "medium"), 8e6, 0.03);
    assert_true(lpo_counters_config_known(g, 0, config(&w, "big")));
    assert_true(g->metrics[0].r2 > 0.99);
    assert_close(g->metrics[0].fitted, 1, 0.005);
    assert_int_equal(g->clock_ns, 0);
    assert_string_equal(g->metrics[0].name, "dram_bytes_read");
    assert_close((double)g->covered_ns, (double)g->gpu_ns, 0.001);
    end_world(&w);
}

/* A share is a mean over the time of the operations, not over idle time. */
static void shares_are_means_over_busy_time(void **unused)
{
    struct world w = new_world();
    const struct lpo_sampled_gpu *g;

    (void)unused;
    for (int i = 0; i < 400; i++)
        run(&w, "k", 30007, 30011 + 100 * (i % 31), 1e6); /* half of the time idle */
    sample(&w, 0, 0);
    g = lay(&w);
    assert_non_null(g);
    assert_close(
        lpo_trace_metric_get(w.trace, w.trace->gpu_ops.at[5].metrics, g->metrics[2].column), 10,
        0.001);
    assert_int_equal(w.trace->metrics.at[g->metrics[2].column].combine, LPO_TIME_WEIGHTED);
    assert_int_equal(w.trace->metrics.at[g->metrics[0].column].combine, LPO_SUM);
    assert_true(w.trace->metrics.at[g->metrics[0].column].sampled);
    end_world(&w);
}

/* Two streams: what runs at one time is told apart by what each does alone. */
static void overlapping_kernels(void **unused)
{
    struct world w = new_world();
    const struct lpo_sampled_gpu *g;
    double is, want;

    (void)unused;
    for (int i = 0; i < 800; i++) {
        add_op(&w, "fast", w.now_ns, w.now_ns, 60000, 60e6, 50);
        if (i % 3)
            add_op(&w, "slow", w.now_ns + 1, w.now_ns + 20000 + 1000 * (i % 17), 60000, 6e6, 5);
        w.now_ns += 121000 + 700 * (i % 23);
    }
    sample(&w, 0, 0);
    g = lay(&w);
    assert_non_null(g);
    is = given(&w, NULL, 0, &want);
    assert_close(is, want, 1e-9);
    assert_close(value_of(&w, "fast"), 60e6, 0.02);
    assert_close(value_of(&w, "slow"), 6e6, 0.1);
    end_world(&w);
}

/* One long sample holds the end of A and the begin of B: that time could be either's. */
static void borders_are_stated(void **unused)
{
    struct world w = new_world();
    double ns;

    (void)unused;
    for (int i = 0; i < 300; i++) {
        int64_t from = w.now_ns;

        run(&w, "a", 100000 + 10 * (i % 13), 0, 50e6);
        range(&w, "A", from, w.now_ns);
        from = w.now_ns;
        run(&w, "b", 130000 + 10 * (i % 7), 0, 5e6);
        range(&w, "B", from, w.now_ns);
    }
    range(&w, "all", start_ns - 5, w.now_ns + 5); /* holds both */
    sample(&w, 0, 0);
    assert_non_null(lay(&w));
    ns = w.sampled->borders[node(&w, "A")].ns;
    /* two borders of each visit, half a sample of A's time at each of them on average */
    assert_close(ns, 300 * 50000.0, 0.1);
    assert_true(w.sampled->borders[node(&w, "A")].bytes > 0);
    assert_true(w.sampled->borders[node(&w, "all")].ns == 0);
    end_world(&w);
}

static void losses_count_as_the_rest_does(void **unused)
{
    struct world w = new_world();
    const struct lpo_sampled_gpu *g;
    double is, want;

    (void)unused;
    steps(&w, 600);
    sample(&w, 0, 0);
    for (size_t i = 100; i < 140; i++)
        w.samples.at[i].lost = true;
    g = lay(&w);
    assert_non_null(g);
    assert_int_equal(g->lost, 40);
    assert_int_equal(g->lost_ns, 40 * INTERVAL);
    is = given(&w, NULL, 0, &want);
    assert_close(is, want, 0.005);
    assert_true(g->metrics[0].total < 0.99 * want);
    assert_true(g->covered_ns < g->gpu_ns - 30 * INTERVAL / 2);
    end_world(&w);
}

/* A program without a rhythm, on another clock. */
static void irregular(struct world *w)
{
    for (int i = 0; i < 1500; i++)
        run(w, i % 2 ? "x" : "y", 20000 + (int64_t)i * 7919 % 90000, (int64_t)i * 104729 % 150000,
            10e6);
}

static const struct clock_case {
    const char *name;
    int64_t offset_ns;
} clock_cases[] = {
    { "clocks differ by many samples", 3210000 },
    { "clocks differ by many samples, the other way", -4777000 },
    { "clocks differ by less than a sample", 19000 },
};

static void clock_is_found(void **state)
{
    const struct clock_case *c = *state;
    struct world w = new_world();
    const struct lpo_sampled_gpu *g;

    irregular(&w);
    sample(&w, 10000000, 10000000);
    for (size_t i = 0; i < w.samples.len; i++) {
        w.samples.at[i].start_ns += c->offset_ns;
        w.samples.at[i].end_ns += c->offset_ns;
    }
    g = lay(&w);
    assert_non_null(g);
    assert_true(g->clock_sure);
    assert_true(llabs(g->clock_ns - c->offset_ns) < 2500);
    end_world(&w);
}

/* The sampler made its interval eight times as long in the middle of the run: each region has the
 * bytes that it moved, and the file's own words say which samples were which. */
static void an_interval_that_becomes_longer(void **unused)
{
    const int64_t middle = start_ns + 20000000, longer = 8 * INTERVAL;
    struct world w = new_world();
    const struct lpo_sampled_gpu *g;
    uint64_t bins = 0;
    double is, want;

    (void)unused;
    steps(&w, 600);
    sample_paces(&w, 100000, 1000000, middle, longer);
    g = lay(&w);
    assert_non_null(g);
    is = given(&w, NULL, 0, &want);
    assert_close(is, want, 1e-9);
    assert_close(g->metrics[0].total, want, 1e-9);
    is = given(&w, "A", 0, &want);
    assert_close(is, want, 0.005);
    is = given(&w, "B", 0, &want);
    assert_close(is, want, 0.03);
    assert_int_equal(g->interval_ns, INTERVAL);
    assert_int_equal(g->intervals.len, 2);
    assert_int_equal(g->intervals.at[0].interval_ns, INTERVAL);
    assert_int_equal(g->intervals.at[1].interval_ns, longer);
    assert_true(llabs(g->intervals.at[1].from_ns - middle) < INTERVAL);
    assert_int_equal(g->intervals.at[0].samples + g->intervals.at[1].samples, g->samples);
    assert_int_equal(g->intervals.at[0].samples, (20000000 + 100000) / INTERVAL);
    /* the series over time has a sample in each bin but the last, where it may lie behind it */
    assert_true(g->bin_ns >= longer);
    for (size_t i = 0; i < g->bins; i++)
        bins += g->series[i * (g->nmetrics + 1) + g->nmetrics] > 0;
    assert_true(bins + 1 >= g->bins);
    end_world(&w);
}

/* Where both are on one clock, samples of many steps each do not move it either. */
static void long_samples_move_no_clock(void **unused)
{
    struct world w = new_world();
    const struct lpo_sampled_gpu *g;
    double is, want;

    (void)unused;
    for (int i = 0; i < 40; i++) {
        steps(&w, 100);
        w.now_ns += (int64_t)i * 104729 % 1500000;
    }
    sample_paces(&w, 100000, 1000000, 0, 32 * INTERVAL);
    g = lay(&w);
    assert_non_null(g);
    assert_int_equal(g->interval_ns, 32 * INTERVAL);
    assert_int_equal(g->clock_ns, 0);
    is = given(&w, "A", 0, &want);
    assert_close(is, want, 0.005);
    end_world(&w);
}

/* Samples of one interval are enough for the lags: those of the first, or else of the second. */
static const struct pace_clock_case {
    const char *name;
    int64_t change_ns; /* after the start */
} pace_clock_cases[] = {
    { "clocks differ, and the interval changes late", 120000000 },
    { "clocks differ, and the interval changes early", 3000000 },
};

static void clock_is_found_over_intervals(void **state)
{
    const struct pace_clock_case *c = *state;
    const int64_t offset = 3210000;
    struct world w = new_world();
    const struct lpo_sampled_gpu *g;

    irregular(&w);
    sample_paces(&w, 10000000, 10000000, start_ns + c->change_ns, 2 * INTERVAL);
    for (size_t i = 0; i < w.samples.len; i++) {
        w.samples.at[i].start_ns += offset;
        w.samples.at[i].end_ns += offset;
    }
    g = lay(&w);
    assert_non_null(g);
    assert_true(g->clock_sure);
    assert_true(llabs(g->clock_ns - offset) < 5000);
    end_world(&w);
}

/* Equal steps fit themselves again: the clock must not be moved by a step. */
static void rhythm_is_no_proof(void **unused)
{
    struct world w = new_world();
    const struct lpo_sampled_gpu *g;

    (void)unused;
    for (int i = 0; i < 1500; i++)
        run(&w, "k", 100000, 100000, 10e6);
    sample(&w, 10000000, 10000000);
    for (size_t i = 0; i < w.samples.len; i++) {
        w.samples.at[i].start_ns += 600000;
        w.samples.at[i].end_ns += 600000;
    }
    g = lay(&w);
    assert_non_null(g);
    assert_int_equal(g->clock_ns, 0);
    end_world(&w);
}

static void other_processes(void **unused)
{
    struct world w = new_world();
    const struct lpo_sampled_gpu *g;
    double is, want, extra = 0;

    (void)unused;
    for (int i = 0; i < 300; i++)
        run(&w, "k", 30000, 270000, 30e6);
    sample(&w, 200000, 200000);
    for (size_t i = 0; i < w.samples.len; i++) { /* somebody else, where we are idle */
        struct sample *s = &w.samples.at[i];

        if (s->values[0] == 0 && s->start_ns > start_ns && s->end_ns < w.now_ns - 270000) {
            s->values[0] = 1e6;
            extra += 1e6;
        }
    }
    w.samples.at[0].values[0] = 5e6; /* before the program */
    g = lay(&w);
    assert_non_null(g);
    is = given(&w, NULL, 0, &want);
    assert_close(is, want, 1e-6); /* none of it is ours */
    assert_close(g->metrics[0].others, extra, 0.02);
    assert_close(g->metrics[0].outside, 5e6, 1e-9);
    end_world(&w);
}

/* Samples travel over PCIe themselves: that is no region's. */
static void sampling_itself_is_taken_out(void **unused)
{
    struct world w = new_world();
    const struct lpo_sampled_gpu *g;
    double is, want;

    (void)unused;
    w.first = LPO_COUNTER_PCIE_WRITE;
    steps(&w, 600);
    sample(&w, 3000000, 100000);
    for (size_t i = 0; i < w.samples.len; i++)
        w.samples.at[i].values[0] += 14336;
    w.samples.at[7].values[0] += 5e9; /* somebody copies */
    g = lay(&w);
    assert_non_null(g);
    assert_string_equal(g->metrics[0].name, "pcie_bytes_written");
    assert_close(g->metrics[0].baseline * INTERVAL, 14336, 1e-9);
    is = given(&w, NULL, 0, &want);
    assert_close(is, want, 1e-6);
    assert_close(g->metrics[0].outside, 5e9, 1e-6);
    end_world(&w);
}

/* A sample of twice the time moves no more by itself. */
static void sampling_itself_is_less_at_a_longer_interval(void **unused)
{
    struct world w = new_world();
    const struct lpo_sampled_gpu *g;
    double is, want;

    (void)unused;
    w.first = LPO_COUNTER_PCIE_WRITE;
    steps(&w, 600);
    sample_paces(&w, 3000000, 1000000, start_ns + 20000000, 8 * INTERVAL);
    for (size_t i = 0; i < w.samples.len; i++)
        w.samples.at[i].values[0] += 14336;
    g = lay(&w);
    assert_non_null(g);
    assert_close(g->metrics[0].baseline * INTERVAL, 14336, 1e-9);
    is = given(&w, NULL, 0, &want);
    assert_close(is, want, 1e-6);
    end_world(&w);
}

/* DRAM bytes of others are not told apart by their rate: nothing is taken out. */
static void dram_has_no_baseline(void **unused)
{
    struct world w = new_world();
    const struct lpo_sampled_gpu *g;

    (void)unused;
    steps(&w, 300);
    sample(&w, 3000000, 100000);
    for (size_t i = 0; i < w.samples.len; i++)
        w.samples.at[i].values[0] += 14336;
    g = lay(&w);
    assert_non_null(g);
    assert_true(g->metrics[0].baseline == 0);
    end_world(&w);
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_TEST(&u, sums_are_what_was_counted);
    UNIT_TEST(&u, shares_are_means_over_busy_time);
    UNIT_TEST(&u, overlapping_kernels);
    UNIT_TEST(&u, borders_are_stated);
    UNIT_TEST(&u, losses_count_as_the_rest_does);
    UNIT_ROWS(&u, clock_cases, clock_is_found);
    UNIT_TEST(&u, an_interval_that_becomes_longer);
    UNIT_TEST(&u, long_samples_move_no_clock);
    UNIT_ROWS(&u, pace_clock_cases, clock_is_found_over_intervals);
    UNIT_TEST(&u, rhythm_is_no_proof);
    UNIT_TEST(&u, other_processes);
    UNIT_TEST(&u, sampling_itself_is_taken_out);
    UNIT_TEST(&u, sampling_itself_is_less_at_a_longer_interval);
    UNIT_TEST(&u, dram_has_no_baseline);
    return unit_run(&u);
}
