/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of busy and idle time: by device, by stream, by region. */
#include <stdlib.h>

#include "analysis/analysis.h"
#include "analysis/wall/timeline.h"
#include "region/scope.h"
#include "report/doc/doc.h"
#include "report/tables/tables.h"
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

static void row_device(struct lpo_table *t, const struct lpo_trace *trace, uint16_t index)
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

        row_device(t, a->trace, d->device);
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
    { "other_ns", "Other", LPO_CELL_NS, NULL },
};

void lpo_report_add_streams(struct lpo_doc *doc, const struct lpo_analysis *a, size_t most)
{
    struct lpo_table *t = lpo_doc_table(doc, "streams", "Gaps between GPU operations, by stream",
                                        stream_columns, COUNT(stream_columns));

    for (size_t i = 0; i < a->timeline->streams.len && (!most || i < most); i++) {
        const struct lpo_stream_time *s = &a->timeline->streams.at[i];

        row_device(t, a->trace, s->device);
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
    { "region", "Region", LPO_CELL_TEXT, NULL },
    { "idle_ns", "Idle inside", LPO_CELL_NS, NULL },
    { "host_ns", "Host too late", LPO_CELL_NS, NULL },
    { "dependency_ns", "Dependency", LPO_CELL_NS, NULL },
    { "other_ns", "Other", LPO_CELL_NS, NULL },
    { "gaps", "Gaps", LPO_CELL_COUNT, NULL },
};

struct idle_row {
    const struct lpo_region_row *row;
    const struct lpo_gaps *gaps;
};

static int by_idle(const void *a, const void *b)
{
    const struct idle_row *x = a, *y = b;
    int64_t nx = lpo_wall_gaps_ns(x->gaps), ny = lpo_wall_gaps_ns(y->gaps);

    if (nx != ny)
        return nx > ny ? -1 : 1;
    return x->row < y->row ? -1 : x->row > y->row;
}

void lpo_report_add_region_idle(struct lpo_doc *doc, const struct lpo_analysis *a,
                                const struct lpo_region_scope *s, size_t most)
{
    struct lpo_table *t =
        lpo_doc_table(doc, "region_idle", "Idle inside regions", idle_columns, COUNT(idle_columns));
    LPO_VEC(struct idle_row) rows = { 0 };
    LPO_STR path = { 0 };

    for (size_t i = 0; i < s->rows.len; i++) {
        uint32_t node = s->rows.at[i].node;

        if (node != LPO_NODE_OUTSIDE && lpo_wall_gaps_ns(&a->timeline->nodes[node]))
            lpo_vec_push(&rows, (struct idle_row){ &s->rows.at[i], &a->timeline->nodes[node] });
    }
    if (rows.len)
        qsort(rows.at, rows.len, sizeof *rows.at, by_idle);
    for (size_t i = 0; i < rows.len && i < most; i++) {
        const struct lpo_gaps *g = rows.at[i].gaps;

        lpo_str_clear(&path);
        lpo_region_row_add_path(s, rows.at[i].row, &path);
        lpo_doc_row_textn(t, lpo_str_text(&path), path.len);
        lpo_doc_row_ns(t, lpo_wall_gaps_ns(g));
        for (int c = 0; c < LPO_GAP_CAUSES; c++)
            lpo_doc_row_ns(t, g->by[c].ns);
        lpo_doc_row_count(t, g->by[0].count + g->by[1].count + g->by[2].count);
    }
    if (rows.len > most)
        t->total_rows = rows.len;
    lpo_vec_free(&rows);
}
