/* SPDX-License-Identifier: Apache-2.0 */

#include "analysis/diff/digest.h"
#include "analysis/diff/digest_json.h"
#include "analysis/run.h"
#include "cli/app.h"
#include "cli/trace_options.h"
#include "pipeline/stage.h"
#include "report/page/page.h"
#include "rundir/history/history.h"
#include "rundir/rundir.h"

enum { MOST_RUNS = 1000 };

static int read_numbers(const char *path, struct lpo_diff_reading *out, struct lpo_err *err)
{
    LPO_AUTO(lpo_history_numbers) n = NULL;

    if (lpo_history_numbers_read(path, &n, err) < 0)
        return err->code;
    out->at[out->len++] = lpo_diff_digest_of_numbers(n, path);
    return 0;
}

static int read_run(struct lpo_app *app, const char *path, struct lpo_diff_reading *out,
                    struct lpo_err *err)
{
    struct lpo_rundir_options o = { .kinds = lpo_pipeline_trace_kinds(app->arena) };
    LPO_AUTO(lpo_analysis_run) run = NULL;
    struct lpo_diff_digest *d;

    if (lpo_history_numbers_known(path))
        return read_numbers(path, out, err);
    if (lpo_analysis_run_of_paths(&path, 1, &o, &run, err) < 0)
        return lpo_ctx(err, "cannot compare '%s'", path);
    for (size_t i = 0; i < run->dir->problems.len; i++)
        fprintf(app->log, "lpo: warning: %s\n", run->dir->problems.at[i]);
    if (out->budgets && run->dir->dir && !out->budgets->len &&
        lpo_diff_budgets_read(app->arena, lpo_settings_map(run->dir->config, "diff.budgets"),
                              out->budgets, err) < 0)
        return lpo_ctx(err, "the config of '%s'", path);
    d = lpo_diff_digest_create(run, path);
    if (!d)
        return lpo_cli_no_trace(path, run->dir, err);
    if (out->flame && !out->len)
        lpo_page_put_flame(out->flame, lpo_analysis_run_main(run));
    out->at[out->len++] = d;
    return 0;
}

static void make_room(struct lpo_app *app, struct lpo_diff_reading *out, size_t count)
{
    struct lpo_diff_digest **at = lpo_arena_array(app->arena, out->len + count, sizeof *at);

    if (out->len)
        memcpy(at, out->at, out->len * sizeof *at);
    out->at = at;
}

int lpo_cli_runs_read(struct lpo_app *app, const char *const *paths, size_t count,
                      struct lpo_diff_reading *out, struct lpo_err *err)
{
    if (out->len + count > MOST_RUNS)
        return lpo_fail(err, LPO_E_USAGE, "a side has %zu runs; at most %d can be compared",
                        out->len + count, MOST_RUNS);
    make_room(app, out, count);
    for (size_t i = 0; i < count; i++)
        if (read_run(app, paths[i], out, err) < 0)
            return err->code;
    return 0;
}

struct baseline {
    struct lpo_app *app;
    struct lpo_diff_reading *out;
};

static int take(void *ctx, const struct lpo_history_entry *e, struct lpo_err *err)
{
    struct baseline *b = ctx;
    struct lpo_diff_digest *d = NULL;

    if (b->out->len >= MOST_RUNS)
        return lpo_fail(err, LPO_E_LIMIT, "at most %d runs can be compared", MOST_RUNS);
    if (lpo_diff_digest_parse(e->text, e->len, &d, err) < 0)
        return lpo_ctx(err, "run %lld of the history", (long long)e->id);
    make_room(b->app, b->out, 1);
    b->out->at[b->out->len++] = d;
    return 0;
}

int lpo_cli_runs_baseline(struct lpo_app *app, const char *store, const char *name, size_t last,
                          struct lpo_diff_reading *out, struct lpo_err *err)
{
    struct lpo_history_query q = { .name = name, .last = last };
    struct baseline b = { app, out };
    LPO_AUTO(lpo_history) h = NULL;

    if (lpo_history_open(store, false, &h, err) < 0 || lpo_history_each(h, &q, take, &b, err) < 0)
        return err->code;
    if (!out->len)
        return lpo_fail(err, LPO_E_NOTFOUND, "the history '%s' has no runs of the name '%s'", store,
                        name);
    return 0;
}

void lpo_cli_runs_free(struct lpo_diff_reading *r)
{
    for (size_t i = 0; i < r->len; i++)
        lpo_diff_digest_destroy(r->at[i]);
    r->len = 0;
}
