/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/run/multirun.h"

#include <stdio.h>
#include <string.h>

#include "cli/app.h"
#include "cli/options.h"
#include "cli/run/job.h"
#include "cli/run/progress.h"
#include "hydra/compose.h"
#include "report/doc/doc.h"
#include "run/child/supervise.h"
#include "run/secrets/secrets.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/file.h"
#include "util/json_write.h"
#include "util/path.h"
#include "util/str.h"
#include "writer/writer.h"

#define JOBS_SCHEMA "lpo.jobs/1"

/* The job's own overrides, then hydra's, then the folder of them all. */
static const char **words_of(struct lpo_arena *a, const struct lpo_override_sweep_jobs *jobs,
                             size_t i, const char *sweep_dir)
{
    const struct lpo_sweep_job *job = &jobs->at[i];
    const char **words = lpo_arena_array(a, job->count + jobs->nhydra + 2, sizeof *words);
    struct lpo_node *dir = lpo_node_string(a, sweep_dir);
    size_t n = 0;

    for (size_t k = 0; k < job->count; k++)
        words[n++] = job->overrides[k];
    for (size_t k = 0; k < jobs->nhydra; k++)
        words[n++] = jobs->hydra[k].text;
    /* all jobs share one folder: the default has the time in it, which moves on while they run */
    dir->quote = '\'';
    words[n++] = lpo_arena_printf(a, "++hydra.sweep.dir=%s", lpo_override_value_text(a, dir));
    return words;
}

/* A job's overrides as its own config shows them: those in quotes may hold interpolations. Fails
 * where the job cannot be composed, so that a mistake is found before the first job starts. */
static int check_job(struct lpo_app *app, const struct lpo_args *args, const char **words,
                     size_t num, struct lpo_json_writer *w, struct lpo_err *err)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    struct lpo_app apart = *app; /* its memory is freed before the next job */
    struct lpo_node *task = NULL;
    struct lpo_composed c;
    const char *dir;

    apart.arena = a;
    apart.advised = true; /* deprecations are printed when the job runs */
    if (lpo_cli_job_config(&apart, args, (const char *const *)words, false, &c, err) < 0 ||
        lpo_hydra_job_dir(&c, (int)num, &dir, err) < 0 ||
        lpo_compose_hydra(&c, "overrides.task", &task, err) < 0)
        return lpo_ctx(err, "job %zu of the sweep", num);
    lpo_jw_object(w, NULL);
    lpo_jw_uint(w, "num", num);
    lpo_jw_array(w, "overrides");
    for (size_t i = 0; task && i < task->count; i++)
        lpo_jw_text(w, NULL, task->items[i]->text);
    lpo_jw_end(w);
    lpo_jw_end(w);
    return 0;
}

static int check_jobs(struct lpo_app *app, const struct lpo_args *args,
                      const struct lpo_override_sweep_jobs *jobs, const char *dir,
                      struct lpo_str *json, struct lpo_err *err)
{
    struct lpo_json_writer w = lpo_json_writer(json, 2);

    lpo_jw_object(&w, NULL);
    lpo_jw_text(&w, "schema", JOBS_SCHEMA);
    lpo_jw_array(&w, "jobs");
    for (size_t i = 0; i < jobs->count; i++) {
        const char **words = words_of(app->arena, jobs, i, dir);

        if (check_job(app, args, words, jobs->at[i].num, &w, err) < 0)
            return err->code;
    }
    lpo_jw_end(&w);
    lpo_jw_end(&w);
    return 0;
}

struct outcome {
    struct lpo_job_result result;
    const char *error; /* the job could not be composed or its folder not made */
};

