/* SPDX-License-Identifier: Apache-2.0 */
/* Nsight Compute: one capture for all regions, its tables, and a second try where that helps. */
#include "pipeline/ncu/ncu.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pipeline/ncu/available.h"
#include "pipeline/ncu/command.h"
#include "pipeline/stage.h"
#include "pipeline/tool_messages.h"
#include "region/select.h"
#include "run/child/supervise.h"
#include "run/manifest.h"
#include "rundir/rundir.h"
#include "settings/settings.h"
#include "trace/trace.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/file.h"
#include "util/path.h"

static const struct lpo_settings_field fields[] = {
    LPO_SETTING(lpo_ncu_settings, gating_nvtx, LPO_S_BOOL, "pipeline.ncu.gating_nvtx"),
    LPO_SETTING(lpo_ncu_settings, seed_from_nsys, LPO_S_BOOL, "pipeline.ncu.seed_from_nsys"),
    LPO_SETTING(lpo_ncu_settings, top_kernels, LPO_S_BOOL, "pipeline.ncu.top_kernels"),
    LPO_SETTING(lpo_ncu_settings, nvtx_include, LPO_S_PATTERNS,
                "pipeline.ncu.ncu_cli.nvtx.include"),
    LPO_SETTING(lpo_ncu_settings, nvtx_exclude, LPO_S_PATTERNS,
                "pipeline.ncu.ncu_cli.nvtx.exclude"),
    LPO_SETTING(lpo_ncu_settings, metrics, LPO_S_WORDS, "pipeline.ncu.ncu_cli.metrics"),
    LPO_SETTING(lpo_ncu_settings, sections, LPO_S_WORDS, "pipeline.ncu.ncu_cli.sections"),
    LPO_SETTING(lpo_ncu_settings, export_csv, LPO_S_BOOL, "pipeline.ncu.ncu_cli.export.csv"),
    LPO_SETTING(lpo_ncu_settings, force_overwrite, LPO_S_BOOL,
                "pipeline.ncu.ncu_cli.force_overwrite"),
    LPO_SETTING(lpo_ncu_settings, extra_args, LPO_S_ARGS, "pipeline.ncu.ncu_cli.extra_args"),
    LPO_SETTING(lpo_ncu_settings, region_mode, LPO_S_BOOL, "pipeline.ncu.regions.enable"),
    LPO_SETTING(lpo_ncu_settings, regions_include, LPO_S_PATTERNS, "pipeline.ncu.regions.include"),
    LPO_SETTING(lpo_ncu_settings, regions_exclude, LPO_S_PATTERNS, "pipeline.ncu.regions.exclude"),
    LPO_SETTING(lpo_ncu_settings, per_config, LPO_S_INT, "pipeline.ncu.sampling.per_config"),
    LPO_SETTING(lpo_ncu_settings, max_new_tokens, LPO_S_INT,
                "pipeline.ncu.sampling.max_new_tokens"),
};

/* --- its traces ----------------------------------------------------------------------------- */

static const char *const reports[] = { "*.ncu-rep", "*.ncu-repz", NULL };
static const char *const tables_of_reports[] = { "*raw.csv", "*raw.csv.gz", NULL };

static const char *const selection[LPO_SELECT_LISTS] = {
    [LPO_REGIONS_INCLUDE] = "pipeline.ncu.regions.include",
    [LPO_REGIONS_EXCLUDE] = "pipeline.ncu.regions.exclude",
    [LPO_KERNELS_INCLUDE] = "pipeline.ncu.regions.kernels.include",
    [LPO_KERNELS_EXCLUDE] = "pipeline.ncu.regions.kernels.exclude",
};

/* The stage, and the reports of what it left, must decide the same. */
static bool representatives(const struct lpo_node *config)
{
    const char *mode = lpo_settings_text(config, "pipeline.ncu.sampling.mode");

    return strcmp(mode, "representative") == 0 ||
           (strcmp(mode, "auto") == 0 && lpo_settings_bool(config, "pipeline.ncu.regions.enable"));
}

static const char *const formats[] = { "ncu-rep", "ncu-csv", NULL };

/* Trusted last: ncu runs kernels alone and slowed down, so its times are not those of the run. */
static const struct lpo_rundir_kind results = {
    .stage = "ncu",
    .what = "the report of Nsight Compute",
    .roles = LPO_ROLE_COUNTERS,
    .patterns = reports,
    .otherwise = tables_of_reports,
    .formats = formats,
    .trust = 4,
    .skip = LPO_SKIP_OPS,
    .selection = selection,
    .aggregate = "pipeline.ncu.regions.aggregate",
    .representatives = representatives,
};

