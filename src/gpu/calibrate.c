/* SPDX-License-Identifier: Apache-2.0 */
#include "gpu/calibrate.h"

#include "gpu/driver.h"
#include "util/file.h"
#include "util/path.h"

/* Large enough that a launch costs nothing beside it, and that a copy cannot stay in any L2. */
enum { SIDE = 8192, MOST_ROUNDS = 1000 };
static const size_t copy_bytes = (size_t)1 << 30;

/* Numbers of cuBLAS's interface. */
enum { CUBLAS_OP_N = 0, CUBLAS_OP_T = 1, CUBLAS_COMPUTE_32F = 68, CUBLAS_GEMM_DEFAULT = -1 };
enum { CUDA_R_32F = 0, CUDA_R_16F = 2, CUDA_R_16BF = 14 };

/* cuBLAS, opened at run time like the driver; LPO_LIBCUBLAS names another library. */
struct blas {
    void *library, *handle;
    int (*create)(void **);
    int (*destroy)(void *);
    int (*gemm)(void *, int, int, int, int, int, const void *, const void *, int, int, const void *,
                int, int, const void *, void *, int, int, int, int);
};

static bool open_blas(struct blas *b)
{
    static const char *const names[] = { "libcublas.so.13", "libcublas.so.12", "libcublas.so.11",
                                         "libcublas.so", NULL };
    const struct lpo_gpu_entry entries[] = {
        { &b->create, "cublasCreate_v2", false },
        { &b->destroy, "cublasDestroy_v2", false },
        { &b->gemm, "cublasGemmEx", false },
    };

    b->library = lpo_gpu_library_open("LPO_LIBCUBLAS", names);
    return b->library &&
           lpo_gpu_library_load(b->library, entries, sizeof entries / sizeof *entries) &&
           b->create(&b->handle) == 0;
}

static void close_blas(struct blas *b)
{
    if (b->handle)
        b->destroy(b->handle);
    lpo_gpu_library_close(b->library);
}

/* Puts one GPU operation on the default stream; 0 when the driver accepted it. */
typedef int gpu_op_fn(const struct lpo_gpu_driver *d, void *arg);

/* Seconds of one operation: warmed up, then repeated for about `seconds`. 0: the GPU refused it.
 * Events of the GPU take the time, because the host only queues the operations. */
static double time_gpu_op(const struct lpo_gpu_driver *d, gpu_op_fn *gpu_op, void *arg,
                          double seconds)
{
    void *start = NULL, *end = NULL;
    double once, result = 0;
    float ms = 0;
    int rounds;

    if (d->event_create(&start, 0) != 0 || d->event_create(&end, 0) != 0)
        return 0;
    /* the first time loads kernels; the second gives the rate that decides how often to repeat */
    for (rounds = 1; rounds <= 3; rounds += 2) {
        d->event_record(start, NULL);
        for (int i = 0; i < rounds; i++)
            if (gpu_op(d, arg) != 0)
                goto out;
        d->event_record(end, NULL);
        if (d->event_wait(end) != 0 || d->event_ms(&ms, start, end) != 0)
            goto out;
    }
    once = ms > 0 ? (double)ms / 1e3 / 3 : seconds;
    rounds = seconds / once < MOST_ROUNDS ? (int)(seconds / once) + 1 : MOST_ROUNDS;
    d->event_record(start, NULL);
    for (int i = 0; i < rounds; i++)
        gpu_op(d, arg);
    d->event_record(end, NULL);
    if (d->event_wait(end) == 0 && d->event_ms(&ms, start, end) == 0 && ms > 0)
        result = (double)ms / 1e3 / rounds;
out:
    d->event_destroy(start);
    d->event_destroy(end);
    return result;
}

struct buffers {
    lpo_gpu_address a, b, c;
    struct blas blas;
    int type;    /* of all three, as CUDA numbers the formats */
    int m, n, k; /* the weights [n, k] are turned, as linear layers keep them */
};

