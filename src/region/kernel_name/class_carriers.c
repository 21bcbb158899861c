/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that say how, not what, and what their functors mean. */
#include "region/kernel_name/class_rules.h"

#define RULES(table)                                                                               \
    {                                                                                              \
        table, sizeof(table) / sizeof *(table)                                                     \
    }

static const struct lpo_class_rule elementwise_functors[] = {
    { "copysign", LPO_CLASS_ELEMENTWISE, NULL,
      "void at::native::vectorized_elementwise_kernel<4, "
      "at::native::copysign_kernel_cuda(int)::{lambda()#1}>(int)" },
    { "maskedfill", LPO_CLASS_ELEMENTWISE, NULL,
      "void at::cuda::kernelPointwiseApply2<TensorMaskedFillOp<float, bool>, float, bool>(int)" },
    { "copy", LPO_CLASS_COPY, NULL,
      "void at::native::elementwise_kernel<128, 4, "
      "at::native::direct_copy_kernel_cuda(int)::{lambda()#1}>(int)" },
    { "fillfunctor", LPO_CLASS_COPY, NULL,
      "void at::native::vectorized_elementwise_kernel<8, at::native::FillFunctor<float>, "
      "std::array<char*, 1ul> >(int)" },
    { "_fill_", LPO_CLASS_COPY, NULL,
      "void at::cuda::kernelPointwiseApply1<TensorFillOp<float>, float>(int)" },
    { "fullfunctor", LPO_CLASS_COPY, NULL,
      "void phi::funcs::VectorizedElementwiseKernel<float, phi::FullFunctor<float> >(int)" },
    { "identity", LPO_CLASS_COPY, NULL,
      "void phi::funcs::VectorizedBroadcastKernel<phi::kps::IdentityFunctor<float> >(int)" },
    { "opcast", LPO_CLASS_COPY, NULL,
      "void onnxruntime::cuda::_UnaryElementWise<float, half, onnxruntime::cuda::OP_Cast<float, "
      "half>, 256, 4>(int)" },
    { "assignfunctor", LPO_CLASS_COPY, NULL,
      "void phi::funcs::VectorizedElementwiseKernel<float, phi::AssignFunctor<float> >(int)" },
    { "castfunctor", LPO_CLASS_COPY, NULL,
      "void phi::funcs::VectorizedElementwiseKernel<float, phi::CastFunctor<float> >(int)" },
    { "castop", LPO_CLASS_COPY, NULL,
      "void phi::funcs::VectorizedElementwiseKernel<float, phi::CastOpFunctor<float> >(int)" },
    { "float16tofloat", LPO_CLASS_COPY, NULL,
      "void at::native::vectorized_elementwise_kernel<4, "
      "at::native::bfloat16tofloat32_kernel(int)::{lambda()#1}>(int)" },
    { "_clone_", LPO_CLASS_COPY, NULL,
      "void at::native::vectorized_elementwise_kernel<8, clone_functor>(int)" },
    { "groupnorm", LPO_CLASS_NORM, NULL,
      "void at::native::elementwise_kernel<128, 4, "
      "at::native::GroupNormKernelImplInternal<float>(int)::{lambda(float)#1}>(int)" },
    { "batchnorm", LPO_CLASS_NORM, NULL,
      "void at::native::unrolled_elementwise_kernel<at::native::batch_norm_update_stats(int)::"
      "{lambda(float)#1}>(int)" },
    { "bernoulli", LPO_CLASS_RANDOM, NULL,
      "void at::native::elementwise_kernel<128, 4, "
      "at::native::bernoulli_kernel(int)::{lambda()#1}>(int)" },
    { "quant", LPO_CLASS_QUANTIZE, NULL,
      "void at::native::vectorized_elementwise_kernel<4, "
      "at::native::fake_quantize_kernel(int)::{lambda()#1}>(int)" },
    { "hfp8", LPO_CLASS_QUANTIZE, NULL,
      "void at::native::vectorized_elementwise_kernel<4, "
      "fbgemm_gpu::_float_to_hfp8_gpu(int)::{lambda(float)#1}>(int)" },
    { "tofp8", LPO_CLASS_QUANTIZE, NULL,
      "void at::native::vectorized_elementwise_kernel<4, to_fp8_functor>(int)" },
    { "masked_scatter", LPO_CLASS_INDEXING, NULL,
      "void at::native::elementwise_kernel<128, 4, masked_scatter_functor>(int)" },
};

