/* SPDX-License-Identifier: Apache-2.0 */
/* toy_llm_cuda - the toy model on a GPU: plain kernels, cuBLAS for the products where it is found.
 *
 * The same ranges, flags and metrics as toy_llm; --check compares its logits with the CPU's.
 * Kernels are launched inside the ranges they belong to, one stream unless --two-streams; with
 * --graph the ranges within a step are seen once, when the step is captured (load/capture/...). */
#include <cuda_runtime.h>
#include <stdlib.h>
#include <string.h>

#if !defined(TOY_NO_CUBLAS) && __has_include(<cublas_v2.h>)
#include <cublas_v2.h>
#define TOY_CUBLAS 1
#else
#define TOY_CUBLAS 0
#endif

extern "C" {
#include "toy/main.h"
#include "util/arena.h"
#include "util/err.h"
}

#include "toy/kernels.cuh"

/* A stream and its cuBLAS handle. */
struct lane {
    cudaStream_t stream;
#if TOY_CUBLAS
    cublasHandle_t blas;
    void *workspace;
#endif
};

struct gpu {
    const struct toy_options *o;
    const struct toy_ranges *ranges;
    const struct toy_weights *w;
    float *weights;      /* the same numbers, on the device */
    struct lane lane[2]; /* [1] only with --two-streams */
    cudaEvent_t fork, join;
    cudaGraphExec_t graph;
    int *used, *tokens, rows;
    float *keys, *values, *logits;
    float *x, *h, *q, *k, *v, *att, *gate, *up;
    float *host_logits; /* pinned */
    void *owned[64];    /* device memory, to be freed at the end */
    int owned_count;
    size_t bytes;
};

static int failed(struct lpo_err *err, cudaError_t e, const char *what)
{
    if (e == cudaErrorMemoryAllocation)
        return lpo_fail(err, LPO_E_LIMIT, "the GPU is out of memory: %s; make the model smaller",
                        what);
    return lpo_fail(err, LPO_E_IO, "%s: %s", what, cudaGetErrorString(e));
}

