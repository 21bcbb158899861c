/* SPDX-License-Identifier: Apache-2.0 */
#include "../unit.h"

#include <math.h>

#include "analysis/counters/match.h"
#include "analysis/counters/overlay.h"
#include "region/tree.h"
#include "trace/reader.h"
#include "trace/trace.h"
#include "util/err.h"
#include "util/map.h"
#include "util/str.h"

/* name, linker name, grid x, duration, value of x.sum, value of y.pct (NAN: not measured) */
struct row {
    const char *kernel, *linker;
    uint32_t grid;
    int64_t ns;
    double sum, pct;
};

static struct lpo_overlay lay(struct lpo_trace *base, const struct lpo_trace *counters)
{
    LPO_AUTO(lpo_region_tree) base_tree = lpo_region_tree_create(base);
    LPO_AUTO(lpo_region_tree) counters_tree = lpo_region_tree_create(counters);

    return lpo_counters_overlay(base, base_tree, counters_tree);
}

static void add(struct lpo_trace *t, const struct row *r, bool with_metrics)
{
    struct lpo_shape shape = { .grid = { r->grid, 1, 1 }, .block = { 128, 1, 1 } };
    struct lpo_gpu_op w = { .start_ns = (int64_t)t->gpu_ops.len * 1000,
                            .end_ns = (int64_t)t->gpu_ops.len * 1000 + r->ns,
                            .name = lpo_trace_name(t, r->kernel),
                            .linker = lpo_trace_name(t, r->linker),
                            .launch = LPO_NONE,
                            .stack = LPO_NONE,
                            .capture = LPO_NONE,
                            .metrics = LPO_NONE,
                            .kind = LPO_KERNEL };

    w.shape = lpo_trace_shape(t, &shape);
    if (with_metrics) {
        uint32_t sum = lpo_trace_metric(t, "x.sum", 5, "byte");
        uint32_t pct = lpo_trace_metric(t, "y.pct", 5, "%");
        uint32_t time = lpo_trace_metric(t, "z.sum", 5, "ns");

        w.metrics = lpo_trace_metric_row(t);
        lpo_trace_metric_set(t, w.metrics, sum, r->sum);
        lpo_trace_metric_set(t, w.metrics, pct, r->pct);
        lpo_trace_metric_set(t, w.metrics, time, (double)r->ns);
    }
    lpo_vec_push(&t->gpu_ops, w);
}

static const struct row measured[] = {
    { "at::gemm", "_gemm", 8, 100, 1000, 50 },
    { "at::gemm", "_gemm", 8, 120, 1200, 60 },
    { "at::add", "_add", 4, 10, 7, NAN },
};

static const struct row all[] = {
    { "at::native::gemm", "_gemm", 8, 90, 0, 0 },   /* the first measured one: other spelling */
    { "at::native::gemm", "_gemm", 8, 110, 0, 0 },  /* the second */
    { "at::native::gemm", "_gemm", 8, 105, 0, 0 },  /* like them */
    { "at::native::gemm", "_gemm", 8, 200, 0, 0 },  /* same configuration, twice the time */
    { "at::native::gemm", "_gemm", 16, 300, 0, 0 }, /* same kernel, other grid */
    { "at::native::add", "_add", 4, 11, 0, 0 },
    { "at::native::other", "_other", 4, 5, 0, 0 }, /* never measured */
};

static double value(const struct lpo_trace *t, size_t gpu_op, const char *metric)
{
    return lpo_trace_metric_get(t, t->gpu_ops.at[gpu_op].metrics, lpo_trace_metric_find(t, metric));
}

