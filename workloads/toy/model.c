/* SPDX-License-Identifier: Apache-2.0 */
#include "toy/model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "toy/pool.h"
#include "util/arena.h"
#include "util/err.h"

struct toy_session {
    const struct toy_weights *w;
    struct toy_pool *pool;
    const struct toy_ranges *ranges;
    int batch;                               /* sequences that the cache has room for */
    int *used;                               /* [sequence]: positions filled in the cache */
    int *all;                                /* 0, 1, … batch - 1 */
    const int *slots;                        /* the sequences of this call */
    int active;                              /* how many they are */
    int rows;                                /* what the scratch below is sized for */
    float *keys, *values;                    /* [layer][sequence][kv head][position][head_dim] */
    float *cos, *sin;                        /* [position][head_dim / 2] */
    float *x, *h, *q, *kv, *att, *gate, *up; /* one row per token in flight */
};

/* y[r][o] = sum over i of x[r][i] * m[o][i] */
struct product {
    float *y;
    const float *x, *m;
    int rows, in, out;
};

/* Sixteen running sums keep the additions independent, so the compiler may use vectors. Nine tenths
 * of the model's time are here: sanitizers, which would look at each number, make every test that
 * runs the model ten times as long. */
__attribute__((no_sanitize("address", "undefined"))) static float dot(const float *a,
                                                                      const float *b, int n)
{
    float acc[16] = { 0 }, sum = 0;
    int i = 0;

    for (; i + 16 <= n; i += 16)
        for (int j = 0; j < 16; j++)
            acc[j] += a[i + j] * b[i + j];
    for (int j = 0; j < 16; j++)
        sum += acc[j];
    for (; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

static void product_part(void *job, int part, int parts)
{
    const struct product *p = job;
    const int from = (int)((long)p->out * part / parts);
    const int to = (int)((long)p->out * (part + 1) / parts);

    for (int o = from; o < to; o++)
        for (int r = 0; r < p->rows; r++)
            p->y[(size_t)r * p->out + o] =
                dot(p->x + (size_t)r * p->in, p->m + (size_t)o * p->in, p->in);
}

static void multiply(struct toy_session *s, float *y, const float *x, const float *m, int rows,
                     int in, int out)
{
    struct product p = { y, x, m, rows, in, out };

    toy_pool_run(s->pool, "matmul", s->ranges->on, product_part, &p);
}

static void rms_norm(float *y, const float *x, const float *weight, int rows, int n)
{
    for (int r = 0; r < rows; r++, x += n, y += n) {
        float scale = 1.0f / sqrtf(dot(x, x, n) / n + (float)TOY_NORM_EPS);

        for (int i = 0; i < n; i++)
            y[i] = x[i] * scale * weight[i];
    }
}

static void add(float *x, const float *y, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] += y[i];
}

/* Rotates the pairs (i, i + half) of one head by the angles of its position. */
static void rotate(float *head, const float *cos, const float *sin, int half)
{
    for (int i = 0; i < half; i++) {
        float a = head[i], b = head[i + half];

        head[i] = a * cos[i] - b * sin[i];
        head[i + half] = b * cos[i] + a * sin[i];
    }
}

static float *cache_at(const struct toy_session *s, float *cache, int layer, int b, int kv_head)
{
    const struct toy_config *c = &s->w->config;
    size_t line = ((size_t)layer * s->batch + b) * c->kv_heads + kv_head;

    return cache + line * c->context * toy_head_dim(c);
}

/* Copies the new keys or values of every row into the cache. */
static void remember(struct toy_session *s, float *cache, int layer, int count, bool turn)
{
    const struct toy_config *c = &s->w->config;
    const int d = toy_head_dim(c);

    for (int b = 0; b < s->active; b++)
        for (int t = 0; t < count; t++)
            for (int g = 0; g < c->kv_heads; g++) {
                const float *from = s->kv + (((size_t)b * count + t) * c->kv_heads + g) * d;
                size_t at = (size_t)s->used[s->slots[b]] + t;
                float *to = cache_at(s, cache, layer, s->slots[b], g) + at * d;

                memcpy(to, from, d * sizeof *to);
                if (turn)
                    rotate(to, s->cos + at * d / 2, s->sin + at * d / 2, d / 2);
            }
}

/* One head of one token over positions 0..last: scores, softmax, weighted sum of the values. */
static void attend(const float *q, const float *keys, const float *values, int last, int d,
                   float *score, float *out)
{
    const float scale = 1.0f / sqrtf((float)d);
    float top = -INFINITY, sum = 0;

    for (int p = 0; p <= last; p++) {
        score[p] = dot(q, keys + (size_t)p * d, d) * scale;
        top = fmaxf(top, score[p]);
    }
    memset(out, 0, d * sizeof *out);
    for (int p = 0; p <= last; p++) {
        float e = expf(score[p] - top);

        sum += e;
        for (int i = 0; i < d; i++)
            out[i] += e * values[(size_t)p * d + i];
    }
    for (int i = 0; i < d; i++)
        out[i] /= sum;
}

struct attention {
    struct toy_session *s;
    int layer, count;
};

static void attention_part(void *job, int part, int parts)
{
    const struct attention *a = job;
    struct toy_session *s = a->s;
    const struct toy_config *c = &s->w->config;
    const int d = toy_head_dim(c), share = c->heads / c->kv_heads, rows = s->active * a->count;
    float *score = lpo_xmalloc(c->context * sizeof *score);

    for (int r = (int)((long)rows * part / parts); r < (int)((long)rows * (part + 1) / parts);
         r++) {
        const int slot = s->slots[r / a->count], at = s->used[slot] + r % a->count;

        for (int h = 0; h < c->heads; h++) {
            float *q = s->q + ((size_t)r * c->heads + h) * d;

            rotate(q, s->cos + (size_t)at * d / 2, s->sin + (size_t)at * d / 2, d / 2);
            attend(q, cache_at(s, s->keys, a->layer, slot, h / share),
                   cache_at(s, s->values, a->layer, slot, h / share), at, d, score,
                   s->att + ((size_t)r * c->heads + h) * d);
        }
    }
    free(score);
}

static void attention(struct toy_session *s, int layer, int count)
{
    const struct toy_config *c = &s->w->config;
    const struct toy_layer *l = &s->w->layers[layer];
    const int rows = s->active * count, n = c->hidden, kv = toy_kv_dim(c);
    struct attention job = { s, layer, count };

    rms_norm(s->h, s->x, l->attn_norm, rows, n);
    multiply(s, s->q, s->h, l->q, rows, n, n);
    multiply(s, s->kv, s->h, l->k, rows, n, kv);
    remember(s, s->keys, layer, count, true);
    multiply(s, s->kv, s->h, l->v, rows, n, kv);
    remember(s, s->values, layer, count, false);
    toy_pool_run(s->pool, "attention", s->ranges->on, attention_part, &job);
    multiply(s, s->h, s->att, l->o, rows, n, n);
    add(s->x, s->h, (size_t)rows * n);
}

static void feed_forward(struct toy_session *s, int layer, int rows)
{
    const struct toy_config *c = &s->w->config;
    const struct toy_layer *l = &s->w->layers[layer];

    rms_norm(s->h, s->x, l->mlp_norm, rows, c->hidden);
    multiply(s, s->gate, s->h, l->gate, rows, c->hidden, c->ffn);
    multiply(s, s->up, s->h, l->up, rows, c->hidden, c->ffn);
    for (size_t i = 0; i < (size_t)rows * c->ffn; i++)
        s->gate[i] = s->gate[i] / (1.0f + expf(-s->gate[i])) * s->up[i];
    multiply(s, s->h, s->gate, l->down, rows, c->ffn, c->hidden);
    add(s->x, s->h, (size_t)rows * c->hidden);
}

/* Only the last position of each sequence predicts a token, so only it runs through the head. */
static void lm_head(struct toy_session *s, int count, float *logits)
{
    const struct toy_config *c = &s->w->config;

    for (int b = 0; b < s->active; b++)
        rms_norm(s->h + (size_t)b * c->hidden, s->x + ((size_t)b * count + count - 1) * c->hidden,
                 s->w->norm, 1, c->hidden);
    multiply(s, logits, s->h, s->w->head, s->active, c->hidden, c->vocab);
}

static void scratch_free(struct toy_session *s)
{
    float **all[] = { &s->x, &s->h, &s->q, &s->kv, &s->att, &s->gate, &s->up };

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        free(*all[i]);
        *all[i] = NULL;
    }
}

