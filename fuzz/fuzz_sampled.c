/* SPDX-License-Identifier: Apache-2.0 */
/* Operations and samples of any times, lengths and values, laid over each other: whatever they are,
 * amounts are numbers, none is below 0, and no time is counted that no operation had. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/counters/sampled.h"
#include "region/tree.h"
#include "trace/trace.h"
#include "util/vec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST_BYTES = 4096, METRICS = 3 };

static void must(bool holds)
{
    if (!holds)
        abort();
}

struct input {
    const uint8_t *at, *end;
};

static uint8_t byte(struct input *in)
{
    return in->at < in->end ? *in->at++ : 0;
}

/* Small or as large as a clock can be: the upper bits say how many bits it has. */
static int64_t number(struct input *in)
{
    uint8_t head = byte(in);
    int64_t v = (head & 15) + 1;

    return (int64_t)((uint64_t)v << (head >> 4) * 4 % 58) + byte(in);
}

struct world {
    struct lpo_trace *trace;
    LPO_VEC(struct lpo_counters_sample) samples;
    LPO_VEC(double) values;
    size_t at;
};

static const struct lpo_counters_metric metrics[METRICS] = {
    { "r", "byte", LPO_COUNTER_DRAM_READ, LPO_COUNTER_AMOUNT, 1 },
    { "t", "%", LPO_COUNTER_TENSOR_ACTIVE, LPO_COUNTER_SHARE, 10000 },
    { "other.sum", "", LPO_COUNTER_OTHER, LPO_COUNTER_AMOUNT, 1 },
};

static bool next(void *ctx, struct lpo_counters_sample *out)
{
    struct world *w = ctx;

    if (w->at >= w->samples.len)
        return false;
    *out = w->samples.at[w->at];
    if (out->values)
        out->values = &w->values.at[w->at * METRICS];
    w->at++;
    return true;
}

static void again(void *ctx)
{
    ((struct world *)ctx)->at = 0;
}

static void add_ops(struct world *w, struct input *in)
{
    static const char *const names[] = { "gemm", "softmax", "copy_kernel", "ncclAllReduce" };
    int64_t now = number(in);
    size_t count = byte(in);

    for (size_t i = 0; i < count && in->at < in->end; i++) {
        uint8_t what = byte(in);
        struct lpo_gpu_op op = { .name = lpo_trace_name(w->trace, names[what & 3]),
                                 .launch = LPO_NONE,
                                 .stack = LPO_NONE,
                                 .capture = LPO_NONE,
                                 .shape = LPO_NONE,
                                 .metrics = LPO_NONE,
                                 .kind = (what >> 2) % 3,
                                 .flags = what & 32 ? LPO_GPU_OP_SHARE : 0 };

        if (__builtin_add_overflow(now, number(in), &now))
            return;
        op.start_ns = now;
        if (__builtin_add_overflow(now, what & 64 ? 0 : number(in), &op.end_ns))
            return;
        lpo_vec_push(&w->trace->gpu_ops, op);
    }
}

/* As the reader promises: starts do not decrease, ends come after them, both below 2^62. */
static void add_samples(struct world *w, struct input *in)
{
    const int64_t most = INT64_C(1) << 62;
    int64_t now = number(in);

    while (in->at < in->end) {
        uint8_t what = byte(in);
        int64_t length = number(in);

        if (__builtin_add_overflow(now, number(in), &now) || now >= most - length - 1)
            return;
        lpo_vec_push(&w->samples,
                     (struct lpo_counters_sample){ now, now + length,
                                                   what & 1 ? NULL : (const double *)1, what, 0 });
        for (int m = 0; m < METRICS; m++)
            lpo_vec_push(&w->values, what & 2 << m ? (double)NAN : (double)number(in));
    }
}

static void check(const struct world *w, const struct lpo_counters_sampled *s)
{
    for (size_t g = 0; g < s->gpus.len; g++) {
        const struct lpo_sampled_gpu *gpu = &s->gpus.at[g];

        must(gpu->covered_ns >= 0 && gpu->covered_ns <= gpu->gpu_ns && gpu->lost_ns >= 0);
        must(gpu->unknowns <= LPO_SAMPLED_UNKNOWNS && gpu->bins <= LPO_SAMPLED_BINS + 1);
        for (size_t i = 0; i < gpu->nmetrics * gpu->unknowns; i++)
            must(gpu->value[i] >= 0 && isfinite(gpu->value[i]) && !isnan(gpu->error[i]));
        for (size_t i = 0; i < gpu->nmetrics; i++)
            must(gpu->metrics[i].others <= gpu->metrics[i].total * (1 + 1e-9));
    }
    for (size_t i = 0; i < w->trace->gpu_ops.len; i++)
        for (uint32_t m = 0; w->trace->gpu_ops.at[i].metrics != LPO_NONE && m < METRICS; m++) {
            double v = lpo_trace_metric_get(w->trace, w->trace->gpu_ops.at[i].metrics, m);

            must(v >= 0 && isfinite(v));
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in = { data, data + (size < MOST_BYTES ? size : MOST_BYTES) };
    struct world w = { .trace = lpo_trace_create() };
    struct lpo_counters_about about = { .chip = "", .metrics = metrics, .nmetrics = METRICS };
    struct lpo_sample_source source = { &about, next, again, &w };
    struct lpo_counters_sampled *s;
    struct lpo_region_tree *tree;

    about.interval_ns = number(&in);
    w.trace->epoch_ns = byte(&in) & 1 ? number(&in) : 0;
    lpo_trace_process(w.trace, 1, -1);
    lpo_trace_device(w.trace, 0, -1);
    add_ops(&w, &in);
    add_samples(&w, &in);
    tree = lpo_region_tree_create(w.trace);
    s = lpo_counters_sampled_create(tree);
    lpo_counters_lay_samples(s, w.trace, tree, 0, &source);
    check(&w, s);
    lpo_counters_sampled_destroy(s);
    lpo_region_tree_destroy(tree);
    lpo_trace_destroy(w.trace);
    lpo_vec_free(&w.samples);
    lpo_vec_free(&w.values);
    return 0;
}
