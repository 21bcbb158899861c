/* SPDX-License-Identifier: Apache-2.0 */
/* lpo history: runs kept for later comparisons, and how their figures moved. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "analysis/diff/digest.h"
#include "analysis/diff/digest_json.h"
#include "analysis/diff/trend.h"
#include "cli/app.h"
#include "cli/command.h"
#include "cli/diff_sides.h"
#include "cli/trace_options.h"
#include "report/diff/history.h"
#include "report/doc/doc.h"
#include "rundir/history/history.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/file.h"
#include "util/str.h"
#include "writer/writer.h"

static const struct lpo_option options[] = {
    LPO_OUTPUT_OPTIONS("text, md, csv or json"),
    { "store", 's', LPO_OPT_TEXT, "PATH",
      "the history: an SQLite file, or a folder of files for git (default: " LPO_CLI_HISTORY ")" },
    { "what", 'w', LPO_OPT_TEXT, "FIGURE",
      "trend of: wall, gpu, tokens_per_s, ttft_ms, …, region:PATH, kernel:NAME, operator:NAME "
      "(default: wall)" },
    { "last", 0, LPO_OPT_TEXT, "N", "only the newest N runs of the name" },
    { "output", 'o', LPO_OPT_TEXT, "FILE", "trend: the picture as SVG" },
    { NULL, 0, LPO_OPT_FLAG, NULL, NULL },
};

struct request {
    const struct lpo_args *args;
    const char *store, *what;
    const struct lpo_writer *writer;
    size_t last;
};

/* --- add ------------------------------------------------------------------------------------ */

static int add_digest(struct lpo_app *app, struct lpo_history *h, const char *name,
                      const struct lpo_diff_digest *d, struct lpo_err *err)
{
    LPO_STR text = { 0 };
    struct lpo_history_entry e = { .name = name, .label = d->label, .unix_s = time(NULL) };
    int64_t id = 0;

    lpo_diff_digest_write(d, &text);
    e.text = text.at;
    e.len = text.len;
    if (lpo_history_add(h, &e, &id, err) < 0)
        return err->code;
    fprintf(app->out, "run %lld of '%s': %s\n", (long long)id, name, d->label);
    return 0;
}

static int add(struct lpo_app *app, const struct request *r, struct lpo_err *err)
{
    const char *const *words = r->args->words;
    LPO_AUTO(lpo_history) h = NULL;
    int rc;

    if (r->args->nwords < 3)
        return lpo_fail(err, LPO_E_USAGE, "usage: lpo history add NAME RUN…");
    rc = lpo_history_open(r->store, true, &h, err);
    for (size_t i = 2; rc == 0 && i < r->args->nwords; i++) {
        struct lpo_diff_reading one = { 0 };

        rc = lpo_cli_runs_read(app, &words[i], 1, &one, err);
        if (rc == 0)
            rc = add_digest(app, h, words[1], one.at[0], err);
        lpo_cli_runs_free(&one);
    }
    return rc;
}

/* --- list, show, trend ---------------------------------------------------------------------- */

struct gathering {
    struct lpo_arena *arena;
    lpo_report_history_runs runs;
    const char *what;
};

static int take(void *ctx, const struct lpo_history_entry *e, struct lpo_err *err)
{
    struct gathering *g = ctx;
    LPO_AUTO(lpo_diff_digest) d = NULL;
    struct lpo_report_history_run x = { .id = e->id,
                                        .unix_s = e->unix_s,
                                        .name = lpo_arena_strdup(g->arena, e->name),
                                        .label = lpo_arena_strdup(g->arena, e->label) };

    if (lpo_diff_digest_parse(e->text, e->len, &d, err) < 0)
        return lpo_ctx(err, "run %lld of the history", (long long)e->id);
    x.wall_ns = lpo_diff_figure_of(d, "wall");
    x.gpu_ns = lpo_diff_figure_of(d, "gpu");
    x.tokens_per_s = lpo_diff_figure_of(d, "tokens_per_s");
    x.value = lpo_diff_figure_of(d, g->what);
    lpo_vec_push(&g->runs, x);
    return 0;
}