/* --- what it needs -------------------------------------------------------------------------- */

/* Only root may read counters, unless the driver was loaded with another setting. */
static bool look_for_counters(struct lpo_arena *a, const char **detail, const char **remedy)
{
    LPO_AUTO(lpo_file_text) text = NULL;

    (void)a;
    if (lpo_file_text_read("/proc/driver/nvidia/params", &text, NULL) < 0) {
        *detail = "no NVIDIA driver";
        *remedy = "run on a machine with an NVIDIA GPU and driver";
        return false;
    }
    if (strstr(text->at, "RmProfilingAdminOnly: 0") || geteuid() == 0) {
        *detail = geteuid() == 0 ? "root" : "open to all users";
        return true;
    }
    *detail = "only for administrators";
    return false;
}

static bool look_for_ncu(struct lpo_arena *a, const char **detail, const char **remedy)
{
    (void)remedy;
    return lpo_pipeline_stage_look_for_tool(a, lpo_settings_text(NULL, "pipeline.ncu.program"),
                                            detail);
}

static const struct lpo_stage_check checks[] = {
    { "counters", "ncu cannot read hardware counters; tracing still works",
      "ask the administrator for NVreg_RestrictProfilingToAdminUsers=0, or run as root",
      look_for_counters },
    { "ncu", "stage ncu (hardware counters per kernel) and lpo kernels",
      "install Nsight Compute (part of the CUDA toolkit)", look_for_ncu },
    { NULL, NULL, NULL, NULL },
};

/* --- the capture ---------------------------------------------------------------------------- */

struct state {
    struct lpo_ncu_command command; /* of the next capture */
    size_t main, rerun;             /* indices of steps; `none`: there is none */
    size_t list;                    /* the question which sections exist */
    size_t query;                   /* the question which metrics exist */
    const char *problem;            /* why the capture failed, in plain words */
    bool missing;                   /* a permission is missing */
    bool tables_planned;
};

static const size_t none = (size_t)-1;

/* Whether the capture is limited to kernels that an earlier stage saw. The plan must know, because
 * the names of representatives depend on it; which kernels they are is known later. */
static bool is_seeded(const struct lpo_stage_ctx *ctx)
{
    const struct lpo_ncu_settings *settings = ctx->settings;

    return settings->top_kernels || (settings->seed_from_nsys && settings->gating_nvtx &&
                                     !settings->region_mode && !representatives(ctx->config) &&
                                     lpo_settings_bool(ctx->config, "pipeline.nsys.enable"));
}

static void seed(struct lpo_stage_ctx *ctx, struct lpo_ncu_command *c)
{
    const struct lpo_ncu_settings *settings = ctx->settings;
    size_t most = (size_t)lpo_settings_int(ctx->config, "run.top_n_kernels");

    if (c->kernel_name || !is_seeded(ctx))
        return;
    c->kernel_name = lpo_pipeline_ncu_top_kernels(ctx->arena, ctx->analysis,
                                                  settings->top_kernels ? NULL : "nsys", most);
    if (c->kernel_name && !settings->top_kernels)
        lpo_run_manifest_note(ctx->manifest, ctx->record,
                              "only the kernels that took most time under nsys are measured, at "
                              "most %zu (run.top_n_kernels); pipeline.ncu.seed_from_nsys=false "
                              "measures all",
                              most);
}

/* One launch of each configuration stands for the others. ncu tells configurations apart by its own
 * short names, in which all instances of a template are one kernel; linker names keep them apart.
 * Not where the user's filters compare the short ones. */
static void limit_to_representatives(const struct lpo_stage_ctx *ctx, struct lpo_ncu_command *c)
{
    const struct lpo_ncu_settings *settings = ctx->settings;

    c->per_config = true;
    c->per_config_count = settings->per_config;
    c->mangled_names = !c->kernel_name && !c->kernel_name_base && !is_seeded(ctx);
}

/* ncu slows down with every launch it must look at, the more so the more there were before; the
 * first tokens have nearly every configuration of the later ones. What the user set for all
 * profilers wins. 0: as many tokens as under any profiler. */
static int64_t few_tokens(struct lpo_stage_ctx *ctx)
{
    const struct lpo_ncu_settings *settings = ctx->settings;
    int64_t all = lpo_settings_int(ctx->config, "infer.max_new_tokens");
    int64_t fewer = lpo_settings_int(ctx->config, "run.representative_max_new_tokens");
    int64_t few = settings->max_new_tokens;

    if (fewer || !few || few >= all || !representatives(ctx->config) ||
        !lpo_workload_generates_tokens(ctx->config))
        return 0;
    lpo_run_manifest_note(ctx->manifest, ctx->record,
                          "representatives are taken from %lld of %lld tokens "
                          "(pipeline.ncu.sampling.max_new_tokens)",
                          (long long)few, (long long)all);
    return few;
}

