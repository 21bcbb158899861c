/* SPDX-License-Identifier: Apache-2.0 */
/* What each kind of rung is called, where it is, and what can be done about it. */
#include <string.h>

#include "analysis/analysis.h"
#include "analysis/counters/kernel_profile.h"
#include "analysis/frameworks.h"
#include "analysis/ladder/ladder.h"
#include "analysis/memory/memory.h"
#include "analysis/ranks/jobs.h"
#include "region/cells.h"
#include "region/tree.h"
#include "report/chapters/chapters.h"
#include "report/findings/findings.h"
#include "report/trace_records.h"
#include "rundir/belonging.h"
#include "rundir/rundir.h"
#include "trace/trace.h"
#include "util/arena.h"
#include "util/path.h"
#include "util/str.h"
#include "util/units.h"

/* %n in a title is the name of the rung; %1p the first number of its first fact as a share. */
static const struct {
    const char *title, *advice;
} words[LPO_RUNG_KINDS] = {
    [LPO_RUNG_BLOCKED] = { "The host waits for the GPU in %n and launches nothing meanwhile",
                           "Keep the result on the GPU (no .item(), .cpu() or condition on a "
                           "tensor "
                           "in the loop), copy asynchronously, or fetch it a step later." },
    [LPO_RUNG_DATA] = { "The GPU waits for data: %n",
                        "Load ahead of time on other threads or processes: num_workers and "
                        "prefetch_factor of the DataLoader, preprocessing outside of the step." },
    [LPO_RUNG_HOST] = { "The launching thread does other work: %n",
                        "Move it to another thread, do it while the GPU is busy, or drop it." },
    [LPO_RUNG_PAUSE] = { "The launching thread pauses now and then: %n",
                         "Do that on another thread, or less often; garbage collection can be put "
                         "between steps (gc.freeze, gc.disable)." },
    [LPO_RUNG_COMPILE] = { "Code is compiled or tuned again in steady steps: %n",
                           "Keep shapes and guards stable (mark_dynamic, padding), raise the cache "
                           "limit, and keep compiled and tuned kernels in a cache on disk." },
    [LPO_RUNG_FIRST] = { "First calls are in the measured time: %n",
                         "Warm up before measuring; for start-up time, load modules early "
                         "(CUDA_MODULE_LOADING=EAGER) and keep compiled kernels in a cache." },
    [LPO_RUNG_ALLOCATOR] = { "Memory is allocated and freed on the way: %n",
                             "Allocate once and reuse: a caching allocator, expandable segments, "
                             "no "
                             "empty_cache() in the loop." },
    [LPO_RUNG_LAUNCH] = { "The host launches more slowly than the GPU works", NULL },
    [LPO_RUNG_COMMUNICATION] = { "Communication is exposed: nothing is computed meanwhile",
                                 "Overlap it with computing (another stream, buckets, an order "
                                 "that "
                                 "starts it earlier), or send less." },
    [LPO_RUNG_SAME_STREAM] = { "Communication runs on the stream of the computing, so it cannot "
                               "overlap",
                               "Put it on a stream of its own first, with events where its results "
                               "are needed; then start it earlier." },
    [LPO_RUNG_MESSAGES] = { "Many small collectives run one after another", NULL },
    [LPO_RUNG_PAGEABLE] = { "Copies use host memory that is not pinned",
                            "Pin the host memory (pin_memory=True of the DataLoader, "
                            ".pin_memory()) "
                            "and copy with non_blocking=True." },
    [LPO_RUNG_COPIES] = { "Copies are exposed: nothing is computed meanwhile",
                          "Copy on another stream while the GPU computes (non_blocking=True), or "
                          "keep the data on the GPU." },
    [LPO_RUNG_LAYOUT] = { "Kernels that only copy, cast or change the layout: %n",
                          "Keep one layout and one number format from end to end "
                          "(channels_last, autocast once, no .contiguous() where a view will "
                          "do)." },
    [LPO_RUNG_ATTENTION] = { "Attention is not fused: its scores are written to memory and read "
                             "again",
                             NULL },
    [LPO_RUNG_FUSE] = { "Runs of element-wise kernels pass each result through memory", NULL },
    [LPO_RUNG_FP32] = { "Matrix products run in fp32 without tensor cores",
                        "Use bf16 or fp16 (autocast), or allow TF32 "
                        "(torch.set_float32_matmul_precision(\"high\"))." },
    [LPO_RUNG_SIBLING] = { "%n is slower than the others of its kind",
                           "Compare its inputs, its memory layout and "
                           "number format with those of the others." },
    [LPO_RUNG_ROOF] = { NULL, "Look at this operator first: another tile size or kernel, other "
                              "shapes, or several of them together." },
    [LPO_RUNG_BEST] = { NULL, "Try another library or kernel for this shape; lpo reference has "
                              "what was measured around it." },
    [LPO_RUNG_COLLECTIVE] = { "A collective is slower than NCCL is elsewhere",
                              "Look at how these GPUs are connected (nvidia-smi topo -m), and at "
                              "NCCL's choice (NCCL_DEBUG=INFO): peer to peer, NVLink, channels." },
    [LPO_RUNG_REGION] = { "Kernels take longer than the hardware allows",
                          "Look at this region with lpo kernels: larger tiles, another number "
                          "format, fewer bytes." },
    [LPO_RUNG_TAIL] = { "The last wave of blocks leaves part of the GPU idle",
                        "Choose a grid that fills whole waves: another tile size, split the work "
                        "differently, or a persistent kernel." },
    [LPO_RUNG_OCCUPANCY] = { "Kernels wait, and few warps fit on an SM to hide that",
                             "Let more warps fit on an SM: fewer registers (__launch_bounds__), "
                             "less "
                             "shared memory in a block, another block size." },
    [LPO_RUNG_RECOMPUTATION] = { "Forward work is done again in the backward pass",
                                 "Keep more activations where memory allows it." },
    [LPO_RUNG_THROTTLING] = { "The GPU was slowed down",
                              "Check power limit, cooling and clocks of the machine." },
    [LPO_RUNG_RANK] = { "Rank %r computes longer than the others%k",
                        "Balance the work, or look for a slower GPU on that machine (clocks, "
                        "temperature, other programs)." },
    [LPO_RUNG_RANK_HOST] = { "Rank %r is late because its host is, and the others wait for it%n",
                             "Look at that host: workers and prefetching of its DataLoader, its "
                             "disk, other programs on its CPUs." },
    [LPO_RUNG_RANK_PAUSE] = { "Rank %r pauses once, and the others wait for it%n",
                              "Look at what ran on that host then: garbage collection, a "
                              "checkpoint, other programs." },
    [LPO_RUNG_LINK] = { "One group of ranks sends more slowly than the others: rank %r and those "
                        "with it",
                        "Compare its links with those of the other groups: topology, NVLink and "
                        "NIC errors, NCCL_DEBUG=INFO for the path that NCCL chose." },
    [LPO_RUNG_EXPERTS] = { "Rank %r has more work for its experts than the others%k",
                           "Balance the tokens: an auxiliary loss, a capacity factor, or another "
                           "placement of experts." },
    [LPO_RUNG_BUBBLES] = { "Stages of the pipeline wait for each other",
                           "More micro-batches in a step, an interleaved or zero-bubble schedule, "
                           "or stages of equal length." },
    [LPO_RUNG_RANKS_UNEVEN] = { "The ranks wait for each other, each time for another one",
                                "Give them equal work: batches of equal length, sorted or "
                                "packed." },
    [LPO_RUNG_MISMATCH] = { NULL, "Let every rank of the group make the same calls in the same "
                                  "order, with the same sizes: look at the condition in front of "
                                  "them." },
    [LPO_RUNG_MISSING] = { NULL,
                           "Look at what these ranks did instead: an exception, a branch that "
                           "only they take, a host that hangs (py-spy dump)." },
    [LPO_RUNG_SILENT] = { NULL, "Look for their output and core files: the process may be gone, or "
                                "its machine." },
    [LPO_RUNG_STUCK] = { NULL, "Look at the links and at other work on the stream of this group: "
                               "NCCL_DEBUG=INFO, Xid errors in the kernel log, kernels in front "
                               "that do not end." },
    [LPO_RUNG_REFUSED] = { NULL, NULL },
    [LPO_RUNG_MEMORY] = { NULL, NULL },
    [LPO_RUNG_KERNEL] = { NULL, NULL },
};

