/* SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/pipeline.h"

#include <unistd.h>

#include "analysis/run.h"
#include "hydra/compose.h"
#include "pipeline/stage.h"
#include "run/child/supervise.h"
#include "run/clock.h"
#include "run/folder.h"
#include "rundir/rundir.h"
#include "util/file.h"
#include "util/path.h"

enum { LPO_MAX_BESIDE = 4 };

/* The stages that run beside the others. */
struct lpo_beside {
    struct lpo_stage_ctx ctx[LPO_MAX_BESIDE];
    const struct lpo_stage *stage[LPO_MAX_BESIDE];
    size_t len;
};

static bool is_light(const struct lpo_node *config)
{
    return strcmp(lpo_settings_text(config, "run.mode"), "light") == 0;
}

static bool is_enabled(const struct lpo_node *config, const struct lpo_stage *stage)
{
    LPO_STR key = { 0 };
    const char *how;

    lpo_str_addf(&key, "pipeline.%s.enable", stage->name);
    if (!lpo_node_at(config, key.at))
        return false;
    if (lpo_settings_schema_find(key.at)->type != LPO_S_TEXT)
        return lpo_settings_bool(config, key.at);
    how = lpo_settings_text(config, key.at); /* auto: where it can be had, which it finds out */
    return strcmp(how, "false") != 0;
}

/* --- one stage: its folders, its steps ----------------------------------------------------------
 */

/* The regions that an earlier stage of this run recorded, or whether one would. */
static void find_regions(struct lpo_pipeline *p, const struct lpo_stage *stage,
                         struct lpo_stage_ctx *ctx)
{
    for (const struct lpo_stage *const *s = lpo_pipeline_stages(); *s && *s != stage; s++) {
        const struct lpo_stage_record *r = lpo_run_manifest_stage(p->manifest, (*s)->name);

        if (!(*s)->regions_file)
            continue;
        if (ctx->dry_run) {
            ctx->regions_will_be_known |= is_enabled(p->config, *s);
        } else if (!ctx->known.at) {
            lpo_pipeline_known_regions_read(
                p->arena,
                lpo_path_join(p->arena, p->run_dir,
                              lpo_path_join(p->arena, (*s)->name, (*s)->regions_file)),
                &ctx->known);
            ctx->known.complete |= r && r->state == LPO_DONE;
        }
    }
}

static void own_folders(struct lpo_arena *a, struct lpo_stage_record *r)
{
    r->files = lpo_arena_array(a, 2, sizeof *r->files);
    r->files[0] = lpo_arena_printf(a, "%s/", r->name);
    r->files[1] = lpo_arena_printf(a, "workload/%s/", r->name);
    r->nfiles = 2;
}

static int clear_folders(struct lpo_pipeline *p, struct lpo_stage_record *r, struct lpo_err *err)
{
    const char *names[] = { r->name, lpo_path_join(p->arena, "workload", r->name) };

    for (int i = 0; i < 2; i++) {
        const char *kept;

        if (lpo_run_folder_clear(p->arena, p->run_dir, names[i], r->files, r->nfiles, &kept, err) <
            0)
            return lpo_ctx(err, "cannot prepare the folders of stage %s", r->name);
        if (kept)
            lpo_run_manifest_note(p->manifest, r,
                                  "%s had files that this run did not make: it is now %s", names[i],
                                  kept);
    }
    own_folders(p->arena, r);
    return 0;
}

static int make_ctx(struct lpo_pipeline *p, const struct lpo_stage *stage, bool dry_run,
                    struct lpo_stage_ctx *ctx, struct lpo_err *err)
{
    const char *below = lpo_path_join(p->arena, "workload", stage->name);

    *ctx = (struct lpo_stage_ctx){
        .arena = p->arena,
        .config = p->config,
        .run_dir = p->run_dir,
        .dir = lpo_path_join(p->arena, p->run_dir, stage->name),
        .workload_dir = lpo_path_join(p->arena, p->run_dir, below),
        .call_dir = p->call_dir,
        .light = is_light(p->config),
        .in_job = p->in_job,
        .dry_run = dry_run,
        .manifest = p->manifest,
        .record = lpo_run_manifest_stage(p->manifest, stage->name),
        .analysis = p->analysis,
    };
    lpo_pipeline_stage_read_settings(stage, ctx);
    find_regions(p, stage, ctx);
    if (dry_run)
        return 0;
    lpo_analysis_run_forget(p->analysis, stage->name);
    if (lpo_file_make_dirs(ctx->dir, err) < 0 || lpo_file_make_dirs(ctx->workload_dir, err) < 0)
        return lpo_ctx(err, "cannot prepare the folders of stage %s", stage->name);
    return 0;
}

