/* SPDX-License-Identifier: Apache-2.0 */
/* The evidence of findings in words: a row for each fact. */
#include <string.h>

#include "analysis/analysis.h"
#include "analysis/findings/findings.h"
#include "analysis/limits/limits.h"
#include "analysis/power/power.h"
#include "region/cells.h"
#include "report/findings/findings.h"
#include "report/limits/chapter_limits.h"
#include "rundir/rundir.h"
#include "trace/trace.h"
#include "util/arena.h"
#include "util/str.h"
#include "util/units.h"

enum unit { NONE, NS, COUNT, BYTES, RATE, SHARE, MHZ, BOUND, REASONS, WAVES, LIMITER };

static const char *const unit_names[] = {
    [NONE] = NULL,         [NS] = "ns",       [COUNT] = "count", [BYTES] = "bytes",
    [RATE] = "bytes/s",    [SHARE] = "share", [MHZ] = "MHz",     [BOUND] = NULL,
    [REASONS] = "reasons", [WAVES] = "waves", [LIMITER] = NULL
};

enum { SAVING = LPO_FACTS };

/* %v is the value with its unit, %n the name, %s the whole. NULL: the title has it already.
 * `whole` is said in its place where it would repeat a number, because the value is printed like
 * that of fact `of`, or like the saving: %a is "all", or "nearly all" where only the printed digits
 * are the same, %0 "none" or "next to none". Empty: nothing is said then. */
