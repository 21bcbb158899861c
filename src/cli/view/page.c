/* SPDX-License-Identifier: Apache-2.0 */
/* The page and what its timeline asks for, from the traces. */
#include <sys/stat.h>

#include "analysis/run.h"
#include "cli/app.h"
#include "cli/options.h"
#include "cli/view/request.h"
#include "cli/view/view.h"
#include "pipeline/stage.h"
#include "report/doc/doc.h"
#include "report/documents.h"
#include "report/page/page.h"
#include "run/clock.h"
#include "run/folder.h"
#include "rundir/rundir.h"
#include "util/file.h"
#include "util/path.h"
#include "writer/writer.h"

enum { LOOK_NS = 1000000000 };

/* As a file of the report would be written: without what is secret. */
static void hide_secrets(struct lpo_str *text)
{
    struct lpo_str other = { 0 };

    if (!lpo_file_filtered(lpo_str_text(text), text->len, &other)) {
        lpo_str_free(&other);
        return;
    }
    lpo_str_free(text);
    *text = other;
}

/* Is made beside what is served, which stays where this fails. */
static int make(struct lpo_view_page *p, struct lpo_err *err)
{
    struct lpo_rundir_options o = { .kinds = lpo_pipeline_trace_kinds(p->app->arena) };
    LPO_AUTO(lpo_analysis_run) run = NULL;
    LPO_AUTO(lpo_doc) doc = NULL;
    struct lpo_record *served;

    if (lpo_analysis_run_of_paths(p->args->words, p->args->nwords, &o, &run, err) < 0)
        return err->code;
    doc = lpo_report_run_doc(run->dir, lpo_rundir_main(run->dir));
    doc->served = true;
    lpo_page_detail_destroy(p->detail);
    p->detail = lpo_page_put(doc, run->dir, lpo_rundir_main(run->dir));
    served = lpo_doc_put_record(doc->page, "served");
    lpo_doc_put(served, LPO_KV("version", ++p->version),
                LPO_KV("running", lpo_jv_flag(p->dir != NULL)));
    lpo_str_clear(&p->html);
    lpo_writer_html.write(doc, &p->html);
    hide_secrets(&p->html);
    p->delivered = false;
    lpo_analysis_run_destroy(p->run); /* after the detail, which borrows it */
    p->run = run;
    run = NULL;
    return 0;
}

/* Names, sizes and times of what is in the folder, as one number. */
static uint64_t look(const char *dir)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    struct lpo_paths files = { 0 };
    struct lpo_err ignored = { 0 };
    LPO_STR all = { 0 };
    struct stat st;

    (void)lpo_run_folder_list(a, dir, "", &files, &ignored);
    for (size_t i = 0; i < files.len; i++)
        if (stat(lpo_path_join(a, dir, files.at[i]), &st) == 0)
            lpo_str_addf(&all, "%s %lld %lld.%ld\n", files.at[i], (long long)st.st_size,
                         (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
    return lpo_str_hash(lpo_str_text(&all), all.len);
}

int lpo_cli_view_page_open(struct lpo_view_page *p, struct lpo_app *app,
                           const struct lpo_args *args, struct lpo_err *err)
{
    *p = (struct lpo_view_page){ .app = app, .args = args };
    if (args->nwords == 1 && lpo_run_folder_is_used(args->words[0])) {
        p->dir = args->words[0];
        p->followed = true;
        p->files = look(p->dir);
    }
    return make(p, err);
}

void lpo_cli_view_page_follow(struct lpo_view_page *p)
{
    int64_t begun_ns = lpo_run_clock_ns();
    struct lpo_err err = { 0 };
    uint64_t files;
    bool over;

    if (!p->dir || begun_ns < p->next_ns)
        return;
    over = !lpo_run_folder_is_used(p->dir);
    files = look(p->dir);
    if (over)
        p->dir = NULL;
    if (over || files != p->files) {
        p->files = files;
        if (make(p, &err) < 0)
            lpo_cli_print_error(p->app, "lpo view: the page stays as it was", &err);
    }
    /* what takes long is done seldom */
    p->next_ns = lpo_run_clock_ns() + 4 * (lpo_run_clock_ns() - begun_ns) + LOOK_NS;
}

void lpo_cli_view_page_close(struct lpo_view_page *p)
{
    lpo_page_detail_destroy(p->detail);
    lpo_analysis_run_destroy(p->run);
    lpo_str_free(&p->html);
}

static int answer_page(struct lpo_view_page *p, const struct lpo_view_request *r,
                       struct lpo_str *body)
{
    (void)r;
    lpo_str_addn(body, p->html.at, p->html.len);
    p->delivered = true;
    return 200;
}

static int answer_state(struct lpo_view_page *p, const struct lpo_view_request *r,
                        struct lpo_str *body)
{
    (void)r;
    lpo_str_addf(body, "{\"version\":%lld,\"running\":%s}\n", (long long)p->version,
                 p->dir ? "true" : "false");
    return 200;
}

/* events?lane=N or ?thread=N, &from=NS&to=NS */
static int answer_events(struct lpo_view_page *p, const struct lpo_view_request *r,
                         struct lpo_str *body)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    struct lpo_record *record = lpo_doc_record_create(a);
    struct lpo_json_writer w = lpo_json_writer(body, 0);
    int64_t from_ns, to_ns, row;
    bool lane = lpo_cli_view_request_number(r, "lane", &row);

    if ((!lane && !lpo_cli_view_request_number(r, "thread", &row)) || row < 0 ||
        !lpo_cli_view_request_number(r, "from", &from_ns) ||
        !lpo_cli_view_request_number(r, "to", &to_ns))
        return 400;
    if (!p->detail || !(lane ? lpo_page_put_operations
                             : lpo_page_put_slices)(record, p->detail, (size_t)row, from_ns, to_ns))
        return 404;
    lpo_jw_object(&w, NULL);
    lpo_writer_record_json(&w, record);
    lpo_jw_end(&w);
    hide_secrets(body);
    return 200;
}

int lpo_cli_view_page_answer(struct lpo_view_page *p, const struct lpo_view_request *r,
                             const char *name, size_t len, const char **type, struct lpo_str *body)
{
    static const struct {
        const char *name, *type;
        int (*answer)(struct lpo_view_page *p, const struct lpo_view_request *r,
                      struct lpo_str *body);
    } names[] = {
        { "", "text/html; charset=utf-8", answer_page },
        { "state", "application/json", answer_state },
        { "events", "application/json", answer_events },
    };

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strlen(names[i].name) != len || memcmp(names[i].name, name, len) != 0)
            continue;
        *type = names[i].type;
        return names[i].answer(p, r, body);
    }
    return 404;
}
