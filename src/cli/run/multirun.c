/* SPDX-License-Identifier: Apache-2.0 */

#include <errno.h>
#include <unistd.h>

#include "cli/app.h"
#include "cli/run/job.h"
#include "hydra/compose.h"
#include "run/child/interrupt.h"
#include "run/child/supervise.h"
#include "run/secrets/secrets.h"
#include "sweep/launcher.h"
#include "sweep/plan.h"
#include "util/json_write.h"
#include "util/path.h"

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
    lpo_jw_put(w, LPO_KV("num", num));
    lpo_jw_array(w, "overrides");
    for (size_t i = 0; task && i < task->count; i++)
        lpo_jw_put(w, LPO_V(task->items[i]->text));
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
    lpo_jw_put(&w, LPO_KV("schema", JOBS_SCHEMA));
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

/* What a job tells its sweep while it runs. */
struct report {
    const struct lpo_sweep_plan *plan; /* NULL: nobody listens */
    size_t job;
    struct lpo_sweep_result *result;
};

static void on_published(void *ctx, const char *run_dir)
{
    struct report *r = ctx;

    r->result->run_dir = lpo_arena_strdup(r->plan->arena, run_dir);
    lpo_sweep_result_save(r->plan, r->job, r->result, NULL);
}

static int run_job(struct lpo_app *app, const struct lpo_args *args, const char **words, size_t num,
                   struct lpo_progress *progress, struct report *report, struct lpo_job_result *out,
                   struct lpo_err *err)
{
    const char *const *program = args->rest ? (const char *const *)args->rest : NULL;
    struct lpo_job job = { 0 };

    if (lpo_cli_job_compose(app, args, (const char *const *)words, program, (int)num, &job, err) <
        0)
        return err->code;
    if (lpo_cli_args_has(args, "dry-run")) {
        fprintf(app->out, "# job %zu\n", num);
        return lpo_cli_job_dry_run(app, &job, err);
    }
    if (report) {
        job.published = on_published;
        job.published_ctx = report;
    }
    return lpo_cli_job_run(app, &job, progress, out, err);
}

/* One job to its end; what became of it is in *r, and in its file where `kept`. A folder that an
 * earlier attempt left is gone on with. */
static void do_job(struct lpo_app *app, const struct lpo_args *args, struct lpo_sweep_plan *plan,
                   size_t i, bool kept, struct lpo_progress *progress, struct lpo_sweep_result *r)
{
    const char *before = r->run_dir;
    struct report report = { plan, i, r };
    struct lpo_job_result out = { 0 };
    struct lpo_err err = { 0 };
    char host[256] = "";
    int rc;

    gethostname(host, sizeof host - 1);
    *r = (struct lpo_sweep_result){ .state = LPO_SWEEP_RUNNING,
                                    .run_dir = before,
                                    .host = lpo_arena_strdup(plan->arena, host) };
    if (kept)
        lpo_sweep_result_save(plan, i, r, NULL);
    if (before && lpo_path_exists(lpo_path_join(plan->arena, before, "run.json")))
        rc = lpo_cli_job_resume(app, before, progress, &out, &err);
    else
        rc = run_job(app, args, plan->jobs[i].words, (size_t)plan->jobs[i].num, progress,
                     kept ? &report : NULL, &out, &err);
    if (rc < 0) {
        lpo_cli_print_error(app, "lpo run", &err);
        r->error = lpo_arena_strdup(plan->arena, lpo_err_cause(&err));
        out.exit_code = lpo_err_exit_code(rc);
    }
    r->state = LPO_SWEEP_ENDED;
    r->exit_code = out.exit_code;
    r->run_dir = out.run_dir ? out.run_dir : r->run_dir;
    r->wall_ns = out.wall_ns;
    r->total_ms = out.total_ms;
    r->tokens_s = out.tokens_s;
    r->gpu_ns = out.gpu_ns;
    if (kept)
        lpo_sweep_result_save(plan, i, r, NULL);
}

