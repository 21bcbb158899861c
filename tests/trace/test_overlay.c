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
    struct lpo_work w = { .start_ns = (int64_t)t->works.len * 1000,
                          .end_ns = (int64_t)t->works.len * 1000 + r->ns,
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
    { "at::native::gemm", "_gemm", 8, 90, 0, 0 },   /* the first measured one: other spelling */
    { "at::native::gemm", "_gemm", 8, 110, 0, 0 },  /* the second */
    { "at::native::gemm", "_gemm", 8, 105, 0, 0 },  /* like them */
    { "at::native::gemm", "_gemm", 8, 200, 0, 0 },  /* same configuration, twice the time */
    { "at::native::gemm", "_gemm", 16, 300, 0, 0 }, /* same kernel, other grid */
    { "at::native::add", "_add", 4, 11, 0, 0 },
    { "at::native::other", "_other", 4, 5, 0, 0 }, /* never measured */
};

static double value(const struct lpo_trace *t, size_t work, const char *metric)
{
    return lpo_trace_metric_get(t, t->works.at[work].metrics, lpo_trace_metric_find(t, metric));
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
    o = lpo_trace_overlay(base, counters);
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
    assert_false(base->works.at[0].flags & LPO_WORK_ESTIMATED);
    /* a launch like them gets their mean and their spread */
    assert_true(value(base, 2, "x.sum") == 1100);
    assert_true(value(base, 2, "y.pct") == 55);
    assert_true(fabs(value(base, 2, "x.sum:sd") - 141.42) < 0.01);
    assert_true(base->works.at[2].flags & LPO_WORK_ESTIMATED);
    /* twice the time of the measured ones: twice the bytes (in steps of 1 %), the same percentage
     */
    assert_true(fabs(value(base, 3, "x.sum") - 2200) < 22);
    assert_true(value(base, 3, "y.pct") == 55);
    assert_true(fabs(value(base, 4, "x.sum") - 3300) < 33);
    /* one reading has no spread, an unknown metric stays unknown, an unmeasured kernel too */
    assert_true(isnan(value(base, 5, "x.sum:sd")));
    assert_true(isnan(value(base, 5, "y.pct")));
    assert_int_equal(base->works.at[6].metrics, LPO_NONE);
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_TEST(&u, representatives_cover_the_trace);
    return unit_run(&u);
}
