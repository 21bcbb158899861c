/* SPDX-License-Identifier: Apache-2.0 */
/* What each kind of finding is called and what can be done about it. */
#include <string.h>

#include "analysis/analysis.h"
#include "analysis/findings/findings.h"
#include "analysis/limits/limits.h"
#include "analysis/ranks/jobs.h"
#include "analysis/wall/steady.h"
#include "analysis/wall/timeline.h"
#include "analysis/wall/wall.h"
#include "region/tree.h"
#include "report/findings/findings.h"
#include "report/trace_records.h"
#include "report/traced_facts.h"
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
    [LPO_FINDING_COMMUNICATION] = { "Communication is exposed: nothing is computed meanwhile",
                                    "Overlap it with computing (another stream, buckets, an order "
                                    "that starts it earlier), or send less." },
    [LPO_FINDING_COPIES] = { "Copies are exposed: nothing is computed meanwhile",
                             "Copy less, or copy on another stream while the GPU computes." },
    [LPO_FINDING_ATTENTION] = { "Attention is not fused: its scores are written to memory and "
                                "read again",
                                NULL }, /* fuse_attention */
    [LPO_FINDING_UNFUSED] = { "Runs of element-wise kernels pass each result through memory",
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

static const char *keep(const struct lpo_finding_words *w, const struct lpo_str *s)
{
    return lpo_arena_strdup(w->arena, lpo_str_text(s));
}

static const char *duration(const struct lpo_finding_words *w, double ns)
{
    LPO_STR s = { 0 };

    lpo_units_add_duration(&s, (int64_t)ns);
    return keep(w, &s);
}

static const char *percent(const struct lpo_finding_words *w, double share)
{
    LPO_STR s = { 0 };

    lpo_units_add_percent(&s, 100 * share);
    return keep(w, &s);
}

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
    case LPO_FACT_IN_OPERATOR:
        return most && f->kind == LPO_FINDING_HOST_WORK ? operator_advice(w, name(w, e->name))
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
    return keep(w, &path);
}

const char *lpo_report_finding_saving(const struct lpo_finding_words *w,
                                      const struct lpo_finding *f)
{
    return lpo_arena_printf(w->arena, "%s %s (%s)", f->estimated ? "about" : "at most",
                            duration(w, (double)f->saving_ns),
                            percent(w, (double)f->saving_ns / (double)w->findings->span_ns));
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
    return keep(w, &s);
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
    return keep(w, &s);
}

#define KERNELS_UNKNOWN                                                                            \
    " Whether its kernels could be faster is not known without hardware counters or a model to "   \
    "compare them with (report.needs)."

/* Several reasons together may take what none of them takes alone. */
static bool is_idle(const struct lpo_source *s)
{
    const struct lpo_wall_device *d = &lpo_analysis_steady(s->analysis)->wall->devices.at[0];

    return d->idle_ns > d->span_ns / 50;
}

/* From its start to its end a GPU operation waits for nothing. */
static bool is_one_operation(const struct lpo_source *s, const struct lpo_findings *f)
{
    const struct lpo_trace *t = s->analysis->trace;
    size_t n = 0;

    for (size_t i = 0; i < t->gpu_ops.len && n < 2; i++)
        n += t->gpu_ops.at[i].device == f->device;
    return n == 1;
}

