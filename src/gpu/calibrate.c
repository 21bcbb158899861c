#include "gpu/calibrate.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>

#include "util/arena.h"
#include "util/err.h"
#include "util/file.h"
#include "util/path.h"
#include "util/str.h"

enum { SIDE = 8192, MOST_ROUNDS = 1000 };
static const size_t copy_bytes = (size_t)1 << 30;

/* Numbers of cuBLAS's interface. */
enum { CUBLAS_OP_N = 0, CUBLAS_COMPUTE_32F = 68, CUBLAS_GEMM_DEFAULT = -1 };
enum { CUDA_R_32F = 0, CUDA_R_16F = 2, CUDA_R_16BF = 14 };

typedef uint64_t device_ptr;

struct driver {
    void *library, *blas;
    int (*init)(unsigned);
    int (*device_get)(int *, int);
    int (*get_name)(char *, int, int);
    int (*retain)(void **, int);
    int (*release)(int);
    int (*set_current)(void *);
    int (*mem_alloc)(device_ptr *, size_t);
    int (*mem_free)(device_ptr);
    int (*copy_in)(device_ptr, const void *, size_t);
    int (*copy)(device_ptr, device_ptr, size_t, void *);
    int (*event_create)(void **, unsigned);
    int (*event_record)(void *, void *);
    int (*event_wait)(void *);
    int (*event_ms)(float *, void *, void *);
    int (*event_destroy)(void *);
    int (*blas_create)(void **);
    int (*blas_destroy)(void *);
    int (*gemm)(void *, int, int, int, int, int, const void *, const void *, int, int, const void *,
                int, int, const void *, void *, int, int, int, int);
};

static bool take(void *library, const char *name, void *slot)
{
    *(void **)slot = dlsym(library, name);
    return *(void **)slot != NULL;
}

static void *open_first(const char *variable, const char *const *names)
{
    const char *given = getenv(variable);
    void *library = given && *given ? dlopen(given, RTLD_NOW | RTLD_LOCAL) : NULL;

    for (; !library && !(given && *given) && *names; names++)
        library = dlopen(*names, RTLD_NOW | RTLD_LOCAL);
    return library;
}

static bool open_driver(struct driver *d)
{
    static const char *const names[] = { "libcuda.so.1", NULL };

    d->library = open_first("LPO_LIBCUDA", names);
    return d->library && take(d->library, "cuInit", &d->init) &&
           take(d->library, "cuDeviceGet", &d->device_get) &&
           take(d->library, "cuDeviceGetName", &d->get_name) &&
           take(d->library, "cuDevicePrimaryCtxRetain", &d->retain) &&
           take(d->library, "cuDevicePrimaryCtxRelease_v2", &d->release) &&
           take(d->library, "cuCtxSetCurrent", &d->set_current) &&
           take(d->library, "cuMemAlloc_v2", &d->mem_alloc) &&
           take(d->library, "cuMemFree_v2", &d->mem_free) &&
           take(d->library, "cuMemcpyHtoD_v2", &d->copy_in) &&
           take(d->library, "cuMemcpyDtoDAsync_v2", &d->copy) &&
           take(d->library, "cuEventCreate", &d->event_create) &&
           take(d->library, "cuEventRecord", &d->event_record) &&
           take(d->library, "cuEventSynchronize", &d->event_wait) &&
           take(d->library, "cuEventElapsedTime", &d->event_ms) &&
           take(d->library, "cuEventDestroy_v2", &d->event_destroy);
}

static bool open_blas(struct driver *d)
{
    static const char *const names[] = { "libcublas.so.13", "libcublas.so.12", "libcublas.so.11",
                                         "libcublas.so", NULL };

    d->blas = open_first("LPO_LIBCUBLAS", names);
    return d->blas && take(d->blas, "cublasCreate_v2", &d->blas_create) &&
           take(d->blas, "cublasDestroy_v2", &d->blas_destroy) &&
           take(d->blas, "cublasGemmEx", &d->gemm);
}

/* One piece of work put on the GPU; 0 when it was taken. */
typedef int gpu_op_fn(struct driver *d, void *arg);

