/* SPDX-License-Identifier: Apache-2.0 */
/* In the chapter "Ranks": their clocks, who comes last to collectives, and who waits for it. */

#include "analysis/analysis.h"
#include "analysis/ranks/ranks.h"
#include "analysis/ranks/regions.h"
#include "analysis/tables/tables.h"
#include "report/chapters/chapters.h"
#include "report/doc/doc.h"
#include "report/trace_records.h"
#include "rundir/rundir.h"
#include "util/budget.h"
#include "util/units.h"

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
        "Rank %d is the straggler: last in %llu of %llu collectives, %s behind the rank before it "
        "in all. In that time its GPU computed for %s%s%s and was idle for %s.",
        row->rank, (unsigned long long)row->late, (unsigned long long)r->complete,
        lpo_str_text(&delay), lpo_str_text(&compute),
        r->late.kernel == LPO_NONE ? "" : ", most of it in ",
        r->late.kernel == LPO_NONE ? "" : lpo_region_cells_short_name(a->cells, r->late.kernel),
        lpo_str_text(&idle));
}

/* A rank in the order of the page; without a complete collective nobody is known to be late. */
typedef struct {
    const struct lpo_rank_row *of;
    bool known;
} late_row;

static struct lpo_cell known_cell(const late_row *r, int64_t v)
{
    return lpo_cell_whole_if(r->known, v);
}

#define LATE(X)                                                                                    \
    X(late, rank, "Rank", COUNT, KEY, "number of the rank", r->of->rank)                           \
    X(late, waiting_ns, "Waits, exposed", NS, ADDS, "until the last rank has arrived",             \
      known_cell(r, r->of->exposed_waiting_ns))                                                    \
    X(late, sending_ns, "Sends, exposed", NS, ADDS, "when all have arrived",                       \
      known_cell(r, r->of->exposed_sending_ns))                                                    \
    X(late, unknown_ns, "Not known, exposed", NS, ADDS, "collectives that were not matched",       \
      r->of->exposed_unknown_ns, .minor = 2)                                                       \
    X(late, late, "Times last", COUNT, ADDS, "it came last", known_cell(r, (int64_t)r->of->late))  \
    X(late, delay_ns, "Late by", NS, ADDS, "after the rank before it",                             \
      known_cell(r, r->of->delay_ns))                                                              \
    X(late, offset, "Its clock", TEXT, FACT, "against that of the first rank",                     \
      clock_text(((const struct lpo_tables_of *)rows->of)->arena, r->of), .minor = 1)

LPO_TABLE(late, LATE)

static const struct lpo_table_kind late_kind =
    LPO_TABLE_KIND(late, "arrivals", "Who waits for whom");

typedef struct lpo_rank_collective skew_row;

static struct lpo_cell often_cell(const struct lpo_rows *rows, const skew_row *c)
{
    if (c->late_rank < 0)
        return lpo_cell_unknown();
    lpo_str_addf(lpo_table_scratch(rows), "rank %d (%llu of %llu)", c->late_rank,
                 (unsigned long long)c->late_calls, (unsigned long long)c->calls);
    return lpo_cell_scratch(rows);
}

#define SKEW(X)                                                                                    \
    X(skew, kind, "Collective", TEXT, KEY, "all-reduce, all-gather …", r->kind)                    \
    X(skew, bytes, "Message", BYTES, KEY, "of one message", r->bytes)                              \
    X(skew, ranks, "Ranks", COUNT, KEY, "of its group", r->ranks)                                  \
    X(skew, calls, "Calls", COUNT, ADDS, "of which all ranks were recorded", r->calls)             \
    X(skew, skew_ns, "Skew, median", NS, FACT, "from the first rank that came to the last",        \
      r->skew_ns)                                                                                  \
    X(skew, max_skew_ns, "Skew, most", NS, MOST, "of one call", r->max_skew_ns, .minor = 1)        \
    X(skew, transfer_ns, "Transfer, median", NS, FACT, "when all had come", r->transfer_ns)        \
    X(skew, bus_bytes_per_s, "Bus bandwidth", MEASURE("B/s"), FACT, "in that time", r->bus_rate)   \
    X(skew, late, "Most often last", TEXT, FACT, "rank and how often", often_cell(rows, r))        \
    X(skew, late_rank, "Latest rank", COUNT, FACT, "most often last",                              \
      lpo_cell_whole_if(r->late_rank >= 0, r->late_rank))                                          \
    X(skew, late_calls, "Late calls", COUNT, ADDS, "how often it was last", r->late_calls)