static const struct lpo_class_rule multitensor_functors[] = {
    { "fusedoptimize", LPO_CLASS_OPTIMIZER, NULL,
      "void at::native::multi_tensor_apply_kernel<at::native::FusedOptimizerTensorListMetadata<4> "
      ">(int)" },
    { "adam", LPO_CLASS_OPTIMIZER, NULL,
      "void multi_tensor_apply_kernel<TensorListMetadata<4>, AdamFunctor<float>, float>(int)" },
    { "sgd", LPO_CLASS_OPTIMIZER, NULL,
      "void multi_tensor_apply_kernel<TensorListMetadata<4>, SGDFunctor<3, float, float>, "
      "float>(int)" },
    { "lamb", LPO_CLASS_OPTIMIZER, NULL,
      "void multi_tensor_apply_kernel<TensorListMetadata<4>, LAMBStage1Functor<float>, "
      "float>(int)" },
    { "adagrad", LPO_CLASS_OPTIMIZER, NULL,
      "void multi_tensor_apply_kernel<TensorListMetadata<3>, AdagradFunctor<float>, float>(int)" },
    { "novograd", LPO_CLASS_OPTIMIZER, NULL,
      "void multi_tensor_apply_kernel<TensorListMetadata<3>, NovoGradFunctor<float>, float>(int)" },
    { "copy", LPO_CLASS_COPY, NULL,
      "void at::native::multi_tensor_apply_kernel<at::native::TensorListMetadata<2>, "
      "at::native::CopyFunctor<int, long, 2, 1, 1>, at::native::Copy<int, long> >(int)" },
    { "zerofunctor", LPO_CLASS_COPY, NULL,
      "void at::native::multi_tensor_apply_kernel<at::native::TensorListMetadata<1>, "
      "at::native::ZeroFunctor<float, 1, 1, 0> >(int)" },
    { "norm", LPO_CLASS_REDUCTION, NULL,
      "void at::native::multi_tensor_apply_kernel<at::native::TensorListMetadata<1>, "
      "at::native::LpNormFunctor<float, (at::native::NormType)1, float, 1, 1, 0>, float*, "
      "int>(int)" },
    { "_max_functor", LPO_CLASS_REDUCTION, NULL,
      "void at::native::multi_tensor_apply_kernel<at::native::TensorListMetadata<1>, "
      "at::native::LpMaxFunctor<float, 1, 1, 0>, float*, int>(int)" },
    /* Cut before the functor. PyTorch's own lists have a scope; those of apex and TransformerEngine
     * tell how many tensors a step of the optimizer has: gradient, weight, two moments, a copy. */
    { "^_tensorlistmetadata4", LPO_CLASS_OPTIMIZER, NULL,
      "void multi_tensor_apply_kernel<TensorListMetadata<4>..." },
    { "^_tensorlistmetadata5", LPO_CLASS_OPTIMIZER, NULL,
      "void multi_tensor_apply_kernel<TensorListMetadata<5, false>, transformer_engin..." },
    { "^_tensorlistmetadata1", LPO_CLASS_REDUCTION, "~",
      "void multi_tensor_apply_kernel<TensorListMetadata<1, false>, transformer_engin..." },
};

/* ggml's operators of two tensors, one of which is repeated */
static const struct lpo_class_rule bcast_functors[] = {
    { "oprepeat", LPO_CLASS_COPY, NULL,
      "void k_bin_bcast<&(op_repeat(float, float)), float, float, float>(float const*)" },
};

static const struct lpo_class_rule index_functors[] = {
    { "_flip_", LPO_CLASS_COPY, NULL,
      "void at::native::index_elementwise_kernel<128, 4, "
      "at::native::flip_kernel_impl<at::native::OpaqueType<2> >(int)::{lambda(int)#1}>(long)" },
};

