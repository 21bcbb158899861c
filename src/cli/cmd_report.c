/* SPDX-License-Identifier: Apache-2.0 */
/* lpo report: every report of a run, or of any traces that belong together. */
#include <ctype.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analysis/run.h"
#include "cli/app.h"
#include "cli/command.h"
#include "cli/run/job.h"
#include "cli/screen.h"
#include "cli/trace_options.h"
#include "pipeline/stage.h"
#include "report/doc/doc.h"
#include "report/documents.h"
#include "report/findings/findings.h"
#include "report/folder.h"
#include "run/folder.h"
#include "rundir/belonging.h"
#include "rundir/rundir.h"
#include "util/file.h"
#include "util/path.h"
#include "writer/reports.h"
#include "writer/writer.h"

static const struct lpo_option options[] = {
    { "json", 0, LPO_OPT_FLAG, NULL, "report.json on stdout; no file is written" },
    { "findings", 0, LPO_OPT_FLAG, NULL,
      "what to do first, on stdout; no file is written; docs/findings.md has the kinds" },
    { "output", 'o', LPO_OPT_TEXT, "DIR",
      "the folder for the reports (default: the run's own, or lpo-report/ beside the traces)" },
    { "via", 0, LPO_OPT_TEXT, "slurm",
      "a job of the cluster makes a digest of each trace; the report is made of those" },
    { "open", 0, LPO_OPT_FLAG, NULL, "show report.html in a browser" },
    { "full-names", 0, LPO_OPT_FLAG, NULL, "whole names of kernels, not short ones" },
    { NULL, 0, LPO_OPT_FLAG, NULL, NULL },
};

/* The words of the command line. */
struct words {
    const char **paths; /* run folder, files, folders */
    size_t npaths;
    const char **overrides; /* report.KEY=VALUE, NULL-terminated */
};

/* KEY=VALUE and ~KEY are overrides, unless there is a file of that name. */
static struct words sort_words(struct lpo_arena *a, const struct lpo_args *args)
{
    struct words w = { lpo_arena_array(a, args->nwords + 1, sizeof *w.paths), 0,
                       lpo_arena_array(a, args->nwords + 2, sizeof *w.overrides) };
    size_t n = 0;

    for (size_t i = 0; i < args->nwords; i++) {
        if ((strchr(args->words[i], '=') || args->words[i][0] == '~') &&
            !lpo_path_exists(args->words[i]))
            w.overrides[n++] = args->words[i];
        else
            w.paths[w.npaths++] = args->words[i];
    }
    if (lpo_cli_args_has(args, "full-names"))
        w.overrides[n++] = "report.full_names=true";
    return w;
}

#define LATEST "tmp/profile-output/latest" /* run/folder.h, and hydra.run.dir of conf/ */

/* The run folder that `latest` leads to, by its own name; NULL: there is none. */
static const char *latest_run(struct lpo_arena *a)
{
    char name[256];
    ssize_t n = readlink(LATEST, name, sizeof name - 1);

    if (n <= 0 || !lpo_path_is_dir(LATEST))
        return NULL;
    name[n] = '\0';
    return lpo_path_join(a, lpo_path_dir(a, LATEST), name);
}

static void print_json(struct lpo_app *app, const struct lpo_rundir *d)
{
    LPO_AUTO(lpo_doc) doc = lpo_report_run_doc(d, lpo_rundir_main(d));

    lpo_cli_print_doc(app, doc, &lpo_writer_json);
}

static void print_findings(struct lpo_app *app, const struct lpo_rundir *d)
{
    LPO_AUTO(lpo_doc) doc = lpo_report_findings_doc(d, lpo_rundir_main(d));

    lpo_cli_print_doc(app, doc, &lpo_writer_text);
}

/* A folder that this user can write into, and that is not somebody else's where anybody may. */
static bool is_place(const char *folder)
{
    struct stat st;

    return stat(folder, &st) == 0 && S_ISDIR(st.st_mode) && access(folder, W_OK) == 0 &&
           (st.st_uid == geteuid() || !(st.st_mode & (S_IWGRP | S_IWOTH)));
}

