/* SPDX-License-Identifier: Apache-2.0 */
/* Where the wall time of each GPU went: its parts, the calls that block, the longest gaps, busy and
 * idle; the chapter, and the same for machines. */

#include "analysis/wall/wall.h"
#include "analysis/analysis.h"
#include "analysis/tables/tables.h"
#include "analysis/wall/timeline.h"
#include "region/fold.h"
#include "report/chapters/chapters.h"
#include "report/doc/doc.h"
#include "report/tables/tables.h"
#include "report/trace_records.h"
#include "rundir/rundir.h"
#include "util/budget.h"

enum { DEVICES = 2, CALLS = 8, GAPS = 10 }; /* all are in "Busy and idle", and in the JSON */

static struct lpo_rows wall_rows(struct lpo_arena *arena, const struct lpo_analysis *a, size_t most)
{
    struct lpo_rows rows = lpo_tables_open_wall(lpo_tables_of(arena, a, NULL));

    rows.count = rows.count < most ? rows.count : most;
    return rows;
}

/* --- parts ------------------------------------------------------------------------------------ */

/* A part of the wall time, as the table of GPUs has it. */
struct part {
    const char *name, *ns, *gaps; /* columns */
    bool cause;
};

typedef struct {
    const struct lpo_rows *wall;
    size_t device;
    const struct part *part;
} part_row;

static struct lpo_cell column_cell(const part_row *r, const char *key)
{
    return key ? lpo_table_cell(r->wall, lpo_table_column(r->wall->kind, key), r->device)
               : lpo_cell_unknown();
}

static struct lpo_cell part_cell(const part_row *r)
{
    struct lpo_cell c = lpo_cell_text(r->part->name);

    c.indent = r->part->cause;
    return c;
}

static struct lpo_cell span_cell(const part_row *r)
{
    struct lpo_cell part = column_cell(r, r->part->ns), span = column_cell(r, "span_ns");

    return part.how ? lpo_cell_share(part.real, span.real) : part;
}

#define PART(X)                                                                                    \
    X(part, device, "GPU", TEXT, KEY, "its number, and rank",                                      \
      lpo_tables_gpu(rows, ((const struct lpo_wall_device *)r->wall->at)[r->device].device))       \
    X(part, part, "Part", TEXT, KEY, "the parts add up to the span, the causes to idle",           \
      part_cell(r))                                                                                \
    X(part, ns, "Time", NS, ADDS, "of the part", column_cell(r, r->part->ns))                      \
    X(part, share, "Of the span", PERCENT, FACT, "of the part", span_cell(r))                      \
    X(part, gaps, "Gaps", COUNT, ADDS, "that it consists of", column_cell(r, r->part->gaps))

LPO_TABLE(part, PART)

static const struct lpo_table_kind parts_kind =
    LPO_TABLE_KIND(part, "wall_parts", "Parts of the wall time of each GPU");

void lpo_report_add_wall(struct lpo_doc *doc, const struct lpo_analysis *a, size_t most)
{
    static const struct part parts[] = {
        { "compute", "compute_ns", NULL, false },
        { "exposed communication", "exposed_communication_ns", NULL, false },
        { "exposed copies and memsets", "exposed_copy_ns", NULL, false },
        { "idle", "idle_ns", "gaps", false },
        { "blocked: the host waited in a call", "blocked_ns", "blocked_gaps", true },
        { "host: launched too late", "host_ns", "host_gaps", true },
        { "queued: launched, but waited for something else", "queued_ns", "queued_gaps", true },
        { "unknown", "unknown_ns", "unknown_gaps", true },
        { "span", "span_ns", NULL, false },
    };
    const struct lpo_rows wall = wall_rows(doc->arena, a, most);
    const struct lpo_wall *w = lpo_analysis_wall(a);
    LPO_VEC(part_row) all = { 0 };
    struct lpo_rows rows;

    for (size_t i = 0; i < wall.count; i++)
        for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) {
            const part_row r = { &wall, i, &parts[k] };

            if (!parts[k].cause || column_cell(&r, parts[k].gaps).whole)
                lpo_vec_push(&all, r);
        }
    rows = lpo_tables_rows(wall.of, &parts_kind, all.at, all.len);
    lpo_doc_table_of(doc, "wall", "", &rows, NULL, 0)->least_rows = SIZE_MAX; /* they add up */
    lpo_vec_free(&all);
    if (w->devices.len > most)
        lpo_doc_note(doc, LPO_NOTE_INFO,
                     "%zu more GPUs are in \"Busy and idle\" and in report.json (\"wall\").",
                     w->devices.len - most);
    if (w->no_calls)
        lpo_doc_note(doc, LPO_NOTE_INFO,
                     "This trace has no runtime calls, so the cause of idle time (a late launch or "
                     "a blocking call) is unknown.");
}

