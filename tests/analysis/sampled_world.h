/* SPDX-License-Identifier: Apache-2.0 */
/* tests/analysis/sampled_world.h - traces of which it is known what each launch moves, and samples
 * of them. */
#pragma once

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
    int64_t interval_ns;
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

static inline struct world new_world(void)
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

static inline void end_world(struct world *w)
{
    lpo_counters_sampled_destroy(w->sampled);
    lpo_region_tree_destroy(w->tree);
    lpo_trace_destroy(w->trace);
    lpo_vec_free(&w->bytes);
    lpo_vec_free(&w->percent);
    lpo_vec_free(&w->samples);
}

/* A kernel that runs from `from` on, launched by a call of 1 ns at `launch`. */
static inline void add_op(struct world *w, const char *name, int64_t launch, int64_t from,
                          int64_t ns, double bytes, double percent)
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
static inline void run(struct world *w, const char *name, int64_t ns, int64_t gap, double bytes)
{
    add_op(w, name, w->now_ns, w->now_ns, ns, bytes, 10);
    w->now_ns += ns + gap;
}

static inline void range(struct world *w, const char *name, int64_t from, int64_t to)
{
    lpo_vec_push(&w->trace->ranges, (struct lpo_range){ .start_ns = from,
                                                        .end_ns = to,
                                                        .name = lpo_trace_name(w->trace, name),
                                                        .kind = LPO_PUSH_POP });
}

/* One sample from `at` on; operations that ended before `first` are over. */
static inline struct sample sample_at(const struct world *w, int64_t at, int64_t ns, size_t first)
{
    struct sample s = { .start_ns = at, .end_ns = at + ns, .interval_ns = ns };

    for (size_t i = first; i < w->trace->gpu_ops.len; i++) {
        const struct lpo_gpu_op *op = &w->trace->gpu_ops.at[i];
        int64_t from = op->start_ns > s.start_ns ? op->start_ns : s.start_ns;
        int64_t to = op->end_ns < s.end_ns ? op->end_ns : s.end_ns;
        double length = (double)(op->end_ns - op->start_ns);

        if (op->start_ns >= s.end_ns)
            break;
        if (to <= from)
            continue;
        s.values[0] += w->bytes.at[i] * (double)(to - from) / length;
        s.values[1] += 1.5 * (double)(to - from);
        s.values[2] += w->percent.at[i] * (double)(to - from) / (double)ns;
    }
    return s;
}

/* The same as sample(); from `change` on the interval is `longer`. */
static inline void sample_paces(struct world *w, int64_t early, int64_t late, int64_t change,
                                int64_t longer)
{
    size_t first = 0;
    int64_t ns = INTERVAL;

    for (int64_t at = start_ns - early; at < w->now_ns + late; at += ns) {
        ns = at >= change ? longer : INTERVAL;
        lpo_vec_push(&w->samples, sample_at(w, at, ns, first));
        while (first < w->trace->gpu_ops.len && w->trace->gpu_ops.at[first].end_ns <= at - 1000000)
            first++;
    }
}

/* Samples of the whole time, `early` before the first operation and `late` after the last one. */
static inline void sample(struct world *w, int64_t early, int64_t late)
{
    sample_paces(w, early, late, INT64_MAX, INTERVAL);
}

static inline bool next_sample(void *ctx, struct lpo_counters_sample *out)
{
    struct world *w = ctx;
    const struct sample *s = &w->samples.at[w->at];

    if (w->at >= w->samples.len)
        return false;
    w->at++;
    *out = (struct lpo_counters_sample){
        s->start_ns,   s->end_ns, s->lost ? NULL : s->values, s->lost, LPO_COUNTERS_LOST_OVERFLOW,
        s->interval_ns
    };
    return true;
}

static inline void rewind_samples(void *ctx)
{
    ((struct world *)ctx)->at = 0;
}

static const struct lpo_sampled_gpu *lay(struct world *w)
{
    struct lpo_counters_metric own[METRICS];
    const struct lpo_counters_about about = {
        .chip = "GH100",
        .interval_ns = w->samples.len ? w->samples.at[0].interval_ns : INTERVAL,
        .metrics = own,
        .nmetrics = METRICS,
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
static inline double given(const struct world *w, const char *region, size_t metric, double *truth)
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

static inline void assert_close(double is, double want, double share)
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

static inline double value_of(const struct world *w, const char *name)
{
    return w->sampled->gpus.at[0].value[config(w, name)->unknown];
}

static inline uint32_t node(const struct world *w, const char *name)
{
    for (uint32_t i = 0; i < w->tree->nodes.len; i++)
        if (strcmp(lpo_trace_text(w->trace, w->tree->nodes.at[i].name), name) == 0)
            return i;
    return LPO_NONE;
}

/* Steps of two regions, kernels of 3 to 40 us that are no multiple of a sample. */
static inline void steps(struct world *w, int count)
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