static int write_picture(const struct lpo_doc *doc, const char *path, struct lpo_err *err)
{
    LPO_STR out = { 0 };

    for (size_t i = 0; i < doc->sections.len; i++)
        for (size_t k = 0; k < doc->sections.at[i]->items.len; k++)
            if (doc->sections.at[i]->items.at[k].kind == LPO_ITEM_FIGURE)
                lpo_writer_svg.draw(doc->sections.at[i]->items.at[k].figure, &out);
    return lpo_file_write(path, lpo_str_text(&out), out.len, err);
}

static int show_doc(struct lpo_app *app, const struct request *r, const struct gathering *g,
                    const char *verb, const char *name, struct lpo_err *err)
{
    const char *picture = lpo_cli_args_text(r->args, "output", NULL);
    LPO_AUTO(lpo_doc)
    doc = strcmp(verb, "list") == 0   ? lpo_report_history_list(&g->runs)
          : strcmp(verb, "show") == 0 ? lpo_report_history_show(&g->runs)
                                      : lpo_report_history_trend(&g->runs, name, r->what);

    if (picture && strcmp(verb, "trend") == 0 && write_picture(doc, picture, err) < 0)
        return err->code;
    lpo_cli_print_doc(app, doc, r->writer);
    return 0;
}

static int look(struct lpo_app *app, const struct request *r, struct lpo_err *err)
{
    const char *verb = r->args->words[0], *name = r->args->nwords > 1 ? r->args->words[1] : NULL;
    struct gathering g = { .arena = app->arena, .what = r->what };
    LPO_AUTO(lpo_history) h = NULL;
    int rc = lpo_history_open(r->store, false, &h, err);

    if (rc == 0)
        rc = lpo_history_each(h, name, r->last, take, &g, err);
    if (rc == 0 && name && !g.runs.len)
        rc = lpo_fail(err, LPO_E_NOTFOUND, "the history '%s' has no runs of the name '%s'",
                      r->store, name);
    if (rc == 0)
        rc = show_doc(app, r, &g, verb, name, err);
    lpo_vec_free(&g.runs);
    return rc;
}

/* --- words ---------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    size_t least, most; /* words, its own included */
    int (*run)(struct lpo_app *app, const struct request *r, struct lpo_err *err);
} verbs[] = {
    { "add", 3, SIZE_MAX, add },
    { "list", 1, 1, look },
    { "show", 1, 2, look },
    { "trend", 2, 2, look },
};

static int run(struct lpo_app *app, const struct lpo_args *args, struct lpo_err *err)
{
    static const char usage[] = "lpo history add NAME RUN… | list | show [NAME] | trend NAME";
    struct request r = { .args = args,
                         .store = lpo_cli_args_text(args, "store", LPO_CLI_HISTORY),
                         .what = lpo_cli_args_text(args, "what", "wall") };

    if (lpo_cli_writer_from_args(args, &r.writer, err) < 0 ||
        lpo_cli_count_from_args(args, "last", 0, &r.last, err) < 0)
        return err->code;
    for (size_t i = 0; args->nwords && i < sizeof verbs / sizeof *verbs; i++)
        if (strcmp(args->words[0], verbs[i].name) == 0 && args->nwords >= verbs[i].least &&
            args->nwords <= verbs[i].most)
            return verbs[i].run(app, &r, err);
    return lpo_fail(err, LPO_E_USAGE, "usage: %s", usage);
}

const struct lpo_command lpo_cli_cmd_history = {
    .name = "history",
    .summary = "runs kept for later comparisons, and how their figures moved",
    .usage = "add NAME RUN… | list | show [NAME] | trend NAME [--what FIGURE] [-o FILE.svg]",
    .about = "A history holds what a comparison needs of each run, some hundred KB, not the run\n"
             "itself. lpo diff --baseline NAME compares with it.\n\n"
             "  lpo history add main tmp/profile-output/20260101-120000\n"
             "  lpo history trend main --what tokens_per_s -o trend.svg\n"
             "  lpo history list --store perf/        # a folder of JSON files, for git\n"
             "  lpo diff --baseline main new --fail-over 3%",
    .options = options,
    .run = run,
};
