/* SPDX-License-Identifier: Apache-2.0 */
/* Sampled counters over traces of which the truth is known: each launch moves a stated number of
 * bytes, evenly over its time, and samples count what moves in theirs. */
#include "../unit.h"

#include <math.h>
#include <string.h>

#include "analysis/counters/sampled.h"
#include "region/tree.h"
#include "trace/trace.h"
#include "util/str.h"

enum { INTERVAL = 50000, METRICS = 3 };

static const int64_t start_ns = 1700000000000000000;

static const struct lpo_counters_metric metrics[METRICS] = {
    { "dram__bytes_read.sum", "byte", LPO_COUNTER_DRAM_READ, LPO_COUNTER_AMOUNT, 1 },
    { "sm__cycles_active.avg", "cycle", LPO_COUNTER_SM_CYCLES, LPO_COUNTER_AMOUNT, 1000 },
    { "tensor", "%", LPO_COUNTER_TENSOR_ACTIVE, LPO_COUNTER_SHARE, 10000 },
};

struct sample {
    int64_t start_ns, end_ns;
    double values[METRICS];
    bool lost;
};

/* A trace, what each of its operations moves, and the samples of it. */
struct world {
    struct lpo_trace *trace;
    struct lpo_region_tree *tree;
    struct lpo_counters_sampled *sampled;
    LPO_VEC(double) bytes;   /* per operation */
    LPO_VEC(double) percent; /* tensor cores while it runs */
    LPO_VEC(struct sample) samples;
    size_t at;
    int64_t now_ns;
    enum lpo_counters_meaning first; /* of the first metric; 0: DRAM read */
};

static struct world new_world(void)
{
    struct world w = { .trace = lpo_trace_create(), .now_ns = start_ns };

    w.trace->epoch_ns = 0;
    w.trace->has_ranges = true;
    lpo_trace_process(w.trace, 1, -1);
    lpo_trace_thread(w.trace, 0, 1);
    lpo_trace_device(w.trace, 0, -1);
    lpo_trace_domain(w.trace, "", 0);
    return w;
}

static void end_world(struct world *w)
{
    lpo_counters_sampled_destroy(w->sampled);
    lpo_region_tree_destroy(w->tree);
    lpo_trace_destroy(w->trace);
    lpo_vec_free(&w->bytes);
    lpo_vec_free(&w->percent);
    lpo_vec_free(&w->samples);
}

/* A kernel that runs from `from` on, launched by a call of 1 ns at `launch`. */
static void add_op(struct world *w, const char *name, int64_t launch, int64_t from, int64_t ns,
                   double bytes, double percent)
{
    struct lpo_shape shape = { .grid = { 1, 1, 1 }, .block = { 128, 1, 1 } };
    struct lpo_gpu_op op = { .start_ns = from,
                             .end_ns = from + ns,
                             .name = lpo_trace_name(w->trace, name),
                             .launch = (uint32_t)w->trace->launches.len,
                             .stack = LPO_NONE,
                             .capture = LPO_NONE,
                             .metrics = LPO_NONE,
                             .kind = LPO_KERNEL };

    op.shape = lpo_trace_shape(w->trace, &shape);
    lpo_vec_push(&w->trace->launches,
                 (struct lpo_launch){ .start_ns = launch, .end_ns = launch + 1 });
    lpo_vec_push(&w->trace->gpu_ops, op);
    lpo_vec_push(&w->bytes, bytes);
    lpo_vec_push(&w->percent, percent);
}

/* The next kernel of a stream that is never idle for longer than `gap`. */
static void run(struct world *w, const char *name, int64_t ns, int64_t gap, double bytes)
{
    add_op(w, name, w->now_ns, w->now_ns, ns, bytes, 10);
    w->now_ns += ns + gap;
}

static void range(struct world *w, const char *name, int64_t from, int64_t to)
{
    lpo_vec_push(&w->trace->ranges, (struct lpo_range){ .start_ns = from,
                                                        .end_ns = to,
                                                        .name = lpo_trace_name(w->trace, name),
                                                        .kind = LPO_PUSH_POP });
}

/* Samples of the whole time, `early` before the first operation and `late` after the last one. */
static void sample(struct world *w, int64_t early, int64_t late)
{
    size_t first = 0;

    for (int64_t at = start_ns - early; at < w->now_ns + late; at += INTERVAL) {
        struct sample s = { .start_ns = at, .end_ns = at + INTERVAL };

        for (size_t i = first; i < w->trace->gpu_ops.len; i++) {
            const struct lpo_gpu_op *op = &w->trace->gpu_ops.at[i];
            int64_t from = op->start_ns > s.start_ns ? op->start_ns : s.start_ns;
            int64_t to = op->end_ns < s.end_ns ? op->end_ns : s.end_ns;
            double ns = (double)(op->end_ns - op->start_ns);

            if (op->start_ns >= s.end_ns)
                break;
            if (to <= from)
                continue;
            s.values[0] += w->bytes.at[i] * (double)(to - from) / ns;
            s.values[1] += 1.5 * (double)(to - from);
            s.values[2] += w->percent.at[i] * (double)(to - from) / INTERVAL;
        }
        while (first < w->trace->gpu_ops.len && w->trace->gpu_ops.at[first].end_ns <= at - 1000000)
            first++;
        lpo_vec_push(&w->samples, s);
    }
}

