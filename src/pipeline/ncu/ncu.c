/* SPDX-License-Identifier: Apache-2.0 */
/* Nsight Compute: one capture for all regions or one for each, their tables, and a second try where
 * that helps. */

#include <unistd.h>

#include "pipeline/ncu/command.h"
#include "pipeline/stage.h"
#include "region/select.h"
#include "run/child/supervise.h"
#include "run/folder.h"
#include "run/one_rank.h"
#include "rundir/rundir.h"
#include "trace/trace.h"
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
    LPO_SETTING(lpo_ncu_settings, regions_capture, LPO_S_TEXT, "pipeline.ncu.regions.capture"),
    LPO_CAPTURE_WORDS(lpo_ncu_settings, "ncu"),
    LPO_SETTING(lpo_ncu_settings, regions_include, LPO_S_PATTERNS, "pipeline.ncu.regions.include"),
    LPO_SETTING(lpo_ncu_settings, regions_exclude, LPO_S_PATTERNS, "pipeline.ncu.regions.exclude"),
    LPO_SETTING(lpo_ncu_settings, kernels_include, LPO_S_PATTERNS,
                "pipeline.ncu.regions.kernels.include"),
    LPO_SETTING(lpo_ncu_settings, kernels_exclude, LPO_S_PATTERNS,
                "pipeline.ncu.regions.kernels.exclude"),
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
    .below = "run.ncu-rep", /* of a region with a capture of its own */
    .trust = 4,
    .skip = LPO_SKIP_OPS,
    .selection = selection,
    .program = "pipeline.ncu.program",
    .metrics = "pipeline.ncu.ncu_cli.metrics",
    .sections = "pipeline.ncu.ncu_cli.sections",
    .by_region = "pipeline.ncu.regions.enable",
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

/* --- the captures --------------------------------------------------------------------------- */

struct state {
    struct lpo_ncu_command command; /* of the next capture */
    struct lpo_ncu_captures captures;
    int64_t most_tokens;
    size_t asked[LPO_NCU_QUESTIONS]; /* steps that ask ncu what it has */
};

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

static void render(const struct state *s, struct lpo_steps *steps)
{
    for (size_t i = 0; i < s->captures.len; i++)
        lpo_pipeline_ncu_capture_render(&s->captures.at[i], &s->command, steps);
}

/* The same capture without any filter. Ranges are still recorded in region mode. */
static int add_rerun(struct lpo_stage_ctx *ctx, struct state *s, struct lpo_steps *steps,
                     struct lpo_err *err)
{
    const struct lpo_ncu_settings *settings = ctx->settings;
    struct lpo_ncu_capture *c = lpo_pipeline_ncu_captures_add(ctx, &s->captures, "rerun");

    lpo_pipeline_ncu_selection_drop(&s->command.select);
    s->command.select.nvtx = settings->region_mode && settings->gating_nvtx;
    if (lpo_pipeline_ncu_capture_plan(c, &s->command, s->most_tokens, steps, err) < 0)
        return err->code;
    steps->at[c->step].label = "ncu without filters";
    steps->at[c->step].cmd_path = lpo_path_join(ctx->arena, ctx->dir, "cmd-rerun.txt");
    return 0;
}

static bool separate(const struct lpo_ncu_settings *settings)
{
    return strcmp(settings->regions_capture, "separate") == 0;
}

static int plan_captures(struct lpo_stage_ctx *ctx, struct state *s, struct lpo_err *err)
{
    const struct lpo_ncu_settings *settings = ctx->settings;

    /* a dry run may not know the regions that the run will know */
    if (settings->region_mode && separate(settings) && settings->gating_nvtx && !ctx->in_job &&
        (settings->regions_include.len || !ctx->regions_will_be_known))
        return lpo_pipeline_ncu_captures_each(ctx, &s->captures, err);
    lpo_pipeline_ncu_captures_add(ctx, &s->captures, "run");
    return 0;
}

/* Region mode with no region is no failure: the stage ends with a plain statement. */
static void profile_nothing(struct lpo_stage_ctx *ctx, const char *why)
{
    if (!ctx->dry_run)
        ctx->record->message =
            lpo_arena_printf(ctx->arena, "region mode profiled nothing: %s", why);
    else
        ctx->nothing_to_do =
            lpo_arena_printf(ctx->arena, "region mode would profile nothing: %s", why);
}

