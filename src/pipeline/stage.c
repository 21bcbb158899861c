/* SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/stage.h"

#include "analysis/phases/phases.h"
#include "rules/rules.h"
#include "run/child/supervise.h"
#include "run/install.h"
#include "run/manifest.h"
#include "run/provenance.h"
#include "run/secrets/secrets.h"
#include "util/json.h"
#include "util/path.h"

/* --- regions that an earlier stage of the run recorded ------------------------------------------
 */

enum { MAX_DOMAINS = 256 };

static void add_domain(struct lpo_known_regions *seen, const char *domain)
{
    for (size_t i = 0; i < seen->ndomains; i++)
        if (strcmp(seen->domains[i], domain) == 0)
            return;
    if (*domain && seen->ndomains < MAX_DOMAINS)
        seen->domains[seen->ndomains++] = domain;
}

void lpo_pipeline_known_regions_read(struct lpo_arena *a, const char *path,
                                     struct lpo_known_regions *out)
{
    const struct lpo_json *doc = NULL, *list;
    struct lpo_err err = { 0 };

    if (lpo_json_read_file(a, path, &doc, &err) < 0)
        return;
    list = lpo_json_get(doc, "regions");
    if (!list || list->count == 0)
        return;
    out->at = lpo_arena_array(a, list->count, sizeof *out->at);
    out->domains = lpo_arena_array(a, MAX_DOMAINS, sizeof *out->domains);
    LPO_JSON_EACH(item, list)
    {
        const char *region = lpo_json_text(lpo_json_get(item, "path"), NULL);
        const char *kind = lpo_json_text(lpo_json_get(item, "kind"), "");

        if (region && strcmp(kind, "outside") != 0)
            out->at[out->len++] = (struct lpo_known_region){
                .path = region,
                .start_end = strcmp(kind, "start_end") == 0,
                .prepares = lpo_phases_path_prepares(region),
                .visits = (uint64_t)lpo_json_int(lpo_json_get(item, "visits"), 0),
            };
        add_domain(out, lpo_json_text(lpo_json_get(item, "domain"), ""));
    }
}

/* --- what lpo puts into a Python workload -------------------------------------------------------
 */

int lpo_pipeline_python_inject(struct lpo_stage_ctx *ctx, struct lpo_step *step,
                               struct lpo_err *err)
{
    struct lpo_arena *a = ctx->arena;
    const char *folder = lpo_run_install_find(a, "lpo_sitecustomize");
    const char *path = getenv("PYTHONPATH");

    if (!folder)
        return lpo_fail(err, LPO_E_MISSING,
                        "the folder lpo_sitecustomize is not beside lpo; install lpo whole");
    for (size_t i = 0; i < step->nenv; i++) /* the workload may bring its own */
        if (strcmp(step->env[i].name, "PYTHONPATH") == 0)
            path = step->env[i].value;
    if (path && lpo_str_starts(path, folder)) /* two of the stage's wishes */
        return 0;
    lpo_run_step_env(a, step, "PYTHONPATH",
                     path && *path ? lpo_arena_printf(a, "%s:%s", folder, path) : folder);
    return 0;
}

/* A range for each call of an nn.Module, where pipeline.native.modules asks for it and the workload
 * may be a Python program. */
static int python_modules(struct lpo_stage_ctx *ctx, struct lpo_step *step, struct lpo_err *err)
{
    long long depth = lpo_settings_int(ctx->config, "pipeline.native.modules_depth");

    if (!lpo_settings_bool(ctx->config, "pipeline.native.modules") ||
        !lpo_workload_may_be_python(ctx->arena, ctx->config, ctx->call_dir))
        return 0;
    lpo_run_step_env(ctx->arena, step, "LPO_TORCH_MODULES",
                     lpo_arena_printf(ctx->arena, "%lld", depth));
    return lpo_pipeline_python_inject(ctx, step, err);
}

/* --- what every stage uses ----------------------------------------------------------------------
 */

enum { EXIT_MISSING = 3 }; /* of toy_llm and hf_generate.py: docs/workloads.md */

void lpo_pipeline_stage_read_settings(const struct lpo_stage *stage, struct lpo_stage_ctx *ctx)
{
    void *out = stage->settings_size ? lpo_arena_alloc(ctx->arena, stage->settings_size) : NULL;

    ctx->stage = stage;
    ctx->settings = out;
    lpo_settings_fill(ctx->arena, ctx->config, stage->settings, stage->nsettings, out);
}

