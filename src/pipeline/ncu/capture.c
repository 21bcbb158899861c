/* SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/ncu/command.h"

#include "pipeline/ncu/nvtx_expr.h"
#include "pipeline/stage.h"
#include "region/pattern/pattern.h"
#include "run/manifest.h"
#include "run/one_rank.h"
#include "util/file.h"
#include "util/path.h"
#include "util/visible.h"

struct lpo_ncu_capture *lpo_pipeline_ncu_captures_add(struct lpo_stage_ctx *ctx,
                                                      struct lpo_ncu_captures *out,
                                                      const char *name)
{
    struct lpo_ncu_capture *c = &out->at[out->len++];

    *c = (struct lpo_ncu_capture){ .name = name, .ctx = ctx, .step = LPO_NCU_NO_STEP };
    return c;
}

/* --- which regions -------------------------------------------------------------------------- */

static bool fits_one(const struct lpo_settings_words *patterns, const char *path,
                     const struct lpo_levels *levels)
{
    for (size_t i = 0; i < patterns->len; i++) {
        LPO_AUTO(lpo_region_pattern) p = NULL;

        if (strcmp(patterns->at[i], path) == 0)
            return true;
        if (!lpo_region_pattern_in_ncu_grammar(patterns->at[i]) &&
            lpo_region_pattern_create(patterns->at[i], &p, NULL) == 0 &&
            lpo_region_pattern_fits(p, levels))
            return true;
    }
    return false;
}

/* Is the region, or one around it, named? */
static bool within_one(const struct lpo_settings_words *patterns, const char *path,
                       const struct lpo_levels *levels)
{
    struct lpo_levels part = *levels;

    for (part.len = 1; part.len <= levels->len; part.len++)
        if (fits_one(patterns, part.len == levels->len ? path : "", &part))
            return true;
    return false;
}

static bool is_wanted(struct lpo_stage_ctx *ctx, size_t i)
{
    const struct lpo_ncu_settings *s = ctx->settings;
    const struct lpo_known_region *region = &ctx->known.at[i];
    struct lpo_levels levels;

    if (lpo_region_path_parse(ctx->arena, region->path, ctx->known.domains, ctx->known.ndomains,
                              &levels) < 0 ||
        within_one(&s->regions_exclude, region->path, &levels))
        return false;
    return s->regions_include.len ? fits_one(&s->regions_include, region->path, &levels)
                                  : lpo_pipeline_ncu_is_default(&ctx->known, i);
}

/* Paths join names with '/', so that a region inside another one begins with its path. */
static bool is_inside(const char *path, const char *outer)
{
    size_t len = strlen(outer);

    return strncmp(path, outer, len) == 0 && path[len] == '/';
}

static struct lpo_stage_ctx *own_folders(struct lpo_stage_ctx *ctx, const char *region)
{
    struct lpo_stage_ctx *own = LPO_NEW(ctx->arena, struct lpo_stage_ctx);
    LPO_STR folder = { 0 };

    lpo_path_add_safe(&folder, region, strlen(region)); /* as the region reports name it */
    *own = *ctx;
    own->dir = lpo_arena_printf(ctx->arena, "%s/regions/%s", ctx->dir, lpo_str_text(&folder));
    own->workload_dir = lpo_path_join(ctx->arena, ctx->workload_dir, lpo_str_text(&folder));
    return own;
}

static void add_words(struct lpo_arena *a, const struct lpo_words *from, struct lpo_words *to)
{
    for (size_t i = 0; i < from->len; i++)
        lpo_run_words_add(a, to, from->at[i]);
}

static int add_region(struct lpo_stage_ctx *ctx, const char *region, struct lpo_ncu_captures *out,
                      struct lpo_err *err)
{
    struct lpo_exprs exprs = { 0 };
    struct lpo_ncu_capture *c;
    struct lpo_err why = { 0 };
    const char *remark;

