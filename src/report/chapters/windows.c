/* SPDX-License-Identifier: Apache-2.0 */
/* The chapter "The recorded part", and the same for machines. */
#include "analysis/windows/windows.h"
#include "analysis/analysis.h"
#include "report/chapters/chapters.h"
#include "report/doc/doc.h"
#include "report/trace_records.h"
#include "rundir/rundir.h"
#include "trace/trace.h"
#include "util/str.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

static const struct lpo_column columns[] = {
    { "pid", "Process", LPO_CELL_COUNT, NULL, 3 },
    { "range", "Range", LPO_CELL_TEXT, NULL },
    { "calls_recorded", "Recorded", LPO_CELL_COUNT, NULL },
    { "calls", "Of calls", LPO_CELL_COUNT, NULL },
    { "mean_ns", "GPU time of a call", LPO_CELL_NS, NULL },
    { "min_ns", "Min", LPO_CELL_NS, NULL, 1 },
    { "max_ns", "Max", LPO_CELL_NS, NULL, 1 },
    { "deviation_ns", "Deviation", LPO_CELL_NS, NULL, 2 },
    { "all_gpu_ns", "Of all calls", LPO_CELL_NS, NULL },
    { "all_launches", "Launches of all", LPO_CELL_COUNT, NULL },
};

static void add_row(struct lpo_table *t, const struct lpo_trace *trace,
                    const struct lpo_windows_row *r)
{
    int64_t pid = trace->processes.at[r->process].pid;

    if (pid < 0)
        lpo_doc_row_unknown(t);
    else
        lpo_doc_row_count(t, (uint64_t)pid);
    lpo_doc_row_text(t, lpo_trace_text(trace, r->range));
    lpo_doc_row_count(t, r->recorded);
    lpo_doc_row_count(t, r->calls);
    lpo_doc_row_measure(t, r->mean_ns);
    lpo_doc_row_measure(t, r->least_ns);
    lpo_doc_row_measure(t, r->most_ns);
    lpo_doc_row_measure(t, r->deviation_ns);
    lpo_doc_row_measure(t, r->all_gpu_ns);
    lpo_doc_row_measure(t, r->all_launches);
}

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
    struct lpo_table *t = NULL;

    if (!w->rows.len)
        return;
    lpo_doc_section(doc, "windows", "The recorded part", 1);
    add_sentence(doc, w);
    for (size_t i = 0; i < w->rows.len; i++) {
        if (w->rows.at[i].range == LPO_NONE)
            continue;
        if (!t)
            t = lpo_doc_table(doc, "windows", "", columns, COUNT(columns));
        add_row(t, s->analysis->trace, &w->rows.at[i]);
    }
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

static void put_row(struct lpo_record *to, const struct lpo_trace *t,
                    const struct lpo_windows_row *w)
{
    const struct {
        const char *key;
        struct lpo_measure value;
    } measures[] = {
        { "mean_ns", w->mean_ns },       { "min_ns", w->least_ns },
        { "max_ns", w->most_ns },        { "deviation_ns", w->deviation_ns },
        { "all_gpu_ns", w->all_gpu_ns },
    };
    struct lpo_record *r = lpo_doc_put_record(to, NULL);

    lpo_doc_put_int(r, "pid", t->processes.at[w->process].pid);
    if (w->range == LPO_NONE)
        lpo_doc_put_null(r, "range");
    else
        lpo_doc_put_name(r, "range", lpo_trace_text(t, w->range), lpo_trace_text_len(t, w->range));
    lpo_doc_put_uint(r, "calls", w->calls);
    lpo_doc_put_uint(r, "calls_recorded", w->recorded);
    lpo_doc_put_uint(r, "windows", w->windows);
    lpo_doc_put_int(r, "recorded_ns", w->recorded_ns);
    lpo_doc_put_uint(r, "launches", w->launches);
    lpo_doc_put_int(r, "gpu_ns", w->gpu_ns);
    for (size_t i = 0; i < COUNT(measures); i++)
        lpo_doc_put_int_if(r, measures[i].key, lpo_measure_known(measures[i].value),
                           (int64_t)(measures[i].value.value + 0.5));
    lpo_doc_put_flag(r, "all_gpu_ns_estimated", w->all_gpu_ns.how == LPO_ESTIMATED);
    lpo_doc_put_int_if(r, "all_launches", lpo_measure_known(w->all_launches),
                       (int64_t)w->all_launches.value);
}

void lpo_report_put_windows(struct lpo_record *to, const struct lpo_analysis *a)
{
    LPO_AUTO(lpo_windows) w = lpo_windows_create(a->trace);
    struct lpo_record *list;

    if (!w->rows.len)
        return;
    list = lpo_doc_put_list(to, "windows");
    for (size_t i = 0; i < w->rows.len; i++)
        put_row(list, a->trace, &w->rows.at[i]);
}