#define TRY(call)                                                                                  \
    do {                                                                                           \
        cudaError_t e_ = (call);                                                                   \
        if (e_ != cudaSuccess)                                                                     \
            return failed(err, e_, #call);                                                         \
    } while (0)

#if TOY_CUBLAS
#define TRY_BLAS(call)                                                                             \
    do {                                                                                           \
        cublasStatus_t s_ = (call);                                                                \
        if (s_ != CUBLAS_STATUS_SUCCESS)                                                           \
            return lpo_fail(err, LPO_E_IO, "%s: cuBLAS status %d", #call, (int)s_);                \
    } while (0)
#endif

static int room(struct gpu *g, void *out, size_t bytes, struct lpo_err *err)
{
    TRY(cudaMalloc((void **)out, bytes));
    g->owned[g->owned_count++] = *(void **)out;
    g->bytes += bytes;
    return 0;
}

/* The device's copy of a weight. */
static const float *there(const struct gpu *g, const float *here)
{
    return g->weights + (here - g->w->at);
}

static int multiply(struct gpu *g, struct lane *lane, float *y, const float *x, const float *m,
                    int rows, int in, int out, struct lpo_err *err)
{
#if TOY_CUBLAS
    const float one = 1, zero = 0;

    TRY_BLAS(cublasSgemm(lane->blas, CUBLAS_OP_T, CUBLAS_OP_N, out, rows, in, &one, there(g, m), in,
                         x, in, &zero, y, out));
#else
    for (int r = 0; r < rows; r += 65535) { /* the largest grid in y */
        dim3 grid(out, rows - r < 65535 ? rows - r : 65535);

        matmul_kernel<<<grid, TOY_BLOCK, 0, lane->stream>>>(y + (size_t)r * out, x + (size_t)r * in,
                                                            there(g, m), in, out);
    }
#endif
    TRY(cudaGetLastError());
    return 0;
}

static unsigned blocks(size_t n)
{
    return (unsigned)((n + TOY_BLOCK - 1) / TOY_BLOCK);
}

/* Keys and values of one layer, into the cache, on the lane given. */
static int keys_and_values(struct gpu *g, struct lane *lane, int layer, int count,
                           struct lpo_err *err)
{
    const struct toy_config *c = &g->o->model;
    const struct toy_layer *l = &g->w->layers[layer];
    const int rows = g->o->batch * count, d = toy_head_dim(c), kv = toy_kv_dim(c);
    const size_t at = (size_t)layer * g->o->batch * c->context * kv;
    const dim3 grid(rows, c->kv_heads);
    int rc;

    if ((rc = multiply(g, lane, g->k, g->h, l->k, rows, c->hidden, kv, err)) < 0 ||
        (rc = multiply(g, lane, g->v, g->h, l->v, rows, c->hidden, kv, err)) < 0)
        return rc;
    rotate_kernel<<<grid, TOY_BLOCK, 0, lane->stream>>>(g->k, g->used, count, c->kv_heads, d);
    remember_kernel<<<grid, TOY_BLOCK, 0, lane->stream>>>(g->keys + at, g->k, g->used, count,
                                                          c->kv_heads, c->context, d);
    remember_kernel<<<grid, TOY_BLOCK, 0, lane->stream>>>(g->values + at, g->v, g->used, count,
                                                          c->kv_heads, c->context, d);
    TRY(cudaGetLastError());
    return 0;
}

/* Queries on the first lane; keys and values beside them when there is a second. */
static int projections(struct gpu *g, int layer, int count, struct lpo_err *err)
{
    const struct toy_config *c = &g->o->model;
    const int rows = g->o->batch * count;
    struct lane *side = &g->lane[g->o->two_streams ? 1 : 0];
    int rc;

    if (g->o->two_streams) {
        TRY(cudaEventRecord(g->fork, g->lane[0].stream));
        TRY(cudaStreamWaitEvent(side->stream, g->fork, 0));
    }
    if ((rc = keys_and_values(g, side, layer, count, err)) < 0)
        return rc;
    rc = multiply(g, &g->lane[0], g->q, g->h, g->w->layers[layer].q, rows, c->hidden, c->hidden,
                  err);
    if (rc < 0)
        return rc;
    rotate_kernel<<<dim3(rows, c->heads), TOY_BLOCK, 0, g->lane[0].stream>>>(
        g->q, g->used, count, c->heads, toy_head_dim(c));
    TRY(cudaGetLastError());
    if (g->o->two_streams) {
        TRY(cudaEventRecord(g->join, side->stream));
        TRY(cudaStreamWaitEvent(g->lane[0].stream, g->join, 0));
    }
    return 0;
}

static int attention(struct gpu *g, int layer, int count, struct lpo_err *err)
{
    const struct toy_config *c = &g->o->model;
    const struct toy_layer *l = &g->w->layers[layer];
    const int rows = g->o->batch * count, d = toy_head_dim(c), n = c->hidden;
    const size_t at = (size_t)layer * g->o->batch * c->context * toy_kv_dim(c);
    cudaStream_t s = g->lane[0].stream;
    int rc;

    rms_norm_kernel<<<rows, TOY_BLOCK, 0, s>>>(g->h, g->x, there(g, l->attn_norm), n, 0, 1);
    if ((rc = projections(g, layer, count, err)) < 0)
        return rc;
    attention_kernel<<<dim3(rows, c->heads), TOY_BLOCK, d * sizeof(float), s>>>(
        g->att, g->q, g->keys + at, g->values + at, g->used, count, c->heads, c->kv_heads,
        c->context, d);
    if ((rc = multiply(g, &g->lane[0], g->h, g->att, l->o, rows, n, n, err)) < 0)
        return rc;
    add_kernel<<<blocks((size_t)rows * n), TOY_BLOCK, 0, s>>>(g->x, g->h, (size_t)rows * n);
    TRY(cudaGetLastError());
    return 0;
}

static int feed_forward(struct gpu *g, int layer, int rows, struct lpo_err *err)
{
    const struct toy_config *c = &g->o->model;
    const struct toy_layer *l = &g->w->layers[layer];
    const size_t wide = (size_t)rows * c->ffn, all = (size_t)rows * c->hidden;
    struct lane *lane = &g->lane[0];
    int rc;

    rms_norm_kernel<<<rows, TOY_BLOCK, 0, lane->stream>>>(g->h, g->x, there(g, l->mlp_norm),
                                                          c->hidden, 0, 1);
    if ((rc = multiply(g, lane, g->gate, g->h, l->gate, rows, c->hidden, c->ffn, err)) < 0 ||
        (rc = multiply(g, lane, g->up, g->h, l->up, rows, c->hidden, c->ffn, err)) < 0)
        return rc;
    swiglu_kernel<<<blocks(wide), TOY_BLOCK, 0, lane->stream>>>(g->gate, g->up, wide);
    if ((rc = multiply(g, lane, g->h, g->gate, l->down, rows, c->ffn, c->hidden, err)) < 0)
        return rc;
    add_kernel<<<blocks(all), TOY_BLOCK, 0, lane->stream>>>(g->x, g->h, all);
    TRY(cudaGetLastError());
    return 0;
}

static int layer(struct gpu *g, int i, int count, struct lpo_err *err)
{
    int rc;

    toy_push_layer(g->ranges, i);
    toy_push(g->ranges, "attn");
    rc = attention(g, i, count, err);
    toy_pop(g->ranges);
    if (rc == 0) {
        toy_push(g->ranges, "mlp");
        rc = feed_forward(g, i, g->o->batch * count, err);
        toy_pop(g->ranges);
    }
    toy_pop(g->ranges);
    return rc;
}

/* Launches everything from the tokens on the device to the logits on the device. */
static int launch(struct gpu *g, int count, struct lpo_err *err)
{
    const struct toy_config *c = &g->o->model;
    cudaStream_t s = g->lane[0].stream;
    int rc = 0;

    embed_kernel<<<g->o->batch * count, TOY_BLOCK, 0, s>>>(g->x, there(g, g->w->embed), g->tokens,
                                                           c->hidden);
    for (int i = 0; i < c->layers && rc == 0; i++)
        rc = layer(g, i, count, err);
    if (rc < 0)
        return rc;
    toy_push(g->ranges, "lm_head");
    rms_norm_kernel<<<g->o->batch, TOY_BLOCK, 0, s>>>(g->h, g->x, there(g, g->w->norm), c->hidden,
                                                      count - 1, count);
    rc = multiply(g, &g->lane[0], g->logits, g->h, g->w->head, g->o->batch, c->hidden, c->vocab,
                  err);
    toy_pop(g->ranges);
    if (rc < 0)
        return rc;
    advance_kernel<<<1, 1, 0, s>>>(g->used, count);
    TRY(cudaGetLastError());
    return 0;
}

static int gpu_forward(void *self, const int *tokens, int count, float *logits, struct lpo_err *err)
{
    struct gpu *g = (struct gpu *)self;
    const size_t bytes = (size_t)g->o->batch * g->o->model.vocab * sizeof(float);
    cudaStream_t s = g->lane[0].stream;
    int rc;

    if (g->o->batch * count > g->rows)
        return lpo_fail(err, LPO_E_RANGE, "%d rows; there is room for %d", g->o->batch * count,
                        g->rows);
    TRY(cudaMemcpyAsync(g->tokens, tokens, (size_t)g->o->batch * count * sizeof *tokens,
                        cudaMemcpyHostToDevice, s));
    if (count == 1 && g->graph)
        TRY(cudaGraphLaunch(g->graph, s));
    else if ((rc = launch(g, count, err)) < 0)
        return rc;
    TRY(cudaMemcpyAsync(g->host_logits, g->logits, bytes, cudaMemcpyDeviceToHost, s));
    TRY(cudaStreamSynchronize(s));
    memcpy(logits, g->host_logits, bytes);
    return 0;
}

static void gpu_reset(void *self)
{
    struct gpu *g = (struct gpu *)self;

    cudaMemsetAsync(g->used, 0, sizeof *g->used, g->lane[0].stream);
}

static size_t gpu_bytes(void *self)
{
    return ((struct gpu *)self)->bytes;
}

static int open_lane(struct gpu *g, struct lane *lane, struct lpo_err *err)
{
    TRY(cudaStreamCreateWithFlags(&lane->stream, cudaStreamNonBlocking));
#if TOY_CUBLAS
    const size_t workspace =
        (size_t)32 << 20; /* our own, because cuBLAS must not allocate while a graph is captured */
    int rc = room(g, &lane->workspace, workspace, err);

    if (rc < 0)
        return rc;
    TRY_BLAS(cublasCreate(&lane->blas));
    TRY_BLAS(cublasSetStream(lane->blas, lane->stream));
    TRY_BLAS(cublasSetWorkspace(lane->blas, lane->workspace, workspace));
#endif
    return 0;
}

static int open_memory(struct gpu *g, struct lpo_err *err)
{
    const struct toy_config *c = &g->o->model;
    const size_t batch = g->o->batch, rows = batch * g->o->prompt_tokens, f = sizeof(float);
    const size_t cache = (size_t)c->layers * batch * c->context * toy_kv_dim(c) * f;
    const struct {
        void *at;
        size_t bytes;
    } all[] = {
        { &g->weights, g->w->count * f },
        { &g->used, sizeof(int) },
        { &g->tokens, rows * sizeof(int) },
        { &g->keys, cache },
        { &g->values, cache },
        { &g->logits, batch * c->vocab * f },
        { &g->x, rows * c->hidden * f },
        { &g->h, rows * c->hidden * f },
        { &g->q, rows * c->hidden * f },
        { &g->att, rows * c->hidden * f },
        { &g->k, rows * toy_kv_dim(c) * f },
        { &g->v, rows * toy_kv_dim(c) * f },
        { &g->gate, rows * c->ffn * f },
        { &g->up, rows * c->ffn * f },
    };

    g->rows = (int)rows;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        int rc = room(g, all[i].at, all[i].bytes, err);

        if (rc < 0)
            return rc;
    }
    TRY(cudaMallocHost((void **)&g->host_logits, batch * c->vocab * f));
    TRY(cudaMemcpy(g->weights, g->w->at, g->w->count * f, cudaMemcpyHostToDevice));
    TRY(cudaMemset(g->used, 0, sizeof *g->used));
    TRY(cudaMemset(g->tokens, 0, rows * sizeof(int)));
    return 0;
}

/* Captures one decode step as a graph. A step ran before, because cuBLAS loads kernels at first
 * use, which is not allowed while capturing. */
static int capture(struct gpu *g, struct lpo_err *err)
{
    cudaStream_t s = g->lane[0].stream;
    cudaGraph_t graph = NULL;
    cudaError_t end;
    int rc = launch(g, 1, err);

    if (rc < 0)
        return rc;
    TRY(cudaStreamSynchronize(s));
    TRY(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal));
    toy_push(g->ranges, "capture");
    rc = launch(g, 1, err);
    toy_pop(g->ranges);
    end = cudaStreamEndCapture(s, &graph);
    if (rc < 0)
        return rc;
    TRY(end);
    TRY(cudaGraphInstantiate(&g->graph, graph, 0));
    TRY(cudaGraphDestroy(graph));
    gpu_reset(g);
    return 0;
}