static const struct {
    const char *text;
    enum unit unit;
    const char *whole; /* NULL: the number is said in any case */
    int of;            /* enum lpo_fact, or SAVING */
} facts[LPO_FACTS] = {
    [LPO_FACT_IDLE_NS] = { "the GPU was idle for %v", NS },
    [LPO_FACT_GAPS] = { "gaps: %v", COUNT },
    [LPO_FACT_LONGEST_NS] = { "the longest gap took %v", NS, "the longest gap took %a of it" },
    [LPO_FACT_IN_CALL] = { NULL, NONE },
    [LPO_FACT_IN_OPERATOR] = { "for %v of it the host was in %n", NS,
                               "for %a of it the host was in %n" },
    [LPO_FACT_IN_PYTHON] = { "for %v of it the host was at %n", NS,
                             "for %a of it the host was at %n" },
    [LPO_FACT_IN_FRAMEWORK] = { "for %v of it the host was in operators of the framework", NS,
                                "for %a of it the host was in operators of the framework" },
    [LPO_FACT_LAUNCHED_NS] = { "for %v of it the next work had been launched before that call "
                               "began",
                               NS,
                               "for %a of it the next work had been launched before that call "
                               "began" },
    [LPO_FACT_CALLED_ONCE] = { "that region was called once, so what only a first call costs is in "
                               "it",
                               NONE },
    [LPO_FACT_COMPILED] = { "torch.compile is used already", NONE },
    [LPO_FACT_NOT_FUSED] = { "compiled graphs of PyTorch ran, but no kernel that a compiler fused",
                             NONE },
    [LPO_FACT_GRAPHS] = { "kernels that came from CUDA graphs already: %v", COUNT },
    [LPO_FACT_HIDES_NS] = { "all computing takes %v, too short to hide all of it", NS },
    [LPO_FACT_EXPOSED_NS] = { "computing did not cover %v of that", NS, "%0 of it is hidden",
                              LPO_FACT_ALL_NS },
    [LPO_FACT_SIMULATED_NS] = { "a simulation of the trace without it ends %v sooner: the program "
                                "waits for other things too",
                                NS },
    [LPO_FACT_SHORTER_NS] = { "these kernels would take %v less, but a simulation of the trace "
                              "with that ends only %s sooner: the program waits for other things "
                              "too",
                              NS,
                              "a simulation of the trace with these kernels shorter ends as much "
                              "sooner",
                              SAVING },
    [LPO_FACT_MESSAGES] = { "small collectives one after another: %v", COUNT },
    [LPO_FACT_MESSAGES_IN_STEP] = { "in a step: %v", COUNT },
    [LPO_FACT_MESSAGE_BYTES] = { "half of them send %v or less", BYTES },
    [LPO_FACT_MESSAGE_NS] = { "half of them take %v or less", NS },
    [LPO_FACT_MESSAGES_NS] = { "from the first to the last of a row %v pass in all", NS },
    [LPO_FACT_FEW_RANKS] = { "ranks that were recorded: %v, so waiting for the others is in it",
                             COUNT },
    [LPO_FACT_ALL_NS] = { "%v in all", NS, "", SAVING },
    [LPO_FACT_KERNEL] = { "%n took %v of that", NS, "%a of it is %n", LPO_FACT_ALL_NS },
    [LPO_FACT_SM] = { "the SMs were used to %v of their peak", SHARE },
    [LPO_FACT_DRAM] = { "the memory was used to %v of its peak", SHARE },
    [LPO_FACT_OCCUPANCY] = { "achieved occupancy %v", SHARE },
    [LPO_FACT_TENSOR] = { "the tensor cores worked in %v of the time", SHARE },
    [LPO_FACT_SM_ACTIVE] = { "%v of the SMs had work", SHARE },
    [LPO_FACT_BYTES_TO_DEVICE] = { "%v were copied to the GPU in all", BYTES },
    [LPO_FACT_BYTES_TO_HOST] = { "%v were copied to the host in all", BYTES },
    [LPO_FACT_BYTES_ON_DEVICE] = { "%v were copied from GPU memory to GPU memory in all", BYTES },
    [LPO_FACT_RATE_TO_DEVICE] = { "copies to the GPU ran at %v", RATE },
    [LPO_FACT_RATE_TO_HOST] = { "copies to the host ran at %v", RATE },
    [LPO_FACT_RATE_ON_DEVICE] = { "copies from GPU memory to GPU memory ran at %v", RATE },
    [LPO_FACT_PAGEABLE_NS] = { "copies from or to host memory that is not pinned took %v of that",
                               NS, "%a of it is from or to host memory that is not pinned",
                               LPO_FACT_EXPOSED_NS },
    [LPO_FACT_PINNED_RATE] = { "pinned copies in this trace ran at %v", RATE },
    [LPO_FACT_LINK_RATE] = { "pinned copies usually reach %v on such a GPU", RATE },
    [LPO_FACT_PINNED_SAVES_NS] = { "at that rate pinned memory would save about %v", NS },
    [LPO_FACT_LAUNCHES] = { "kernels: %v", COUNT },
    [LPO_FACT_LOST] = { "%v", COUNT },
    [LPO_FACT_RUNS] = { "runs of them: %v", COUNT },
    [LPO_FACT_SEQUENCE] = { "the most expensive sequence comes %v times and begins with %n",
                            COUNT },
    [LPO_FACT_SEQUENCE_NS] = { "with its gaps it takes %v", NS },
    [LPO_FACT_MAIN_RUN] = { "the run that could save most comes %v times and begins with %n",
                            COUNT },
    [LPO_FACT_MAIN_RUN_LENGTH] = { "kernels in it: %v", COUNT },
    [LPO_FACT_MAIN_RUN_NS] = { "GPU time of all that are like it %v", NS },
    [LPO_FACT_GPU_NS] = { "GPU time %v", NS },
    [LPO_FACT_ATTENTIONS] = { "attention ran as separate kernels %v times", COUNT },
    [LPO_FACT_BETWEEN_NS] = { "softmax and what else stands between the two matrix products took "
                              "%v",
                              NS },
    [LPO_FACT_PRODUCTS_NS] = { "the products themselves took %v", NS },
    [LPO_FACT_LIMIT_NS] = { "the hardware allows %v", NS },
    [LPO_FACT_STEADY] = { "first calls that both leave out: %v", COUNT },
    [LPO_FACT_ROOF] = { "held back by %v", BOUND },
    [LPO_FACT_MEMORY] = { "the memory and its caches were used to %v of their peak", SHARE },
    [LPO_FACT_THEORETICAL] = { "warps fit on an SM up to an occupancy of %v", SHARE },
    [LPO_FACT_LIMITER] = { "what limits them is %v", LIMITER },
    [LPO_FACT_WAVES] = { "its blocks make %v waves", WAVES },
    [LPO_FACT_EQUAL_BLOCKS] = { "the saving takes all blocks to be equally long", NONE },
    [LPO_FACT_TO_ROOF] = { "the saving ends where the SMs are full or one of these peaks is "
                           "reached",
                           NONE },
    [LPO_FACT_FIRST_NS] = { "the first %n took %v", NS },
    [LPO_FACT_LATER_NS] = { "the median of the later ones is %v", NS },
    [LPO_FACT_MEMBER_NS] = { "%n took %v", NS },
    [LPO_FACT_MEMBERS_NS] = { "the median of the later ones, whose names differ from it only in "
                              "numbers, is %v",
                              NS },
    [LPO_FACT_NEW_KERNELS] = { "gaps in which a kernel was launched for the first time: %v",
                               COUNT },
    [LPO_FACT_RANK] = { "rank %v", COUNT },
    [LPO_FACT_RANKS] = { "ranks that were recorded: %v", COUNT },
    [LPO_FACT_RANK_WAIT_NS] = { "%v of that is counted as waiting for the slow rank", NS },
    [LPO_FACT_RANKS_NS] = { "half of them compute for %v or less", NS },
    [LPO_FACT_OTHER_GPUS] = { "other GPUs with the same: %v", COUNT },
    [LPO_FACT_OTHER_NS] = { "there %v", NS },
    [LPO_FACT_OTHER_MIN_NS] = { "there at least %v", NS, "there %v each", LPO_FACT_OTHER_MAX_NS },
    [LPO_FACT_OTHER_MAX_NS] = { "there at most %v", NS, "", LPO_FACT_OTHER_MIN_NS },
    [LPO_FACT_SHARE] = { "%v", SHARE },
    [LPO_FACT_OUTSIDE_OPERATOR] = { "%v under %n", SHARE },
    [LPO_FACT_OUTSIDE_KERNEL] = { "%v in %n", SHARE },
    [LPO_FACT_REPEATS] = { "repeats: %v", COUNT },
    [LPO_FACT_SPAN_NS] = { "%v", NS },
    [LPO_FACT_SLOWED] = { "for %v of the samples", SHARE },
    [LPO_FACT_CLOCK_MHZ] = { "the clock was %v on average while it was slowed", MHZ },
    [LPO_FACT_MAX_CLOCK_MHZ] = { "the highest clock in this run was %v", MHZ },
    [LPO_FACT_REASONS] = { "NVML gave as reason: %v", REASONS },
};

