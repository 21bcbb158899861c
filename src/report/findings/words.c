/* SPDX-License-Identifier: Apache-2.0 */
/* What each kind of finding is called and what can be done about it. */
#include <string.h>

#include "analysis/analysis.h"
#include "analysis/findings/findings.h"
#include "analysis/limits/limits.h"
#include "analysis/ranks/jobs.h"
#include "region/tree.h"
#include "report/findings/findings.h"
#include "report/findings/private.h"
#include "report/trace_records.h"
#include "rundir/rundir.h"
#include "trace/trace.h"
#include "util/arena.h"
#include "util/str.h"
#include "util/units.h"

enum { MOST_NAMES = 20000 }; /* that are looked through for signs of a framework */

/* %s in a title is the name of the finding: the call. */
static const struct {
    const char *title, *advice;
} words[LPO_FINDING_KINDS] = {
    [LPO_FINDING_BLOCKED] = { "The GPU is idle while the host waits in %s",
                              "Wait later or not at all: launch the next work before the call, use "
                              "events or asynchronous copies, and fetch results in groups." },
    [LPO_FINDING_LAUNCH_BOUND] = { "The GPU waits for the next launch in gaps of up to 200 us",
                                   NULL }, /* launch_less */
    [LPO_FINDING_HOST_WORK] = { "The GPU waits for the host in gaps of more than 200 us",
                                "Find out what the launching thread does there; do it on another "
                                "thread, do it while the GPU is busy, or not at all." },
    [LPO_FINDING_PING_PONG] = { "The host fetches small results and launches nothing meanwhile",
                                "Keep the results on the GPU (no .item(), .cpu() or conditions on "
                                "tensors in the loop), or fetch them one step later." },
    [LPO_FINDING_ALLOCATOR] = { "The GPU is idle while memory is allocated or freed",
                                "Allocate once and reuse: a caching allocator, larger segments, no "
                                "empty_cache() in the loop." },
    [LPO_FINDING_FIRST_CALLS] = { "First calls cost time that later calls do not",
                                  "Warm up before measuring; for start-up time, load modules early "
                                  "and keep compiled and tuned kernels in a cache." },
    [LPO_FINDING_MESSAGES] = { "The GPU waits for the host between small collectives", NULL },
    [LPO_FINDING_COMMUNICATION] = { "Communication is exposed: nothing is computed meanwhile",
                                    "Overlap it with computing (another stream, buckets, an order "
                                    "that starts it earlier), or send less." },
    [LPO_FINDING_COPIES] = { "Copies are exposed: nothing is computed meanwhile",
                             "Copy less, or copy on another stream while the GPU computes." },
    [LPO_FINDING_ATTENTION] = { "Attention is not fused: its scores are written to memory and "
                                "read again",
                                NULL }, /* fuse_attention */
    [LPO_FINDING_UNFUSED] = { "Runs of element-wise kernels, norms and copies pass each result "
                              "through memory",
                              NULL }, /* fuse */
    [LPO_FINDING_SMALL_KERNELS] = { "Runs of short kernels could be one kernel each",
                                    NULL }, /* fuse */
    [LPO_FINDING_TAIL] = { "The last wave of blocks leaves part of the GPU idle",
                           "Choose a grid that fills whole waves: another tile size, split the "
                           "work differently, or a persistent kernel." },
    [LPO_FINDING_OCCUPANCY] = { "Kernels wait, and few warps fit on an SM to hide that",
                                "Let more warps fit on an SM." },
    [LPO_FINDING_ROOF] = { "Kernels take longer than the hardware allows",
                           "Look at this region with lpo kernels: larger tiles, another number "
                           "format, fewer bytes." },
    [LPO_FINDING_RECOMPUTATION] = { "Forward work is done again in the backward pass",
                                    "Keep more activations where memory allows it." },
    [LPO_FINDING_SLOW_RANK] = { "One rank computes longer than the others",
                                "Balance the work, or look for a slower GPU on that machine." },
    [LPO_FINDING_THROTTLING] = { "The GPU was slowed down",
                                 "Check power limit, cooling and clocks of the machine." },
};

static const char *const limiter_advice[LPO_LIMITERS] = {
    [LPO_LIMITER_REGISTERS] = "Use fewer registers in a thread: __launch_bounds__, less work in "
                              "each thread, or more warps of smaller tiles.",
    [LPO_LIMITER_SHARED_MEMORY] = "Use less shared memory in a block: smaller tiles or fewer "
                                  "stages.",
    [LPO_LIMITER_BLOCK_SIZE] = "Choose another block size: one that lets more warps fit on an SM.",
};

