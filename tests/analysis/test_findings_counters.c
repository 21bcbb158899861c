/* SPDX-License-Identifier: Apache-2.0 */
/* Findings that need ncu's counters: tail effect and low occupancy, where they fire with their
 * exact saving and where they must stay silent. Times are microseconds. */
#include "findings_trace.h"

#include <math.h>

#include "analysis/analysis.h"

/* One kernel with counters, then one without that was launched ahead: the program waits for both.
 */
static const struct counted {
    const char *name, *kernel;
    int64_t took;
    double waves;
    double limits[4]; /* registers, shared memory, warps, blocks: blocks of an SM */
    double theoretical, sm, memory;
    bool other_grid; /* the counters are those of a launch with another grid */
    bool late;       /* the next launch comes only when the kernel has ended */
    const char *id;
    int64_t saving;
    int limiter;
} cases[] = {
    { "a tail of half a wave",
      "gemm",
      100,
      1.5,
      { 2, 2, 2, 2 },
      100,
      80,
      10,
      .id = "tail-effect",
      .saving = 25 },
    { "the last of five waves",
      "gemm",
      100,
      4.5,
      { 2, 2, 2, 2 },
      100,
      80,
      10,
      .id = "tail-effect",
      .saving = 10 },
    { "whole waves have no tail", "gemm", 100, 2, { 2, 2, 2, 2 }, 100, 80, 10 },
    { "less than a wave is no tail", "gemm", 100, 0.5, { 2, 2, 2, 2 }, 100, 80, 10 },
    { "five waves and more", "gemm", 100, 5.5, { 2, 2, 2, 2 }, 100, 80, 10 },
    { "unknown waves", "gemm", 100, NAN, { 2, 2, 2, 2 }, 100, 80, 10 },
    { "waves of another grid", "gemm", 100, 1.5, { 2, 2, 2, 2 }, 100, 80, 10, .other_grid = true },
    { "a tail that nobody waits for", "gemm", 100, 1.5, { 2, 2, 2, 2 }, 100, 80, 10, .late = true },
    { "a kernel of 9 us", "gemm", 9, 1.5, { 2, 2, 2, 2 }, 100, 80, 10 },
    { "few warps because of registers",
      "scan",
      100,
      2,
      { 1, 4, 8, 32 },
      25,
      20,
      30,
      .id = "low-occupancy",
      .saving = 70,
      .limiter = LPO_LIMITER_REGISTERS },
    { "because of shared memory",
      "scan",
      100,
      2,
      { 4, 1, 8, 32 },
      40,
      20,
      30,
      .id = "low-occupancy",
      .saving = 60,
      .limiter = LPO_LIMITER_SHARED_MEMORY },
    { "because of the block size",
      "scan",
      100,
      2,
      { 48, 64, 40, 32 },
      49,
      55,
      30,
      .id = "low-occupancy",
      .saving = 45,
      .limiter = LPO_LIMITER_BLOCK_SIZE },
    { "of two limits none is the one", "scan", 100, 2, { 1, 1, 8, 32 }, 25, 20, 30 },
    { "half of the warps are enough", "scan", 100, 2, { 1, 4, 8, 32 }, 50, 20, 30 },
    { "near the roof of the SMs", "scan", 100, 2, { 1, 4, 8, 32 }, 25, 60, 30 },
    { "near the roof of the memory", "scan", 100, 2, { 1, 4, 8, 32 }, 25, 20, 60 },
    { "the use of memory is not known", "scan", 100, 2, { 1, 4, 8, 32 }, 25, 20, NAN },
    { "the limits are not known", "scan", 100, 2, { NAN, 4, 8, 32 }, 25, 20, 30 },
    { "too few blocks fill no SM", "scan", 100, 0.9, { 1, 4, 8, 32 }, 25, 20, 30 },
    { "a matrix product is made for few warps", "gemm", 100, 2, { 4, 1, 8, 32 }, 25, 20, 30 },
    { "low occupancy that nobody waits for",
      "scan",
      100,
      2,
      { 1, 4, 8, 32 },
      25,
      20,
      30,
      .late = true },
};

static void set(struct lpo_trace *t, uint32_t row, const char *metric, double value)
{
    lpo_trace_metric_set(t, row, lpo_trace_metric(t, metric, strlen(metric), NULL), value);
}