/* %1… as in facts.c, of the first number. */
static const struct {
    const char *text;
    char unit;
} cautions[LPO_CAUTION_KINDS] = {
    [LPO_CAUTION_NOISE] = { "Repeats of this run differ by %s, so smaller savings mean nothing.",
                            'p' },
    [LPO_CAUTION_SHORT] = { "The recorded work spans only %s: too short for firm conclusions.",
                            't' },
    [LPO_CAUTION_FEW] = { "Only %s kernels were recorded: too few for firm conclusions.", 'c' },
    [LPO_CAUTION_NO_LAUNCH] = { "%s of the time of all kernels has no launch record, as when a "
                                "capture begins late: its region and the causes around it are "
                                "unknown.",
                                'p' },
    [LPO_CAUTION_UNKNOWN] = { "For %s of the time the GPU was idle for a reason that this trace "
                              "does "
                              "not show.",
                              'p' },
    [LPO_CAUTION_OUTSIDE] = { "%s of the time of all kernels belongs to no marked region: mark "
                              "those "
                              "parts of the program too.",
                              'p' },
    [LPO_CAUTION_LOST] = { "The profiler lost %s records.", 'c' },
    [LPO_CAUTION_STACKS] = { "%s Python calls were recorded too, as with_stack does, which slows "
                             "the "
                             "host: without that, the GPU waits for it less than here.",
                             'c' },
    [LPO_CAUTION_RANGES] = { "%s ranges stand around single operators, as emit_nvtx makes them, "
                             "which "
                             "slows the host: without that, the GPU waits for it less than here.",
                             'c' },
    [LPO_CAUTION_PROFILER] = { "About %s of the window is the profiler's own; it was taken out "
                               "before "
                               "the first change.",
                               't' },
    [LPO_CAUTION_COUNTED] = { "The profiler read hardware counters of %s kernels, one after "
                              "another, "
                              "and the program waited for that: these are not the times of an "
                              "ordinary run.",
                              'c' },
    [LPO_CAUTION_EARLIER] = { "The host waits %s for work that was launched before the capture "
                              "began: that is no saving.",
                              't' },
    [LPO_CAUTION_CAPTURED] = { "CUDA graphs were being captured (%s launches): that comes once.",
                               'c' },
    [LPO_CAUTION_UNEXPLAINED] = { "What %s of the window waited for is not in the trace (other "
                                  "processes, events between streams): savings are upper bounds.",
                                  'p' },
};