const char *lpo_report_finding_none(const struct lpo_source *s, const struct lpo_findings *f)
{
    const struct lpo_trace *t = s->analysis->trace;

    if (f->all.len)
        return "Every saving that was found is smaller than the difference between repeats.";
    for (size_t i = 0; i < f->cautions.len; i++)
        if (f->cautions.at[i].kind == LPO_CAUTION_UNKNOWN)
            return lpo_analysis_steady(s->analysis)->wall->no_calls
                       ? "Why the GPU was idle is not in this trace, so what could be saved is not "
                         "known: nsys, the PyTorch profiler and lpo run since version 0.2 record "
                         "what the host does."
                       : "Why the GPU was idle is not in this trace, so what could be saved is not "
                         "known: work without a launch record ended the gaps. Begin the capture "
                         "earlier.";
    if (f->any_device && (f->kernels_judged || f->compute_ns < f->span_ns / 2))
        return "Nothing was found that takes 2 % of the wall time and could be saved.";
    if (f->any_device && is_one_operation(s, f))
        return "With one GPU operation there is no time between two of them, so what the GPU waits "
               "for is not known.";
    if (f->any_device && is_idle(s))
        return "The GPU was idle for more than 2 % of the wall time, but no single finding would "
               "save that much." KERNELS_UNKNOWN;
    if (f->any_device)
        return "The GPU waits for nothing that takes 2 % of the wall time." KERNELS_UNKNOWN;
    if (lpo_report_is_replay(t))
        return "Nsight Compute runs each kernel alone and repeats it, so the wall time of the "
               "program, and what of it could be saved, is not known.";
    if (t->summaries.len)
        return "The file holds sums, and not when each kernel ran, so what could be saved of the "
               "wall time is not known.";
    return t->gpu_ops.len ? "When GPU operations ran was not recorded, so what could be saved of "
                            "the wall time is not known."
                          : "No GPU operation was recorded, so what a GPU could save is not known.";
}

const char *lpo_report_finding_kernels(const struct lpo_finding_words *w)
{
    const struct lpo_findings *f = w->findings;

    if (!f->any_device || !f->compute_ns || f->kernels_slack_ns > f->compute_ns / 2)
        return NULL;
    for (size_t i = 0; i < f->cautions.len; i++)
        if (f->cautions.at[i].kind == LPO_CAUTION_NO_LAUNCH)
            return NULL;
    if (!w->s->analysis->trace->launches.len)
        return NULL;
    if (!f->kernels_slack_ns)
        return lpo_arena_printf(w->arena,
                                "Faster kernels would save nothing of %s of computing: the program "
                                "would wait for its host instead.",
                                duration(w, (double)f->compute_ns));
    return lpo_arena_printf(w->arena,
                            "Of %s of computing, faster kernels could save %s at most: for the "
                            "rest, the next operation was launched too late, or other work ran "
                            "beside it.",
                            duration(w, (double)f->compute_ns),
                            duration(w, (double)f->kernels_slack_ns));
}

const char *lpo_report_finding_masked(const struct lpo_finding_words *w, size_t i)
{
    static const struct {
        const char *text;
        enum lpo_finding_kind kind;
    } what[] = { { "Communication runs", LPO_FINDING_COMMUNICATION },
                 { "Copies run", LPO_FINDING_COPIES } };
    const struct lpo_findings *f = w->findings;
    const struct lpo_findings_masked *m = &f->masked[i];

    if (!m->exposed_ns)
        return NULL;
    for (size_t k = 0; k < f->all.len; k++) /* what is left of it is a finding */
        if (f->all.at[k].kind == what[i].kind)
            return NULL;
    return lpo_arena_printf(w->arena,
                            "%s alone for %s (%s), but without that the program would %s, by a "
                            "simulation of the trace: it would wait for its host instead. No "
                            "finding counts it.",
                            what[i].text, duration(w, (double)m->exposed_ns),
                            percent(w, (double)m->exposed_ns / (double)f->span_ns),
                            m->saving_ns ? lpo_arena_printf(w->arena, "end only %s sooner",
                                                            duration(w, (double)m->saving_ns))
                                         : "not end sooner");
}

bool lpo_report_finding_between(const struct lpo_findings *f, const struct lpo_wall_device *d)
{
    uint64_t gaps = d->idle[LPO_IDLE_QUEUED].count + f->submitted_gaps;
    int64_t ns = d->idle[LPO_IDLE_QUEUED].ns + f->submitted_ns;

    return gaps && ns / (int64_t)gaps < LPO_DEPENDENCY_NS;
}