static int ncu_plan(struct lpo_stage_ctx *ctx, struct lpo_steps *steps, struct lpo_err *err)
{
    struct state *s = LPO_NEW(ctx->arena, struct state);
    const char *program = NULL, *nothing = NULL;

    ctx->private = s;
    if (lpo_pipeline_stage_tool(ctx, &lpo_pipeline_ncu, &program, err) < 0)
        return err->code;
    s->command = lpo_pipeline_ncu_command(ctx, program);
    /* its sockets may lie there too, and their paths have at most 107 bytes */
    if (strlen(ctx->dir) < 70)
        s->command.temp = lpo_path_join(ctx->arena, ctx->dir, LPO_NCU_TEMP);
    lpo_pipeline_ncu_select(ctx, &s->command.select, representatives(ctx->config));
    if (lpo_pipeline_ncu_nvtx_filter(ctx, &s->command.select, &nothing, err) < 0)
        return err->code;
    if (!nothing && plan_captures(ctx, s, err) < 0)
        return err->code;
    if (!s->captures.len) {
        profile_nothing(ctx, nothing ? nothing : "regions.exclude leaves no region");
        return 0;
    }
    s->most_tokens = few_tokens(ctx);
    lpo_pipeline_ncu_ask(ctx, &s->command, steps, s->asked);
    for (size_t i = 0; i < s->captures.len; i++)
        if (lpo_pipeline_ncu_capture_plan(&s->captures.at[i], &s->command, s->most_tokens, steps,
                                          err) < 0)
            return err->code;
    return 0;
}

/* What the plan could not know: which kernels the stages before saw. */
static int ncu_prepare(struct lpo_stage_ctx *ctx, struct lpo_steps *steps, struct lpo_err *err)
{
    struct state *s = ctx->private;

    if (!s->captures.len)
        return 0;
    lpo_pipeline_ncu_select_seen(ctx, &s->command.select,
                                 ctx->in_job || s->captures.at[0].job.way != LPO_ONE_RANK_NONE);
    render(s, steps);
    if (s->command.temp && lpo_file_make_dirs(s->command.temp, err) < 0)
        return err->code;
    for (size_t i = 0; i < s->captures.len; i++)
        if (lpo_pipeline_ncu_capture_prepare(&s->captures.at[i], err) < 0)
            return err->code;
    return 0;
}

/* --- what went wrong with a capture, from its log and its end, in plain words -------------- */

enum { MAX_LOG = 64 << 20, MAX_LINE = 400 };

/* "==ERROR== Option … did not match any section." without its mark; NULL: there is none. */
static const char *error_line(struct lpo_arena *a, const char *text)
{
    static const char mark[] = "==ERROR== ";
    const char *at = strstr(text, mark);
    size_t len;

    if (!at)
        return NULL;
    at += sizeof mark - 1;
    len = strcspn(at, "\r\n");
    return lpo_arena_printf(a, "ncu says: %.*s", (int)(len < MAX_LINE ? len : MAX_LINE), at);
}

/* What `file` says about the failure: a message we know, or ncu's own line. */
static const char *read_problem(struct lpo_arena *a, const char *file,
                                const struct lpo_tool_message **message)
{
    LPO_AUTO(lpo_file_text) text = NULL;

    if (!file || lpo_file_text_read_limit(file, MAX_LOG, &text, NULL) < 0)
        return NULL;
    *message = lpo_pipeline_tool_message_find(text->at);
    return *message ? NULL : error_line(a, text->at);
}

const char *lpo_pipeline_ncu_problem(struct lpo_arena *a, const char *log,
                                     const struct lpo_step *step, const struct lpo_result *r,
                                     const struct lpo_tool_message **message)
{
    struct lpo_err err = { 0 };
    bool failed = lpo_pipeline_stage_judge(step, r, &err) < 0;
    const char *line;

    *message = NULL;
    line = read_problem(a, log, message);
    /* ncu opens its log only after it has read its flags: a wrong flag is on its own output. */
    if (failed && !*message && !line)
        line = read_problem(a, step->stdout_path, message);
    if (failed && !*message && !line)
        line = read_problem(a, step->stderr_path, message);
    if (*message && ((*message)->what & LPO_TOOL_ADVICE) && !failed)
        return NULL;
    if (*message)
        return lpo_arena_printf(a, "%s: %s", (*message)->meaning, (*message)->remedy);
    if (!failed)
        return NULL;
    return line ? lpo_arena_printf(a, "%s (%s)", lpo_err_cause(&err), line)
                : lpo_arena_strdup(a, lpo_err_cause(&err));
}

/* --- after each step ---------------------------------------------------------------------------
 */

static bool made_report(const struct lpo_ncu_capture *c)
{
    return lpo_path_exists(lpo_pipeline_ncu_capture_file(c, ".ncu-rep"));
}

static int after_capture(struct lpo_stage_ctx *ctx, struct state *s, struct lpo_ncu_capture *c,
                         struct lpo_steps *steps, const struct lpo_result *r, struct lpo_err *err)
{
    const struct lpo_ncu_settings *settings = ctx->settings;
    const struct lpo_tool_message *message;
    struct lpo_step step = steps->at[c->step];
    bool made = made_report(c);