static const struct lpo_trace *trace_of(const struct lpo_ladder_words *w)
{
    return w->s->analysis->trace;
}

struct lpo_ladder_words lpo_report_ladder_words(struct lpo_arena *arena, const struct lpo_rundir *d,
                                                const struct lpo_source *s)
{
    const struct lpo_ladders *all = lpo_analysis_ladders(d, s);

    return (struct lpo_ladder_words){ arena, d, s, all, all->all.len ? &all->all.at[0] : NULL };
}

/* %n and %k of a title. */
static const char *named(const struct lpo_ladder_words *w, const char *title, uint32_t name,
                         const char *unknown)
{
    const char *hole = strchr(title, '%');
    const char *text = name == LPO_NONE ? unknown
                       : hole && hole[1] == 'k'
                           ? lpo_region_cells_shown_name(w->s->analysis->cells, name)
                           : lpo_trace_text(trace_of(w), name);

    return hole ? lpo_arena_printf(w->arena, "%.*s%.160s%s", (int)(hole - title), title, text,
                                   hole + 2)
                : title;
}

/* %r is the rank; %n and %k, where it has one, the name behind a colon. */
static const char *of_rank(const struct lpo_ladder_words *w, const struct lpo_rung *r)
{
    LPO_STR s = { 0 };

    for (const char *at = words[r->kind].title; *at; at++) {
        if (*at != '%') {
            lpo_str_addn(&s, at, 1);
            continue;
        }
        at++;
        if (*at == 'r' && r->nevidence)
            lpo_str_addf(&s, "%.0f", r->evidence[0].value[0]);
        else if (*at != 'r' && r->name != LPO_NONE)
            lpo_str_addf(&s, ": %.160s",
                         *at == 'k' ? lpo_region_cells_shown_name(w->s->analysis->cells, r->name)
                                    : lpo_trace_text(trace_of(w), r->name));
    }
    return lpo_arena_strdup(w->arena, lpo_str_text(&s));
}

