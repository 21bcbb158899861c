/* SPDX-License-Identifier: Apache-2.0 */
/* lpo diff: what changed between two runs or two sets of runs, and may it pass? */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/diff/diff.h"
#include "analysis/run.h"
#include "cli/app.h"
#include "cli/command.h"
#include "cli/trace_options.h"
#include "pipeline/stage.h"
#include "report/diff/diff.h"
#include "report/doc/doc.h"
#include "rundir/rundir.h"
#include "trace/trace.h"
#include "util/arena.h"
#include "util/err.h"
#include "writer/writer.h"

enum { EXIT_REGRESSION = 4, EXIT_NOT_COMPARABLE = 2, MOST_RUNS = 1000 };

static const struct lpo_option options[] = {
    LPO_OUTPUT_OPTIONS("text, md, csv or json"),
    { "fail-over", 0, LPO_OPT_TEXT, "P%",
      "exit 4 when the wall time of a step grew by more than P %, beyond chance; 2 when A and B "
      "cannot be compared" },
    { "rows", 'n', LPO_OPT_TEXT, "N", "only the first N rows of a table; 0: all (default: 20)" },
    { "all", 0, LPO_OPT_FLAG, NULL, "rows that did not change, too" },
    { "full-names", 0, LPO_OPT_FLAG, NULL, "whole names of kernels, not short ones" },
    { NULL, 0, LPO_OPT_FLAG, NULL, NULL },
};

/* The runs of one side, each read alone and released before the next. */
struct side {
    struct lpo_diff_digest **at;
    size_t len;
};

static void free_side(struct side *s)
{
    for (size_t i = 0; i < s->len; i++)
        lpo_diff_digest_destroy(s->at[i]);
}

static int read_run(struct lpo_app *app, const char *path, struct side *out, struct lpo_err *err)
{
    struct lpo_rundir_options o = { .kinds = lpo_pipeline_trace_kinds(app->arena),
                                    .skip = LPO_SKIP_METRICS };
    LPO_AUTO(lpo_analysis_run) run = NULL;
    struct lpo_diff_digest *d;

    if (lpo_analysis_run_of_paths(&path, 1, &o, &run, err) < 0)
        return lpo_ctx(err, "cannot compare '%s'", path);
    for (size_t i = 0; i < run->dir->problems.len; i++)
        fprintf(app->log, "lpo: warning: %s\n", run->dir->problems.at[i]);
    d = lpo_diff_digest_create(run, path);
    if (!d)
        return lpo_fail(err, LPO_E_NOTFOUND, "'%s' holds no trace that can be read%s%s", path,
                        run->dir->problems.len ? ": " : "",
                        run->dir->problems.len ? run->dir->problems.at[0] : "");
    out->at[out->len++] = d;
    return 0;
}

static int read_side(struct lpo_app *app, const char *const *paths, size_t count, struct side *out,
                     struct lpo_err *err)
{
    if (count > MOST_RUNS)
        return lpo_fail(err, LPO_E_USAGE, "a side has %zu runs; at most %d can be compared", count,
                        MOST_RUNS);
    out->at = lpo_arena_array(app->arena, count, sizeof *out->at);
    for (size_t i = 0; i < count; i++)
        if (read_run(app, paths[i], out, err) < 0)
            return err->code;
    return 0;
}

/* "3%", "3 %" or "3": a share, or below 0 where nothing was given. */
static int parse_limit(const char *text, double *out, struct lpo_err *err)
{
    char *end;

    *out = -1;
    if (!text)
        return 0;
    errno = 0;
    *out = strtod(text, &end) / 100;
    while (*end == ' ')
        end++;
    if (end == text || errno || !(*out >= 0) || *out > 1e6 || (*end && strcmp(end, "%") != 0))
        return lpo_fail(err, LPO_E_USAGE, "--fail-over must be a percentage like 3%%, not '%s'",
                        text);
    return 0;
}

/* What the two sides are, and how the result is shown. */
struct request {
    const char *const *a, *const *b;
    size_t na, nb;
    const struct lpo_writer *writer;
    struct lpo_report_diff_options show;
};

static int read_request(struct lpo_app *app, const struct lpo_args *args, struct request *r,
                        struct lpo_err *err)
{
    static const char usage[] = "usage: lpo diff A B, or lpo diff A… -- B…";

    r->a = args->words;
    r->na = args->rest ? args->nwords : 1;
    r->b = args->rest ? args->rest : args->words + 1;
    r->nb = args->rest ? args->nrest : args->nwords - (args->nwords > 0);
    if (!args->rest && args->nwords != 2)
        return lpo_fail(err, LPO_E_USAGE, "%zu run%s given, not two; %s", args->nwords,
                        args->nwords == 1 ? " is" : "s are", usage);
    if (!r->na || !r->nb)
        return lpo_fail(err, LPO_E_USAGE, "no run stands %s '--'; %s", r->na ? "after" : "before",
                        usage);
    (void)app;
    if (lpo_cli_writer_from_args(args, &r->writer, err) < 0 ||
        lpo_cli_count_from_args(args, "rows", 20, &r->show.rows, err) < 0 ||
        parse_limit(lpo_cli_args_text(args, "fail-over", NULL), &r->show.fail_over, err) < 0)
        return err->code;
    r->show.all = lpo_cli_args_has(args, "all");
    r->show.full_names = lpo_cli_args_has(args, "full-names");
    return 0;
}

static int finish(const struct lpo_diff *d, const struct request *r)
{
    if (r->show.fail_over < 0)
        return 0;
    if (!d->comparable)
        return EXIT_NOT_COMPARABLE;
    return lpo_diff_regression(d) > r->show.fail_over ? EXIT_REGRESSION : 0;
}

static int compare(struct lpo_app *app, const struct request *r, struct lpo_err *err)
{
    struct side a = { 0 }, b = { 0 };
    int rc = read_side(app, r->a, r->na, &a, err);

    if (rc == 0)
        rc = read_side(app, r->b, r->nb, &b, err);
    if (rc == 0) {
        LPO_AUTO(lpo_diff)
        d = lpo_diff_create((struct lpo_diff_runs){ a.at, a.len },
                            (struct lpo_diff_runs){ b.at, b.len });
        LPO_AUTO(lpo_doc) doc = lpo_report_diff_doc(d, &r->show);

        lpo_cli_print_doc(app, doc, r->writer);
        rc = finish(d, r);
    }
    free_side(&a);
    free_side(&b);
    return rc;
}

static int run(struct lpo_app *app, const struct lpo_args *args, struct lpo_err *err)
{
    struct request r = { 0 };

    if (read_request(app, args, &r, err) < 0)
        return err->code;
    return compare(app, &r, err);
}

const struct lpo_command lpo_cli_cmd_diff = {
    .name = "diff",
    .summary = "what changed between two runs or sets of runs, and is it real",
    .usage = "A B | A… -- B… [--fail-over P%] [--json]",
    .about = "A and B are run folders, traces of any source, or folders of traces (the ranks of\n"
             "one job). Several runs a side are repeats: options stand before '--'.\n\n"
             "  lpo diff before after\n"
             "  lpo diff before.json.gz after.json.gz --fail-over 3%\n"
             "  lpo diff --fail-over 3% main-1 main-2 main-3 -- branch-1 branch-2 branch-3",
    .options = options,
    .run = run,
};
