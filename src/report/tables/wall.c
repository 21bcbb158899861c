/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of the wall time: its parts, the causes of idle time, the longest gaps. */
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"
#include "analysis/wall/wall.h"
#include "region/cells.h"
#include "region/fold.h"
#include "region/top_kernels.h"
#include "region/tree.h"
#include "report/doc/doc.h"
#include "report/tables/tables.h"
#include "trace/trace.h"
#include "util/arena.h"
#include "util/str.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

static const struct lpo_column part_columns[] = {
    { "device", "GPU", LPO_CELL_TEXT, NULL }, { "part", "Part", LPO_CELL_TEXT, NULL },
    { "ns", "Time", LPO_CELL_NS, NULL },      { "share", "Of the span", LPO_CELL_PERCENT, NULL },
    { "gaps", "Gaps", LPO_CELL_COUNT, NULL },
};

/* What the parts of one device are printed from. */
struct part_rows {
    struct lpo_table *t;
    const struct lpo_trace *trace;
    const struct lpo_wall_device *d;
};

static void row_part(const struct part_rows *p, const char *name, unsigned indent, bool known,
                     int64_t ns)
{
    lpo_report_row_device(p->t, p->trace, p->d->device);
    lpo_doc_row_tree(p->t, name, strlen(name), indent);
    if (known) {
        lpo_doc_row_ns(p->t, ns);
        lpo_doc_row_share(p->t, (double)ns, (double)p->d->span_ns);
    } else {
        lpo_doc_row_unknown(p->t);
        lpo_doc_row_unknown(p->t);
    }
}

static void add_causes(const struct part_rows *p)
{
    static const char *const names[LPO_IDLE_CAUSES] = {
        [LPO_IDLE_BLOCKED] = "blocked: the host waited in a call",
        [LPO_IDLE_HOST] = "host: launched too late",
        [LPO_IDLE_QUEUED] = "queued: launched, but waited for something else",
        [LPO_IDLE_UNKNOWN] = "unknown",
    };

    for (int i = 0; i < LPO_IDLE_CAUSES; i++) {
        if (!p->d->idle[i].count)
            continue;
        row_part(p, names[i], 1, true, p->d->idle[i].ns);
        lpo_doc_row_count(p->t, p->d->idle[i].count);
    }
}

static uint64_t count_gaps(const struct lpo_wall_device *d)
{
    uint64_t n = 0;

    for (int i = 0; i < LPO_IDLE_CAUSES; i++)
        n += d->idle[i].count;
    return n;
}

static void add_parts(const struct part_rows *p)
{
    const struct lpo_wall_device *d = p->d;
    bool known = !d->parts_unknown;
    const struct {
        const char *name;
        bool known;
        int64_t ns;
    } parts[] = {
        { "compute", known, d->compute_ns },
        { "exposed communication", known, d->exposed_communication_ns },
        { "exposed copies and memsets", known, d->exposed_copy_ns },
    };

    for (size_t i = 0; i < COUNT(parts); i++) {
        row_part(p, parts[i].name, 0, parts[i].known, parts[i].ns);
        lpo_doc_row_unknown(p->t);
    }
    row_part(p, "idle", 0, true, d->idle_ns);
    lpo_doc_row_count(p->t, count_gaps(d));
    add_causes(p);
    row_part(p, "span", 0, true, d->span_ns);
    lpo_doc_row_unknown(p->t);
}

void lpo_report_add_wall(struct lpo_doc *doc, const struct lpo_analysis *a, size_t most)
{
    const struct lpo_wall *w = lpo_analysis_wall(a);
    struct lpo_table *t = lpo_doc_table(doc, "wall", "", part_columns, COUNT(part_columns));

    t->least_rows = SIZE_MAX; /* the parts of a GPU add up */

    for (size_t i = 0; i < w->devices.len && i < most; i++) {
        struct part_rows p = { t, a->trace, &w->devices.at[i] };

        add_parts(&p);
    }
    if (w->devices.len > most)
        lpo_doc_note(doc, LPO_NOTE_INFO,
                     "%zu more GPUs are in \"Busy and idle\" and in report.json (\"wall\").",
                     w->devices.len - most);
    if (w->no_calls)
        lpo_doc_note(doc, LPO_NOTE_INFO,
                     "This trace has no runtime calls, so a late launch cannot be told from a call "
                     "that blocked: that idle time is unknown.");
}

static const struct lpo_column call_columns[] = {
    { "device", "GPU", LPO_CELL_TEXT, NULL },
    { "call", "Call the host waited in", LPO_CELL_TEXT, NULL },
    { "idle_ns", "Idle", LPO_CELL_NS, NULL },
    { "share", "Of the span", LPO_CELL_PERCENT, NULL },
    { "gaps", "Gaps", LPO_CELL_COUNT, NULL },
};

void lpo_report_add_blocked_calls(struct lpo_doc *doc, const struct lpo_analysis *a, size_t most)
{
    const struct lpo_wall *w = lpo_analysis_wall(a);
    struct lpo_table *t = NULL;
    size_t all = 0;

    for (size_t i = 0; i < w->devices.len; i++) {
        const struct lpo_wall_device *d = &w->devices.at[i];

        for (size_t k = 0; k < d->calls.len; k++) {
            if (all++ >= most)
                continue;
            if (!t)
                t = lpo_doc_table(doc, "blocked_calls", "Idle while the host waited in a call",
                                  call_columns, COUNT(call_columns));
            lpo_report_row_device(t, a->trace, d->device);
            lpo_doc_row_text(t, lpo_trace_text(a->trace, d->calls.at[k].name));
            lpo_doc_row_ns(t, d->calls.at[k].idle_ns);
            lpo_doc_row_share(t, (double)d->calls.at[k].idle_ns, (double)d->span_ns);
            lpo_doc_row_count(t, d->calls.at[k].gaps);
        }
    }
    if (t && all > most)
        t->total_rows = all;
}

