/* SPDX-License-Identifier: Apache-2.0 */
/* Where the name of a function says nothing: its scope, then words that say little. */
#include "region/kernel_name/class_rules.h"

#define RULES(table)                                                                               \
    {                                                                                              \
        table, sizeof(table) / sizeof *(table)                                                     \
    }

static const struct lpo_class_rule scopes[] = {
    { "deepep", LPO_CLASS_COLLECTIVE, NULL,
      "void deep_ep::internode_ll::dispatch<true, 3, 7168>(int)" },
    { "_internode", LPO_CLASS_COLLECTIVE, NULL, "void internode::encode<true>(int)" },
    { "_intranode", LPO_CLASS_COLLECTIVE, NULL, "void intranode::encode<true>(int)" },
    { "_ep_", LPO_CLASS_COLLECTIVE, NULL, "void hybrid_ep::dispatch_kernel<int>(int)" },
    { "symmmem", LPO_CLASS_COLLECTIVE, NULL, "void symm_mem::kernel<int>(int)" },
    { "customar", LPO_CLASS_COLLECTIVE, NULL, "void custom_ar::kernel<int>(int)" },
    { "_flash", LPO_CLASS_ATTENTION, NULL, "void flash::prepare_varlen_num_blocks_kernel<1>(int)" },
    { "fmha", LPO_CLASS_ATTENTION, NULL, "void fmha::kernel<int>(int)" },
    { "attention", LPO_CLASS_ATTENTION, NULL, "void PyTorchMemEffAttention::run<int>(int)" },
    { "winograd", LPO_CLASS_CONVOLUTION, NULL,
      "void cudnn::winograd::generateTilesKernel<0, float, float>(int)" },
    { "_conv", LPO_CLASS_CONVOLUTION, NULL, "void conv::kernel<int>(int)" },
    { "_cnn_", LPO_CLASS_CONVOLUTION, NULL, "void cudnn::cnn::kern_prepare<true>(int)" },
    { "fusedmoe", LPO_CLASS_GEMM, NULL,
      "void fused_moe::run_global<fused_moe::Something<int> >(int)" },
    { "_moe_", LPO_CLASS_MOE, NULL, "void vllm::moe::prepare<int>(int)" },
    { "marlin", LPO_CLASS_GEMM, NULL, "void marlin::kernel<int>(int)" },
    { "gemv", LPO_CLASS_GEMM, NULL, "void internal::gemvx::kernel<int, int, float>(int)" },
    { "_gemm", LPO_CLASS_GEMM, NULL, "void deep_gemm::kernel<int>(int)" },
    { "epilogue", LPO_CLASS_GEMM, NULL,
      "void epilogue::impl::globalKernel<float, float, float, true, true>(int)" },
    { "_cublas", LPO_CLASS_GEMM, NULL, "void cublasLt::kernel<int>(int)" },
    { "_cutlass", LPO_CLASS_GEMM, NULL, "void cutlass::run<int>(int)" },
    { "weightonly", LPO_CLASS_GEMM, NULL,
      "void weight_only::kernel<weight_only::KernelDetails<int> >(int)" },
    { "_cusparse", LPO_CLASS_GEMM, NULL,
      "void cusparse::partition_kernel<128, int, int>(int const*)" },
    { "norm", LPO_CLASS_NORM, NULL, "void layer_norm::kernel<int>(int)" },
    { "softmax", LPO_CLASS_SOFTMAX, NULL, "void softmax::kernel<int>(int)" },
    { "quant", LPO_CLASS_QUANTIZE, NULL, "void quantization::kernel<int>(int)" },
    { "topk", LPO_CLASS_SORTING, NULL, "void at::native::mbtopk::computeDigitCounts<int>(int)" },
    { "sampling", LPO_CLASS_SORTING, NULL, "void sampling::kernel<int>(int)" },
    { "sort", LPO_CLASS_SORTING, NULL, "void cub::radix_sort::kernel<int>(int)" },
    { "_scan_", LPO_CLASS_REDUCTION, NULL, "void cub::detail::scan::kernel<int>(int)" },
    { "reduc", LPO_CLASS_REDUCTION, NULL, "void cudnn::reduction::kernel<int>(int)" },
    { "reformat", LPO_CLASS_COPY, NULL, "void genericReformat::kernel<int>(int)" },
    { "activation", LPO_CLASS_ELEMENTWISE, NULL, "void sgl_hip::activation::kernel<int>(int)" },
};

