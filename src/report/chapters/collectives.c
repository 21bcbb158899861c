/* SPDX-License-Identifier: Apache-2.0 */
/* The chapter "Collectives": by kind and size, how long, how exposed, how fast; and behind which
 * kernels their time is hidden. */
#include <string.h>

#include "analysis/analysis.h"
#include "analysis/wall/collectives.h"
#include "region/tree.h"
#include "report/chapters/chapters.h"
#include "report/doc/doc.h"
#include "report/tables/tables.h"
#include "report/trace_records.h"
#include "rundir/rundir.h"
#include "trace/trace.h"
#include "util/str.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

static const struct lpo_column columns[] = {
    { "kind", "Collective", LPO_CELL_TEXT, NULL },
    { "bytes", "Message", LPO_CELL_BYTES, NULL },
    { "dtype", "Type", LPO_CELL_TEXT, NULL, 3, 8 },
    { "ranks", "Ranks", LPO_CELL_COUNT, NULL },
    { "group", "Group", LPO_CELL_TEXT, NULL, 3, 12 },
    { "calls", "Calls", LPO_CELL_COUNT, NULL },
    { "gpu_ns", "Time", LPO_CELL_NS, NULL },
    { "exposed_ns", "Exposed", LPO_CELL_NS, NULL },
    { "min_ns", "Min", LPO_CELL_NS, NULL, 2 },
    { "mean_ns", "Mean", LPO_CELL_NS, NULL, 1 },
    { "max_ns", "Max", LPO_CELL_NS, NULL, 2 },
    { "bytes_per_s", "Algorithm bandwidth", LPO_CELL_MEASURE, "B/s", 3 },
    { "bus_bytes_per_s", "Bus bandwidth", LPO_CELL_MEASURE, "B/s" },
    { "best_bus_bytes_per_s", "Of the fastest call", LPO_CELL_MEASURE, "B/s", 3 },
};

static const struct lpo_column hiding_columns[] = {
    { "kind", "Collective", LPO_CELL_TEXT, NULL },
    { "ns", "Hidden", LPO_CELL_NS, NULL },
    { "share", "Of its time", LPO_CELL_PERCENT, NULL },
    { "overlaps", "Overlaps", LPO_CELL_COUNT, NULL, 1 },
    { "region", "Behind work of", LPO_CELL_TEXT, NULL },
    { "kernel", "Behind the kernel", LPO_CELL_TEXT, NULL },
};

enum { HIDING = 10, MOST_RECORDS = 10000 };

/* NULL where the source does not say. */
static const char *name_of(const struct lpo_trace *t, uint32_t name)
{
    return name == LPO_NONE ? NULL : lpo_trace_text(t, name);
}

/* The region of a kernel that hides something, or of its forward; empty: none is known. */
static void add_region(const struct lpo_analysis *a, const struct lpo_wall_hiding_row *r, bool mark,
                       struct lpo_str *out)
{
    if (r->region == LPO_NONE)
        return;
    lpo_region_add_path(a->tree, r->region, out);
    lpo_str_add(out, mark && r->backward ? " (backward)" : "");
}

static void add_row(struct lpo_table *t, const struct lpo_trace *trace,
                    const struct lpo_collective_row *r)
{
    lpo_doc_row_text(t, r->kind);
    lpo_doc_row_measure(t, r->bytes);
    lpo_doc_row_text(t, name_of(trace, r->dtype));
    if (r->ranks)
        lpo_doc_row_count(t, r->ranks);
    else
        lpo_doc_row_unknown(t);
    lpo_doc_row_text(t, name_of(trace, r->group));
    lpo_doc_row_count(t, r->calls);
    lpo_doc_row_ns(t, r->ns);
    if (r->exposed_unknown)
        lpo_doc_row_unknown(t);
    else
        lpo_doc_row_ns(t, r->exposed_ns);
    lpo_doc_row_ns(t, r->min_ns);
    lpo_doc_row_ns(t, r->ns / (int64_t)r->calls);
    lpo_doc_row_ns(t, r->max_ns);
    lpo_doc_row_measure(t, r->rate);
    lpo_doc_row_measure(t, r->bus_rate);
    lpo_doc_row_measure(t, r->best_bus_rate);
}

/* Time of all collectives of a kind; kinds are few and static. */
static int64_t time_of(const struct lpo_wall_collectives *c, const char *kind)
{
    int64_t ns = 0;

    for (size_t i = 0; i < c->rows.len; i++)
        ns += c->rows.at[i].kind == kind ? c->rows.at[i].ns : 0;
    return ns;
}