/* The command as it is now, before the workload of the step. */
static void render(struct lpo_stage_ctx *ctx, const struct state *s, struct lpo_step *step)
{
    struct lpo_words words = lpo_pipeline_ncu_command_words(ctx->arena, &s->command);

    lpo_run_step_wrap(ctx->arena, step, &words);
}

static int add_capture(struct lpo_stage_ctx *ctx, struct state *s, const char *output,
                       struct lpo_steps *steps, struct lpo_step **out, struct lpo_err *err)
{
    struct lpo_workload_opts opts = { .profiled = true, .most_tokens = few_tokens(ctx) };

    s->command.output = lpo_path_join(ctx->arena, ctx->dir, output);
    if (lpo_pipeline_stage_add_workload(ctx, steps, "ncu", &opts, out, err) < 0)
        return err->code;
    render(ctx, s, *out);
    return 0;
}

static bool has_nvtx_filter(const struct lpo_ncu_command *c)
{
    return c->nvtx_include.len || c->nvtx_exclude.len;
}

/* The same capture without the NVTX filter. Ranges are still recorded in region mode. */
static int add_rerun(struct lpo_stage_ctx *ctx, struct state *s, struct lpo_steps *steps,
                     struct lpo_err *err)
{
    const struct lpo_ncu_settings *settings = ctx->settings;
    struct lpo_step *step;

    s->rerun = steps->len;
    s->command.nvtx = settings->region_mode;
    s->command.nvtx_include = s->command.nvtx_exclude = (struct lpo_words){ 0 };
    if (add_capture(ctx, s, "rerun", steps, &step, err) < 0)
        return err->code;
    step->label = "ncu without NVTX filter";
    step->cmd_path = lpo_path_join(ctx->arena, ctx->dir, "cmd-rerun.txt");
    return 0;
}

static void add_list_sections(struct lpo_stage_ctx *ctx, struct state *s, struct lpo_steps *steps)
{
    struct lpo_step *step =
        lpo_pipeline_stage_add_tool(ctx, steps, "ncu --list-sections", "sections");

    lpo_run_step_arg(ctx->arena, step, s->command.program);
    lpo_run_step_arg(ctx->arena, step, "--list-sections");
    step->stdout_path = lpo_path_join(ctx->arena, ctx->dir, "sections.txt");
}

static int ncu_plan(struct lpo_stage_ctx *ctx, struct lpo_steps *steps, struct lpo_err *err)
{
    struct state *s = LPO_NEW(ctx->arena, struct state);
    const char *program = NULL;
    struct lpo_step *step;

    *s = (struct state){ .main = none, .rerun = none, .list = none, .query = none };
    ctx->private = s;
    if (lpo_pipeline_stage_tool(ctx, &lpo_pipeline_ncu, &program, err) < 0)
        return err->code;
    s->command = lpo_pipeline_ncu_command(ctx, program);
    if (lpo_pipeline_ncu_nvtx_filter(ctx, &s->command, err) < 0)
        return err->code;
    if (representatives(ctx->config))
        limit_to_representatives(ctx, &s->command);
    s->list = steps->len;
    add_list_sections(ctx, s, steps);
    if (s->command.metrics.len) {
        s->query = steps->len;
        lpo_pipeline_ncu_metrics_plan(ctx, program, steps);
    }
    s->main = steps->len;
    return add_capture(ctx, s, "run", steps, &step, err);
}

/* What the plan could not know: which kernels took most time in the stages before, and whether ncu
 * was asked for its metrics before. */
static int ncu_prepare(struct lpo_stage_ctx *ctx, struct lpo_steps *steps, struct lpo_err *err)
{
    struct state *s = ctx->private;

    (void)err;
    seed(ctx, &s->command);
    if (s->query != none &&
        lpo_pipeline_ncu_metrics_recall(ctx, s->command.program, steps->at[s->query].stdout_path)) {
        lpo_pipeline_ncu_metrics_filter(ctx, steps->at[s->query].stdout_path, &s->command);
        lpo_run_steps_remove(steps, s->query);
        s->query = none;
        s->main--;
    }
    render(ctx, s, &steps->at[s->main]);
    return 0;
}