static void write_summary(struct lpo_arena *a, const char *dir,
                          const struct lpo_override_sweep_jobs *jobs,
                          const struct outcome *outcomes, size_t done)
{
    LPO_STR out = { 0 };
    struct lpo_json_writer w = lpo_json_writer(&out, 2);

    lpo_jw_object(&w, NULL);
    lpo_jw_text(&w, "schema", "lpo.multirun/1");
    lpo_jw_array(&w, "jobs");
    for (size_t i = 0; i < jobs->count; i++) {
        lpo_jw_object(&w, NULL);
        lpo_jw_uint(&w, "num", jobs->at[i].num);
        lpo_jw_array(&w, "overrides");
        for (size_t k = 0; k < jobs->at[i].count; k++)
            lpo_jw_text(&w, NULL, lpo_secrets_mask_override(a, jobs->at[i].overrides[k]));
        lpo_jw_end(&w);
        lpo_jw_text(&w, "state", i >= done ? "pending" : outcomes[i].error ? "failed" : "ran");
        lpo_jw_text(&w, "error", i < done ? outcomes[i].error : NULL);
        lpo_jw_text(&w, "run_dir", i < done ? outcomes[i].result.run_dir : NULL);
        if (i < done && !outcomes[i].error)
            lpo_jw_int(&w, "exit_code", outcomes[i].result.exit_code);
        else
            lpo_jw_null(&w, "exit_code");
        lpo_jw_end(&w);
    }
    lpo_jw_end(&w);
    lpo_jw_end(&w);
    if (lpo_file_make_dirs(dir, NULL) == 0)
        lpo_file_write(lpo_path_join(a, dir, "multirun.json"), out.at, out.len, NULL);
}

static int run_job(struct lpo_app *app, const struct lpo_args *args, const char **words, size_t num,
                   struct lpo_progress *progress, struct lpo_job_result *out, struct lpo_err *err)
{
    const char *const *program = args->rest ? (const char *const *)args->rest : NULL;
    struct lpo_job job;

    if (lpo_cli_job_compose(app, args, (const char *const *)words, program, (int)num, &job, err) <
        0)
        return err->code;
    if (lpo_cli_args_has(args, "dry-run")) {
        fprintf(app->out, "# job %zu\n", num);
        return lpo_cli_job_dry_run(app, &job, err);
    }
    return lpo_cli_job_run(app, &job, progress, out, err);
}

static const struct lpo_column job_columns[] = {
    { "job", "Job", LPO_CELL_COUNT, NULL },
    { "state", "State", LPO_CELL_TEXT, NULL },
    { "wall_ns", "Duration", LPO_CELL_NS, NULL },
    { "total_ns", "Workload", LPO_CELL_NS, NULL },
    { "tokens_per_s", "Tokens/s", LPO_CELL_MEASURE, "/s" },
    { "gpu_ns", "GPU time", LPO_CELL_NS, NULL },
    { "overrides", "Swept", LPO_CELL_TEXT, NULL },
};

static const char *state_of(const struct outcome *o)
{
    static const struct {
        int code;
        const char *state;
    } states[] = { { 0, "done" }, { 3, "missing" }, { 130, "interrupted" } };

    if (o->error)
        return "failed";
    for (size_t i = 0; i < sizeof states / sizeof *states; i++)
        if (states[i].code == o->result.exit_code)
            return states[i].state;
    return "failed";
}

/* What is the same in every job is no news. */
static bool is_swept(const struct lpo_override_sweep_jobs *jobs, const struct lpo_sweep_job *job,
                     size_t k)
{
    for (size_t i = 0; i < jobs->count; i++)
        if (k >= jobs->at[i].count || strcmp(jobs->at[i].overrides[k], job->overrides[k]) != 0)
            return true;
    return false;
}

static void add_job(struct lpo_arena *a, struct lpo_table *t,
                    const struct lpo_override_sweep_jobs *jobs, const struct lpo_sweep_job *job,
                    const struct outcome *o, bool ran)
{
    const struct lpo_job_result *r = &o->result;
    LPO_STR overrides = { 0 };

    for (size_t k = 0; k < job->count; k++)
        if (is_swept(jobs, job, k))
            lpo_str_addf(&overrides, "%s%s", overrides.len ? " " : "",
                         lpo_secrets_mask_override(a, job->overrides[k]));
    lpo_doc_row_count(t, job->num);
    lpo_doc_row_text(t, ran ? state_of(o) : "pending");
    lpo_doc_row_measure(t, r->wall_ns > 0 ? lpo_measure_measured((double)r->wall_ns)
                                          : lpo_measure_unknown());
    lpo_doc_row_measure(t, lpo_measure_known(r->total_ms)
                               ? lpo_measure_measured(r->total_ms.value * 1e6)
                               : lpo_measure_unknown());
    lpo_doc_row_measure(t, r->tokens_s);
    lpo_doc_row_measure(t, r->gpu_ns);
    lpo_doc_row_textn(t, lpo_str_text(&overrides), overrides.len);
}

