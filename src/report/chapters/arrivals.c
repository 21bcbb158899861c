/* SPDX-License-Identifier: Apache-2.0 */
/* In the chapter "Ranks": their clocks, who comes last to collectives, and who waits for it. */
#include <stdlib.h>

#include "analysis/analysis.h"
#include "analysis/ranks/ranks.h"
#include "analysis/ranks/regions.h"
#include "region/cells.h"
#include "region/scope.h"
#include "report/chapters/chapters.h"
#include "report/doc/doc.h"
#include "report/tables/tables.h"
#include "report/trace_records.h"
#include "rundir/rundir.h"
#include "trace/trace.h"
#include "util/arena.h"
#include "util/budget.h"
#include "util/str.h"
#include "util/units.h"
#include "util/xmalloc.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

static const struct lpo_column rank_columns[] = {
    { "rank", "Rank", LPO_CELL_COUNT, NULL },
    { "waiting_ns", "Waits, exposed", LPO_CELL_NS, NULL },
    { "sending_ns", "Sends, exposed", LPO_CELL_NS, NULL },
    { "unknown_ns", "Not known, exposed", LPO_CELL_NS, NULL, 2 },
    { "late", "Times last", LPO_CELL_COUNT, NULL },
    { "delay_ns", "Late by", LPO_CELL_NS, NULL },
    { "offset", "Its clock", LPO_CELL_TEXT, NULL, 1 },
};

static const struct lpo_column collective_columns[] = {
    { "kind", "Collective", LPO_CELL_TEXT, NULL },
    { "bytes", "Message", LPO_CELL_BYTES, NULL },
    { "ranks", "Ranks", LPO_CELL_COUNT, NULL },
    { "calls", "Calls", LPO_CELL_COUNT, NULL },
    { "skew_ns", "Skew, median", LPO_CELL_NS, NULL },
    { "max_skew_ns", "Skew, most", LPO_CELL_NS, NULL, 1 },
    { "transfer_ns", "Transfer, median", LPO_CELL_NS, NULL },
    { "bus", "Bus bandwidth", LPO_CELL_MEASURE, "B/s" },
    { "late", "Most often last", LPO_CELL_TEXT, NULL },
};

static const struct lpo_column region_columns[] = {
    { "region", "Region", LPO_CELL_TEXT, NULL },         { "min_ns", "Least", LPO_CELL_NS, NULL },
    { "median_ns", "Median", LPO_CELL_NS, NULL },        { "max_ns", "Most", LPO_CELL_NS, NULL },
    { "odd", "Ranks that differ", LPO_CELL_TEXT, NULL },
};

enum { MOST_RECORDS = 10000 };

/* "+1.2 ms, ± 3 us", and "+12.30 ppm" where it runs faster or slower */
static const char *clock_text(struct lpo_arena *a, const struct lpo_rank_row *r)
{
    LPO_STR text = { 0 };

    if (!r->aligned)
        return "not known";
    lpo_str_add(&text, r->offset_ns < 0 ? "-" : "+");
    lpo_units_add_duration(&text, r->offset_ns < 0 ? -r->offset_ns : r->offset_ns);
    lpo_str_add(&text, ", ± ");
    lpo_units_add_duration(&text, r->error_ns);
    if (r->drift != 0)
        lpo_str_addf(&text, ", %+.2f ppm", 1e6 * r->drift);
    return lpo_arena_strdup(a, lpo_str_text(&text));
}

/* What the latest rank did: "it computed for 12 ms, most of it in <kernel>, and was idle for 3 ms".
 */