/* Hydra's basic launcher. */
static void run_in_order(struct lpo_app *app, const struct lpo_args *args,
                         struct lpo_sweep_plan *plan, struct lpo_sweep_result *results, bool kept,
                         struct lpo_progress *progress)
{
    for (size_t i = 0; i < plan->count && !lpo_run_supervise_interrupted(); i++) {
        if (!lpo_sweep_result_open(&results[i]))
            continue;
        fprintf(app->log, "job %zu of %zu\n", i + 1, plan->count);
        do_job(app, args, plan, i, kept, progress, &results[i]);
        lpo_sweep_summary_save(plan, results, NULL);
    }
}

static int dry_run(struct lpo_app *app, const struct lpo_args *args, struct lpo_sweep_run *s,
                   const struct lpo_sweep_launcher *launcher, struct lpo_err *err)
{
    LPO_STR text = { 0 };
    int worst = 0;

    s->program = lpo_path_program(app->arena);
    if (!s->program)
        s->program = "lpo";
    if (launcher && launcher->plan(s, &text, err) < 0)
        return err->code;
    fputs(lpo_str_text(&text), app->out);
    for (size_t i = 0; i < s->plan->count && !lpo_run_supervise_interrupted(); i++) {
        struct lpo_job_result out = { 0 };
        struct lpo_err why = { 0 };
        int rc = run_job(app, args, s->plan->jobs[i].words, (size_t)s->plan->jobs[i].num, NULL,
                         NULL, &out, &why);

        if (rc < 0)
            lpo_cli_print_error(app, "lpo run", &why);
        if (rc < 0 && lpo_err_exit_code(rc) > worst)
            worst = lpo_err_exit_code(rc);
    }
    return worst;
}

/* --- a launcher's view of the terminal ------------------------------------------------------ */

struct terminal {
    struct lpo_progress *progress;
    struct lpo_sweep_run *sweep;
};

static void say(void *ctx, const char *line)
{
    lpo_cli_progress_say(((struct terminal *)ctx)->progress, "%s", line);
}

static void show(void *ctx, const char *line)
{
    lpo_cli_progress_show(((struct terminal *)ctx)->progress, line);
}

static void changed(void *ctx)
{
    struct lpo_sweep_run *s = ((struct terminal *)ctx)->sweep;

    lpo_sweep_summary_save(s->plan, s->results, NULL);
}

static int launch(struct lpo_app *app, struct lpo_sweep_run *s,
                  const struct lpo_sweep_launcher *launcher, struct lpo_progress *progress,
                  struct lpo_err *err)
{
    struct terminal *terminal = LPO_NEW(app->arena, struct terminal); /* s outlives this call */
    int rc;

    *terminal = (struct terminal){ progress, s };
    s->program = lpo_path_program(app->arena);
    s->ctx = terminal;
    s->say = say;
    s->show = show;
    s->changed = changed;
    if (!s->program)
        return lpo_fail(err, LPO_E_MISSING, "lpo cannot find its own program to start jobs with");
    lpo_run_interrupt_disarm(); /* the launcher has jobs to end first */
    rc = launcher->run(s, err);
    lpo_run_interrupt_arm(NULL);
    return rc;
}

static int summarise(struct lpo_app *app, const struct lpo_sweep_run *s, const char *shown_dir)
{
    int worst = lpo_sweep_result_worst(s->results, s->plan->count);
    size_t open = 0;
    LPO_STR text = { 0 };

    for (size_t i = 0; i < s->plan->count; i++)
        open += lpo_sweep_result_open(&s->results[i]);
    lpo_sweep_summary_save(s->plan, s->results, NULL);
    lpo_sweep_summary_add_table(s->plan, s->results, &text);
    fprintf(app->out, "\n%s\nsweep folder: %s (multirun.json lists the jobs)\n",
            lpo_str_text(&text), shown_dir);
    if (open && lpo_sweep_plan_exists(app->arena, s->plan->dir))
        fprintf(app->out, "lpo run --resume %s runs the %zu that are not done\n", shown_dir, open);
    return (s->interrupted || lpo_run_supervise_interrupted()) && worst < 130 ? 130 : worst;
}

/* --- a new sweep ---------------------------------------------------------------------------- */