static const struct {
    const char *text; /* one %s: the value */
    const char *tail; /* after further evidence, which stands in brackets */
} cautions[LPO_CAUTION_KINDS] = {
    [LPO_CAUTION_JOBS] = { "These traces are not of one job: %s. They stand beside each other; "
                           "their "
                           "clocks, steps and regions are not compared." },
    [LPO_CAUTION_NOISE] = { "Repeats of this run differ by %s, so smaller savings mean nothing." },
    [LPO_CAUTION_SHORT] = { "The recorded work spans only %s: too short for firm conclusions." },
    [LPO_CAUTION_FEW] = { "Only %s kernels were recorded: too few for firm conclusions." },
    [LPO_CAUTION_NO_LAUNCH] = { "%s of the time of all kernels has no launch record, as when a "
                                "capture begins late: its region and the causes around it are "
                                "unknown." },
    [LPO_CAUTION_UNKNOWN] = { "For %s of the time the GPU was idle for a reason that this trace "
                              "does not show." },
    [LPO_CAUTION_OUTSIDE] = { "%s of the time of all kernels belongs to no marked region",
                              ": mark those parts of the program too." },
    [LPO_CAUTION_LOST] = { "The profiler lost %s records." },
    [LPO_CAUTION_STACKS] = { "%s Python calls were recorded too, as with_stack does, which slows "
                             "the host: without that, the GPU waits for it less than here." },
    [LPO_CAUTION_COUNTED] = { "The profiler read hardware counters of %s kernels, one after "
                              "another, and the program waited for that: these are not the times "
                              "of an ordinary run." },
};

static const char *name(const struct lpo_finding_words *w, uint32_t id)
{
    return lpo_trace_text(w->s->analysis->trace, id);
}

const char *lpo_report_finding_title(const struct lpo_finding_words *w, const struct lpo_finding *f)
{
    const char *title = words[f->kind].title, *hole = strstr(title, "%s");

    return hole ? lpo_arena_printf(w->arena, "%.*s%s%s", (int)(hole - title), title,
                                   f->name == LPO_NONE ? "a call" : name(w, f->name), hole + 2)
                : title;
}

enum framework { TORCH, JAX, NO_FRAMEWORK, FRAMEWORKS };

/* Where the advice depends on what the program is written with. */
static const char *const launch_less[FRAMEWORKS] = {
    [TORCH] = "Launch less: CUDA graphs, torch.compile or larger batches.",
    [JAX] = ("Launch less: more of the program in one jitted function (lax.scan over steps), or "
             "larger batches."),
    [NO_FRAMEWORK] = "Launch less: CUDA graphs, fused kernels or larger batches.",
};
static const char *const fuse[FRAMEWORKS] = {
    [TORCH] = "Fuse them: torch.compile, a fused kernel of a library, or one of your own.",
    [JAX] = "Fuse them: more of the program in one jitted function, or a kernel of your own.",
    [NO_FRAMEWORK] = "Fuse them: a fused kernel of a library, or one of your own.",
};
static const char *const fuse_attention[FRAMEWORKS] = {
    [TORCH] = "Use a fused kernel: scaled_dot_product_attention of PyTorch "
              "(attn_implementation=\"sdpa\" in Transformers) or FlashAttention.",
    [JAX] = "Use a fused kernel: jax.nn.dot_product_attention with implementation=\"cudnn\".",
    [NO_FRAMEWORK] = "Use a fused kernel: FlashAttention, or the attention of cuDNN.",
};

static const char *const merge[FRAMEWORKS] = {
    [TORCH] = "Merge them into larger messages: larger buckets (bucket_cap_mb of "
              "DistributedDataParallel), or one collective for many tensors.",
    [JAX] = "Merge them into larger messages: a higher "
            "xla_gpu_all_reduce_combine_threshold_bytes in XLA_FLAGS, or one collective for many "
            "arrays.",
    [NO_FRAMEWORK] = "Merge them into larger messages: one collective for many tensors.",
};

static bool any_name(const struct lpo_trace *t, const char *a, const char *b)
{
    for (uint32_t i = 0; i < lpo_trace_name_count(t) && i < MOST_NAMES; i++)
        if (strstr(lpo_trace_text(t, i), a) || strstr(lpo_trace_text(t, i), b))
            return true;
    return false;
}

static enum framework framework_of(const struct lpo_finding_words *w)
{
    const struct lpo_trace *t = w ? w->s->analysis->trace : NULL;

    if (!t)
        return TORCH;
    if (any_name(t, "XlaModule", "PJRT_") || any_name(t, "TSL:", "PjitFunction"))
        return JAX;
    return (w->s->what && strstr(w->s->what, "PyTorch")) || any_name(t, "aten::", "at::native::")
               ? TORCH
               : NO_FRAMEWORK;
}