static void add_latest(struct lpo_doc *doc, const struct lpo_analysis *a, const struct lpo_ranks *r)
{
    const struct lpo_rank_row *row;
    LPO_STR delay = { 0 };
    LPO_STR compute = { 0 };
    LPO_STR idle = { 0 };

    if (!r->complete) {
        lpo_doc_paragraph(doc,
                          "Who waits for whom is not known: there is no collective of which all "
                          "ranks of its group were recorded.");
        return;
    }
    if (r->latest == r->rows.len) {
        lpo_doc_paragraph(doc,
                          "No rank comes to collectives later than the others by more than the "
                          "error of the clocks.");
        return;
    }
    row = &r->rows.at[r->latest];
    lpo_units_add_duration(&delay, row->delay_ns);
    lpo_units_add_duration(&compute, r->late.compute_ns);
    lpo_units_add_duration(&idle, r->late.idle_ns);
    lpo_doc_paragraph(
        doc,
        "Rank %d is late most: it came last to %llu of %llu collectives, in all %s after the "
        "rank before it. In that time its GPU computed for %s%s%s and was idle for %s.",
        row->rank, (unsigned long long)row->late, (unsigned long long)r->complete,
        lpo_str_text(&delay), lpo_str_text(&compute),
        r->late.kernel == LPO_NONE ? "" : ", most of it in ",
        r->late.kernel == LPO_NONE ? "" : lpo_region_cells_short_name(a->cells, r->late.kernel),
        lpo_str_text(&idle));
}

static void add_ns(struct lpo_table *t, bool known, int64_t ns)
{
    if (known)
        lpo_doc_row_ns(t, ns);
    else
        lpo_doc_row_unknown(t);
}

/* `known`: something is known about who waits. */
static void add_rank(struct lpo_table *t, const struct lpo_rank_row *r, bool known)
{
    lpo_doc_row_count(t, (uint64_t)r->rank);
    add_ns(t, known, r->exposed_waiting_ns);
    add_ns(t, known, r->exposed_sending_ns);
    lpo_doc_row_ns(t, r->exposed_unknown_ns);
    if (known)
        lpo_doc_row_count(t, r->late);
    else
        lpo_doc_row_unknown(t);
    add_ns(t, known, r->delay_ns);
    lpo_doc_row_text(t, clock_text(t->arena, r));
}

static void add_collective(struct lpo_table *t, const struct lpo_rank_collective *c)
{
    lpo_doc_row_text(t, c->kind);
    lpo_doc_row_measure(t, c->bytes);
    lpo_doc_row_count(t, c->ranks);
    lpo_doc_row_count(t, c->calls);
    lpo_doc_row_ns(t, c->skew_ns);
    lpo_doc_row_ns(t, c->max_skew_ns);
    lpo_doc_row_ns(t, c->transfer_ns);
    lpo_doc_row_measure(t, c->bus_rate);
    lpo_doc_row_text(t, c->late_rank < 0
                            ? NULL
                            : lpo_arena_printf(t->arena, "rank %d (%llu of %llu)", c->late_rank,
                                               (unsigned long long)c->late_calls,
                                               (unsigned long long)c->calls));
}

/* A page of limited length keeps the first rows: who comes late stands there, then who has no
 * clock.
 */
static int late_first(const void *x, const void *y)
{
    const struct lpo_rank_row *a = *(const struct lpo_rank_row *const *)x;
    const struct lpo_rank_row *b = *(const struct lpo_rank_row *const *)y;

    if (a->delay_ns != b->delay_ns)
        return a->delay_ns > b->delay_ns ? -1 : 1;
    if (a->aligned != b->aligned)
        return a->aligned ? 1 : -1;
    return a->rank < b->rank ? -1 : a->rank > b->rank;
}

static void add_ranks(struct lpo_doc *doc, const struct lpo_ranks *r)
{
    size_t most = lpo_budget()->scopes, rows = r->rows.len < most ? r->rows.len : most;
    const struct lpo_rank_row **order = lpo_xcalloc(r->rows.len, sizeof *order);
    struct lpo_table *t = lpo_doc_table(doc, "arrivals", "", rank_columns, COUNT(rank_columns));

    for (size_t i = 0; i < r->rows.len; i++)
        order[i] = &r->rows.at[i];
    qsort(order, r->rows.len, sizeof *order, late_first);
    for (size_t i = 0; i < rows; i++)
        add_rank(t, order[i], r->complete > 0);
    if (rows < r->rows.len)
        t->total_rows = r->rows.len;
    free(order);
}

