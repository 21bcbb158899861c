/* SPDX-License-Identifier: Apache-2.0 */
/* The chapter "Where the wall time went", and the same for machines. */
#include "analysis/wall/wall.h"
#include "analysis/analysis.h"
#include "region/tree.h"
#include "report/chapters/chapters.h"
#include "report/doc/doc.h"
#include "report/tables/tables.h"
#include "report/trace_records.h"
#include "rundir/rundir.h"
#include "trace/trace.h"
#include "util/budget.h"
#include "util/str.h"

enum { DEVICES = 2, CALLS = 8, GAPS = 10 }; /* all are in "Busy and idle", and in the JSON */

void lpo_report_chapter_wall(struct lpo_doc *doc, const struct lpo_rundir *d,
                             const struct lpo_source *s)
{
    const struct lpo_wall *w = lpo_analysis_wall(s->analysis);

    (void)d;
    if (!w || !w->devices.len)
        return;
    lpo_doc_section(doc, "wall", "Where the wall time went", 1);
    lpo_doc_paragraph(doc,
                      "From %s. The parts of each GPU add up to its span, the time from its first "
                      "operation to its last; the causes add up to the idle time.",
                      s->what);
    lpo_report_add_wall(doc, s->analysis, DEVICES);
    lpo_report_add_blocked_calls(doc, s->analysis, CALLS);
    lpo_report_add_longest_gaps(doc, s->analysis, GAPS);
}

static void put_stack(struct lpo_record *r, const char *key, const struct lpo_trace *t,
                      const struct lpo_wall_stack *stack)
{
    struct lpo_record *list = lpo_doc_put_list(r, key);

    for (uint32_t i = 0; i < stack->count; i++)
        lpo_doc_put_name(list, NULL, lpo_trace_text(t, stack->names[i]),
                         lpo_trace_text_len(t, stack->names[i]));
}

static void put_name(struct lpo_record *r, const char *key, const struct lpo_trace *t,
                     uint32_t name)
{
    lpo_doc_put_name(r, key, lpo_trace_text(t, name), lpo_trace_text_len(t, name));
}

static void put_gap(struct lpo_record *to, const struct lpo_analysis *a,
                    const struct lpo_wall_device *d, const struct lpo_wall_gap *g)
{
    const struct lpo_trace *t = a->trace;
    const struct lpo_gpu_op *op = &t->gpu_ops.at[g->op];
    struct lpo_record *r = lpo_doc_put_record(to, NULL);
    LPO_STR path = { 0 };

    lpo_doc_put_int(r, "start_ns", g->start_ns);
    lpo_doc_put_int(r, "at_ns", g->start_ns - d->start_ns);
    lpo_doc_put_int(r, "gap_ns", g->ns);
    lpo_doc_put_text(r, "cause", lpo_wall_cause_name(g->cause));
    if (g->cause == LPO_IDLE_BLOCKED)
        put_name(r, "call", t, t->calls.at[g->call].name);
    else
        lpo_doc_put_null(r, "call");
    put_stack(r, "operators", t, &g->operators);
    put_stack(r, "python", t, &g->python);
    lpo_report_add_gap_region(a, g, &path);
    if (path.len)
        lpo_doc_put_textn(r, "region", lpo_str_text(&path), path.len);
    else
        lpo_doc_put_null(r, "region");
    put_name(r, "next", t, op->name);
}

static void put_calls(struct lpo_record *to, const struct lpo_trace *t,
                      const struct lpo_wall_device *d)
{
    struct lpo_record *calls = lpo_doc_put_list(to, "blocked_calls");

    for (size_t i = 0; i < d->calls.len; i++) {
        struct lpo_record *r = lpo_doc_put_record(calls, NULL);

        put_name(r, "name", t, d->calls.at[i].name);
        lpo_doc_put_int(r, "idle_ns", d->calls.at[i].idle_ns);
        lpo_doc_put_uint(r, "gaps", d->calls.at[i].gaps);
    }
}

static void put_device(struct lpo_record *to, const struct lpo_analysis *a,
                       const struct lpo_wall_device *d)
{
    static const char *const causes[LPO_IDLE_CAUSES] = {
        [LPO_IDLE_BLOCKED] = "blocked_ns",
        [LPO_IDLE_HOST] = "host_ns",
        [LPO_IDLE_QUEUED] = "queued_ns",
        [LPO_IDLE_UNKNOWN] = "unknown_ns",
    };
    const struct lpo_device *device = &a->trace->devices.at[d->device];
    struct lpo_record *r = lpo_doc_put_record(to, NULL), *idle, *gaps;
    bool known = !d->parts_unknown;

    lpo_doc_put_text(r, "scope", lpo_report_device_scope(r->arena, device));
    lpo_doc_put_int(r, "start_ns", d->start_ns);
    lpo_doc_put_int(r, "span_ns", d->span_ns);
    lpo_doc_put_int_if(r, "compute_ns", known, d->compute_ns);
    lpo_doc_put_int_if(r, "exposed_communication_ns", known, d->exposed_communication_ns);
    lpo_doc_put_int_if(r, "exposed_copy_ns", known, d->exposed_copy_ns);
    lpo_doc_put_int(r, "idle_ns", d->idle_ns);
    idle = lpo_doc_put_record(r, "idle");
    for (int i = 0; i < LPO_IDLE_CAUSES; i++)
        lpo_doc_put_int(idle, causes[i], d->idle[i].ns);
    gaps = lpo_doc_put_record(r, "gaps");
    for (int i = 0; i < LPO_IDLE_CAUSES; i++)
        lpo_doc_put_uint(gaps, lpo_wall_cause_name(i), d->idle[i].count);
    lpo_doc_put_int(r, "longest_gap_ns", d->longest.len ? d->longest.at[0].ns : 0);
    put_calls(r, a->trace, d);
    gaps = lpo_doc_put_list(r, "longest_gaps");
    for (size_t i = 0; i < d->longest.len; i++)
        put_gap(gaps, a, d, &d->longest.at[i]);
}

void lpo_report_put_wall(struct lpo_record *to, const struct lpo_analysis *a)
{
    const struct lpo_wall *w = lpo_analysis_wall(a);
    struct lpo_record *list = lpo_doc_put_list(to, "wall");

    for (size_t i = 0; w && i < w->devices.len && i < lpo_budget()->scopes; i++)
        put_device(list, a, &w->devices.at[i]);
}
