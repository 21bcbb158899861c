/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/stat.h>
#include <unistd.h>

#include "analysis/analysis.h"
#include "analysis/run.h"
#include "cli/app.h"
#include "cli/run/job.h"
#include "cli/run/program_runs.h"
#include "hydra/compose.h"
#include "pipeline/capture_words.h"
#include "pipeline/pipeline.h"
#include "pipeline/stage.h"
#include "run/child/interrupt.h"
#include "run/child/supervise.h"
#include "run/clock.h"
#include "run/folder.h"
#include "run/heartbeat.h"
#include "run/provenance.h"
#include "run/secrets/secrets.h"
#include "run/shared_job.h"
#include "run/workload/samples.h"
#include "run/workload/workload.h"
#include "rundir/rundir.h"
#include "util/file.h"
#include "util/json.h"
#include "util/path.h"
#include "writer/reports.h"

/* Which values of config.yaml are hidden, and the variables that --resume takes them from. */
#define HIDDEN_FILE "hidden.yaml"

static const char no_lock[] = "; this file system has no locks, so nothing keeps a second lpo out";

static int write_yaml(const char *run, const char *name, const struct lpo_node *node,
                      struct lpo_err *err)
{
    LPO_STR text = { 0 };

    lpo_yaml_add(&text, node);
    return lpo_run_folder_write(run, name, text.at, text.len, err);
}

/* The tools of the stages that will run. */
static const char **tools_of(struct lpo_arena *a, const struct lpo_node *config)
{
    const char **tools = lpo_arena_array(a, 32, sizeof *tools);
    size_t n = 0;

    for (const struct lpo_stage *const *s = lpo_pipeline_stages(); *s && n < 30; s++) {
        if ((*s)->program && lpo_pipeline_wants(config, *s))
            tools[n++] = lpo_settings_text(config, (*s)->program);
    }
    return tools;
}

static const char *fingerprint(struct lpo_arena *a, const struct lpo_node *config)
{
    LPO_STR text = { 0 };

    lpo_yaml_add(&text, config);
    return lpo_arena_printf(a, "%016llx", (unsigned long long)lpo_str_hash(text.at, text.len));
}

static struct lpo_node *override_list(struct lpo_arena *a, const char *const *overrides)
{
    struct lpo_node *list = lpo_node_list(a);

    for (; overrides && *overrides; overrides++)
        lpo_node_push(a, list, lpo_node_string(a, lpo_secrets_mask_override(a, *overrides)));
    return list;
}

/* Everything that lets the run be understood and repeated, before anything is started. */
static int write_provenance(struct lpo_arena *a, const struct lpo_job *job, const char *run,
                            struct lpo_manifest *m, struct lpo_err *err)
{
    struct lpo_node *hidden = lpo_node_list(a);
    const struct lpo_node *config = lpo_secrets_mask_config(a, job->config, hidden);
    const char *cwd = lpo_settings_text(job->config, "workload.cwd");
    LPO_STR env = { 0 };

    m->fingerprint = fingerprint(a, config);
    /* first: without it, "(hidden)" in the config could not be undone by --resume */
    if (hidden->count && write_yaml(run, HIDDEN_FILE, hidden, err) < 0)
        return err->code;
    if (write_yaml(run, "config.yaml", config, err) < 0 ||
        write_yaml(run, "overrides.yaml", override_list(a, job->overrides), err) < 0 ||
        write_yaml(run, "inputs.yaml", lpo_workload_inputs_describe(a, config, job->call_dir),
                   err) < 0)
        return err->code;
    lpo_run_provenance_env(a, cwd ? lpo_path_join(a, job->call_dir, cwd) : job->call_dir,
                           tools_of(a, job->config), &env, err);
    return lpo_run_folder_write(run, "env.json", env.at, env.len, err);
}

static enum lpo_state run_state(int code)
{
    return code == 0     ? LPO_DONE
           : code == 130 ? LPO_INTERRUPTED
           : code == 3   ? LPO_MISSING
                         : LPO_FAILED;
}

static struct lpo_measure median(const struct lpo_speed *s, const char *path)
{
    double v = lpo_json_real(lpo_json_at(s->metrics, path), NAN);

    return isfinite(v) ? lpo_measure_measured(v) : lpo_measure_unknown();
}

