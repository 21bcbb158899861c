/* SPDX-License-Identifier: Apache-2.0 */
/* Sequences of short kernels that repeat: a chapter of kernels.md and of the page. */
#include "analysis/fusion/fusion.h"

#include "analysis/analysis.h"
#include "report/chapters/chapters.h"
#include "report/doc/doc.h"
#include "report/trace_records.h"
#include "rundir/rundir.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

enum { ROWS = 15, NAMES = 6, IN_JSON = 50 };

static const struct lpo_column columns[] = {
    { "kernels", "Kernels", LPO_CELL_TEXT, NULL },
    { "length", "In one", LPO_CELL_COUNT, NULL },
    { "count", "Times", LPO_CELL_COUNT, NULL },
    { "gpu_ns", "GPU time", LPO_CELL_NS, NULL },
    { "rest_ns", "Without the longest", LPO_CELL_NS, NULL, 2 },
    { "gap_ns", "Gaps between them", LPO_CELL_NS, NULL },
    { "region", "Region", LPO_CELL_TEXT, NULL, 1 },
};

static const char *region_of(const struct lpo_analysis *a, uint32_t node, struct lpo_str *room)
{
    lpo_str_clear(room);
    if (node == LPO_NONE)
        return NULL;
    lpo_region_add_path(a->tree, node, room);
    return lpo_str_text(room);
}

static void add_names(struct lpo_str *out, const struct lpo_analysis *a,
                      const struct lpo_fusion_sequence *s)
{
    lpo_str_clear(out);
    for (uint32_t i = 0; i < s->length && i < NAMES; i++)
        lpo_str_addf(out, "%s%s", i ? " \u2192 " : "",
                     lpo_region_cells_short_name(a->cells, s->names[i]));
    if (s->length > NAMES)
        lpo_str_addf(out, " \u2192 %u more", s->length - NAMES);
}

void lpo_report_chapter_fusion(struct lpo_doc *doc, const struct lpo_source *s)
{
    const struct lpo_analysis *a = s->analysis;
    const struct lpo_fusion *f = lpo_analysis_fusion(a);
    LPO_STR names = { 0 }, region = { 0 };
    struct lpo_table *t;

    if (!f->sequences.len)
        return;
    lpo_doc_section(doc, "fusion", "Fusion candidates", 1);
    lpo_doc_section_is_detail(doc);
    lpo_doc_paragraph(doc,
                      "Short kernels (below 10 us) that follow each other on a stream in the same "
                      "order three times or more; none of them is in two rows. One kernel in their "
                      "place would save the gaps and, at most, all kernels but the longest.");
    t = lpo_doc_table(doc, "fusion", "", columns, COUNT(columns));
    for (size_t i = 0; i < f->sequences.len && i < ROWS; i++) {
        const struct lpo_fusion_sequence *x = &f->sequences.at[i];

        add_names(&names, a, x);
        lpo_doc_row(t, lpo_str_text(&names), x->length, x->count, x->gpu_ns, x->rest_ns, x->gap_ns,
                    region_of(a, x->node, &region));
    }
    if (f->sequences.len > ROWS)
        t->total_rows = f->sequences.len;
}

/* What the names of one sequence are made from. */
struct names_of {
    const struct lpo_trace *t;
    const struct lpo_fusion_sequence *s;
};

static void put_name(const void *ctx, size_t i, struct lpo_record *r)
{
    const struct names_of *from = ctx;

    lpo_doc_put(r, LPO_KV("name", lpo_report_name(from->t, from->s->names[i])));
}

void lpo_report_put_fusion(struct lpo_record *to, const struct lpo_analysis *a)
{
    const struct lpo_fusion *f = lpo_analysis_fusion(a);
    struct lpo_record *r, *list;
    LPO_STR region = { 0 };

    if (!f->sequences.len)
        return;
    r = lpo_doc_put_record(to, "fusion");
    lpo_doc_put(r, LPO_KV("short_kernels", f->kernels), LPO_KV("gpu_ns", f->gpu_ns));
    list = lpo_doc_put_list(r, "sequences");
    for (size_t i = 0; i < f->sequences.len && i < IN_JSON; i++) {
        const struct lpo_fusion_sequence *x = &f->sequences.at[i];
        struct lpo_record *one = lpo_doc_put_record(list, NULL);
        struct names_of *from = LPO_NEW(one->arena, struct names_of);

        *from = (struct names_of){ a->trace, x };
        lpo_doc_put_stream(one, "kernels", x->length, put_name, from);
        lpo_doc_put(one, LPO_KV("count", x->count), LPO_KV("gpu_ns", x->gpu_ns),
                    LPO_KV("rest_ns", x->rest_ns), LPO_KV("gap_ns", x->gap_ns),
                    LPO_KV("region", region_of(a, x->node, &region)));
    }
}