static void gpu_close(struct toy_engine *e)
{
    struct gpu *g = (struct gpu *)e->self;

    if (g->graph)
        cudaGraphExecDestroy(g->graph);
    for (int i = 0; i < 2; i++) {
#if TOY_CUBLAS
        if (g->lane[i].blas)
            cublasDestroy(g->lane[i].blas);
#endif
        if (g->lane[i].stream)
            cudaStreamDestroy(g->lane[i].stream);
    }
    if (g->fork)
        cudaEventDestroy(g->fork);
    if (g->join)
        cudaEventDestroy(g->join);
    for (int i = 0; i < g->owned_count; i++)
        cudaFree(g->owned[i]);
    cudaFreeHost(g->host_logits);
    free(g);
    e->self = NULL;
}

static int open_device(const struct toy_options *o, struct lpo_err *err)
{
    int devices = 0;
    cudaError_t e = cudaGetDeviceCount(&devices);

    if (e != cudaSuccess || devices == 0)
        return lpo_fail(err, LPO_E_MISSING,
                        "no CUDA device: %s; toy_llm runs the same model on the CPU",
                        e ? cudaGetErrorString(e) : "none is visible");
    if (o->device >= devices)
        return lpo_fail(err, LPO_E_MISSING, "device %d of %d; they count from 0", o->device,
                        devices);
    TRY(cudaSetDevice(o->device));
    return 0;
}