static int copy_once(const struct lpo_gpu_driver *d, void *arg)
{
    struct buffers *m = arg;

    return d->copy(m->b, m->a, copy_bytes, NULL);
}

static int multiply_once(const struct lpo_gpu_driver *d, void *arg)
{
    struct buffers *m = arg;
    float one = 1, zero = 0;

    (void)d;
    bool square = m->m == SIDE && m->n == SIDE;

    return m->blas.gemm(
        m->blas.handle, square ? CUBLAS_OP_N : CUBLAS_OP_T, CUBLAS_OP_N, m->n, m->m, m->k, &one,
        (const void *)(uintptr_t)m->a, m->type, m->k, (const void *)(uintptr_t)m->b, m->type, m->k,
        &zero, (void *)(uintptr_t)m->c, m->type, m->n, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
}

/* Numbers between -2 and 2 in any of the formats: random mantissas under small exponents. */
static void fill_random(const struct lpo_gpu_driver *d, lpo_gpu_address to, enum lpo_dtype type)
{
    size_t n = (size_t)SIDE * SIDE, bytes = n * (lpo_dtype_bits(type) / 8);
    uint64_t state = 0x9e3779b97f4a7c15u;
    LPO_FREED unsigned char *host = lpo_xmalloc(bytes);

    for (size_t i = 0; i < n; i++) {
        float value;
        uint32_t bits;

        state = state * 6364136223846793005u + 1442695040888963407u;
        bits = (uint32_t)(state >> 32);
        bits = (bits & 0x807fffffu) | 0x3f800000u; /* 1 … 2, either sign */
        memcpy(&value, &bits, sizeof value);
        if (type == LPO_FP32)
            memcpy(host + 4 * i, &value, 4);
        else if (type == LPO_BF16)
            memcpy(host + 2 * i, (char *)&bits + 2, 2);
        else {
            uint16_t half = (uint16_t)((bits >> 16 & 0x8000) | 0x3c00 | (bits >> 13 & 0x3ff));

            memcpy(host + 2 * i, &half, 2);
        }
    }
    d->copy_in(to, host, bytes);
}

/* A decode step, a batch of them and a prefill, through the layers of models of 8 and 70 billion
 * parameters. Sides are at most SIDE, or both buffers hold the product all the same. */
static const struct {
    int m, n, k;
} shapes[LPO_CALIBRATION_SHAPES] = {
    { 1, 4096, 4096 },    { 1, 8192, 8192 },    { 16, 6144, 4096 },   { 16, 4096, 14336 },
    { 64, 4096, 4096 },   { 64, 8192, 8192 },   { 256, 6144, 4096 },  { 256, 8192, 4096 },
    { 1024, 4096, 4096 }, { 2048, 8192, 8192 }, { 4096, 6144, 4096 }, { 8192, 4096, 8192 },
};

static void measure_shapes(const struct lpo_gpu_driver *d, struct buffers *m, double seconds,
                           struct lpo_calibration *out)
{
    for (int i = 0; i < LPO_CALIBRATION_SHAPES; i++) {
        m->m = shapes[i].m;
        m->n = shapes[i].n;
        m->k = shapes[i].k;
        out->shapes[i] = (struct lpo_calibration_shape){
            m->m, m->n, m->k, time_gpu_op(d, multiply_once, m, seconds / LPO_CALIBRATION_SHAPES)
        };
    }
}

static void measure_products(const struct lpo_gpu_driver *d, struct buffers *m, double seconds,
                             struct lpo_calibration *out)
{
    static const struct {
        enum lpo_dtype type;
        int number;
    } formats[] = { { LPO_BF16, CUDA_R_16BF }, { LPO_FP16, CUDA_R_16F }, { LPO_FP32, CUDA_R_32F } };

    if (!open_blas(&m->blas)) {
        close_blas(&m->blas);
        return;
    }
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        double t;

        fill_random(d, m->a, formats[i].type);
        fill_random(d, m->b, formats[i].type);
        m->type = formats[i].number;
        m->m = m->n = m->k = SIDE;
        t = time_gpu_op(d, multiply_once, m, seconds);
        if (t > 0)
            out->flops[formats[i].type] = 2.0 * SIDE * SIDE * SIDE / t;
        if (t > 0 && formats[i].type == LPO_BF16)
            measure_shapes(d, m, seconds, out);
    }
    close_blas(&m->blas);
}

