/* SPDX-License-Identifier: Apache-2.0 */
#include "toy/weights.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "util/arena.h"
#include "util/err.h"

enum { LAYER_TENSORS = 9 };
/* A layer's pointers are filled in storage order, as an array. */
_Static_assert(sizeof(struct toy_layer) == LAYER_TENSORS * sizeof(float *), "one pointer each");

static const size_t max_params = (size_t)1 << 31;

uint64_t toy_mix(uint64_t a, uint64_t b)
{
    uint64_t z = a * 0x9e3779b97f4a7c15u + b + 0x632be59bd9b4e019u;

    for (int round = 0; round < 2; round++) {
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        z ^= z >> 31;
    }
    return z;
}

double toy_unit(uint64_t a, uint64_t b)
{
    return (double)(toy_mix(a, b) >> 11) * 0x1p-53;
}

int toy_config_check(const struct toy_config *c, struct lpo_err *err)
{
    if (c->layers < 1 || c->hidden < 2 || c->heads < 1 || c->kv_heads < 1 || c->ffn < 1 ||
        c->vocab < 2 || c->context < 1)
        return lpo_fail(err, LPO_E_RANGE, "every size of the model must be at least 1");
    if (c->hidden % c->heads || toy_head_dim(c) % 2)
        return lpo_fail(err, LPO_E_RANGE,
                        "hidden %d over %d heads gives no even head size; rotary positions turn "
                        "pairs of numbers",
                        c->hidden, c->heads);
    if (c->heads % c->kv_heads)
        return lpo_fail(err, LPO_E_RANGE,
                        "%d heads cannot be divided evenly among %d key/value heads", c->heads,
                        c->kv_heads);
    if (toy_param_count(c) > max_params)
        return lpo_fail(err, LPO_E_LIMIT,
                        "the model has %zu weights; the toy model can have at most %zu",
                        toy_param_count(c), max_params);
    return 0;
}

/* The nine tensors of a layer, in storage order. */
static struct toy_tensor layer_tensor(const struct toy_config *c, size_t i)
{
    const size_t h = c->hidden, kv = toy_kv_dim(c), f = c->ffn;
    const struct {
        const char *name;
        size_t rows, cols;
    } rows[LAYER_TENSORS] = {
        { "input_layernorm", 0, h },   { "self_attn.q_proj", h, h },
        { "self_attn.k_proj", kv, h }, { "self_attn.v_proj", kv, h },
        { "self_attn.o_proj", h, h },  { "post_attention_layernorm", 0, h },
        { "mlp.gate_proj", f, h },     { "mlp.up_proj", f, h },
        { "mlp.down_proj", h, f },
    };
    struct toy_tensor t = { .rows = rows[i % LAYER_TENSORS].rows,
                            .cols = rows[i % LAYER_TENSORS].cols };

    snprintf(t.name, sizeof t.name, "model.layers.%zu.%s.weight", i / LAYER_TENSORS,
             rows[i % LAYER_TENSORS].name);
    return t;
}

static size_t tensor_size(const struct toy_tensor *t)
{
    return (t->rows ? t->rows : 1) * t->cols;
}

static size_t layer_size(const struct toy_config *c)
{
    size_t sum = 0;

    for (size_t i = 0; i < LAYER_TENSORS; i++) {
        struct toy_tensor t = layer_tensor(c, i);
        sum += tensor_size(&t);
    }
    return sum;
}

size_t toy_param_count(const struct toy_config *c)
{
    return 2 * (size_t)c->vocab * c->hidden + c->hidden + c->layers * layer_size(c);
}

size_t toy_tensor_count(const struct toy_config *c)
{
    return 3 + (size_t)c->layers * LAYER_TENSORS;
}

struct toy_tensor toy_tensor_at(const struct toy_config *c, size_t i)
{
    const size_t embed = (size_t)c->vocab * c->hidden;
    const size_t in_layers = (size_t)c->layers * LAYER_TENSORS;

    if (i == 0)
        return (struct toy_tensor){ "model.embed_tokens.weight", 0, c->vocab, c->hidden };
    if (i <= in_layers) {
        struct toy_tensor t = layer_tensor(c, i - 1);
        size_t first = (i - 1) / LAYER_TENSORS * LAYER_TENSORS;

        t.offset = embed + (i - 1) / LAYER_TENSORS * layer_size(c);
        for (size_t k = first; k < i - 1; k++) {
            struct toy_tensor before = layer_tensor(c, k);
            t.offset += tensor_size(&before);
        }
        return t;
    }
    if (i == in_layers + 1)
        return (struct toy_tensor){ "model.norm.weight", embed + c->layers * layer_size(c), 0,
                                    c->hidden };
    return (struct toy_tensor){ "lm_head.weight", embed + c->layers * layer_size(c) + c->hidden,
                                c->vocab, c->hidden };
}

/* Scaled so that activations keep their size from layer to layer; norms stay near one. */
static void fill(float *at, const struct toy_tensor *t, size_t index, uint64_t seed)
{
    const uint64_t stream = toy_mix(seed, index);
    const double width = index == 0 ? sqrt(3.0) : sqrt(3.0 / (double)t->cols);

    for (size_t i = 0; i < tensor_size(t); i++) {
        double u = 2.0 * toy_unit(stream, i) - 1.0;
        at[t->offset + i] = (float)(t->rows ? u * width : 1.0 + 0.1 * u);
    }
}

static const float **slot_of(struct toy_weights *w, size_t i, size_t n)
{
    if (i == 0)
        return &w->embed;
    if (i == n - 2)
        return &w->norm;
    if (i == n - 1)
        return &w->head;
    return (const float **)w->layers + (i - 1);
}

struct toy_weights *toy_weights_create(const struct toy_config *config)
{
    struct toy_weights *w = lpo_xcalloc(1, sizeof *w);
    const size_t n = toy_tensor_count(config);

    w->config = *config;
    w->count = toy_param_count(config);
    w->at = lpo_xcalloc(w->count, sizeof *w->at);
    w->layers = lpo_xcalloc(config->layers, sizeof *w->layers);
    for (size_t i = 0; i < n; i++) {
        struct toy_tensor t = toy_tensor_at(config, i);

        fill(w->at, &t, i, config->seed);
        *slot_of(w, i, n) = w->at + t.offset;
    }
    return w;
}

void toy_weights_destroy(struct toy_weights *w)
{
    if (!w)
        return;
    free(w->layers);
    free(w->at);
    free(w);
}
