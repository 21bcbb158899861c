/* SPDX-License-Identifier: Apache-2.0 */
/* The chapter "Where the job hangs": what the flight recorders of its ranks say together. */
#include "analysis/ranks/flight.h"
#include "analysis/analysis.h"
#include "analysis/ladder/ladder.h"
#include "report/chapters/chapters.h"
#include "report/doc/doc.h"
#include "rundir/rundir.h"

enum { MOST_SHOWN = 24 /* runs of ranks */, MOST_RECORDS = 10000 };

static const char *const states[] = { "scheduled", "started", "completed" };

static const struct lpo_flight_call *call_of(const struct lpo_analysis *a, uint32_t row)
{
    return &a->trace->flight_calls.at[row];
}

static const struct lpo_flight_group *group_of(const struct lpo_analysis *a,
                                               const struct lpo_flight_call *c)
{
    return &a->trace->flight_groups.at[c->group];
}

/* "0-3, 6" */
static void add_ranks(struct lpo_str *s, const lpo_flight_ranks *ranks)
{
    size_t shown = 0;

    for (size_t i = 0, to; i < ranks->len; i = to) {
        for (to = i + 1; to < ranks->len && ranks->at[to] == ranks->at[to - 1] + 1;)
            to++;
        if (shown++ == MOST_SHOWN) {
            lpo_str_addf(s, " and %zu more", ranks->len - i);
            return;
        }
        lpo_str_addf(s, i ? ", %d" : "%d", (int)ranks->at[i]);
        if (to > i + 1)
            lpo_str_addf(s, "-%d", (int)ranks->at[to - 1]);
    }
}

/* "Rank 3", "Ranks 1-2" */
static void add_subject(struct lpo_str *s, const lpo_flight_ranks *ranks)
{
    lpo_str_add(s, ranks->len == 1 ? "Rank " : "Ranks ");
    add_ranks(s, ranks);
}

/* "all_reduce 120 of default_pg" */
static void add_call(struct lpo_str *s, const struct lpo_analysis *a, uint32_t row)
{
    const struct lpo_flight_call *c = call_of(a, row);
    const struct lpo_flight_group *g = group_of(a, c);

    lpo_str_addf(s, "%.80s %lld of group %.80s", lpo_trace_text(a->trace, c->name),
                 (long long)c->number, lpo_trace_text(a->trace, g->name));
    if (g->desc != LPO_NONE && g->desc != g->name)
        lpo_str_addf(s, " (%.80s)", lpo_trace_text(a->trace, g->desc));
}

static void add_place(struct lpo_str *s, const struct lpo_analysis *a, uint32_t row)
{
    if (call_of(a, row)->place != LPO_NONE)
        lpo_str_addf(s, " at %.200s", lpo_trace_text(a->trace, call_of(a, row)->place));
}

static void add_brought(struct lpo_str *s, const struct lpo_analysis *a, uint32_t row)
{
    const struct lpo_flight_call *c = call_of(a, row);

    lpo_str_addf(s, "rank %d calls %.80s", (int)group_of(a, c)->rank,
                 lpo_trace_text(a->trace, c->name));
    if (c->sizes != LPO_NONE)
        lpo_str_addf(s, " of %.80s", lpo_trace_text(a->trace, c->sizes));
    if (c->types != LPO_NONE)
        lpo_str_addf(s, " %.40s", lpo_trace_text(a->trace, c->types));
    add_place(s, a, row);
}

const char *lpo_report_flight_title(struct lpo_arena *arena, const struct lpo_analysis *a,
                                    size_t verdict)
{
    const struct lpo_flight_verdict *v = &lpo_analysis_flight(a)->verdicts.at[verdict];
    LPO_STR s = { 0 };

    switch (v->kind) {
    case LPO_FLIGHT_MISMATCH:
        lpo_str_addf(&s, "Ranks call different things as collective %lld of group %.80s: ",
                     (long long)call_of(a, v->call)->number,
                     lpo_trace_text(a->trace, group_of(a, call_of(a, v->call))->name));
        add_brought(&s, a, v->call);
        lpo_str_add(&s, ", ");
        add_brought(&s, a, v->other);
        break;
    case LPO_FLIGHT_MISSING:
        add_subject(&s, &v->missing);
        lpo_str_add(&s, " did not come to ");
        add_call(&s, a, v->call);
        add_place(&s, a, v->call);
        break;
    case LPO_FLIGHT_SILENT:
        add_subject(&s, &v->missing);
        lpo_str_add(&s, " left no dump, and the others wait in ");
        add_call(&s, a, v->call);
        add_place(&s, a, v->call);
        break;
    default:
        if (v->waiting.len < v->came || call_of(a, v->call)->p2p) {
            add_subject(&s, &v->waiting);
            lpo_str_add(&s, v->waiting.len == 1 ? " does not finish " : " do not finish ");
        } else {
            lpo_str_addf(&s, "All %zu ranks came to ", v->came);
        }
        add_call(&s, a, v->call);
        add_place(&s, a, v->call);
        lpo_str_add(&s, v->waiting.len < v->came   ? ", which the others completed"
                        : call_of(a, v->call)->p2p ? ""
                                                   : ", and it does not end");
    }
    return lpo_arena_strdup(arena, lpo_str_text(&s));
}