/* --- calls and gaps --------------------------------------------------------------------------- */

typedef struct {
    const struct lpo_wall_device *d;
    const struct lpo_wall_call *c;
} call_row;

#define CALL(X)                                                                                    \
    X(call, device, "GPU", TEXT, KEY, "that was idle", lpo_tables_gpu(rows, r->d->device))         \
    X(call, call, "Call the host waited in", TEXT, KEY, "of the launching thread",                 \
      lpo_tables_name(rows, r->c->name))                                                           \
    X(call, idle_ns, "Idle", NS, ADDS, "meanwhile", r->c->idle_ns)                                 \
    X(call, share, "Of the span", PERCENT, FACT, "of the GPU",                                     \
      lpo_cell_share((double)r->c->idle_ns, (double)r->d->span_ns))                                \
    X(call, gaps, "Gaps", COUNT, ADDS, "of these", r->c->gaps)

LPO_TABLE(call, CALL)

static const struct lpo_table_kind calls_kind =
    LPO_TABLE_KIND(call, "blocked_calls", "Calls in which the host waited while a GPU was idle");

static struct lpo_rows call_rows(const void *of, const struct lpo_wall_device *devices,
                                 size_t count)
{
    LPO_FREED LPO_VEC(call_row) all = { 0 };
    struct lpo_rows rows;

    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < devices[i].calls.len; k++)
            lpo_vec_push(&all, (call_row){ &devices[i], &devices[i].calls.at[k] });
    rows = lpo_tables_kept(of, &calls_kind, all.at, all.len, sizeof *all.at);
    return rows;
}

void lpo_report_add_blocked_calls(struct lpo_doc *doc, const struct lpo_analysis *a, size_t most)
{
    const struct lpo_wall *w = lpo_analysis_wall(a);
    const struct lpo_rows rows =
        call_rows(lpo_tables_of(doc->arena, a, NULL), w->devices.at, w->devices.len);

    if (rows.count)
        lpo_doc_table_of(doc, "blocked_calls", "Idle while the host waited in a call", &rows, NULL,
                         most);
}

typedef struct {
    const struct lpo_wall_device *d;
    const struct lpo_wall_gap *gap;
} gap_row;

/* Of "/usr/lib/x/model.py(12): forward" people need the end. */
static const char *frame_shown(const char *name)
{
    const char *file = strstr(name, ".py(");

    while (file && file > name && file[-1] != '/')
        file--;
    return file ? file : name;
}

/* The call it is blocked in, then the innermost operator and Python function: for machines all of
 * them, for people the first that is known. */
static struct lpo_cell host_in_cell(const struct lpo_rows *rows, const struct lpo_wall_gap *g)
{
    const struct lpo_trace *trace = lpo_tables_trace(rows);
    const struct lpo_wall_stack *stacks[] = { &g->operators, &g->python };
    struct lpo_str *s = lpo_table_scratch(rows);
    const char *shown = NULL;
    struct lpo_cell c;

    if (g->cause == LPO_IDLE_BLOCKED) {
        shown = lpo_trace_text(trace, lpo_trace_call(trace, g->call).name);
        lpo_str_add(s, shown);
    }
    for (size_t i = 0; i < 2; i++) {
        const char *name;

        if (!stacks[i]->count)
            continue;
        name = lpo_trace_text(trace, stacks[i]->names[stacks[i]->count - 1]);
        lpo_str_addf(s, "%s%s", s->len ? ", " : "", name);
        shown = shown ? shown : frame_shown(name);
    }
    if (!shown)
        return lpo_cell_unknown();
    c = lpo_cell_scratch(rows);
    c.shown = shown;
    return c;
}

