/* SPDX-License-Identifier: Apache-2.0 */
#include "model/memory.h"

#include <math.h>

#include "model/count.h"
#include "model/needs.h"
#include "model/rank.h"

/* The share of the memory that a model can use: driver, context and allocator take the rest. */
static const double usable = 0.95;

static double weights_of_rank(const struct lpo_model_needs *a)
{
    double elements = 0, each = lpo_dtype_bytes(a->options.dtype);

    for (size_t i = 0; i < a->tensors.len; i++) {
        const struct lpo_tensor *t = &a->tensors.at[i];

        if (!t->tied)
            elements += lpo_model_rank_real((double)t->count, t->ways, a->options.tp);
    }
    if (a->options.weight_bytes > 0 && a->params)
        each = a->options.weight_bytes / (double)a->params;
    return elements * each;
}

/* Cache elements of one token in one layer. Latents are shared by all heads, so every rank keeps
 * them whole. */
static uint64_t layer_width(const struct lpo_model_decoder *d, uint64_t tp)
{
    if (d->kv_rank)
        return d->kv_rank + d->rope_dim;
    return lpo_model_mul3(2, lpo_model_rank_pieces(d->kv_heads, tp), d->head_dim);
}

/* Cache elements of one sequence with so many tokens; a layer with a window keeps only that. */
static double cache_elements(const struct lpo_model_decoder *d, uint64_t tp, uint64_t tokens)
{
    double sum = 0;

    for (uint64_t l = 0; l < d->layers; l++) {
        uint64_t kept = d->window[l] && d->window[l] < tokens ? d->window[l] : tokens;

        sum += (double)kept * (double)layer_width(d, tp);
    }
    return sum;
}

/* The largest input and output of one operation, which must exist at the same time. */
static double peak_activations(const struct lpo_model_needs *a)
{
    double most = 0, bytes = lpo_dtype_bytes(a->options.dtype);

    for (int k = 0; k < LPO_PHASES; k++) {
        const struct lpo_phase_result *p = &a->phase[k];

        for (size_t i = 0; i < p->ops.len; i++) {
            const struct lpo_model_op *op = &p->ops.at[i];

            most = fmax(most, lpo_model_rank_real((double)lpo_model_add(op->reads, op->writes),
                                                  op->ways, a->options.tp));
        }
    }
    return most * (bytes < 2 ? 2 : bytes);
}

static uint64_t floor_count(double n)
{
    return n >= 1 ? n < 1e15 ? (uint64_t)n : (uint64_t)1e15 : 0;
}

/* By bisection, because windows make the cache grow in steps. */
static uint64_t longest_context(const struct lpo_model_needs *a, double room)
{
    const struct lpo_model_decoder *d = a->model->decoder;
    double byte = lpo_dtype_bytes(a->options.kv_dtype) * (double)a->options.batch;
    uint64_t low = 0, high = (uint64_t)1 << 40;

    while (low < high) {
        uint64_t middle = low + (high - low + 1) / 2;

        if (cache_elements(d, a->options.tp, middle) * byte <= room)
            low = middle;
        else
            high = middle - 1;
    }
    return d->positions && low > d->positions ? d->positions : low;
}

void lpo_model_memory_plan(struct lpo_model_needs *a)
{
    const struct lpo_model_decoder *d = a->model->decoder;
    const struct lpo_needs_options *o = &a->options;
    struct lpo_model_memory *m = &a->memory;
    uint64_t longest = o->context > o->seq ? o->context : o->seq;
    double byte = lpo_dtype_bytes(o->kv_dtype), one = 0, room;

    m->weights = weights_of_rank(a);
    m->activations = peak_activations(a);
    if (d && !d->family->no_cache) {
        a->kv_elements = lpo_model_mul(d->layers, layer_width(d, 1));
        m->kv_per_token = (double)lpo_model_mul(d->layers, layer_width(d, o->tp)) * byte;
        one = cache_elements(d, o->tp, longest) * byte;
        m->kv = one * (double)o->batch;
        m->kv_model = cache_elements(d, 1, longest) * byte * (double)o->batch;
    }
    m->peak = m->weights + m->kv + m->activations;
    if (!o->hardware || o->hardware->memory <= 0)
        return;
    room = o->hardware->memory * usable - m->weights;
    m->fits = m->peak <= o->hardware->memory * usable;
    if (one > 0) {
        m->max_batch = floor_count(room / (one + m->activations / (double)o->batch));
        m->max_context = room > m->activations ? longest_context(a, room - m->activations) : 0;
    }
}
