/* SPDX-License-Identifier: Apache-2.0 */
/* The chapter "Collectives": by kind and size, how long, how exposed, how fast; and behind which
 * kernels their time is hidden. */

#include "analysis/wall/collectives.h"
#include "analysis/analysis.h"
#include "analysis/tables/tables.h"
#include "report/chapters/chapters.h"
#include "report/doc/doc.h"
#include "report/trace_records.h"
#include "rundir/rundir.h"

enum { HIDING = 10, MOST_RECORDS = 10000 };

/* Time of all collectives of a kind; kinds are few and static. */
static int64_t time_of(const struct lpo_wall_collectives *c, const char *kind)
{
    int64_t ns = 0;

    for (size_t i = 0; i < c->rows.len; i++)
        ns += c->rows.at[i].kind == kind ? c->rows.at[i].ns : 0;
    return ns;
}

typedef struct lpo_wall_hiding_row hiding_row;

/* The region of a kernel that hides something, or of its forward. */
static struct lpo_cell behind_cell(const struct lpo_rows *rows, const hiding_row *r)
{
    struct lpo_cell c = lpo_tables_region(rows, r->region);

    if (!c.how || !r->backward)
        return c;
    lpo_str_add(rows->scratch, " (backward)");
    return lpo_cell_scratch(rows);
}

#define HIDDEN(X)                                                                                  \
    X(hiding, kind, "Collective", TEXT, KEY, "that is hidden", r->kind)                            \
    X(hiding, ns, "Hidden", NS, ADDS, "while the kernel ran", r->ns)                               \
    X(hiding, share, "Of its time", PERCENT, FACT, "of all of this kind",                          \
      lpo_cell_share(                                                                              \
          (double)r->ns,                                                                           \
          (double)time_of(lpo_analysis_collectives(lpo_tables_analysis(rows)), r->kind)))          \
    X(hiding, overlaps, "Overlaps", COUNT, ADDS, "how often", r->overlaps, .minor = 1)             \
    X(hiding, behind, "Behind work of", TEXT, FACT, "region of the kernel, or of its forward",     \
      behind_cell(rows, r))                                                                        \
    X(hiding, region, "Region", TEXT, KEY, "the same", lpo_tables_region(rows, r->region))         \
    X(hiding, backward, "Backward", FLAG, KEY, "the kernel is of the backward pass", r->backward)  \
    X(hiding, kernel, "Behind the kernel", TEXT, KEY, "that computes",                             \
      lpo_tables_kernel(rows, r->kernel))

LPO_TABLE(hiding, HIDDEN)

static const struct lpo_table_kind hiding_kind =
    LPO_TABLE_KIND(hiding, "hiding", "Behind which kernels collectives are hidden");

static struct lpo_rows hiding_rows(struct lpo_arena *arena, const struct lpo_analysis *a)
{
    const struct lpo_wall_hiding *h = &lpo_analysis_collectives(a)->hiding;

    return lpo_tables_rows(lpo_tables_of(arena, a, NULL), &hiding_kind, h->rows.at, h->rows.len);
}

static void add_hiding(struct lpo_doc *doc, const struct lpo_analysis *a,
                       const struct lpo_wall_collectives *c)
{
    const struct lpo_wall_hiding *h = &c->hiding;
    const struct lpo_rows rows = hiding_rows(doc->arena, a);

    if (!rows.count)
        return;
    lpo_doc_table_of(doc, "hiding", "What hides behind what", &rows,
                     "kind ns share overlaps region=behind:Behind_work_of kernel", HIDING);
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
    struct lpo_rows rows;
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
    rows = lpo_tables_open_collectives(lpo_tables_of(doc->arena, s->analysis, NULL));
    lpo_doc_table_of(doc, "collectives", "", &rows,
                     "kind bytes dtype ranks group calls gpu_ns exposed_ns min_ns mean_ns max_ns "
                     "bytes_per_s bus_bytes_per_s best_bus_bytes_per_s",
                     d->top);
    add_hiding(doc, s->analysis, c);
}

void lpo_report_put_collectives(struct lpo_record *to, const struct lpo_analysis *a)
{
    const struct lpo_wall_collectives *c = lpo_analysis_collectives(a);
    struct lpo_rows rows = lpo_tables_open_collectives(lpo_tables_of(to->arena, a, NULL));
    struct lpo_record *both;

    if (!c || !c->rows.len)
        return;
    both = lpo_doc_put_record(to, "collectives");
    rows.count = rows.count < MOST_RECORDS ? rows.count : MOST_RECORDS;
    lpo_doc_put_rows(both, "rows", &rows,
                     "kind bytes dtype ranks group calls gpu_ns exposed_ns min_ns max_ns "
                     "bytes_per_s bus_bytes_per_s best_bus_bytes_per_s");
    rows = hiding_rows(to->arena, a);
    rows.count = rows.count < MOST_RECORDS ? rows.count : MOST_RECORDS;
    lpo_doc_put_rows(both, "hidden_behind", &rows, "kind kernel region backward ns overlaps");
}
