/* SPDX-License-Identifier: Apache-2.0 */
/* What can be done about each kind of rung, in words of the framework that ran: a program without
 * PyTorch has no .item() and no torch.compile. */

#include "analysis/analysis.h"
#include "analysis/counters/kernel_profile.h"
#include "analysis/frameworks.h"
#include "analysis/ladder/ladder.h"
#include "analysis/memory/memory.h"
#include "report/findings/findings.h"
#include "rundir/rundir.h"
#include "util/units.h"

/* What the program is written with, and AMD beside it. */
enum {
    TORCH = 1 << 0,
    VLLM = 1 << 1,
    SGLANG = 1 << 2,
    TRTLLM = 1 << 3,
    LLAMA = 1 << 4,
    JAX = 1 << 5,
    PLAIN = 1 << 6, /* CUDA or HIP, and no framework that is known */
    AMD = 1 << 7,
    ANY = ~AMD,
};

/* The first row that fits: the kind, one of the frameworks (and AMD where it is asked for), and a
 * fact that the rung must have; LPO_FACTS: none. */
static const struct {
    enum lpo_rung_kind kind;
    int framework;
    enum lpo_fact fact;
    const char *text;
} advice[] = {
    { LPO_RUNG_BLOCKED, TORCH, LPO_FACTS,
      "Keep the result on the GPU (no .item(), .cpu() or condition on a tensor in the loop), copy "
      "asynchronously, or fetch it a step later." },
    { LPO_RUNG_BLOCKED, JAX, LPO_FACTS,
      "Keep the result on the GPU (no float(), np.asarray() or block_until_ready() in the loop), "
      "or fetch it a step later." },
    { LPO_RUNG_BLOCKED, ANY, LPO_FACTS,
      "Wait only where the result is needed: events and stream order between kernels, "
      "asynchronous copies from and to pinned memory." },
    { LPO_RUNG_DATA, TORCH, LPO_FACTS,
      "Load ahead of time on other threads or processes: num_workers and prefetch_factor of the "
      "DataLoader, preprocessing outside of the step." },
    { LPO_RUNG_DATA, VLLM | SGLANG | TRTLLM, LPO_FACTS,
      "Tokenize and preprocess the next requests on other threads or processes while the GPU "
      "works." },
    { LPO_RUNG_DATA, ANY, LPO_FACTS,
      "Load ahead of time on other threads or processes, a batch or two in advance." },
    { LPO_RUNG_HOST, ANY, LPO_FACTS,
      "Move it to another thread, do it while the GPU is busy, or drop it." },
    { LPO_RUNG_PAUSE, TORCH | VLLM | SGLANG | JAX, LPO_FACTS,
      "Do that on another thread, or less often; garbage collection can be put between steps "
      "(gc.freeze, gc.disable)." },
    { LPO_RUNG_PAUSE, ANY, LPO_FACTS, "Do that on another thread, or less often." },
    { LPO_RUNG_COMPILE, JAX, LPO_FACTS,
      "Keep shapes and static arguments of jitted functions stable (pad them), and keep compiled "
      "programs on disk (jax_compilation_cache_dir)." },
    { LPO_RUNG_COMPILE, TORCH | VLLM | SGLANG, LPO_FACTS,
      "Keep shapes and guards stable (mark_dynamic, padding), raise the cache limit, and keep "
      "compiled and tuned kernels in a cache on disk." },
    { LPO_RUNG_COMPILE, ANY, LPO_FACTS,
      "Keep shapes stable, and keep compiled and tuned kernels in a cache on disk." },
    { LPO_RUNG_FIRST, AMD, LPO_FACTS,
      "Warm up before measuring; for start-up time, keep compiled and tuned kernels in a cache." },
    { LPO_RUNG_FIRST, ANY, LPO_FACTS,
      "Warm up before measuring; for start-up time, load modules early "
      "(CUDA_MODULE_LOADING=EAGER) and keep compiled kernels in a cache." },
    { LPO_RUNG_ALLOCATOR, TORCH, LPO_FACTS,
      "Allocate once and reuse: no empty_cache() in the loop, expandable segments where sizes "
      "vary (PYTORCH_CUDA_ALLOC_CONF); the first steps allocate in any case." },
    { LPO_RUNG_ALLOCATOR, JAX, LPO_FACTS,
      "Let XLA allocate once (XLA_PYTHON_CLIENT_PREALLOCATE=true), and warm up before measuring." },
    { LPO_RUNG_ALLOCATOR, ANY, LPO_FACTS,
      "Allocate once and reuse, or use a pool (cudaMallocAsync)." },
    { LPO_RUNG_LAUNCH, VLLM, LPO_FACTS,
      "Launch less: CUDA graphs of the engine (without --enforce-eager; capture the batch sizes "
      "that occur), or larger batches." },
    { LPO_RUNG_LAUNCH, SGLANG, LPO_FACTS,
      "Launch less: CUDA graphs of the engine (without --disable-cuda-graph; a --cuda-graph-max-bs "
      "that covers the batches that occur), or larger batches." },
    { LPO_RUNG_LAUNCH, TRTLLM, LPO_FACTS,
      "Launch less: CUDA graphs of the runtime (cuda_graph_config), or larger batches." },
    { LPO_RUNG_LAUNCH, LLAMA, LPO_FACTS,
      "Launch less: CUDA graphs (without GGML_CUDA_DISABLE_GRAPHS), or more sequences at a time." },
    { LPO_RUNG_LAUNCH, JAX, LPO_FACTS,
      "Launch less: more of the program in one jitted function (lax.scan over steps), or larger "
      "batches." },
    { LPO_RUNG_LAUNCH, TORCH, LPO_FACT_GRAPHS,
      "Launch less: put what is still launched by itself into the graphs too, or larger batches." },
    { LPO_RUNG_LAUNCH, TORCH, LPO_FACT_COMPILED,
      "Launch less: torch.compile is there, so let it use CUDA graphs (mode=\"reduce-overhead\") "
      "and look for what splits its graphs (TORCH_LOGS=graph_breaks); larger batches." },
    { LPO_RUNG_LAUNCH, TORCH, LPO_FACTS,
      "Launch less: CUDA graphs (mode=\"reduce-overhead\" of torch.compile), fused kernels or "
      "larger batches." },
    { LPO_RUNG_LAUNCH, ANY, LPO_FACTS,
      "Launch less: CUDA graphs, fused kernels or larger batches." },
    { LPO_RUNG_COMMUNICATION, ANY, LPO_FACTS,
      "Overlap it with computing (another stream, buckets, an order that starts it earlier), or "
      "send less." },
    { LPO_RUNG_SAME_STREAM, ANY, LPO_FACTS,
      "Put it on a stream of its own first, with events where its results are needed; then start "
      "it earlier." },
    { LPO_RUNG_MESSAGES, TORCH, LPO_FACTS,
      "Merge them into larger messages: larger buckets (bucket_cap_mb of "
      "DistributedDataParallel), or one collective for many tensors." },
    { LPO_RUNG_MESSAGES, JAX, LPO_FACTS,
      "Merge them into larger messages: a higher xla_gpu_all_reduce_combine_threshold_bytes in "
      "XLA_FLAGS, or one collective for many arrays." },
    { LPO_RUNG_MESSAGES, ANY, LPO_FACTS,
      "Merge them into larger messages: one collective for many tensors." },
    { LPO_RUNG_PAGEABLE, TORCH, LPO_FACTS,
      "Pin the host memory (pin_memory=True of the DataLoader, .pin_memory()) and copy with "
      "non_blocking=True." },
    { LPO_RUNG_PAGEABLE, ANY, LPO_FACTS,
      "Pin the host memory (cudaHostAlloc, cudaHostRegister) and copy asynchronously." },
    { LPO_RUNG_COPIES, TORCH, LPO_FACTS,
      "Copy on another stream while the GPU computes (non_blocking=True), or keep the data on the "
      "GPU." },
    { LPO_RUNG_COPIES, ANY, LPO_FACTS,
      "Copy on another stream while the GPU computes, or keep the data on the GPU." },
    { LPO_RUNG_LAYOUT, TORCH, LPO_FACTS,
      "Keep one layout and one number format from end to end (channels_last, autocast once, no "
      ".contiguous() where a view will do)." },
    { LPO_RUNG_LAYOUT, ANY, LPO_FACTS, "Keep one layout and one number format from end to end." },
    { LPO_RUNG_ATTENTION, VLLM | SGLANG, LPO_FACTS,
      "Choose an attention backend of the engine that is one kernel (--attention-backend)." },
    { LPO_RUNG_ATTENTION, LLAMA, LPO_FACTS, "Use its fused attention (--flash-attn)." },
    { LPO_RUNG_ATTENTION, JAX, LPO_FACTS,
      "Use a fused kernel: jax.nn.dot_product_attention with implementation=\"cudnn\"." },
    { LPO_RUNG_ATTENTION, TORCH, LPO_FACTS,
      "Use a fused kernel: scaled_dot_product_attention of PyTorch (attn_implementation=\"sdpa\" "
      "in Transformers) or FlashAttention." },
    { LPO_RUNG_ATTENTION, ANY, LPO_FACTS,
      "Use a fused kernel: FlashAttention, or the attention of cuDNN." },
    { LPO_RUNG_FUSE, JAX, LPO_FACTS,
      "Fuse them: more of the program in one jitted function, or a kernel of your own." },
    { LPO_RUNG_FUSE, VLLM | SGLANG, LPO_FACTS,
      "Fuse them: the compilation of the engine (vLLM: without --enforce-eager; SGLang: "
      "--enable-torch-compile), or a fused kernel of a library." },
    { LPO_RUNG_FUSE, TORCH, LPO_FACT_COMPILED,
      "Fuse them: look for what splits the graphs of torch.compile (TORCH_LOGS=graph_breaks) and "
      "for parts that it does not see (the optimizer); a fused kernel of a library, or one of "
      "your own." },
    { LPO_RUNG_FUSE, TORCH, LPO_FACTS,
      "Fuse them: torch.compile, a fused kernel of a library, or one of your own." },
    { LPO_RUNG_FUSE, ANY, LPO_FACTS,
      "Fuse them: a fused kernel of a library, or one of your own." },
    { LPO_RUNG_FP32, TORCH, LPO_FACTS,
      "Use bf16 or fp16 (autocast), or allow TF32 "
      "(torch.set_float32_matmul_precision(\"high\"))." },
    { LPO_RUNG_FP32, JAX, LPO_FACTS,
      "Use bf16 arrays, or allow TF32 (jax_default_matmul_precision)." },
    { LPO_RUNG_FP32, ANY, LPO_FACTS,
      "Use 16 bit inputs, or allow TF32 (CUBLAS_COMPUTE_32F_FAST_TF32)." },
    { LPO_RUNG_SIBLING, ANY, LPO_FACTS,
      "Compare its inputs, its memory layout and number format with those of the others." },
    { LPO_RUNG_ROOF, ANY, LPO_FACT_FEW_TILES,
      "Split K over more blocks (split-K or stream-K kernels), or batch several of these "
      "products." },
    { LPO_RUNG_ROOF, ANY, LPO_FACT_SKINNY,
      "Batch more rows, or merge it with its neighbours: what it costs is the reading of its "
      "larger side." },
    { LPO_RUNG_ROOF, ANY, LPO_FACT_SHORT_SIDE,
      "Fuse it with the operators around it, so that its result need not be written and read." },
    { LPO_RUNG_ROOF, ANY, LPO_FACT_ODD_SIDE, "Pad that side to a multiple of 8, better of 64." },
    { LPO_RUNG_ROOF, ANY, LPO_FACT_DEPTHWISE,
      "Use a kernel made for depthwise convolutions (channels_last, 16 bit), or fuse it with what "
      "follows." },
    { LPO_RUNG_ROOF, ANY, LPO_FACT_LARGE_HEADS,
      "More heads of 64 or 128, or a kernel that is made for such heads." },
    { LPO_RUNG_ROOF, ANY, LPO_FACT_FEW_BLOCKS,
      "Split the keys over more blocks (flash decoding), or batch more." },
    { LPO_RUNG_ROOF, ANY, LPO_FACT_FEW_TOKENS,
      "Batch more tokens, put fewer experts on this GPU, or use weights of fewer bits: the time "
      "goes into reading them." },
    { LPO_RUNG_ROOF, ANY, LPO_FACT_ROOF, NULL }, /* roof_advice() */
    { LPO_RUNG_BEST, ANY, LPO_FACTS,
      "Try another library or kernel for this shape; lpo reference has what was measured around "
      "it." },
    { LPO_RUNG_COLLECTIVE, AMD, LPO_FACTS,
      "Look at how these GPUs are connected (rocm-smi --showtopo), and at RCCL's choice "
      "(NCCL_DEBUG=INFO): peer to peer, xGMI, channels." },
    { LPO_RUNG_COLLECTIVE, ANY, LPO_FACTS,
      "Look at how these GPUs are connected (nvidia-smi topo -m), and at NCCL's choice "
      "(NCCL_DEBUG=INFO): peer to peer, NVLink, channels." },
    { LPO_RUNG_REGION, ANY, LPO_FACTS,
      "Look at this region with lpo kernels: larger tiles, another number format, fewer bytes." },
    { LPO_RUNG_TAIL, ANY, LPO_FACTS,
      "Choose a grid that fills whole waves: another tile size, split the work differently, or a "
      "persistent kernel." },
    { LPO_RUNG_OCCUPANCY, ANY, LPO_FACTS,
      "Let more warps fit on an SM: fewer registers (__launch_bounds__), less shared memory in a "
      "block, another block size." },
    { LPO_RUNG_GRID, ANY, LPO_FACTS,
      "Split its work over more blocks (a split of the longest loop, smaller tiles), batch several "
      "such calls, or run it beside other kernels on another stream." },
    { LPO_RUNG_RECOMPUTATION, ANY, LPO_FACTS, "Keep more activations where memory allows it." },
    { LPO_RUNG_THROTTLING, ANY, LPO_FACTS,
      "Check power limit, cooling and clocks of the machine." },
    { LPO_RUNG_RANK, ANY, LPO_FACTS,
      "Balance the work, or look for a slower GPU on that machine (clocks, temperature, other "
      "programs)." },
    { LPO_RUNG_RANK_HOST, ANY, LPO_FACTS,
      "Look at that host: workers and prefetching of its data, its disk, other programs on its "
      "CPUs." },
    { LPO_RUNG_RANK_PAUSE, ANY, LPO_FACTS,
      "Look at what ran on that host then: garbage collection, a checkpoint, other programs." },
    { LPO_RUNG_LINK, ANY, LPO_FACTS,
      "Compare its links with those of the other groups: topology, errors of links and NICs, "
      "NCCL_DEBUG=INFO for the path that was chosen." },
    { LPO_RUNG_EXPERTS, ANY, LPO_FACTS,
      "Balance the tokens: an auxiliary loss, a capacity factor, or another placement of "
      "experts." },
    { LPO_RUNG_BUBBLES, ANY, LPO_FACTS,
      "More micro-batches in a step, an interleaved or zero-bubble schedule, or stages of equal "
      "length." },
    { LPO_RUNG_RANKS_UNEVEN, ANY, LPO_FACTS,
      "Give them equal work: batches of equal length, sorted or packed." },
    { LPO_RUNG_MISMATCH, ANY, LPO_FACTS,
      "Let every rank of the group make the same calls in the same order, with the same sizes: "
      "look at the condition in front of them." },
    { LPO_RUNG_MISSING, ANY, LPO_FACTS,
      "Look at what these ranks did instead: an exception, a branch that only they take, a host "
      "that hangs (py-spy dump)." },
    { LPO_RUNG_SILENT, ANY, LPO_FACTS,
      "Look for their output and core files: the process may be gone, or its machine." },
    { LPO_RUNG_STUCK, ANY, LPO_FACTS,
      "Look at the links and at other work on the stream of this group: NCCL_DEBUG=INFO, Xid "
      "errors in the kernel log, kernels in front that do not end." },
    { LPO_RUNG_KERNEL, ANY, LPO_FACT_SCATTERED,
      "Let neighbouring threads read neighbouring addresses, and keep in shared memory or "
      "registers what is read again." },
};