static void scratch_fit(struct toy_session *s, int rows)
{
    const struct toy_config *c = &s->w->config;

    if (rows <= s->rows)
        return;
    scratch_free(s);
    s->rows = rows;
    s->x = lpo_xcalloc((size_t)rows * c->hidden, sizeof(float));
    s->h = lpo_xcalloc((size_t)rows * c->hidden, sizeof(float));
    s->q = lpo_xcalloc((size_t)rows * c->hidden, sizeof(float));
    s->kv = lpo_xcalloc((size_t)rows * toy_kv_dim(c), sizeof(float));
    s->att = lpo_xcalloc((size_t)rows * c->hidden, sizeof(float));
    s->gate = lpo_xcalloc((size_t)rows * c->ffn, sizeof(float));
    s->up = lpo_xcalloc((size_t)rows * c->ffn, sizeof(float));
}

static void angles_fill(struct toy_session *s)
{
    const struct toy_config *c = &s->w->config;
    const int half = toy_head_dim(c) / 2;

    for (int p = 0; p < c->context; p++)
        for (int i = 0; i < half; i++) {
            double angle = p * pow(TOY_ROPE_THETA, -(double)i / half);

            s->cos[(size_t)p * half + i] = (float)cos(angle);
            s->sin[(size_t)p * half + i] = (float)sin(angle);
        }
}