static int measure(const struct lpo_gpu_driver *d, double seconds, struct lpo_calibration *out,
                   struct lpo_err *err)
{
    struct buffers m = { 0 };
    double t;
    int rc = 0;

    if (d->alloc(&m.a, copy_bytes) != 0 || d->alloc(&m.b, copy_bytes) != 0 ||
        d->alloc(&m.c, copy_bytes) != 0) {
        rc = lpo_fail(
            err, LPO_E_MISSING,
            "less than 3 GiB of the GPU's memory is free; stop what runs on it and try again");
    } else {
        t = time_gpu_op(d, copy_once, &m, seconds);
        if (t > 0)
            out->bandwidth = 2.0 * (double)copy_bytes / t;
        else
            rc = lpo_fail(err, LPO_E_MISSING, "the GPU refused to copy inside its own memory");
    }
    if (rc == 0)
        measure_products(d, &m, seconds, out);
    if (m.a)
        d->free(m.a);
    if (m.b)
        d->free(m.b);
    if (m.c)
        d->free(m.c);
    return rc;
}

int lpo_gpu_calibrate(struct lpo_arena *a, int device, double seconds, struct lpo_calibration *out,
                      struct lpo_err *err)
{
    struct lpo_gpu_driver d;
    void *context = NULL;
    char name[256] = "";
    int handle = 0, rc;

    *out = (struct lpo_calibration){ .gpu = "" };
    if (!lpo_gpu_driver_open(&d))
        return lpo_fail(err, LPO_E_MISSING,
                        "there is no NVIDIA driver here (libcuda.so.1 cannot be used), so there is "
                        "nothing to calibrate");
    if (d.device(&handle, device) != 0 || d.name(name, sizeof name, handle) != 0 ||
        d.context_retain(&context, handle) != 0 || d.context_set(context) != 0)
        rc = lpo_fail(err, LPO_E_MISSING, "the driver gives no access to GPU %d", device);
    else
        rc = measure(&d, seconds, out, err);
    out->gpu = lpo_arena_strdup(a, name);
    if (context)
        d.context_release(handle);
    lpo_gpu_driver_close(&d);
    return rc;
}

int lpo_gpu_calibration_write(struct lpo_arena *a, const char *dir, const char *entry,
                              const struct lpo_calibration *c, const char **path,
                              struct lpo_err *err)
{
    const char *folder = lpo_path_join(a, dir, "hardware");
    LPO_STR text = { 0 };

    lpo_str_addf(
        &text,
        "# Measured on %s by `lpo doctor --calibrate`. Remove this file to use the sheet again.\n",
        c->gpu);
    lpo_str_addf(&text, "bandwidth_gbs: %.1f\n", c->bandwidth / 1e9);
    for (int t = 1, first = 1; t < LPO_DTYPES; t++) {
        if (c->flops[t] <= 0)
            continue;
        lpo_str_add(&text, first ? "tflops:\n" : "");
        lpo_str_addf(&text, "  %s: %.2f\n", lpo_dtype_name((enum lpo_dtype)t), c->flops[t] / 1e12);
        first = 0;
    }
    if (lpo_file_make_dirs(folder, err) < 0)
        return err->code;
    *path = lpo_arena_printf(a, "%s/%s.measured.yaml", folder, entry);
    return lpo_file_write(*path, text.at, text.len, err);
}
