/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/kernels_run.h"

#include "cli/app.h"
#include "cli/kernels_record.h"
#include "cli/run/job.h"
#include "cli/run/progress.h"
#include "cli/trace_options.h"
#include "gpu/nvml.h"
#include "hydra/compose.h"
#include "pipeline/ncu/ncu.h"
#include "pipeline/pipeline.h"
#include "pipeline/stage.h"
#include "pipeline/tool_messages.h"
#include "report/doc/doc.h"
#include "report/profiled_kernels.h"
#include "run/child/interrupt.h"
#include "run/child/supervise.h"
#include "run/folder.h"
#include "run/provenance.h"
#include "run/secrets/secrets.h"
#include "rundir/read.h"
#include "settings/settings.h"
#include "trace/trace.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/file.h"
#include "util/path.h"
#include "util/str.h"
#include "util/units.h"
#include "writer/writer.h"

struct session {
    const struct lpo_kernels_job *k;
    struct lpo_arena *arena;
    struct lpo_progress *progress;
    struct lpo_watch watch;
    struct lpo_gpus gpus;
    struct lpo_run_folder folder;
    struct lpo_kernel_summary summary;
    struct lpo_kernel_outcome *outcomes;
    bool failed, missing, stop, interrupted;
};

static struct lpo_stage_ctx make_ctx(struct lpo_arena *a, const struct lpo_kernels_job *k,
                                     const char *out, size_t i, bool dry_run)
{
    const char *dir = lpo_path_join(
        a, out, lpo_pipeline_ncu_kernel_folder(a, i + 1, &k->wanted.at[i], k->old_layout));

    struct lpo_stage_ctx ctx = {
        .arena = a,
        .config = k->job->config,
        .run_dir = out,
        .dir = dir,
        .workload_dir = dir,
        .call_dir = k->job->chdir ? dir : k->job->call_dir,
        .dry_run = dry_run,
    };

    lpo_pipeline_stage_read_settings(&lpo_pipeline_ncu, &ctx);
    return ctx;
}

int lpo_cli_kernels_dry_run(struct lpo_app *app, const struct lpo_kernels_job *k,
                            struct lpo_str *out, struct lpo_err *err)
{
    struct lpo_arena *a = app->arena;
    const char *folder = lpo_path_absolute(a, k->job->run_dir);

    for (size_t i = 0; i < k->wanted.len; i++) {
        struct lpo_stage_ctx ctx = make_ctx(a, k, folder, i, true);
        struct lpo_steps steps = { .arena = a };

        if (lpo_pipeline_ncu_kernel_plan(&ctx, k->ncu, k->per_config, &k->wanted.at[i], &steps,
                                         err) < 0)
            return err->code;
        lpo_pipeline_ncu_kernel_plan_tables(&ctx, k->ncu, &steps);
        for (size_t s = 0; s < steps.len; s++) {
            lpo_str_addf(out, "# kernel %zu: %s\n", i + 1, steps.at[s].label);
            lpo_run_step_print(&steps.at[s], out);
        }
    }
    return 0;
}

static const char *joined(struct lpo_arena *a, const char *first, const char *second)
{
    return first && second ? lpo_arena_printf(a, "%s; %s", first, second) : first ? first : second;
}

static int run_step(struct session *s, const struct lpo_step *step, struct lpo_result *r,
                    struct lpo_err *err)
{
    LPO_STR text = { 0 };

    if (step->cmd_path) {
        lpo_run_step_print(step, &text);
        if (lpo_file_write(step->cmd_path, text.at, text.len, err) < 0)
            return err->code;
    }
    return lpo_run_supervise(step, &s->watch, r, err);
}

static const char *name_base_of(const struct lpo_node *flags)
{
    const struct lpo_node *n = lpo_node_get(flags, "kernel_name_base");

    return n && n->kind == LPO_NODE_STRING ? n->text : NULL;
}

