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
#include "rules/rules.h"
#include "rundir/belonging.h"
#include "rundir/rundir.h"
#include "util/path.h"
#include "util/units.h"

/* conf/rules/findings.yaml: what rungs are called, and what cautions say. */
struct saying {
    int of;
    const char *unit, *text; /* unit: of the number in a caution */
};

#define OF(ids)                                                                                    \
    {                                                                                              \
        "of", offsetof(struct saying, of), LPO_RULES_INT, ids, NULL                                \
    }

static const char *saying_of(struct lpo_rules_table *table, int of, char *unit)
{
    size_t count;
    const struct saying *all = lpo_rules_rows(table, &count);

    for (size_t i = 0; i < count; i++)
        if (all[i].of == of) {
            *unit = all[i].unit ? *all[i].unit : '\0';
            return all[i].text;
        }
    return "";
}

/* %n is the name of the rung; %r the rank, %k the name of a kernel. "": it is put together. */
static const char *title_of(enum lpo_rung_kind kind)
{
    static const struct lpo_rules_member members[] = { OF(lpo_ladder_ids),
                                                       LPO_RULES_MEMBER(saying, TEXT, text) };
    static struct lpo_rules_table table = LPO_RULES_TABLE("findings", "titles", members, saying);
    char unit;

    return saying_of(&table, (int)kind, &unit);
}

/* %s is its number, in `unit`: a time, a count, a percentage. */
static const char *caution_of(enum lpo_caution_kind kind, char *unit)
{
    static const struct lpo_rules_member members[] = { OF(lpo_ladder_caution_ids),
                                                       LPO_RULES_MEMBER(saying, TEXT, unit),
                                                       LPO_RULES_MEMBER(saying, TEXT, text) };
    static struct lpo_rules_table table = LPO_RULES_TABLE("findings", "cautions", members, saying);

    return saying_of(&table, (int)kind, unit);
}

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

    for (const char *at = title_of(r->kind); *at; at++) {
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
    return lpo_find(i, r->evidence, r->nevidence, r->evidence[i].fact == fact);
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
        [LPO_BOUND_UNKNOWN] = " takes the most time of all kernels",
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
    return named(w, title_of(r->kind), r->name,
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
    const char *text, *hole;
    LPO_STR s = { 0 };
    char unit;

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
    text = caution_of(c->kind, &unit);
    hole = strstr(text, "%s");
    lpo_str_addn(&s, text, (size_t)(hole - text));
    if (unit == 't')
        lpo_units_add_duration(&s, (int64_t)v);
    else if (unit == 'c')
        lpo_units_add_count(&s, (uint64_t)v);
    else
        lpo_units_add_percent(&s, 100 * v);
    lpo_str_add(&s, hole + 2);
    return lpo_arena_strdup(w->arena, lpo_str_text(&s));
}

bool lpo_report_rung_counts(const struct lpo_ladder_words *w, const struct lpo_rung *r)
{
    return !lpo_report_rung_has_time(w, r) ||
           (double)r->saving_ns >= w->all->noise * (double)w->ladder->wall_ns;
}