static struct lpo_sweep_plan make_plan(struct lpo_app *app, const struct lpo_args *args,
                                       const struct lpo_override_sweep_jobs *jobs, const char *dir)
{
    struct lpo_arena *a = app->arena;
    struct lpo_sweep_plan p = {
        .arena = a,
        .dir = dir,
        .cwd = lpo_path_absolute(a, "."),
        .config_dir = lpo_cli_args_text(args, "config-dir", NULL),
        .config_name = lpo_cli_args_text(args, "config-name", NULL),
        .words = lpo_arena_array(a, args->nwords + 1, sizeof *p.words),
        .program = args->rest,
        .jobs = lpo_arena_array(a, jobs->count + 1, sizeof *p.jobs),
        .count = jobs->count,
    };

    for (size_t i = 0; i < args->nwords; i++)
        p.words[i] = args->words[i];
    for (size_t i = 0; i < jobs->count; i++)
        p.jobs[i] = (struct lpo_sweep_plan_job){ (int64_t)jobs->at[i].num,
                                                 words_of(a, jobs, i, dir), jobs->at[i].count };
    return p;
}

/* Whether the plan is in a file: jobs that are started elsewhere need it, and --resume does. */
static int keep_plan(const struct lpo_sweep_plan *plan, bool needed, bool *kept, int *lock,
                     struct lpo_err *err)
{
    const char *secret = lpo_sweep_plan_secret(plan);

    *kept = secret == NULL;
    *lock = -1;
    if (secret && needed)
        return lpo_fail(err, LPO_E_CONFIG,
                        "%s holds a secret, and a job that is started apart would need it in a "
                        "file; take it from the environment: KEY='${oc.env:NAME}', or "
                        "-- sh -c 'program --token \"$NAME\"'",
                        secret);
    if (secret)
        return 0;
    if (lpo_sweep_plan_begin(plan, err) < 0 || lpo_sweep_plan_lock(plan, lock, err) < 0 ||
        lpo_sweep_plan_save(plan, err) < 0)
        return err->code;
    return 0;
}

static int run_plan(struct lpo_app *app, const struct lpo_args *args, struct lpo_sweep_run *s,
                    const struct lpo_sweep_launcher *launcher, const char *shown_dir,
                    struct lpo_progress *progress, struct lpo_err *err)
{
    bool kept = false;
    int lock = -1, rc = keep_plan(s->plan, launcher != NULL, &kept, &lock, err);

    if (rc == 0 && launcher)
        rc = launch(app, s, launcher, progress, err);
    else if (rc == 0)
        run_in_order(app, args, s->plan, s->results, kept, progress);
    if (rc == 0)
        rc = summarise(app, s, shown_dir);
    if (lock >= 0)
        close(lock);
    return rc;
}

int lpo_cli_multirun(struct lpo_app *app, const struct lpo_args *args,
                     struct lpo_progress *progress, struct lpo_err *err)
{
    const char *const *words = (const char *const *)args->words;
    bool dry = lpo_cli_args_has(args, "dry-run");
    const struct lpo_sweep_launcher *launcher = NULL;
    struct lpo_composed c;
    struct lpo_override_sweep_jobs jobs;
    struct lpo_node *params = NULL, *dir = NULL, *settings = NULL;
    struct lpo_sweep_plan plan;
    struct lpo_sweep_run sweep = { .plan = &plan };
    const char *full;
    LPO_STR json = { 0 };

    if (lpo_cli_job_config(app, args, words, true, &c, err) < 0 ||
        lpo_compose_hydra(&c, "sweeper.params", &params, err) < 0 ||
        lpo_override_sweep_jobs(app->arena, c.overrides, c.noverrides, params, c.options, &jobs,
                                err) < 0 ||
        lpo_compose_hydra(&c, "sweep.dir", &dir, err) < 0 ||
        lpo_compose_hydra(&c, "launcher", &settings, err) < 0)
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
    if (lpo_sweep_launcher_find(settings, &launcher, err) < 0)
        return err->code;
    plan = make_plan(app, args, &jobs, full);
    sweep.settings = settings;
    sweep.results = lpo_arena_array(app->arena, plan.count + 1, sizeof *sweep.results);
    if (dry)
        return dry_run(app, args, &sweep, launcher, err);
    return run_plan(app, args, &sweep, launcher, lpo_secrets_mask_path(app->arena, dir->text),
                    progress, err);
}

