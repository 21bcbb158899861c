/* SPDX-License-Identifier: Apache-2.0 */
/* The data that the views of report.html are drawn from. */
#include <malloc.h>

#include "analysis/analysis.h"
#include "analysis/counters/by_kernel.h"
#include "analysis/ranks/steps.h"
#include "analysis/tables/tables.h"
#include "report/doc/doc.h"
#include "report/documents.h"
#include "report/findings/findings.h"
#include "report/limits/chapter_limits.h"
#include "report/page/page.h"
#include "report/trace_records.h"
#include "rundir/rundir.h"
#include "util/pack.h"
#include "util/thread.h"

/* A name may have 4 KB, and a page has 5 MB. */
enum { MOST_KERNELS = 4000, MOST_NAME_BYTES = 1 << 20 };

struct lpo_page_kernels lpo_page_put_kernels(struct lpo_record *to, const struct lpo_analysis *a,
                                             const struct lpo_trace *counters)
{
    const struct lpo_counters_by_kernel measured =
        lpo_counters_by_kernel(to->arena, counters ? counters : a->trace);
    size_t names = lpo_trace_name_count(a->trace);
    struct lpo_page_kernels k = { lpo_xrealloc(NULL, names + 1, sizeof *k.rows), 0 };
    struct lpo_record *list = lpo_doc_put_list(to, "kernels");
    size_t bytes = 0, all = 0;

    for (size_t i = 0; i <= names; i++)
        k.rows[i] = LPO_NONE;
    for (int kind = LPO_KERNEL; kind <= LPO_MEMSET; kind++) {
        const lpo_top_rows *top = lpo_analysis_top(a, (enum lpo_gpu_op_kind)kind);
        const struct lpo_rows rows =
            lpo_tables_top(lpo_tables_of(to->arena, a, NULL), (enum lpo_gpu_op_kind)kind,
                           measured.len ? &measured : NULL);

        all += top->len;
        for (size_t i = 0; i < top->len && k.count < MOST_KERNELS; i++) {
            bytes += lpo_trace_text_len(a->trace, top->at[i].name);
            if (bytes > MOST_NAME_BYTES)
                break;
            lpo_doc_put_row(lpo_doc_put_record(list, NULL), &rows, i,
                            measured.len && kind == LPO_KERNEL
                                ? "name short_name class launches gpu_ns min_ns max_ns sm_share "
                                  "tensor_share l1_share l2_share dram_share occupancy_share "
                                  "registers waves"
                                : "name short_name class launches gpu_ns min_ns max_ns");
            k.rows[top->at[i].name] = (uint32_t)k.count++;
        }
    }
    lpo_doc_put(to, LPO_KV("kernels_left_out", all - k.count));
    return k;
}

void lpo_page_detail_destroy(struct lpo_page_detail *d)
{
    if (!d)
        return;
    free(d->kernels.rows);
    free(d->regions);
    free(d->operations);
    free(d);
}

/* Stacks take as long as the strip and the sums together, and are of the analysis alone. */
struct times {
    struct lpo_record *to;
    struct lpo_page_detail *detail;
};

static void put_times(void *ctx, size_t i)
{
    const struct times *t = ctx;

    if (i) {
        lpo_analysis_stacks(t->detail->analysis);
        return;
    }
    lpo_page_put_strip(t->to, t->detail);
    lpo_page_put_sums(t->to, t->detail);
}

static struct lpo_page_detail *put_trace(struct lpo_record *to, const struct lpo_rundir *d,
                                         const struct lpo_source *s)
{
    struct lpo_err ignored = { 0 }; /* the chapter on limits says it */
    const struct lpo_limits *limits = lpo_analysis_limits(d, s, &ignored);
    const struct lpo_source *counters = lpo_rundir_source_with(d, LPO_ROLE_COUNTERS);
    struct lpo_page_detail *p = lpo_xcalloc(1, sizeof *p);

    p->analysis = s->analysis;
    p->zero_ns = LPO_NO_TIME;
    p->kernels = lpo_page_put_kernels(to, s->analysis, counters ? counters->trace : NULL);
    p->regions = lpo_page_put_regions(to, s->analysis, &p->kernels, d->fold_over != SIZE_MAX);
    lpo_report_put_findings(to, d, s);
    if (limits)
        lpo_report_put_limits(to, limits);
    lpo_report_put_coverage(to, s->analysis);
    lpo_report_put_notes(to, s->analysis, s->select);
    lpo_report_put_wall(to, s->analysis);
    lpo_page_put_rank_steps(to, s->analysis);
    lpo_page_put_shapes(to, s->analysis, &p->kernels);
    lpo_page_put_counters(to, s->analysis, p->regions);
    malloc_trim(0); /* of critical paths, on all cores */
    lpo_region_tree_look_up_classes(s->analysis->tree);
    lpo_thread_each(2, put_times, &(struct times){ to, p });
    lpo_page_put_stacks(to, p);
    return p;
}

struct lpo_page_detail *lpo_page_put(struct lpo_doc *doc, const struct lpo_rundir *d,
                                     const struct lpo_source *s)
{
    struct lpo_page_detail *p;

    doc->page = lpo_doc_record_create(doc->arena);
    p = s ? put_trace(doc->page, d, s) : NULL;
    lpo_page_put_charts(doc->page, d, s, p && p->noperations ? p->zero_ns : LPO_NO_TIME);
    return p;
}

void lpo_report_add_page(struct lpo_doc *doc, const struct lpo_rundir *d,
                         const struct lpo_source *s)
{
    lpo_page_detail_destroy(lpo_page_put(doc, d, s));
}

void lpo_page_put_rank_steps(struct lpo_record *to, const struct lpo_analysis *a)
{
    const struct lpo_ranks_steps *s = lpo_analysis_rank_steps(a);
    struct lpo_record *r, *list;
    LPO_STR bytes = { 0 }, text = { 0 };

    if (!s)
        return;
    r = lpo_doc_put_record(to, "rank_steps");
    list = lpo_doc_put_list(r, "ranks");
    for (size_t i = 0; i < s->ranks.len; i++)
        lpo_doc_put(list, LPO_V(s->ranks.at[i]));
    list = lpo_doc_put_list(r, "columns");
    for (size_t i = 0; i < s->columns.len; i++) {
        struct lpo_record *column = lpo_doc_put_list(list, NULL);

        lpo_doc_put(column, LPO_V(s->columns.at[i].first), LPO_V(s->columns.at[i].last));
    }
    list = lpo_doc_put_list(r, "parts");
    for (int part = 0; part < LPO_RANK_STEP_PARTS; part++)
        lpo_doc_put(list, LPO_V(lpo_ranks_step_part_name(part)));
    for (size_t i = 0; i < s->ranks.len * s->columns.len; i++) {
        const struct lpo_rank_step *cell = &s->cells[i];

        lpo_pack_add(&bytes, cell->steps);
        lpo_pack_add(&bytes, cell->on_gpu);
        lpo_pack_add(&bytes, cell->bubbles);
        for (int part = 0; part < LPO_RANK_STEP_PARTS; part++)
            if (lpo_ranks_step_known(cell, part))
                lpo_pack_add_signed(&bytes, lpo_ranks_step_mean(cell, part));
    }
    lpo_pack_text(&text, lpo_str_text(&bytes), bytes.len);
    lpo_doc_put(r, LPO_KV("packed", lpo_jv_textn(lpo_str_text(&text), text.len)));
}