static int write_command(const struct lpo_step *step, struct lpo_err *err)
{
    LPO_STR text = { 0 };

    if (!step->cmd_path)
        return 0;
    lpo_run_step_print(step, &text);
    return lpo_file_write(step->cmd_path, text.at, text.len, err);
}

static void record_step(struct lpo_stage_ctx *ctx, const struct lpo_step *step,
                        const struct lpo_result *r)
{
    LPO_STR how = { 0 };

    lpo_run_result_describe(r, step, &how);
    lpo_run_manifest_step(ctx->manifest, ctx->record, step->label, lpo_str_text(&how), r);
    lpo_run_folder_log(ctx->run_dir, "%s: %s: %s", ctx->record->name, step->label,
                       lpo_str_text(&how));
    if (r->no_cgroup)
        lpo_run_folder_log(ctx->run_dir,
                           "%s: %s: it had no cgroup of its own (%s): if lpo and its two guards "
                           "are killed in one moment, what it started may go on",
                           ctx->record->name, step->label, r->no_cgroup);
    if (r->disk_errno)
        lpo_run_manifest_note(ctx->manifest, ctx->record, "%s: its output could not be kept: %s",
                              step->label, strerror(r->disk_errno));
    if (r->left_running)
        lpo_run_manifest_note(ctx->manifest, ctx->record,
                              "%s: a process that it started could not be ended, or could not be "
                              "looked for because /proc is not readable: it may still run",
                              step->label);
    if (!r->disk_errno && r->lost_bytes)
        lpo_run_manifest_note(ctx->manifest, ctx->record,
                              "%s: %llu bytes of output beyond run.max_output_bytes were not kept",
                              step->label, (unsigned long long)r->lost_bytes);
}

static bool is_running(const struct lpo_pipeline *p, size_t i)
{
    const struct lpo_stage_record *r =
        lpo_run_manifest_stage(p->manifest, p->beside->stage[i]->name);

    return r && r->state == LPO_RUNNING;
}

static void start_along(struct lpo_pipeline *p, const struct lpo_stage *stage,
                        const struct lpo_step *step)
{
    for (size_t i = 0; p->beside && i < p->beside->len; i++)
        if (p->beside->stage[i]->start_along && is_running(p, i))
            p->beside->stage[i]->start_along(&p->beside->ctx[i], stage, step);
}

static void plan_along(struct lpo_pipeline *p, const struct lpo_stage *stage, struct lpo_step *step)
{
    for (size_t i = 0; p->beside && i < p->beside->len; i++)
        if (p->beside->stage[i]->plan_along && is_running(p, i))
            p->beside->stage[i]->plan_along(&p->beside->ctx[i], stage, step);
}

static void stop_along(void *ctx)
{
    struct lpo_pipeline *p = ctx;

    for (size_t i = 0; p->beside && i < p->beside->len; i++)
        if (p->beside->stage[i]->stop_along && is_running(p, i))
            p->beside->stage[i]->stop_along(&p->beside->ctx[i]);
}

static int run_steps(struct lpo_pipeline *p, const struct lpo_stage *stage,
                     struct lpo_stage_ctx *ctx, struct lpo_steps *steps, struct lpo_err *err)
{
    struct lpo_watch watch = {
        .tick = p->events.tick,
        .output = p->events.output,
        .ctx = p->events.ctx,
        .self_path = lpo_run_guard_program(p->arena),
        .ended = stop_along,
        .ended_ctx = p,
        .grace_ns = lpo_settings_duration_ns(p->config, "run.grace"),
    };