static void set_limits(const struct lpo_stage_ctx *ctx, struct lpo_step *step)
{
    /* every stage that starts a process has the key */
    const char *timeout = lpo_arena_printf(ctx->arena, "pipeline.%s.timeout", ctx->stage->name);

    step->timeout_ns = lpo_settings_duration_ns(ctx->config, timeout);
    step->output_limit = (uint64_t)lpo_settings_int(ctx->config, "run.max_output_bytes");
}

int lpo_pipeline_stage_add_workload(struct lpo_stage_ctx *ctx, struct lpo_steps *steps,
                                    const char *label, const struct lpo_workload_opts *opts,
                                    struct lpo_step **out, struct lpo_err *err)
{
    struct lpo_step *step = lpo_run_steps_add(steps, label);

    ctx->request = (struct lpo_workload_request){
        .out_dir = ctx->workload_dir,
        .call_dir = ctx->call_dir,
        .profiled = opts->profiled,
        .most_tokens = opts->most_tokens,
        .predictions = opts->predictions,
        .own_warmup = opts->own_warmup,
        .warmup = opts->warmup,
        .light = ctx->light,
        /* not in the folder of one kernel (lpo kernels), which has no folder for the workload */
        .tell_settings = strcmp(ctx->workload_dir, ctx->dir) != 0,
    };
    ctx->has_workload = true;
    if (lpo_workload_plan(ctx->arena, ctx->config, &ctx->request, step, err) < 0)
        return err->code;
    /* in every profiled stage: ncu is to find the regions that the collector recorded */
    if (opts->profiled && python_modules(ctx, step, err) < 0)
        return err->code;
    set_limits(ctx, step);
    step->workload = true;
    step->shown = !lpo_workload_generates_tokens(ctx->config); /* ours print only progress */
    step->stdout_path = lpo_path_join(ctx->arena, ctx->workload_dir, "stdout.log");
    step->stderr_path = lpo_path_join(ctx->arena, ctx->workload_dir, "stderr.log");
    step->cmd_path = lpo_path_join(ctx->arena, ctx->dir, "cmd.txt");
    *out = step;
    return 0;
}

void lpo_pipeline_stage_wait_long(struct lpo_stage_ctx *ctx, struct lpo_step *step)
{
    /* of PyTorch's NCCL: the watchdog of a collective, and the watchdog of that */
    static const char *const off[] = { "TORCH_NCCL_ASYNC_ERROR_HANDLING",
                                       "TORCH_NCCL_ENABLE_MONITORING" };

    for (size_t i = 0; i < sizeof off / sizeof *off; i++)
        if (!getenv(off[i]))
            lpo_run_step_env(ctx->arena, step, off[i], "0");
}

int lpo_pipeline_stage_prepare_workload(struct lpo_stage_ctx *ctx, struct lpo_err *err)
{
    return ctx->has_workload ? lpo_workload_prepare(ctx->arena, ctx->config, &ctx->request, err)
                             : 0;
}

struct lpo_step *lpo_pipeline_stage_add_tool(struct lpo_stage_ctx *ctx, struct lpo_steps *steps,
                                             const char *label, const char *log)
{
    struct lpo_step *step = lpo_run_steps_add(steps, label);

    set_limits(ctx, step);
    step->cwd = ctx->dir;
    step->stdout_path = lpo_arena_printf(ctx->arena, "%s/%s.log", ctx->dir, log);
    step->stderr_path = lpo_arena_printf(ctx->arena, "%s/%s.err.log", ctx->dir, log);
    step->cmd_path = lpo_arena_printf(ctx->arena, "%s/cmd-%s.txt", ctx->dir, log);
    return step;
}

int lpo_pipeline_stage_tool(struct lpo_stage_ctx *ctx, const struct lpo_stage *stage,
                            const char **out, struct lpo_err *err)
{
    const char *name = lpo_settings_text(ctx->config, stage->program);
    const char *path = lpo_path_which(ctx->arena, name);

    if (!path && ctx->dry_run)
        path = name; /* a dry run shows the command even where the tool is not */
    if (!path)
        return lpo_fail(err, LPO_E_MISSING,
                        "'%s' is not on PATH; 'lpo doctor' says how to get it. Set %s to its path, "
                        "or pipeline.%s.enable=false to skip the stage",
                        name, stage->program, stage->name);
    *out = path;
    return 0;
}

void lpo_pipeline_stage_drop_gate(struct lpo_stage_ctx *ctx, const char *key, const char *gate,
                                  const char *near)
{
    LPO_STR help = { 0 };

    if (near)
        lpo_str_addf(&help, "did you mean '%s'? ", near);
    if (ctx->known.len)
        lpo_str_add(&help, "native/regions.json lists the ranges that it enters");
    else
        lpo_str_add(&help, "it enters no NVTX range at all");
    lpo_run_manifest_note(
        ctx->manifest, ctx->record,
        "%s=%s was dropped, and %s captures the whole program: the program enters "
        "no such range; %s",
        key, gate, ctx->stage->name, lpo_str_text(&help));
}

