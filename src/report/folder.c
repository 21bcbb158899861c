/* SPDX-License-Identifier: Apache-2.0 */
#include "report/folder.h"

#include "analysis/ladder/ladder.h"
#include "report/doc/doc.h"
#include "report/findings/findings.h"
#include "report/what_ran.h"
#include "rundir/rundir.h"

enum { MOST_NAMED = 8, MOST_RECORDS = 10000 };

void lpo_report_folder_judge(struct lpo_arena *arena, const struct lpo_rundir *d,
                             struct lpo_report_folder_row *row)
{
    const struct lpo_source *s = lpo_rundir_main(d);
    struct lpo_ladder_words w;
    const struct lpo_rung *r;
    const char *gpus = lpo_report_traced_gpus(d);

    row->gpus = gpus ? lpo_arena_strdup(arena, gpus) : NULL;
    if (!s)
        return;
    row->what = s->what;
    w = lpo_report_ladder_words(arena, d, s);
    row->window_ns = w.ladder ? w.ladder->window.wall_ns : 0;
    r = lpo_report_rung_at(&w, 0);
    if (!r || !lpo_report_rung_counts(&w, r)) {
        row->verdict = lpo_report_ladder_rest(&w);
        return;
    }
    row->id = lpo_ladder_ids[r->kind];
    row->verdict = lpo_report_rung_title(&w, r);
    row->saving =
        lpo_report_rung_has_time(&w, r) || r->bytes ? lpo_report_rung_saving(&w, r) : NULL;
    row->saving_ns = r->saving_ns;
}

void lpo_report_add_left(struct lpo_doc *doc, const char *const *left, size_t count)
{
    LPO_STR s = { 0 };

    if (!count)
        return;
    for (size_t i = 0; i < count && i < MOST_NAMED; i++)
        lpo_str_addf(&s, "%s%s", i ? ", " : "", left[i]);
    if (count > MOST_NAMED)
        lpo_str_addf(&s, " and %zu more", count - MOST_NAMED);
    lpo_doc_paragraph(doc, "Not read, because %s: %s.",
                      count == 1 ? "it is no trace" : "they are no traces", lpo_str_text(&s));
}

static const struct lpo_column columns[] = {
    { "trace", "Trace", LPO_CELL_TEXT, NULL, .width = 40 },
    { "files", "Files", LPO_CELL_COUNT, NULL, 1 },
    { "gpus", "GPUs", LPO_CELL_TEXT, NULL, 2 },
    { "window_ns", "Window", LPO_CELL_NS, NULL, 1 },
    { "verdict", "What to do first", LPO_CELL_TEXT, NULL, .width = 60 },
    { "saving", "Saves", LPO_CELL_TEXT, NULL },
};

static void add_row(struct lpo_table *t, const struct lpo_report_folder_row *r)
{
    lpo_doc_row(t, r->name, r->nfiles, r->gpus, lpo_cell_whole_if(r->window_ns, r->window_ns),
                r->problem ? r->problem : r->verdict, r->saving);
}

static void put_row(struct lpo_record *to, const struct lpo_report_folder_row *r)
{
    struct lpo_record *files;

    lpo_doc_put(to, LPO_KV("name", r->name));
    files = lpo_doc_put_list(to, "files");
    for (size_t i = 0; i < r->nfiles && i < MOST_RECORDS; i++)
        lpo_doc_put(files, LPO_V(r->files[i]));
    lpo_doc_put(to, LPO_KV("report", r->report), LPO_KV("problem", r->problem),
                LPO_KV("what", r->what), LPO_KV("gpus", r->gpus),
                LPO_KV("window_ns", lpo_jv_int_if(r->window_ns != 0, r->window_ns)),
                LPO_KV("finding", r->id), LPO_KV("verdict", r->verdict),
                LPO_KV("saving_ns", lpo_jv_int_if(r->saving_ns != 0, r->saving_ns)));
}

struct lpo_doc *lpo_report_folder_doc(const struct lpo_report_folder_row *rows, size_t count,
                                      const char *const *left, size_t nleft)
{
    struct lpo_doc *doc = lpo_doc_create_data(LPO_FOLDER_SCHEMA, "folder", "Traces of a folder");
    struct lpo_record *list;
    struct lpo_table *t;

    lpo_doc_section(doc, "folder", "", 1);
    lpo_doc_paragraph(doc,
                      "These %zu do not belong together: other jobs, other times, or the same rank "
                      "again. Each has a report of its own.",
                      count);
    t = lpo_doc_table(doc, "traces", "", columns, sizeof columns / sizeof *columns);
    t->least_rows = SIZE_MAX;
    list = lpo_doc_put_list(doc->data, "traces");
    for (size_t i = 0; i < count; i++) {
        add_row(t, &rows[i]);
        put_row(lpo_doc_put_record(list, NULL), &rows[i]);
    }
    for (size_t i = 0; i < count; i++)
        if (rows[i].report)
            lpo_doc_paragraph(doc, "%s: %s", rows[i].name, rows[i].report);
    lpo_report_add_left(doc, left, nleft);
    list = lpo_doc_put_list(doc->data, "not_read");
    for (size_t i = 0; i < nleft && i < MOST_RECORDS; i++)
        lpo_doc_put(list, LPO_V(left[i]));
    return doc;
}