static int framework_of(const struct lpo_ladder_words *w)
{
    static const struct {
        enum lpo_framework framework;
        int bit;
    } order[] = {
        /* parts of vLLM are in SGLang, and PyTorch in all of them */
        { LPO_FRAMEWORK_SGLANG, SGLANG },
        { LPO_FRAMEWORK_VLLM, VLLM },
        { LPO_FRAMEWORK_TENSORRT_LLM, TRTLLM },
        { LPO_FRAMEWORK_LLAMA_CPP, LLAMA },
        { LPO_FRAMEWORK_JAX, JAX },
        { LPO_FRAMEWORK_PYTORCH, TORCH },
    };
    const struct lpo_trace *t = w->s->analysis->trace;
    const bool *ran = lpo_analysis_frameworks(w->s->analysis)->ran;
    const char *name = t->devices.len && t->devices.at[0].name != LPO_NONE
                           ? lpo_trace_text(t, t->devices.at[0].name)
                           : "";
    int amd = strstr(name, "AMD") || strstr(name, "gfx") ? AMD : 0;

    for (size_t i = 0; i < sizeof order / sizeof *order; i++)
        if (ran[order[i].framework])
            return order[i].bit | amd;
    return (w->s->what && strstr(w->s->what, "PyTorch") ? TORCH : PLAIN) | amd;
}

