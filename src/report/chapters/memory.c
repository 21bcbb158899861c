/* SPDX-License-Identifier: Apache-2.0 */
/* The chapter "Memory": what the framework's allocator held at most, from a trace that recorded
 * every allocation. The page draws it over time. */
#include <stdbool.h>
#include <stdlib.h>

#include "report/chapters/chapters.h"
#include "report/doc/doc.h"
#include "report/over_time.h"
#include "report/trace_records.h"
#include "rundir/rundir.h"
#include "trace/trace.h"
#include "util/xmalloc.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

static const struct lpo_column columns[] = {
    { "device", "GPU", LPO_CELL_TEXT, NULL },
    { "what", "Memory", LPO_CELL_TEXT, NULL },
    { "first_bytes", "First", LPO_CELL_BYTES, NULL, 1 },
    { "peak_bytes", "Peak", LPO_CELL_BYTES, NULL },
    { "peak_at_ns", "Peak after", LPO_CELL_NS, NULL },
    { "last_bytes", "Last", LPO_CELL_BYTES, NULL },
    { "samples", "Samples", LPO_CELL_COUNT, NULL, 2 },
};

/* A trace that began in the middle of a run shows memory of before: times count from the first
 * allocation that it has. */
static int64_t first_moment(const struct lpo_trace *t)
{
    int64_t ns = INT64_MAX;

    for (size_t i = 0; i < t->series.len; i++)
        if (t->series.at[i].kind == LPO_SERIES_MEMORY && t->series.at[i].points.len &&
            t->series.at[i].points.at[0].ns < ns)
            ns = t->series.at[i].points.at[0].ns;
    return ns;
}

static const struct lpo_series_point *peak_of(const struct lpo_series *s)
{
    const struct lpo_series_point *peak = s->points.at;

    for (size_t i = 1; i < s->points.len; i++)
        peak = s->points.at[i].value > peak->value ? &s->points.at[i] : peak;
    return peak;
}

/* One quantity after the other; a page of limited length keeps the GPUs that are fullest. */
static int largest_first(const void *x, const void *y)
{
    const struct lpo_series *a = *(const struct lpo_series *const *)x,
                            *b = *(const struct lpo_series *const *)y;
    double p = peak_of(a)->value, q = peak_of(b)->value;

    if (a->name != b->name)
        return a->name < b->name ? -1 : 1;
    if (p != q)
        return p > q ? -1 : 1;
    return (int)a->device - (int)b->device;
}

static void add_row(struct lpo_table *table, const struct lpo_trace *t, const struct lpo_series *s,
                    int64_t zero_ns)
{
    const struct lpo_series_point *p = s->points.at, *peak = peak_of(s);

    lpo_doc_row_text(table, lpo_report_device_scope(table->arena, &t->devices.at[s->device]));
    lpo_doc_row_text(table, lpo_trace_text(t, s->name));
    lpo_doc_row_bytes(table, p[0].value);
    lpo_doc_row_bytes(table, peak->value);
    lpo_doc_row_ns(table, peak->ns - zero_ns);
    lpo_doc_row_bytes(table, p[s->points.len - 1].value);
    lpo_doc_row_count(table, s->seen);
}

static bool has_source(const struct lpo_trace *t, enum lpo_allocator_source source)
{
    for (size_t i = 0; i < t->allocators.len; i++)
        if (t->allocators.at[i].source == source)
            return true;
    return false;
}

static void begin(struct lpo_doc *doc, const struct lpo_source *from)
{
    bool snapshot = has_source(from->trace, LPO_ALLOCATOR_SNAPSHOT);
    bool profiler = has_source(from->trace, LPO_ALLOCATOR_KINETO);

    lpo_doc_section(doc, "memory", "Memory", 1);
    lpo_doc_paragraph(doc,
                      "From %s: what the allocator of the framework had given out, and what it "
                      "held of the GPU. Times count from the first allocation in the trace.",
                      !snapshot  ? from->what
                      : profiler ? "the trace of the PyTorch profiler and the memory snapshot"
                                 : "the memory snapshot");
    if (snapshot)
        lpo_doc_paragraph(doc, "A snapshot counts bytes as the program asked for them; the "
                               "profiler counts blocks, which the allocator rounds up to 512 B.");
}

static void add_over_time(struct lpo_doc *doc, const struct lpo_trace *t)
{
    struct lpo_table *table = lpo_doc_table(doc, "memory", "", columns, COUNT(columns));
    const struct lpo_series **rows = lpo_xcalloc(t->series.len, sizeof *rows);
    size_t n = 0;

    for (size_t i = 0; i < t->series.len; i++)
        if (t->series.at[i].kind == LPO_SERIES_MEMORY && t->series.at[i].points.len)
            rows[n++] = &t->series.at[i];
    qsort(rows, n, sizeof(*rows), largest_first);
    for (size_t i = 0; i < n; i++)
        add_row(table, t, rows[i], first_moment(t));
    free(rows);
}

void lpo_report_chapter_memory(struct lpo_doc *doc, const struct lpo_rundir *d,
                               const struct lpo_source *s)
{
    const struct lpo_source *from = lpo_report_memory_source(d, s);

    if (!from)
        return;
    begin(doc, from);
    add_over_time(doc, from->trace);
    lpo_report_memory_peaks(doc, from->analysis);
}