void lpo_report_chapter_arrivals(struct lpo_doc *doc, const struct lpo_rundir *d,
                                 const struct lpo_source *s)
{
    const struct lpo_ranks *r = lpo_analysis_ranks(s->analysis);
    struct lpo_table *t;

    if (!r || !r->matched)
        return;
    lpo_doc_section(doc, "arrivals", "Who waits for whom", 2);
    add_latest(doc, s->analysis, r);
    lpo_doc_paragraph(doc, "Collectives of the ranks are matched, and their clocks aligned by the "
                           "moments at which those end. Exposed communication is waiting until the "
                           "last rank has arrived, then sending.");
    add_ranks(doc, r);
    if (!r->collectives.len)
        return;
    t = lpo_doc_table(doc, "skew", "By kind and size", collective_columns,
                      COUNT(collective_columns));
    for (size_t i = 0; i < r->collectives.len && i < d->top; i++)
        add_collective(t, &r->collectives.at[i]);
    if (r->collectives.len > d->top)
        t->total_rows = r->collectives.len;
}

/* "rank 5 +73 %, rank 2 -10 % and 3 more" */
static const char *odd_text(struct lpo_arena *a, const struct lpo_rank_region *r)
{
    size_t named = r->odd < LPO_RANK_ODD ? r->odd : LPO_RANK_ODD;
    LPO_STR text = { 0 };

    for (size_t i = 0; i < named; i++)
        if (r->median_ns > 0)
            lpo_str_addf(&text, "%srank %d %+.0f %%", i ? ", " : "", r->odd_rank[i],
                         100.0 * (double)(r->odd_ns[i] - r->median_ns) / (double)r->median_ns);
        else
            lpo_str_addf(&text, "%srank %d alone", i ? ", " : "", r->odd_rank[i]);
    if (r->odd > named)
        lpo_str_addf(&text, " and %u more", r->odd - (unsigned)named);
    return text.len ? lpo_arena_strdup(a, lpo_str_text(&text)) : NULL;
}

void lpo_report_chapter_rank_regions(struct lpo_doc *doc, const struct lpo_rundir *d,
                                     const struct lpo_source *s)
{
    const struct lpo_ranks_regions *r = lpo_analysis_rank_regions(s->analysis);
    const struct lpo_region_scope *all = lpo_analysis_all(s->analysis);
    struct lpo_table *t;

    if (!r || !r->rows.len)
        return;
    lpo_doc_section(doc, "rank_regions", "Regions over ranks", 2);
    lpo_doc_paragraph(doc, "GPU time of a rank in each region, the widest difference first.");
    t = lpo_doc_table(doc, "rank_regions", "", region_columns, COUNT(region_columns));
    for (size_t i = 0; i < r->rows.len && i < d->top; i++) {
        const struct lpo_rank_region *row = &r->rows.at[i];
        LPO_STR path = { 0 };

        lpo_region_row_add_path(all, &all->rows.at[row->row], &path);
        lpo_doc_row_textn(t, lpo_str_text(&path), path.len);
        lpo_doc_row_ns(t, row->min_ns);
        lpo_doc_row_ns(t, row->median_ns);
        lpo_doc_row_ns(t, row->max_ns);
        lpo_doc_row_text(t, odd_text(t->arena, row));
    }
    if (r->rows.len > d->top)
        t->total_rows = r->rows.len;
}

static void put_regions(struct lpo_record *to, const struct lpo_analysis *a)
{
    const struct lpo_ranks_regions *r = lpo_analysis_rank_regions(a);
    const struct lpo_region_scope *all = lpo_analysis_all(a);
    struct lpo_record *list;

    if (!r || !r->rows.len)
        return;
    list = lpo_doc_put_list(to, "rank_regions");
    for (size_t i = 0; i < r->rows.len; i++) {
        const struct lpo_rank_region *row = &r->rows.at[i];
        struct lpo_record *one = lpo_doc_put_record(list, NULL), *odd;
        LPO_STR path = { 0 };

        lpo_region_row_add_path(all, &all->rows.at[row->row], &path);
        lpo_doc_put_textn(one, "path", lpo_str_text(&path), path.len);
        lpo_doc_put_int(one, "min_ns", row->min_ns);
        lpo_doc_put_int(one, "median_ns", row->median_ns);
        lpo_doc_put_int(one, "max_ns", row->max_ns);
        lpo_doc_put_int(one, "min_rank", row->min_rank);
        lpo_doc_put_int(one, "max_rank", row->max_rank);
        lpo_doc_put_uint(one, "odd", row->odd);
        odd = lpo_doc_put_list(one, "odd_ranks");
        for (size_t k = 0; k < row->odd && k < LPO_RANK_ODD; k++)
            lpo_doc_put_int(odd, NULL, row->odd_rank[k]);
    }
}