static const char *const limiters[LPO_LIMITERS] = {
    [LPO_LIMITER_REGISTERS] = "the number of registers",
    [LPO_LIMITER_SHARED_MEMORY] = "the shared memory of a block",
    [LPO_LIMITER_BLOCK_SIZE] = "the block size",
};

static void add_value(struct lpo_str *s, enum unit unit, double value)
{
    switch (unit) {
    case NS:
        lpo_units_add_duration(s, (int64_t)value);
        return;
    case COUNT:
        lpo_units_add_count(s, (uint64_t)value);
        return;
    case BYTES:
        lpo_units_add_bytes(s, value);
        return;
    case RATE:
        lpo_units_add_si(s, value, "B/s");
        return;
    case SHARE:
        lpo_units_add_percent(s, 100 * value);
        return;
    case MHZ:
        lpo_str_addf(s, "%.0f MHz", value);
        return;
    case BOUND:
        lpo_str_add(s, lpo_report_limits_bound((int)value));
        return;
    case REASONS:
        lpo_power_throttle_add(s, (uint64_t)value);
        return;
    case WAVES:
        lpo_str_addf(s, "%.2f", value);
        return;
    case LIMITER:
        lpo_str_add(s, value < LPO_LIMITERS ? limiters[(int)value] : "unknown");
        return;
    case NONE:
        return;
    }
}

