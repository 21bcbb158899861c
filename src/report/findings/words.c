/* SPDX-License-Identifier: Apache-2.0 */
/* What each kind of rung is called, where it is, and what can be done about it. */

#include "analysis/analysis.h"
#include "analysis/counters/kernel_profile.h"
#include "analysis/ladder/ladder.h"
#include "analysis/memory/memory.h"
#include "analysis/ranks/jobs.h"
#include "report/chapters/chapters.h"
#include "report/findings/findings.h"
#include "report/trace_records.h"
#include "rundir/belonging.h"
#include "rundir/rundir.h"
#include "util/path.h"
#include "util/units.h"

/* %n is the name of the rung; %r the rank, %k the name of a kernel. NULL: it is put together. */
static const char *const titles[LPO_RUNG_KINDS] = {
    [LPO_RUNG_BLOCKED] = "The host waits for the GPU in %n and launches nothing meanwhile",
    [LPO_RUNG_DATA] = "The GPU waits for data: %n",
    [LPO_RUNG_HOST] = "The launching thread does other work: %n",
    [LPO_RUNG_PAUSE] = "The launching thread pauses now and then: %n",
    [LPO_RUNG_COMPILE] = "Code is compiled or tuned again in steady steps: %n",
    [LPO_RUNG_FIRST] = "First calls are in the measured time: %n",
    [LPO_RUNG_ALLOCATOR] = "Memory is allocated and freed on the way: %n",
    [LPO_RUNG_LAUNCH] = "The host launches more slowly than the GPU works",
    [LPO_RUNG_COMMUNICATION] = "Communication is exposed: nothing is computed meanwhile",
    [LPO_RUNG_SAME_STREAM] =
        "Communication runs on the stream of the computing, so it cannot overlap",
    [LPO_RUNG_MESSAGES] = "Many small collectives run one after another",
    [LPO_RUNG_PAGEABLE] = "Copies use host memory that is not pinned",
    [LPO_RUNG_COPIES] = "Copies are exposed: nothing is computed meanwhile",
    [LPO_RUNG_LAYOUT] = "Kernels only copy, cast or change the layout: %n",
    [LPO_RUNG_ATTENTION] =
        "Attention is not fused: its scores are written to memory and read again",
    [LPO_RUNG_FUSE] = "Runs of element-wise kernels pass each result through memory",
    [LPO_RUNG_FP32] = "Matrix products run in fp32 without tensor cores",
    [LPO_RUNG_SIBLING] = "%n is slower than the others of its kind",
    [LPO_RUNG_COLLECTIVE] = "A collective is slower than NCCL is elsewhere",
    [LPO_RUNG_REGION] = "Kernels take longer than the hardware needs",
    [LPO_RUNG_TAIL] = "The last wave of blocks leaves part of the GPU idle",
    [LPO_RUNG_OCCUPANCY] = "Kernels wait, and few warps fit on an SM to hide that",
    [LPO_RUNG_GRID] = "Kernels have too few blocks to fill the GPU: %k",
    [LPO_RUNG_RECOMPUTATION] = "Forward work is done again in the backward pass",
    [LPO_RUNG_THROTTLING] = "The GPU was slowed down",
    [LPO_RUNG_RANK] = "Rank %r computes longer than the others%k",
    [LPO_RUNG_RANK_HOST] = "Rank %r is late because its host is, and the others wait for it%n",
    [LPO_RUNG_RANK_PAUSE] = "Rank %r pauses once, and the others wait for it%n",
    [LPO_RUNG_LINK] =
        "One group of ranks sends more slowly than the others: rank %r and those with it",
    [LPO_RUNG_EXPERTS] = "Rank %r has more work for its experts than the others%k",
    [LPO_RUNG_BUBBLES] = "Stages of the pipeline wait for each other",
    [LPO_RUNG_RANKS_UNEVEN] = "The ranks wait for each other, each time for another one",
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
                              "another, and the program waited for that: these are not the times "
                              "of an ordinary run.",
                              'c' },
    [LPO_CAUTION_EARLIER] = { "The host waits %s for work that was launched before the capture "
                              "began: that is no saving.",
                              't' },
    [LPO_CAUTION_BUSY] = { "For the first %s the GPU was busy with work that was launched before "
                           "the capture began; it is left out of the window.",
                           't' },
    [LPO_CAUTION_GRAPH_NODES] = { "For %s of the window a CUDA graph runs and none of its nodes "
                                  "was recorded: kernels are missing from the trace, or the "
                                  "graph waits for other GPUs.",
                                  'p' },
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

const char *lpo_report_plain_name(const struct lpo_ladder_words *w, uint32_t name)
{
    const char *text = lpo_trace_text(trace_of(w), name), *at = strstr(text, " object at 0x");
    size_t n = strlen(text), digits = 0;

    if (at)
        return lpo_arena_printf(w->arena, "%.*s%s", (int)(at - text), text, at + strcspn(at, ">"));
    while (digits < n && text[n - 1 - digits] >= '0' && text[n - 1 - digits] <= '9')
        digits++;
    if (digits >= 4 && n > digits + 2 && text[n - digits - 1] == 'v' && text[n - digits - 2] == '_')
        return lpo_arena_printf(w->arena, "%.*s", (int)(n - digits - 2), text);
    return text;
}

