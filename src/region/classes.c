/* SPDX-License-Identifier: Apache-2.0 */
#include "region/classes.h"

#include <stdlib.h>
#include <string.h>

#include "util/xmalloc.h"

struct rule {
    const char *part; /* in any case */
    enum lpo_region_kernel_class class;
};

/* The first row whose part is in the name decides: narrow names come before wide ones. */
static const struct rule rules[] = {
    { "nccl", LPO_CLASS_COLLECTIVE },
    { "rccl", LPO_CLASS_COLLECTIVE },
    { "all_reduce", LPO_CLASS_COLLECTIVE },
    { "allreduce", LPO_CLASS_COLLECTIVE },
    { "all_gather", LPO_CLASS_COLLECTIVE },
    { "allgather", LPO_CLASS_COLLECTIVE },
    { "reduce_scatter", LPO_CLASS_COLLECTIVE },
    { "reducescatter", LPO_CLASS_COLLECTIVE },
    { "all_to_all", LPO_CLASS_COLLECTIVE },
    { "alltoall", LPO_CLASS_COLLECTIVE },
    { "cross_device_reduce", LPO_CLASS_COLLECTIVE },
    { "nvshmem", LPO_CLASS_COLLECTIVE },
    { "mscclpp", LPO_CLASS_COLLECTIVE },
    { "flash_fwd", LPO_CLASS_ATTENTION },
    { "flash_bwd", LPO_CLASS_ATTENTION },
    { "flash::", LPO_CLASS_ATTENTION },
    { "sdpa", LPO_CLASS_ATTENTION }, /* cudnn's, whose names say fprop too */
    { "fmha", LPO_CLASS_ATTENTION },
    { "attention", LPO_CLASS_ATTENTION },
    { "_attn", LPO_CLASS_ATTENTION },
    { "attn_", LPO_CLASS_ATTENTION },
    { "batchdecode", LPO_CLASS_ATTENTION },
    { "batchprefill", LPO_CLASS_ATTENTION },
    { "adam", LPO_CLASS_OPTIMIZER },
    { "sgd_", LPO_CLASS_OPTIMIZER },
    { "lamb_", LPO_CLASS_OPTIMIZER },
    { "convolution", LPO_CLASS_CONVOLUTION },
    { "convolve", LPO_CLASS_CONVOLUTION },
    { "conv1d", LPO_CLASS_CONVOLUTION },
    { "conv2d", LPO_CLASS_CONVOLUTION },
    { "conv3d", LPO_CLASS_CONVOLUTION },
    { "conv_depthwise", LPO_CLASS_CONVOLUTION },
    { "fprop", LPO_CLASS_CONVOLUTION },
    { "dgrad", LPO_CLASS_CONVOLUTION },
    { "wgrad", LPO_CLASS_CONVOLUTION },
    { "winograd", LPO_CLASS_CONVOLUTION },
    { "scudnn", LPO_CLASS_CONVOLUTION },
    { "im2col", LPO_CLASS_CONVOLUTION },
    { "gemm", LPO_CLASS_GEMM },
    { "gemv", LPO_CLASS_GEMM },
    { "nvjet", LPO_CLASS_GEMM },
    { "cijk_", LPO_CLASS_GEMM },
    { "matmul", LPO_CLASS_GEMM },
    { "xmma", LPO_CLASS_GEMM },
    { "wgmma", LPO_CLASS_GEMM },
    { "splitkreduce", LPO_CLASS_GEMM },
    { "cutlass", LPO_CLASS_GEMM },
    { "cublas", LPO_CLASS_GEMM },
    { "fused_moe", LPO_CLASS_GEMM },
    { "marlin", LPO_CLASS_GEMM },
    { "triton_tem_", LPO_CLASS_GEMM },
    { "wvsplitk", LPO_CLASS_GEMM },
    { "layer_norm", LPO_CLASS_NORM },
    { "layernorm", LPO_CLASS_NORM },
    { "rms_norm", LPO_CLASS_NORM },
    { "rmsnorm", LPO_CLASS_NORM },
    { "batch_norm", LPO_CLASS_NORM },
    { "batchnorm", LPO_CLASS_NORM },
    { "group_norm", LPO_CLASS_NORM },
    { "groupnorm", LPO_CLASS_NORM },
    { "rowwisemoments", LPO_CLASS_NORM },
    { "gammabeta", LPO_CLASS_NORM },
    { "bn_fw", LPO_CLASS_NORM },
    { "bn_bw", LPO_CLASS_NORM },
    { "softmax", LPO_CLASS_SOFTMAX },
    { "rotary", LPO_CLASS_ROTARY },
    { "rotate", LPO_CLASS_ROTARY },
    { "_rope", LPO_CLASS_ROTARY },
    { "rope_", LPO_CLASS_ROTARY },
    { "topk", LPO_CLASS_SORTING },
    { "radixsort", LPO_CLASS_SORTING },
    { "radix_sort", LPO_CLASS_SORTING },
    { "sort_", LPO_CLASS_SORTING },
    { "bitonic", LPO_CLASS_SORTING },
    { "sampling", LPO_CLASS_SORTING },
    { "argmax", LPO_CLASS_REDUCTION },
    { "embed", LPO_CLASS_INDEXING },
    { "indexselect", LPO_CLASS_INDEXING },
    { "index_", LPO_CLASS_INDEXING },
    { "gather", LPO_CLASS_INDEXING },
    { "scatter", LPO_CLASS_INDEXING },
    { "reshape_and_cache", LPO_CLASS_COPY },
    { "catarray", LPO_CLASS_COPY },
    { "memcpy", LPO_CLASS_COPY },
    { "memset", LPO_CLASS_COPY },
    { "copy", LPO_CLASS_COPY },
    { "transpose", LPO_CLASS_COPY },
    { "fillfunctor", LPO_CLASS_COPY },
    { "fillbuffer", LPO_CLASS_COPY },
    { "multinomial", LPO_CLASS_RANDOM },
    { "distribution", LPO_CLASS_RANDOM },
    { "philox", LPO_CLASS_RANDOM },
    { "curand", LPO_CLASS_RANDOM },
    { "triton_red", LPO_CLASS_REDUCTION },
    { "triton_per", LPO_CLASS_REDUCTION },
    { "reduce", LPO_CLASS_REDUCTION },
    { "cumsum", LPO_CLASS_REDUCTION },
    { "scan", LPO_CLASS_REDUCTION },
    { "triton_poi", LPO_CLASS_ELEMENTWISE },
    { "elementwise", LPO_CLASS_ELEMENTWISE },
    { "pointwise", LPO_CLASS_ELEMENTWISE },
    { "act_and_mul", LPO_CLASS_ELEMENTWISE },
    { "silu", LPO_CLASS_ELEMENTWISE },
    { "swiglu", LPO_CLASS_ELEMENTWISE },
    { "add_kernel", LPO_CLASS_ELEMENTWISE },
    { "mul_kernel", LPO_CLASS_ELEMENTWISE },
    { "gelu", LPO_CLASS_ELEMENTWISE },
    { "relu", LPO_CLASS_ELEMENTWISE },
    { "dropout", LPO_CLASS_ELEMENTWISE },
    { "multi_tensor_apply", LPO_CLASS_ELEMENTWISE },
    { "functor", LPO_CLASS_ELEMENTWISE },
    { "axpy", LPO_CLASS_ELEMENTWISE },
};

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static enum lpo_region_kernel_class class_of(const char *low)
{
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (strstr(low, rules[i].part))
            return rules[i].class;
    return LPO_CLASS_OTHER;
}

/* In small letters once, not once for each rule: a trace may hold 200,000 names. */
enum lpo_region_kernel_class lpo_region_kernel_class(const char *name)
{
    char small[1024], *low = small;
    size_t len = strlen(name);
    enum lpo_region_kernel_class class;

    if (len >= sizeof small)
        low = lpo_xmalloc(len + 1);
    for (size_t i = 0; i <= len; i++)
        low[i] = lower(name[i]);
    class = class_of(low);
    if (low != small)
        free(low);
    return class;
}

const char *lpo_region_class_name(enum lpo_region_kernel_class c)
{
    static const char *const names[] = {
        "GEMM",   "attention",   "convolution", "norm",       "softmax",
        "rotary", "elementwise", "reduction",   "indexing",   "sorting",
        "copy",   "optimizer",   "random",      "collective", "other",
    };

    return names[c];
}

bool lpo_region_is_communication(const char *kernel_name)
{
    return strcasestr(kernel_name, "nccl") || strcasestr(kernel_name, "rccl");
}
