/* SPDX-License-Identifier: Apache-2.0 */
#include "toy/metrics.h"

#include <math.h>
#include <stdlib.h>

#include "util/arena.h"
#include "util/json_write.h"
#include "util/str.h"

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double percentile(const double *sorted, size_t count, double p)
{
    double at = p * (double)(count - 1);
    size_t below = (size_t)at;

    if (below + 1 >= count)
        return sorted[count - 1];
    return sorted[below] + (at - (double)below) * (sorted[below + 1] - sorted[below]);
}

struct toy_stats toy_stats_of(double *values, size_t count)
{
    struct toy_stats s = { .count = count };
    double squares = 0;

    if (count == 0)
        return s;
    qsort(values, count, sizeof *values, compare);
    for (size_t i = 0; i < count; i++)
        s.mean += values[i] / (double)count;
    for (size_t i = 0; i < count; i++)
        squares += (values[i] - s.mean) * (values[i] - s.mean);
    s.std = count > 1 ? sqrt(squares / (double)(count - 1)) : 0;
    s.least = values[0];
    s.most = values[count - 1];
    s.p50 = percentile(values, count, 0.50);
    s.p90 = percentile(values, count, 0.90);
    s.p99 = percentile(values, count, 0.99);
    return s;
}

double toy_tokens_per_s(const struct toy_options *o, const struct toy_timing *t)
{
    return t->decode_ms > 0 ? 1e3 * o->batch * t->steps / t->decode_ms : 0;
}

void toy_stats_write(struct lpo_json_writer *w, const char *key, double *values, size_t count)
{
    struct toy_stats s = toy_stats_of(values, count);

    if (count == 0) {
        lpo_jw_put(w, LPO_KV(key, lpo_jv_null()));
        return;
    }
    lpo_jw_record(w, key, LPO_KV("count", s.count), LPO_KV("mean", s.mean),
                  LPO_KV("std", count > 1 ? s.std : NAN), LPO_KV("min", s.least),
                  LPO_KV("max", s.most), LPO_KV("p50", s.p50), LPO_KV("p90", s.p90),
                  LPO_KV("p99", s.p99));
}

static void write_sample(struct lpo_json_writer *w, const struct toy_options *o,
                         const struct toy_timing *t)
{
    const double rate = toy_tokens_per_s(o, t);
    LPO_STR name = { 0 };

    lpo_str_addf(&name, "synthetic-%d", t->sample);
    lpo_jw_object(w, NULL);
    lpo_jw_put(w, LPO_KV("sample", name.at), LPO_KV("repeat", t->repeat), LPO_KV("batch", o->batch),
               LPO_KV("prompt_tokens", (int64_t)o->batch * o->prompt_tokens),
               LPO_KV("tokens", (int64_t)o->batch * o->max_new_tokens),
               LPO_KV("prefill_ms", t->prefill_ms), LPO_KV("ttft_ms", t->ttft_ms),
               LPO_KV("decode_ms", t->steps ? t->decode_ms : NAN), LPO_KV("total_ms", t->total_ms),
               LPO_KV("tokens_per_s", rate > 0 ? rate : NAN));
    lpo_jw_array(w, "inter_token_ms");
    for (int i = 0; i < t->steps; i++)
        lpo_jw_put(w, LPO_V(t->step_ms[i]));
    lpo_jw_end(w);
    lpo_jw_put(w, LPO_KV("peak_host_bytes", t->peak_bytes));
    lpo_jw_end(w);
}

static double prefill_of(const struct toy_options *o, const struct toy_timing *t)
{
    return t->prefill_ms;
}

static double ttft_of(const struct toy_options *o, const struct toy_timing *t)
{
    return t->ttft_ms;
}

static double decode_of(const struct toy_options *o, const struct toy_timing *t)
{
    return t->steps ? t->decode_ms : NAN;
}

static double total_of(const struct toy_options *o, const struct toy_timing *t)
{
    return t->total_ms;
}

static double rate_of(const struct toy_options *o, const struct toy_timing *t)
{
    double rate = toy_tokens_per_s(o, t);

    return rate > 0 ? rate : NAN;
}

static const struct figure {
    const char *name;
    double (*of)(const struct toy_options *, const struct toy_timing *); /* NAN: none */
} figures[] = {
    { "prefill_ms", prefill_of }, { "ttft_ms", ttft_of },      { "decode_ms", decode_of },
    { "total_ms", total_of },     { "tokens_per_s", rate_of },
};

static void write_aggregate(struct lpo_json_writer *w, const struct toy_options *o,
                            const struct toy_results *r)
{
    const size_t steps = (size_t)o->max_new_tokens - 1;
    double *values = lpo_xcalloc((size_t)r->count * (steps + 1), sizeof *values);

    lpo_jw_object(w, "aggregate");
    for (size_t f = 0; f < sizeof figures / sizeof *figures; f++) {
        size_t n = 0;

        for (int i = 0; i < r->count; i++) {
            double v = figures[f].of(o, &r->runs[i]);

            if (!isnan(v))
                values[n++] = v;
        }
        toy_stats_write(w, figures[f].name, values, n);
    }
    for (int i = 0; i < r->count; i++)
        for (size_t s = 0; s < steps; s++)
            values[i * steps + s] = r->runs[i].step_ms[s];
    toy_stats_write(w, "inter_token_ms", values, r->count * steps);
    lpo_jw_end(w);
    free(values);
}

static void write_model_facts(struct lpo_json_writer *w, const struct toy_options *o,
                              const char *engine)
{
    lpo_jw_object(w, "model");
    lpo_jw_put(w, LPO_KV("name", "toy_llm"), LPO_KV("architecture", "LlamaForCausalLM"),
               LPO_KV("parameters", toy_param_count(&o->model)),
               LPO_KV("weight_bytes", toy_param_count(&o->model) * sizeof(float)),
               LPO_KV("dtype", "float32"), LPO_KV("device", engine));
    toy_config_add(&o->model, w, "config");
    lpo_jw_end(w);
}

void toy_metrics_write(const struct toy_options *o, const struct toy_results *r, const char *engine,
                       struct lpo_str *out)
{
    struct lpo_json_writer w = lpo_json_writer(out, 2);

    lpo_jw_object(&w, NULL);
    lpo_jw_put(&w, LPO_KV("schema", "lpo.workload_metrics/1"), LPO_KV("workload", "toy_llm"));
    write_model_facts(&w, o, engine);
    lpo_jw_object(&w, "settings");
    toy_options_write(o, &w);
    lpo_jw_end(&w);
    lpo_jw_put(&w, LPO_KV("load_ms", r->load_ms),
               LPO_KV("peak_host_bytes", r->runs[r->count - 1].peak_bytes),
               LPO_KV("peak_device_bytes", r->device_bytes ? (double)r->device_bytes : NAN));
    write_aggregate(&w, o, r);
    lpo_jw_array(&w, "samples");
    for (int i = 0; i < r->count; i++)
        write_sample(&w, o, &r->runs[i]);
    lpo_jw_end(&w);
    lpo_jw_array(&w, "failures");
    lpo_jw_end(&w);
    lpo_jw_array(&w, "notes");
    lpo_jw_end(&w);
    lpo_jw_end(&w);
}