static const struct lpo_class_rule cutlass_functors[] = {
    { "flash", LPO_CLASS_ATTENTION, NULL,
      "void cutlass::device_kernel<flash::enable_sm90_or_later<flash::FlashAttnFwdSm90<int> > "
      ">(int)" },
    { "fmha", LPO_CLASS_ATTENTION, NULL,
      "void cutlass::device_kernel<cutlass::fmha::kernel::FmhaKernelTma<int> >(int)" },
    { "attention", LPO_CLASS_ATTENTION, NULL, "void cutlass::Kernel2<cutlass_attention_f16>(int)" },
    { "natten", LPO_CLASS_ATTENTION, NULL,
      "void cutlass::device_kernel<natten::cuda::fna_hopper::FnaForwardKernel<int> >(int)" },
    { "_mla_", LPO_CLASS_ATTENTION, NULL,
      "void cutlass::device_kernel<cutlass::Sm100MlaKernel<int> >(int)" },
    { "deltarule", LPO_CLASS_ATTENTION, NULL,
      "void cutlass::device_kernel<flat::kernel::FlatKernelTmaWarpSpecializedDeltaRule<int> "
      ">(int)" },
    { "fprop", LPO_CLASS_CONVOLUTION, NULL,
      "void cutlass::Kernel2<cutlass_tensorop_s1688fprop_optimized_tf32_128x128_16x4_nhwc_align4>"
      "(int)" },
    { "dgrad", LPO_CLASS_CONVOLUTION, NULL,
      "void cutlass::Kernel2<cutlass_tensorop_s1688dgrad_optimized_tf32_128x128_16x4_nhwc_align4>"
      "(int)" },
    { "wgrad", LPO_CLASS_CONVOLUTION, NULL,
      "void cutlass::Kernel2<cutlass_tensorop_s1688wgrad_optimized_tf32_128x128_16x4_nhwc_align4>"
      "(int)" },
    { "convolution", LPO_CLASS_CONVOLUTION, NULL,
      "void cutlass::Kernel<cutlass::conv::kernel::ImplicitGemmConvolution<int> >(int)" },
    { "_conv_", LPO_CLASS_CONVOLUTION, NULL,
      "void cutlass::device_kernel<cutlass::conv::kernel::ConvUniversal<int> >(int)" },
};

/* cuDNN's copies of CUTLASS */
static const struct lpo_class_rule cudnn_functors[] = {
    { "implicitgemm", LPO_CLASS_CONVOLUTION, NULL,
      "void cutlass_cudnn_train::Kernel<cutlass_cudnn::conv::kernel::ImplicitGemmConvolution<int> "
      ">(int)" },
    { "gemm", LPO_CLASS_GEMM, NULL,
      "void cutlass__5x_cudnn::Kernel<cutlass_80_tensorop_s1688gemm_128x128_16x4_nn>(int)" },
};