/* What a table over several runs compares. */
static void add_figures(struct lpo_analysis_run *run, struct lpo_job_result *out)
{
    const struct lpo_rundir *d = run->dir;
    const char *plain = lpo_rundir_stage_with(d, LPO_ROLE_UNDISTURBED);
    const struct lpo_analysis *a = lpo_analysis_run_main(run);

    for (size_t i = 0; i < d->speeds.len; i++)
        if (lpo_streq(d->speeds.at[i].stage, plain)) {
            out->total_ms = median(&d->speeds.at[i], "aggregate.total_ms.p50");
            out->tokens_s = median(&d->speeds.at[i], "aggregate.tokens_per_s.p50");
        }
    if (a && lpo_analysis_all(a)->coverage.total.ns > 0)
        out->gpu_ns = lpo_measure_measured((double)lpo_analysis_all(a)->coverage.total.ns);
}

static bool is_member(const struct lpo_job *job)
{
    return job->team && !job->team->leads;
}

/* Rank 0: what the others recorded comes to its own; then the stages are read once more. */
static int gather(struct lpo_pipeline *p, const struct lpo_job *job, int code)
{
    struct lpo_manifest *m = p->manifest;
    unsigned lost;

    if (!job->team || is_member(job) || code < 0)
        return code;
    if (code == 130)
        m->state = LPO_INTERRUPTED; /* nobody waits for them any more */
    lost = lpo_run_shared_job_gather(m, job->team);
    for (size_t i = 0; i < m->nstages; i++)
        lpo_analysis_run_forget(p->analysis, m->stages[i].name);
    if (lost)
        lpo_run_folder_log(m->dir, "%u of %d ranks failed", lost, (int)job->team->rank.world_size);
    return lost && code == 0 ? 1 : code;
}

static int finish(struct lpo_app *app, const struct lpo_job *job, struct lpo_pipeline *p, int code,
                  struct lpo_job_result *out, struct lpo_err *err)
{
    struct lpo_manifest *m = p->manifest;
    struct lpo_err why = { 0 };

    if (code < 0)
        return code;
    m->state = run_state(code);
    m->ended_ns = lpo_run_clock_unix_ns();
    if (lpo_run_manifest_save(m, err) < 0)
        return err->code;
    *out = (struct lpo_job_result){ .exit_code = code, .wall_ns = m->ended_ns - m->started_ns };
    if (is_member(job) && !job->apart) /* rank 0 reports */
        return 0;
    /* what was made is reported, whatever else failed */
    if (lpo_analysis_run_load(p->analysis, NULL, &why) < 0 ||
        lpo_writer_all_reports(p->analysis->dir, NULL, &why) < 0) {
        lpo_cli_print_error(app, "lpo run: the reports could not be built", &why);
        code = code ? code : 1;
    }
    lpo_cli_run_summary_print(app, m, p->analysis);
    lpo_run_folder_log(p->run_dir, "trace files read: %zu, traces attributed: %zu",
                       p->analysis->dir->files_read, p->analysis->attributed);
    *out = (struct lpo_job_result){ .run_dir = p->run_dir,
                                    .exit_code = code,
                                    .wall_ns = m->ended_ns - m->started_ns };
    add_figures(p->analysis, out);
    return 0;
}

static struct lpo_pipeline make_pipeline(struct lpo_app *app, const struct lpo_job *job,
                                         const char *run, struct lpo_manifest *m,
                                         struct lpo_progress *progress)
{
    return (struct lpo_pipeline){
        .arena = app->arena,
        .config = job->config,
        .run_dir = run,
        .call_dir = job->chdir ? run : job->call_dir,
        .manifest = m,
        .passes_input = job->passes_input,
        .in_job = job->team != NULL,
        .follows = is_member(job),
        .beside_another = is_member(job) && job->team->rank.local_rank != 0,
        .events = progress ? lpo_cli_progress_events(progress) : (struct lpo_pipeline_events){ 0 },
    };
}

static int run_pipeline(struct lpo_app *app, const struct lpo_job *job, struct lpo_manifest *m,
                        struct lpo_progress *progress, struct lpo_job_result *out,
                        struct lpo_err *err)
{
    LPO_AUTO(lpo_analysis_run)
    analysis = lpo_analysis_run_open(m->dir, lpo_pipeline_trace_kinds(app->arena));
    struct lpo_pipeline p = make_pipeline(app, job, m->dir, m, progress);
    int code;

