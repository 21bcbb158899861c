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

static int translate(struct lpo_stage_ctx *ctx, const struct lpo_settings_words *patterns,
                     struct lpo_exprs *out, struct lpo_err *err)
{
    for (size_t i = 0; i < patterns->len; i++)
        if (lpo_pipeline_ncu_expr_add(ctx->arena, patterns->at[i], &ctx->known, out, err) < 0)
            return err->code;
    return 0;
}

/* Of several regions one that does not exist is a note; where none exists there is nothing to
 * capture. */
static int translate_regions(struct lpo_stage_ctx *ctx, const char *key, struct lpo_exprs *out,
                             struct lpo_err *err)
{
    const struct lpo_settings_words *patterns =
        &((const struct lpo_ncu_settings *)ctx->settings)->regions_include;
    struct lpo_err first = { 0 };
    size_t missing = 0;

    for (size_t i = 0; i < patterns->len; i++) {
        struct lpo_err why = { 0 };

        if (lpo_pipeline_ncu_expr_add(ctx->arena, patterns->at[i], &ctx->known, out, &why) == 0)
            continue;
        if (missing++ == 0)
            first = why;
        note(ctx, key, lpo_err_cause(&why));
    }
    if (missing == 0 || missing < patterns->len)
        return 0;
    *err = first;
    return lpo_ctx(err, "%s", key);
}

/* A pattern to exclude that fits no region, or that ncu cannot express, is a note, not a failure:
 * the capture then holds more than was asked for, which the reports can still leave out. */
static void exclude(struct lpo_stage_ctx *ctx, const char *key,
                    const struct lpo_settings_words *patterns, struct lpo_exprs *out)
{
    for (size_t i = 0; i < patterns->len; i++) {
        struct lpo_err why = { 0 };

        if (lpo_pipeline_ncu_expr_add(ctx->arena, patterns->at[i], &ctx->known, out, &why) < 0)
            note(ctx, key, lpo_err_cause(&why));
    }
}

static void translate_excludes(struct lpo_stage_ctx *ctx, struct lpo_exprs *out)
{
    const struct lpo_ncu_settings *s = ctx->settings;
    struct lpo_err err = { 0 };
    const char *remark;

    out->exact = true;
    exclude(ctx, "ncu_cli.nvtx.exclude", &s->nvtx_exclude, out);
    if (s->region_mode)
        exclude(ctx, "regions.exclude", &s->regions_exclude, out);
    if (lpo_pipeline_ncu_exprs_join(ctx->arena, out, &remark, &err) < 0)
        remark = lpo_err_cause(&err);
    note(ctx, s->nvtx_exclude.len ? "ncu_cli.nvtx.exclude" : "regions.exclude", remark);
}

static void note_wider(struct lpo_stage_ctx *ctx, const char *key, const struct lpo_exprs *out)
{
    if (out->wider)
        note(ctx, key,
             lpo_arena_printf(ctx->arena,
                              "ncu cannot express '%s' exactly: the capture may hold more regions, "
                              "which region reports leave out",
                              out->wider));
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
        if (translate_regions(ctx, "pipeline.ncu.regions.include", out, err) < 0)
            return err->code;
        if (out->len == 0 && !lpo_pipeline_ncu_expr_add_outermost(ctx->arena, &ctx->known, out))
            note(ctx, key, "too many regions to name: the capture takes every kernel");
    }
    if (lpo_pipeline_ncu_exprs_join(ctx->arena, out, &remark, err) < 0) {
        if (!ctx->regions_will_be_known) /* else names will stand for the globs */
            return lpo_ctx(err, "%s", key);
        *err = (struct lpo_err){ 0 };
    }
    note(ctx, key, remark);
    note_wider(ctx, key, out);
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