static const struct lpo_evidence *find_fact(const struct lpo_rung *r, enum lpo_fact fact)
{
    for (size_t i = 0; i < r->nevidence; i++)
        if (r->evidence[i].fact == fact)
            return &r->evidence[i];
    return NULL;
}

static const char *percent(const struct lpo_ladder_words *w, double share)
{
    LPO_STR s = { 0 };

    lpo_units_add_percent(&s, 100 * share);
    return lpo_arena_strdup(w->arena, lpo_str_text(&s));
}

static const char *bytes(const struct lpo_ladder_words *w, double n)
{
    LPO_STR s = { 0 };

    lpo_units_add_bytes(&s, n);
    return lpo_arena_strdup(w->arena, lpo_str_text(&s));
}

/* What the shape says stands in the title too: it is why. */
static const char *why(const struct lpo_rung *r)
{
    static const struct {
        enum lpo_fact fact;
        const char *text;
    } reasons[] = {
        { LPO_FACT_FEW_TILES, ": too few tiles to fill the GPU" },
        { LPO_FACT_SKINNY, ": tall and skinny" },
        { LPO_FACT_SHORT_SIDE, ": a short inner side" },
        { LPO_FACT_ODD_SIDE, ": an odd side" },
        { LPO_FACT_DEPTHWISE, ": a depthwise convolution" },
        { LPO_FACT_LARGE_HEADS, ": large heads" },
        { LPO_FACT_FEW_BLOCKS, ": too few blocks to fill the GPU" },
        { LPO_FACT_FEW_TOKENS, ": too few tokens an expert" },
    };

    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (find_fact(r, reasons[i].fact))
            return reasons[i].text;
    return "";
}

/* What an ncu report shows of a kernel, and what helps then. */
struct kernel_words {
    const char *title, *advice;
};

static const struct kernel_words *kernel_words(const struct lpo_rung *r)
{
    static const struct kernel_words
        by_bound[] = {
            [LPO_BOUND_UNKNOWN] = { " takes most of the time", "Change what ncu names first." },
            [LPO_BOUND_LATENCY] = { " waits: neither the SMs nor the memory are busy",
                                    "More warps on an SM and more independent work in a thread "
                                    "hide waiting; a larger grid where it fills less than a "
                                    "wave." },
            [LPO_BOUND_BALANCED] = { " is limited by computing and memory alike",
                                     "Both have to become less: another algorithm, or a smaller "
                                     "number format." },
            [LPO_BOUND_MEMORY] = { " is limited by memory",
                                   "Move fewer bytes: wide loads (float4), a smaller number "
                                   "format, fusion with the kernels around it." },
            [LPO_BOUND_COMPUTE] = { " is limited by computing",
                                    "Fewer or cheaper instructions: tensor cores, a smaller "
                                    "number format." },
        },
        scattered = { " is limited by the L1 cache: its loads are not coalesced or not reused",
                      "Let neighbouring threads read neighbouring addresses, and keep in shared "
                      "memory or registers what is read again." };
    const struct lpo_evidence *bound = find_fact(r, LPO_FACT_BOUND_BY);

    return find_fact(r, LPO_FACT_SCATTERED) ? &scattered
                                            : &by_bound[bound ? bound->name : LPO_BOUND_UNKNOWN];
}

/* The role that holds most of the peak. */
static const struct lpo_evidence *main_role(const struct lpo_rung *r)
{
    const struct lpo_evidence *best = NULL;

    for (size_t i = 0; i < r->nevidence; i++)
        if (r->evidence[i].fact == LPO_FACT_ROLE &&
            (!best || r->evidence[i].value[0] > best->value[0]))
            best = &r->evidence[i];
    return best;
}