    for (size_t i = 0; i < steps->len; i++) {
        struct lpo_step step = steps->at[i]; /* `after` may move the list */
        struct lpo_result r;
        int rc;

        step.reads_input = step.workload && p->passes_input;
        if (step.workload)
            plan_along(p, stage, &step);
        if (write_command(&step, err) < 0)
            return err->code;
        if (step.workload)
            start_along(p, stage, &step);
        rc = lpo_run_supervise(&step, &watch, &r, err);
        stop_along(p); /* also where the program could not be started */
        if (rc < 0)
            return rc;
        record_step(ctx, &step, &r);
        if (r.end == LPO_END_INTERRUPTED)
            return lpo_pipeline_stage_judge(&step, &r, err);
        rc = stage->after ? stage->after(ctx, steps, i, &r, err)
                          : lpo_pipeline_stage_judge(&step, &r, err);
        if (rc < 0 && !step.optional)
            return rc;
        if (rc < 0) {
            lpo_run_manifest_note(ctx->manifest, ctx->record, "%s", lpo_err_cause(err));
            *err = (struct lpo_err){ 0 };
        }
    }
    return 0;
}

/* Rank 0 measures, and its program needs the other ranks: here it runs as it is. There is no time
 * limit but that of the stage, since replay takes long. */
static int run_unprofiled(struct lpo_pipeline *p, const struct lpo_stage *stage,
                          struct lpo_stage_ctx *ctx, struct lpo_err *err)
{
    struct lpo_steps steps = { .arena = p->arena };
    struct lpo_workload_opts opts = { .profiled = true };
    struct lpo_stage plain = { .name = stage->name };
    struct lpo_step *step;

    if (lpo_pipeline_stage_add_workload(ctx, &steps, "unprofiled", &opts, &step, err) < 0 ||
        lpo_pipeline_stage_prepare_workload(ctx, err) < 0)
        return err->code;
    lpo_pipeline_stage_wait_long(ctx, step);
    ctx->record->message = "rank 0 is measured; here the program ran as it is";
    return run_steps(p, &plain, ctx, &steps, err);
}

static int run_stage(struct lpo_pipeline *p, const struct lpo_stage *stage,
                     struct lpo_stage_ctx *ctx, struct lpo_err *err)
{
    struct lpo_steps steps = { .arena = p->arena };
    int rc = 0;

    if (p->follows && stage->one_rank)
        return run_unprofiled(p, stage, ctx, err);
    if (stage->plan && stage->plan(ctx, &steps, err) < 0)
        return err->code;
    if (ctx->nothing_to_do)
        return 0;
    if (lpo_pipeline_stage_prepare_workload(ctx, err) < 0)
        return err->code;
    if (stage->prepare && stage->prepare(ctx, &steps, err) < 0)
        return err->code;
    rc = run_steps(p, stage, ctx, &steps, err);
    lpo_pipeline_stage_note_workload(ctx);
    if (rc == 0 && stage->collect)
        rc = stage->collect(ctx, err);
    return rc;
}

/* --- the order of stages, and what becomes of each ----------------------------------------------
 */

bool lpo_pipeline_wants(const struct lpo_node *config, const struct lpo_stage *stage)
{
    return is_enabled(config, stage) && (stage->light || !is_light(config));
}

int lpo_pipeline_check_settings(struct lpo_arena *a, const struct lpo_node *config,
                                struct lpo_err *err)
{
    for (const struct lpo_stage *const *s = lpo_pipeline_stages(); *s; s++) {
        struct lpo_stage_ctx ctx = { .arena = a, .stage = *s, .config = config };

        if (!(*s)->check_settings || !lpo_pipeline_wants(config, *s))
            continue;
        lpo_pipeline_stage_read_settings(*s, &ctx);
        if ((*s)->check_settings(&ctx, err) < 0)
            return err->code;
    }
    return 0;
}

/* Once for the job, or once for this machine. */
static bool done_elsewhere(const struct lpo_pipeline *p, const struct lpo_stage *stage)
{
    return (p->follows && stage->one_rank && !stage->plan) || (p->beside_another && stage->begin);
}

void lpo_pipeline_fill_manifest(struct lpo_pipeline *p)
{
    for (const struct lpo_stage *const *s = lpo_pipeline_stages(); *s; s++) {
        struct lpo_stage_record *r = lpo_run_manifest_stage(p->manifest, (*s)->name);

        if (r && r->state == LPO_DONE)
            continue; /* resumed: keep what is done */
        if (!r)
            r = lpo_run_manifest_add(p->manifest, (*s)->name);
        /* the files of an earlier try stay listed until they are removed */
        *r = (struct lpo_stage_record){ .name = r->name, .files = r->files, .nfiles = r->nfiles };
        if (lpo_pipeline_wants(p->config, *s) && !done_elsewhere(p, *s))
            continue;
        r->state = LPO_SKIPPED;
        r->message = !is_enabled(p->config, *s) ? "not enabled"
                     : done_elsewhere(p, *s)    ? "another rank of this job does it"
                                                : LPO_NOT_LIGHT;
    }
}

