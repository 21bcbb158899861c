/* SPDX-License-Identifier: Apache-2.0 */
#include "report/counter_records.h"

#include "analysis/analysis.h"
#include "analysis/counters/sampled.h"
#include "region/tree.h"
#include "report/doc/doc.h"
#include "report/tables/tables.h"
#include "report/trace_records.h"
#include "trace/trace.h"
#include "util/str.h"

enum { MOST_KERNELS = 1000, MOST_CALLS = 1000 };

static void put_metric(struct lpo_record *to, const struct lpo_sampled_gpu *g,
                       const struct lpo_sampled_metric *m)
{
    struct lpo_record *r = lpo_doc_put_record(to, NULL);
    bool share = m->kind == LPO_COUNTER_SHARE;

    lpo_doc_put_text(r, "name", m->name);
    lpo_doc_put_text(r, "counter", m->counter);
    lpo_doc_put_text(r, "unit", m->unit);
    /* the mean of a share over all busy time: percent times ns over ns */
    lpo_doc_put_real(r, "total",
                     share ? (g->covered_ns > 0 ? m->total / (double)g->covered_ns : 0) : m->total);
    lpo_doc_put_real(r, "others_share", m->total > 0 ? m->others / m->total : 0);
    lpo_doc_put_real(r, "baseline_per_second", m->baseline * 1e9);
    lpo_doc_put_int(r, "ahead_ns", -m->shift_ns);
    lpo_doc_put_flag(r, "ahead_sure", m->shift_sure);
    lpo_doc_put_real(r, "r2", m->r2);
    lpo_doc_put_real(r, "fitted_share", m->fitted);
}

static void put_value(struct lpo_record *to, const char *name, const char *unit, bool known,
                      double value, double error)
{
    struct lpo_record *r = lpo_doc_put_record(to, name);

    lpo_doc_put_measure(r, "value", known ? lpo_measure_estimated(value) : lpo_measure_unknown());
    lpo_doc_put_measure(r, "error", known ? lpo_measure_estimated(error) : lpo_measure_unknown());
    lpo_doc_put_text(r, "unit", unit);
}

static void put_dims(struct lpo_record *to, const char *key, const uint32_t *dims)
{
    struct lpo_record *list = lpo_doc_put_list(to, key);

    for (int i = 0; i < 3; i++)
        lpo_doc_put_uint(list, NULL, dims[i]);
}

static void put_values(struct lpo_record *to, const struct lpo_sampled_gpu *g,
                       const struct lpo_sampled_config *c)
{
    double mean_ns = (double)c->ns / (double)c->launches, bytes, error;
    bool known = lpo_counters_config_dram(g, c, &bytes, &error);

    put_value(to, "dram_bytes_both", "byte", known, bytes, error);
    for (size_t m = 0; m < g->nmetrics; m++) {
        size_t at = m * g->unknowns + c->unknown;
        double per = g->metrics[m].kind == LPO_COUNTER_SHARE ? mean_ns : 1;

        put_value(to, g->metrics[m].name, g->metrics[m].unit, lpo_counters_config_known(g, m, c),
                  g->value[at] / per, g->error[at] / per);
    }
}

static void put_kernel(struct lpo_record *to, const struct lpo_analysis *a,
                       const struct lpo_sampled_gpu *g, const struct lpo_sampled_config *c)
{
    const struct lpo_trace *t = a->trace;
    struct lpo_record *r = lpo_doc_put_record(to, NULL);
    struct lpo_measure ncu = lpo_report_ncu_dram(t, c);

    lpo_doc_put_name(r, "name", lpo_trace_text(t, c->name), lpo_trace_text_len(t, c->name));
    if (c->shape != LPO_NONE) {
        put_dims(r, "grid", t->shapes.at[c->shape].grid);
        put_dims(r, "block", t->shapes.at[c->shape].block);
    } else if (c->kind != LPO_KERNEL) {
        lpo_doc_put_uint(r, "bytes", c->bytes);
    }
    lpo_doc_put_uint(r, "launches", c->launches);
    lpo_doc_put_int(r, "gpu_ns", c->ns);
    put_values(lpo_doc_put_record(r, "metrics"), g, c);
    if (lpo_measure_known(ncu))
        lpo_doc_put_measure(r, "ncu_dram_bytes", ncu);
}

static void put_clock(struct lpo_record *to, const struct lpo_sampled_gpu *g)
{
    struct lpo_record *r = lpo_doc_put_record(to, "clock");

    lpo_doc_put_int(r, "offset_ns", g->clock_ns);
    lpo_doc_put_int(r, "found_ns", g->clock_found_ns);
    lpo_doc_put_real(r, "correlation", g->clock_fit);
    lpo_doc_put_flag(r, "sure", g->clock_sure);
}