static uint32_t place_of(const struct lpo_rows *rows, const struct lpo_wall_gap *g)
{
    return lpo_region_place(lpo_tables_analysis(rows)->tree,
                            &lpo_tables_trace(rows)->gpu_ops.at[g->op]);
}

/* People are shown the innermost levels of a path: the outer ones are often the same. */
static struct lpo_cell launched_from_cell(const struct lpo_rows *rows, const struct lpo_wall_gap *g)
{
    enum { LEVELS = 2 };
    const struct lpo_tables_of *of = rows->of;
    const struct lpo_gpu_op *op = &of->a->trace->gpu_ops.at[g->op];
    struct lpo_cell c = lpo_tables_region_of(rows, place_of(rows, g));
    LPO_STR shown = { 0 };

    if (!c.how)
        return lpo_cell_text(op->launch == LPO_NONE ? NULL : "(outside)");
    lpo_region_add_shown_path(of->a->tree, of->a->tree->places.at[place_of(rows, g)].leaf, LEVELS,
                              &shown);
    c.shown = lpo_arena_name(of->arena, lpo_str_text(&shown), shown.len);
    return c;
}

static struct lpo_cell next_cell(const struct lpo_rows *rows, const struct lpo_wall_gap *g)
{
    const struct lpo_gpu_op *op = &lpo_tables_trace(rows)->gpu_ops.at[g->op];

    return op->kind == LPO_KERNEL ? lpo_tables_kernel(rows, op->name)
                                  : lpo_tables_name(rows, op->name);
}

#define GAP(X)                                                                                     \
    X(gap, device, "GPU", TEXT, KEY, "that was idle", lpo_tables_gpu(rows, r->d->device))          \
    X(gap, start_ns, "Start", NS, FACT, "on the clock of the trace", r->gap->start_ns)             \
    X(gap, at_ns, "At", NS, FACT, "from the first operation on",                                   \
      r->gap->start_ns - r->d->start_ns)                                                           \
    X(gap, gap_ns, "Length", NS, ADDS, "how long nothing ran", r->gap->ns)                         \
    X(gap, cause, "Cause", TEXT, KEY, "blocked, host, queued or unknown",                          \
      lpo_wall_cause_name(r->gap->cause))                                                          \
    X(gap, call, "Call", TEXT, FACT, "that the host waited in",                                    \
      lpo_tables_name(rows, r->gap->cause == LPO_IDLE_BLOCKED                                      \
                                ? lpo_trace_call(lpo_tables_trace(rows), r->gap->call).name        \
                                : LPO_NONE))                                                       \
    X(gap, host_in, "The host was in", TEXT, FACT, "call, operator and function",                  \
      host_in_cell(rows, r->gap))                                                                  \
    X(gap, region, "Region", TEXT, FACT, "that launched the next operation",                       \
      lpo_tables_region_of(rows, place_of(rows, r->gap)))                                          \
    X(gap, launched_from, "Launched from", TEXT, FACT, "the same, or (outside)",                   \
      launched_from_cell(rows, r->gap))                                                            \
    X(gap, next, "Next operation", TEXT, FACT, "that ends the gap", next_cell(rows, r->gap))

LPO_TABLE(gap, GAP)

static const struct lpo_table_kind gaps_kind =
    LPO_TABLE_KIND(gap, "longest_gaps", "The longest gaps of each GPU");

static int by_length(const void *a, const void *b)
{
    const gap_row *x = a, *y = b;

    if (x->gap->ns != y->gap->ns)
        return x->gap->ns > y->gap->ns ? -1 : 1;
    if (x->d != y->d)
        return x->d < y->d ? -1 : 1;
    return x->gap->start_ns < y->gap->start_ns ? -1 : 1;
}

