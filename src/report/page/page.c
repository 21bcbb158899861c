/* SPDX-License-Identifier: Apache-2.0 */
/* report.html's document: the chapters of the report, and the data that its views are drawn from.
 */
#include "report/page/page.h"

#include <stdint.h>
#include <stdlib.h>

#include "analysis/analysis.h"
#include "analysis/tables/tables.h"
#include "region/classes.h"
#include "region/top_kernels.h"
#include "report/chapters/chapters.h"
#include "report/doc/doc.h"
#include "report/documents.h"
#include "report/findings/findings.h"
#include "report/trace_records.h"
#include "rundir/rundir.h"
#include "trace/trace.h"
#include "util/xmalloc.h"

/* A name may have 4 KB, and a page has 5 MB. */
enum { MOST_KERNELS = 4000, MOST_NAME_BYTES = 1 << 20 };

struct lpo_page_kernels lpo_page_put_kernels(struct lpo_record *to, const struct lpo_analysis *a)
{
    size_t names = lpo_trace_name_count(a->trace);
    struct lpo_page_kernels k = { lpo_xrealloc(NULL, names + 1, sizeof *k.rows), 0 };
    struct lpo_record *list = lpo_doc_put_list(to, "kernels");
    size_t bytes = 0, all = 0;

    for (size_t i = 0; i <= names; i++)
        k.rows[i] = LPO_NONE;
    for (int kind = LPO_KERNEL; kind <= LPO_MEMSET; kind++) {
        const lpo_top_rows *top = lpo_analysis_top(a, (enum lpo_gpu_op_kind)kind);
        const struct lpo_rows rows =
            lpo_tables_top(lpo_tables_of(to->arena, a, NULL), (enum lpo_gpu_op_kind)kind, NULL);

        all += top->len;
        for (size_t i = 0; i < top->len && k.count < MOST_KERNELS; i++) {
            bytes += lpo_trace_text_len(a->trace, top->at[i].name);
            if (bytes > MOST_NAME_BYTES)
                break;
            lpo_doc_put_row(lpo_doc_put_record(list, NULL), &rows, i,
                            "name short_name class launches gpu_ns min_ns max_ns");
            k.rows[top->at[i].name] = (uint32_t)k.count++;
        }
    }
    lpo_doc_put_uint(to, "kernels_left_out", all - k.count);
    return k;
}

struct lpo_doc *lpo_report_page_doc(const struct lpo_rundir *d, const struct lpo_source *s)
{
    struct lpo_doc *doc = lpo_report_run_sections(d, s);
    int64_t zero_ns = LPO_NO_TIME;

    doc->kind = "page";
    if (s)
        lpo_report_chapter_fusion(doc, s); /* report.md has no room; kernels.md has it too */
    if (s) {
        struct lpo_page_kernels kernels = lpo_page_put_kernels(doc->data, s->analysis);
        uint32_t *regions =
            lpo_page_put_regions(doc->data, s->analysis, &kernels, d->fold_over != SIZE_MAX);

        lpo_report_put_findings(doc->data, d, s);
        lpo_report_put_coverage(doc->data, s->analysis);
        lpo_report_put_notes(doc->data, s->analysis, s->select);
        lpo_report_put_wall(doc->data, s->analysis);
        lpo_page_put_rank_steps(doc->data, s->analysis);
        lpo_page_put_shapes(doc->data, s->analysis, &kernels);
        lpo_page_put_counters(doc->data, s->analysis, regions);
        zero_ns = lpo_page_put_strip(doc->data, s->analysis, &kernels, regions);
        lpo_page_put_stacks(doc->data, s->analysis, &kernels, zero_ns);
        free(regions);
        free(kernels.rows);
    }
    lpo_page_put_charts(doc->data, d, s, zero_ns);
    return doc;
}