/* One table over all jobs, whatever became of each. */
static void print_summary(struct lpo_app *app, const struct lpo_override_sweep_jobs *jobs,
                          const struct outcome *outcomes, size_t done, const char *dir)
{
    LPO_AUTO(lpo_doc) doc = lpo_doc_create("sweep", "Sweep");
    struct lpo_table *t;
    LPO_STR text = { 0 };

    lpo_doc_section(doc, "jobs", "jobs of the sweep", 1);
    t = lpo_doc_table(doc, "jobs", "", job_columns, sizeof job_columns / sizeof *job_columns);
    for (size_t i = 0; i < jobs->count; i++)
        add_job(app->arena, t, jobs, &jobs->at[i], &outcomes[i], i < done);
    lpo_writer_text.write(doc, &text);
    fprintf(app->out, "\n%s\nsweep folder: %s (multirun.json lists the jobs)\n",
            lpo_str_text(&text), dir);
}

static int run_all(struct lpo_app *app, const struct lpo_args *args,
                   struct lpo_override_sweep_jobs *jobs, const char *dir, const char *shown_dir,
                   struct lpo_progress *progress)
{
    bool dry = lpo_cli_args_has(args, "dry-run");
    struct outcome *outcomes = lpo_arena_array(app->arena, jobs->count, sizeof *outcomes);
    int worst = 0;
    size_t i;

    for (i = 0; i < jobs->count && !lpo_run_supervise_interrupted(); i++) {
        const char **words = words_of(app->arena, jobs, i, dir);
        struct lpo_err err = { 0 };
        int rc;

        if (!dry)
            fprintf(app->log, "job %zu of %zu\n", i + 1, jobs->count);
        rc = run_job(app, args, words, jobs->at[i].num, progress, &outcomes[i].result, &err);
        if (rc < 0) {
            lpo_cli_print_error(app, "lpo run", &err);
            outcomes[i].error = lpo_arena_strdup(app->arena, lpo_err_cause(&err));
            outcomes[i].result.exit_code = lpo_err_exit_code(rc);
        }
        if (outcomes[i].result.exit_code > worst)
            worst = outcomes[i].result.exit_code;
        if (!dry)
            write_summary(app->arena, dir, jobs, outcomes, i + 1);
    }
    if (!dry)
        print_summary(app, jobs, outcomes, i, shown_dir);
    return worst;
}

int lpo_cli_multirun(struct lpo_app *app, const struct lpo_args *args,
                     struct lpo_progress *progress, struct lpo_err *err)
{
    const char *const *words = (const char *const *)args->words;
    bool dry = lpo_cli_args_has(args, "dry-run");
    struct lpo_composed c;
    struct lpo_override_sweep_jobs jobs;
    struct lpo_node *params = NULL, *dir = NULL;
    const char *full;
    LPO_STR json = { 0 };

    if (lpo_cli_job_config(app, args, words, true, &c, err) < 0 ||
        lpo_compose_hydra(&c, "sweeper.params", &params, err) < 0 ||
        lpo_override_sweep_jobs(app->arena, c.overrides, c.noverrides, params, c.options, &jobs,
                                err) < 0 ||
        lpo_compose_hydra(&c, "sweep.dir", &dir, err) < 0)
        return err->code;
    if (!dir || dir->kind != LPO_NODE_STRING)
        return lpo_fail(err, LPO_E_CONFIG, "hydra.sweep.dir must be a folder name");
    full = lpo_secrets_mask_path(app->arena, lpo_path_absolute(app->arena, dir->text));
    if (check_jobs(app, args, &jobs, full, &json, err) < 0)
        return err->code;
    if (dry && lpo_cli_args_has(args, "json")) {
        fputs(lpo_str_text(&json), app->out);
        return 0;
    }
    return run_all(app, args, &jobs, full, lpo_secrets_mask_path(app->arena, dir->text), progress);
}

int lpo_cli_multirun_wanted(struct lpo_app *app, const struct lpo_args *args, bool *out,
                            struct lpo_err *err)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    struct lpo_app apart = *app;
    struct lpo_composed c;

    *out = lpo_cli_args_has(args, "multirun");
    if (*out)
        return 0;
    apart.arena = a;
    apart.advised = true;
    if (lpo_cli_job_config(&apart, args, (const char *const *)args->words, true, &c, err) < 0)
        return err->code;
    return lpo_hydra_is_multirun(&c, out, err);
}