static struct lpo_rows gap_rows(const void *of, const struct lpo_wall_device *devices, size_t count)
{
    LPO_FREED LPO_VEC(gap_row) all = { 0 };
    struct lpo_rows rows;

    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < devices[i].longest.len; k++)
            lpo_vec_push(&all, (gap_row){ &devices[i], &devices[i].longest.at[k] });
    if (count > 1 && all.len) /* those of one GPU are in order */
        lpo_vec_sort(&all, by_length);
    rows = lpo_tables_kept(of, &gaps_kind, all.at, all.len, sizeof *all.at);
    return rows;
}

void lpo_report_add_longest_gaps(struct lpo_doc *doc, const struct lpo_analysis *a, size_t most)
{
    const struct lpo_wall *w = lpo_analysis_wall(a);
    struct lpo_rows rows =
        gap_rows(lpo_tables_of(doc->arena, a, NULL), w->devices.at, w->devices.len);

    rows.count = rows.count < most ? rows.count : most;
    if (rows.count)
        lpo_doc_table_of(doc, "longest_gaps", "Longest gaps", &rows,
                         "device at_ns gap_ns cause host_in region=launched_from next", 0)
            ->detail = true;
}

/* --- busy and idle ---------------------------------------------------------------------------- */

typedef struct lpo_device_time device_row;

/* In a CUDA graph that was timed as a whole it is not recorded when its communication ran, so how
 * much of it compute covers is unknown, not 0. */
static struct lpo_cell overlap_cell(const struct lpo_device_time *d, int64_t ns)
{
    return lpo_cell_whole_if(!d->overlap_unknown, ns);
}

static struct lpo_cell rank_cell(const struct lpo_device *d)
{
    return lpo_cell_whole_if(d->rank >= 0, d->rank);
}

#define AT (&lpo_tables_trace(rows)->devices.at[r->device])

#define DEVICE(X)                                                                                  \
    X(device, device, "GPU", COUNT, KEY, "its number", AT->id)                                     \
    X(device, gpu, "GPU", TEXT, KEY, "its number, and rank", lpo_tables_gpu(rows, r->device))      \
    X(device, rank, "Rank", COUNT, KEY, "that used it", rank_cell(AT))                             \
    X(device, name, "Name", TEXT, FACT, "of the GPU", lpo_tables_name(rows, AT->name))             \
    X(device, gpu_ops, "GPU operations", COUNT, ADDS, "that it ran", r->gpu_ops)                   \
    X(device, span_ns, "Span", NS, ADDS, "first start to last end", r->span_ns)                    \
    X(device, busy_ns, "Busy", NS, ADDS, "anything ran", r->busy_ns)                               \
    X(device, busy_share, "Busy share", PERCENT, FACT, "of the span",                              \
      lpo_cell_share((double)r->busy_ns, (double)r->span_ns))                                      \
    X(device, idle_ns, "Idle", NS, ADDS, "nothing ran", r->idle_ns)                                \
    X(device, compute_ns, "Compute", NS, ADDS, "kernels ran that are no communication",            \
      overlap_cell(r, r->compute_ns))                                                              \
    X(device, communication_ns, "Communication", NS, ADDS, "communication ran",                    \
      overlap_cell(r, r->communication_ns))                                                        \
    X(device, exposed_ns, "of it exposed", NS, ADDS, "with nothing computed",                      \
      overlap_cell(r, r->exposed_ns))                                                              \
    X(device, hidden_ns, "of it hidden", NS, ADDS, "with something computed",                      \
      overlap_cell(r, r->communication_ns - r->exposed_ns))                                        \
    X(device, other_ns, "Other collectives", NS, ADDS, "all of them are communication now", 0)

LPO_TABLE(device, DEVICE)

static const struct lpo_table_kind devices_kind =
    LPO_TABLE_KIND(device, "devices", "When each GPU was busy");

static struct lpo_rows device_rows(struct lpo_arena *arena, const struct lpo_analysis *a)
{
    return lpo_tables_rows(lpo_tables_of(arena, a, NULL), &devices_kind, a->timeline->devices.at,
                           a->timeline->devices.len);
}

