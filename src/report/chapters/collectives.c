/* SPDX-License-Identifier: Apache-2.0 */
/* The chapter "Collectives": by kind and size, how long, how exposed, how fast. */
#include "analysis/wall/collectives.h"
#include "analysis/analysis.h"
#include "report/chapters/chapters.h"
#include "report/doc/doc.h"
#include "rundir/rundir.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

static const struct lpo_column columns[] = {
    { "kind", "Collective", LPO_CELL_TEXT, NULL },
    { "bytes", "Message", LPO_CELL_BYTES, NULL },
    { "ranks", "Ranks", LPO_CELL_COUNT, NULL },
    { "calls", "Calls", LPO_CELL_COUNT, NULL },
    { "gpu_ns", "Time", LPO_CELL_NS, NULL },
    { "exposed_ns", "Exposed", LPO_CELL_NS, NULL },
    { "min_ns", "Min", LPO_CELL_NS, NULL, 2 },
    { "mean_ns", "Mean", LPO_CELL_NS, NULL, 1 },
    { "max_ns", "Max", LPO_CELL_NS, NULL, 2 },
    { "bus_bytes_per_s", "Bus bandwidth", LPO_CELL_MEASURE, "B/s" },
};

static void add_row(struct lpo_table *t, const struct lpo_collective_row *r)
{
    lpo_doc_row_text(t, r->kind);
    lpo_doc_row_measure(t, r->bytes);
    if (r->ranks)
        lpo_doc_row_count(t, r->ranks);
    else
        lpo_doc_row_unknown(t);
    lpo_doc_row_count(t, r->calls);
    lpo_doc_row_ns(t, r->ns);
    if (r->exposed_unknown)
        lpo_doc_row_unknown(t);
    else
        lpo_doc_row_ns(t, r->exposed_ns);
    lpo_doc_row_ns(t, r->min_ns);
    lpo_doc_row_ns(t, r->ns / (int64_t)r->calls);
    lpo_doc_row_ns(t, r->max_ns);
    lpo_doc_row_measure(t, r->bus_rate);
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
                            : "Of all GPUs together. Exposed: no kernel that computes ran beside "
                              "it. The trace does not say how large the messages were; newer "
                              "versions of PyTorch record it.");
    t = lpo_doc_table(doc, "collectives", "", columns, COUNT(columns));
    for (size_t i = 0; i < c->rows.len && i < d->top; i++)
        add_row(t, &c->rows.at[i]);
    if (c->rows.len > d->top)
        t->total_rows = c->rows.len;
}
