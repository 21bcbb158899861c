/* SPDX-License-Identifier: Apache-2.0 */
/* The evidence of rungs: a sentence for each fact. */

#include "analysis/analysis.h"
#include "analysis/counters/kernel_profile.h"
#include "analysis/ladder/ladder.h"
#include "analysis/memory/memory.h"
#include "analysis/power/power.h"
#include "report/chapters/chapters.h"
#include "report/findings/findings.h"
#include "rundir/rundir.h"
#include "util/units.h"

/* %1t is the first number as a time; c: a count, p: a share, b: bytes, r: bytes a second, f:
 * FLOP/s, F: FLOPs, g: as it is. %n the name, %k the name of a kernel, %s the first sentence of a
 * message. What stands in {1…} is said where the first number is more than 0; a ~ is the s of a
 * plural, a ^ its es. */
static const char *const sentences[LPO_FACTS] = {
    [LPO_FACT_HOST_TIME] =
        "The launching thread spends %1t of the window in %n ({2%2c time~, }at most "
        "%3t at a time), while the GPU runs out of work.",
    [LPO_FACT_STEPS] = "It is in %1c of %2c steps, %3t in each of them.",
    [LPO_FACT_OPERATOR] = NULL, /* the title says it */
    [LPO_FACT_INSIDE] = "%1t of it is in %n.",
    [LPO_FACT_WAITS] = "%n is called %1c time~ and takes %2t in all.",
    [LPO_FACT_WAITS_BYTES] = "Each copies at most %1b.",
    [LPO_FACT_LAUNCHES] = "%1c launch^ cost the host %2t each, and a GPU operation takes %3t on "
                          "average.",
    [LPO_FACT_GRAPHS] = "%1c of %2c kernels come from CUDA graphs already.",
    [LPO_FACT_MOST_LAUNCHES] = "Most of the launching is in %n: %1t.",
    [LPO_FACT_COMPILED] = "torch.compile is used already.",
    [LPO_FACT_FIRST] = "The first %n takes %1t; the median of the later ones is %2t.",
    [LPO_FACT_KERNELS] = "%1c kernels take %2t of GPU time, %3p of the window.",
    [LPO_FACT_KERNEL] = "The most expensive of them is %k (%1t).",
    [LPO_FACT_EXPOSED] = "It takes %1t in all; for %2t of that nothing was computed.",
    [LPO_FACT_CANNOT_HIDE] = "The GPU computes for only %1t, so overlap cannot hide it: the saving "
                             "is without these copies, the data kept on the GPU.",
    [LPO_FACT_STREAM] = "Stream %1g has %2c kernels that compute and %3c collectives: they run one "
                        "after another.",
    [LPO_FACT_MESSAGES] = "%1c small collectives follow each other with nothing computed between "
                          "them, {2%2c in a step}{3, none larger than %3b}.",
    [LPO_FACT_RATE] = "%1b were copied at %2r.",
    [LPO_FACT_PINNED_RATE] = "Pinned copies in this trace run at %1r.",
    [LPO_FACT_LINK_RATE] = "Pinned copies usually reach %1r on such a GPU.",
    [LPO_FACT_ATTENTIONS] = "Attention runs as separate kernels %1c times: what stands between the "
                            "two matrix products takes %2t, the products %3t.",
    [LPO_FACT_FUSED] = "In one kernel that neither writes nor reads scores, the products take "
                       "about %1t, by their FLOPs and what such kernels usually reach.",
    [LPO_FACT_RUNS] = "They stand in %1c run~ of three and more.",
    [LPO_FACT_FP32] = "{1They reach %1f. }{2The tensor cores of this GPU allow %2f in 16 bit. }The "
                      "saving assumes %3g times the rate.",
    [LPO_FACT_SIBLINGS] = "Equal ones elsewhere would take %3t.",
    [LPO_FACT_ROOF] = "It reaches %1p of the roof; %2p to %3p is usual.",
    [LPO_FACT_BEST] = "Such a kernel was measured at %1t on this GPU (within %2p); here it takes "
                      "%3t.",
    [LPO_FACT_BEST_RATE] =
        "%n reaches a bus bandwidth of %2r with %1b where it is fastest; NCCL was "
        "measured at %3r between such GPUs of one node.",
    [LPO_FACT_OTHER_RATE] =
        "%n reaches a bus bandwidth of %2r with %1b where it is fastest; %3r is possible by the "
        "rates of the links and NCCL as measured between as many H200.",
    [LPO_FACT_BEST_REGION] = "Its kernels, each as measured best on this GPU, take %1t.",
    [LPO_FACT_COMPUTES] = "A call computes %1F{2, %2g for each byte that it must move}.",
    [LPO_FACT_MOVES] = "A call must move %1b at least.",
    [LPO_FACT_ROOF_CALLS] = "%1c call~: %2t of GPU time, %3p of the window.",
    [LPO_FACT_FEW_TILES] = "The result has %1c tiles of 128 x 128 for %2c SMs: most of the GPU has "
                           "nothing to do while each tile adds up %3c products.",
    [LPO_FACT_ODD_SIDE] =
        "A side of %1c is no multiple of 8: the last tile of %2c is nearly empty, "
        "or the fast kernels cannot be used.",
    [LPO_FACT_SKINNY] = NULL, /* fill_skinny */
    [LPO_FACT_SHORT_SIDE] = "The inner side is only %1c: too few products for each byte.",
    [LPO_FACT_DEPTHWISE] = "It is a depthwise convolution (%1c groups of %2c channels): hardly any "
                           "FLOPs for each byte, so memory is its roof.",
    [LPO_FACT_LARGE_HEADS] = "Heads of %1c are large: they force small tiles and few warps.",
    [LPO_FACT_FEW_BLOCKS] =
        "%3c queries a head make %1c blocks of 128 for %2c SMs: most of the GPU "
        "has nothing to do.",
    [LPO_FACT_FEW_TOKENS] =
        "%1c tokens go to %2c experts, %3g tokens an expert: the time goes into "
        "reading weights.",
    [LPO_FACT_LIMIT] =
        "It takes %1t of GPU time; the hardware allows %2t{3; %3c first call is left out of both}.",
    [LPO_FACT_COUNTERS] =
        "The SMs are used to %1p of their peak, the memory and its caches to %2p.",
    [LPO_FACT_WAVES] = "Its blocks make %1g waves; the saving takes all blocks to be equally long.",
    [LPO_FACT_GRID] = "It has %1c block~ for %2c SMs: the other SMs are idle. The saving takes the "
                      "work to be spread over half of the SMs, which can be enough to reach the "
                      "memory bandwidth.",
    [LPO_FACT_LIMITER] = NULL, /* fill_limiter */
    [LPO_FACT_AGAIN] =
        "%1c kernels of the forward pass run a second time in the backward pass: %2t.",
    [LPO_FACT_CLOCK] = "In %1p of the samples the clock was held down, to %2i MHz of %3i MHz.",
    [LPO_FACT_RANK] = "It takes %2t longer than the ranks that do the same, %3t in all.",
    [LPO_FACT_RANK_KERNEL] = "%k takes %1t there and %2t on the others.",
    [LPO_FACT_GROUP] = "The group has %2c ranks{1, the first of them %1g}.",
    [LPO_FACT_LINK] = "A message of %1b takes %2t there and %3t on other groups.",
    [LPO_FACT_BUBBLES] = "A rank waits %1t for what others send it, on average.",
    [LPO_FACT_FEW_RANKS] =
        "Only %1c of %2c ranks was recorded, so waiting for the others is in it.",
    [LPO_FACT_BOUND] =
        "What %1p of the window waited for is not in the trace: the saving is an upper "
        "bound.",
    [LPO_FACT_REFUSED] = NULL, /* the title says it */
    [LPO_FACT_HELD] = "%1b were allocated then, %2b reserved{3; the GPU had %3b left}.",
    [LPO_FACT_PEAK] = "The peak is %1b{2 allocated, %2b reserved}.",
    [LPO_FACT_FRAGMENTS] = "%1b were reserved, and %2b of that were not in use at the peak.",
    [LPO_FACT_KERNEL_TIME] = "Launched %1c time~: %2t in all, %3p of the time of all kernels.",
    [LPO_FACT_LEVELS] = "The L1 cache is at %1p of its peak, L2 at %2p, DRAM at %3p.",
    [LPO_FACT_SCATTERED] =
        "Only L1 is busy: threads of a warp read addresses that lie apart, so that a load takes "
        "many transactions, or each value is read from there many times.",
    [LPO_FACT_FEW_WAVES] = "Its blocks fill %1g of one wave: part of the SMs has none.",
    [LPO_FACT_RULE] = "ncu expects up to %1p: %s",
    [LPO_FACT_ALONE_LESS] = "By itself it would save only %1t: it needs the changes before it.",
    [LPO_FACT_ALONE_MORE] = "By itself it would save %1t: the changes before it save part of that.",
    [LPO_FACT_VALUE] = "%1g",
};