void lpo_report_add_devices(struct lpo_doc *doc, const struct lpo_analysis *a)
{
    const struct lpo_rows rows = device_rows(doc->arena, a);

    lpo_doc_table_of(doc, "devices", "", &rows,
                     "device=gpu span_ns busy_ns busy_share idle_ns compute_ns communication_ns "
                     "exposed_ns",
                     0);
}

/* The gaps of a device and of its streams; of all devices together about as many streams as there
 * are tables of scopes. */
static void put_streams(const struct lpo_rows *rows, size_t i, struct lpo_record *out)
{
    const struct lpo_wall_timeline *t = lpo_tables_analysis(rows)->timeline;
    const struct lpo_device_time *d = device_of(rows, i);
    size_t left = t->streams.len <= lpo_budget()->scopes ? t->streams.len
                                                         : lpo_budget()->scopes / rows->count + 1;
    struct lpo_record *streams;

    lpo_report_put_gaps(out, "gaps", &d->gaps);
    streams = lpo_doc_put_list(out, "streams");
    for (size_t n = 0; n < t->streams.len && left; n++) {
        const struct lpo_stream_time *s = &t->streams.at[n];
        struct lpo_record *r;

        if (s->device != d->device)
            continue;
        left--;
        r = lpo_doc_put_record(streams, NULL);
        lpo_doc_put(r, LPO_KV("stream", s->stream), LPO_KV("gpu_ops", s->gpu_ops),
                    LPO_KV("span_ns", s->end_ns - s->start_ns), LPO_KV("busy_ns", s->busy_ns),
                    LPO_KV("idle_ns", lpo_wall_gaps_ns(&s->gaps)));
        lpo_report_put_gaps(r, "gaps", &s->gaps);
    }
}

void lpo_report_put_devices(struct lpo_record *to, const struct lpo_analysis *a)
{
    struct lpo_rows rows = device_rows(to->arena, a);

    rows.count = rows.count < lpo_budget()->scopes ? rows.count : lpo_budget()->scopes;
    lpo_doc_put_rows_and(to, "devices", &rows,
                         "device rank name gpu_ops span_ns busy_ns idle_ns compute_ns "
                         "communication_ns exposed_communication_ns=exposed_ns "
                         "hidden_communication_ns=hidden_ns other_collectives_ns=other_ns",
                         put_streams);
}

/* --- the chapter, and its record -------------------------------------------------------------- */

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
        lpo_doc_put(list, LPO_V(lpo_report_name(t, stack->names[i])));
}

static void put_stacks(const struct lpo_rows *rows, size_t i, struct lpo_record *out)
{
    const gap_row *r = gap_of(rows, i);

    put_stack(out, "operators", lpo_tables_trace(rows), &r->gap->operators);
    put_stack(out, "python", lpo_tables_trace(rows), &r->gap->python);
}

static void put_calls_and_gaps(const struct lpo_rows *rows, size_t i, struct lpo_record *out)
{
    const struct lpo_wall_device *d = (const struct lpo_wall_device *)rows->at + i;
    const struct lpo_tables_of *of =
        lpo_tables_of(out->arena, lpo_tables_analysis(rows), NULL); /* as long as the record */
    const struct lpo_rows calls = call_rows(of, d, 1), gaps = gap_rows(of, d, 1);

    lpo_doc_put_rows(out, "blocked_calls", &calls, "name=call idle_ns gaps");
    lpo_doc_put_rows_and(out, "longest_gaps", &gaps, "start_ns at_ns gap_ns cause call region next",
                         put_stacks);
}

void lpo_report_put_wall(struct lpo_record *to, const struct lpo_analysis *a)
{
    const struct lpo_rows rows = wall_rows(to->arena, a, lpo_budget()->scopes);

    lpo_doc_put_rows_and(to, "wall", &rows,
                         "scope start_ns span_ns compute_ns exposed_communication_ns "
                         "exposed_copy_ns idle_ns idle.blocked_ns idle.host_ns idle.queued_ns "
                         "idle.unknown_ns gaps.blocked=blocked_gaps gaps.host=host_gaps "
                         "gaps.queued=queued_gaps gaps.unknown=unknown_gaps longest_gap_ns",
                         put_calls_and_gaps);
}