const char *lpo_report_flight_sentence(struct lpo_arena *arena, const struct lpo_analysis *a,
                                       size_t verdict, int sentence)
{
    const struct lpo_flight_verdict *v = &lpo_analysis_flight(a)->verdicts.at[verdict];
    LPO_STR s = { 0 };

    if (sentence == LPO_FLIGHT_WHO_WAITS && v->kind != LPO_FLIGHT_STUCK) {
        add_subject(&s, &v->waiting);
        lpo_str_add(&s, v->waiting.len == 1 ? " waits in it" : " wait in it");
        add_place(&s, a, v->call);
        lpo_str_add(&s, ".");
    } else if (sentence == LPO_FLIGHT_LAST_CALL && v->last != LPO_NONE) {
        lpo_str_addf(&s, "The last call of rank %d is ", (int)v->missing.at[0]);
        add_call(&s, a, v->last);
        lpo_str_addf(&s, ", %s,", states[call_of(a, v->last)->state]);
        add_place(&s, a, v->last);
        s.len -= s.at[s.len - 1] == ',';
        lpo_str_add(&s, ".");
    } else if (sentence == LPO_FLIGHT_CYCLE && v->in_cycle) {
        lpo_str_add(&s, "The ranks that are missing here wait in another group for ranks that wait "
                        "here: a deadlock.");
    }
    return s.len ? lpo_arena_strdup(arena, lpo_str_text(&s)) : NULL;
}

const char *lpo_report_flight_rest(struct lpo_arena *arena, const struct lpo_analysis *a)
{
    const struct lpo_flight *f = lpo_analysis_flight(a);

    return f->verdicts.len
               ? lpo_arena_printf(arena, "%zu dump%s of flight recorders, %zu collectives.",
                                  f->dumps, f->dumps == 1 ? "" : "s", a->trace->flight_calls.len)
               : lpo_arena_printf(arena,
                                  "Nothing hangs: each of the %zu collectives in %zu dump%s "
                                  "completed.",
                                  a->trace->flight_calls.len, f->dumps, f->dumps == 1 ? "" : "s");
}

static const struct lpo_column columns[] = {
    { "rank", "Rank", LPO_CELL_TEXT, NULL },      { "group", "Group", LPO_CELL_TEXT, NULL },
    { "number", "Number", LPO_CELL_COUNT, NULL }, { "call", "Last call", LPO_CELL_TEXT, NULL },
    { "state", "State", LPO_CELL_TEXT, NULL },    { "place", "Place", LPO_CELL_TEXT, NULL },
};

void lpo_report_chapter_flight(struct lpo_doc *doc, const struct lpo_source *s)
{
    const struct lpo_flight *f = lpo_analysis_flight(s->analysis);
    const struct lpo_trace *t = s->trace;
    struct lpo_table *table;

    if (!f)
        return;
    lpo_doc_section(doc, "flight", "Where the job hangs", 1);
    lpo_doc_paragraph(doc, "From the flight recorders of NCCL: the last call of each rank.");
    table = lpo_doc_table(doc, "flight", "", columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < f->last.len; i++) {
        const struct lpo_flight_call *c = call_of(s->analysis, f->last.at[i]);
        const struct lpo_flight_group *g = group_of(s->analysis, c);

        lpo_doc_row(table, g->rank < 0 ? NULL : lpo_arena_printf(table->arena, "%d", (int)g->rank),
                    lpo_trace_text(t, g->name), c->number < 0 ? 0 : (uint64_t)c->number,
                    lpo_trace_text(t, c->name), states[c->state],
                    c->place == LPO_NONE ? NULL : lpo_trace_text(t, c->place));
    }
}

static void put_ranks(struct lpo_record *to, const char *key, const lpo_flight_ranks *ranks)
{
    struct lpo_record *list = lpo_doc_put_list(to, key);

    for (size_t i = 0; i < ranks->len && i < MOST_RECORDS; i++)
        lpo_doc_put(list, LPO_V(ranks->at[i]));
}

static void put_call(struct lpo_record *to, const struct lpo_analysis *a, uint32_t row)
{
    const struct lpo_flight_call *c = call_of(a, row);
    const struct lpo_trace *t = a->trace;

    lpo_doc_put(to, LPO_KV("rank", lpo_jv_int_if(group_of(a, c)->rank >= 0, group_of(a, c)->rank)),
                LPO_KV("group", lpo_trace_text(t, group_of(a, c)->name)),
                LPO_KV("number", c->number), LPO_KV("call", lpo_trace_text(t, c->name)),
                LPO_KV("state", states[c->state]),
                LPO_KV("place", c->place == LPO_NONE ? NULL : lpo_trace_text(t, c->place)));
}

void lpo_report_put_flight(struct lpo_record *to, const struct lpo_analysis *a)
{
    const struct lpo_flight *f = lpo_analysis_flight(a);
    struct lpo_record *flight, *list;

    if (!f)
        return;
    flight = lpo_doc_put_record(to, "flight");
    list = lpo_doc_put_list(flight, "verdicts");
    for (size_t i = 0; i < f->verdicts.len && i < MOST_RECORDS; i++) {
        const struct lpo_flight_verdict *v = &f->verdicts.at[i];
        struct lpo_record *r = lpo_doc_put_record(list, NULL);

        lpo_doc_put(r, LPO_KV("id", lpo_ladder_ids[LPO_RUNG_MISMATCH + v->kind]),
                    LPO_KV("title", lpo_report_flight_title(to->arena, a, i)));
        put_call(r, a, v->call);
        put_ranks(r, "missing", &v->missing);
        put_ranks(r, "waiting", &v->waiting);
    }
    list = lpo_doc_put_list(flight, "last_calls");
    for (size_t i = 0; i < f->last.len && i < MOST_RECORDS; i++)
        put_call(lpo_doc_put_record(list, NULL), a, f->last.at[i]);
}