/* Of host work, where the evidence says what most of it is. */
static const char known_work[] =
    "Do that on another thread, do it while the GPU is busy, or not at all.";

/* A tenth of the copying must be saved, where that can be estimated. */
static bool pinned_helps(const struct lpo_finding *f, bool most_is_pageable)
{
    for (size_t i = 0; i < f->nevidence; i++)
        if (f->evidence[i].fact == LPO_FACT_PINNED_SAVES_NS)
            return f->evidence[i].value >= (double)f->saving_ns / 10;
    return most_is_pageable;
}

/* Of host work, by the operator that has most of it; NULL: it does not ask for other advice. */
static const char *operator_advice(const struct lpo_finding_words *w, const char *operator)
{
    if (strstr(operator, "DataLoader"))
        return "Load data ahead of time: worker processes (num_workers) and prefetching.";
    if (lpo_str_starts(operator, "aten::"))
        return "See what that operator does on the host: plans that a library makes for each new "
               "input shape are a usual reason. Fixed shapes or another backend avoid them.";
    if (framework_of(w) == JAX)
        return "The host takes long to start each jitted function: put more of the program into "
               "one (lax.scan over steps), and do not wait for its results in between.";
    /* an operator of the framework belongs where it is */
    return strstr(operator, "::") || strstr(operator, "Backward") ? NULL : known_work;
}

/* Of JAX: what it does to start a function has several names, and none may have most of the time.
 */
static bool starts_jitted(const char *operator)
{
    return strstr(operator, "PJRT_") || strstr(operator, "PjRt") || strstr(operator, "Pjit");
}

static bool has_fact(const struct lpo_finding *f, enum lpo_fact fact)
{
    for (size_t i = 0; i < f->nevidence; i++)
        if (f->evidence[i].fact == fact)
            return true;
    return false;
}

/* Where a fact asks for other advice than its kind of finding does; NULL: it does not. */
static const char *special_advice(const struct lpo_finding_words *w, const struct lpo_finding *f,
                                  const struct lpo_evidence *e)
{
    bool most = e->value > (double)f->saving_ns / 2;

    switch (e->fact) {
    case LPO_FACT_LIMITER:
        return e->value < LPO_LIMITERS ? limiter_advice[(int)e->value] : NULL;
    case LPO_FACT_MESSAGES:
        return merge[framework_of(w)];
    case LPO_FACT_FEW_RANKS:
        return has_fact(f, LPO_FACT_HIDES_NS)
                   ? "Look at traces of the other ranks too: they show how much of it is waiting. "
                     "Send less, or less often: compute more between two messages."
                   : "Look at traces of the other ranks too: they show how much of it is waiting. "
                     "Overlap it with computing (another stream, buckets, an order that starts it "
                     "earlier), or send less.";
    case LPO_FACT_HIDES_NS:
        return f->kind == LPO_FINDING_COPIES
                   ? "Copy less: keep data on the GPU, or move fewer bytes."
                   : "Send less, or less often: compute more between two messages.";
    case LPO_FACT_PAGEABLE_NS:
        if (!pinned_helps(f, most))
            return NULL;
        return has_fact(f, LPO_FACT_HIDES_NS)
                   ? "Copy from pinned host memory, or copy less."
                   : "Copy from pinned host memory, on another stream while the GPU computes, or "
                     "copy less.";
    case LPO_FACT_LAUNCHED_NS:
        return "The call waits for the same thing as the GPU, and that is not in this trace: begin "
               "the capture earlier, and look at other processes and other GPUs.";
    case LPO_FACT_IN_FRAMEWORK:
        return "The host launches more slowly than the GPU works: CUDA graphs, torch.compile or "
               "larger batches; see also whether the CPU is busy with other things.";
    case LPO_FACT_GRAPHS:
        return "Launch less: put more of the work into CUDA graphs, or use larger batches.";
    case LPO_FACT_COMPILED:
        if (f->kind == LPO_FINDING_SMALL_KERNELS || f->kind == LPO_FINDING_UNFUSED)
            return "Fuse them: look for graph breaks that keep torch.compile from it, or use a "
                   "fused kernel of a library or of your own.";
        return "Launch less: CUDA graphs (mode=\"reduce-overhead\" of torch.compile) or larger "
               "batches.";
    case LPO_FACT_NOT_FUSED:
        if (f->kind == LPO_FINDING_SMALL_KERNELS || f->kind == LPO_FINDING_UNFUSED)
            return "Fuse them: torch.compile with its own backend (inductor), or a fused kernel of "
                   "a library or of your own.";
        return "Launch less: torch.compile with its own backend (inductor), CUDA graphs or larger "
               "batches.";
    case LPO_FACT_IN_OPERATOR:
        return (most || starts_jitted(name(w, e->name))) && f->kind == LPO_FINDING_HOST_WORK
                   ? operator_advice(w, name(w, e->name))
                   : NULL;
    case LPO_FACT_IN_PYTHON:
        return most && f->kind == LPO_FINDING_HOST_WORK ? known_work : NULL;
    default:
        return NULL;
    }
}