/* What is left: words that say little, so that scopes and template arguments come before them. */
static const struct lpo_class_rule leftovers[] = {
    { "_flash", LPO_CLASS_ATTENTION, NULL, "pallas_flash(float*)" },
    { "recomputewu", LPO_CLASS_ATTENTION, NULL, "recompute_w_u_fwd_kernel" },
    { "_wkv_", LPO_CLASS_ATTENTION, NULL, "rwkv_wkv_f32(float*)" },
    { "batchedptrs", LPO_CLASS_GEMM, NULL, "k_compute_batched_ptrs(void*)" },
    { "kvcache", LPO_CLASS_COPY, NULL, "rearrange_kvcache_kernel(float*)" },
    { "_cache_", LPO_CLASS_COPY, NULL, "rearrange_cache_kernel(float*)" },
    { "_split", LPO_CLASS_COPY, NULL,
      "void phi::funcs::SplitTensorWithDifferentShape<float, int>(int)" },
    { "_write_", LPO_CLASS_COPY, NULL, "_apply_write_kernel" },
    { "^_prepare_", LPO_CLASS_INDEXING, NULL, "_prepare_prefill_inputs_kernel" },
    { "seqlens", LPO_CLASS_INDEXING, NULL, "_update_seq_lens_kernel" },
    { "^_transfer_", LPO_CLASS_COPY, NULL, "void transfer_kernel_impl<int>(int)" },
    { "_mhc_", LPO_CLASS_ELEMENTWISE, NULL, "mhc_post_tilelang_kernel" },
    { "_expand_", LPO_CLASS_COPY, NULL, "expand_kernel(float*)" },
    { "_tile_", LPO_CLASS_COPY, NULL, "void onnxruntime::cuda::_TileKernel<float>(float*)" },
    { "shuffle", LPO_CLASS_COPY, NULL,
      "void tensorflow::functor::ShuffleInTensor3Simple<float, 2, 1, 0, false>(int)" },
    { "_reorder", LPO_CLASS_COPY, NULL, "reorder_kernel(float*)" },
    { "_assign_", LPO_CLASS_COPY, NULL, "assign_kernel(float*)" },
    { "accuracy", LPO_CLASS_REDUCTION, NULL, "void phi::AccuracyCudaKernel<128, float>(int)" },
    { "partition", LPO_CLASS_INDEXING, NULL, "partition_kernel(float*)" },
    { "_max_", LPO_CLASS_REDUCTION, NULL, "max_kernel(float*)" },
    { "_min_", LPO_CLASS_REDUCTION, NULL, "min_kernel(float*)" },
    { "_loss_", LPO_CLASS_ELEMENTWISE, NULL, "mse_loss_kernel(float*)" },
    { "_csr_", LPO_CLASS_INDEXING, NULL, "void dgl::aten::impl::_CSRGetRowNNZKernel<long>(long*)" },
    { "_coo_", LPO_CLASS_INDEXING, NULL, "coo_to_pairs(int)" },
    { "broadcast", LPO_CLASS_ELEMENTWISE, NULL, "gpu_broadcast_kernel_cartesian(int)" },
    { "_map_", LPO_CLASS_ELEMENTWISE, NULL,
      "void mshadow::cuda::MapPlanKernel<mshadow::sv::saveto, 8>(int)" },
    { "generickernel", LPO_CLASS_ELEMENTWISE, NULL,
      "void mxnet::op::mxnet_generic_kernel<int>(int)" },
    { "parallelfor", LPO_CLASS_ELEMENTWISE, NULL, "parallel_for_kernel(int)" },
    { "forrange", LPO_CLASS_ELEMENTWISE, NULL, "void phi::funcs::ForRangeKernel<int>(int)" },
    { "foreach", LPO_CLASS_ELEMENTWISE, NULL, "for_each_kernel(int)" },
    { "^_cupy_", LPO_CLASS_ELEMENTWISE, NULL, "cupy_something__float32(int)" },
    { "fusion", LPO_CLASS_ELEMENTWISE, NULL, "fusion_12" },
};

const struct lpo_class_rules lpo_region_class_scopes = RULES(scopes);
const struct lpo_class_rules lpo_region_class_leftovers = RULES(leftovers);