const struct lpo_evidence *lpo_report_main_role(const struct lpo_rung *r)
{
    const struct lpo_evidence *best = NULL;

    for (size_t i = 0; i < r->nevidence; i++)
        if (r->evidence[i].fact == LPO_FACT_ROLE &&
            (!best || r->evidence[i].value[0] > best->value[0]))
            best = &r->evidence[i];
    return best;
}

static const char *peak_advice(const struct lpo_ladder_words *w, const struct lpo_rung *r)
{
    static const char *const by_role[LPO_MEMORY_CATEGORIES] = {
        [LPO_MEMORY_PARAMETERS] = "A smaller number format, quantization or sharding makes the "
                                  "parameters smaller.",
        [LPO_MEMORY_GRADIENTS] = "Gradients in 16 bit, sharded, or freed as the optimizer takes "
                                 "them make them smaller.",
        [LPO_MEMORY_STATES] = "States in 8 or 16 bit, sharded over ranks (ZeRO, FSDP) or offloaded "
                              "make them smaller.",
        [LPO_MEMORY_ACTIVATIONS] = "Recomputation (checkpointing), a fused attention kernel that "
                                   "keeps no scores, autocast or smaller batches make them "
                                   "smaller.",
        [LPO_MEMORY_TEMPORARY] = "Work in smaller pieces, or in place, makes it smaller.",
    };
    const struct lpo_evidence *role = lpo_report_main_role(r);
    const char *text = role ? by_role[role->name] : NULL;
    LPO_STR bytes = { 0 };

    if (r->bytes <= 0)
        return "Record the snapshot with stacks to see who holds it.";
    lpo_units_add_bytes(&bytes, (double)r->bytes);
    return lpo_arena_printf(
        w->arena, "Without its largest holder the peak would be %s lower.%s%s%s",
        lpo_str_text(&bytes), text ? " " : "", text ? text : "",
        lpo_report_find_fact(r, LPO_FACT_FRAGMENTS)
            ? " What is reserved and not in use is fragmentation: expandable_segments:True in "
              "PYTORCH_CUDA_ALLOC_CONF gives it back."
            : "");
}

