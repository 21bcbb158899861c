/* kernels.md: the long table. */
#include "analysis/analysis.h"
#include "region/scope.h"
#include "report/chapters.h"
#include "report/doc/doc.h"
#include "report/tables/tables.h"
#include "rundir/rundir.h"
#include "trace/trace.h"

enum { REGIONS = 40, KERNELS_OF_REGION = 10 };

struct lpo_doc *lpo_report_kernels_doc(const struct lpo_rundir *d, const struct lpo_source *s)
{
    struct lpo_doc *doc = lpo_doc_create("kernels", "Kernels");
    LPO_AUTO(lpo_region_scope) all = NULL;

    (void)d;
    if (!s || !s->analysis->cells->cells.len) {
        lpo_doc_paragraph(doc, "No GPU work was recorded in this run.");
        return doc;
    }
    all = lpo_region_scope_create(s->analysis->cells, (struct lpo_scope_id){ LPO_SCOPE_ALL, 0 },
                                  s->select);
    lpo_doc_section(doc, "all", "All kernels", 1);
    lpo_doc_paragraph(doc, "From %s, by GPU time.", s->what);
    lpo_report_add_top_kernels(doc, s->analysis, 0);
    lpo_doc_section(doc, "classes", "Kinds of kernels", 1);
    lpo_doc_paragraph(doc, "Guessed from the names of the kernels.");
    lpo_report_add_classes(doc, s->analysis);
    if (s->analysis->tree->nodes.len) {
        lpo_doc_section(doc, "regions", "Kernels by region", 1);
        lpo_report_add_region_kernels(doc, all, REGIONS, KERNELS_OF_REGION);
    }
    return doc;
}
