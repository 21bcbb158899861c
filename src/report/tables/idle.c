/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of busy and idle time: by device, by stream, by region. */
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"
#include "analysis/wall/timeline.h"
#include "analysis/wall/wall.h"
#include "region/cells.h"
#include "region/fold.h"
#include "region/scope.h"
#include "report/doc/doc.h"
#include "report/tables/tables.h"
#include "util/arena.h"
#include "util/str.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

static const struct lpo_column device_columns[] = {
    { "device", "GPU", LPO_CELL_TEXT, NULL },
    { "span_ns", "Span", LPO_CELL_NS, NULL },
    { "busy_ns", "Busy", LPO_CELL_NS, NULL },
    { "busy_share", "Busy share", LPO_CELL_PERCENT, NULL },
    { "idle_ns", "Idle", LPO_CELL_NS, NULL },
    { "compute_ns", "Compute", LPO_CELL_NS, NULL },
    { "communication_ns", "Communication", LPO_CELL_NS, NULL },
    { "exposed_ns", "of it exposed", LPO_CELL_NS, NULL },
};

void lpo_report_row_device(struct lpo_table *t, const struct lpo_trace *trace, uint16_t index)
{
    const struct lpo_device *d = &trace->devices.at[index];

    if (d->rank >= 0)
        lpo_doc_row_textf(t, "%d (rank %d)", d->id, d->rank);
    else
        lpo_doc_row_textf(t, "%d", d->id);
}

/* In a CUDA graph that was timed as a whole it is not recorded when its communication ran, so how
 * much of it compute covers is unknown, not 0. */
static void row_overlap(struct lpo_table *t, const struct lpo_device_time *d, int64_t ns)
{
    if (d->overlap_unknown)
        lpo_doc_row_unknown(t);
    else
        lpo_doc_row_ns(t, ns);
}

void lpo_report_add_devices(struct lpo_doc *doc, const struct lpo_analysis *a)
{
    struct lpo_table *t = lpo_doc_table(doc, "devices", "", device_columns, COUNT(device_columns));

    for (size_t i = 0; i < a->timeline->devices.len; i++) {
        const struct lpo_device_time *d = &a->timeline->devices.at[i];

        lpo_report_row_device(t, a->trace, d->device);
        lpo_doc_row_ns(t, d->span_ns);
        lpo_doc_row_ns(t, d->busy_ns);
        lpo_doc_row_share(t, (double)d->busy_ns, (double)d->span_ns);
        lpo_doc_row_ns(t, d->idle_ns);
        row_overlap(t, d, d->compute_ns);
        row_overlap(t, d, d->communication_ns);
        row_overlap(t, d, d->exposed_ns);
    }
}

static const struct lpo_column stream_columns[] = {
    { "device", "GPU", LPO_CELL_TEXT, NULL },
    { "stream", "Stream", LPO_CELL_COUNT, NULL },
    { "gpu_ops", "GPU operations", LPO_CELL_COUNT, NULL },
    { "busy_ns", "Busy", LPO_CELL_NS, NULL },
    { "gaps", "Gaps", LPO_CELL_COUNT, NULL },
    { "idle_ns", "Idle", LPO_CELL_NS, NULL },
    { "host_ns", "Host too late", LPO_CELL_NS, NULL },
    { "dependency_ns", "Dependency", LPO_CELL_NS, NULL },
    { "other_ns", "Other", LPO_CELL_NS, NULL, 1 },
};

void lpo_report_add_streams(struct lpo_doc *doc, const struct lpo_analysis *a, size_t most)
{
    struct lpo_table *t = lpo_doc_table(doc, "streams", "Gaps between GPU operations, by stream",
                                        stream_columns, COUNT(stream_columns));

    for (size_t i = 0; i < a->timeline->streams.len && (!most || i < most); i++) {
        const struct lpo_stream_time *s = &a->timeline->streams.at[i];

        lpo_report_row_device(t, a->trace, s->device);
        lpo_doc_row_count(t, s->stream);
        lpo_doc_row_count(t, s->gpu_ops);
        lpo_doc_row_ns(t, s->busy_ns);
        lpo_doc_row_count(t, s->gaps.by[0].count + s->gaps.by[1].count + s->gaps.by[2].count);
        lpo_doc_row_ns(t, lpo_wall_gaps_ns(&s->gaps));
        for (int c = 0; c < LPO_GAP_CAUSES; c++)
            lpo_doc_row_ns(t, s->gaps.by[c].ns);
    }
    if (lpo_doc_table_rows(t) < a->timeline->streams.len)
        t->total_rows = a->timeline->streams.len;
}