static const char *peak_title(const struct lpo_ladder_words *w, const struct lpo_rung *r)
{
    const struct lpo_evidence *role = main_role(r);
    const char *peak = bytes(w, r->nevidence ? r->evidence[0].value[0] : 0);

    if (!role)
        return lpo_arena_printf(w->arena, "The peak of GPU memory is %s", peak);
    return lpo_arena_printf(w->arena, "The peak of GPU memory is %s, %s of it %s", peak,
                            percent(w, role->value[1]),
                            lpo_memory_category_name((enum lpo_memory_category)role->name));
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
    const struct lpo_evidence *role = main_role(r);
    const char *text = role ? by_role[role->name] : NULL;
    bool fragments = find_fact(r, LPO_FACT_FRAGMENTS) != NULL;

    if (r->bytes <= 0)
        return "Record the snapshot with stacks to see who holds it.";
    return lpo_arena_printf(
        w->arena, "Without its largest holder the peak would be %s lower.%s%s%s",
        bytes(w, (double)r->bytes), text ? " " : "", text ? text : "",
        fragments ? " What is reserved and not in use is fragmentation: expandable_segments:True "
                    "in PYTORCH_CUDA_ALLOC_CONF gives it back."
                  : "");
}

const char *lpo_report_rung_title(const struct lpo_ladder_words *w, const struct lpo_rung *r)
{
    const struct lpo_evidence *e = find_fact(r, LPO_FACT_ROOF),
                              *op = find_fact(r, LPO_FACT_OPERATOR);

    if (r->kind == LPO_RUNG_ROOF && e)
        return lpo_arena_printf(w->arena, "%.100s runs at %s of the %s%s",
                                lpo_trace_text(trace_of(w), r->name), percent(w, e->value[0]),
                                e->name ? "memory bandwidth" : "compute roof", why(r));
    e = find_fact(r, LPO_FACT_BEST);
    if (r->kind == LPO_RUNG_BEST && e)
        return lpo_arena_printf(
            w->arena, "%.100s takes %.3g times the best measured for its shape%s",
            lpo_trace_text(trace_of(w), r->name), e->value[2] / e->value[0], why(r));
    if (r->kind >= LPO_RUNG_RANK && r->kind <= LPO_RUNG_RANKS_UNEVEN)
        return of_rank(w, r);
    if (r->kind >= LPO_RUNG_MISMATCH && r->kind <= LPO_RUNG_STUCK)
        return lpo_report_flight_title(w->arena, w->s->analysis, (size_t)r->evidence[0].value[0]);
    if (r->kind == LPO_RUNG_REFUSED)
        return lpo_arena_printf(w->arena, "Out of memory: a request for %s failed%s%.200s",
                                bytes(w, r->evidence[0].value[0]),
                                r->code == LPO_NONE ? "" : " at ",
                                r->code == LPO_NONE ? "" : lpo_trace_text(trace_of(w), r->code));
    if (r->kind == LPO_RUNG_MEMORY)
        return peak_title(w, r);
    if (r->kind == LPO_RUNG_KERNEL)
        return lpo_arena_printf(w->arena, "%.160s%s",
                                lpo_region_cells_shown_name(w->s->analysis->cells, r->name),
                                kernel_words(r)->title);
    if (r->kind == LPO_RUNG_BLOCKED && op)
        return lpo_arena_printf(w->arena,
                                "The host waits for the GPU in %.80s (%.100s) and launches nothing "
                                "meanwhile",
                                r->name == LPO_NONE ? "a call"
                                                    : lpo_trace_text(trace_of(w), r->name),
                                lpo_trace_text(trace_of(w), op->name));
    return named(w, words[r->kind].title, r->name,
                 r->kind == LPO_RUNG_SIBLING ? "One group of kernels" : "a call");
}

enum framework { TORCH, JAX, NO_FRAMEWORK, FRAMEWORKS };