static bool next_sample(void *ctx, struct lpo_counters_sample *out)
{
    struct world *w = ctx;
    const struct sample *s = &w->samples.at[w->at];

    if (w->at >= w->samples.len)
        return false;
    w->at++;
    *out = (struct lpo_counters_sample){ s->start_ns, s->end_ns, s->lost ? NULL : s->values,
                                         s->lost, LPO_COUNTERS_LOST_OVERFLOW };
    return true;
}

static void rewind_samples(void *ctx)
{
    ((struct world *)ctx)->at = 0;
}

static const struct lpo_sampled_gpu *lay(struct world *w)
{
    struct lpo_counters_metric own[METRICS];
    const struct lpo_counters_about about = {
        .chip = "GH100", .interval_ns = INTERVAL, .metrics = own, .nmetrics = METRICS
    };
    const struct lpo_sample_source source = { &about, next_sample, rewind_samples, w };

    memcpy(own, metrics, sizeof own);
    own[0].meaning = w->first ? w->first : own[0].meaning;
    w->tree = lpo_region_tree_create(w->trace);
    w->sampled = lpo_counters_sampled_create(w->tree);
    if (!lpo_counters_lay_samples(w->sampled, w->trace, w->tree, 0, &source))
        return NULL;
    return &w->sampled->gpus.at[0];
}

/* What operations of a region were given, and what they moved. NULL: all operations. */
static double given(const struct world *w, const char *region, size_t metric, double *truth)
{
    uint32_t column = w->sampled->gpus.at[0].metrics[metric].column;
    double sum = 0;

    *truth = 0;
    for (size_t i = 0; i < w->trace->gpu_ops.len; i++) {
        const struct lpo_gpu_op *op = &w->trace->gpu_ops.at[i];
        uint32_t leaf = w->tree->places.at[lpo_region_place(w->tree, op)].leaf;

        if (region && (leaf == LPO_NONE ||
                       strcmp(lpo_trace_text(w->trace, w->tree->nodes.at[leaf].name), region) != 0))
            continue;
        *truth += w->bytes.at[i];
        if (op->metrics != LPO_NONE)
            sum += lpo_trace_metric_get(w->trace, op->metrics, column);
    }
    return sum;
}

static void assert_close(double is, double want, double share)
{
    if (fabs(is - want) > share * fabs(want))
        fail_msg("%.9g is not %.9g within %g", is, want, share);
}

static const struct lpo_sampled_config *config(const struct world *w, const char *name)
{
    const struct lpo_sampled_gpu *g = &w->sampled->gpus.at[0];

    for (size_t i = 0; i < g->configs.len; i++)
        if (strcmp(lpo_trace_text(w->trace, g->configs.at[i].name), name) == 0)
            return &g->configs.at[i];
    fail_msg("no configuration of %s", name);
    return NULL;
}

static double value_of(const struct world *w, const char *name)
{
    return w->sampled->gpus.at[0].value[config(w, name)->unknown];
}

static uint32_t node(const struct world *w, const char *name)
{
    for (uint32_t i = 0; i < w->tree->nodes.len; i++)
        if (strcmp(lpo_trace_text(w->trace, w->tree->nodes.at[i].name), name) == 0)
            return i;
    return LPO_NONE;
}

/* Steps of two regions, kernels of 3 to 40 us that are no multiple of a sample. */
static void steps(struct world *w, int count)
{
    for (int i = 0; i < count; i++) {
        int64_t from = w->now_ns;

        run(w, "big", 40003, 711, 90e6);
        run(w, "small", 3001 + i % 7, 503, 1e6);
        range(w, "A", from, w->now_ns);
        from = w->now_ns;
        run(w, "medium", 11009 + i % 11, 301 + i % 13, 8e6);
        run(w, "medium", 11009, 17000 + 100 * (i % 29), 8e6);
        range(w, "B", from, w->now_ns);
    }
}

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
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_are_what_was_counted),
        cmocka_unit_test(shares_are_means_over_busy_time),
        cmocka_unit_test(overlapping_kernels),
        cmocka_unit_test(borders_are_stated),
        cmocka_unit_test(losses_count_as_the_rest_does),
        { .name = clock_cases[0].name,
          .test_func = clock_is_found,
          .initial_state = (void *)&clock_cases[0] },
        { .name = clock_cases[1].name,
          .test_func = clock_is_found,
          .initial_state = (void *)&clock_cases[1] },
        { .name = clock_cases[2].name,
          .test_func = clock_is_found,
          .initial_state = (void *)&clock_cases[2] },
        cmocka_unit_test(rhythm_is_no_proof),
        cmocka_unit_test(other_processes),
        cmocka_unit_test(sampling_itself_is_taken_out),
        cmocka_unit_test(dram_has_no_baseline),
        cmocka_unit_test(graph_shares_have_no_figures),
        cmocka_unit_test(no_figure_that_data_cannot_support),
        cmocka_unit_test(too_many_configurations),
        cmocka_unit_test(samples_of_another_time),
        cmocka_unit_test(metrics_of_ncu_stay),
        cmocka_unit_test(series_over_time_adds_up),
        cmocka_unit_test(calls_one_by_one),
        cmocka_unit_test(calls_without_dram_traffic),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