/* Was enough reserved and not in use? Then it was in pieces. */
static const char *after_refusal(const struct lpo_rung *r)
{
    const struct lpo_evidence *held = lpo_report_find_fact(r, LPO_FACT_HELD);

    return held && held->value[1] - held->value[0] >= r->evidence[0].value[0]
               ? "That much was reserved and not in use, but in pieces: "
                 "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, or fewer different sizes."
               : "Allocate less: the peak below says what holds the memory.";
}

/* Where no shape says why, the roof does. */
static const char *roof_advice(const struct lpo_rung *r)
{
    return lpo_report_find_fact(r, LPO_FACT_ROOF)->name
               ? "Fuse it with the operators around it, keep its tensors contiguous, or use a "
                 "smaller number format: what it moves is what it costs."
               : "Look at this operator first: another tile size or kernel, other shapes, or "
                 "several of them together.";
}

static const char *kernel_advice(const struct lpo_rung *r)
{
    static const char *const by_bound[] = {
        [LPO_BOUND_UNKNOWN] = "Change what ncu names first.",
        [LPO_BOUND_LATENCY] = "More warps on an SM and more independent work in a thread hide "
                              "waiting; a larger grid where it fills less than a wave.",
        [LPO_BOUND_BALANCED] = "Reduce both: another algorithm, or a smaller number format.",
        [LPO_BOUND_MEMORY] = "Move fewer bytes: wide loads (float4), a smaller number format, "
                             "fusion with the kernels around it.",
        [LPO_BOUND_COMPUTE] = "Fewer or cheaper instructions: tensor cores, a smaller number "
                              "format.",
    };
    const struct lpo_evidence *bound = lpo_report_find_fact(r, LPO_FACT_BOUND_BY);

    return by_bound[bound ? bound->name : LPO_BOUND_UNKNOWN];
}