/* %n and %k of a title. */
static const char *named(const struct lpo_ladder_words *w, const char *title, uint32_t name,
                         const char *unknown)
{
    const char *hole = strchr(title, '%');
    const char *text = name == LPO_NONE ? unknown
                       : hole && hole[1] == 'k'
                           ? lpo_region_cells_shown_name(w->s->analysis->cells, name)
                           : lpo_report_plain_name(w, name);

    return hole ? lpo_arena_printf(w->arena, "%.*s%.160s%s", (int)(hole - title), title, text,
                                   hole + 2)
                : title;
}

/* %r is the rank; %n and %k, where it has one, the name behind a colon. */
static const char *of_rank(const struct lpo_ladder_words *w, const struct lpo_rung *r)
{
    LPO_STR s = { 0 };

    for (const char *at = titles[r->kind]; *at; at++) {
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

const struct lpo_evidence *lpo_report_find_fact(const struct lpo_rung *r, enum lpo_fact fact)
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
        if (lpo_report_find_fact(r, reasons[i].fact))
            return reasons[i].text;
    return "";
}

/* What an ncu report shows of a kernel. */
static const char *kernel_limit(const struct lpo_rung *r)
{
    static const char *const by_bound[] = {
        [LPO_BOUND_UNKNOWN] = " takes most of the time",
        [LPO_BOUND_LATENCY] = " waits: neither the SMs nor the memory are busy",
        [LPO_BOUND_BALANCED] = " is limited by computing and memory alike",
        [LPO_BOUND_MEMORY] = " is limited by memory",
        [LPO_BOUND_COMPUTE] = " is limited by computing",
    };
    const struct lpo_evidence *bound = lpo_report_find_fact(r, LPO_FACT_BOUND_BY);

    return lpo_report_find_fact(r, LPO_FACT_SCATTERED)
               ? " is limited by the L1 cache: its loads are not coalesced or not reused"
               : by_bound[bound ? bound->name : LPO_BOUND_UNKNOWN];
}

static const char *peak_title(const struct lpo_ladder_words *w, const struct lpo_rung *r)
{
    const struct lpo_evidence *role = lpo_report_main_role(r);
    const char *peak = bytes(w, r->nevidence ? r->evidence[0].value[0] : 0);

    if (!role)
        return lpo_arena_printf(w->arena, "The peak of GPU memory is %s", peak);
    return lpo_arena_printf(w->arena, "The peak of GPU memory is %s, %s of it %s", peak,
                            percent(w, role->value[1]),
                            lpo_memory_category_name((enum lpo_memory_category)role->name));
}

const char *lpo_report_rung_title(const struct lpo_ladder_words *w, const struct lpo_rung *r)
{
    const struct lpo_evidence *e = lpo_report_find_fact(r, LPO_FACT_ROOF),
                              *op = lpo_report_find_fact(r, LPO_FACT_OPERATOR);

    if (r->kind == LPO_RUNG_ROOF && e)
        return lpo_arena_printf(w->arena, "%.100s runs at %s of the %s%s",
                                lpo_trace_text(trace_of(w), r->name), percent(w, e->value[0]),
                                e->name ? "memory bandwidth" : "compute roof", why(r));
    e = lpo_report_find_fact(r, LPO_FACT_BEST);
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
                                kernel_limit(r));
    if (r->kind == LPO_RUNG_BLOCKED && op)
        return lpo_arena_printf(w->arena,
                                "The host waits for the GPU in %.80s (%.100s) and launches nothing "
                                "meanwhile",
                                r->name == LPO_NONE ? "a call" : lpo_report_plain_name(w, r->name),
                                lpo_trace_text(trace_of(w), op->name));
    return named(w, titles[r->kind], r->name,
                 r->kind == LPO_RUNG_SIBLING ? "One group of kernels" : "a call");
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

const char *lpo_report_rung_place(const struct lpo_ladder_words *w, const struct lpo_rung *r)
{
    const char *where = lpo_report_rung_where(w, r);
    bool is_device = r->code == LPO_NONE && r->node == LPO_NONE;

    if ((is_device && trace_of(w)->devices.len < 2) || strstr(lpo_report_rung_title(w, r), where))
        return "";
    return lpo_arena_printf(w->arena, " (%s)", where);
}

const char *lpo_report_rung_saving(const struct lpo_ladder_words *w, const struct lpo_rung *r)
{
    LPO_STR s = { 0 };

    if (!lpo_report_rung_has_time(w, r) || r->bytes)
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

    if (c->kind == LPO_CAUTION_UNEXPLAINED && !trace_of(w)->launches.len)
        return lpo_arena_printf(w->arena,
                                "The trace has no calls of the host, so what %s of the window "
                                "waited for is not known: savings are upper bounds. A trace with "
                                "its runtime calls (rocprofv3 --runtime-trace, nsys -t cuda) shows "
                                "it.",
                                percent(w, v));
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
    return !lpo_report_rung_has_time(w, r) ||
           (double)r->saving_ns >= w->all->noise * (double)w->ladder->wall_ns;
}
