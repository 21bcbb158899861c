/* Nsight Compute: one capture for all regions, its tables, and a second try where that helps. */
#include "pipeline/ncu/ncu.h"

#include <stdlib.h>
#include <string.h>

#include "hydra/compose.h"
#include "pipeline/known_regions.h"
#include "pipeline/ncu/available.h"
#include "pipeline/stage.h"
#include "pipeline/tool_messages.h"
#include "run/child/supervise.h"
#include "run/conf.h"
#include "run/manifest.h"
#include "settings/settings.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/path.h"

struct state {
    const char *ncu;
    const struct lpo_node *cli;
    size_t main, rerun;  /* indices of steps; (size_t)-1: none */
    size_t list;         /* the question which sections exist */
    size_t query;        /* the question which metrics exist */
    const char *cache;   /* where its answer is kept */
    const char *problem; /* why the capture failed, in plain words */
    bool missing;        /* for want of a permission */
    bool tables_planned;
};

static const size_t none = (size_t)-1;

/* ncu tells configurations apart by its own short names, where all instances of a template are one
 * kernel; by linker names they are apart. Not where the user's filters go by the short ones. */
static void add_whole_names(struct lpo_stage_ctx *ctx, struct state *s, struct lpo_step *step)
{
    static const char *const by_name[] = { "kernel_name", "kernel_name_base", "kernel_id" };

    for (size_t i = 0; i < sizeof by_name / sizeof *by_name; i++)
        if (lpo_run_conf_word(ctx->arena, lpo_node_get(s->cli, by_name[i])))
            return;
    if (lpo_node_conf_bool(ctx->knobs, "top_kernels", false))
        return;
    lpo_run_step_arg(ctx->arena, step, "--kernel-name-base");
    lpo_run_step_arg(ctx->arena, step, "mangled");
}

bool lpo_pipeline_ncu_representatives(const struct lpo_node *config)
{
    const char *mode = lpo_settings_text(config, "pipeline.ncu.sampling.mode");

    return strcmp(mode, "representative") == 0 ||
           (strcmp(mode, "auto") == 0 && lpo_settings_bool(config, "pipeline.ncu.regions.enable"));
}

static void add_focus(struct lpo_stage_ctx *ctx, struct state *s, struct lpo_step *step)
{
    const char *regex = NULL;

    if (lpo_pipeline_ncu_representatives(ctx->config)) {
        add_whole_names(ctx, s, step);
        lpo_run_step_arg(ctx->arena, step, "--filter-mode");
        lpo_run_step_arg(ctx->arena, step, "per-launch-config");
        lpo_run_step_arg(ctx->arena, step, "--launch-count");
        lpo_run_step_argf(ctx->arena, step, "%lld",
                          (long long)lpo_node_conf_int(ctx->knobs, "sampling.per_config", 1));
    }
    if (lpo_node_conf_bool(ctx->knobs, "top_kernels", false) &&
        !lpo_run_conf_word(ctx->arena, lpo_node_get(s->cli, "kernel_name")))
        regex = lpo_pipeline_ncu_top_kernels(
            ctx->arena, ctx->analysis,
            (size_t)lpo_node_conf_int(ctx->config, "run.top_n_kernels", 30));
    if (regex) {
        lpo_run_step_arg(ctx->arena, step, "--kernel-name");
        lpo_run_step_arg(ctx->arena, step, regex);
    }
}

/* ncu slows down with every launch it must look at, the more so the more there were before; the
 * first tokens have nearly every configuration of the later ones. 0: all tokens. */
static int64_t few_tokens(struct lpo_stage_ctx *ctx)
{
    int64_t all = lpo_node_conf_int(ctx->config, "infer.max_new_tokens", 0);
    int64_t few = lpo_node_conf_int(ctx->knobs, "sampling.max_new_tokens", 0);
    const char *kind = lpo_node_conf_text(ctx->config, "workload.kind", "command");

    if (!few || !lpo_pipeline_ncu_representatives(ctx->config) || strcmp(kind, "command") == 0 ||
        few >= lpo_node_conf_int(ctx->config, "run.representative_max_new_tokens", all))
        return 0;
    lpo_run_manifest_note(ctx->manifest, ctx->record,
                          "representatives are taken from %lld of %lld tokens "
                          "(pipeline.ncu.sampling.max_new_tokens)",
                          (long long)few, (long long)all);
    return few;
}

/* The workload behind the words of ncu, into the report `base`. */
static int add_workload(struct lpo_stage_ctx *ctx, struct state *s, struct lpo_steps *steps,
                        struct lpo_step *words, const char *base, struct lpo_step **out,
                        struct lpo_err *err)
{
    struct lpo_workload_opts opts = { .profiled = true, .most_tokens = few_tokens(ctx) };

    lpo_pipeline_ncu_add_outputs(ctx->arena, s->cli, lpo_path_join(ctx->arena, ctx->dir, base),
                                 words);
    opts.prefix = words->argv;
    return lpo_pipeline_stage_add_workload(ctx, steps, "ncu", &opts, out, err);
}

static int add_capture(struct lpo_stage_ctx *ctx, struct state *s, struct lpo_steps *steps,
                       struct lpo_err *err)
{
    struct lpo_step words = { 0 }, *step;

