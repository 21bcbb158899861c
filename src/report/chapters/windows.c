/* SPDX-License-Identifier: Apache-2.0 */
/* What the numbers cover: the recorded part of the run, and what is not known. */
#include "analysis/windows/windows.h"
#include "analysis/analysis.h"
#include "analysis/tables/tables.h"
#include "report/chapters/chapters.h"
#include "report/doc/doc.h"
#include "report/folder.h"
#include "report/tables/tables.h"
#include "report/trace_notes.h"
#include "report/trace_records.h"
#include "rundir/rundir.h"

static void add_overlay(struct lpo_doc *doc, const struct lpo_rundir *d)
{
    const struct lpo_overlay_facts *o = &d->overlay;

    if (!o->stage)
        return;
    lpo_doc_paragraph(
        doc,
        "Hardware counters were measured on %llu launches of %llu distinct launch configurations "
        "and applied to %llu launches: %llu have the same configuration, %llu another "
        "configuration of the same kernel, %llu have no counters.",
        o->measured, o->configs, o->launches, o->by_shape, o->by_name, o->uncovered);
}

void lpo_report_chapter_coverage(struct lpo_doc *doc, const struct lpo_rundir *d,
                                 const struct lpo_source *s)
{
    lpo_doc_section(doc, "coverage", "What these numbers cover", 1);
    if (s) {
        const struct lpo_region_scope *all = lpo_analysis_all(s->analysis);

        if (all->coverage.total.launches)
            lpo_report_add_coverage(doc, all);
        else
            lpo_doc_paragraph(doc,
                              "%llu calls of %zu regions were recorded, and no GPU operations.",
                              (unsigned long long)lpo_trace_range_count(s->analysis->trace),
                              (size_t)s->analysis->tree->nodes.len);
        add_overlay(doc, d);
        lpo_report_notes_doc(doc, s->analysis, s->select);
    }
    lpo_report_add_left(doc, d->left.at, d->left.len);
    for (size_t i = 0; i < d->problems.len; i++)
        lpo_doc_note(doc, LPO_NOTE_WARNING, "%s", d->problems.at[i]);
    for (size_t i = 0; d->has_manifest && i < d->manifest.nstages; i++)
        for (size_t k = 0; k < d->manifest.stages[i].nnotes; k++)
            lpo_doc_note(doc, LPO_NOTE_INFO, "%s: %s", d->manifest.stages[i].name,
                         d->manifest.stages[i].notes[k]);
}

typedef struct lpo_windows_row window_row;

static struct lpo_cell whole_cell(struct lpo_measure m)
{
    struct lpo_cell c = lpo_cell_measure(m);

    if (c.how)
        c.whole = (int64_t)(m.value + 0.5);
    return c;
}

#define WINDOW(X)                                                                                  \
    X(window, pid, "Process", COUNT, KEY, "number of the process",                                 \
      lpo_tables_pid(rows, r->process))                                                            \
    X(window, range, "Range", TEXT, KEY, "for which windows were opened",                          \
      lpo_tables_name(rows, r->range))                                                             \
    X(window, calls, "Of calls", COUNT, ADDS, "of the range", r->calls)                            \
    X(window, calls_recorded, "Recorded", COUNT, ADDS, "of these", r->recorded)                    \
    X(window, windows, "Windows", COUNT, ADDS, "that were opened", r->windows)                     \
    X(window, recorded_ns, "Recorded time", NS, ADDS, "of these", r->recorded_ns)                  \
    X(window, launches, "Launches", COUNT, ADDS, "in windows", r->launches)                        \
    X(window, gpu_ns, "GPU time", NS, ADDS, "in windows", r->gpu_ns)                               \
    X(window, mean_ns, "GPU time of a call", NS, FACT, "mean", whole_cell(r->mean_ns))             \
    X(window, min_ns, "Min", NS, LEAST, "of a call", whole_cell(r->least_ns), .minor = 1)          \
    X(window, max_ns, "Max", NS, MOST, "of a call", whole_cell(r->most_ns), .minor = 1)            \
    X(window, deviation_ns, "Deviation", NS, FACT, "over calls", whole_cell(r->deviation_ns),      \
      .minor = 2)                                                                                  \
    X(window, all_gpu_ns, "Of all calls", NS, FACT, "mean times the number of calls",              \
      whole_cell(r->all_gpu_ns))                                                                   \
    X(window, all_gpu_ns_estimated, "Estimated", FLAG, FACT, "not all calls were recorded",        \
      r->all_gpu_ns.how == LPO_ESTIMATED)                                                          \
    X(window, all_launches, "Launches of all", COUNT, FACT, "the same of launches", r->all_launches)

