/* SPDX-License-Identifier: Apache-2.0 */
/* reference/serving.h - what a model would do on a server of GPUs whose kernels were measured.
 *
 * A step is the sum of its kernels at their best measured times, what the ranks exchange, and what
 * a framework adds; the constants of the last two were fitted on half of the published servers
 * (docs/references.md). One token of each request costs a decode step and its part of the prefills
 * of requests that arrive meanwhile. A queue in front of the server is not in any number. */
#pragma once

#include <stdbool.h>

#include "model/needs.h"

struct lpo_reference;

enum lpo_serving_part {
    LPO_SERVING_ATTENTION,   /* scores and values over the cache */
    LPO_SERVING_PROJECTIONS, /* into and out of attention */
    LPO_SERVING_MLP,         /* shared experts too */
    LPO_SERVING_EXPERTS,     /* routed ones with their router */
    LPO_SERVING_EXCHANGE,    /* all-reduces between the ranks */
    LPO_SERVING_HEAD,
    LPO_SERVING_FRAMEWORK, /* small kernels, launches, scheduling */
    LPO_SERVING_PARTS,
};

enum lpo_serving_bound {
    LPO_SERVING_COMPUTE,
    LPO_SERVING_MEMORY,
    LPO_SERVING_LINK,
    LPO_SERVING_LATENCY, /* kernels too small for either: under a third of their roofline */
};

struct lpo_serving_time {
    double us;
    double outside_us; /* the part of `us` whose shapes are beyond what was measured */
    enum lpo_serving_bound bound;
};

struct lpo_serving_phase {
    struct lpo_serving_time part[LPO_SERVING_PARTS];
    double us; /* sum of the parts; NAN where a part is unknown */
};

struct lpo_serving {
    const char *framework;
    /* Layers that no table has, as "sparse attention"; NULL: every part is known. Then the totals
     * are NAN and the parts are those that are known. */
    const char *unknown;
    struct lpo_serving_phase prefill; /* of one request */
    struct lpo_serving_phase decode;  /* a step of the whole batch, half of the output generated */
    double ttft_ms, tpot_ms;          /* without a queue; while others' prefills take part */
    double tokens_per_second;         /* generated, of the whole server */
};

/* "any", "vllm" …; NULL past the last. */
const char *lpo_reference_framework(int i);
const char *lpo_reference_serving_part(enum lpo_serving_part p);
const char *lpo_reference_serving_bound(enum lpo_serving_bound b);

/* Microseconds of one block of one layer (-1: none, the head) in one pass of a phase, on one rank
 * and without what ranks exchange. NAN: a kernel of it was not measured, or there is no such block.
 * A head wider than those that were measured is scaled by its roofline. */
double lpo_reference_block(const struct lpo_reference *r, const struct lpo_model_needs *n,
                           enum lpo_phase_kind phase, struct lpo_model_place at);

/* For the prompt, output, batch and ranks of n->options. False where the model generates nothing or
 * the framework is unknown; NULL is the mean of all. */
bool lpo_reference_serve(const struct lpo_reference *r, const struct lpo_model_needs *n,
                         const char *framework, struct lpo_serving *out);