static void add_number(struct lpo_str *s, char unit, double v)
{
    switch (unit) {
    case 't':
        lpo_units_add_duration(s, (int64_t)v);
        return;
    case 'c':
        lpo_units_add_count(s, v > 0 ? (uint64_t)v : 0);
        return;
    case 'p':
        lpo_units_add_percent(s, 100 * v);
        return;
    case 'b':
        lpo_units_add_bytes(s, v);
        return;
    case 'r':
        lpo_units_add_si(s, v, "B/s");
        return;
    case 'f':
        lpo_units_add_si(s, v, "FLOP/s");
        return;
    case 'F':
        lpo_units_add_si(s, v, "FLOP");
        return;
    case 'i':
        lpo_str_addf(s, "%.0f", v);
        return;
    default:
        lpo_str_addf(s, "%.3g", v);
    }
}

static void add_sentence(struct lpo_str *s, const char *text)
{
    const char *end = strstr(text, ". ");

    lpo_str_addf(s, "%.*s", end && end - text < 400 ? (int)(end - text) + 1 : 400, text);
}

static const char *fill(const struct lpo_ladder_words *w, const struct lpo_evidence *e,
                        const char *text)
{
    LPO_STR s = { 0 };
    double last = 0; /* number */

    for (const char *at = text; *at; at++) {
        if (at[0] == '~') {
            lpo_str_add(&s, last == 1 ? "" : "s");
        } else if (at[0] == '^') {
            lpo_str_add(&s, last == 1 ? "" : "es");
        } else if (at[0] == '%' && at[1] == 's') {
            add_sentence(&s, lpo_trace_text(w->s->analysis->trace, e->name));
            at++;
        } else if (at[0] == '{') {
            const char *end = strchr(at, '}');

            if (!(e->value[at[1] - '1'] > 0))
                at = end;
            else
                at++;
        } else if (at[0] == '%' && at[1] == 'n') {
            lpo_str_addf(&s, "%.200s", lpo_report_plain_name(w, e->name));
            at++;
        } else if (at[0] == '%' && at[1] == 'k') {
            lpo_str_addf(&s, "%.200s", lpo_region_cells_shown_name(w->s->analysis->cells, e->name));
            at++;
        } else if (at[0] == '%') {
            last = e->value[at[1] - '1'];
            add_number(&s, at[2], last);
            at += 2;
        } else if (at[0] != '}') {
            lpo_str_addn(&s, at, 1);
        }
    }
    return lpo_arena_strdup(w->arena, lpo_str_text(&s));
}

