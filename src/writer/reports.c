/* SPDX-License-Identifier: Apache-2.0 */
#include "writer/reports.h"

#include "report/pages.h"
#include "run/folder.h"
#include "util/file_queue.h"
#include "util/work.h"
#include "writer/writer.h"

static bool is_asked(const struct lpo_report_documents *docs, const struct lpo_writer *w)
{
    return lpo_any(i, docs->nformats, strcmp(docs->formats[i], w->name) == 0);
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

/* The main report in every format asked for that this run has something for, then what is made with
 * every report. */
static int write_report(struct lpo_report_documents *docs, const char *dir,
                        const struct lpo_report_out *out, struct lpo_file_queue *queue,
                        struct lpo_err *err)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < docs->nformats; i++) {
        const struct lpo_writer *w = lpo_writer_find(docs->formats[i]);
        const struct lpo_doc *doc = w ? lpo_report_documents_get(docs, w->kind) : NULL;

        if (!doc)
            continue;
        rc = lpo_writer_queue_into(doc, w, dir, queue, err);
        if (rc == 0 && out && out->files)
            list_files(doc, w, out);
    }
    for (size_t i = 0; rc == 0 && lpo_writer_at(i); i++) {
        const struct lpo_writer *w = lpo_writer_at(i);
        const struct lpo_doc *doc =
            w->always && !is_asked(docs, w) ? lpo_report_documents_get(docs, w->kind) : NULL;

        if (doc)
            rc = lpo_writer_queue_into(doc, w, dir, queue, err);
    }
    return rc;
}

static void print_page(void *queue, const struct lpo_doc *doc, const char *path)
{
    const char *ending = strrchr(path, '.');
    const struct lpo_writer *w = lpo_writer_find(ending ? ending + 1 : "md");

    lpo_writer_queue(doc, w ? w : &lpo_writer_md, path, queue);
}

static void print_text(void *queue, const char *path, struct lpo_str *text)
{
    lpo_file_queue_add(queue, path, text);
}

int lpo_writer_all_reports(const struct lpo_rundir *d, const struct lpo_report_out *out,
                           struct lpo_err *err)
{
    LPO_AUTO(lpo_report_documents) docs = lpo_report_documents_create(d);
    LPO_AUTO(lpo_file_queue) queue = lpo_file_queue_create();
    const struct lpo_report_printer printer = { queue, print_page, print_text };
    const char *dir = out && out->dir ? out->dir : docs->dir;
    int rc;

    lpo_work_begin("making the reports");
    rc = write_report(docs, dir, out, queue, err);
    if (rc == 0)
        rc = lpo_report_pages_print(d, dir, &printer, err);
    if (rc == 0)
        rc = lpo_file_queue_finish(queue, err);
    lpo_work_end();
    return rc;
}