static int open_all(struct gpu *g, struct lpo_err *err)
{
    int rc;

    if ((rc = open_device(g->o, err)) < 0 || (rc = open_memory(g, err)) < 0 ||
        (rc = open_lane(g, &g->lane[0], err)) < 0)
        return rc;
    if (g->o->two_streams) {
        if ((rc = open_lane(g, &g->lane[1], err)) < 0)
            return rc;
        TRY(cudaEventCreateWithFlags(&g->fork, cudaEventDisableTiming));
        TRY(cudaEventCreateWithFlags(&g->join, cudaEventDisableTiming));
    }
    return g->o->graph ? capture(g, err) : 0;
}

static int gpu_open(const struct toy_options *o, const struct toy_weights *w,
                    const struct toy_ranges *ranges, struct toy_engine *out, struct lpo_err *err)
{
    struct gpu *g = (struct gpu *)lpo_xcalloc(1, sizeof *g);
    struct toy_engine e = { "cuda", g, gpu_reset, gpu_forward, gpu_bytes };
    int rc;

    g->o = o;
    g->w = w;
    g->ranges = ranges;
    rc = open_all(g, err);
    if (rc < 0) {
        gpu_close(&e);
        return rc;
    }
    *out = e;
    return 0;
}

int main(int argc, char **argv)
{
    static const struct toy_backend backend = { "toy_llm_cuda", gpu_open, gpu_close };

    return toy_main(&backend, argc, argv);
}