LPO_TABLE(skew, SKEW)

static const struct lpo_table_kind skew_kind =
    LPO_TABLE_KIND(skew, "skew", "How far apart ranks come to collectives");

static struct lpo_rows skew_rows(struct lpo_arena *arena, const struct lpo_analysis *a, size_t most)
{
    const struct lpo_ranks *r = lpo_analysis_ranks(a);

    return lpo_tables_rows(lpo_tables_of(arena, a, NULL), &skew_kind, r->collectives.at,
                           r->collectives.len < most ? r->collectives.len : most);
}

/* A page of limited length keeps the first rows: who comes late stands there, then who has no
 * clock.
 */
static int late_first(const void *x, const void *y)
{
    const struct lpo_rank_row *a = ((const late_row *)x)->of, *b = ((const late_row *)y)->of;

    if (a->delay_ns != b->delay_ns)
        return a->delay_ns > b->delay_ns ? -1 : 1;
    if (a->aligned != b->aligned)
        return a->aligned ? 1 : -1;
    return a->rank < b->rank ? -1 : a->rank > b->rank;
}

static void add_ranks(struct lpo_doc *doc, const struct lpo_analysis *a, const struct lpo_ranks *r)
{
    late_row *all = lpo_arena_array(doc->arena, r->rows.len + 1, sizeof *all);
    const struct lpo_rows rows =
        lpo_tables_rows(lpo_tables_of(doc->arena, a, NULL), &late_kind, all, r->rows.len);

    for (size_t i = 0; i < r->rows.len; i++)
        all[i] = (late_row){ &r->rows.at[i], r->complete > 0 };
    qsort(all, r->rows.len, sizeof *all, late_first);
    lpo_doc_table_of(doc, "arrivals", "", &rows, NULL, lpo_budget()->scopes);
}

