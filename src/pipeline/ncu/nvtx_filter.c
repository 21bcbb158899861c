/* Which ranges a capture is limited to, as ncu's flags. */
#include "pipeline/ncu/ncu.h"

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
                     const struct lpo_known_regions *seen, struct lpo_exprs *out,
                     struct lpo_err *err)
{
    const char **patterns;
    size_t n = lpo_run_conf_list(ctx->arena, node, key, false, &patterns);

    for (size_t i = 0; i < n; i++)
        if (lpo_pipeline_ncu_expr_add(ctx->arena, patterns[i], seen, out, err) < 0)
            return err->code;
    return 0;
}

static void tell(struct lpo_stage_ctx *ctx, const char *key, const char *note)
{
    if (note && ctx->manifest)
        lpo_run_manifest_note(ctx->manifest, ctx->record, "%s: %s", key, note);
}

static void add_exprs(struct lpo_stage_ctx *ctx, struct lpo_step *step, const char *flag,
                      const struct lpo_exprs *exprs)
{
    for (size_t i = 0; i < exprs->len; i++) {
        lpo_run_step_arg(ctx->arena, step, flag);
        lpo_run_step_arg(ctx->arena, step, exprs->at[i].text);
    }
}

/* To take away what is not there, or less than was asked, is no failure: a note. */
static void translate_excludes(struct lpo_stage_ctx *ctx, const struct lpo_node *cli,
                               const struct lpo_known_regions *seen, struct lpo_exprs *out)
{
    const char *key = "ncu_cli.nvtx.exclude", *note, **patterns;
    size_t n = lpo_run_conf_list(ctx->arena, cli, "nvtx.exclude", false, &patterns);
    struct lpo_err err = { 0 };

    for (size_t i = 0; i < n; i++) {
        struct lpo_err missing = { 0 };

        if (lpo_pipeline_ncu_expr_add(ctx->arena, patterns[i], seen, out, &missing) < 0)
            tell(ctx, key, lpo_err_cause(&missing));
    }
    if (lpo_pipeline_ncu_exprs_join(ctx->arena, out, &note, &err) < 0)
        note = lpo_err_cause(&err);
    tell(ctx, key, note);
}

/* A dry run knows no regions; the run itself will, where native goes before. */
static bool regions_will_be_known(const struct lpo_stage_ctx *ctx)
{
    return ctx->dry_run && lpo_node_conf_bool(ctx->config, "pipeline.native.enable", false);
}

/* Region mode names its regions itself; with none named, every outermost region that was seen. */
static int translate_includes(struct lpo_stage_ctx *ctx, const struct lpo_node *cli,
                              const struct lpo_known_regions *seen, struct lpo_exprs *out,
                              struct lpo_err *err)
{
    const char *key = "pipeline.ncu.ncu_cli.nvtx.include", *note;

    if (translate(ctx, cli, "nvtx.include", seen, out, err) < 0)
        return lpo_ctx(err, "%s", key);
    if (lpo_pipeline_ncu_region_mode(ctx)) {
        if (out->len == 0)
            key = "pipeline.ncu.regions.include";
        if (translate(ctx, ctx->knobs, "regions.include", seen, out, err) < 0)
            return lpo_ctx(err, "pipeline.ncu.regions.include");
        if (out->len == 0 && !lpo_pipeline_ncu_expr_add_outermost(ctx->arena, seen, out))
            tell(ctx, key, "too many regions to name: the capture takes every kernel");
    }
    if (lpo_pipeline_ncu_exprs_join(ctx->arena, out, &note, err) < 0) {
        if (!regions_will_be_known(ctx))
            return lpo_ctx(err, "%s", key);
        *err = (struct lpo_err){ 0 };
    }
    tell(ctx, key, note);
    return 0;
}

int lpo_pipeline_ncu_add_nvtx(struct lpo_stage_ctx *ctx, const struct lpo_node *cli,
                              struct lpo_step *step, struct lpo_err *err)
{
    struct lpo_known_regions seen = { 0 };
    struct lpo_exprs include = { 0 }, exclude = { 0 };

    if (!lpo_node_conf_bool(ctx->knobs, "gating_nvtx", true))
        return 0;
    lpo_pipeline_known_regions_read(ctx->arena, ctx->run_dir, &seen);
    if (translate_includes(ctx, cli, &seen, &include, err) < 0)
        return err->code;
    translate_excludes(ctx, cli, &seen, &exclude);
    if (include.len || exclude.len || lpo_pipeline_ncu_region_mode(ctx))
        lpo_run_step_arg(ctx->arena, step, "--nvtx");
    add_exprs(ctx, step, "--nvtx-include", &include);
    add_exprs(ctx, step, "--nvtx-exclude", &exclude);
    return 0;
}
