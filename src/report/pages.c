/* SPDX-License-Identifier: Apache-2.0 */
#include "report/pages.h"

#include "analysis/analysis.h"
#include "report/doc/doc.h"
#include "report/documents.h"
#include "report/ncu_regions.h"
#include "rundir/rundir.h"
#include "util/file.h"
#include "util/path.h"

static struct lpo_doc *timeline_doc(const struct lpo_rundir *d, const struct lpo_source *s)
{
    return s ? lpo_report_timeline_doc(s->analysis, d, s) : NULL;
}

/* Of a run, pages without rows say why there are none; of a list of files, nobody asked. */
static struct lpo_doc *kernels_doc(const struct lpo_rundir *d, const struct lpo_source *s)
{
    return d->dir || (s && lpo_analysis_top(s->analysis, LPO_KERNEL)->len)
               ? lpo_report_kernels_doc(d, s)
               : NULL;
}

static struct lpo_doc *operators_doc(const struct lpo_rundir *d, const struct lpo_source *s)
{
    const struct lpo_source *torch = lpo_rundir_source_with(d, LPO_ROLE_OPERATORS);

    (void)s;
    return d->dir || (torch && torch->trace->ops.len) ? lpo_report_operators_doc(d, torch) : NULL;
}

static struct lpo_doc *torch_operators_doc(const struct lpo_rundir *d, const struct lpo_source *s)
{
    return d->dir && lpo_rundir_source_with(d, LPO_ROLE_OPERATORS) ? operators_doc(d, s) : NULL;
}

static struct lpo_doc *torch_doc(const struct lpo_rundir *d, const struct lpo_source *s)
{
    (void)s;
    return d->dir ? lpo_report_torch_doc(d) : NULL;
}

typedef struct lpo_doc *make_doc(const struct lpo_rundir *d, const struct lpo_source *s);

/* What the writers of the main report write, by the `kind` of their row. */
static const struct {
    const char *kind;
    make_doc *make; /* NULL: this run has nothing for it */
} documents[LPO_REPORT_DOCUMENTS] = {
    { "run", lpo_report_run_doc },
    { "timeline", timeline_doc },
};

struct lpo_report_documents *lpo_report_documents_create(const struct lpo_rundir *d)
{
    struct lpo_report_documents *r = lpo_xcalloc(1, sizeof *r);

    *r = (struct lpo_report_documents){ d, d->dir, d->formats.at, d->formats.len };
    return r;
}

void lpo_report_documents_destroy(struct lpo_report_documents *r)
{
    for (size_t i = 0; r && i < LPO_REPORT_DOCUMENTS; i++)
        lpo_doc_destroy(r->docs[i]);
    free(r);
}

const struct lpo_doc *lpo_report_documents_get(struct lpo_report_documents *r, const char *kind)
{
    const struct lpo_source *s = lpo_rundir_main(r->d);
    bool page = strcmp(kind, "page") == 0;
    size_t i = 0;

    while (i < LPO_REPORT_DOCUMENTS && strcmp(documents[i].kind, page ? "run" : kind) != 0)
        i++;
    if (i == LPO_REPORT_DOCUMENTS)
        return NULL;
    if (!r->tried[i])
        r->docs[i] = documents[i].make(r->d, s);
    r->tried[i] = true;
    if (page && !r->docs[i]->page)
        lpo_report_add_page(r->docs[i], r->d, s);
    return r->docs[i];
}

/* The other pages of a run, always in these formats. */
static const struct {
    make_doc *make;
    unsigned role; /* they lie in the folder of the stage that has it; 0: in the run's */
    const char *files[2];
} pages[] = {
    { kernels_doc, 0, { "kernels.md" } },
    { operators_doc, 0, { "operators.md" } },
    { lpo_summary_doc, 0, { "stakeholder_summary.md" } },
    { torch_operators_doc, LPO_ROLE_OPERATORS, { "operators.md" } },
    { torch_doc, LPO_ROLE_OPERATORS, { "report.md", "metrics.json" } },
};

/* The folder of the stage that has the role; 0: the run's. */
static const char *folder_of(const struct lpo_rundir *d, const char *dir, unsigned role)
{
    const char *stage = role ? lpo_rundir_stage_with(d, role) : NULL;

    return stage ? lpo_path_join(d->arena, dir, stage) : dir;
}

static int print_files(const struct lpo_rundir *d, const struct lpo_doc *doc, const char *dir,
                       const char *const *files, const struct lpo_report_printer *to,
                       struct lpo_err *err)
{
    if (lpo_file_make_dirs(dir, err) < 0)
        return err->code;
    for (int k = 0; k < 2 && files[k]; k++)
        to->page(to->ctx, doc, lpo_path_join(d->arena, dir, files[k]));
    return 0;
}

/* A capture of the region's own has ncu's raw page beside it; both names are made by the stage. */
static bool has_capture(struct lpo_arena *a, const char *dir)
{
    return lpo_path_exists(lpo_path_join(a, dir, "run.ncu-rep")) ||
           lpo_path_exists(lpo_path_join(a, dir, "nested.ncu-rep"));
}

static const char *const region_files[] = { "report.md", "report.json" };

static int print_region(const struct lpo_rundir *d, const struct lpo_report_ncu *n, size_t i,
                        const char *dir, const struct lpo_report_printer *to, struct lpo_err *err)
{
    const char *name = NULL;
    LPO_AUTO(lpo_doc) doc = lpo_report_ncu_region_doc(n, i, &name);
    LPO_STR rows = { 0 };

    if (!doc)
        return 0;
    dir = lpo_path_join(d->arena, dir, name);
    if (print_files(d, doc, dir, region_files, to, err) < 0)
        return lpo_ctx(err, "cannot write the folder of region '%s'", doc->title);
    if (!has_capture(d->arena, dir) && lpo_report_ncu_region_csv(n, i, &rows))
        to->text(to->ctx, lpo_path_join(d->arena, dir, "raw.csv"), &rows);
    return 0;
}

/* In the folder of the stage that counts, regions/: one document over all regions, and a folder for
 * each. */
static int print_ncu_regions(const struct lpo_rundir *d, const char *dir,
                             const struct lpo_report_printer *to, struct lpo_err *err)
{
    LPO_AUTO(lpo_report_ncu) n = lpo_report_ncu_create(d);
    LPO_AUTO(lpo_doc) all = NULL;

    if (!n)
        return 0;
    dir = lpo_path_join(d->arena, folder_of(d, dir, LPO_ROLE_COUNTERS), "regions");
    for (size_t i = 0; i < lpo_report_ncu_rows(n); i++)
        if (print_region(d, n, i, dir, to, err) < 0)
            return err->code;
    all = lpo_report_ncu_doc(n);
    return print_files(d, all, dir, region_files, to, err);
}

int lpo_report_pages_print(const struct lpo_rundir *d, const char *dir,
                           const struct lpo_report_printer *to, struct lpo_err *err)
{
    const struct lpo_source *s = lpo_rundir_main(d);

    for (size_t i = 0; i < sizeof pages / sizeof *pages; i++) {
        LPO_AUTO(lpo_doc) doc = pages[i].make(d, s);

        if (doc &&
            print_files(d, doc, folder_of(d, dir, pages[i].role), pages[i].files, to, err) < 0)
            return err->code;
    }
    return print_ncu_regions(d, dir, to, err);
}