static const char *fill_limiter(const struct lpo_ladder_words *w, const struct lpo_evidence *e)
{
    static const char *const limiters[LPO_LIMITERS] = { "registers", "shared memory",
                                                        "the block size" };
    struct lpo_evidence x = *e;

    x.value[0] = e->value[1];
    return fill(w, &x,
                lpo_arena_printf(w->arena,
                                 "What keeps more blocks from an SM is %s: warps fit up to an "
                                 "occupancy of %%1p.",
                                 e->value[0] < LPO_LIMITERS ? limiters[(int)e->value[0]] : "?"));
}

/* How much of a tile of 128 such a side fills, and whether the bytes or the FLOPs are the roof. */
static const char *fill_skinny(const struct lpo_ladder_words *w, const struct lpo_evidence *e)
{
    double low = fmin(e->value[0], e->value[1]);

    return fill(w, e,
                lpo_arena_printf(w->arena,
                                 "The product is tall and skinny (%%1c x %%2c, K %%3c): its short "
                                 "side of %.0f fills %s.",
                                 low,
                                 low > 48   ? "half of a tile of 128"
                                 : low > 24 ? "a quarter of a tile of 128"
                                            : "hardly anything of a tile of 128"));
}

/* Rows of the memory chapter: of the allocator that the first fact names. */
static const char *fill_holder(const struct lpo_ladder_words *w, const struct lpo_evidence *e)
{
    const struct lpo_memory_peaks *p = lpo_analysis_memory(w->s->analysis);
    const struct lpo_memory_share *x = NULL;
    const char *op, *place;

    for (size_t i = 0; i < p->rows.len && !x; i++)
        if (e->name < p->rows.at[i].owners.len &&
            (double)p->rows.at[i].owners.at[e->name].bytes == e->value[0])
            x = &p->rows.at[i].owners.at[e->name];
    if (!x)
        return NULL;
    op = x->op == LPO_NONE ? NULL : lpo_trace_text(w->s->analysis->trace, x->op);
    place = x->place;
    return fill(w, e,
                lpo_arena_printf(w->arena, "%s%s%.200s%s holds %%1b of it (%%2p) in %%3c blocks.",
                                 place ? place
                                 : op  ? ""
                                       : "An unknown place",
                                 place && op ? " (" : "", op ? op : "", place && op ? ")" : ""));
}