struct toy_session *toy_session_create(const struct toy_weights *w, int batch,
                                       struct toy_pool *pool, const struct toy_ranges *ranges)
{
    const struct toy_config *c = &w->config;
    struct toy_session *s = lpo_xcalloc(1, sizeof *s);
    const size_t angles = (size_t)c->context * toy_head_dim(c) / 2;
    const size_t cache = (size_t)c->layers * batch * c->context * toy_kv_dim(c);

    s->w = w;
    s->batch = batch;
    s->pool = pool;
    s->ranges = ranges;
    s->used = lpo_xcalloc(batch, sizeof *s->used);
    s->all = lpo_xcalloc(batch, sizeof *s->all);
    for (int b = 0; b < batch; b++)
        s->all[b] = b;
    s->keys = lpo_xcalloc(cache, sizeof *s->keys);
    s->values = lpo_xcalloc(cache, sizeof *s->values);
    s->cos = lpo_xcalloc(angles, sizeof *s->cos);
    s->sin = lpo_xcalloc(angles, sizeof *s->sin);
    angles_fill(s);
    return s;
}

void toy_session_destroy(struct toy_session *s)
{
    if (!s)
        return;
    scratch_free(s);
    free(s->used);
    free(s->all);
    free(s->keys);
    free(s->values);
    free(s->cos);
    free(s->sin);
    free(s);
}

void toy_session_reset(struct toy_session *s)
{
    memset(s->used, 0, (size_t)s->batch * sizeof *s->used);
}

void toy_session_reset_one(struct toy_session *s, int sequence)
{
    s->used[sequence] = 0;
}

static int check_tokens(const struct toy_session *s, const int *tokens, int count,
                        struct lpo_err *err)
{
    const struct toy_config *c = &s->w->config;

    for (int b = 0; b < s->active; b++)
        if (count < 1 || count > c->context - s->used[s->slots[b]])
            return lpo_fail(err, LPO_E_RANGE, "%d tokens after %d do not fit in a context of %d",
                            count, s->used[s->slots[b]], c->context);
    for (int i = 0; i < s->active * count; i++)
        if (tokens[i] < 0 || tokens[i] >= c->vocab)
            return lpo_fail(err, LPO_E_RANGE, "token %d is not in a vocabulary of %d", tokens[i],
                            c->vocab);
    return 0;
}

int toy_forward(struct toy_session *s, const int *tokens, int count, float *logits,
                struct lpo_err *err)
{
    return toy_forward_some(s, s->all, s->batch, tokens, count, logits, err);
}

int toy_forward_some(struct toy_session *s, const int *sequences, int active, const int *tokens,
                     int count, float *logits, struct lpo_err *err)
{
    const struct toy_config *c = &s->w->config;
    const int rows = active * count;
    int rc;

    s->slots = sequences;
    s->active = active;
    if ((rc = check_tokens(s, tokens, count, err)) < 0)
        return rc;
    scratch_fit(s, rows);
    for (int r = 0; r < rows; r++)
        memcpy(s->x + (size_t)r * c->hidden, s->w->embed + (size_t)tokens[r] * c->hidden,
               c->hidden * sizeof *s->x);
    for (int layer = 0; layer < c->layers; layer++) {
        toy_push_layer(s->ranges, layer);
        toy_push(s->ranges, "attn");
        attention(s, layer, count);
        toy_pop(s->ranges);
        toy_push(s->ranges, "mlp");
        feed_forward(s, layer, rows);
        toy_pop(s->ranges);
        toy_pop(s->ranges);
    }
    toy_push(s->ranges, "lm_head");
    lm_head(s, count, logits);
    toy_pop(s->ranges);
    for (int b = 0; b < active; b++)
        s->used[sequences[b]] += count;
    return 0;
}