static const struct lpo_class_rule primitives_functors[] = {
    { "radixsort", LPO_CLASS_SORTING, NULL,
      "void "
      "rocprim::detail::trampoline_kernel<rocprim::detail::wrapped_radix_sort_onesweep_config<int> "
      ">(int)" },
    { "mergesort", LPO_CLASS_SORTING, NULL,
      "void rocprim::detail::trampoline_kernel<rocprim::detail::wrapped_merge_sort_config<int> "
      ">(int)" },
    { "_sort_", LPO_CLASS_SORTING, NULL,
      "void rocprim::detail::trampoline_kernel<rocprim::detail::block_sort_impl<int> >(int)" },
    { "partition", LPO_CLASS_INDEXING, NULL,
      "void rocprim::detail::trampoline_kernel<rocprim::detail::wrapped_partition_config<int> "
      ">(int)" },
    { "_scan_", LPO_CLASS_REDUCTION, NULL,
      "void rocprim::detail::trampoline_kernel<rocprim::detail::wrapped_scan_config<int> >(int)" },
    { "copyif", LPO_CLASS_INDEXING, NULL,
      "void thrust::cuda_cub::core::_kernel_agent<thrust::cuda_cub::__copy_if::CopyIfAgent<int> "
      ">(int)" },
    { "unique", LPO_CLASS_REDUCTION, NULL,
      "void thrust::cuda_cub::core::_kernel_agent<thrust::cuda_cub::__unique::UniqueAgent<int> "
      ">(int)" },
    { "reduce", LPO_CLASS_REDUCTION, NULL,
      "void thrust::cuda_cub::core::_kernel_agent<thrust::cuda_cub::__reduce::ReduceAgent<int> "
      ">(int)" },
    { "histogram", LPO_CLASS_REDUCTION, NULL,
      "void rocprim::detail::trampoline_kernel<rocprim::detail::histogram_config<int> >(int)" },
    { "gather", LPO_CLASS_INDEXING, NULL,
      "void "
      "thrust::cuda_cub::core::_kernel_agent<thrust::cuda_cub::__parallel_for::ParallelForAgent<"
      "thrust::gather_functor> >(int)" },
    { "scatter", LPO_CLASS_INDEXING, NULL,
      "void "
      "thrust::cuda_cub::core::_kernel_agent<thrust::cuda_cub::__parallel_for::ParallelForAgent<"
      "thrust::scatter_functor> >(int)" },
    { "_fill", LPO_CLASS_COPY, NULL,
      "void "
      "thrust::cuda_cub::core::_kernel_agent<thrust::cuda_cub::__parallel_for::ParallelForAgent<"
      "thrust::cuda_cub::__uninitialized_fill::functor<int> > >(int)" },
    { "viaallocator", LPO_CLASS_COPY, NULL,
      "void "
      "thrust::cuda_cub::core::_kernel_agent<thrust::cuda_cub::__parallel_for::ParallelForAgent<"
      "thrust::detail::allocator_traits_detail::construct1_via_allocator<int> > >(int)" },
    { "copy", LPO_CLASS_COPY, NULL,
      "void "
      "thrust::cuda_cub::core::_kernel_agent<thrust::cuda_cub::__parallel_for::ParallelForAgent<"
      "thrust::cuda_cub::__uninitialized_copy::functor<int> > >(int)" },
    { "identity", LPO_CLASS_COPY, NULL,
      "void "
      "thrust::cuda_cub::core::_kernel_agent<thrust::cuda_cub::__parallel_for::ParallelForAgent<"
      "thrust::cuda_cub::__transform::unary_transform_f<thrust::identity<int> > > >(int)" },
};