/* Not every wait of the host is work: messages of other processes, and operators whose tensors are
 * in its memory. NULL: it is. */
static const char *host_advice(const struct lpo_ladder_words *w, const struct lpo_rung *r)
{
    const struct lpo_trace *t = w->s->analysis->trace;
    const struct lpo_evidence *in = lpo_report_find_fact(r, LPO_FACT_INSIDE);
    const char *name = r->name == LPO_NONE ? "" : lpo_trace_text(t, r->name);

    if (lpo_str_starts(name, "MPI_"))
        return "It waits for other processes: start the message earlier and wait later "
               "(MPI_Isend, MPI_Irecv), send from GPU memory, or launch before the wait what does "
               "not need it.";
    if (lpo_str_starts(name, "aten::") ||
        (in && lpo_str_starts(lpo_trace_text(t, in->name), "aten::")))
        return "An operator that takes so long and launches nothing computes on the CPU: keep its "
               "tensors on the GPU, or move it to another thread.";
    return NULL;
}

const char *lpo_report_rung_advice(const struct lpo_ladder_words *w, const struct lpo_rung *r)
{
    int framework = framework_of(w);

    if (r->kind == LPO_RUNG_HOST && host_advice(w, r))
        return host_advice(w, r);
    for (size_t i = 0; i < sizeof advice / sizeof *advice; i++)
        if (advice[i].kind == r->kind && advice[i].framework & framework &&
            (advice[i].fact == LPO_FACTS || lpo_report_find_fact(r, advice[i].fact)))
            return advice[i].text ? advice[i].text : roof_advice(r);
    return r->kind == LPO_RUNG_REFUSED  ? after_refusal(r)
           : r->kind == LPO_RUNG_MEMORY ? peak_advice(w, r)
                                        : kernel_advice(r);
}