static void representatives_cover_the_trace(void **state)
{
    LPO_AUTO(lpo_trace) base = lpo_trace_create();
    LPO_AUTO(lpo_trace) counters = lpo_trace_create();
    struct lpo_overlay o;

    (void)state;
    for (size_t i = 0; i < sizeof measured / sizeof *measured; i++)
        add(counters, &measured[i], true);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        add(base, &all[i], false);
    o = lay(base, counters);
    assert_int_equal(o.launches, 7);
    assert_int_equal(o.measured, 3);
    assert_int_equal(o.by_shape, 5);
    assert_int_equal(o.by_name, 1);
    assert_int_equal(o.uncovered, 1);
    assert_int_equal(o.measured_ns, 90 + 110 + 11);
    assert_int_equal(o.by_shape_ns, 90 + 110 + 105 + 200 + 11);
    assert_int_equal(o.uncovered_ns, 5);
    assert_int_equal(o.configs, 2);
    assert_int_equal(o.readings, 3);

    /* the measured launches keep their own values */
    assert_true(value(base, 0, "x.sum") == 1000);
    assert_true(value(base, 1, "x.sum") == 1200);
    assert_false(base->gpu_ops.at[0].flags & LPO_GPU_OP_ESTIMATED);
    /* a launch like them gets their mean and their spread */
    assert_true(value(base, 2, "x.sum") == 1100);
    assert_true(value(base, 2, "y.pct") == 55);
    assert_true(fabs(value(base, 2, "x.sum:sd") - 141.42) < 0.01);
    assert_true(base->gpu_ops.at[2].flags & LPO_GPU_OP_ESTIMATED);
    /* twice the time of the measured ones: twice the bytes (in steps of 1 %), the same percentage
     */
    assert_true(fabs(value(base, 3, "x.sum") - 2200) < 22);
    assert_true(value(base, 3, "y.pct") == 55);
    /* another grid: twice the threads, twice the bytes; its time goes by time, three times 110 ns
     */
    assert_true(fabs(value(base, 4, "x.sum") - 2200) < 22);
    assert_true(fabs(value(base, 4, "z.sum") - 330) < 3.3);
    assert_true(value(base, 4, "y.pct") == 55);
    /* one reading has no spread, an unknown metric stays unknown, an unmeasured kernel too */
    assert_true(isnan(value(base, 5, "x.sum:sd")));
    assert_true(isnan(value(base, 5, "y.pct")));
    assert_int_equal(base->gpu_ops.at[6].metrics, LPO_NONE);
}

/* Time that is a share of a CUDA graph's says nothing of how much a kernel had to do. */
static void shares_do_not_scale_counters(void **state)
{
    LPO_AUTO(lpo_trace) base = lpo_trace_create();
    LPO_AUTO(lpo_trace) counters = lpo_trace_create();

    (void)state;
    for (size_t i = 0; i < sizeof measured / sizeof *measured; i++)
        add(counters, &measured[i], true);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        add(base, &all[i], false);
    base->gpu_ops.at[3].flags |= LPO_GPU_OP_GRAPH | LPO_GPU_OP_SHARE; /* twice the time */
    lay(base, counters);
    assert_true(value(base, 3, "x.sum") == 1100);
}

/* A real capture of every kernel (tests/data/ncu/llm_light_raw.csv.gz: a 2-layer Llama, 316
 * kernels): the first K of each configuration are taken for all that ncu measured, the whole for
 * the trace, and what is laid over it is held against what was read. */
static const struct real_case {
    const char *name;
    uint64_t per_config;
    const char *region, *metric;
    double within; /* per cent */
    bool bare;     /* names as --kernel-name-base function */
} real_cases[] = {
    { "one each: prefill, time", 1, "prefill", "gpu__time_duration.sum", 2 },
    { "one each: prefill, DRAM bytes", 1, "prefill", "dram__bytes.sum", 5 },
    { "one each: decode, time", 1, "decode", "gpu__time_duration.sum", 2 },
    { "one each: decode, DRAM bytes", 1, "decode", "dram__bytes.sum", 5 },
    { "four each: prefill, time", 4, "prefill", "gpu__time_duration.sum", 1 },
    { "four each: prefill, DRAM bytes", 4, "prefill", "dram__bytes.sum", 1 },
    { "four each: decode, time", 4, "decode", "gpu__time_duration.sum", 1 },
    { "four each: decode, DRAM bytes", 4, "decode", "dram__bytes.sum", 3 },
    { "one a function: prefill, time", 1, "prefill", "gpu__time_duration.sum", 5, true },
    { "one a function: prefill, DRAM bytes", 1, "prefill", "dram__bytes.sum", 10, true },
    { "one a function: decode, time", 1, "decode", "gpu__time_duration.sum", 5, true },
    { "one a function: decode, DRAM bytes", 1, "decode", "dram__bytes.sum", 10, true },
    { "four a function: prefill, time", 4, "prefill", "gpu__time_duration.sum", 5, true },
    { "four a function: prefill, DRAM bytes", 4, "prefill", "dram__bytes.sum", 10, true },
    { "four a function: decode, time", 4, "decode", "gpu__time_duration.sum", 5, true },
    { "four a function: decode, DRAM bytes", 4, "decode", "dram__bytes.sum", 10, true },
};