static const struct lpo_class_rule eigen_functors[] = {
    { "reduction", LPO_CLASS_REDUCTION, NULL,
      "void Eigen::internal::EigenMetaKernel<Eigen::TensorReductionOp<int> >(int)" },
    { "reducer", LPO_CLASS_REDUCTION, NULL,
      "void Eigen::internal::EigenMetaKernel<Eigen::TensorTupleReducerOp<int> >(int)" },
    { "random", LPO_CLASS_RANDOM, NULL,
      "void Eigen::internal::EigenMetaKernel<Eigen::internal::UniformRandomGenerator<float> "
      ">(int)" },
    { "contraction", LPO_CLASS_GEMM, NULL,
      "void Eigen::internal::EigenMetaKernel<Eigen::TensorContractionOp<int> >(int)" },
    { "cwisebinary", LPO_CLASS_ELEMENTWISE, NULL,
      "void "
      "Eigen::internal::EigenMetaKernel<Eigen::TensorCwiseBinaryOp<Eigen::internal::scalar_sum_op<"
      "float>, Eigen::TensorBroadcastingOp<int> > >(int)" },
    { "cwiseunary", LPO_CLASS_ELEMENTWISE, NULL,
      "void "
      "Eigen::internal::EigenMetaKernel<Eigen::TensorCwiseUnaryOp<Eigen::internal::scalar_exp_op<"
      "float>, Eigen::TensorConversionOp<int> > >(int)" },
    { "tensorselect", LPO_CLASS_ELEMENTWISE, NULL,
      "void Eigen::internal::EigenMetaKernel<Eigen::TensorSelectOp<int> >(int)" },
    { "gather", LPO_CLASS_INDEXING, NULL,
      "void "
      "Eigen::internal::EigenMetaKernel<Eigen::TensorGeneratorOp<tensorflow::generator::"
      "GatherNdSliceGenerator<float> > >(int)" },
    { "onehot", LPO_CLASS_INDEXING, NULL,
      "void "
      "Eigen::internal::EigenMetaKernel<Eigen::TensorGeneratorOp<tensorflow::generator::"
      "OneGenerator<float>, one_hot> >(int)" },
    { "shuffling", LPO_CLASS_COPY, NULL,
      "void Eigen::internal::EigenMetaKernel<Eigen::TensorShufflingOp<int> >(int)" },
    { "slicing", LPO_CLASS_COPY, NULL,
      "void Eigen::internal::EigenMetaKernel<Eigen::TensorSlicingOp<int> >(int)" },
    { "padding", LPO_CLASS_COPY, NULL,
      "void Eigen::internal::EigenMetaKernel<Eigen::TensorPaddingOp<int> >(int)" },
    { "broadcasting", LPO_CLASS_COPY, NULL,
      "void Eigen::internal::EigenMetaKernel<Eigen::TensorBroadcastingOp<int> >(int)" },
    { "conversion", LPO_CLASS_COPY, NULL,
      "void Eigen::internal::EigenMetaKernel<Eigen::TensorConversionOp<int> >(int)" },
    { "concatenation", LPO_CLASS_COPY, NULL,
      "void Eigen::internal::EigenMetaKernel<Eigen::TensorConcatenationOp<int> >(int)" },
    { "reverse", LPO_CLASS_COPY, NULL,
      "void Eigen::internal::EigenMetaKernel<Eigen::TensorReverseOp<int> >(int)" },
    { "nullary", LPO_CLASS_COPY, NULL,
      "void "
      "Eigen::internal::EigenMetaKernel<Eigen::TensorCwiseNullaryOp<Eigen::internal::scalar_"
      "constant_op<float> > >(int)" },
    { "tensorassign", LPO_CLASS_COPY, "_gpudevice_",
      "void "
      "Eigen::internal::EigenMetaKernel<Eigen::TensorEvaluator<Eigen::TensorAssignOp<Eigen::"
      "TensorMap<float>, Eigen::TensorMap<float const> const> const, Eigen::GpuDevice>, "
      "int>(int)" },
};

static const struct lpo_class_rule cktile_functors[] = {
    { "fmha", LPO_CLASS_ATTENTION, NULL,
      "void ck_tile::kentry<1, ck_tile::FmhaFwdKernel<int> >(int)" },
    { "norm", LPO_CLASS_NORM, NULL, "void ck_tile::kentry<1, ck_tile::Rmsnorm2dFwd<int> >(int)" },
    { "moesort", LPO_CLASS_MOE, NULL,
      "void ck_tile::kentry<1, ck_tile::MoeSortingKernel<int> >(int)" },
    { "topk", LPO_CLASS_MOE, NULL,
      "void ck_tile::kentry<1, ck_tile::TopkSoftmaxKernel<int> >(int)" },
    { "quant", LPO_CLASS_GEMM, "gemm",
      "void ck_tile::kentry<1, ck_tile::QuantGroupedGemmKernel<int> >(int)" },
    { "quant", LPO_CLASS_QUANTIZE, NULL,
      "void ck_tile::kentry<1, ck_tile::MoeSmoothquant<int> >(int)" },
    { "_conv", LPO_CLASS_CONVOLUTION, NULL,
      "void ck_tile::kentry<1, ck_tile::GroupedConvolutionForwardKernel<int> >(int)" },
    { "gemm", LPO_CLASS_GEMM, NULL, "void ck_tile::kentry<1, ck_tile::GemmKernel<int> >(int)" },
    { "flatmm", LPO_CLASS_GEMM, NULL, "void ck_tile::kentry<2, ck_tile::FlatmmKernel<int> >(int)" },
    { "fusedmoe", LPO_CLASS_GEMM, NULL,
      "void ck_tile::kentry<1, ck_tile::FusedMoeKernel<int> >(int)" },
    { "reduce", LPO_CLASS_REDUCTION, NULL, "void ck_tile::kentry<1, ck_tile::Reduce<int> >(int)" },
    { "permute", LPO_CLASS_COPY, NULL,
      "void ck_tile::kentry<1, ck_tile::GenericPermute<int> >(int)" },
};