    p.analysis = analysis;
    lpo_pipeline_fill_manifest(&p);
    m->state = LPO_RUNNING;
    m->pid = getpid();
    if (lpo_run_manifest_save(m, err) < 0)
        return err->code;
    code = gather(&p, job, lpo_pipeline_run(&p, err));
    return finish(app, job, &p, code, out, err);
}

/* Before there is a folder: what a stage would refuse, and what the workload lacks, where a stage
 * would start it. With hydra.job.chdir it starts in a folder that is not there yet. */
static int check_config(struct lpo_arena *a, const struct lpo_job *job, struct lpo_err *err)
{
    if (lpo_pipeline_check_settings(a, job->config, err) < 0)
        return err->code;
    for (const struct lpo_stage *const *s = lpo_pipeline_stages(); !job->chdir && *s; s++)
        if ((*s)->plan && lpo_pipeline_wants(job->config, *s))
            return lpo_workload_check(a, job->config, job->call_dir, err) < 0 ||
                           lpo_pipeline_capture_check_server(job->config, err) < 0
                       ? err->code
                       : lpo_workload_program_check(a, job->config, err);
    if (job->chdir || lpo_workload_list_check(a, job->config, job->call_dir, err) == 0)
        return 0;
    err->code = LPO_E_CONFIG;
    return err->code;
}

/* Whether or not the stage that has the setting runs: reports need the peaks, too. */
static int find_hardware(struct lpo_arena *a, const struct lpo_node *config,
                         struct lpo_hardware *out, struct lpo_err *err)
{
    const char *key = lpo_pipeline_stage_with(LPO_ROLE_MODEL)->results->hardware;

    return lpo_run_hardware_find(a, config, lpo_settings_text(config, key), out, err);
}

/* Does an override of the command line begin with this key? */
static bool was_given(const struct lpo_job *job, const char *key)
{
    for (const char *const *o = (const char *const *)job->overrides; o && *o; o++)
        if (lpo_str_starts(*o + strspn(*o, "+"), key))
            return true;
    return false;
}

/* Did the command line name the folder? Then `latest` beside it would only be in the way. */
static bool names_its_folder(const struct lpo_job *job)
{
    return was_given(job, "hydra.run.dir") || was_given(job, "hydra.sweep.");
}

/* The default asks for a GPU, too; only who asked for one wants to hear that there is none. */
static void note_device(struct lpo_arena *a, const struct lpo_job *job,
                        struct lpo_progress *progress)
{
    const char *note =
        was_given(job, "run.device=") ? lpo_workload_device_note(a, job->config) : NULL;

    if (note && progress)
        lpo_cli_progress_say(progress, "%s", note);
}

/* Before the first file is in it. */
static int make_private(const struct lpo_node *config, const char *dir, struct lpo_err *err)
{
    if (lpo_settings_bool(config, "run.private_folder") && chmod(dir, 0700) < 0)
        return lpo_fail_errno(err, "cannot make '%s' private", dir);
    return 0;
}

/* Everything that describes the run, then the folder appears. run.json comes last: with it a folder
 * that is filled in place becomes a run folder. */
static int fill_folder(struct lpo_arena *a, const struct lpo_job *job,
                       const struct lpo_hardware *hw, struct lpo_run_folder *folder,
                       struct lpo_manifest *m, struct lpo_err *err)
{
    m->dir = folder->dir;
    if (make_private(job->config, m->dir, err) < 0 ||
        write_provenance(a, job, m->dir, m, err) < 0 ||
        lpo_run_hardware_save(m->dir, hw, err) < 0 || lpo_run_manifest_save(m, err) < 0 ||
        (job->team && job->team->leads && lpo_run_shared_job_mark(job->team, m->dir, err) < 0) ||
        lpo_run_folder_publish(a, folder, err) < 0)
        return lpo_ctx(err, "cannot make the run folder");
    m->dir = folder->dir;
    lpo_run_interrupt_arm(m->dir);
    lpo_run_folder_log(m->dir, "lpo %s starts%s", LPO_VERSION, folder->unlocked ? no_lock : "");
    return 0;
}