/* Only where it changed: `interval_ns` says the first. */
static void put_intervals(struct lpo_record *to, const struct lpo_sampled_gpu *g)
{
    struct lpo_record *list;

    if (g->intervals.len < 2)
        return;
    list = lpo_doc_put_list(to, "intervals");
    for (size_t i = 0; i < g->intervals.len; i++) {
        struct lpo_record *r = lpo_doc_put_record(list, NULL);

        lpo_doc_put_int(r, "from_ns", g->intervals.at[i].from_ns);
        lpo_doc_put_int(r, "interval_ns", g->intervals.at[i].interval_ns);
        lpo_doc_put_uint(r, "samples", g->intervals.at[i].samples);
    }
}

static void put_sampler(struct lpo_record *to, const struct lpo_sampled_gpu *g)
{
    struct lpo_record *r;

    if (g->sampler_cpu_ns < 0 || g->sampler_wall_ns <= 0)
        return;
    r = lpo_doc_put_record(to, "sampler");
    lpo_doc_put_int(r, "cpu_ns", g->sampler_cpu_ns);
    lpo_doc_put_int(r, "wall_ns", g->sampler_wall_ns);
    lpo_doc_put_real(r, "core_share", (double)g->sampler_cpu_ns / (double)g->sampler_wall_ns);
}

static void put_spread(struct lpo_record *to, const char *name, const struct lpo_call_spread *s,
                       enum lpo_call_figure f)
{
    struct lpo_record *r = lpo_doc_put_record(to, name);

    lpo_doc_put_measure(r, "first", s->first[f]);
    lpo_doc_put_measure(r, "min", s->least[f]);
    lpo_doc_put_measure(r, "median", s->median[f]);
    lpo_doc_put_measure(r, "max", s->most[f]);
}

/* Regions with a call that has figures, in the order of the tree. */
static void put_calls(struct lpo_record *to, const struct lpo_analysis *a,
                      const struct lpo_sampled_gpu *g)
{
    static const char *const names[LPO_CALL_FIGURES] = { "dram_bytes", "dram_rate", "tensor_active",
                                                         "sm_active" };
    size_t rows = 0;

    for (uint32_t n = 0; n < a->tree->nodes.len && rows < MOST_CALLS; n++) {
        struct lpo_call_spread s = lpo_counters_call_spread(g, &n, 1);
        struct lpo_record *r;
        LPO_STR path = { 0 };

        if (!s.counted)
            continue;
        rows++;
        r = lpo_doc_put_record(to, NULL);
        lpo_region_add_path(a->tree, n, &path);
        lpo_doc_put_text(r, "path", path.at);
        lpo_doc_put_uint(r, "calls", s.calls);
        lpo_doc_put_uint(r, "calls_with_figures", s.counted);
        lpo_doc_put_whole(r, "gpu_ns", lpo_measure_computed(s.gpu_ns));
        lpo_doc_put_whole(r, "border_ns", lpo_measure_computed(s.border_ns));
        for (int f = 0; f < LPO_CALL_FIGURES; f++)
            put_spread(r, names[f], &s, (enum lpo_call_figure)f);
    }
}

static void put_gpu(struct lpo_record *to, const struct lpo_analysis *a,
                    const struct lpo_sampled_gpu *g)
{
    struct lpo_record *r = lpo_doc_put_record(to, NULL), *metrics, *kernels;

    lpo_doc_put_text(r, "scope",
                     lpo_report_device_scope(r->arena, &a->trace->devices.at[g->device]));
    lpo_doc_put_text(r, "chip", g->chip);
    lpo_doc_put_int_if(r, "interval_ns", g->interval_ns > 0, g->interval_ns);
    put_intervals(r, g);
    put_sampler(r, g);
    lpo_doc_put_uint(r, "samples", g->samples);
    lpo_doc_put_uint(r, "samples_busy", g->busy);
    lpo_doc_put_uint(r, "samples_lost", g->lost);
    lpo_doc_put_int(r, "lost_ns", g->lost_ns);
    lpo_doc_put_int(r, "gpu_ns", g->gpu_ns);
    lpo_doc_put_int(r, "covered_ns", g->covered_ns);
    lpo_doc_put_real(r, "others_share", lpo_counters_others_share(g));
    lpo_doc_put_real(r, "others_without_sms_share", lpo_counters_quiet_share(g));
    put_clock(r, g);
    metrics = lpo_doc_put_list(r, "metrics");
    for (size_t i = 0; i < g->nmetrics; i++)
        put_metric(metrics, g, &g->metrics[i]);
    kernels = lpo_doc_put_list(r, "kernels");
    for (size_t i = 0; i < g->configs.len && i < MOST_KERNELS; i++)
        put_kernel(kernels, a, g, &g->configs.at[i]);
    if (g->configs.len > MOST_KERNELS)
        lpo_doc_put_uint(r, "kernels_left_out", g->configs.len - MOST_KERNELS);
    put_calls(lpo_doc_put_list(r, "calls"), a, g);
}

void lpo_report_put_counters(struct lpo_record *to, const struct lpo_analysis *a)
{
    struct lpo_record *r, *gpus;

    if (!a->sampled)
        return;
    r = lpo_doc_put_record(to, "counters");
    gpus = lpo_doc_put_list(r, "gpus");
    for (size_t i = 0; i < a->sampled->gpus.len; i++)
        put_gpu(gpus, a, &a->sampled->gpus.at[i]);
}
