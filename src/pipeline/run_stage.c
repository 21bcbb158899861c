/* SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/run_stage.h"

#include <string.h>

#include "analysis/run.h"
#include "pipeline/pipeline.h"
#include "run/child/supervise.h"
#include "run/folder.h"
#include "run/manifest.h"
#include "settings/settings.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/file.h"
#include "util/path.h"
#include "util/str.h"

/* The regions that an earlier stage of this run recorded, or whether one would. */
static void find_regions(struct lpo_pipeline *p, const struct lpo_stage *stage,
                         struct lpo_stage_ctx *ctx)
{
    for (const struct lpo_stage *const *s = lpo_pipeline_stages(); *s && *s != stage; s++) {
        const struct lpo_stage_record *r = lpo_run_manifest_stage(p->manifest, (*s)->name);

        if (!(*s)->regions_file)
            continue;
        if (ctx->dry_run) {
            ctx->regions_will_be_known |= lpo_pipeline_enabled(p->config, *s);
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

void lpo_pipeline_own_folders(struct lpo_arena *a, struct lpo_stage_record *r)
{
    r->files = lpo_arena_array(a, 2, sizeof *r->files);
    r->files[0] = lpo_arena_printf(a, "%s/", r->name);
    r->files[1] = lpo_arena_printf(a, "workload/%s/", r->name);
    r->nfiles = 2;
}

int lpo_pipeline_clear_folders(struct lpo_pipeline *p, struct lpo_stage_record *r,
                               struct lpo_err *err)
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
    lpo_pipeline_own_folders(p->arena, r);
    return 0;
}

int lpo_pipeline_make_ctx(struct lpo_pipeline *p, const struct lpo_stage *stage, bool dry_run,
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
        .light = lpo_pipeline_is_light(p->config),
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

int lpo_pipeline_run_stage(struct lpo_pipeline *p, const struct lpo_stage *stage,
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