/* What became of the stage, from the error code. */
static enum lpo_state state_of(int rc)
{
    switch (rc) {
    case 0:
        return LPO_DONE;
    case LPO_E_MISSING:
        return LPO_MISSING;
    case LPO_E_INTERRUPTED:
        return LPO_INTERRUPTED;
    default:
        return LPO_FAILED;
    }
}

static void list_files(struct lpo_pipeline *p, struct lpo_stage_record *r)
{
    const char *workload = lpo_path_join(p->arena, "workload", r->name);
    struct lpo_paths files = { 0 };
    struct lpo_err err = { 0 };

    if (lpo_run_folder_list(p->arena, p->run_dir, r->name, &files, &err) < 0 ||
        lpo_run_folder_list(p->arena, p->run_dir, workload, &files, &err) < 0)
        lpo_run_manifest_note(p->manifest, r, "its files could not be listed: %s",
                              lpo_err_cause(&err));
    if (err.code || files.cut) { /* the folders as a whole, which is right, if less exact */
        own_folders(p->arena, r);
        return;
    }
    r->files = files.at;
    r->nfiles = files.len;
}

/* The explanation of a failure, all its lines in one. */
static const char *one_line(struct lpo_arena *a, const struct lpo_err *err)
{
    LPO_STR text = { 0 };

    for (unsigned i = err->lines; i-- > 0;)
        lpo_str_addf(&text, "%s%s", text.len ? ": " : "", err->text + err->at[i]);
    return lpo_arena_strdup(a, lpo_str_text(&text));
}

static int mark_running(struct lpo_pipeline *p, struct lpo_stage_record *r, struct lpo_err *err)
{
    r->state = LPO_RUNNING;
    r->started_ns = lpo_run_clock_unix_ns();
    return lpo_run_manifest_save(p->manifest, err);
}

static int mark_ended(struct lpo_pipeline *p, struct lpo_stage_record *r, int rc,
                      const struct lpo_err *why, struct lpo_err *err)
{
    r->wall_ns = lpo_run_clock_unix_ns() - r->started_ns;
    r->state = state_of(rc);
    if (rc < 0)
        r->message = one_line(p->arena, why);
    list_files(p, r);
    lpo_run_folder_log(p->run_dir, "%s: %s%s%s", r->name, lpo_run_state_name(r->state),
                       r->message ? ": " : "", r->message ? r->message : "");
    if (p->events.end)
        p->events.end(p->events.ctx, r);
    return lpo_run_manifest_save(p->manifest, err);
}

/* A stage that this workload has no use for: neither done nor failed, and without folders. One
 * that was never announced is not mentioned either. */
static int mark_skipped(struct lpo_pipeline *p, struct lpo_stage_record *r,
                        const struct lpo_stage_ctx *ctx, bool announced, struct lpo_err *err)
{
    rmdir(ctx->dir);
    rmdir(ctx->workload_dir);
    *r = (struct lpo_stage_record){
        .name = r->name,
        .state = LPO_SKIPPED,
        .message = ctx->nothing_to_do,
        .started_ns = r->started_ns, /* it was looked at, unlike a stage that is not enabled */
    };
    lpo_run_folder_log(p->run_dir, "%s: skipped: %s", r->name, r->message);
    if (p->events.end && announced)
        p->events.end(p->events.ctx, r);
    return lpo_run_manifest_save(p->manifest, err);
}

static int do_stage(struct lpo_pipeline *p, const struct lpo_stage *stage,
                    struct lpo_stage_record *r, struct lpo_err *err)
{
    struct lpo_stage_ctx ctx = { 0 };
    struct lpo_err why = { 0 };
    int rc = clear_folders(p, r, &why);

    if (mark_running(p, r, err) < 0)
        return err->code;
    if (p->events.begin)
        p->events.begin(p->events.ctx, stage);
    if (rc == 0)
        rc = make_ctx(p, stage, false, &ctx, &why);
    if (rc == 0)
        rc = run_stage(p, stage, &ctx, &why);
    if (rc == 0 && ctx.nothing_to_do)
        return mark_skipped(p, r, &ctx, true, err);
    return mark_ended(p, r, rc, &why, err);
}