static const char *report_path(const struct lpo_stage_ctx *ctx, const struct state *s)
{
    const char *base = s->rerun != none ? "rerun.ncu-rep" : "run.ncu-rep";

    return lpo_path_join(ctx->arena, ctx->dir, base);
}

static void add_tables(struct lpo_stage_ctx *ctx, struct state *s, struct lpo_steps *steps)
{
    static const struct lpo_ncu_table tables[] = {
        { "ncu raw page", "raw", "raw.csv", "raw", NULL, true },
        { "ncu details page", "details", "sections_report.txt", "details", NULL, false },
    };
    const struct lpo_ncu_settings *settings = ctx->settings;

    if (s->tables_planned || !settings->export_csv)
        return;
    s->tables_planned = true;
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        lpo_pipeline_ncu_add_table(ctx, steps, s->command.program, report_path(ctx, s), &tables[i]);
}

static int after_capture(struct lpo_stage_ctx *ctx, struct state *s, struct lpo_steps *steps,
                         size_t i, const struct lpo_result *r, struct lpo_err *err)
{
    const struct lpo_tool_message *message;
    struct lpo_step step = steps->at[i];
    const char *log = lpo_path_join(ctx->arena, ctx->dir, i == s->rerun ? "rerun.log" : "run.log");
    bool made;

    s->problem = lpo_pipeline_ncu_problem(ctx->arena, log, &step, r, &message);
    s->missing = message && (message->what & LPO_TOOL_MISSING);
    made = lpo_path_exists(report_path(ctx, s));
    if (s->problem && message && (message->what & LPO_TOOL_FILTERED) && i == s->main && !made &&
        has_nvtx_filter(&s->command)) {
        lpo_run_manifest_note(ctx->manifest, ctx->record,
                              "%s; trying again without the NVTX filter", message->meaning);
        return add_rerun(ctx, s, steps, err);
    }
    if (!s->problem && message)
        lpo_run_manifest_note(ctx->manifest, ctx->record, "%s: %s", message->meaning,
                              message->remedy);
    if (made)
        add_tables(ctx, s, steps);
    return 0; /* collect() reports what is wrong: what can be read is saved first */
}

/* That ncu cannot list its sections is a note; a section that is not in its list is a failure. */
static int after_list(struct lpo_stage_ctx *ctx, const struct state *s, const struct lpo_step *step,
                      const struct lpo_result *r, struct lpo_err *err)
{
    struct lpo_err why = { 0 };

    if (lpo_pipeline_stage_judge(step, r, &why) == 0)
        return lpo_pipeline_ncu_sections_check(ctx, &s->command, step->stdout_path, err);
    lpo_run_manifest_note(ctx->manifest, ctx->record, "%s", lpo_err_cause(&why));
    return 0;
}

static int ncu_after(struct lpo_stage_ctx *ctx, struct lpo_steps *steps, size_t i,
                     const struct lpo_result *r, struct lpo_err *err)
{
    struct state *s = ctx->private;

    if (i == s->main || i == s->rerun)
        return after_capture(ctx, s, steps, i, r, err);
    if (i == s->list)
        return after_list(ctx, s, &steps->at[i], r, err);
    if (i == s->query) {
        if (r->end == LPO_END_EXIT && r->code == 0)
            lpo_pipeline_ncu_metrics_filter(ctx, steps->at[i].stdout_path, &s->command);
        render(ctx, s, &steps->at[s->main]);
        return 0;
    }
    return lpo_pipeline_stage_judge(&steps->at[i], r, err);
}

static int ncu_collect(struct lpo_stage_ctx *ctx, struct lpo_err *err)
{
    struct state *s = ctx->private;
    bool made = lpo_path_exists(report_path(ctx, s));

    if (!made && s->problem)
        return lpo_fail(err, s->missing ? LPO_E_MISSING : LPO_E_CHILD, "%s", s->problem);
    if (!made)
        return lpo_fail(err, LPO_E_CHILD, "ncu ended without a report; see %s/run.log", ctx->dir);
    if (s->problem)
        return lpo_fail(err, LPO_E_CHILD, "%s (the report was kept)", s->problem);
    return 0;
}

const struct lpo_stage lpo_pipeline_ncu = {
    .name = "ncu",
    .summary = "hardware counters per kernel with Nsight Compute",
    .program = "pipeline.ncu.program",
    LPO_STAGE_SETTINGS(lpo_ncu_settings, fields),
    .results = &results,
    .checks = checks,
    .plan = ncu_plan,
    .prepare = ncu_prepare,
    .after = ncu_after,
    .collect = ncu_collect,
};