static void put_rank(struct lpo_record *to, const struct lpo_rank_row *r)
{
    lpo_doc_put_int(to, "rank", r->rank);
    lpo_doc_put_int_if(to, "offset_ns", r->aligned, r->offset_ns);
    lpo_doc_put_int_if(to, "error_ns", r->aligned, r->error_ns);
    lpo_doc_put_measure(to, "drift_ppm",
                        r->aligned ? lpo_measure_measured(1e6 * r->drift) : lpo_measure_unknown());
    lpo_doc_put_int_if(to, "offset_at_ns", r->aligned, r->middle_ns);
    lpo_doc_put_uint(to, "collectives", r->collectives);
    lpo_doc_put_uint(to, "matched", r->matched);
    lpo_doc_put_int(to, "waiting_ns", r->waiting_ns);
    lpo_doc_put_int(to, "sending_ns", r->sending_ns);
    lpo_doc_put_int(to, "exposed_waiting_ns", r->exposed_waiting_ns);
    lpo_doc_put_int(to, "exposed_sending_ns", r->exposed_sending_ns);
    lpo_doc_put_int(to, "exposed_unknown_ns", r->exposed_unknown_ns);
    lpo_doc_put_uint(to, "late", r->late);
    lpo_doc_put_int(to, "delay_ns", r->delay_ns);
}

static void put_collective(struct lpo_record *to, const struct lpo_rank_collective *c)
{
    lpo_doc_put_text(to, "kind", c->kind);
    lpo_doc_put_whole(to, "bytes", c->bytes);
    lpo_doc_put_uint(to, "ranks", c->ranks);
    lpo_doc_put_uint(to, "calls", c->calls);
    lpo_doc_put_int(to, "skew_ns", c->skew_ns);
    lpo_doc_put_int(to, "max_skew_ns", c->max_skew_ns);
    lpo_doc_put_int(to, "transfer_ns", c->transfer_ns);
    lpo_doc_put_measure(to, "bus_bytes_per_s", c->bus_rate);
    lpo_doc_put_int_if(to, "late_rank", c->late_rank >= 0, c->late_rank);
    lpo_doc_put_uint(to, "late_calls", c->late_calls);
}

void lpo_report_put_arrivals(struct lpo_record *to, const struct lpo_analysis *a)
{
    const struct lpo_ranks *r = lpo_analysis_ranks(a);
    struct lpo_record *all, *list, *late;

    put_regions(to, a);
    if (!r)
        return;
    all = lpo_doc_put_record(to, "ranks");
    lpo_doc_put_uint(all, "matched_collectives", r->matched);
    lpo_doc_put_uint(all, "complete_collectives", r->complete);
    list = lpo_doc_put_list(all, "rows");
    for (size_t i = 0; i < r->rows.len && i < MOST_RECORDS; i++)
        put_rank(lpo_doc_put_record(list, NULL), &r->rows.at[i]);
    list = lpo_doc_put_list(all, "collectives");
    for (size_t i = 0; i < r->collectives.len && i < MOST_RECORDS; i++)
        put_collective(lpo_doc_put_record(list, NULL), &r->collectives.at[i]);
    if (r->latest == r->rows.len)
        return;
    late = lpo_doc_put_record(all, "latest");
    lpo_doc_put_int(late, "rank", r->rows.at[r->latest].rank);
    lpo_doc_put_int(late, "delay_ns", r->rows.at[r->latest].delay_ns);
    lpo_doc_put_int(late, "compute_ns", r->late.compute_ns);
    lpo_doc_put_int(late, "other_ns", r->late.other_ns);
    lpo_doc_put_int(late, "idle_ns", r->late.idle_ns);
    lpo_doc_put_text(late, "kernel",
                     r->late.kernel == LPO_NONE ? NULL : lpo_trace_text(a->trace, r->late.kernel));
    lpo_doc_put_int(late, "kernel_ns", r->late.kernel_ns);
}
