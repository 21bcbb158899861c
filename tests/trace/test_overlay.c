#include "../unit.h"

#include <math.h>

#include "trace/overlay.h"
#include "trace/trace.h"

/* name, linker name, grid x, duration, value of x.sum, value of y.pct (NAN: not measured) */
struct row {
    const char *kernel, *linker;
    uint32_t grid;
    int64_t ns;
    double sum, pct;
};

static void add(struct lpo_trace *t, const struct row *r, bool with_metrics)
{
    struct lpo_shape shape = { .grid = { r->grid, 1, 1 }, .block = { 128, 1, 1 } };
    struct lpo_work w = { .end_ns = r->ns,
                          .name = lpo_trace_name(t, r->kernel),
                          .linker = lpo_trace_name(t, r->linker),
                          .launch = LPO_NONE,
                          .stack = LPO_NONE,
                          .capture_stack = LPO_NONE,
                          .metrics = LPO_NONE,
                          .kind = LPO_KERNEL };

    w.shape = lpo_trace_shape(t, &shape);
    if (with_metrics) {
        uint32_t sum = lpo_trace_metric(t, "x.sum", 5, "byte");
        uint32_t pct = lpo_trace_metric(t, "y.pct", 5, "%");

        w.metrics = lpo_trace_metric_row(t);
        lpo_trace_metric_set(t, w.metrics, sum, r->sum);
        lpo_trace_metric_set(t, w.metrics, pct, r->pct);
    }
    lpo_vec_push(&t->works, w);
}

static const struct row measured[] = {
    { "at::gemm", "_gemm", 8, 100, 1000, 50 },
    { "at::gemm", "_gemm", 8, 120, 1200, 60 },
    { "at::add", "_add", 4, 10, 7, NAN },
};

static const struct row all[] = {
    { "at::native::gemm", "_gemm", 8, 90, 0, 0 }, /* same configuration, other spelling */
    { "at::native::gemm", "_gemm", 8, 95, 0, 0 },
    { "at::native::gemm", "_gemm", 16, 220, 0, 0 }, /* same kernel, other grid */
    { "at::native::add", "_add", 4, 11, 0, 0 },
    { "at::native::other", "_other", 4, 5, 0, 0 }, /* never measured */
};

static void representatives_cover_the_trace(void **state)
{
    LPO_AUTO(lpo_trace) base = lpo_trace_create();
    LPO_AUTO(lpo_trace) counters = lpo_trace_create();
    struct lpo_overlay o;
    uint32_t sum, pct, sd;

    (void)state;
    for (size_t i = 0; i < 3; i++)
        add(counters, &measured[i], true);
    for (size_t i = 0; i < 5; i++)
        add(base, &all[i], false);
    o = lpo_trace_overlay(base, counters);
    assert_int_equal(o.launches, 5);
    assert_int_equal(o.by_shape, 3);
    assert_int_equal(o.by_name, 1);
    assert_int_equal(o.uncovered, 1);
    assert_int_equal(o.by_shape_ns, 90 + 95 + 11);
    assert_int_equal(o.uncovered_ns, 5);
    assert_int_equal(o.configs, 2);
    assert_int_equal(o.measured, 3);

    sum = lpo_trace_metric_find(base, "x.sum");
    pct = lpo_trace_metric_find(base, "y.pct");
    sd = lpo_trace_metric_find(base, "x.sum:sd");
    assert_true(lpo_trace_metric_get(base, base->works.at[0].metrics, sum) == 1100);
    assert_true(lpo_trace_metric_get(base, base->works.at[0].metrics, pct) == 55);
    assert_true(fabs(lpo_trace_metric_get(base, base->works.at[0].metrics, sd) - 141.42) < 0.01);
    assert_int_equal(base->works.at[0].metrics, base->works.at[1].metrics);
    /* twice the time of the mean 110 ns: twice the bytes, the same percentage */
    assert_true(fabs(lpo_trace_metric_get(base, base->works.at[2].metrics, sum) - 2200) < 1e-9);
    assert_true(lpo_trace_metric_get(base, base->works.at[2].metrics, pct) == 55);
    /* one measurement has no spread, an unknown metric stays unknown */
    assert_true(isnan(lpo_trace_metric_get(base, base->works.at[3].metrics, sd)));
    assert_true(isnan(lpo_trace_metric_get(base, base->works.at[3].metrics, pct)));
    assert_int_equal(base->works.at[4].metrics, LPO_NONE);
    assert_true(base->works.at[0].flags & LPO_WORK_ESTIMATED);
    assert_false(base->works.at[4].flags & LPO_WORK_ESTIMATED);
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_TEST(&u, representatives_cover_the_trace);
    return unit_run(&u);
}
