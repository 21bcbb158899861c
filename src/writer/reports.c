/* SPDX-License-Identifier: Apache-2.0 */
#include "writer/reports.h"

#include <string.h>

#include "analysis/analysis.h"
#include "region/top_kernels.h"
#include "report/doc/doc.h"
#include "report/documents.h"
#include "report/ncu_regions.h"
#include "run/folder.h"
#include "rundir/rundir.h"
#include "trace/trace.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/file.h"
#include "util/file_queue.h"
#include "util/path.h"
#include "util/str.h"
#include "writer/writer.h"

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
} documents[] = {
    { "run", lpo_report_run_doc },
    { "timeline", timeline_doc },
};

enum { DOCUMENTS = sizeof documents / sizeof *documents };

/* The other pages of a run, always in these formats. */
static const struct {
    make_doc *make;
    unsigned role; /* they lie in the folder of the stage that has it; 0: in the run's */
    struct {
        const struct lpo_writer *writer;
        const char *file;
    } files[2];
} pages[] = {
    { kernels_doc, 0, { { &lpo_writer_md, "kernels.md" } } },
    { operators_doc, 0, { { &lpo_writer_md, "operators.md" } } },
    { lpo_summary_doc, 0, { { &lpo_writer_md, "stakeholder_summary.md" } } },
    { torch_operators_doc, LPO_ROLE_OPERATORS, { { &lpo_writer_md, "operators.md" } } },
    { torch_doc,
      LPO_ROLE_OPERATORS,
      { { &lpo_writer_md, "report.md" }, { &lpo_writer_json, "metrics.json" } } },
};

/* Each document is made once, when the first writer wants it. */
struct made {
    struct lpo_doc *docs[DOCUMENTS];
    bool tried[DOCUMENTS];
};

static struct lpo_doc *doc_of_kind(struct made *m, const char *kind, const struct lpo_rundir *d,
                                   const struct lpo_source *s)
{
    for (size_t i = 0; i < DOCUMENTS; i++) {
        if (strcmp(documents[i].kind, kind) != 0)
            continue;
        if (!m->tried[i])
            m->docs[i] = documents[i].make(d, s);
        m->tried[i] = true;
        return m->docs[i];
    }
    return NULL;
}

/* The page is the report with the data of its views. */
static const struct lpo_doc *doc_for(struct made *m, const struct lpo_writer *w,
                                     const struct lpo_rundir *d, const struct lpo_source *s)
{
    bool page = strcmp(w->kind, "page") == 0;
    struct lpo_doc *doc = doc_of_kind(m, page ? "run" : w->kind, d, s);

    if (page && !doc->page)
        lpo_report_add_page(doc, d, s);
    return doc;
}

static bool is_asked(const struct lpo_rundir *d, const struct lpo_writer *w)
{
    for (size_t i = 0; i < d->formats.len; i++)
        if (strcmp(d->formats.at[i], w->name) == 0)
            return true;
    return false;
}

static const char *folder(const struct lpo_rundir *d, const struct lpo_report_out *out)
{
    return out && out->dir ? out->dir : d->dir;
}

/* The folder of the stage that has the role; 0: the run's. */
static const char *folder_of(const struct lpo_rundir *d, const struct lpo_report_out *out,
                             unsigned role)
{
    const char *stage = role ? lpo_rundir_stage_with(d, role) : NULL;

    return stage ? lpo_path_join(d->arena, folder(d, out), stage) : folder(d, out);
}

static void list_files(const struct lpo_doc *doc, const struct lpo_writer *w,
                       const struct lpo_report_out *out)
{
    const struct lpo_table *t;
    const char *file;

    for (size_t i = 0; w->print && (file = lpo_writer_table_file(doc, w, i, out->arena, &t)); i++)
        lpo_vec_push(out->files, file);
    if (w->write && !w->print)
        lpo_vec_push(out->files, lpo_arena_strdup(out->arena, w->file));
}