/* --- a sweep that is there ------------------------------------------------------------------ */

/* The options and the program as they were given, from the folder where lpo was called. */
static int restore(struct lpo_app *app, const struct lpo_option *table, const char *dir,
                   struct lpo_sweep_plan *plan, struct lpo_args *args, struct lpo_err *err)
{
    struct lpo_arena *a = app->arena;
    const char **argv;
    int n = 0, nwords = 0, nprogram = 0;

    if (lpo_sweep_plan_load(a, dir, plan, err) < 0)
        return err->code;
    if (chdir(plan->cwd) < 0)
        return lpo_fail_errno(err, "the sweep was started in '%s', which cannot be entered",
                              plan->cwd);
    while (plan->words[nwords])
        nwords++;
    while (plan->program && plan->program[nprogram])
        nprogram++;
    argv = lpo_arena_array(a, (size_t)(nwords + nprogram) + 6, sizeof *argv);
    if (plan->config_dir)
        argv[n++] = lpo_arena_printf(a, "--config-dir=%s", plan->config_dir);
    if (plan->config_name)
        argv[n++] = lpo_arena_printf(a, "--config-name=%s", plan->config_name);
    for (int i = 0; i < nwords; i++)
        argv[n++] = plan->words[i];
    if (plan->program)
        argv[n++] = "--";
    for (int i = 0; i < nprogram; i++)
        argv[n++] = plan->program[i];
    return lpo_cli_args_parse(app, table, n, (const char *const *)argv, args, err);
}

int lpo_cli_multirun_resume(struct lpo_app *app, const struct lpo_option *table, const char *dir,
                            struct lpo_progress *progress, struct lpo_err *err)
{
    const struct lpo_sweep_launcher *launcher = NULL;
    struct lpo_node *settings = NULL;
    struct lpo_sweep_plan plan;
    struct lpo_sweep_run sweep = { .plan = &plan, .resumed = true };
    struct lpo_composed c;
    struct lpo_args args;
    int lock = -1, rc;

    if (restore(app, table, dir, &plan, &args, err) < 0 ||
        lpo_cli_job_config(app, &args, (const char *const *)args.words, true, &c, err) < 0 ||
        lpo_compose_hydra(&c, "launcher", &settings, err) < 0 ||
        lpo_sweep_launcher_find(settings, &launcher, err) < 0 ||
        lpo_sweep_plan_lock(&plan, &lock, err) < 0)
        return lpo_ctx(err, "'%s' cannot be resumed", dir);
    sweep.settings = settings;
    sweep.results = lpo_arena_array(app->arena, plan.count + 1, sizeof *sweep.results);
    for (size_t i = 0; i < plan.count; i++)
        lpo_sweep_result_load(&plan, i, &sweep.results[i]);
    rc = launcher ? launch(app, &sweep, launcher, progress, err) : 0;
    if (!launcher)
        run_in_order(app, &args, &plan, sweep.results, true, progress);
    if (rc == 0)
        rc = summarise(app, &sweep, dir);
    if (lock >= 0)
        close(lock);
    return rc;
}

int lpo_cli_multirun_job(struct lpo_app *app, const struct lpo_option *table, const char *dir,
                         const char *num, struct lpo_progress *progress, struct lpo_err *err)
{
    struct lpo_sweep_result result;
    struct lpo_sweep_plan plan;
    struct lpo_args args = { 0 };
    char *end;
    long long wanted;
    size_t i;

    errno = 0;
    wanted = strtoll(num, &end, 10);
    if (restore(app, table, dir, &plan, &args, err) < 0)
        return err->code;
    for (i = 0; i < plan.count && plan.jobs[i].num != wanted; i++)
        ;
    if (errno || end == num || *end || i == plan.count)
        return lpo_fail(err, LPO_E_USAGE, "the sweep '%s' has no job '%s'", dir, num);
    lpo_sweep_result_load(&plan, i, &result);
    if (!lpo_sweep_result_open(&result)) {
        fprintf(app->out, "job %lld is done\n", wanted);
        return 0;
    }
    do_job(app, &args, &plan, i, true, progress, &result);
    return result.exit_code;
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