/* By number, not by name: what the second and third number are is the same for all of them. */
static const char *fill_code(const struct lpo_ladder_words *w, const struct lpo_evidence *e)
{
    static const char *const bounds[] = {
        [LPO_BOUND_UNKNOWN] = NULL,
        [LPO_BOUND_LATENCY] = "It waits: the SMs are at %1p, the memory at %2p of their peaks.",
        [LPO_BOUND_BALANCED] = "Computing and memory limit it alike: the SMs are at %1p, the "
                               "memory at %2p of their peaks.",
        [LPO_BOUND_MEMORY] = "Memory limits it: at %2p of its peak, the SMs at %1p.",
        [LPO_BOUND_COMPUTE] = "Computing limits it: the SMs at %1p of their peak, the memory at "
                              "%2p.",
    };

    if (e->fact == LPO_FACT_BOUND_BY)
        return bounds[e->name] ? fill(w, e, bounds[e->name]) : NULL;
    return fill(w, e,
                lpo_arena_printf(w->arena, "%s: %%1b (%%2p) in %%3c blocks, estimated.",
                                 lpo_memory_category_name((enum lpo_memory_category)e->name)));
}

/* Arguments that are no tensors stand at the end of most operators as "[]". */
static const char *fill_shape(const struct lpo_ladder_words *w, const struct lpo_evidence *e)
{
    const char *text = lpo_trace_text(w->s->analysis->trace, e->name);
    size_t n = strlen(text);
    const char *end = n && text[n - 1] == ']' ? "]" : "";

    for (n -= strlen(end); n > 3 && !strncmp(text + n - 3, ",[]", 3);)
        n -= 3;
    return lpo_arena_printf(w->arena, "Its input shapes are %.*s%s.", (int)(n < 200 ? n : 200),
                            text, end);
}

const char *lpo_report_rung_fact(const struct lpo_ladder_words *w, const struct lpo_evidence *e)
{
    if (e->fact == LPO_FACT_SHAPE)
        return fill_shape(w, e);
    if (e->fact == LPO_FACT_LIMITER)
        return fill_limiter(w, e);
    if (e->fact == LPO_FACT_HOST_TIME && e->name == LPO_NONE)
        return fill(w, e,
                    "The launching thread spends %1t of the window in it ({2%2c time~, }at "
                    "most %3t at a time), while the GPU runs out of work.");
    if (e->fact == LPO_FACT_SKINNY)
        return fill_skinny(w, e);
    if (e->fact == LPO_FACT_REASONS) {
        LPO_STR s = { 0 };

        lpo_power_throttle_add(&s, (uint64_t)e->value[0]);
        return lpo_arena_printf(w->arena, "The reason that NVML gives: %s.", lpo_str_text(&s));
    }
    if (e->fact == LPO_FACT_HOLDER)
        return fill_holder(w, e);
    if (e->fact == LPO_FACT_BOUND_BY || e->fact == LPO_FACT_ROLE)
        return fill_code(w, e);
    if (e->fact == LPO_FACT_FLIGHT)
        return lpo_report_flight_sentence(w->arena, w->s->analysis, (size_t)e->value[0],
                                          (int)e->value[1]);
    if (e->fact == LPO_FACT_EXPOSED && e->value[1] > 0.99 * e->value[0])
        return fill(w, e, "It takes %1t, and nothing was computed meanwhile.");
    if (e->fact == LPO_FACT_ROOF)
        return fill(w, e,
                    e->name ? "It reaches %1p of the memory bandwidth; %2p to %3p is usual."
                            : "It reaches %1p of the compute roof; %2p to %3p is usual.");
    return sentences[e->fact] ? fill(w, e, sentences[e->fact]) : NULL;
}