/* A stage that runs beside the others. One that cannot begin is over at once. */
static int begin_beside(struct lpo_pipeline *p, const struct lpo_stage *stage,
                        struct lpo_stage_ctx *ctx, struct lpo_err *err)
{
    struct lpo_stage_record *r = lpo_run_manifest_stage(p->manifest, stage->name);
    struct lpo_err why = { 0 };
    int rc = clear_folders(p, r, &why);

    if (mark_running(p, r, err) < 0)
        return err->code;
    if (rc == 0)
        rc = make_ctx(p, stage, false, ctx, &why);
    if (rc == 0)
        rc = stage->begin(ctx, &why);
    if (rc == 0 && ctx->nothing_to_do)
        return mark_skipped(p, r, ctx, false, err);
    return rc < 0 ? mark_ended(p, r, rc, &why, err) : 0;
}

static int end_beside(struct lpo_pipeline *p, const struct lpo_stage *stage,
                      struct lpo_stage_ctx *ctx, struct lpo_err *err)
{
    struct lpo_stage_record *r = lpo_run_manifest_stage(p->manifest, stage->name);
    struct lpo_err why = { 0 };
    int rc;

    if (!r || r->state != LPO_RUNNING || !ctx->dir) /* it never began */
        return 0;
    rc = stage->collect(ctx, &why);
    if (rc == 0 && ctx->nothing_to_do)
        return mark_skipped(p, r, ctx, true, err);
    return mark_ended(p, r, rc, &why, err);
}

/* The worst that happened decides: interrupted, failed, missing. */
static int exit_code(const struct lpo_manifest *m)
{
    bool failed = false, missing = false;

    for (size_t i = 0; i < m->nstages; i++) {
        if (m->stages[i].state == LPO_INTERRUPTED)
            return 130;
        failed |= m->stages[i].state == LPO_FAILED;
        missing |= m->stages[i].state == LPO_MISSING;
    }
    return failed ? 1 : missing ? 3 : 0;
}

static void skip_the_rest(struct lpo_manifest *m, const char *why)
{
    for (size_t i = 0; i < m->nstages; i++) {
        if (m->stages[i].state == LPO_PENDING) {
            m->stages[i].state = LPO_SKIPPED;
            m->stages[i].message = why;
        }
    }
}

/* The program fails by itself: under a profiler it would, too. In a job the other ranks may have
 * done well, and would wait for this one in the next stage. */
static bool fails_alone(const struct lpo_pipeline *p, const struct lpo_stage *stage,
                        const struct lpo_stage_record *r)
{
    return stage->results && stage->results->roles & LPO_ROLE_UNDISTURBED &&
           r->state == LPO_FAILED && r->nsteps && !p->in_job &&
           !lpo_settings_bool(p->config, "run.keep_going");
}

static void skip_what_would_fail(struct lpo_pipeline *p)
{
    for (const struct lpo_stage *const *s = lpo_pipeline_stages(); *s; s++) {
        struct lpo_stage_record *r = lpo_run_manifest_stage(p->manifest, (*s)->name);

        if (!(*s)->plan || !r || r->state != LPO_PENDING)
            continue;
        r->state = LPO_SKIPPED;
        r->message = LPO_FAILED_ALONE;
        r->started_ns = lpo_run_clock_unix_ns(); /* its turn came */
        if (p->events.end)
            p->events.end(p->events.ctx, r);
    }
}

static int run_in_order(struct lpo_pipeline *p, struct lpo_err *err)
{
    bool fail_fast = lpo_settings_bool(p->config, "run.fail_fast");

    for (const struct lpo_stage *const *s = lpo_pipeline_stages(); *s; s++) {
        struct lpo_stage_record *r = lpo_run_manifest_stage(p->manifest, (*s)->name);

        if (!r || r->state != LPO_PENDING)
            continue;
        if (do_stage(p, *s, r, err) < 0)
            return err->code;
        if (r->state == LPO_INTERRUPTED || lpo_run_supervise_interrupted()) {
            r->state = LPO_INTERRUPTED;
            break; /* the others stay pending, for --resume */
        }
        if (fails_alone(p, *s, r))
            skip_what_would_fail(p);
        if (fail_fast && r->state != LPO_DONE && r->state != LPO_SKIPPED) {
            skip_the_rest(p->manifest, "run.fail_fast: an earlier stage failed");
            break;
        }
    }
    return 0;
}