LPO_TABLE(window, WINDOW)

static const struct lpo_table_kind windows_kind =
    LPO_TABLE_KIND(window, "windows", "The recorded part of the run");

/* Of all processes. */
static uint64_t all_windows(const struct lpo_windows *w, int64_t *ns)
{
    uint64_t windows = 0;

    *ns = 0;
    for (size_t i = 0; i < w->rows.len; i++) {
        windows += w->rows.at[i].windows;
        *ns += w->rows.at[i].recorded_ns;
    }
    return windows;
}

static void add_sentence(struct lpo_doc *doc, const struct lpo_windows *w)
{
    int64_t ns;
    uint64_t windows = all_windows(w, &ns);

    lpo_doc_paragraph(
        doc,
        "Only %llu %s recorded, %.3f ms in all: every table of this report "
        "is about that part. \"Of all calls\" is the mean of the recorded calls times "
        "the number of calls, where it has a ~.",
        (unsigned long long)windows,
        windows == 1 ? "window of the run was" : "windows of the run were", (double)ns / 1e6);
}

void lpo_report_chapter_windows(struct lpo_doc *doc, const struct lpo_source *s)
{
    LPO_AUTO(lpo_windows) w = lpo_windows_create(s->analysis->trace);
    LPO_FREED LPO_VEC(window_row) of_ranges = { 0 };
    struct lpo_rows rows;

    if (!w->rows.len)
        return;
    lpo_doc_section(doc, "windows", "The recorded part", 1);
    add_sentence(doc, w);
    for (size_t i = 0; i < w->rows.len; i++)
        if (w->rows.at[i].range != LPO_NONE)
            lpo_vec_push(&of_ranges, w->rows.at[i]);
    rows = lpo_tables_rows(lpo_tables_of(doc->arena, s->analysis, NULL), &windows_kind,
                           of_ranges.at, of_ranges.len);
    if (rows.count)
        lpo_doc_table_of(doc, "windows", "", &rows,
                         "process=pid range calls_recorded calls mean_ns min_ns max_ns "
                         "deviation_ns all_gpu_ns all_launches",
                         0);
}

/* The calls of all processes, where all windows were opened for ranges of one name. */
static const char *calls_of(const struct lpo_windows *w, const struct lpo_trace *t,
                            uint64_t *recorded, uint64_t *calls)
{
    const char *name = NULL;

    for (size_t i = 0; i < w->rows.len; i++) {
        const struct lpo_windows_row *r = &w->rows.at[i];

        if (r->range == LPO_NONE || (name && !lpo_streq(name, lpo_trace_text(t, r->range))))
            return NULL;
        name = lpo_trace_text(t, r->range);
        *recorded += r->recorded;
        *calls += r->calls;
    }
    return name;
}

void lpo_report_add_windows(struct lpo_doc *doc, const struct lpo_analysis *a)
{
    LPO_AUTO(lpo_windows) w = lpo_windows_create(a->trace);
    int64_t ns;
    uint64_t recorded = 0, calls = 0, windows = all_windows(w, &ns);
    const char *name = calls_of(w, a->trace, &recorded, &calls);

    if (name)
        lpo_doc_paragraph(doc, "Of %llu calls of \"%s\" %llu %s recorded: all times are of these.",
                          (unsigned long long)calls, name, (unsigned long long)recorded,
                          recorded == 1 ? "was" : "were");
    else if (w->rows.len)
        lpo_doc_paragraph(doc, "Only %llu window%s of the run %s recorded: all times are of %s.",
                          (unsigned long long)windows, windows == 1 ? "" : "s",
                          windows == 1 ? "was" : "were", windows == 1 ? "it" : "these");
}

void lpo_report_put_windows(struct lpo_record *to, const struct lpo_analysis *a)
{
    LPO_AUTO(lpo_windows) w = lpo_windows_create(a->trace);
    const struct lpo_rows rows = lpo_tables_kept(lpo_tables_of(to->arena, a, NULL), &windows_kind,
                                                 w->rows.at, w->rows.len, sizeof *w->rows.at);

    if (rows.count)
        lpo_doc_put_rows(to, "windows", &rows,
                         "pid range calls calls_recorded windows recorded_ns launches gpu_ns "
                         "mean_ns min_ns max_ns deviation_ns all_gpu_ns all_gpu_ns_estimated "
                         "all_launches");
}