static const struct lpo_class_rule ckgemm_functors[] = {
    { "convolution", LPO_CLASS_CONVOLUTION, NULL,
      "void ck::kernel_gemm_xdlops_v2r3<ck::ConvolutionForwardSpecialization>(int)" },
    { "bwdweight", LPO_CLASS_CONVOLUTION, NULL,
      "void ck::kernel_gemm_xdlops_bwd_weight<ck::GridwiseGemm_mn_xdlops_bwd_weight<256> >(int)" },
    { "_conv", LPO_CLASS_CONVOLUTION, NULL,
      "void ck::kernel_gemm_multiple_d_xdl_cshuffle<ck::TransformConvFwdToGemm<2> >(int)" },
};

const struct lpo_class_carrier lpo_region_class_carriers[] = {
    { "legacyelementwise", NULL, RULES(elementwise_functors), LPO_CLASS_ELEMENTWISE,
      "void legacy_elementwise_kernel<float>(float*)" },
    { "^_elementwise_kernel", NULL, RULES(elementwise_functors), LPO_CLASS_ELEMENTWISE,
      "void at::native::elementwise_kernel<128, 4, at::native::CUDAFunctor_add<float> >(int)" },
    { "^_vectorized_elementwise_kernel", NULL, RULES(elementwise_functors), LPO_CLASS_ELEMENTWISE,
      "void at::native::vectorized_elementwise_kernel<8, at::native::CUDAFunctor_add<float>, "
      "std::array<char*, 3ul> >(int)" },
    { "^_vectorized_templated_elementwise_kernel", NULL, RULES(elementwise_functors),
      LPO_CLASS_ELEMENTWISE,
      "void at::native::vectorized_templated_elementwise_kernel<8, "
      "at::native::CUDAFunctor_add<float> >(int)" },
    { "^_unrolled_elementwise_kernel", NULL, RULES(elementwise_functors), LPO_CLASS_ELEMENTWISE,
      "void at::native::unrolled_elementwise_kernel<at::native::CUDAFunctor_add<float>, "
      "std::array<char*, 3ul> >(int)" },
    { "^_vectorized_broadcast_kernel", NULL, RULES(elementwise_functors), LPO_CLASS_ELEMENTWISE,
      "void phi::funcs::VectorizedBroadcastKernel<phi::funcs::SubtractFunctor<float> >(int)" },
    { "^_broadcast_kernel", NULL, RULES(elementwise_functors), LPO_CLASS_ELEMENTWISE,
      "void phi::funcs::BroadcastKernelBinary<phi::funcs::AddFunctor<float> >(int)" },
    { "^_unary_element_wise", NULL, RULES(elementwise_functors), LPO_CLASS_ELEMENTWISE,
      "void onnxruntime::cuda::_UnaryElementWise<half, half, OP_Gelu<half>, 256, 4>(int)" },
    { "^_kernel_pointwise_apply", NULL, RULES(elementwise_functors), LPO_CLASS_ELEMENTWISE,
      "void at::cuda::kernelPointwiseApply2<TensorSigmoidOp<float>, float, float>(int)" },
    { "^_multi_tensor_apply_kernel", NULL, RULES(multitensor_functors), LPO_CLASS_ELEMENTWISE,
      "void at::native::multi_tensor_apply_kernel<at::native::TensorListMetadata<1>, "
      "at::native::BinaryOpScalarFunctor<float, 1, 1, 0>, std::multiplies<float>, float>(int)" },
    { "^_reduce_kernel_",
      "_native_",
      { NULL, 0 },
      LPO_CLASS_REDUCTION,
      "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, "
      "at::native::NormTwoOps<float, float, float>, unsigned int, float, 4> >(int)" },
    { "^_index_elementwise_kernel", NULL, RULES(index_functors), LPO_CLASS_INDEXING,
      "void at::native::index_elementwise_kernel<128, 4, "
      "at::native::gpu_index_kernel<at::native::index_put_kernel_impl<int> > >(long)" },
    { "^_k_bin_bcast_", NULL, RULES(bcast_functors), LPO_CLASS_ELEMENTWISE,
      "void k_bin_bcast<&(op_add(float, float)), float, float, float>(float const*)" },
    { "kernel_",
      "implicitgemm",
      { NULL, 0 },
      LPO_CLASS_CONVOLUTION,
      "void xmma_cudnn::implicit_gemm::strided_dgrad_indexed::kernel<int>(int)" },
    { "^_kernel_", "cutlass5xcudnn", RULES(cudnn_functors), LPO_CLASS_CONVOLUTION,
      "void cutlass__5x_cudnn::Kernel<cutlass_tensorop_s168..." },
    { "^_kernel_", "cutlasscudnn", RULES(cudnn_functors), LPO_CLASS_CONVOLUTION,
      "void cutlass_cudnn_infer::Kernel<cutlass_tensorop_s1688fprop_optimized_tf32_128x128_16x4_"
      "nhwc_align4>(int)" },
    { "^_kernel_", "_cutlass", RULES(cutlass_functors), LPO_CLASS_GEMM,
      "void cutlass::Kernel2<cutlass_80_tensorop_s1688gemm_128x128_16x4_nn_align4>(int)" },
    { "^_device_kernel_", "_cutlass", RULES(cutlass_functors), LPO_CLASS_GEMM,
      "void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<int> >(int)" },
    { "kernel_", "_xmma", RULES(cutlass_functors), LPO_CLASS_GEMM,
      "void xmma_cudnn::gemm::kernel<xmma_cudnn::gemm::Kernel_traits<int> >(int)" },
    { "^_trampoline_kernel_", NULL, RULES(primitives_functors), LPO_CLASS_ELEMENTWISE,
      "void rocprim::detail::trampoline_kernel<rocprim::detail::transform_config<int> >(int)" },
    { "^_kernel_agent_", NULL, RULES(primitives_functors), LPO_CLASS_ELEMENTWISE,
      "void "
      "thrust::cuda_cub::core::_kernel_agent<thrust::cuda_cub::__parallel_for::ParallelForAgent<"
      "thrust::cuda_cub::__transform::unary_transform_f<int> > >(int)" },
    { "^_static_kernel_", "_for_each_", RULES(primitives_functors), LPO_CLASS_ELEMENTWISE,
      "void cub::detail::for_each::static_kernel<cub::policy_hub_t, "
      "thrust::cuda_cub::__transform::unary_transform_f<int> >(int)" },
    { "^_transform_kernel_", NULL, RULES(primitives_functors), LPO_CLASS_ELEMENTWISE,
      "void cub::detail::transform::transform_kernel<cub::policy_hub, my_functor<int> >(int)" },
    { "^_eigen_meta_kernel_", NULL, RULES(eigen_functors), LPO_CLASS_ELEMENTWISE,
      "void Eigen::internal::EigenMetaKernel<Eigen::internal::scalar_sum_op<float, float> >(int)" },
    { "^_kentry_", NULL, RULES(cktile_functors), LPO_CLASS_OTHER,
      "void ck_tile::kentry<1, ck_tile::Something<int> >(int)" },
    { "^_kernel_gemm_", "_ck_", RULES(ckgemm_functors), LPO_CLASS_GEMM,
      "void ck::kernel_gemm_xdl_cshuffle_v3<ck::GridwiseGemm_xdl_cshuffle_v3<int> >(int)" },
    { "^_kernel_grouped_gemm_", "_ck_", RULES(ckgemm_functors), LPO_CLASS_GEMM,
      "void ck::kernel_grouped_gemm_xdl<ck::GridwiseGemm<int> >(int)" },
};
const size_t lpo_region_class_carrier_count =
    sizeof lpo_region_class_carriers / sizeof *lpo_region_class_carriers;