    for (size_t i = 0; i < out->len; i++)
        if (strcmp(out->at[i].region, region) == 0)
            return 0; /* push/pop and start/end ranges of one name are one region here */
    if (lpo_pipeline_ncu_expr_add(ctx->arena, region, &ctx->known, &exprs, &why) < 0 && !exprs.len)
        return lpo_fail(err, why.code, "pipeline.ncu.regions.include: %s", lpo_err_cause(&why));
    if (lpo_pipeline_ncu_exprs_join(ctx->arena, &exprs, &remark, err) < 0)
        return lpo_ctx(err, "pipeline.ncu.regions.include");
    c = lpo_pipeline_ncu_captures_add(own_folders(ctx, region), out, "run");
    c->region = region;
    for (size_t i = 0; i < exprs.len; i++)
        lpo_run_words_add(ctx->arena, &c->nvtx_include, exprs.at[i].text);
    return 0;
}

/* Reports count every launch once. A region inside a captured one is measured a second time: its
 * report gets another name. A start/end range may overlap any other region: its capture leaves out
 * what the captures before it hold. */
static void count_once(struct lpo_stage_ctx *ctx, struct lpo_ncu_captures *all, size_t i,
                       bool start_end)
{
    struct lpo_ncu_capture *c = &all->at[i];

    for (size_t k = 0; k < all->len; k++)
        if (is_inside(c->region, all->at[k].region))
            c->name = "nested";
    for (size_t k = 0; start_end && k < i; k++)
        add_words(ctx->arena, &all->at[k].nvtx_include, &c->nvtx_exclude);
    if (c->nvtx_exclude.len)
        lpo_run_manifest_note(ctx->manifest, ctx->record,
                              "the range '%s' may overlap other regions: its own capture leaves "
                              "out the kernels of those captured before it",
                              c->region);
}

/* Start/end ranges last: see count_once(). */
static int each_known(struct lpo_stage_ctx *ctx, struct lpo_ncu_captures *out, size_t *wanted,
                      struct lpo_err *err)
{
    size_t push_pop = 0;

    for (int start_end = 0; start_end < 2; start_end++) {
        for (size_t i = 0; i < ctx->known.len; i++) {
            const struct lpo_known_region *r = &ctx->known.at[i];

            if (r->start_end != (bool)start_end || !is_wanted(ctx, i) ||
                ++*wanted > LPO_MAX_NCU_CAPTURES)
                continue;
            if (add_region(ctx, r->path, out, err) < 0)
                return err->code;
        }
        push_pop = start_end ? push_pop : out->len;
    }
    for (size_t i = 0; i < out->len; i++)
        count_once(ctx, out, i, i >= push_pop);
    return 0;
}

/* What regions.include says, word for word: which regions there are is not known. */
static int each_pattern(struct lpo_stage_ctx *ctx, struct lpo_ncu_captures *out, size_t *wanted,
                        struct lpo_err *err)
{
    const struct lpo_ncu_settings *s = ctx->settings;

    for (size_t i = 0; i < s->regions_include.len; i++) {
        if (++*wanted > LPO_MAX_NCU_CAPTURES)
            continue;
        if (add_region(ctx, s->regions_include.at[i], out, err) < 0)
            return err->code;
    }
    for (size_t i = 0; i < out->len; i++)
        count_once(ctx, out, i, false);
    return 0;
}

int lpo_pipeline_ncu_captures_each(struct lpo_stage_ctx *ctx, struct lpo_ncu_captures *out,
                                   struct lpo_err *err)
{
    size_t wanted = 0;
    int rc =
        ctx->known.len ? each_known(ctx, out, &wanted, err) : each_pattern(ctx, out, &wanted, err);

    if (rc == 0 && wanted > LPO_MAX_NCU_CAPTURES)
        lpo_run_manifest_note(ctx->manifest, ctx->record,
                              "%zu regions are asked for, and the first %d have a capture of their "
                              "own; regions.capture=shared has all of them in one",
                              wanted, (int)LPO_MAX_NCU_CAPTURES);
    return rc;
}

/* --- one capture ---------------------------------------------------------------------------- */

const char *lpo_pipeline_ncu_capture_file(const struct lpo_ncu_capture *c, const char *ending)
{
    return lpo_arena_printf(c->ctx->arena, "%s/%s%s", c->ctx->dir, c->name, ending);
}

static void wrap(const struct lpo_ncu_capture *c, const struct lpo_ncu_command *command,
                 struct lpo_step *step)
{
    struct lpo_ncu_command own = *command;
    struct lpo_words words;

