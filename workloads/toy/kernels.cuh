/* SPDX-License-Identifier: Apache-2.0 */
/* toy/kernels.cuh - the toy's kernels, plain and readable rather than fast.
 *
 * Everything a decode step depends on that changes from step to step (tokens, position) is read
 * from device memory, so a captured graph of one step is right for every later one. */
#pragma once

enum { TOY_BLOCK = 128, TOY_TILE = 512 };

/* Sum over the block; every thread gets it. */
static __device__ float block_sum(float v)
{
    __shared__ float part[TOY_BLOCK];

    __syncthreads();
    part[threadIdx.x] = v;
    __syncthreads();
    for (int n = TOY_BLOCK / 2; n > 0; n /= 2) {
        if (threadIdx.x < n)
            part[threadIdx.x] += part[threadIdx.x + n];
        __syncthreads();
    }
    return part[0];
}

static __device__ float block_max(float v)
{
    __shared__ float part[TOY_BLOCK];

    __syncthreads();
    part[threadIdx.x] = v;
    __syncthreads();
    for (int n = TOY_BLOCK / 2; n > 0; n /= 2) {
        if (threadIdx.x < n)
            part[threadIdx.x] = fmaxf(part[threadIdx.x], part[threadIdx.x + n]);
        __syncthreads();
    }
    return part[0];
}

/* One block per row. */
__global__ void embed_kernel(float *x, const float *table, const int *tokens, int n)
{
    const float *from = table + (size_t)tokens[blockIdx.x] * n;

    for (int i = threadIdx.x; i < n; i += blockDim.x)
        x[(size_t)blockIdx.x * n + i] = from[i];
}

/* Row r of y is row first + r * stride of x, normalised. */
__global__ void rms_norm_kernel(float *y, const float *x, const float *weight, int n, int first,
                                int stride)
{
    const float *row = x + ((size_t)first + (size_t)blockIdx.x * stride) * n;
    float sum = 0, scale;

    for (int i = threadIdx.x; i < n; i += blockDim.x)
        sum += row[i] * row[i];
    scale = rsqrtf(block_sum(sum) / n + (float)TOY_NORM_EPS);
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        y[(size_t)blockIdx.x * n + i] = row[i] * scale * weight[i];
}

/* y[r][o] = sum of x[r][i] * m[o][i]: one block per (output, row). Used where cuBLAS is not. */
__global__ void matmul_kernel(float *y, const float *x, const float *m, int in, int out)
{
    const float *a = x + (size_t)blockIdx.y * in, *b = m + (size_t)blockIdx.x * in;
    float sum = 0;

    for (int i = threadIdx.x; i < in; i += blockDim.x)
        sum += a[i] * b[i];
    sum = block_sum(sum);
    if (threadIdx.x == 0)
        y[(size_t)blockIdx.y * out + blockIdx.x] = sum;
}

/* Rotates the pairs (i, i + half) of one head. One block per (row, head), row = b * count + t. */
__global__ void rotate_kernel(float *q, const int *used, int count, int heads, int d)
{
    const int half = d / 2, at = *used + blockIdx.x % count;
    float *head = q + ((size_t)blockIdx.x * heads + blockIdx.y) * d;

    for (int i = threadIdx.x; i < half; i += blockDim.x) {
        double angle = at * pow(TOY_ROPE_THETA, -(double)i / half);
        float c = (float)cos(angle), s = (float)sin(angle), a = head[i], b = head[i + half];

        head[i] = a * c - b * s;
        head[i + half] = b * c + a * s;
    }
}

/* Copies new keys or values behind those in the cache [sequence][kv head][position][d]. */
__global__ void remember_kernel(float *cache, const float *rows, const int *used, int count,
                                int kv_heads, int context, int d)
{
    const int b = blockIdx.x / count, at = *used + blockIdx.x % count;
    float *to = cache + (((size_t)b * kv_heads + blockIdx.y) * context + at) * d;
    const float *from = rows + ((size_t)blockIdx.x * kv_heads + blockIdx.y) * d;

    for (int i = threadIdx.x; i < d; i += blockDim.x)
        to[i] = from[i];
}

/* One block per (row, head). Walks the positions in tiles and keeps a running maximum, so the
 * context may be of any length. Shared memory: d floats for the sum of values. */
__global__ void attention_kernel(float *out, const float *q, const float *keys, const float *values,
                                 const int *used, int count, int heads, int kv_heads, int context,
                                 int d)
{
    extern __shared__ float sum_of_values[];
    __shared__ float score[TOY_TILE];
    const int b = blockIdx.x / count, last = *used + blockIdx.x % count;
    const size_t line = (size_t)b * kv_heads + blockIdx.y / (heads / kv_heads);
    const float *k = keys + line * context * d, *v = values + line * context * d;
    const float *mine = q + ((size_t)blockIdx.x * heads + blockIdx.y) * d;
    float top = -INFINITY, total = 0;

    for (int i = threadIdx.x; i < d; i += blockDim.x)
        sum_of_values[i] = 0;
    for (int from = 0; from <= last; from += TOY_TILE) {
        const int n = min(TOY_TILE, last + 1 - from);
        float tile_top = -INFINITY, before = top, tile_total = 0;

        for (int p = threadIdx.x; p < n; p += blockDim.x) {
            float s = 0;

            for (int i = 0; i < d; i++)
                s += mine[i] * k[(size_t)(from + p) * d + i];
            score[p] = s * rsqrtf((float)d);
            tile_top = fmaxf(tile_top, score[p]);
        }
        top = fmaxf(top, block_max(tile_top));
        for (int p = threadIdx.x; p < n; p += blockDim.x) {
            score[p] = expf(score[p] - top);
            tile_total += score[p];
        }
        total = total * expf(before - top) + block_sum(tile_total);
        for (int i = threadIdx.x; i < d; i += blockDim.x) {
            float s = sum_of_values[i] * expf(before - top);

            for (int p = 0; p < n; p++)
                s += score[p] * v[(size_t)(from + p) * d + i];
            sum_of_values[i] = s;
        }
        __syncthreads();
    }
    for (int i = threadIdx.x; i < d; i += blockDim.x)
        out[((size_t)blockIdx.x * heads + blockIdx.y) * d + i] = sum_of_values[i] / total;
}

__global__ void swiglu_kernel(float *gate, const float *up, size_t n)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n)
        gate[i] = gate[i] / (1.0f + expf(-gate[i])) * up[i];
}

__global__ void add_kernel(float *x, const float *y, size_t n)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n)
        x[i] += y[i];
}

__global__ void advance_kernel(int *used, int count)
{
    *used += count;
}