/* Seconds of one round: warmed up, then as many rounds as fill the time. 0: refused. */
static double time_gpu_op(struct driver *d, gpu_op_fn *gpu_op, void *arg, double seconds)
{
    void *start = NULL, *end = NULL;
    double once, result = 0;
    float ms = 0;
    int rounds;

    if (d->event_create(&start, 0) != 0 || d->event_create(&end, 0) != 0)
        return 0;
    for (rounds = 1; rounds <= 3; rounds += 2) { /* the first round loads kernels */
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
    device_ptr a, b, c;
    void *blas;
    int type; /* of a and b, CUDA's number */
};

static int copy_once(struct driver *d, void *arg)
{
    struct buffers *m = arg;

    return d->copy(m->b, m->a, copy_bytes, NULL);
}

static int multiply_once(struct driver *d, void *arg)
{
    struct buffers *m = arg;
    float one = 1, zero = 0;
    int out = m->type;

    return d->gemm(m->blas, CUBLAS_OP_N, CUBLAS_OP_N, SIDE, SIDE, SIDE, &one,
                   (const void *)(uintptr_t)m->a, m->type, SIDE, (const void *)(uintptr_t)m->b,
                   m->type, SIDE, &zero, (void *)(uintptr_t)m->c, out, SIDE, CUBLAS_COMPUTE_32F,
                   CUBLAS_GEMM_DEFAULT);
}

/* Numbers between -2 and 2 in any of the formats: random mantissas under small exponents. */
static void fill_random(struct driver *d, device_ptr to, enum lpo_dtype type)
{
    size_t n = (size_t)SIDE * SIDE, bytes = n * (lpo_dtype_bits(type) / 8);
    uint64_t state = 0x9e3779b97f4a7c15u;
    unsigned char *host = lpo_xmalloc(bytes);

    for (size_t i = 0; i < n; i++) {
        float value;
        uint32_t bits;

        state = state * 6364136223846793005u + 1442695040888963407u;
        bits = (uint32_t)(state >> 32);
        bits = (bits & 0x807fffffu) | 0x3f800000u; /* 1 … 2, either sign */
        __builtin_memcpy(&value, &bits, sizeof value);
        if (type == LPO_FP32)
            __builtin_memcpy(host + 4 * i, &value, 4);
        else if (type == LPO_BF16)
            __builtin_memcpy(host + 2 * i, (char *)&bits + 2, 2);
        else {
            uint16_t half = (uint16_t)((bits >> 16 & 0x8000) | 0x3c00 | (bits >> 13 & 0x3ff));

            __builtin_memcpy(host + 2 * i, &half, 2);
        }
    }
    d->copy_in(to, host, bytes);
    free(host);
}

static void measure_products(struct driver *d, struct buffers *m, double seconds,
                             struct lpo_calibration *out)
{
    static const struct {
        enum lpo_dtype type;
        int number;
    } formats[] = { { LPO_BF16, CUDA_R_16BF }, { LPO_FP16, CUDA_R_16F }, { LPO_FP32, CUDA_R_32F } };

    if (!open_blas(d) || d->blas_create(&m->blas) != 0)
        return;
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        double t;

        fill_random(d, m->a, formats[i].type);
        fill_random(d, m->b, formats[i].type);
        m->type = formats[i].number;
        t = time_gpu_op(d, multiply_once, m, seconds);
        if (t > 0)
            out->flops[formats[i].type] = 2.0 * SIDE * SIDE * SIDE / t;
    }
    d->blas_destroy(m->blas);
}

static int measure(struct driver *d, double seconds, struct lpo_calibration *out,
                   struct lpo_err *err)
{
    struct buffers m = { 0 };
    double t;
    int rc = 0;

    if (d->mem_alloc(&m.a, copy_bytes) != 0 || d->mem_alloc(&m.b, copy_bytes) != 0 ||
        d->mem_alloc(&m.c, copy_bytes) != 0) {
        rc = lpo_fail(err, LPO_E_MISSING, "the GPU has no 3 GiB free: end what runs on it");
    } else {
        t = time_gpu_op(d, copy_once, &m, seconds);
        if (t > 0)
            out->bandwidth = 2.0 * (double)copy_bytes / t;
        else
            rc = lpo_fail(err, LPO_E_MISSING, "the GPU refused to copy its own memory");
    }
    if (rc == 0)
        measure_products(d, &m, seconds, out);
    if (m.a)
        d->mem_free(m.a);
    if (m.b)
        d->mem_free(m.b);
    if (m.c)
        d->mem_free(m.c);
    return rc;
}

int lpo_gpu_calibrate(struct lpo_arena *a, int device, double seconds, struct lpo_calibration *out,
                      struct lpo_err *err)
{
    struct driver d = { 0 };
    void *context = NULL;
    char name[256] = "";
    int handle = 0, rc;

    *out = (struct lpo_calibration){ 0 };
    if (!open_driver(&d))
        rc = lpo_fail(err, LPO_E_MISSING, "no NVIDIA driver (libcuda.so.1): nothing to calibrate");
    else if (d.init(0) != 0 || d.device_get(&handle, device) != 0 ||
             d.get_name(name, sizeof name, handle) != 0 || d.retain(&context, handle) != 0 ||
             d.set_current(context) != 0)
        rc = lpo_fail(err, LPO_E_MISSING, "the driver gives no GPU %d", device);
    else
        rc = measure(&d, seconds, out, err);
    out->gpu = lpo_arena_strdup(a, name);
    if (context)
        d.release(handle);
    if (d.blas)
        dlclose(d.blas);
    if (d.library)
        dlclose(d.library);
    return rc;
}

int lpo_gpu_calibration_write(struct lpo_arena *a, const char *dir, const char *entry,
                              const struct lpo_calibration *c, const char **path,
                              struct lpo_err *err)
{
    const char *folder = lpo_path_join(a, dir, "hardware");
    LPO_STR text = { 0 };

    lpo_str_addf(
        &text, "# Measured on %s by `lpo doctor --calibrate`; remove it to go back to the sheet.\n",
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
