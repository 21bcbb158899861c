/* SPDX-License-Identifier: Apache-2.0 */
/* The chapter "Ranks" (or "GPUs"): the parts of the wall time of each beside the others, and where
 * one differs from them. */

#include "analysis/analysis.h"
#include "analysis/ranks/jobs.h"
#include "analysis/wall/wall.h"
#include "report/chapters/chapters.h"
#include "report/doc/doc.h"
#include "report/trace_records.h"
#include "rundir/rundir.h"
#include "util/budget.h"
#include "util/units.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

static const struct lpo_column columns[] = {
    { "scope", "GPU", LPO_CELL_TEXT, NULL },
    { "span_ns", "Span", LPO_CELL_NS, NULL },
    { "compute_ns", "Compute", LPO_CELL_NS, NULL },
    { "exposed_communication_ns", "Exposed communication", LPO_CELL_NS, NULL },
    { "exposed_copy_ns", "Exposed copies", LPO_CELL_NS, NULL, 1 },
    { "idle_ns", "Idle", LPO_CELL_NS, NULL },
    { "differs", "Differs from the median", LPO_CELL_TEXT, NULL },
};

enum part { COMPUTE, COMMUNICATION, COPY, IDLE, PARTS };

static const char *const part_names[PARTS] = { "compute", "exposed communication", "exposed copies",
                                               "idle" };

/* Less than this share of the median span is nothing to look at. */
static const double odd_share = 0.05;

static int64_t part_ns(const struct lpo_wall_device *d, int part)
{
    const int64_t all[PARTS] = { d->compute_ns, d->exposed_communication_ns, d->exposed_copy_ns,
                                 d->idle_ns };

    return all[part];
}

LPO_COMPARE(by_size, int64_t, LPO_UP_OF(*a, *b));

/* Of one part over all devices; PARTS is the span. */
static int64_t median(const struct lpo_wall *w, int part)
{
    int64_t *sorted = lpo_xrealloc(NULL, w->devices.len, sizeof *sorted), ns;

    for (size_t i = 0; i < w->devices.len; i++)
        sorted[i] = part == PARTS ? w->devices.at[i].span_ns : part_ns(&w->devices.at[i], part);
    qsort(sorted, w->devices.len, sizeof *sorted, by_size);
    ns = sorted[(w->devices.len - 1) / 2];
    free(sorted);
    return ns;
}

/* "idle +12.3 ms, compute -4 ms": parts that differ by much, the largest difference first. */
static void add_difference(struct lpo_str *out, const struct lpo_wall_device *d,
                           const int64_t medians[PARTS + 1])
{
    bool said[PARTS] = { false };

    if (d->parts_unknown)
        return;
    for (;;) {
        int most = -1;
        int64_t by;

        for (int i = 0; i < PARTS; i++)
            if (!said[i] && (most < 0 || llabs(part_ns(d, i) - medians[i]) >
                                             llabs(part_ns(d, most) - medians[most])))
                most = i;
        by = most < 0 ? 0 : part_ns(d, most) - medians[most];
        if (by == 0 || (double)llabs(by) < odd_share * (double)medians[PARTS])
            return;
        said[most] = true;
        lpo_str_addf(out, "%s%s %s", out->len ? ", " : "", part_names[most], by < 0 ? "-" : "+");
        lpo_units_add_duration(out, llabs(by));
    }
}

/* A device, and the largest difference of a part of it. */
struct place {
    const struct lpo_wall_device *d;
    int64_t away_ns;
    size_t at; /* among the devices, longest span first */
};

/* A page of limited length keeps the first rows: those that differ by much stand there. */
LPO_COMPARE(odd_first, struct place, LPO_DOWN(away_ns) ?: LPO_UP(at));

static struct place *places_of(const struct lpo_wall *w, const int64_t medians[PARTS + 1])
{
    struct place *all = lpo_xcalloc(w->devices.len, sizeof *all);

    for (size_t i = 0; i < w->devices.len; i++) {
        all[i] = (struct place){ &w->devices.at[i], 0, i };
        for (int part = 0; part < PARTS && !all[i].d->parts_unknown; part++) {
            int64_t away = llabs(part_ns(all[i].d, part) - medians[part]);

            if ((double)away >= odd_share * (double)medians[PARTS] && away > all[i].away_ns)
                all[i].away_ns = away;
        }
    }
    qsort(all, w->devices.len, sizeof *all, odd_first);
    return all;
}

/* `medians` NULL: not compared with the others. */
static void add_row(struct lpo_table *t, const struct lpo_trace *trace,
                    const struct lpo_wall_device *d, const int64_t *medians)
{
    LPO_STR differs = { 0 };

    lpo_doc_row(t, lpo_report_device_scope(t->arena, &trace->devices.at[d->device]), d->span_ns);
    for (int i = 0; i < PARTS; i++)
        lpo_doc_row(t, lpo_cell_whole_if(!d->parts_unknown || i == IDLE, part_ns(d, i)));
    if (!medians)
        return;
    add_difference(&differs, d, medians);
    lpo_doc_row(t, lpo_cell_textn(lpo_str_text(&differs), differs.len));
}

void lpo_report_chapter_ranks(struct lpo_doc *doc, const struct lpo_rundir *d,
                              const struct lpo_source *s)
{
    const struct lpo_wall *w = lpo_analysis_wall(s->analysis);
    const struct lpo_trace *t = s->analysis->trace;
    const bool one_job = lpo_ranks_jobs(t).why == LPO_RANKS_ONE_JOB;
    int64_t medians[PARTS + 1];
    struct lpo_table *table;
    struct place *places;
    size_t ranks = 0;

    (void)d;
    if (!w || w->devices.len < 2)
        return;
    for (size_t i = 0; i < w->devices.len; i++)
        ranks += t->devices.at[w->devices.at[i].device].rank >= 0;
    for (int i = 0; i <= PARTS; i++)
        medians[i] = median(w, i);
    lpo_doc_section(doc, "ranks", ranks == w->devices.len ? "Ranks" : "GPUs beside each other", 1);
    if (one_job)
        lpo_doc_paragraph(doc, "The parts of each add up to its span. Those that differ most from "
                               "the median come first; less than 5 %% of the median span is not "
                               "named.");
    else
        lpo_doc_paragraph(
            doc, "The parts of each add up to its span. The traces are of different jobs.");
    /* the last column compares them */
    table = lpo_doc_table(doc, "ranks", "", columns, COUNT(columns) - !one_job);
    places = places_of(w, medians);
    for (size_t i = 0; i < w->devices.len && i < lpo_budget()->scopes; i++)
        add_row(table, t, places[i].d, one_job ? medians : NULL);
    free(places);
    if (w->devices.len > lpo_budget()->scopes)
        table->total_rows = w->devices.len;
}