/* One of several tasks: where its folder is. A rank that cannot see the folder of rank 0 has one of
 * its own beside it, since the program must run all the same: the other ranks wait for it. */
static int join_job(struct lpo_app *app, struct lpo_job *job, struct lpo_shared_job *team,
                    struct lpo_err *err)
{
    struct lpo_arena *a = app->arena;
    int rc;

    if (!job->shared || !lpo_run_shared_job_find(a, team))
        return 0;
    job->team = team;
    team->limit_ns = lpo_settings_duration_ns(job->config, "run.ranks_wait");
    if (!names_its_folder(job)) /* the clocks of the tasks differ */
        job->run_dir = lpo_path_join(a, lpo_settings_text(job->config, "artifacts.root"),
                                     lpo_arena_printf(a, "job-%s", team->id));
    team->dir = lpo_path_absolute(a, job->run_dir);
    if (team->leads)
        return lpo_run_shared_job_check(a, team, err);
    rc = lpo_run_shared_job_wait(a, team, err);
    if (rc == 0) {
        fprintf(app->log,
                "lpo run: rank %d does not see the run folder '%s' of rank 0, and writes to "
                "'%s-rank%d'\n",
                (int)team->rank.rank, team->dir, team->dir, (int)team->rank.rank);
        job->apart = true;
        job->run_dir = lpo_arena_printf(a, "%s-rank%d", team->dir, (int)team->rank.rank);
    } else if (rc > 0) {
        job->run_dir = lpo_run_shared_job_member(a, team, team->rank.rank);
    }
    return rc < 0 ? rc : 0;
}

/* Before there is a folder; `m` is that of a run that goes on, or NULL. */
static int settle_program(struct lpo_app *app, struct lpo_job *job, struct lpo_manifest *m,
                          struct lpo_progress *progress, struct lpo_err *err)
{
    struct lpo_manifest scratch = { .arena = app->arena };
    const char *run = lpo_path_absolute(app->arena, m ? m->dir : job->run_dir);
    struct lpo_pipeline p = make_pipeline(app, job, run, m ? m : &scratch, NULL);
    int rc;

    lpo_pipeline_fill_manifest(&p);
    rc = lpo_cli_program_runs_settle(&p, job->shared, progress, err);
    job->passes_input = p.passes_input;
    return rc;
}

int lpo_cli_job_run(struct lpo_app *app, const struct lpo_job *given, struct lpo_progress *progress,
                    struct lpo_job_result *out, struct lpo_err *err)
{
    struct lpo_job mine = *given;
    const struct lpo_job *job = &mine;
    struct lpo_shared_job team;
    struct lpo_heartbeat *heart = NULL;
    struct lpo_run_folder folder;
    struct lpo_hardware hw;
    int rc;
    struct lpo_manifest m = {
        .arena = app->arena,
        .version = LPO_VERSION,
        .started_ns = lpo_run_clock_unix_ns(),
        .state = LPO_RUNNING,
        .pid = getpid(),
        .call_dir = job->call_dir,
        .chdir = job->chdir,
    };

    /* before the folder is made: a wrong name of a GPU or of a model is a wrong config */
    if (lpo_run_supervise_begin(err) < 0 || check_config(app->arena, job, err) < 0 ||
        find_hardware(app->arena, job->config, &hw, err) < 0 ||
        join_job(app, &mine, &team, err) < 0 ||
        settle_program(app, &mine, NULL, is_member(job) ? NULL : progress, err) < 0 ||
        lpo_run_folder_begin(app->arena, job->run_dir, &folder, err) < 0)
        return err->code;
    folder.only_here = job->team && job->team->leads; /* the others look nowhere else */
    if (is_member(job))
        progress = NULL; /* of all ranks, the first speaks */
    note_device(app->arena, job, progress);
    lpo_run_interrupt_arm(NULL); /* nothing to keep yet; the next run sweeps what was begun */
    rc = fill_folder(app->arena, job, &hw, &folder, &m, err);
    if (rc == 0 && job->published)
        job->published(job->published_ctx, m.dir);
    if (rc == 0 && !names_its_folder(job) && !is_member(job))
        lpo_run_folder_link_latest(app->arena, m.dir);
    if (rc == 0 && is_member(job))
        heart = lpo_run_heartbeat_start(m.dir, !folder.unlocked);
    if (rc == 0)
        rc = run_pipeline(app, job, &m, progress, out, err);
    lpo_run_heartbeat_stop(heart);
    lpo_run_interrupt_disarm();
    lpo_run_folder_close(&folder);
    return rc;
}

