/* SPDX-License-Identifier: Apache-2.0 */
/* The rest of a word that a table has cut. PyTorch's own table leaves twelve letters of a function
 * behind "void at::native::(anonymous namespace)::"; which one it was can be said all the same. */
#include <ctype.h>
#include <string.h>

#include "region/kernel_name/parts.h"
#include "util/str.h"

/* Of at::native, as far as their class needs it. Of several that begin alike the most common stands
 * first. */
static const char *const functions[] = {
    "vectorized_elementwise_kernel",
    "vectorized_layer_norm_kernel",
    "vectorized_rms_norm_kernel",
    "vectorized_gather_kernel",
    "vectorized_templated_elementwise_kernel",
    "unrolled_elementwise_kernel",
    "elementwise_kernel",
    "index_elementwise_kernel",
    "_scatter_gather_elementwise_kernel",
    "distribution_elementwise_grid_stride_kernel",
    "multi_tensor_apply_kernel",
    "reduce_kernel",
    "cunn_SoftMaxForward",
    "cunn_SpatialSoftMaxForward",
    "softmax_warp_forward",
    "host_softmax",
    "nll_loss_forward_reduce_cuda_kernel",
    "nll_loss_backward_reduce_cuda_kernel",
    "RowwiseMomentsCUDAKernel",
    "LayerNormForwardCUDAKernel",
    "layer_norm_grad_input_kernel",
    "GammaBetaBackwardCUDAKernel",
    "cuComputeGradGammaBeta",
    "cuComputePartGradGammaBeta",
    "ComputeInternalGradientsCUDAKernel",
    "ComputeFusedParamsCUDAKernel",
    "ComputeBackwardFusedParamsCUDAKernel",
    "Compute1dBackwardFusedParamsCUDAKernel",
    "batch_norm_collect_statistics_kernel",
    "batch_norm_transform_input_kernel",
    "batch_norm_backward_reduce_kernel",
    "fused_dropout_kernel",
    "tensor_kernel_scan_innermost_dim",
    "kernelHistogram1D",
    "segment_reduce_forward_kernel",
    "max_pool_forward_nchw",
    "avg_pool2d_out_cuda_frame",
    "krn_partials_per_segment",
    "krn_partial_segment_offset",
    "compute_grad_weight_bags",
    "sum_and_scatter",
    "embedding_backward_feature_kernel",
    "indexSelectLargeIndex",
    "indexFuncLargeIndex",
    "indexing_backward_kernel",
    "cuda_scatter_fill_internal_kernel",
    "CatArrayBatchedCopy",
    "chunk_cat_cuda_kernel",
    "split_with_sizes_copy_out_contiguous_no_cast_kernel",
    "reflection_pad1d_out_kernel",
    "replication_pad_forward_kernel",
    "kernel_pointwise_flip_apply2",
    "bitonicSortKVInPlace",
    "radixSortKVInPlace",
    "computeBlockDigitCounts",
    "gatherMedian",
    "weight_int8pack_mm_kernel",
    "conv_depthwise2d_forward_kernel",
};

static const char *const functors[] = {
    "direct_copy_kernel_cuda",
    "bfloat16_copy_kernel_cuda",
    "bfloat16tofloat32_copy_kernel_cuda",
    "float16_copy_kernel_cuda",
    "float16tofloat32_copy_kernel_cuda",
    "float8_copy_kernel_cuda",
    "copy_device_to_device",
    "FillFunctor",
    "batch_norm_update_stats",
    "GroupNormKernelImplInternal",
    "bernoulli_kernel",
    "launch_clamp_scalar",
    "launch_masked_scatter_kernel",
    "FusedOptimizerTensorListMetadata",
};

#define COUNT(list) (sizeof(list) / sizeof *(list))

/* Does `t` end in at::native's scope, or in one without a name inside of it? */
static bool in_native(struct lpo_kernel_span t)
{
    static const char *const ends[] = { "at::native", "at::native::(anonymous namespace)",
                                        "at::native::<unnamed>", "at::native::_GLOBAL__N_1" };

    for (size_t i = 0; i < COUNT(ends); i++) {
        size_t n = strlen(ends[i]);

        if (t.len >= n && memcmp(t.at + t.len - n, ends[i], n) == 0)
            return true;
    }
    return false;
}

static const char *begins_with(const char *const *list, size_t count, struct lpo_kernel_span word)
{
    for (size_t i = 0; i < count; i++)
        if (strncmp(list[i], word.at, word.len) == 0)
            return list[i];
    return NULL;
}

const char *lpo_region_kernel_cut_function(struct lpo_kernel_span scope,
                                           struct lpo_kernel_span function)
{
    return function.len >= 7 && in_native(scope)
               ? begins_with(functions, COUNT(functions), function)
               : NULL;
}

const char *lpo_region_kernel_cut_functor(struct lpo_kernel_span *arguments)
{
    struct lpo_kernel_span before = *arguments, word;
    const char *whole;

    while (before.len &&
           (isalnum((unsigned char)before.at[before.len - 1]) || before.at[before.len - 1] == '_'))
        before.len--;
    word = (struct lpo_kernel_span){ before.at + before.len, arguments->len - before.len };
    if (word.len < 3 || before.len < 2 || memcmp(word.at - 2, "::", 2) != 0)
        return NULL;
    before.len -= 2;
    whole = in_native(before) ? begins_with(functors, COUNT(functors), word) : NULL;
    if (whole)
        arguments->len -= word.len;
    return whole;
}