const char *lpo_report_finding_queued(const struct lpo_finding_words *w)
{
    const struct lpo_wall_device *d;
    uint64_t gaps;
    int64_t ns;

    if (!w->findings->any_device)
        return NULL;
    d = &lpo_analysis_steady(w->s->analysis)->wall->devices.at[0];
    ns = d->idle[LPO_IDLE_QUEUED].ns + w->findings->submitted_ns;
    gaps = d->idle[LPO_IDLE_QUEUED].count + w->findings->submitted_gaps;
    if (ns < d->span_ns / 20 || !gaps)
        return NULL;
    if (lpo_report_finding_between(w->findings, d))
        return lpo_arena_printf(w->arena,
                                "For %s (%s) the GPU was idle although its next work had been "
                                "launched, for %s on average: a GPU needs a few microseconds from "
                                "one operation to the next. Fewer and larger kernels need less of "
                                "that. No finding counts it.",
                                duration(w, (double)ns),
                                percent(w, (double)ns / (double)d->span_ns),
                                duration(w, (double)ns / (double)gaps));
    return lpo_arena_printf(w->arena,
                            "For %s (%s) the GPU was idle although its next work had been "
                            "launched, and none of its streams was busy: it waited for something "
                            "that is not in this trace, such as work of another GPU or "
                            "process, or records are missing. No finding counts that.",
                            duration(w, (double)ns), percent(w, (double)ns / (double)d->span_ns));
}

size_t lpo_report_finding_remarks(const struct lpo_finding_words *w,
                                  const char *out[LPO_FINDING_REMARKS])
{
    const char *all[LPO_FINDING_REMARKS] = { lpo_report_finding_masked(w, 0),
                                             lpo_report_finding_masked(w, 1),
                                             lpo_report_finding_queued(w),
                                             lpo_report_finding_kernels(w) };
    size_t n = 0;

    for (size_t i = 0; i < LPO_FINDING_REMARKS; i++)
        if (all[i])
            out[n++] = all[i];
    return n;
}

/* "the GPU"; of several, which: "GPU 0 of rank 3, the one of 8 with the longest span,". */
static const char *gpu(const struct lpo_finding_words *w, size_t devices)
{
    const struct lpo_device *d = &w->s->analysis->trace->devices.at[w->findings->device];
    const char *rank = d->rank >= 0 ? lpo_arena_printf(w->arena, " of rank %d", d->rank) : "";

    if (devices == 1)
        return d->rank >= 0 ? lpo_arena_printf(w->arena, "GPU %d%s", d->id, rank) : "the GPU";
    return lpo_arena_printf(w->arena, "GPU %d%s, of %zu the one with the longest span,", d->id,
                            rank, devices);
}

const char *lpo_report_finding_verdict(const struct lpo_finding_words *w)
{
    const struct lpo_wall *wall;
    const struct lpo_wall_device *d;
    LPO_STR s = { 0 };

    if (!w->findings->any_device)
        return NULL;
    wall = lpo_analysis_steady(w->s->analysis)->wall;
    d = &wall->devices.at[0];
    if (d->parts_unknown) { /* communication inside graphs that were timed as a whole */
        lpo_str_addf(&s, "Of %s, %s was busy for %s and idle for %s.",
                     duration(w, (double)d->span_ns), gpu(w, wall->devices.len),
                     percent(w, 1 - (double)d->idle_ns / (double)d->span_ns),
                     percent(w, (double)d->idle_ns / (double)d->span_ns));
        return keep(w, &s);
    }
    lpo_str_addf(&s, "Of %s, %s computed for %s", duration(w, (double)d->span_ns),
                 gpu(w, wall->devices.len), percent(w, (double)d->compute_ns / (double)d->span_ns));
    if (d->exposed_communication_ns > 0)
        lpo_str_addf(&s, ", communicated alone for %s",
                     percent(w, (double)d->exposed_communication_ns / (double)d->span_ns));
    if (d->exposed_copy_ns > d->span_ns / 100)
        lpo_str_addf(&s, ", copied alone for %s",
                     percent(w, (double)d->exposed_copy_ns / (double)d->span_ns));
    lpo_str_addf(&s, " and was idle for %s.", percent(w, (double)d->idle_ns / (double)d->span_ns));
    return keep(w, &s);
}
