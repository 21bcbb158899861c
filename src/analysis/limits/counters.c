/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/limits/counters.h"

#include "analysis/counters/region_sums.h"
#include "region/scope.h"
#include "rules/rules.h"

double lpo_limits_unit_scale(const char *unit)
{
    static const struct {
        const char *unit;
        double scale;
    } times[] = { { "ns", 1e-9 },      { "us", 1e-6 },      { "ms", 1e-3 },      { "s", 1 },
                  { "nsecond", 1e-9 }, { "usecond", 1e-6 }, { "msecond", 1e-3 }, { "second", 1 } };
    static const char prefixes[] = "KMGTP";
    const char *at;

    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        if (strcmp(unit, times[i].unit) == 0)
            return times[i].scale;
    at = *unit ? strchr(prefixes, *unit) : NULL;
    if (at && (lpo_str_starts(unit + 1, "byte") || lpo_str_starts(unit + 1, "hz")))
        return pow(1000, (double)(at - prefixes + 1));
    return 1;
}

/* The region's value in base units; NaN: not collected. */
static double value_at(const struct lpo_trace *t, const struct lpo_metric_sum *row, uint32_t m)
{
    const struct lpo_metric *metric = &t->metrics.at[m];
    double scale =
        metric->unit == LPO_NONE ? 1 : lpo_limits_unit_scale(lpo_trace_text(t, metric->unit));

    return lpo_region_metric_value(metric->combine, &row[m]) * scale;
}

static double value_of(const struct lpo_trace *t, const struct lpo_metric_sum *row,
                       const char *name)
{
    uint32_t m = lpo_trace_metric_find(t, name);

    return m == LPO_NONE ? NAN : value_at(t, row, m);
}

/* While a table of conf/rules/metrics.yaml is walked. */
struct walk {
    const struct lpo_trace *t;
    const struct lpo_metric_sum *row;
    const char *figure;
    double clock, seconds; /* operations given only per cycle */
    double sum;            /* NaN: nothing was counted */
};

static int first_value(void *ctx, const char *value, const char *word, size_t len,
                       struct lpo_err *err)
{
    struct walk *w = ctx;
    LPO_STR name = { 0 };

    (void)err;
    lpo_str_addn(&name, word, len);
    if (isnan(w->sum) && strcmp(value, w->figure) == 0)
        w->sum = value_of(w->t, w->row, name.at);
    return 0;
}

/* A mean over kernels, or of representatives. */
static struct lpo_measure first_of(const struct lpo_trace *t, const struct lpo_metric_sum *row,
                                   const char *figure)
{
    struct walk w = { .t = t, .row = row, .figure = figure, .sum = NAN };
    struct lpo_err err = { 0 };

    lpo_rules_each(lpo_rules("metrics"), "figures", first_value, &w, &err);
    return isnan(w.sum) ? lpo_measure_unknown() : lpo_measure_estimated(w.sum);
}

/* "sm__ops_path_tensor_src_bf16_dst_fp32.sum" sums over every instruction that multiplies bf16; a
 * known product of 512 x 1024 x 32000 counted 33,554,432,000: two for a multiply-add. Some formats
 * are counted only as dense and sparse apart; of those the dense ones are taken. */
static bool is_tensor_ops(const struct lpo_trace *t, const char *metric)
{
    const char *suffix = strstr(metric, "_sparsity_off.sum");
    char whole[128];

    if (!lpo_str_starts(metric, "sm__ops_path_tensor_src_") || !lpo_str_ends(metric, ".sum"))
        return false;
    if (!suffix)
        return strstr(metric, "_sparsity_") == NULL;
    snprintf(whole, sizeof whole, "%.*s.sum", (int)(suffix - metric), metric);
    return lpo_trace_metric_find(t, whole) == LPO_NONE;
}

/* Operations that were counted as such, and those given only per cycle (the roofline set). */
static int add_operations(void *ctx, const char *value, const char *word, size_t len,
                          struct lpo_err *err)
{
    struct walk *w = ctx;
    LPO_STR name = { 0 };
    double n;

    (void)err;
    lpo_str_addn(&name, word, len);
    n = value_of(w->t, w->row, name.at);
    if (isnan(n) && !isnan(w->clock) && !isnan(w->seconds)) {
        lpo_str_add(&name, ".per_cycle_elapsed");
        n = value_of(w->t, w->row, name.at) * w->clock * w->seconds;
    }
    if (!isnan(n))
        w->sum = (isnan(w->sum) ? 0 : w->sum) + n * (strcmp(value, "two") == 0 ? 2 : 1);
    return 0;
}

static struct lpo_measure count_flops(const struct lpo_trace *t, const struct lpo_metric_sum *row,
                                      double seconds)
{
    struct walk w = { .t = t,
                      .row = row,
                      .clock = value_of(t, row, "smsp__cycles_elapsed.avg.per_second"),
                      .seconds = seconds,
                      .sum = NAN };
    struct lpo_err err = { 0 };

    lpo_rules_each(lpo_rules("metrics"), "operations", add_operations, &w, &err);
    for (uint32_t m = 0; m < t->metrics.len; m++) {
        double v;

        if (!is_tensor_ops(t, lpo_trace_text(t, t->metrics.at[m].name)))
            continue;
        v = value_at(t, row, m);
        if (!isnan(v))
            w.sum = (isnan(w.sum) ? 0 : w.sum) + v;
    }
    return isnan(w.sum) ? lpo_measure_unknown() : lpo_measure_estimated(w.sum);
}

static void add_sampled(const struct lpo_trace *t, const struct lpo_metric_sum *row,
                        struct lpo_counters *c)
{
    struct lpo_sampled_sums s = lpo_counters_sums_of(t, row);

    c->tensor_percent = lpo_counters_sums_get(&s, LPO_COUNTER_TENSOR_ACTIVE);
    c->sm_active_percent = lpo_counters_sums_get(&s, LPO_COUNTER_SM_ACTIVE);
    c->dram_rate = lpo_counters_sums_dram_rate(&s);
    if (lpo_measure_known(c->dram_bytes))
        return;
    c->dram_bytes = lpo_counters_sums_dram(&s);
    c->sampled = lpo_measure_known(c->dram_bytes);
}

struct lpo_counters lpo_limits_counters_of(const struct lpo_trace *t,
                                           const struct lpo_metric_sum *row)
{
    struct lpo_counters c = { 0 };
    double seconds;

    seconds = value_of(t, row, "gpu__time_duration.sum");
    c.sm_percent = first_of(t, row, "sm");
    c.dram_percent = first_of(t, row, "dram");
    c.occupancy_percent = first_of(t, row, "warps");
    c.dram_bytes = first_of(t, row, "bytes");
    if (!lpo_measure_known(c.dram_bytes)) {
        double rate = value_of(t, row, "dram__bytes.sum.per_second");

        if (!isnan(rate) && !isnan(seconds))
            c.dram_bytes = lpo_measure_estimated(rate * seconds);
    }
    c.flops = count_flops(t, row, seconds);
    add_sampled(t, row, &c);
    return c;
}

struct lpo_counters lpo_limits_region_counters(const struct lpo_region_scope *scope,
                                               const struct lpo_region_row *row)
{
    const struct lpo_trace *t = scope->cells->tree->trace;

    if (row->metrics == LPO_NONE || t->metrics.len == 0)
        return (struct lpo_counters){ 0 };
    return lpo_limits_counters_of(t, &scope->metric_sums.at[(size_t)row->metrics * t->metrics.len]);
}