/* Where the advice depends on what the program is written with. */
static const struct {
    enum lpo_rung_kind kind;
    const char *advice[FRAMEWORKS];
} by_framework[] = {
    { LPO_RUNG_LAUNCH,
      { "Launch less: CUDA graphs (mode=\"reduce-overhead\" of torch.compile), fused kernels or "
        "larger batches.",
        "Launch less: more of the program in one jitted function (lax.scan over steps), or larger "
        "batches.",
        "Launch less: CUDA graphs, fused kernels or larger batches." } },
    { LPO_RUNG_FUSE,
      { "Fuse them: torch.compile, a fused kernel of a library, or one of your own.",
        "Fuse them: more of the program in one jitted function, or a kernel of your own.",
        "Fuse them: a fused kernel of a library, or one of your own." } },
    { LPO_RUNG_ATTENTION,
      { "Use a fused kernel: scaled_dot_product_attention of PyTorch (attn_implementation=\"sdpa\" "
        "in Transformers) or FlashAttention.",
        "Use a fused kernel: jax.nn.dot_product_attention with implementation=\"cudnn\".",
        "Use a fused kernel: FlashAttention, or the attention of cuDNN." } },
    { LPO_RUNG_MESSAGES,
      { "Merge them into larger messages: larger buckets (bucket_cap_mb of "
        "DistributedDataParallel), or one collective for many tensors.",
        "Merge them into larger messages: a higher xla_gpu_all_reduce_combine_threshold_bytes in "
        "XLA_FLAGS, or one collective for many arrays.",
        "Merge them into larger messages: one collective for many tensors." } },
};

static enum framework framework_of(const struct lpo_ladder_words *w)
{
    const bool *ran = lpo_analysis_frameworks(w->s->analysis)->ran;

    if (ran[LPO_FRAMEWORK_JAX])
        return JAX;
    return ran[LPO_FRAMEWORK_PYTORCH] || (w->s->what && strstr(w->s->what, "PyTorch"))
               ? TORCH
               : NO_FRAMEWORK;
}

/* Was enough reserved and not in use? Then it was in pieces. */
static const char *after_refusal(const struct lpo_rung *r)
{
    const struct lpo_evidence *held = find_fact(r, LPO_FACT_HELD);

    return held && held->value[1] - held->value[0] >= r->evidence[0].value[0]
               ? "That much was reserved and not in use, but in pieces: "
                 "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, or fewer different sizes."
               : "Make what is allocated smaller: the peak below says by what.";
}

/* Where the shape says why; else by the roof. NULL: as for any operator. */
static const char *roof_advice(const struct lpo_rung *r)
{
    static const struct {
        enum lpo_fact fact;
        const char *text;
    } advice[] = {
        { LPO_FACT_FEW_TILES, "Split K over more blocks (split-K or stream-K kernels), or batch "
                              "several of these products." },
        { LPO_FACT_SKINNY, "Batch more rows, or merge it with its neighbours: what it costs is the "
                           "reading of its larger side." },
        { LPO_FACT_SHORT_SIDE, "Fuse it with the operators around it, so that its result need not "
                               "be written and read." },
        { LPO_FACT_ODD_SIDE, "Pad that side to a multiple of 8, better of 64." },
        { LPO_FACT_DEPTHWISE,
          "Use a kernel made for depthwise convolutions (channels_last, 16 bit), "
          "or fuse it with what follows." },
        { LPO_FACT_LARGE_HEADS,
          "More heads of 64 or 128, or a kernel that is made for such heads." },
        { LPO_FACT_FEW_BLOCKS, "Split the keys over more blocks (flash decoding), or batch more." },
        { LPO_FACT_FEW_TOKENS,
          "Batch more tokens, put fewer experts on this GPU, or use weights of "
          "fewer bits: the time goes into reading them." },
    };
    const struct lpo_evidence *roof = find_fact(r, LPO_FACT_ROOF);

    for (size_t i = 0; i < sizeof advice / sizeof *advice; i++)
        if (find_fact(r, advice[i].fact))
            return advice[i].text;
    return roof && roof->name
               ? "Fuse it with the operators around it, keep its tensors contiguous, or use a "
                 "smaller number format: what it moves is what it costs."
               : NULL;
}

const char *lpo_report_rung_advice(const struct lpo_ladder_words *w, const struct lpo_rung *r)
{
    if (r->kind == LPO_RUNG_REFUSED)
        return after_refusal(r);
    if (r->kind == LPO_RUNG_MEMORY)
        return peak_advice(w, r);
    if (r->kind == LPO_RUNG_KERNEL)
        return kernel_words(r)->advice;
    if (r->kind == LPO_RUNG_ROOF && roof_advice(r))
        return roof_advice(r);
    for (size_t i = 0; i < sizeof by_framework / sizeof *by_framework; i++)
        if (by_framework[i].kind == r->kind)
            return by_framework[i].advice[framework_of(w)];
    return words[r->kind].advice;
}