/* What became of the capture; the report may be there although something went wrong. */
static void judge(struct session *s, const struct lpo_stage_ctx *ctx,
                  const struct lpo_wanted_kernel *kernel, const struct lpo_step *step,
                  const struct lpo_result *r, struct lpo_kernel_outcome *o)
{
    const struct lpo_tool_message *m;
    const char *log = lpo_path_join(s->arena, ctx->dir, LPO_KERNEL_LOG);
    bool made = lpo_path_exists(lpo_path_join(s->arena, ctx->dir, LPO_KERNEL_REPORT));
    const char *base = kernel->base ? kernel->base : name_base_of(s->k->flags);
    bool ended_well = r->end == LPO_END_EXIT && r->code == 0;

    o->message = lpo_pipeline_ncu_problem(s->arena, log, step, r, &m);
    s->interrupted = r->end == LPO_END_INTERRUPTED || lpo_run_supervise_interrupted();
    if (made && ended_well) {
        o->state = LPO_KERNEL_DONE;
    } else if (!made && ended_well && (!m || (m->what & LPO_TOOL_FILTERED))) {
        o->state = LPO_KERNEL_NO_MATCH;
        o->message =
            lpo_arena_printf(s->arena,
                             "no launch matched '%s' (compared with %s names); 'lpo top' lists the "
                             "kernels of a trace",
                             kernel->regex, base ? base : "function");
    } else {
        o->state = LPO_KERNEL_FAILED;
        s->failed = true;
        s->missing |= m && (m->what & LPO_TOOL_MISSING);
        s->stop |= m && (m->what & LPO_TOOL_FATAL);
    }
    if (kernel->merged && made)
        o->message =
            joined(s->arena, o->message,
                   lpo_arena_printf(s->arena, "%u further rows of the list are equal to it",
                                    kernel->merged));
}

static int read_profiles(struct session *s, const char *path, struct lpo_kernel_profiles *out,
                         struct lpo_err *err)
{
    LPO_AUTO(lpo_trace) t = lpo_trace_create();

    if (lpo_rundir_read_trace(path, s->k->ncu, t, err) < 0)
        return err->code;
    *out = lpo_counters_kernel_profiles(s->arena, t);
    return 0;
}

/* The CSVs, and our own reading of the report. Neither can turn a capture into a failure. */
static int read_report(struct session *s, struct lpo_stage_ctx *ctx,
                       const struct lpo_wanted_kernel *kernel, struct lpo_kernel_outcome *o,
                       struct lpo_err *err)
{
    const char *other = NULL;
    struct lpo_arena *a = s->arena;
    struct lpo_steps steps = { .arena = a };
    struct lpo_err why = { 0 };

    lpo_pipeline_ncu_kernel_plan_tables(ctx, s->k->ncu, &steps);
    for (size_t i = 0; i < steps.len && !s->interrupted; i++) {
        struct lpo_result r;

        if (run_step(s, &steps.at[i], &r, err) < 0)
            return err->code;
        s->interrupted = r.end == LPO_END_INTERRUPTED;
        if (lpo_pipeline_stage_judge(&steps.at[i], &r, &why) < 0)
            o->message = joined(a, o->message, lpo_arena_strdup(a, lpo_err_cause(&why)));
    }
    if (read_profiles(s, lpo_path_join(a, ctx->dir, LPO_KERNEL_REPORT), &o->profiles, &why) < 0 &&
        read_profiles(s, lpo_path_join(a, ctx->dir, LPO_KERNEL_DETAILS), &o->profiles, &why) < 0)
        o->message = joined(a, o->message, lpo_arena_strdup(a, lpo_err_cause(&why)));
    lpo_pipeline_ncu_kernel_keep(a, kernel, &o->profiles, &other);
    if (other) {
        o->state = LPO_KERNEL_NO_MATCH;
        o->message = joined(a, other, o->message);
    }
    return 0;
}

static int run_kernel(struct session *s, size_t i, struct lpo_err *err)
{
    const struct lpo_wanted_kernel *kernel = &s->k->wanted.at[i];
    struct lpo_kernel_outcome *o = &s->outcomes[i];
    struct lpo_stage_ctx ctx = make_ctx(s->arena, s->k, s->summary.folder, i, false);
    struct lpo_steps steps = { .arena = s->arena };
    struct lpo_result r;
    int rc = lpo_file_make_dirs(ctx.dir, err);

    if (rc == 0)
        rc = lpo_pipeline_ncu_kernel_plan(&ctx, s->k->ncu, s->k->per_config, kernel, &steps, err);
    if (rc == 0)
        rc = lpo_pipeline_stage_prepare_workload(&ctx, err);
    if (rc == 0)
        rc = run_step(s, &steps.at[0], &r, err);
    if (rc < 0)
        return rc;
    judge(s, &ctx, kernel, &steps.at[0], &r, o);
    if (lpo_path_exists(lpo_path_join(s->arena, ctx.dir, LPO_KERNEL_REPORT)) && !s->interrupted)
        rc = read_report(s, &ctx, kernel, o, err);
    if (rc == 0)
        rc = lpo_cli_kernels_record(
            s->arena, &(struct lpo_kernels_facts){ s->k, &s->gpus, s->summary.ncu },
            &(struct lpo_kernels_end){ kernel, &steps.at[0], &r, o }, ctx.dir, err);
    return rc;
}

