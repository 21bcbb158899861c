/* SPDX-License-Identifier: Apache-2.0 */
/* toy/run.h - warm-up, measured repeats, and their times.
 *
 * The same loop drives every engine (the CPU one, the CUDA one), so their ranges and metrics mean
 * the same. Ranges opened here: `warmup` (none inside it), `prefill`, `decode` and `decode/step`;
 * the engine opens the ranges inside them. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "toy/options.h"
#include "toy/ranges.h"

/* An engine that runs the model: cpu.c, or cuda.cu for a GPU. */
struct toy_engine {
    const char *name; /* in the metrics: "cpu", "cuda" */
    void *self;
    void (*reset)(void *self); /* forget the sequences */
    /* As toy_forward(): returns when the logits are on the host. */
    int (*forward)(void *self, const int *tokens, int count, float *logits, struct lpo_err *err);
    size_t (*device_bytes)(void *self); /* peak on the device; NULL: it has no memory of its own */
};

/* One repeat of one sample. Times in milliseconds of CLOCK_MONOTONIC. */
struct toy_timing {
    int sample, repeat;
    double prefill_ms; /* prompt in, logits out */
    double ttft_ms;    /* prefill and the choice of the first token */
    double decode_ms;  /* all later tokens */
    double total_ms;
    double *step_ms;   /* one per later token */
    int steps;         /* max_new_tokens - 1 */
    size_t peak_bytes; /* of the process, so far */
};

struct toy_results {
    struct toy_timing *runs; /* all repeats of the first sample, then those of the next */
    int count;
    int *prompts; /* [batch][prompt_tokens], of the sample at hand */
    int *tokens;  /* [sample][batch][max_new_tokens], of the last repeat */
    double load_ms;
    size_t device_bytes; /* 0: unknown */
};

/* Token `position` of prompt `sequence`: those of the first sample are 0 to batch - 1. */
int toy_prompt_token(const struct toy_options *o, uint64_t sequence, int position);
/* The prompts of a sample, [batch][prompt_tokens]. */
void toy_prompts(const struct toy_options *o, int sample, int *out);

int toy_run(const struct toy_options *o, const struct toy_engine *e, struct toy_ranges *ranges,
            struct toy_results **out, struct lpo_err *err);
void toy_results_destroy(struct toy_results *r); /* NULL is fine */
LPO_AUTO_DEFINE(toy_results);

double toy_now_ms(void);
