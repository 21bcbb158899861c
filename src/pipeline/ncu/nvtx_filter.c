/* SPDX-License-Identifier: Apache-2.0 */
/* Which ranges a capture is limited to. */
#include "pipeline/ncu/command.h"

#include <string.h>

#include "pipeline/known_regions.h"
#include "pipeline/ncu/nvtx_expr.h"
#include "pipeline/stage.h"
#include "run/manifest.h"
#include "util/arena.h"
#include "util/err.h"

static int translate(struct lpo_stage_ctx *ctx, const struct lpo_settings_words *patterns,
                     struct lpo_exprs *out, struct lpo_err *err)
{
    for (size_t i = 0; i < patterns->len; i++)
        if (lpo_pipeline_ncu_expr_add(ctx->arena, patterns->at[i], &ctx->known, out, err) < 0)
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
static void translate_excludes(struct lpo_stage_ctx *ctx, struct lpo_exprs *out)
{
    const struct lpo_ncu_settings *s = ctx->settings;
    const char *key = "ncu_cli.nvtx.exclude", *remark;
    struct lpo_err err = { 0 };

    for (size_t i = 0; i < s->nvtx_exclude.len; i++) {
        struct lpo_err missing = { 0 };

        if (lpo_pipeline_ncu_expr_add(ctx->arena, s->nvtx_exclude.at[i], &ctx->known, out,
                                      &missing) < 0)
            note(ctx, key, lpo_err_cause(&missing));
    }
    if (lpo_pipeline_ncu_exprs_join(ctx->arena, out, &remark, &err) < 0)
        remark = lpo_err_cause(&err);
    note(ctx, key, remark);
}

/* Region mode names its regions itself; with none named, every known outermost region. */
static int translate_includes(struct lpo_stage_ctx *ctx, struct lpo_exprs *out, struct lpo_err *err)
{
    const struct lpo_ncu_settings *s = ctx->settings;
    const char *key = "pipeline.ncu.ncu_cli.nvtx.include", *remark;

    if (translate(ctx, &s->nvtx_include, out, err) < 0)
        return lpo_ctx(err, "%s", key);
    if (s->region_mode) {
        if (out->len == 0)
            key = "pipeline.ncu.regions.include";
        if (translate(ctx, &s->regions_include, out, err) < 0)
            return lpo_ctx(err, "pipeline.ncu.regions.include");
        if (out->len == 0 && !lpo_pipeline_ncu_expr_add_outermost(ctx->arena, &ctx->known, out))
            note(ctx, key, "too many regions to name: the capture takes every kernel");
    }
    if (lpo_pipeline_ncu_exprs_join(ctx->arena, out, &remark, err) < 0) {
        if (!ctx->regions_will_be_known) /* else names will stand for the globs */
            return lpo_ctx(err, "%s", key);
        *err = (struct lpo_err){ 0 };
    }
    note(ctx, key, remark);
    return 0;
}

int lpo_pipeline_ncu_nvtx_filter(struct lpo_stage_ctx *ctx, struct lpo_ncu_command *command,
                                 struct lpo_err *err)
{
    const struct lpo_ncu_settings *s = ctx->settings;
    struct lpo_exprs include = { 0 }, exclude = { 0 };

    if (!s->gating_nvtx)
        return 0;
    if (translate_includes(ctx, &include, err) < 0)
        return err->code;
    translate_excludes(ctx, &exclude);
    command->nvtx = include.len || exclude.len || s->region_mode;
    command->nvtx_include = words_of(ctx->arena, &include);
    command->nvtx_exclude = words_of(ctx->arena, &exclude);
    return 0;
}