static const struct lpo_column gap_columns[] = {
    { "device", "GPU", LPO_CELL_TEXT, NULL },
    { "at_ns", "At", LPO_CELL_NS, NULL },
    { "gap_ns", "Length", LPO_CELL_NS, NULL },
    { "cause", "Cause", LPO_CELL_TEXT, NULL },
    { "host_in", "The host was in", LPO_CELL_TEXT, NULL },
    { "region", "Launched from", LPO_CELL_TEXT, NULL },
    { "next", "Next operation", LPO_CELL_TEXT, NULL },
};

struct gap_row {
    const struct lpo_wall_device *d;
    const struct lpo_wall_gap *gap;
};

static int by_length(const void *a, const void *b)
{
    const struct gap_row *x = a, *y = b;

    if (x->gap->ns != y->gap->ns)
        return x->gap->ns > y->gap->ns ? -1 : 1;
    if (x->d != y->d)
        return x->d < y->d ? -1 : 1;
    return x->gap->start_ns < y->gap->start_ns ? -1 : 1;
}

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
static void row_host_in(struct lpo_table *t, const struct lpo_trace *trace,
                        const struct lpo_wall_gap *g)
{
    const struct lpo_wall_stack *stacks[] = { &g->operators, &g->python };
    const char *shown = NULL;
    LPO_STR s = { 0 };

    if (g->cause == LPO_IDLE_BLOCKED) {
        shown = lpo_trace_text(trace, trace->calls.at[g->call].name);
        lpo_str_add(&s, shown);
    }
    for (size_t i = 0; i < COUNT(stacks); i++) {
        const char *name;

        if (!stacks[i]->count)
            continue;
        name = lpo_trace_text(trace, stacks[i]->names[stacks[i]->count - 1]);
        lpo_str_addf(&s, "%s%s", s.len ? ", " : "", name);
        shown = shown ? shown : frame_shown(name);
    }
    if (shown)
        lpo_doc_row_path(t, shown, lpo_arena_name(t->arena, lpo_str_text(&s), s.len), 0);
    else
        lpo_doc_row_unknown(t);
}

void lpo_report_add_gap_region(const struct lpo_analysis *a, const struct lpo_wall_gap *g,
                               struct lpo_str *path)
{
    const struct lpo_gpu_op *op = &a->trace->gpu_ops.at[g->op];
    uint32_t leaf = a->tree->places.at[lpo_region_place(a->tree, op)].leaf;

    if (leaf != LPO_NONE)
        lpo_region_add_path(a->tree, leaf, path);
}

static void row_operation(struct lpo_table *t, const struct lpo_analysis *a,
                          const struct lpo_gpu_op *op)
{
    lpo_doc_row_text(t, op->kind == LPO_KERNEL ? lpo_region_cells_shown_name(a->cells, op->name)
                                               : lpo_trace_text(a->trace, op->name));
}

/* People are shown the innermost levels of a path: the outer ones are often the same. */
static void row_region(struct lpo_table *t, const struct lpo_analysis *a,
                       const struct lpo_gpu_op *op, const char *path)
{
    enum { LEVELS = 2 };
    LPO_STR shown = { 0 };

    lpo_region_add_shown_path(a->tree, a->tree->places.at[lpo_region_place(a->tree, op)].leaf,
                              LEVELS, &shown);
    lpo_doc_row_path(t, lpo_arena_name(t->arena, lpo_str_text(&shown), shown.len), path, 0);
}

static void add_gap(struct lpo_table *t, const struct lpo_analysis *a, const struct gap_row *r)
{
    const struct lpo_gpu_op *op = &a->trace->gpu_ops.at[r->gap->op];
    LPO_STR path = { 0 };

    lpo_report_row_device(t, a->trace, r->d->device);
    lpo_doc_row_ns(t, r->gap->start_ns - r->d->start_ns);
    lpo_doc_row_ns(t, r->gap->ns);
    lpo_doc_row_text(t, lpo_wall_cause_name(r->gap->cause));
    row_host_in(t, a->trace, r->gap);
    lpo_report_add_gap_region(a, r->gap, &path);
    if (path.len)
        row_region(t, a, op, lpo_arena_name(t->arena, path.at, path.len));
    else
        lpo_doc_row_text(t, op->launch == LPO_NONE ? NULL : "(outside)");
    row_operation(t, a, op);
}

void lpo_report_add_longest_gaps(struct lpo_doc *doc, const struct lpo_analysis *a, size_t most)
{
    const struct lpo_wall *w = lpo_analysis_wall(a);
    LPO_VEC(struct gap_row) rows = { 0 };
    struct lpo_table *t;

    for (size_t i = 0; i < w->devices.len; i++)
        for (size_t k = 0; k < w->devices.at[i].longest.len; k++)
            lpo_vec_push(&rows,
                         (struct gap_row){ &w->devices.at[i], &w->devices.at[i].longest.at[k] });
    if (!rows.len)
        return;
    qsort(rows.at, rows.len, sizeof *rows.at, by_length);
    t = lpo_doc_table(doc, "longest_gaps", "Longest gaps", gap_columns, COUNT(gap_columns));
    t->detail = true;
    for (size_t i = 0; i < rows.len && i < most; i++)
        add_gap(t, a, &rows.at[i]);
    lpo_vec_free(&rows);
}
