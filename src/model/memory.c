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
    double bytes = 0, mean = 0;

    if (a->options.weight_bytes > 0 && a->params)
        mean = a->options.weight_bytes / (double)a->params;

    for (size_t i = 0; i < a->tensors.len; i++) {
        const struct lpo_tensor *t = &a->tensors.at[i];

        if (!t->tied)
            bytes += lpo_model_rank_real((double)t->count, t->ways, a->options.tp) *
                     (mean > 0 ? mean : lpo_model_format_bytes(a, &t->format));
    }
    return bytes;
}

/* Latents are shared by all heads, so every rank keeps them whole. */
uint64_t lpo_model_block_cache(const struct lpo_model_layer_block *b, uint64_t tp)
{
    uint64_t index = b->top_keys ? (b->index_dim + 1) / 2 : 0; /* 8 bits each */

    if (b->borrows_cache)
        return 0;
    switch (b->kind) {
    case LPO_LAYER_ATTENTION:
        return lpo_model_mul3(2, lpo_model_rank_pieces(b->kv_heads, tp), b->head_dim) + index;
    case LPO_LAYER_LATENT:
        return b->kv_rank + b->rope_dim + index;
    case LPO_LAYER_COMPRESSED: /* far tokens; those of the window are a state */
        return b->compress ? (b->head_dim + index) / b->compress : 0;
    default:
        return 0;
    }
}

uint64_t lpo_model_block_state(const struct lpo_model_layer_block *b, uint64_t tp)
{
    uint64_t heads = lpo_model_rank_pieces(b->heads, tp);

    switch (b->kind) {
    case LPO_LAYER_DELTA:
    case LPO_LAYER_KDA:
        return lpo_model_mul3(heads, b->head_dim, b->v_dim);
    case LPO_LAYER_MAMBA:
        return lpo_model_mul3(heads, b->head_dim, b->state);
    case LPO_LAYER_COMPRESSED:
        return lpo_model_mul(b->window, b->head_dim);
    default:
        return 0;
    }
}

/* Bytes of one sequence with so many tokens; a layer with a window keeps only that. States have 32
 * bits. */
static double cache_bytes(const struct lpo_model_needs *a, uint64_t tp, uint64_t tokens)
{
    const struct lpo_model_decoder *d = a->model->decoder;
    double sum = 0, byte = lpo_dtype_bytes(a->options.kv_dtype);

    for (uint64_t l = 0; l < d->layers; l++)
        for (int i = 0; i < d->layer[l].count; i++) {
            const struct lpo_model_layer_block *b = &d->layer[l].block[i];
            uint64_t kept = b->window && b->window < tokens && !b->compress ? b->window : tokens;

            sum += byte * (double)kept * (double)lpo_model_block_cache(b, tp);
            sum += 4 * (double)lpo_model_block_state(b, tp);
        }
    return sum;
}

/* Cache elements that one more token leaves in all layers together. */
static uint64_t token_elements(const struct lpo_model_decoder *d, uint64_t tp)
{
    uint64_t sum = 0;

    for (uint64_t l = 0; l < d->layers; l++)
        for (int i = 0; i < d->layer[l].count; i++)
            sum = lpo_model_add(sum, lpo_model_block_cache(&d->layer[l].block[i], tp));
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
    uint64_t low = 0, high = (uint64_t)1 << 40;

    while (low < high) {
        uint64_t middle = low + (high - low + 1) / 2;

        if (cache_bytes(a, a->options.tp, middle) * (double)a->options.batch <= room)
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
    uint64_t end = o->seq + o->output, longest = o->context > end ? o->context : end;
    double byte = lpo_dtype_bytes(o->kv_dtype), one = 0, room;

    m->weights = weights_of_rank(a);
    m->activations = peak_activations(a);
    if (d && !d->family->no_cache) {
        a->kv_elements = token_elements(d, 1);
        m->kv_per_token = (double)token_elements(d, o->tp) * byte;
        one = cache_bytes(a, o->tp, longest);
        m->kv = one * (double)o->batch;
        m->kv_model = cache_bytes(a, 1, longest) * (double)o->batch;
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