static struct lpo_trace *read_capture(void)
{
    struct lpo_trace *t = lpo_trace_create();
    struct lpo_err err = { 0 };
    char path[1024];

    snprintf(path, sizeof path, "%s/tests/data/ncu/llm_light_raw.csv.gz",
             unit_env("LPO_SOURCE_ROOT", "."));
    if (lpo_trace_read(path, t, &err) < 0)
        fail_msg("%s", lpo_err_cause(&err));
    for (size_t i = 0; i < t->gpu_ops.len;
         i++) { /* ncu gives lengths only: lay them side by side */
        int64_t ns = lpo_trace_gpu_op_ns(&t->gpu_ops.at[i]);

        t->gpu_ops.at[i].start_ns = (int64_t)i * 1000000;
        t->gpu_ops.at[i].end_ns = t->gpu_ops.at[i].start_ns + ns;
    }
    return t;
}

/* What ncu's per-launch-config counts: by the whole name when asked for mangled names, otherwise
 * by the bare function name, so that instances of one template share their count. */
static void config_key(const struct lpo_counters_match *m, const struct lpo_trace *t,
                       const struct lpo_gpu_op *w, bool bare, struct lpo_str *key)
{
    size_t len = lpo_trace_text_len(t, w->name);
    const char *name = lpo_trace_text(t, w->name), *end = memchr(name, '<', len);

    lpo_counters_match_shape_key(m, t, w, key);
    if (bare && end) {
        lpo_str_clear(key);
        lpo_str_addn(key, name, (size_t)(end - name));
        lpo_str_addn(key, (const char *)&t->shapes.at[w->shape], 6 * sizeof(uint32_t));
    }
}

static void keep_first(struct lpo_trace *t, uint64_t per_config, bool bare)
{
    LPO_AUTO(lpo_region_tree) tree = lpo_region_tree_create(t);
    LPO_AUTO(lpo_counters_match) match = lpo_counters_match_create(tree, tree);
    LPO_AUTO(lpo_map) seen = lpo_map_create();
    LPO_STR key = { 0 };

    for (size_t i = 0; i < t->gpu_ops.len; i++) {
        config_key(match, t, &t->gpu_ops.at[i], bare, &key);
        if ((*lpo_map_put(seen, key.at, key.len, NULL))++ >= per_config)
            t->gpu_ops.at[i].metrics = LPO_NONE;
    }
}

static double known(double v)
{
    return isnan(v) ? 0 : v;
}

static double region_sum(const struct lpo_trace *t, const char *region, const char *metric)
{
    uint32_t column = lpo_trace_metric_find(t, metric);
    double sum = 0;

    for (size_t i = 0; i < t->gpu_ops.len; i++) {
        const struct lpo_stack *s = &t->stacks.at[t->gpu_ops.at[i].stack];

        if (s->count && strcmp(lpo_trace_text(t, t->frames.at[s->first].name), region) == 0)
            sum += known(lpo_trace_metric_get(t, t->gpu_ops.at[i].metrics, column));
    }
    return sum;
}

static void check_real(void **state)
{
    const struct real_case *c = *state;
    LPO_AUTO(lpo_trace) truth = read_capture();
    LPO_AUTO(lpo_trace) base = read_capture();
    LPO_AUTO(lpo_trace) counters = read_capture();
    double want, have;

    keep_first(counters, c->per_config, c->bare);
    for (size_t i = 0; i < base->gpu_ops.len; i++)
        base->gpu_ops.at[i].metrics = LPO_NONE;
    if (lay(base, counters).uncovered && !c->bare)
        fail_msg("some kernels have no values");
    want = region_sum(truth, c->region, c->metric);
    have = region_sum(base, c->region, c->metric);
    if (!(fabs(have / want - 1) * 100 <= c->within))
        fail_msg("%g instead of %g: %.2f %%", have, want, (have / want - 1) * 100);
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_TEST(&u, representatives_cover_the_trace);
    UNIT_TEST(&u, shares_do_not_scale_counters);
    UNIT_ROWS(&u, real_cases, check_real);
    return unit_run(&u);
}