const char *lpo_report_finding_advice(const struct lpo_finding_words *w,
                                      const struct lpo_finding *f)
{
    for (size_t i = 0; i < f->nevidence; i++) {
        const char *advice = special_advice(w, f, &f->evidence[i]);

        if (advice)
            return advice;
    }
    if (f->kind == LPO_FINDING_LAUNCH_BOUND)
        return launch_less[framework_of(w)];
    if (f->kind == LPO_FINDING_SMALL_KERNELS || f->kind == LPO_FINDING_UNFUSED)
        return fuse[framework_of(w)];
    if (f->kind == LPO_FINDING_MESSAGES)
        return merge[framework_of(w)];
    if (f->kind == LPO_FINDING_ATTENTION)
        return fuse_attention[framework_of(w)];
    return words[f->kind].advice;
}

static const char *device_scope(const struct lpo_finding_words *w, uint16_t device)
{
    return lpo_report_device_scope(w->arena, &w->s->analysis->trace->devices.at[device]);
}

const char *lpo_report_finding_device(const struct lpo_finding_words *w)
{
    return device_scope(w, w->findings->device);
}

const char *lpo_report_finding_where(const struct lpo_finding_words *w, const struct lpo_finding *f)
{
    LPO_STR path = { 0 };

    if (f->node == LPO_NONE)
        return device_scope(w, f->device);
    lpo_region_add_path(w->s->analysis->tree, f->node, &path);
    return lpo_report_findings_keep(w, &path);
}

const char *lpo_report_finding_saving(const struct lpo_finding_words *w,
                                      const struct lpo_finding *f)
{
    return lpo_arena_printf(
        w->arena, "%s %s (%s)", f->estimated ? "about" : "at most",
        lpo_report_findings_duration(w, (double)f->saving_ns),
        lpo_report_findings_percent(w, (double)f->saving_ns / (double)w->findings->span_ns));
}

static const char *several_jobs(const struct lpo_finding_words *w)
{
    static const char *const reasons[] = {
        [LPO_RANKS_ONE_JOB] = "",
        [LPO_RANKS_WORLDS] = "some of them say that their job has %lld ranks, others %lld",
        [LPO_RANKS_GROUPS] = "the group of all ranks has %lld members in some and %lld in others",
        [LPO_RANKS_OVERFULL] = "there is a rank %lld, and a job of %lld ranks",
        [LPO_RANKS_TIMES] = "%lld days or more lie between them",
    };
    struct lpo_ranks_jobs jobs = lpo_ranks_jobs(w->s->analysis->trace);
    LPO_STR s = { 0 };

    lpo_str_addf(&s, reasons[jobs.why], (long long)jobs.a, (long long)jobs.b);
    return lpo_report_findings_keep(w, &s);
}

const char *lpo_report_finding_caution(const struct lpo_finding_words *w,
                                       const struct lpo_caution *c)
{
    const char *text = cautions[c->kind].text, *hole = strstr(text, "%s");
    const char *tail = cautions[c->kind].tail;
    LPO_STR s = { 0 };

    if (c->kind == LPO_CAUTION_FEW && c->evidence[0].value == 0)
        return "No kernel was recorded, only copies and memsets.";
    if (c->kind == LPO_CAUTION_FEW && c->evidence[0].value == 1)
        return "Only one kernel was recorded: too few for firm conclusions.";
    lpo_str_addf(&s, "%.*s%s%s", (int)(hole - text), text,
                 c->kind == LPO_CAUTION_JOBS ? several_jobs(w)
                                             : lpo_report_finding_value(w, &c->evidence[0]),
                 hole + 2);
    for (size_t i = 1; i < c->nevidence; i++)
        lpo_str_addf(&s, "%s%s%s", i == 1 ? " (" : ", ",
                     lpo_report_finding_fact(w, &c->evidence[i]), i + 1 == c->nevidence ? ")" : "");
    lpo_str_add(&s, tail ? tail : "");
    return lpo_report_findings_keep(w, &s);
}