static const struct lpo_column idle_columns[] = {
    { "region", "Launched from", LPO_CELL_TEXT, NULL },
    { "idle_ns", "Idle before", LPO_CELL_NS, NULL },
    { "blocked_ns", "Blocked", LPO_CELL_NS, NULL, 0 },
    { "host_ns", "Host too late", LPO_CELL_NS, NULL, 0 },
    { "queued_ns", "Queued", LPO_CELL_NS, NULL, 0 },
    { "unknown_ns", "Unknown", LPO_CELL_NS, NULL, 1 },
    { "gaps", "Gaps", LPO_CELL_COUNT, NULL },
};

/* A line of the folded table: its idle time by cause. */
struct idle_row {
    const char *path, *shown; /* for machines, for people */
    int64_t ns[LPO_IDLE_CAUSES], total_ns;
    uint64_t gaps;
};

static int by_idle(const void *a, const void *b)
{
    const struct idle_row *x = a, *y = b;

    if (x->total_ns != y->total_ns)
        return x->total_ns > y->total_ns ? -1 : 1;
    return strcmp(x->path, y->path);
}

/* Folds the regions as every other table does, with the idle time of one cause (of all gaps for the
 * count) where the fold adds up captured kernels: one rule of folding for all tables. */
static struct lpo_region_fold *fold_cause(const struct lpo_region_scope *s,
                                          const struct lpo_wall *w, size_t over,
                                          enum lpo_idle_cause cause)
{
    struct lpo_region_scope with = *s;
    struct lpo_region_fold *fold;
    size_t outside = s->cells->tree->nodes.len;

    with.rows.at = lpo_xcalloc(s->rows.len + 1, sizeof *with.rows.at);
    for (size_t i = 0; i < s->rows.len; i++) {
        const struct lpo_region_row *row = &s->rows.at[i];
        const struct lpo_wall_region *r =
            &w->regions[row->node == LPO_NODE_OUTSIDE ? outside : row->node];

        with.rows.at[i] = *row;
        with.rows.at[i].captured = (struct lpo_sum){ .launches = r->gaps, .ns = r->ns[cause] };
    }
    fold = lpo_region_fold_create(&with, over);
    free(with.rows.at);
    return fold;
}

/* The two innermost levels of a line's path, as people are shown them. Lines stand in the order of
 * a walk: the line around this one is the last before it that is one level up. */
static const char *shown_path(const struct lpo_region_fold *f, size_t i, struct lpo_arena *arena)
{
    const struct lpo_fold_row *r = &f->rows.at[i];

    for (size_t k = i; r->depth && k-- > 0;)
        if (f->rows.at[k].depth == r->depth - 1)
            return lpo_arena_printf(arena, "%s%s/%s", r->depth > 1 ? "…/" : "", f->rows.at[k].name,
                                    r->name);
    return r->name;
}

static void add_idle_row(struct lpo_table *t, const struct idle_row *r)
{
    lpo_doc_row_path(t, r->shown, r->path, 0);
    lpo_doc_row_ns(t, r->total_ns);
    for (int c = 0; c < LPO_IDLE_CAUSES; c++)
        lpo_doc_row_ns(t, r->ns[c]);
    lpo_doc_row_count(t, r->gaps);
}

void lpo_report_add_region_idle(struct lpo_doc *doc, const struct lpo_analysis *a,
                                const struct lpo_region_scope *s,
                                const struct lpo_table_options *options)
{
    struct lpo_table *t = lpo_doc_table(doc, "region_idle",
                                        "Idle time, by the region that launched the next operation",
                                        idle_columns, COUNT(idle_columns));
    struct lpo_region_fold *folds[LPO_IDLE_CAUSES];
    LPO_VEC(struct idle_row) rows = { 0 };

    for (int c = 0; c < LPO_IDLE_CAUSES; c++)
        folds[c] = fold_cause(s, lpo_analysis_wall(a), options->fold_over, (enum lpo_idle_cause)c);
    for (size_t i = 0; i < folds[0]->rows.len; i++) {
        struct idle_row r = { .path = folds[0]->rows.at[i].path,
                              .gaps = folds[0]->rows.at[i].sum.captured.launches };

        for (int c = 0; c < LPO_IDLE_CAUSES; c++) {
            r.ns[c] = folds[c]->rows.at[i].sum.captured.ns;
            r.total_ns += r.ns[c];
        }
        if (!r.gaps)
            continue;
        r.shown = shown_path(folds[0], i, doc->arena);
        lpo_vec_push(&rows, r);
    }
    if (rows.len)
        qsort(rows.at, rows.len, sizeof *rows.at, by_idle);
    for (size_t i = 0; i < rows.len && (!options->most_rows || i < options->most_rows); i++)
        add_idle_row(t, &rows.at[i]);
    if (lpo_doc_table_rows(t) < rows.len)
        t->total_rows = rows.len;
    for (int c = 0; c < LPO_IDLE_CAUSES; c++)
        lpo_region_fold_destroy(folds[c]);
    lpo_vec_free(&rows);
}