/* The main report in every format asked for that this run has something for. */
static int write_report(const struct lpo_rundir *d, const struct lpo_source *s,
                        const struct lpo_report_out *out, struct lpo_file_queue *queue,
                        struct lpo_err *err)
{
    struct made made = { 0 };
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < d->formats.len; i++) {
        const struct lpo_writer *w = lpo_writer_find(d->formats.at[i]);
        const struct lpo_doc *doc = w ? doc_for(&made, w, d, s) : NULL;

        if (!doc)
            continue;
        rc = lpo_writer_queue_into(doc, w, folder(d, out), queue, err);
        if (rc == 0 && out && out->files)
            list_files(doc, w, out);
    }
    for (size_t i = 0; rc == 0 && lpo_writer_at(i); i++) {
        const struct lpo_writer *w = lpo_writer_at(i);
        const struct lpo_doc *doc = w->always && !is_asked(d, w) ? doc_for(&made, w, d, s) : NULL;

        if (doc)
            rc = lpo_writer_queue_into(doc, w, folder(d, out), queue, err);
    }
    for (size_t i = 0; i < DOCUMENTS; i++)
        lpo_doc_destroy(made.docs[i]);
    return rc;
}

static int write_pages(const struct lpo_rundir *d, const struct lpo_source *s,
                       const struct lpo_report_out *out, struct lpo_file_queue *queue,
                       struct lpo_err *err)
{
    for (size_t i = 0; i < sizeof pages / sizeof *pages; i++) {
        LPO_AUTO(lpo_doc) doc = pages[i].make(d, s);
        const char *dir = folder_of(d, out, pages[i].role);

        for (int k = 0; doc && k < 2 && pages[i].files[k].writer; k++) {
            const char *path = lpo_path_join(d->arena, dir, pages[i].files[k].file);

            if (lpo_file_make_dirs(lpo_path_dir(d->arena, path), err) < 0)
                return err->code;
            lpo_writer_queue(doc, pages[i].files[k].writer, path, queue);
        }
    }
    return 0;
}

/* A capture of the region's own has ncu's raw page beside it; both names are made by the stage. */
static bool has_capture(struct lpo_arena *a, const char *dir)
{
    return lpo_path_exists(lpo_path_join(a, dir, "run.ncu-rep")) ||
           lpo_path_exists(lpo_path_join(a, dir, "nested.ncu-rep"));
}

static int write_region(const struct lpo_rundir *d, const struct lpo_report_ncu *n, size_t i,
                        const char *dir, struct lpo_file_queue *queue, struct lpo_err *err)
{
    const char *name = NULL;
    LPO_AUTO(lpo_doc) doc = lpo_report_ncu_region_doc(n, i, &name);
    LPO_STR rows = { 0 };

    if (!doc)
        return 0;
    dir = lpo_path_join(d->arena, dir, name);
    if (lpo_writer_queue_pair(doc, dir, "report", queue, err) < 0)
        return lpo_ctx(err, "cannot write the folder of region '%s'", doc->title);
    if (!has_capture(d->arena, dir) && lpo_report_ncu_region_csv(n, i, &rows))
        lpo_file_queue_add(queue, lpo_path_join(d->arena, dir, "raw.csv"), &rows);
    return 0;
}

/* In the folder of the stage that counts, regions/: one document over all regions, and a folder for
 * each. */
static int write_ncu_regions(const struct lpo_rundir *d, const struct lpo_report_out *out,
                             struct lpo_file_queue *queue, struct lpo_err *err)
{
    LPO_AUTO(lpo_report_ncu) n = lpo_report_ncu_create(d);
    LPO_AUTO(lpo_doc) all = NULL;
    const char *dir = lpo_path_join(d->arena, folder_of(d, out, LPO_ROLE_COUNTERS), "regions");

    if (!n)
        return 0;
    for (size_t i = 0; i < lpo_report_ncu_rows(n); i++)
        if (write_region(d, n, i, dir, queue, err) < 0)
            return err->code;
    all = lpo_report_ncu_doc(n);
    return lpo_writer_queue_pair(all, dir, "report", queue, err);
}

int lpo_writer_all_reports(const struct lpo_rundir *d, const struct lpo_report_out *out,
                           struct lpo_err *err)
{
    const struct lpo_source *s = lpo_rundir_main(d);
    LPO_AUTO(lpo_file_queue) queue = lpo_file_queue_create();

    if (write_report(d, s, out, queue, err) < 0 || write_pages(d, s, out, queue, err) < 0 ||
        write_ncu_regions(d, out, queue, err) < 0)
        return err->code;
    return lpo_file_queue_finish(queue, err);
}