    c->problem = lpo_pipeline_ncu_problem(ctx->arena, lpo_pipeline_ncu_capture_file(c, ".log"),
                                          &step, r, &message);
    c->missing = message && (message->what & LPO_TOOL_MISSING);
    c->empty = c->problem && message && (message->what & LPO_TOOL_FILTERED) && !made;
    if (c->empty && !c->region && !lpo_pipeline_ncu_selection_limits(&s->command.select))
        c->problem =
            "ncu was limited to no range and no kernel, and saw none: the program launched "
            "none, or a process did that ncu does not follow "
            "(ncu_cli.target_processes=all follows all)";
    if (c->region)
        lpo_pipeline_stage_note_workload(c->ctx);
    if (c->empty && !c->region && strcmp(c->name, "run") == 0 && !ctx->in_job &&
        lpo_pipeline_ncu_selection_limits(&s->command.select)) {
        lpo_run_manifest_note(ctx->manifest, ctx->record, "%s; trying again without filters",
                              message->meaning);
        return add_rerun(ctx, s, steps, err);
    }
    if (!c->problem && message)
        lpo_run_manifest_note(ctx->manifest, ctx->record, "%s: %s", message->meaning,
                              message->remedy);
    if (made && settings->export_csv)
        lpo_pipeline_ncu_capture_plan_tables(c, s->command.program, steps);
    if (c->missing && c->region) /* the captures of other regions would fail in the same way */
        return lpo_fail(err, LPO_E_MISSING, "%s", c->problem);
    return 0; /* collect() reports what is wrong: what can be read is saved first */
}

static int ncu_after(struct lpo_stage_ctx *ctx, struct lpo_steps *steps, size_t i,
                     const struct lpo_result *r, struct lpo_err *err)
{
    struct state *s = ctx->private;

    for (size_t k = 0; k < s->captures.len; k++)
        if (i == s->captures.at[k].step)
            return after_capture(ctx, s, &s->captures.at[k], steps, r, err);
    for (int q = 0; q < LPO_NCU_QUESTIONS; q++)
        if (i == s->asked[q]) {
            int rc = lpo_pipeline_ncu_answer(ctx, (enum lpo_ncu_question)q, &steps->at[i], r,
                                             &s->command, err);

            render(s, steps);
            return rc;
        }
    return lpo_pipeline_stage_judge(&steps->at[i], r, err);
}

static int judge(const struct lpo_ncu_capture *c, struct lpo_err *err)
{
    bool made = made_report(c);

    if (!made && c->problem)
        return lpo_fail(err, c->missing ? LPO_E_MISSING : LPO_E_CHILD, "%s", c->problem);
    if (!made && c->job.way != LPO_ONE_RANK_NONE &&
        !lpo_path_exists(lpo_pipeline_ncu_capture_file(c, ".log")))
        return lpo_fail(err, LPO_E_CHILD,
                        "ncu was not started: %s started no %s of rank %d; start lpo in each task "
                        "instead: %s … lpo run -- PROGRAM (docs/ranks.md)",
                        c->job.launcher,
                        c->job.way == LPO_ONE_RANK_PYTHON ? "Python program" : "program",
                        (int)lpo_run_ranks_first(c->ctx->arena, c->ctx->config), c->job.launcher);
    if (!made)
        return lpo_fail(err, LPO_E_CHILD, "ncu ended without a report; see %s",
                        lpo_pipeline_ncu_capture_file(c, ".log"));
    if (c->problem)
        return lpo_fail(err, LPO_E_CHILD, "%s (the report was kept)", c->problem);
    return 0;
}

/* A region without kernels is a note; the first capture that failed decides, and the reports of the
 * others stay. */
static int judge_regions(struct lpo_stage_ctx *ctx, const struct state *s, struct lpo_err *err)
{
    size_t failed = 0;

    for (size_t i = 0; i < s->captures.len; i++) {
        const struct lpo_ncu_capture *c = &s->captures.at[i];
        struct lpo_err why = { 0 };

        if (c->empty)
            lpo_run_manifest_note(ctx->manifest, ctx->record,
                                  "region '%s': no kernels were profiled in it", c->region);
        else if (judge(c, &why) < 0 && failed++ == 0)
            lpo_fail(err, why.code, "region '%s': %s", c->region, lpo_err_cause(&why));
    }
    if (failed > 1)
        return lpo_ctx(err, "%zu of %zu captures failed", failed, s->captures.len);
    return failed ? err->code : 0;
}

static int ncu_collect(struct lpo_stage_ctx *ctx, struct lpo_err *err)
{
    struct state *s = ctx->private;

    if (!s->captures.len)
        return 0;
    lpo_run_folder_remove(ctx->arena, ctx->dir, LPO_NCU_TEMP, NULL);
    if (s->captures.at[0].region)
        return judge_regions(ctx, s, err);
    return judge(&s->captures.at[s->captures.len - 1], err);
}

const struct lpo_stage lpo_pipeline_ncu = {
    .name = "ncu",
    .one_rank = true, /* it replays kernels: two ranks that wait for each other would hang */
    .summary = "hardware counters per kernel with Nsight Compute",
    .program = "pipeline.ncu.program",
    LPO_STAGE_SETTINGS(lpo_ncu_settings, fields),
    .results = &results,
    .checks = checks,
    .check_settings = lpo_pipeline_ncu_check,
    .plan = ncu_plan,
    .prepare = ncu_prepare,
    .after = ncu_after,
    .collect = ncu_collect,
};