void lpo_report_chapter_arrivals(struct lpo_doc *doc, const struct lpo_rundir *d,
                                 const struct lpo_source *s)
{
    const struct lpo_ranks *r = lpo_analysis_ranks(s->analysis);
    struct lpo_rows rows;

    if (!r || !r->matched)
        return;
    lpo_doc_section(doc, "arrivals", "Who waits for whom", 2);
    add_latest(doc, s->analysis, r);
    lpo_doc_paragraph(doc, "Collectives of the ranks are matched, and their clocks aligned by the "
                           "moments at which those end. Exposed communication is waiting until the "
                           "last rank has arrived, then sending.");
    add_ranks(doc, s->analysis, r);
    rows = skew_rows(doc->arena, s->analysis, SIZE_MAX);
    if (rows.count)
        lpo_doc_table_of(doc, "skew", "By kind and size", &rows,
                         "kind bytes ranks calls skew_ns max_skew_ns transfer_ns "
                         "bus=bus_bytes_per_s late",
                         d->top);
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

typedef struct lpo_rank_region over_row;

static struct lpo_cell path_cell(const struct lpo_rows *rows, const over_row *r)
{
    const struct lpo_region_scope *all = lpo_analysis_all(lpo_tables_analysis(rows));

    lpo_region_row_add_path(all, &all->rows.at[r->row], lpo_table_scratch(rows));
    return lpo_cell_scratch(rows);
}

static struct lpo_cell odd_ranks_cell(const struct lpo_rows *rows, const over_row *r)
{
    struct lpo_str *s = lpo_table_scratch(rows);

    for (size_t i = 0; i < r->odd && i < LPO_RANK_ODD; i++)
        lpo_str_addf(s, "%s%d", i ? "," : "[", r->odd_rank[i]);
    lpo_str_add(s, s->len ? "]" : "[]");
    return lpo_cell_scratch(rows);
}

#define OVER(X)                                                                                    \
    X(over, path, "Region", TEXT, KEY, "path of the region", path_cell(rows, r))                   \
    X(over, min_ns, "Least", NS, LEAST, "GPU time of a rank", r->min_ns)                           \
    X(over, median_ns, "Median", NS, FACT, "GPU time of a rank", r->median_ns)                     \
    X(over, max_ns, "Most", NS, MOST, "GPU time of a rank", r->max_ns)                             \
    X(over, min_rank, "Least on", COUNT, FACT, "rank", r->min_rank)                                \
    X(over, max_rank, "Most on", COUNT, FACT, "rank", r->max_rank)                                 \
    X(over, odd, "Odd", COUNT, FACT, "how many ranks differ", r->odd)                              \
    X(over, odd_ranks, "Odd ranks", LIST, FACT, "which", odd_ranks_cell(rows, r))                  \
    X(over, differ, "Ranks that differ", TEXT, FACT, "by how much",                                \
      odd_text(((const struct lpo_tables_of *)rows->of)->arena, r))

LPO_TABLE(over, OVER)

static const struct lpo_table_kind over_kind =
    LPO_TABLE_KIND(over, "rank_regions", "Regions over ranks, the widest difference first");

static struct lpo_rows over_rows(struct lpo_arena *arena, const struct lpo_analysis *a)
{
    const struct lpo_ranks_regions *r = lpo_analysis_rank_regions(a);

    return lpo_tables_rows(lpo_tables_of(arena, a, NULL), &over_kind, r ? r->rows.at : NULL,
                           r ? r->rows.len : 0);
}

void lpo_report_chapter_rank_regions(struct lpo_doc *doc, const struct lpo_rundir *d,
                                     const struct lpo_source *s)
{
    const struct lpo_rows rows = over_rows(doc->arena, s->analysis);

    if (!rows.count)
        return;
    lpo_doc_section(doc, "rank_regions", "Regions over ranks", 2);
    lpo_doc_paragraph(doc, "GPU time of a rank in each region, the widest difference first.");
    lpo_doc_table_of(doc, "rank_regions", "", &rows,
                     "region=path min_ns median_ns max_ns odd=differ", d->top);
}

void lpo_report_put_arrivals(struct lpo_record *to, const struct lpo_analysis *a)
{
    const struct lpo_ranks *r = lpo_analysis_ranks(a);
    struct lpo_rows rows = over_rows(to->arena, a);
    struct lpo_record *all, *late;

    if (rows.count)
        lpo_doc_put_rows(to, "rank_regions", &rows,
                         "path min_ns median_ns max_ns min_rank max_rank odd odd_ranks");
    if (!r)
        return;
    all = lpo_doc_put_record(to, "ranks");
    lpo_doc_put(all, LPO_KV("matched_collectives", r->matched),
                LPO_KV("complete_collectives", r->complete));
    rows = lpo_tables_open_ranks(lpo_tables_of(to->arena, a, NULL));
    rows.count = rows.count < MOST_RECORDS ? rows.count : MOST_RECORDS;
    lpo_doc_put_rows(all, "rows", &rows,
                     "rank offset_ns error_ns drift_ppm offset_at_ns collectives matched "
                     "waiting_ns sending_ns exposed_waiting_ns exposed_sending_ns "
                     "exposed_unknown_ns late delay_ns");
    rows = skew_rows(to->arena, a, MOST_RECORDS);
    lpo_doc_put_rows(all, "collectives", &rows,
                     "kind bytes ranks calls skew_ns max_skew_ns transfer_ns bus_bytes_per_s "
                     "late_rank late_calls");
    if (r->latest == r->rows.len)
        return;
    late = lpo_doc_put_record(all, "latest");
    lpo_doc_put(late, LPO_KV("rank", r->rows.at[r->latest].rank),
                LPO_KV("delay_ns", r->rows.at[r->latest].delay_ns),
                LPO_KV("compute_ns", r->late.compute_ns), LPO_KV("other_ns", r->late.other_ns),
                LPO_KV("idle_ns", r->late.idle_ns),
                LPO_KV("kernel", r->late.kernel == LPO_NONE
                                     ? NULL
                                     : lpo_trace_text(a->trace, r->late.kernel)),
                LPO_KV("kernel_ns", r->late.kernel_ns));
}