bool lpo_pipeline_stage_look_for_tool(struct lpo_arena *a, const char *tool, const char **detail)
{
    const char *path = lpo_path_which(a, tool);
    const char *version = path ? lpo_run_provenance_version(a, tool) : NULL;

    *detail = !path     ? "not on PATH"
              : version ? lpo_arena_printf(a, "%s (%s)", path, version)
                        : path;
    return path != NULL;
}

int lpo_pipeline_stage_judge(const struct lpo_step *step, const struct lpo_result *r,
                             struct lpo_err *err)
{
    LPO_AUTO(lpo_arena) a = lpo_arena_create();
    LPO_STR how = { 0 };

    if (r->end == LPO_END_EXIT && r->code == 0)
        return 0;
    lpo_run_result_describe(r, step, &how);
    if (r->end == LPO_END_INTERRUPTED)
        return lpo_fail(err, LPO_E_INTERRUPTED, "%s", lpo_str_text(&how));
    if (r->last_line[0])
        lpo_str_addf(&how, "; its last line: %s", lpo_secrets_mask_cut(a, r->last_line));
    if (step->stderr_path)
        lpo_str_addf(&how, " (see %s)", step->stderr_path);
    if (step->reports_missing && r->end == LPO_END_EXIT && r->code == EXIT_MISSING)
        return lpo_fail(err, LPO_E_MISSING, "%s: %s", step->label, lpo_str_text(&how));
    return lpo_fail(err, LPO_E_CHILD, "%s: %s", step->label, lpo_str_text(&how));
}

/* A workload reports the same under every stage: samples that failed, settings it could not use.
 * One note is enough. */
static bool noted_before(const struct lpo_manifest *m, const char *text)
{
    for (size_t i = 0; i < m->nstages; i++)
        for (size_t k = 0; k < m->stages[i].nnotes; k++)
            if (strcmp(m->stages[i].notes[k], text) == 0)
                return true;
    return false;
}

static void note(struct lpo_stage_ctx *ctx, const char *text)
{
    if (!noted_before(ctx->manifest, text))
        lpo_run_manifest_note(ctx->manifest, ctx->record, "%s", text);
}

static void note_failures(struct lpo_stage_ctx *ctx, const struct lpo_json *failures)
{
    const struct lpo_json *first = failures ? failures->first : NULL;
    const char *name, *why;

    if (!first)
        return;
    name = lpo_json_text(lpo_json_get(first, "sample"), "?");
    why = lpo_json_text(lpo_json_get(first, "error"), "it does not say why");
    if (failures->count == 1)
        note(ctx, lpo_arena_printf(ctx->arena, "a sample failed, '%s': %s", name, why));
    else
        note(ctx, lpo_arena_printf(ctx->arena,
                                   "%zu samples failed, the first '%s': %s (all of them: failures "
                                   "in the workload's metrics.json)",
                                   failures->count, name, why));
}

/* Of the program itself, and of what ran a server and its clients. */
void lpo_pipeline_stage_note_workload(struct lpo_stage_ctx *ctx)
{
    static const char *const names[] = { "metrics.json", "server.json" };

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *path = lpo_path_join(ctx->arena, ctx->workload_dir, names[i]);
        const struct lpo_json *metrics = NULL;

        if (!lpo_path_exists(path) || lpo_json_read_file(ctx->arena, path, &metrics, NULL) < 0)
            continue; /* a program of one's own writes what it likes */
        note_failures(ctx, lpo_json_get(metrics, "failures"));
        LPO_JSON_EACH(text, lpo_json_get(metrics, "notes"))
        if (lpo_json_text(text, NULL))
            note(ctx, lpo_json_text(text, NULL));
    }
}

static const char *const what[] = { "filtered", "fatal", "missing", "advice", NULL };

#define TEXT(member) LPO_RULES_MEMBER(lpo_tool_message, TEXT, member)
static const struct lpo_rules_member members[] = {
    TEXT(text),
    TEXT(meaning),
    TEXT(remedy),
    { "what", offsetof(struct lpo_tool_message, what), LPO_RULES_SET, what, NULL },
};
#undef TEXT

const struct lpo_tool_message *lpo_pipeline_tool_message_find(const char *log)
{
    static struct lpo_rules_table table =
        LPO_RULES_TABLE("tools", "messages", members, lpo_tool_message);
    size_t count;
    const struct lpo_tool_message *rows = lpo_rules_rows(&table, &count);

    return lpo_find(i, rows, count, strstr(log, rows[i].text));
}
