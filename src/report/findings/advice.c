/* SPDX-License-Identifier: Apache-2.0 */
/* What can be done about each kind of rung, in words of the framework that ran: a program without
 * PyTorch has no .item() and no torch.compile. */

#include "analysis/analysis.h"
#include "analysis/counters/kernel_profile.h"
#include "analysis/frameworks.h"
#include "analysis/ladder/ladder.h"
#include "analysis/memory/memory.h"
#include "report/findings/findings.h"
#include "rules/rules.h"
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
};

static const char *const frameworks[] = { "torch", "vllm",  "sglang", "trtllm", "llama",
                                          "jax",   "plain", "amd",    NULL };

/* Facts that a row may ask for. */
static const char *const facts[] = { "ANY", LPO_FACT_LIST(LPO_FACT_NAME) NULL };

/* conf/rules/findings.yaml; the first row that fits. */
struct advice {
    int rung;
    unsigned framework; /* 0: any */
    int fact;           /* 0: any; else above that of enum lpo_fact */
    const char *text;   /* NULL: roof_advice() */
};

static const struct lpo_rules_member members[] = {
    { "rung", offsetof(struct advice, rung), LPO_RULES_INT, lpo_ladder_ids, NULL },
    { "for", offsetof(struct advice, framework), LPO_RULES_SET, frameworks, NULL },
    { "fact", offsetof(struct advice, fact), LPO_RULES_INT, facts, NULL },
    { "say", offsetof(struct advice, text), LPO_RULES_TEXT, NULL, NULL },
};
static struct lpo_rules_table table = LPO_RULES_TABLE("findings", "advice", members, advice);

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
    unsigned framework = (unsigned)framework_of(w);
    size_t count;
    const struct advice *all = lpo_rules_rows(&table, &count);

    if (r->kind == LPO_RUNG_HOST && host_advice(w, r))
        return host_advice(w, r);
    for (size_t i = 0; i < count; i++)
        if (all[i].rung == (int)r->kind && (!all[i].framework || all[i].framework & framework) &&
            (!all[i].fact || lpo_report_find_fact(r, (enum lpo_fact)(all[i].fact - 1))))
            return all[i].text ? all[i].text : roof_advice(r);
    return r->kind == LPO_RUNG_REFUSED  ? after_refusal(r)
           : r->kind == LPO_RUNG_MEMORY ? peak_advice(w, r)
                                        : kernel_advice(r);
}