const char *lpo_report_finding_value(const struct lpo_finding_words *w,
                                     const struct lpo_evidence *e)
{
    LPO_STR s = { 0 };

    add_value(&s, facts[e->fact].unit, e->value);
    return lpo_arena_strdup(w->arena, lpo_str_text(&s));
}

static bool is_kernel(enum lpo_fact fact)
{
    return fact == LPO_FACT_KERNEL || fact == LPO_FACT_OUTSIDE_KERNEL ||
           fact == LPO_FACT_SEQUENCE || fact == LPO_FACT_MAIN_RUN;
}

static const char *fill(const struct lpo_finding_words *w, const struct lpo_evidence *e,
                        const char *text, double whole)
{
    LPO_STR s = { 0 };

    for (const char *at = text; *at; at++) {
        if (at[0] == '%' && at[1] == 'v')
            add_value(&s, facts[e->fact].unit, e->value);
        else if (at[0] == '%' && at[1] == 'n')
            lpo_str_addf(&s, "%.200s",
                         is_kernel(e->fact)
                             ? lpo_region_cells_shown_name(w->s->analysis->cells, e->name)
                             : lpo_trace_text(w->s->analysis->trace, e->name));
        else if (at[0] == '%' && at[1] == 's')
            add_value(&s, NS, whole);
        else if (at[0] == '%' && at[1] == 'a')
            lpo_str_add(&s, e->value == whole ? "all" : "nearly all");
        else if (at[0] == '%' && at[1] == '0')
            lpo_str_add(&s, e->value == whole ? "none" : "next to none");
        else {
            lpo_str_addn(&s, at, 1);
            continue;
        }
        at++;
    }
    return lpo_arena_strdup(w->arena, lpo_str_text(&s));
}

const char *lpo_report_finding_fact(const struct lpo_finding_words *w, const struct lpo_evidence *e)
{
    return fill(w, e, facts[e->fact].text, 0);
}

/* The number that a fact is a part of, and that the reader has seen already: another fact where
 * there is one, else the saving. */
static double whole_of(const struct lpo_finding *f, enum lpo_fact fact)
{
    for (size_t i = 0; i < f->nevidence; i++)
        if ((int)f->evidence[i].fact == facts[fact].of ||
            (fact == LPO_FACT_KERNEL && f->evidence[i].fact == LPO_FACT_GPU_NS))
            return f->evidence[i].value;
    return (double)f->saving_ns;
}

const char *lpo_report_finding_part(const struct lpo_finding_words *w, const struct lpo_finding *f,
                                    const struct lpo_evidence *e)
{
    const char *whole = facts[e->fact].whole;
    LPO_STR part_text = { 0 };
    LPO_STR whole_text = { 0 };
    double ns;

    if (!facts[e->fact].text)
        return NULL;
    if (!whole)
        return lpo_report_finding_fact(w, e);
    ns = whole_of(f, e->fact);
    add_value(&part_text, NS, e->value);
    add_value(&whole_text, NS, ns);
    if (!lpo_streq(lpo_str_text(&part_text), lpo_str_text(&whole_text)))
        return fill(w, e, facts[e->fact].text, ns);
    return *whole ? fill(w, e, whole, ns) : NULL;
}

bool lpo_report_finding_evidence(const struct lpo_finding_words *w, const struct lpo_finding *f,
                                 size_t i, struct lpo_finding_fact *out)
{
    for (size_t k = 0; k < f->nevidence; k++) {
        const struct lpo_evidence *e = &f->evidence[k];
        const char *text = lpo_report_finding_part(w, f, e);

        if (!text || i-- > 0)
            continue;
        out->text = text;
        out->value = e->value;
        out->unit = unit_names[facts[e->fact].unit];
        return true;
    }
    return false;
}