int lpo_pipeline_run(struct lpo_pipeline *p, struct lpo_err *err)
{
    struct lpo_beside beside = { 0 };
    int rc = lpo_run_supervise_begin(err);

    for (const struct lpo_stage *const *s = lpo_pipeline_stages();
         rc == 0 && *s && beside.len < LPO_MAX_BESIDE; s++) {
        struct lpo_stage_record *r = lpo_run_manifest_stage(p->manifest, (*s)->name);

        if (!(*s)->begin || !r || r->state != LPO_PENDING)
            continue;
        rc = begin_beside(p, *s, &beside.ctx[beside.len], err);
        beside.stage[beside.len++] = *s;
    }
    p->beside = &beside;
    if (rc == 0)
        rc = run_in_order(p, err);
    p->beside = NULL;
    for (size_t i = 0; i < beside.len; i++)
        if (end_beside(p, beside.stage[i], &beside.ctx[i], rc < 0 ? NULL : err) < 0 && rc == 0)
            rc = err->code;
    return rc < 0 ? rc : exit_code(p->manifest);
}

size_t lpo_pipeline_program_runs(const struct lpo_pipeline *p, struct lpo_str *stages)
{
    struct lpo_manifest scratch = { .arena = p->arena }; /* for the notes of a plan */
    struct lpo_pipeline planned = *p;
    size_t times = 0;

    planned.manifest = &scratch;
    lpo_pipeline_fill_manifest(&planned);
    for (const struct lpo_stage *const *s = lpo_pipeline_stages(); *s; s++) {
        const struct lpo_stage_record *r = lpo_run_manifest_stage(p->manifest, (*s)->name);
        struct lpo_steps steps = { .arena = p->arena };
        struct lpo_stage_ctx ctx;
        struct lpo_err why = { 0 };
        size_t before = times;

        if (!(*s)->plan || !r || r->state != LPO_PENDING ||
            make_ctx(&planned, *s, true, &ctx, &why) < 0 || (*s)->plan(&ctx, &steps, &why) < 0)
            continue;
        for (size_t i = 0; i < steps.len; i++)
            times += steps.at[i].workload;
        if (times > before)
            lpo_str_addf(stages, "%s%s", stages->len ? ", " : "", (*s)->name);
    }
    return times;
}

/* The folders that a run would have made: pasted commands write there. */
static void print_folders(const struct lpo_stage_ctx *ctx, struct lpo_str *out)
{
    lpo_str_add(out, "mkdir -p ");
    lpo_str_add_shell(out, ctx->dir);
    lpo_str_addc(out, ' ');
    lpo_str_add_shell(out, ctx->workload_dir);
    lpo_str_addc(out, '\n');
}

int lpo_pipeline_dry_run(struct lpo_pipeline *p, struct lpo_str *out, struct lpo_err *err)
{
    bool any = false;

    for (const struct lpo_stage *const *s = lpo_pipeline_stages(); *s; s++) {
        struct lpo_steps steps = { .arena = p->arena };
        struct lpo_stage_ctx ctx;

        if (!is_enabled(p->config, *s))
            continue;
        any = any || !(*s)->start_along;
        if (!lpo_pipeline_wants(p->config, *s)) {
            lpo_str_addf(out, "# %s: skipped: %s\n", (*s)->name, LPO_NOT_LIGHT);
            continue;
        }
        if (!(*s)->plan) {
            if (!(*s)->start_along) /* it has no time of its own */
                lpo_str_addf(out, "# %s: inside lpo\n", (*s)->name);
            continue;
        }
        if (make_ctx(p, *s, true, &ctx, err) < 0 || (*s)->plan(&ctx, &steps, err) < 0)
            return lpo_ctx(err, "stage %s", (*s)->name);
        if (ctx.nothing_to_do)
            lpo_str_addf(out, "# %s: skipped: %s\n", (*s)->name, ctx.nothing_to_do);
        if (steps.len)
            print_folders(&ctx, out);
        for (size_t i = 0; i < steps.len; i++) {
            lpo_str_addf(out, "# %s: %s\n", (*s)->name, steps.at[i].label);
            lpo_run_step_print(&steps.at[i], out);
        }
    }
    if (!any)
        lpo_str_add(out, "# no stage is enabled: pipeline.native.enable=true\n");
    return 0;
}
