/* Which ranges a capture is limited to. */
#include "pipeline/ncu/command.h"

#include <string.h>

#include "hydra/compose.h"
#include "pipeline/known_regions.h"
#include "pipeline/ncu/nvtx_expr.h"
#include "pipeline/stage.h"
#include "run/conf.h"
#include "run/manifest.h"
#include "util/arena.h"
#include "util/err.h"

bool lpo_pipeline_ncu_region_mode(const struct lpo_stage_ctx *ctx)
{
    return lpo_node_conf_bool(ctx->knobs, "regions.enable", false);
}

static int translate(struct lpo_stage_ctx *ctx, const struct lpo_node *node, const char *key,
                     const struct lpo_known_regions *known, struct lpo_exprs *out,
                     struct lpo_err *err)
{
    const char **patterns;
    size_t n = lpo_run_conf_list(ctx->arena, node, key, false, &patterns);

    for (size_t i = 0; i < n; i++)
        if (lpo_pipeline_ncu_expr_add(ctx->arena, patterns[i], known, out, err) < 0)
            return err->code;
    return 0;
}

static void note(struct lpo_stage_ctx *ctx, const char *key, const char *text)
{
    if (text && ctx->manifest)
        lpo_run_manifest_note(ctx->manifest, ctx->record, "%s: %s", key, text);
}

static struct lpo_words words_of(struct lpo_arena *a, const struct lpo_exprs *exprs)
{
    struct lpo_words words = { 0 };

    for (size_t i = 0; i < exprs->len; i++)
        lpo_run_words_add(a, &words, exprs->at[i].text);
    return words;
}

/* A pattern to exclude that fits no region, or that ncu cannot express, is a note, not a failure:
 * the capture then holds more than was asked for, which the reports can still leave out. */
static void translate_excludes(struct lpo_stage_ctx *ctx, const struct lpo_node *cli,
                               const struct lpo_known_regions *known, struct lpo_exprs *out)
{
    const char *key = "ncu_cli.nvtx.exclude", *remark, **patterns;
    size_t n = lpo_run_conf_list(ctx->arena, cli, "nvtx.exclude", false, &patterns);
    struct lpo_err err = { 0 };

    for (size_t i = 0; i < n; i++) {
        struct lpo_err missing = { 0 };

        if (lpo_pipeline_ncu_expr_add(ctx->arena, patterns[i], known, out, &missing) < 0)
            note(ctx, key, lpo_err_cause(&missing));
    }
    if (lpo_pipeline_ncu_exprs_join(ctx->arena, out, &remark, &err) < 0)
        remark = lpo_err_cause(&err);
    note(ctx, key, remark);
}

/* Region mode names its regions itself; with none named, every known outermost region. */
static int translate_includes(struct lpo_stage_ctx *ctx, const struct lpo_node *cli,
                              const struct lpo_known_regions *known, struct lpo_exprs *out,
                              struct lpo_err *err)
{
    const char *key = "pipeline.ncu.ncu_cli.nvtx.include", *remark;

    if (translate(ctx, cli, "nvtx.include", known, out, err) < 0)
        return lpo_ctx(err, "%s", key);
    if (lpo_pipeline_ncu_region_mode(ctx)) {
        if (out->len == 0)
            key = "pipeline.ncu.regions.include";
        if (translate(ctx, ctx->knobs, "regions.include", known, out, err) < 0)
            return lpo_ctx(err, "pipeline.ncu.regions.include");
        if (out->len == 0 && !lpo_pipeline_ncu_expr_add_outermost(ctx->arena, known, out))
            note(ctx, key, "too many regions to name: the capture takes every kernel");
    }
    if (lpo_pipeline_ncu_exprs_join(ctx->arena, out, &remark, err) < 0) {
        if (!ctx->regions_will_be_known) /* then names will stand for the globs */
            return lpo_ctx(err, "%s", key);
        *err = (struct lpo_err){ 0 };
    }
    note(ctx, key, remark);
    return 0;
}

int lpo_pipeline_ncu_nvtx_filter(struct lpo_stage_ctx *ctx, const struct lpo_node *cli,
                                 struct lpo_ncu_command *command, struct lpo_err *err)
{
    struct lpo_exprs include = { 0 }, exclude = { 0 };

    if (!lpo_node_conf_bool(ctx->knobs, "gating_nvtx", true))
        return 0;
    if (translate_includes(ctx, cli, &ctx->known, &include, err) < 0)
        return err->code;
    translate_excludes(ctx, cli, &ctx->known, &exclude);
    command->nvtx = include.len || exclude.len || lpo_pipeline_ncu_region_mode(ctx);
    command->nvtx_include = words_of(ctx->arena, &include);
    command->nvtx_exclude = words_of(ctx->arena, &exclude);
    return 0;
}