const char *lpo_report_rung_where(const struct lpo_ladder_words *w, const struct lpo_rung *r)
{
    LPO_STR s = { 0 };

    if (r->code != LPO_NONE)
        lpo_str_addf(&s, "%.200s", lpo_trace_text(trace_of(w), r->code));
    if (r->node != LPO_NONE) {
        lpo_str_add(&s, s.len ? " in " : "");
        lpo_region_add_path(w->s->analysis->tree, r->node, &s);
    }
    if (!s.len && r->device < trace_of(w)->devices.len)
        return lpo_report_device_scope(w->arena, &trace_of(w)->devices.at[r->device]);
    return lpo_arena_strdup(w->arena, lpo_str_text(&s));
}

const char *lpo_report_rung_saving(const struct lpo_ladder_words *w, const struct lpo_rung *r)
{
    LPO_STR s = { 0 };

    if (!w->ladder || r->bytes)
        return bytes(w, (double)r->bytes);
    lpo_units_add_duration(&s, r->saving_ns);
    return lpo_arena_printf(
        w->arena, "%s%s (%s)",
        r->basis == LPO_BASIS_ESTIMATED || r->basis == LPO_BASIS_REFERENCE ? "about " : "",
        lpo_str_text(&s), percent(w, (double)r->saving_ns / (double)w->ladder->wall_ns));
}

static const char *several_jobs(const struct lpo_ladder_words *w)
{
    static const char *const reasons[] = {
        [LPO_RANKS_ONE_JOB] = "",
        [LPO_RANKS_WORLDS] = "some of them say that their job has %lld ranks, others %lld",
        [LPO_RANKS_GROUPS] = "the group of all ranks has %lld members in some and %lld in others",
        [LPO_RANKS_OVERFULL] = "there is a rank %lld, and a job of %lld ranks",
        [LPO_RANKS_TIMES] = "%lld days or more lie between them",
    };
    struct lpo_ranks_jobs jobs = lpo_ranks_jobs(trace_of(w));
    LPO_STR s = { 0 };

    lpo_str_add(&s, "These traces are not of one job: ");
    lpo_str_addf(&s, reasons[jobs.why], (long long)jobs.a, (long long)jobs.b);
    lpo_str_add(&s, ". They stand beside each other; their clocks, steps and regions are not "
                    "compared.");
    return lpo_arena_strdup(w->arena, lpo_str_text(&s));
}

/* With the file, where its name says the rank. */
static const char *other_run(const struct lpo_ladder_words *w, int rank)
{
    const char *file = NULL;

    for (size_t i = 0; i < w->s->nfiles; i++)
        if (lpo_rundir_rank_of_name(w->s->files[i]) == rank)
            file = lpo_path_base(w->s->files[i]);
    return lpo_arena_printf(
        w->arena,
        "The trace of rank %d%s%s%s does not fit those of the other ranks: its collectives end at "
        "other times. It is probably of another run, and is compared with nothing.",
        rank, file ? " (" : "", file ? file : "", file ? ")" : "");
}

const char *lpo_report_ladder_caution(const struct lpo_ladder_words *w, const struct lpo_caution *c)
{
    double v = c->evidence[0].value[0];
    LPO_STR s = { 0 };

    if (c->kind == LPO_CAUTION_JOBS)
        return several_jobs(w);
    if (c->kind == LPO_CAUTION_OTHER_RUN)
        return other_run(w, (int)v);
    if (c->kind == LPO_CAUTION_FEW && v == 0)
        return "No kernel was recorded, only copies and memsets.";
    if (c->kind == LPO_CAUTION_FEW && v == 1)
        return "Only one kernel was recorded: too few for firm conclusions.";
    if (cautions[c->kind].unit == 't')
        lpo_units_add_duration(&s, (int64_t)v);
    else if (cautions[c->kind].unit == 'c')
        lpo_units_add_count(&s, (uint64_t)v);
    else
        lpo_units_add_percent(&s, 100 * v);
    return lpo_arena_printf(w->arena, cautions[c->kind].text, lpo_str_text(&s));
}

bool lpo_report_rung_counts(const struct lpo_ladder_words *w, const struct lpo_rung *r)
{
    return !w->ladder || (double)r->saving_ns >= w->all->noise * (double)w->ladder->wall_ns;
}
