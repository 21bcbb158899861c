/* Which ranges a capture is limited to, as ncu's flags. */
#include "stage/ncu/ncu.h"

#include <string.h>

#include "config/node.h"
#include "run/conf.h"
#include "run/manifest.h"
#include "stage/ncu/expr.h"
#include "stage/ncu/seen.h"
#include "stage/stage.h"
#include "util/arena.h"
#include "util/err.h"

bool lpo_ncu_region_mode(const struct lpo_stage_ctx *ctx)
{
    return lpo_conf_bool(ctx->knobs, "regions.enable", false);
}

static int translate(struct lpo_stage_ctx *ctx, const struct lpo_node *node, const char *key,
                     const struct lpo_seen_regions *seen, struct lpo_exprs *out,
                     struct lpo_err *err)
{
    const char **patterns;
    size_t n = lpo_conf_list(ctx->arena, node, key, false, &patterns);

    for (size_t i = 0; i < n; i++)
        if (lpo_ncu_expr_add(ctx->arena, patterns[i], seen, out, err) < 0)
            return err->code;
    return 0;
}

/* ncu passed over names that stood behind a regular expression (measured), so names go first. */
static void add_exprs(struct lpo_stage_ctx *ctx, struct lpo_step *step, const char *flag,
                      const struct lpo_exprs *exprs)
{
    for (size_t i = 0; i < 2 * exprs->len; i++) {
        const char *expr = exprs->at[i % exprs->len];
        bool regex = strncmp(expr, "regex:", strlen("regex:")) == 0;

        if (regex != (i >= exprs->len))
            continue;
        lpo_step_arg(ctx->arena, step, flag);
        lpo_step_arg(ctx->arena, step, expr);
    }
}

/* To take away what is not there is no mistake: a note. */
static void translate_excludes(struct lpo_stage_ctx *ctx, const struct lpo_node *cli,
                               const struct lpo_seen_regions *seen, struct lpo_exprs *out)
{
    const char **patterns;
    size_t n = lpo_conf_list(ctx->arena, cli, "nvtx.exclude", false, &patterns);

    for (size_t i = 0; i < n; i++) {
        struct lpo_err err = { 0 };

        if (lpo_ncu_expr_add(ctx->arena, patterns[i], seen, out, &err) < 0 && ctx->manifest)
            lpo_manifest_note(ctx->manifest, ctx->record, "ncu_cli.nvtx.exclude: %s",
                              lpo_err_cause(&err));
    }
}

/* Region mode names its regions itself; with none named, every outermost region that was seen. */
int lpo_ncu_add_nvtx(struct lpo_stage_ctx *ctx, const struct lpo_node *cli, struct lpo_step *step,
                     struct lpo_err *err)
{
    struct lpo_seen_regions seen = { 0 };
    struct lpo_exprs include = { 0 }, exclude = { 0 };

    if (!lpo_conf_bool(ctx->knobs, "gating_nvtx", true))
        return 0;
    lpo_seen_regions_read(ctx->arena, ctx->run_dir, &seen);
    if (translate(ctx, cli, "nvtx.include", &seen, &include, err) < 0)
        return lpo_ctx(err, "pipeline.ncu.ncu_cli.nvtx.include");
    translate_excludes(ctx, cli, &seen, &exclude);
    if (lpo_ncu_region_mode(ctx)) {
        if (translate(ctx, ctx->knobs, "regions.include", &seen, &include, err) < 0)
            return lpo_ctx(err, "pipeline.ncu.regions.include");
        if (include.len == 0)
            lpo_seen_add_outermost(ctx->arena, &seen, &include);
    }
    if (include.len || exclude.len || lpo_ncu_region_mode(ctx))
        lpo_step_arg(ctx->arena, step, "--nvtx");
    add_exprs(ctx, step, "--nvtx-include", &include);
    add_exprs(ctx, step, "--nvtx-exclude", &exclude);
    return 0;
}