/* --- all ------------------------------------------------------------------------------------ */

static const char *program_text(struct lpo_arena *a, const struct lpo_node *config)
{
    struct lpo_settings_words argv = lpo_settings_list(a, config, "workload.argv");
    LPO_STR text = { 0 };

    lpo_secrets_add_command(&text, (const char *const *)argv.at, argv.len);
    return text.len ? lpo_arena_strdup(a, lpo_str_text(&text))
                    : lpo_settings_text(config, "workload.kind");
}

static int begin(struct session *s, struct lpo_err *err)
{
    struct lpo_arena *a = s->arena;

    if (lpo_run_supervise_begin(err) < 0)
        return err->code;
    lpo_run_interrupt_arm(NULL); /* the folder of each kernel is kept as it is */
    if (lpo_run_folder_begin(a, s->k->job->run_dir, &s->folder, err) < 0 ||
        lpo_run_folder_publish(a, &s->folder, err) < 0) {
        lpo_run_folder_close(&s->folder);
        return lpo_ctx(err, "cannot make the output folder; give another with --output");
    }
    s->summary.folder = s->folder.dir; /* locked until lpo ends */
    lpo_gpu_list(a, &s->gpus);
    s->summary.program = program_text(a, s->k->job->config);
    s->summary.ncu = lpo_run_provenance_version(a, s->k->ncu);
    s->summary.gpu = s->gpus.len ? s->gpus.at[0].name : NULL;
    s->summary.len = s->k->wanted.len;
    s->outcomes = lpo_arena_array(a, s->k->wanted.len, sizeof *s->outcomes);
    s->summary.at = s->outcomes;
    for (size_t i = 0; i < s->k->wanted.len; i++)
        s->outcomes[i] = (struct lpo_kernel_outcome){
            .name = s->k->wanted.at[i].name,
            .regex = s->k->wanted.at[i].regex,
            .folder =
                lpo_pipeline_ncu_kernel_folder(a, i + 1, &s->k->wanted.at[i], s->k->old_layout),
        };
    return 0;
}

static int write_summary(struct session *s, struct lpo_app *app, bool json, struct lpo_err *err)
{
    LPO_AUTO(lpo_doc) doc = lpo_report_kernel_summary_doc(&s->summary);
    LPO_STR text = { 0 };

    lpo_writer_json.write(doc, &text);
    if (lpo_writer_write(doc, &lpo_writer_md,
                         lpo_path_join(s->arena, s->summary.folder, "summary.md"), err) < 0 ||
        lpo_run_folder_write(s->summary.folder, "summary.json", text.at, text.len, err) < 0)
        return err->code;
    if (json)
        fwrite(text.at, 1, text.len, app->out);
    else
        lpo_cli_print_doc(app, doc, &lpo_writer_text);
    lpo_cli_progress_say(s->progress, "written to %s", s->summary.folder);
    return 0;
}

static int exit_code(const struct session *s)
{
    size_t done = 0;

    for (size_t i = 0; i < s->summary.len; i++)
        done += s->outcomes[i].state == LPO_KERNEL_DONE;
    if (s->interrupted)
        return 130;
    return s->missing ? 3 : s->failed || done == 0 ? 1 : 0;
}

int lpo_cli_kernels_run(struct lpo_app *app, const struct lpo_kernels_job *k,
                        struct lpo_progress *progress, bool json, struct lpo_err *err)
{
    struct lpo_pipeline_events events = lpo_cli_progress_events(progress);
    struct session s = {
        .k = k,
        .arena = app->arena,
        .progress = progress,
        .watch = { .tick = events.tick,
                   .ctx = events.ctx,
                   .self_path = lpo_run_guard_program(app->arena) },
    };

    s.watch.grace_ns = lpo_settings_duration_ns(k->job->config, "run.grace");
    if (begin(&s, err) < 0 ||
        (k->old_layout && lpo_cli_kernels_record_call(
                              s.arena, &(struct lpo_kernels_facts){ k, &s.gpus, s.summary.ncu },
                              s.summary.folder, err) < 0))
        return err->code;
    for (size_t i = 0; i < k->wanted.len && !s.stop && !s.interrupted; i++) {
        lpo_cli_progress_say(progress, "kernel %zu of %zu: %s", i + 1, k->wanted.len,
                             k->wanted.at[i].name);
        if (run_kernel(&s, i, err) < 0)
            return err->code;
    }
    if (write_summary(&s, app, json, err) < 0)
        return err->code;
    return exit_code(&s);
}
