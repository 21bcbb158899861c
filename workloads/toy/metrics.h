/* SPDX-License-Identifier: Apache-2.0 */
/* toy/metrics.h - the files that the toy writes: metrics, predictions, its model.
 *
 * The metrics file has the same schema as that of hf_generate.py (docs/workloads.md). */
#pragma once

#include <stddef.h>

#include "toy/run.h"

struct lpo_str;

/* Statistics of a list of numbers. Percentiles are interpolated between neighbours. */
struct toy_stats {
    size_t count;
    double mean, std, least, most, p50, p90, p99; /* std is not defined for count < 2 */
};

/* Sorts `values`. */
struct toy_stats toy_stats_of(double *values, size_t count);
/* The same as a member. One value has no spread, and no values have no statistics: both are null,
 * not 0. */
void toy_stats_write(struct lpo_json_writer *w, const char *key, double *values, size_t count);

/* Tokens that decode generated in one repeat, per second of decode; 0 when there was no decode. */
double toy_tokens_per_s(const struct toy_options *o, const struct toy_timing *t);

void toy_metrics_write(const struct toy_options *o, const struct toy_results *r, const char *engine,
                       struct lpo_str *out);
/* One line per sequence: its prompt and the tokens that followed. */
void toy_predictions_write(const struct toy_options *o, const struct toy_results *r,
                           struct lpo_str *out);
/* A config.json as Hugging Face writes it for this shape (LlamaForCausalLM). */
void toy_config_write(const struct toy_config *c, struct lpo_str *out);
/* The same as one object of a larger document. */
void toy_config_add(const struct toy_config *c, struct lpo_json_writer *w, const char *key);
/* The folder `dir` with config.json and model.safetensors, loadable by transformers. */
int toy_model_write(const struct toy_weights *w, const char *dir, struct lpo_err *err);