/* Where reports go that cannot, or should not, be written into `folder`; a line says so. */
static const char *choose_place(struct lpo_app *app, const char *folder)
{
    const char *home = getenv("HOME"), *temp = getenv("TMPDIR");
    const char *place = is_place(".") ? "." : home && is_place(home) ? home : temp ? temp : "/tmp";
    const char *dir = lpo_path_join(app->arena, place, "lpo-report");

    fprintf(app->log, "lpo report: '%s' is %s; the reports go to '%s' (-o chooses the folder)\n",
            folder, access(folder, W_OK) == 0 ? "shared by others" : "read-only", dir);
    return dir;
}

/* Beside the traces: in their folder, or in the working folder for standard input. */
static const char *folder_beside(struct lpo_app *app, const char *path)
{
    const char *folder = lpo_path_is_dir(path)    ? path
                         : strcmp(path, "-") == 0 ? "."
                                                  : lpo_path_dir(app->arena, path);
    const char *beside = lpo_path_join(app->arena, folder, "lpo-report");

    return is_place(beside) || is_place(folder) ? beside : choose_place(app, folder);
}

static bool same_folder(const char *x, const char *y)
{
    struct stat a, b;

    return stat(x, &a) == 0 && stat(y, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/* On a terminal the answer, too, and where the page is; others read one path in a line. */
static void print_end(struct lpo_app *app, const struct lpo_rundir *d, const char *dir)
{
    const char *page = lpo_path_join(app->arena, dir, "report.html");

    if (!isatty(STDOUT_FILENO))
        return;
    lpo_cli_findings_print(app, d);
    if (lpo_path_exists(page))
        fprintf(app->out, "\npage: %s\n", page);
}

static int write_reports(struct lpo_app *app, const struct lpo_args *args,
                         const struct lpo_rundir *d, const char *dir, struct lpo_err *err)
{
    struct lpo_paths files = { 0 };
    const struct lpo_report_out out = { app->arena, dir, &files };
    int rc = lpo_writer_all_reports(d, &out, err);

    for (size_t i = 0; rc == 0 && i < files.len; i++)
        fprintf(app->out, "%s\n", lpo_path_join(app->arena, dir, files.at[i]));
    lpo_vec_free(&files);
    if (rc == 0)
        print_end(app, d, dir);
    if (rc == 0 && lpo_cli_args_has(args, "open"))
        lpo_cli_open_page(app, dir);
    return rc;
}

/* Who looks at a report later reads it there; who builds it should not have to. One line. */
static void say_damage(struct lpo_app *app, const struct lpo_rundir *d)
{
    const struct lpo_source *first = NULL;
    size_t more = 0;

    for (size_t i = 0; i < d->sources.len; i++) {
        const struct lpo_source *s = &d->sources.at[i];

        if (!s->trace || !s->trace->damage_note)
            continue;
        more += first != NULL;
        first = first ? first : s;
    }
    if (!first)
        return;
    const struct lpo_trace *t = first->trace;
    const struct lpo_trace_note *note = &t->notes.at[t->damage_note - 1];

    fprintf(app->log, "lpo report: warning: %s%s is cut or damaged: ",
            first->nfiles == 1 ? first->files[0] : first->what,
            first->nfiles == 1 ? "" : ", one of its files or more,");
    if (note->count)
        fprintf(app->log, "%llu ", (unsigned long long)note->count);
    fprintf(app->log, "%s%s\n", lpo_trace_text(t, note->text),
            more ? " (other sources are, too; the report says more)" : "");
}

/* --- a folder of traces that do not belong together ------------------------------------------ */

/* The folder of a report: of its name what every file system takes. */
static const char *safe_name(struct lpo_arena *a, const char *name, size_t i)
{
    char *safe = (char *)lpo_arena_printf(a, "%02zu-%.80s", i + 1, name);

    for (char *c = safe; *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr("-_.", *c))
            *c = '_';
    return safe;
}

/* Reads one group, judges it, and writes its reports below `out`, unless that is NULL. */
static void report_group(struct lpo_app *app, const char *dir, const struct lpo_rundir_group *g,
                         struct lpo_rundir_options *o, const char *out,
                         struct lpo_report_folder_row *row)
{
    LPO_AUTO(lpo_analysis_run) made = NULL;
    const char **only = lpo_arena_array(app->arena, g->files.len + 1, sizeof *only);
    const char **files = lpo_arena_array(app->arena, g->files.len + 1, sizeof *files);
    struct lpo_err why = { 0 };

    for (size_t i = 0; i < g->files.len; i++) {
        only[i] = g->files.at[i];
        files[i] = only[i] + strlen(dir) + (dir[strlen(dir) - 1] != '/');
    }
    o->only = only;
    row->name = g->name;
    row->files = files;
    row->nfiles = g->files.len;
    if (lpo_analysis_run_of_paths(&dir, 1, o, &made, &why) < 0) {
        row->problem = lpo_arena_strdup(app->arena, lpo_err_cause(&why));
        return;
    }
    lpo_report_folder_judge(app->arena, made->dir, row);
    if (!out)
        return;
    const struct lpo_report_out to = { app->arena, out, NULL };

    if (lpo_file_make_dirs(out, &why) < 0 || lpo_writer_all_reports(made->dir, &to, &why) < 0)
        row->problem = lpo_arena_strdup(app->arena, lpo_err_cause(&why));
    else
        row->report = lpo_path_join(app->arena, lpo_path_base(out), "report.md");
}

static int write_list(struct lpo_app *app, const struct lpo_doc *doc, const char *dir,
                      struct lpo_err *err)
{
    if (lpo_writer_write_pair(doc, dir, "report", err) < 0)
        return err->code;
    fprintf(app->out, "%s\n%s\n", lpo_path_join(app->arena, dir, "report.md"),
            lpo_path_join(app->arena, dir, "report.json"));
    return 0;
}

static int report_groups(struct lpo_app *app, const struct lpo_args *args, const char *dir,
                         const struct lpo_rundir_groups *groups, struct lpo_rundir_options *o,
                         struct lpo_err *err)
{
    struct lpo_report_folder_row *rows =
        lpo_arena_array(app->arena, groups->all.len + 1, sizeof *rows);
    bool printed = lpo_cli_args_has(args, "json") || lpo_cli_args_has(args, "findings");
    const char *out = lpo_cli_args_text(args, "output", NULL);
    struct lpo_run_folder folder;
    LPO_AUTO(lpo_doc) doc = NULL;
    int rc = 0;

    if (!printed && !out)
        out = folder_beside(app, dir);
    if (!printed)
        rc = lpo_run_folder_claim(app->arena, out, &folder, err);

    for (size_t i = 0; rc == 0 && i < groups->all.len; i++)
        report_group(app, dir, &groups->all.at[i], o,
                     printed ? NULL
                             : lpo_path_join(app->arena, out,
                                             safe_name(app->arena, groups->all.at[i].name, i)),
                     &rows[i]);
    if (rc == 0)
        doc = lpo_report_folder_doc(rows, groups->all.len, groups->left.at, groups->left.len);
    if (printed)
        lpo_cli_print_doc(app, doc,
                          lpo_cli_args_has(args, "json") ? &lpo_writer_json : &lpo_writer_text);
    else if (rc == 0)
        rc = write_list(app, doc, out, err);
    if (!printed)
        lpo_run_folder_close(&folder);
    return rc;
}

/* A folder whose traces do not belong together is a list; *done says whether it is one. */
static int report_folder(struct lpo_app *app, const struct lpo_args *args, const char *dir,
                         struct lpo_rundir_options *o, bool *done, struct lpo_err *err)
{
    struct lpo_rundir_groups groups = { 0 };
    int rc = 0;

    *done = false;
    if (!lpo_path_is_dir(dir) || lpo_rundir_is_run(dir, o->kinds))
        return 0;
    rc = lpo_rundir_groups_find(app->arena, dir, &groups, err);
    *done = rc == 0 && groups.all.len > 1;
    if (*done)
        rc = report_groups(app, args, dir, &groups, o, err);
    lpo_rundir_groups_free(&groups);
    return rc;
}

/* Digests stand in for the traces; they lie beside the report. */
static int join_via(struct lpo_app *app, const struct lpo_args *args, struct words *w,
                    const char **dir, struct lpo_err *err)
{
    *dir = *dir ? *dir : folder_beside(app, w->paths[0]);
    return lpo_cli_report_via(app, lpo_cli_args_text(args, "via", NULL), w->paths, w->npaths,
                              lpo_arena_printf(app->arena, "%s-digests", *dir), &w->paths,
                              &w->npaths, err);
}

static int run(struct lpo_app *app, const struct lpo_args *args, struct lpo_err *err)
{
    struct words w = sort_words(app->arena, args);
    struct lpo_rundir_options o = { .kinds = lpo_pipeline_trace_kinds(app->arena),
                                    .overrides = w.overrides };
    const char *dir = lpo_cli_args_text(args, "output", NULL);
    LPO_AUTO(lpo_analysis_run) made = NULL;
    struct lpo_run_folder folder;
    bool is_list = false;
    int rc;

    if (!w.npaths && !(w.paths[w.npaths++] = latest_run(app->arena)))
        return lpo_fail(err, LPO_E_USAGE,
                        "no run folder and no trace is given, and there is no " LATEST
                        "; usage: lpo report DIR|FILE… [report.KEY=VALUE…]");
    if (w.npaths == 1 && (report_folder(app, args, w.paths[0], &o, &is_list, err) < 0 || is_list))
        return err->code ? lpo_ctx(err, "cannot report on '%s'", w.paths[0]) : 0;
    if (lpo_cli_args_text(args, "via", NULL) && join_via(app, args, &w, &dir, err) < 0)
        return err->code;
    if (lpo_analysis_run_of_paths(w.paths, w.npaths, &o, &made, err) < 0)
        return lpo_ctx(err, "cannot report on '%s'", w.paths[0]);
    say_damage(app, made->dir);
    if (lpo_cli_args_has(args, "json") || lpo_cli_args_has(args, "findings")) {
        (lpo_cli_args_has(args, "json") ? print_json : print_findings)(app, made->dir);
        return 0;
    }
    if (made->dir->dir && !dir && access(w.paths[0], W_OK) < 0)
        dir = choose_place(app, w.paths[0]);
    if (made->dir->dir && (!dir || same_folder(dir, w.paths[0]))) {
        lpo_file_sweep(w.paths[0], true); /* what a killed lpo left half-written */
        return write_reports(app, args, made->dir, w.paths[0], err);
    }
    dir = dir ? dir : folder_beside(app, w.paths[0]);
    rc = lpo_run_folder_claim(app->arena, dir, &folder, err);
    if (rc == 0)
        rc = write_reports(app, args, made->dir, dir, err);
    lpo_run_folder_close(&folder);
    return rc;
}

const struct lpo_command lpo_cli_cmd_report = {
    .name = "report",
    .summary = "every report of a run, or of any traces",
    .usage =
        "[DIR|FILE…] [-o OUT] [--via slurm] [--findings] [--json] [--open] [report.KEY=VALUE…]",
    .about =
        "Needs no GPU and no NVIDIA tool: it reads what the run left in its folder, or traces\n"
        "of PyTorch, Nsight Systems, Nsight Compute and lpo. Several files are taken as one\n"
        "job: its ranks, or one program under several tools. '-' is standard input. Without\n"
        "words it takes the latest run below tmp/profile-output.\n\n"
        "  lpo report tmp/profile-output/20250101-120000\n"
        "  lpo report DIR report.private=true report.top=50\n"
        "  lpo report rank*.json.gz -o out\n"
        "  lpo report --via slurm traces/ -o out\n"
        "  lpo report run.sqlite --findings\n"
        "  lpo report run.sqlite --json | jq .wall",
    .options = options,
    .run = run,
};