static void add_hiding(struct lpo_doc *doc, const struct lpo_analysis *a,
                       const struct lpo_wall_collectives *c)
{
    const struct lpo_wall_hiding *h = &c->hiding;
    struct lpo_table *t;

    if (!h->rows.len)
        return;
    t = lpo_doc_table(doc, "hiding", "What hides behind what", hiding_columns,
                      COUNT(hiding_columns));
    for (size_t i = 0; i < h->rows.len && i < HIDING; i++) {
        const struct lpo_wall_hiding_row *r = &h->rows.at[i];
        LPO_STR path = { 0 };

        lpo_doc_row_text(t, r->kind);
        lpo_doc_row_ns(t, r->ns);
        lpo_doc_row_share(t, (double)r->ns, (double)time_of(c, r->kind));
        lpo_doc_row_count(t, r->overlaps);
        add_region(a, r, true, &path);
        lpo_doc_row_text(t, path.len ? lpo_str_text(&path) : NULL);
        lpo_report_row_kernel(t, a->cells, r->kernel);
    }
    if (h->rows.len > HIDING)
        t->total_rows = h->rows.len;
    if (h->left_out)
        lpo_doc_note(doc, LPO_NOTE_INFO,
                     "%llu collectives are not in this table: there are too many kernels beside "
                     "each other",
                     (unsigned long long)h->left_out);
}

void lpo_report_chapter_collectives(struct lpo_doc *doc, const struct lpo_rundir *d,
                                    const struct lpo_source *s)
{
    const struct lpo_wall_collectives *c = lpo_analysis_collectives(s->analysis);
    struct lpo_table *t;
    bool sizes = false;

    if (!c || !c->rows.len)
        return;
    for (size_t i = 0; i < c->rows.len; i++)
        sizes |= lpo_measure_known(c->rows.at[i].bytes);
    lpo_doc_section(doc, "collectives", "Collectives", 1);
    lpo_doc_paragraph(doc, "%s",
                      sizes ? "Of all GPUs together. Exposed: no kernel that computes ran beside "
                              "it. Bus bandwidth is that of nccl-tests; kernels also wait for the "
                              "other ranks, so the links were at least that fast."
                      : strstr(s->what, "PyTorch")
                          ? "Of all GPUs together. Exposed: no kernel that computes ran beside "
                            "it. The trace does not say how large the messages were; newer "
                            "versions of PyTorch record it."
                          : "Of all GPUs together. Exposed: no kernel that computes ran beside "
                            "it. The trace does not say how large the messages were; the PyTorch "
                            "profiler records it.");
    t = lpo_doc_table(doc, "collectives", "", columns, COUNT(columns));
    for (size_t i = 0; i < c->rows.len && i < d->top; i++)
        add_row(t, s->trace, &c->rows.at[i]);
    if (c->rows.len > d->top)
        t->total_rows = c->rows.len;
    add_hiding(doc, s->analysis, c);
}

static void put_row(struct lpo_record *r, const struct lpo_trace *t,
                    const struct lpo_collective_row *row)
{
    lpo_doc_put_text(r, "kind", row->kind);
    lpo_doc_put_whole(r, "bytes", row->bytes);
    lpo_doc_put_text(r, "dtype", name_of(t, row->dtype));
    lpo_doc_put_int_if(r, "ranks", row->ranks > 0, row->ranks);
    lpo_doc_put_text(r, "group", name_of(t, row->group));
    lpo_doc_put_uint(r, "calls", row->calls);
    lpo_doc_put_int(r, "gpu_ns", row->ns);
    lpo_doc_put_int_if(r, "exposed_ns", !row->exposed_unknown, row->exposed_ns);
    lpo_doc_put_int(r, "min_ns", row->min_ns);
    lpo_doc_put_int(r, "max_ns", row->max_ns);
    lpo_doc_put_measure(r, "bytes_per_s", row->rate);
    lpo_doc_put_measure(r, "bus_bytes_per_s", row->bus_rate);
    lpo_doc_put_measure(r, "best_bus_bytes_per_s", row->best_bus_rate);
}

void lpo_report_put_collectives(struct lpo_record *to, const struct lpo_analysis *a)
{
    const struct lpo_wall_collectives *c = lpo_analysis_collectives(a);
    struct lpo_record *both, *list;

    if (!c || !c->rows.len)
        return;
    both = lpo_doc_put_record(to, "collectives");
    list = lpo_doc_put_list(both, "rows");
    for (size_t i = 0; i < c->rows.len && i < MOST_RECORDS; i++)
        put_row(lpo_doc_put_record(list, NULL), a->trace, &c->rows.at[i]);
    list = lpo_doc_put_list(both, "hidden_behind");
    for (size_t i = 0; i < c->hiding.rows.len && i < MOST_RECORDS; i++) {
        const struct lpo_wall_hiding_row *h = &c->hiding.rows.at[i];
        struct lpo_record *r = lpo_doc_put_record(list, NULL);
        LPO_STR path = { 0 };

        add_region(a, h, false, &path);
        lpo_doc_put_text(r, "kind", h->kind);
        lpo_doc_put_text(r, "kernel", lpo_trace_text(a->trace, h->kernel));
        lpo_doc_put_text(r, "region", path.len ? lpo_str_text(&path) : NULL);
        lpo_doc_put_flag(r, "backward", h->backward);
        lpo_doc_put_int(r, "ns", h->ns);
        lpo_doc_put_uint(r, "overlaps", h->overlaps);
    }
}