    own.output = lpo_pipeline_ncu_capture_file(c, "");
    if (c->region) {
        own.select.nvtx_include = c->nvtx_include;
        own.select.nvtx_exclude = (struct lpo_words){ 0 };
        add_words(c->ctx->arena, &command->select.nvtx_exclude, &own.select.nvtx_exclude);
        add_words(c->ctx->arena, &c->nvtx_exclude, &own.select.nvtx_exclude);
    }
    words = lpo_pipeline_ncu_command_words(c->ctx->arena, &own);
    if (c->job.way == LPO_ONE_RANK_NONE)
        lpo_run_step_wrap(c->ctx->arena, step, &words);
    else
        lpo_run_one_rank_wrap(c->ctx->arena, &c->job,
                              lpo_run_ranks_first(c->ctx->arena, c->ctx->config), &words,
                              &c->program, step);
}

/* Replay of a kernel in two ranks that wait for each other would not end, so a launcher is not put
 * under ncu: one of its ranks is. */
static int look_for_job(struct lpo_ncu_capture *c, struct lpo_step *step, struct lpo_err *err)
{
    c->program = (struct lpo_words){ step->argv, step->argc };
    if (lpo_run_one_rank_find(step->argv, step->argc, &c->job, err) < 0)
        return lpo_ctx(err, "stage ncu");
    if (c->job.way == LPO_ONE_RANK_NONE)
        return 0;
    lpo_pipeline_stage_wait_long(c->ctx, step);
    return c->job.way == LPO_ONE_RANK_PYTHON ? lpo_pipeline_python_inject(c->ctx, step, err) : 0;
}

/* "ncu, region decode"; names come from programs, and labels are printed as one line. */
static const char *label_of(const struct lpo_ncu_capture *c, const char *what)
{
    LPO_STR text = { 0 };

    if (!c->region)
        return what;
    lpo_str_addf(&text, "%s, region ", what);
    lpo_visible_add(&text, c->region, strlen(c->region), 0);
    return lpo_arena_strdup(c->ctx->arena, lpo_str_text(&text));
}

int lpo_pipeline_ncu_capture_plan(struct lpo_ncu_capture *c, const struct lpo_ncu_command *command,
                                  int64_t most_tokens, struct lpo_steps *steps, struct lpo_err *err)
{
    struct lpo_workload_opts opts = { .profiled = true, .most_tokens = most_tokens };
    struct lpo_step *step;

    c->step = steps->len;
    if (lpo_pipeline_stage_add_workload(c->ctx, steps, label_of(c, "ncu"), &opts, &step, err) < 0)
        return err->code;
    if (look_for_job(c, step, err) < 0)
        return err->code;
    if (c->ctx->in_job)
        lpo_pipeline_stage_wait_long(c->ctx, step);
    if (command->temp)
        lpo_run_step_env(c->ctx->arena, step, "TMPDIR", command->temp);
    wrap(c, command, step);
    return 0;
}

void lpo_pipeline_ncu_capture_render(const struct lpo_ncu_capture *c,
                                     const struct lpo_ncu_command *command, struct lpo_steps *steps)
{
    wrap(c, command, &steps->at[c->step]);
}

int lpo_pipeline_ncu_capture_prepare(struct lpo_ncu_capture *c, struct lpo_err *err)
{
    if (!c->region)
        return 0;
    if (lpo_file_make_dirs(c->ctx->dir, err) < 0 ||
        lpo_file_make_dirs(c->ctx->workload_dir, err) < 0)
        return lpo_ctx(err, "cannot prepare the folders of region '%s'", c->region);
    return lpo_pipeline_stage_prepare_workload(c->ctx, err);
}

void lpo_pipeline_ncu_capture_plan_tables(const struct lpo_ncu_capture *c, const char *ncu,
                                          struct lpo_steps *steps)
{
    static const struct lpo_ncu_table tables[] = {
        { "ncu raw page", "raw", "raw.csv", "raw", NULL, true },
        { "ncu details page", "details", "sections_report.txt", "details", NULL, false },
    };
    const char *report = lpo_pipeline_ncu_capture_file(c, ".ncu-rep");

    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        struct lpo_ncu_table table = tables[i];

        table.label = label_of(c, table.label);
        lpo_pipeline_ncu_add_table(c->ctx, steps, ncu, report, &table);
    }
}