static int load_yaml(struct lpo_arena *a, const char *path, struct lpo_node **out,
                     struct lpo_err *err)
{
    LPO_AUTO(lpo_file_text) text = NULL;

    if (lpo_file_text_read(path, &text, err) < 0 ||
        lpo_yaml_parse(a, text->at, text->len, path, out, err) < 0)
        return err->code;
    return 0;
}

/* The config as the program needs it: secrets come from the environment again. */
static int load_config(struct lpo_arena *a, const char *run, const struct lpo_node **out,
                       struct lpo_err *err)
{
    const char *rows = lpo_path_join(a, run, HIDDEN_FILE);
    struct lpo_node *config = NULL, *hidden = NULL;

    if (load_yaml(a, lpo_path_join(a, run, "config.yaml"), &config, err) < 0 ||
        (lpo_path_exists(rows) && load_yaml(a, rows, &hidden, err) < 0))
        return lpo_ctx(err, "cannot read the config of this run");
    if (lpo_secrets_restore(a, config, hidden, err) < 0)
        return err->code;
    lpo_secrets_collect(a, config);
    *out = config;
    return 0;
}

static int resume(struct lpo_app *app, const char *run_dir, const struct lpo_run_folder *folder,
                  struct lpo_progress *progress, struct lpo_job_result *out, struct lpo_err *err)
{
    struct lpo_arena *a = app->arena;
    struct lpo_manifest m = { .arena = a };
    struct lpo_job job = { 0 };
    char here[4096];

    m.dir = folder->dir;
    if (lpo_run_manifest_load(&m, err) < 0 || load_config(a, m.dir, &job.config, err) < 0)
        return lpo_ctx(err, "'%s' cannot be resumed", run_dir);
    if (!m.call_dir || !lpo_path_is_dir(m.call_dir))
        m.call_dir = lpo_arena_strdup(a, getcwd(here, sizeof here) ? here : "/");
    job.call_dir = m.call_dir;
    job.chdir = m.chdir;
    job.shared = true;
    if (lpo_run_supervise_begin(err) < 0 || settle_program(app, &job, &m, progress, err) < 0)
        return err->code;
    lpo_run_interrupt_arm(m.dir);
    lpo_run_folder_log(m.dir, "lpo %s resumes%s", LPO_VERSION, folder->unlocked ? no_lock : "");
    return run_pipeline(app, &job, &m, progress, out, err);
}

/* The lock is taken before anything is read: whoever has it has the whole run. */
int lpo_cli_job_resume(struct lpo_app *app, const char *run_dir, struct lpo_progress *progress,
                       struct lpo_job_result *out, struct lpo_err *err)
{
    struct lpo_run_folder folder;
    int rc = lpo_run_folder_open(app->arena, run_dir, &folder, err);

    if (rc < 0)
        return lpo_ctx(err, "'%s' cannot be resumed", run_dir);
    rc = resume(app, run_dir, &folder, progress, out, err);
    lpo_run_interrupt_disarm();
    lpo_run_folder_close(&folder);
    return rc;
}

int lpo_cli_job_dry_run(struct lpo_app *app, const struct lpo_job *job, struct lpo_err *err)
{
    struct lpo_manifest m = { .arena = app->arena };
    const char *run = lpo_path_absolute(app->arena, job->run_dir);
    struct lpo_pipeline p = make_pipeline(app, job, run, &m, NULL);
    struct lpo_err why = { 0 };
    LPO_STR text = { 0 };

    lpo_pipeline_fill_manifest(&p);
    if (lpo_pipeline_dry_run(&p, &text, err) < 0)
        return err->code;
    /* what is missing here may be there where the run is to be */
    if (lpo_workload_check(app->arena, job->config, job->call_dir, &why) < 0)
        fprintf(app->log, "lpo: warning: here the run would fail: %s\n", lpo_err_cause(&why));
    fputs(lpo_str_text(&text), app->out);
    return 0;
}
