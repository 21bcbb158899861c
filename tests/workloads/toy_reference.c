/* SPDX-License-Identifier: Apache-2.0 */
#include "toy_reference.h"

#include <complex.h>
#include <math.h>
#include <stdlib.h>

/* Element (row, col) of a matrix with `cols` columns applied to a vector: y = M x. */
static void apply(const float *m, const double *x, double *y, int rows, int cols)
{
    for (int i = 0; i < rows; i++) {
        y[i] = 0;
        for (int j = 0; j < cols; j++)
            y[i] += (double)m[(long)i * cols + j] * x[j];
    }
}

/* x_i / sqrt(mean of x^2 + eps) * g_i */
static void normalize(const double *x, const float *gain, double *y, int n)
{
    double mean = 0;

    for (int i = 0; i < n; i++)
        mean += x[i] * x[i] / n;
    for (int i = 0; i < n; i++)
        y[i] = x[i] / sqrt(mean + TOY_NORM_EPS) * gain[i];
}

/* Rotary positions: coordinates i and i + d/2 are one complex number, turned by e^(i p w_i). */
static void turn(double *head, int d, int position)
{
    for (int i = 0; i < d / 2; i++) {
        double w = 1.0 / pow(TOY_ROPE_THETA, 2.0 * i / d);
        double complex z = (head[i] + I * head[i + d / 2]) * cexp(I * position * w);

        head[i] = creal(z);
        head[i + d / 2] = cimag(z);
    }
}

static double *numbers(long n)
{
    return calloc((size_t)n, sizeof(double));
}

/* Softmax of q.k / sqrt(d) over the positions up to `t`, applied to the values. */
static void attend(const double *q, const double *k, const double *v, int t, int d, int stride,
                   double *out)
{
    double *p = numbers(t + 1), total = 0;

    for (int s = 0; s <= t; s++) {
        for (int i = 0; i < d; i++)
            p[s] += q[i] * k[(long)s * stride + i];
        p[s] = exp(p[s] / sqrt(d));
        total += p[s];
    }
    for (int i = 0; i < d; i++) {
        out[i] = 0;
        for (int s = 0; s <= t; s++)
            out[i] += p[s] / total * v[(long)s * stride + i];
    }
    free(p);
}

/* x += attention(norm(x)) for all positions at once. */
static void attention_block(const struct toy_config *c, const struct toy_layer *l, double *x, int n)
{
    const int h = c->hidden, d = toy_head_dim(c), kv = toy_kv_dim(c);
    double *y = numbers(h), *o = numbers(h), *q = numbers((long)n * h);
    double *k = numbers((long)n * kv), *v = numbers((long)n * kv);

    for (int t = 0; t < n; t++) {
        normalize(x + (long)t * h, l->attn_norm, y, h);
        apply(l->q, y, q + (long)t * h, h, h);
        apply(l->k, y, k + (long)t * kv, kv, h);
        apply(l->v, y, v + (long)t * kv, kv, h);
        for (int a = 0; a < c->heads; a++)
            turn(q + (long)t * h + a * d, d, t);
        for (int a = 0; a < c->kv_heads; a++)
            turn(k + (long)t * kv + a * d, d, t);
    }
    for (int t = 0; t < n; t++) {
        for (int a = 0; a < c->heads; a++) {
            int shared = a * c->kv_heads / c->heads;

            attend(q + (long)t * h + a * d, k + shared * d, v + shared * d, t, d, kv, y + a * d);
        }
        apply(l->o, y, o, h, h);
        for (int i = 0; i < h; i++)
            x[(long)t * h + i] += o[i];
    }
    free(y);
    free(o);
    free(q);
    free(k);
    free(v);
}

/* x += W_down (silu(W_gate y) * (W_up y)), y = norm(x) */
static void mlp_block(const struct toy_config *c, const struct toy_layer *l, double *x, int n)
{
    double *y = numbers(c->hidden), *g = numbers(c->ffn), *u = numbers(c->ffn);

    for (int t = 0; t < n; t++, x += c->hidden) {
        normalize(x, l->mlp_norm, y, c->hidden);
        apply(l->gate, y, g, c->ffn, c->hidden);
        apply(l->up, y, u, c->ffn, c->hidden);
        for (int i = 0; i < c->ffn; i++)
            g[i] = g[i] / (1 + exp(-g[i])) * u[i];
        apply(l->down, g, y, c->hidden, c->ffn);
        for (int i = 0; i < c->hidden; i++)
            x[i] += y[i];
    }
    free(y);
    free(g);
    free(u);
}

void reference_logits(const struct toy_weights *w, const int *tokens, int count, double *logits)
{
    const struct toy_config *c = &w->config;
    double *x = numbers((long)count * c->hidden), *y = numbers(c->hidden);

    for (int t = 0; t < count; t++)
        for (int i = 0; i < c->hidden; i++)
            x[(long)t * c->hidden + i] = w->embed[(long)tokens[t] * c->hidden + i];
    for (int layer = 0; layer < c->layers; layer++) {
        attention_block(c, &w->layers[layer], x, count);
        mlp_block(c, &w->layers[layer], x, count);
    }
    normalize(x + (long)(count - 1) * c->hidden, w->norm, y, c->hidden);
    apply(w->head, y, logits, c->vocab, c->hidden);
    free(x);
    free(y);
}
