/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/static/real_inputs.h - how long the prompts of the run's real samples are.
 *
 * Exact where the workload itself needs no tokenizer: token lists, text as bytes, and the pages of
 * DeepSeek-OCR, whose tokens follow from the size of the picture. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct lpo_arena;
struct lpo_json;
struct lpo_node;

struct lpo_real_inputs {
    uint64_t samples;                 /* whose length is known; 0: see `why` */
    uint64_t shortest, longest, mean; /* tokens; the mean is rounded */
    uint64_t parts;                   /* views of a page besides the whole one, the mean, rounded */
    bool parts_differ;                /* from page to page */
    const char *why;                  /* NULL, or why no length is known */
};

/* Squares of `crop` pixels that a page is shown in besides the whole one; 0: it is not cut. */
uint64_t lpo_static_page_parts(uint64_t width, uint64_t height, uint64_t crop);

/* `model` is the path of the model, or NULL; `config` its config.json. */
struct lpo_real_inputs lpo_static_real_inputs(struct lpo_arena *a, const struct lpo_node *settings,
                                              const char *call_dir, const char *model,
                                              const struct lpo_json *config);