static void count(struct lpo_trace *t, struct lpo_gpu_op *op, const struct counted *c)
{
    static const char *const limits[] = { "launch__occupancy_limit_registers",
                                          "launch__occupancy_limit_shared_mem",
                                          "launch__occupancy_limit_warps",
                                          "launch__occupancy_limit_blocks" };
    const struct lpo_shape shape = { .grid = { 33, 4, 1 }, .block = { 64, 2, 1 } };
    uint32_t row;

    for (int i = 0; i < 4; i++)
        lpo_trace_metric(t, limits[i], strlen(limits[i]), NULL);
    row = lpo_trace_metric_row(t);
    for (int i = 0; i < 4; i++)
        set(t, row, limits[i], c->limits[i]);
    set(t, row, "launch__grid_size", c->other_grid ? 131 : 132);
    set(t, row, "launch__block_size", 128);
    set(t, row, "launch__waves_per_multiprocessor", c->waves);
    set(t, row, "sm__maximum_warps_per_active_cycle_pct", c->theoretical);
    set(t, row, "sm__throughput.avg.pct_of_peak_sustained_elapsed", c->sm);
    set(t, row, "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed", c->memory);
    op->shape = lpo_trace_shape(t, &shape);
    op->metrics = row;
}

static struct lpo_trace *make(const struct counted *c)
{
    struct lpo_trace *t = empty_trace();
    uint16_t device = lpo_trace_device(t, 0, -1);

    push_call(t, &(struct span){ "cudaLaunchKernel", -9, -8 }, 0);
    push_call(t, &(struct span){ "cudaLaunchKernel", c->late ? c->took : -7, c->took + 1 }, 0);
    push_op(t, &(struct op){ .name = c->kernel, .end = c->took, .launch = 1 }, 0, 0, device);
    push_op(t, &(struct op){ .name = "relu", .start = c->took, .end = c->took + 10, .launch = 2 },
            0, 0, device);
    count(t, &t->gpu_ops.at[0], c);
    return t;
}

static void check(void **state)
{
    const struct counted *c = *state;
    LPO_AUTO(lpo_trace) t = make(c);
    LPO_AUTO(lpo_analysis) a = lpo_analysis_of(t, NULL);
    LPO_AUTO(lpo_findings) f = lpo_findings_create(NULL, NULL, a);

    assert_int_equal(f->all.len, c->id != NULL);
    if (!c->id)
        return;
    assert_string_equal(lpo_findings_id(f->all.at[0].kind), c->id);
    assert_int_equal(f->all.at[0].saving_ns, us(c->saving));
    assert_true(f->all.at[0].estimated);
    assert_string_equal(lpo_trace_text(t, evidence(&f->all.at[0], LPO_FACT_KERNEL)->name),
                        c->kernel);
    if (f->all.at[0].kind == LPO_FINDING_TAIL)
        assert_true(evidence(&f->all.at[0], LPO_FACT_WAVES)->value == c->waves);
    else
        assert_true(evidence(&f->all.at[0], LPO_FACT_LIMITER)->value == c->limiter);
}

/* What the tail has of a kernel, low occupancy does not have again. */
static void a_tail_is_claimed_before_occupancy(void **state)
{
    static const struct counted both = { "", "scan", 100, 1.5, { 1, 4, 8, 32 }, 10, 10, 10 };
    LPO_AUTO(lpo_trace) t = make(&both);
    LPO_AUTO(lpo_analysis) a = lpo_analysis_of(t, NULL);
    LPO_AUTO(lpo_findings) f = lpo_findings_create(NULL, NULL, a);

    (void)state;
    assert_int_equal(f->all.len, 2);
    assert_string_equal(lpo_findings_id(f->all.at[0].kind), "low-occupancy");
    assert_int_equal(f->all.at[0].saving_ns, us(75)); /* it alone would have 90 */
    assert_int_equal(f->all.at[1].saving_ns, us(25));
}

int main(void)
{
    struct unit u = { 0 };

    UNIT_ROWS(&u, cases, check);
    UNIT_TEST(&u, a_tail_is_claimed_before_occupancy);
    return unit_run(&u);
}