    lpo_pipeline_ncu_add_start(ctx->arena, s->ncu, s->cli, &words);
    if (lpo_pipeline_ncu_add_nvtx(ctx, s->cli, &words, err) < 0)
        return err->code;
    add_focus(ctx, s, &words);
    return add_workload(ctx, s, steps, &words, "run", &step, err);
}

static bool is_nvtx_filter(const char *word)
{
    return strcmp(word, "--nvtx-include") == 0 || strcmp(word, "--nvtx-exclude") == 0;
}

/* Where its outputs are named, a capture's own words end. */
static bool ends_words(const char *word)
{
    return strcmp(word, "--force-overwrite") == 0 || strcmp(word, "--log-file") == 0;
}

/* Did the capture have a filter that another try can go without? */
static bool has_nvtx_filter(const struct lpo_step *capture)
{
    for (size_t i = 0; i < capture->argc && !ends_words(capture->argv[i]); i++)
        if (is_nvtx_filter(capture->argv[i]))
            return true;
    return false;
}

/* The same capture, word by word, without the NVTX filter. Ranges are still noted in region mode.
 */
static int add_rerun(struct lpo_stage_ctx *ctx, struct state *s, struct lpo_steps *steps,
                     struct lpo_err *err)
{
    struct lpo_step main = steps->at[s->main], words = { 0 }, *step;

    for (size_t i = 0; i < main.argc && !ends_words(main.argv[i]); i++) {
        if (is_nvtx_filter(main.argv[i]))
            i++; /* and its expression */
        else if (strcmp(main.argv[i], "--nvtx") != 0 || lpo_pipeline_ncu_region_mode(ctx))
            lpo_run_step_arg(ctx->arena, &words, main.argv[i]);
    }
    if (add_workload(ctx, s, steps, &words, "rerun", &step, err) < 0)
        return err->code;
    step->label = "ncu without NVTX filter";
    step->cmd_path = lpo_path_join(ctx->arena, ctx->dir, "cmd-rerun.txt");
    return 0;
}

static void add_list_sections(struct lpo_stage_ctx *ctx, struct state *s, struct lpo_steps *steps)
{
    struct lpo_step *step =
        lpo_pipeline_stage_add_tool(ctx, steps, "ncu --list-sections", "sections");

    lpo_run_step_arg(ctx->arena, step, s->ncu);
    lpo_run_step_arg(ctx->arena, step, "--list-sections");
    step->stdout_path = lpo_path_join(ctx->arena, ctx->dir, "sections.txt");
}

static int ncu_plan(struct lpo_stage_ctx *ctx, struct lpo_steps *steps, struct lpo_err *err)
{
    struct state *s = LPO_NEW(ctx->arena, struct state);

    *s = (struct state){ .main = none, .rerun = none, .list = none, .query = none };
    ctx->private = s;
    s->cli = lpo_node_get(ctx->knobs, "ncu_cli");
    if (!s->cli)
        s->cli = lpo_node_map(ctx->arena);
    if (lpo_pipeline_stage_tool(ctx, &lpo_pipeline_ncu, &s->ncu, err) < 0)
        return err->code;
    s->list = steps->len;
    add_list_sections(ctx, s, steps);
    if (lpo_pipeline_ncu_metrics_plan(ctx, s->ncu, s->cli, steps, &s->cache))
        s->query = steps->len - 1;
    s->main = steps->len;
    return add_capture(ctx, s, steps, err);
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

    if (s->tables_planned || !lpo_node_conf_bool(s->cli, "export.csv", true))
        return;
    s->tables_planned = true;
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        lpo_pipeline_ncu_add_table(ctx, steps, s->ncu, report_path(ctx, s), &tables[i]);
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
        has_nvtx_filter(&step)) {
        lpo_run_manifest_note(ctx->manifest, ctx->record,
                              "%s; trying again without the NVTX filter", message->meaning);
        s->rerun = steps->len;
        return add_rerun(ctx, s, steps, err);
    }
    if (!s->problem && message)
        lpo_run_manifest_note(ctx->manifest, ctx->record, "%s: %s", message->meaning,
                              message->remedy);
    if (made)
        add_tables(ctx, s, steps);
    return 0; /* collect() tells what is wrong, after what can be saved is saved */
}

/* A list that cannot be had is no failure; a section that is not in it is one. */
static int after_list(struct lpo_stage_ctx *ctx, const struct state *s, const struct lpo_step *step,
                      const struct lpo_result *r, struct lpo_err *err)
{
    struct lpo_err why = { 0 };

    if (lpo_pipeline_stage_judge(step, r, &why) == 0)
        return lpo_pipeline_ncu_sections_check(ctx, s->cli, step->stdout_path, err);
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
        const struct lpo_step *step = &steps->at[i];

        if (r->end == LPO_END_EXIT && r->code == 0)
            lpo_pipeline_ncu_metrics_filter(ctx, step->stdout_path, s->cache, &steps->at[s->main]);
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
    .tool = "program",
    .tool_name = "ncu",
    .plan = ncu_plan,
    .after = ncu_after,
    .collect = ncu_collect,
};
