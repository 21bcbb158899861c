/* SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/ncu/command.h"

#include "pipeline/stage.h"
#include "util/path.h"

#define MEMBER(name) offsetof(struct lpo_ncu_command, name)

/* A key of ncu_cli, the flag it is, and where its word is kept. */
static const struct {
    const char *key, *flag;
    size_t member;
} scalars[] = {
    { "pipeline.ncu.ncu_cli.target_processes", "--target-processes", MEMBER(target_processes) },
    { "pipeline.ncu.ncu_cli.replay_mode", "--replay-mode", MEMBER(replay_mode) },
    { "pipeline.ncu.ncu_cli.set", "--set", MEMBER(set) },
    { "pipeline.ncu.ncu_cli.kernel_name", "--kernel-name", MEMBER(select.kernel_name) },
    { "pipeline.ncu.ncu_cli.kernel_name_base", "--kernel-name-base",
      MEMBER(select.kernel_name_base) },
    { "pipeline.ncu.ncu_cli.launch_skip", "--launch-skip", MEMBER(select.launch_skip) },
    { "pipeline.ncu.ncu_cli.launch_count", "--launch-count", MEMBER(select.launch_count) },
    { "pipeline.ncu.ncu_cli.clock_control", "--clock-control", MEMBER(clock_control) },
    { "pipeline.ncu.ncu_cli.cache_control", "--cache-control", MEMBER(cache_control) },
    { "pipeline.ncu.ncu_cli.graph_profiling", "--graph-profiling", MEMBER(graph_profiling) },
};

enum { SCALARS = sizeof scalars / sizeof *scalars };

struct lpo_ncu_command lpo_pipeline_ncu_command(const struct lpo_stage_ctx *ctx,
                                                const char *program)
{
    const struct lpo_ncu_settings *s = ctx->settings;
    struct lpo_ncu_command c = { .program = program,
                                 .extra = s->extra_args,
                                 .overwrite = s->force_overwrite };

    for (size_t i = 0; i < SCALARS; i++)
        *(const char **)((char *)&c + scalars[i].member) =
            lpo_settings_word(ctx->arena, ctx->config, scalars[i].key);
    for (size_t i = 0; i < s->sections.len; i++)
        lpo_run_words_add(ctx->arena, &c.sections, s->sections.at[i]);
    for (size_t i = 0; i < s->metrics.len; i++)
        lpo_run_words_add(ctx->arena, &c.metrics, s->metrics.at[i]);
    return c;
}

static void add_each(struct lpo_arena *a, struct lpo_words *out, const char *flag,
                     const struct lpo_words *values)
{
    for (size_t i = 0; i < values->len; i++)
        lpo_run_words_add_flag(a, out, flag, values->at[i]);
}

static void add_scalars(struct lpo_arena *a, const struct lpo_ncu_command *c, struct lpo_words *out)
{
    for (size_t i = 0; i < SCALARS; i++) {
        const char *word = *(const char *const *)((const char *)c + scalars[i].member);

        if (c->select.per_config_count && scalars[i].member == MEMBER(select.launch_count))
            continue; /* counted for each configuration instead: ncu takes the flag once */
        lpo_run_words_add_flag(a, out, scalars[i].flag, word);
    }
}

static void add_metrics(struct lpo_arena *a, const struct lpo_ncu_command *c, struct lpo_words *out)
{
    LPO_STR joined = { 0 };

    for (size_t i = 0; i < c->metrics.len; i++)
        lpo_str_addf(&joined, "%s%s", i ? "," : "", c->metrics.at[i]);
    if (joined.len)
        lpo_run_words_add_flag(a, out, "--metrics", lpo_arena_strdup(a, joined.at));
}

struct lpo_words lpo_pipeline_ncu_command_words(struct lpo_arena *a,
                                                const struct lpo_ncu_command *c)
{
    const struct lpo_ncu_selection *s = &c->select;
    struct lpo_words out = { 0 };

    lpo_run_words_add(a, &out, c->program);
    /* a config.ncu-cfg of the user's would add flags that no record of this run shows */
    lpo_run_words_add_flag(a, &out, "--config-file", "off");
    add_scalars(a, c, &out);
    add_each(a, &out, "--section", &c->sections);
    add_metrics(a, c, &out);
    for (size_t i = 0; i < c->extra.len; i++)
        lpo_run_words_add(a, &out, c->extra.at[i]);
    if (s->nvtx)
        lpo_run_words_add(a, &out, "--nvtx");
    add_each(a, &out, "--nvtx-include", &s->nvtx_include);
    add_each(a, &out, "--nvtx-exclude", &s->nvtx_exclude);
    lpo_run_words_add_flag(a, &out, "--range-filter", s->range_filter);
    if (s->mangled_names)
        lpo_run_words_add_flag(a, &out, "--kernel-name-base", "mangled");
    if (s->per_config)
        lpo_run_words_add_flag(a, &out, "--filter-mode", "per-launch-config");
    if (s->per_config_count)
        lpo_run_words_add_flag(a, &out, "--launch-count",
                               lpo_arena_printf(a, "%lld", (long long)s->per_config_count));
    if (c->overwrite)
        lpo_run_words_add(a, &out, "--force-overwrite");
    lpo_run_words_add_flag(a, &out, "--log-file", lpo_arena_printf(a, "%s.log", c->output));
    lpo_run_words_add_flag(a, &out, "--export", c->output);
    return out;
}

struct lpo_step *lpo_pipeline_ncu_add_table(struct lpo_stage_ctx *ctx, struct lpo_steps *steps,
                                            const char *ncu, const char *report,
                                            const struct lpo_ncu_table *table)
{
    struct lpo_arena *a = ctx->arena;
    struct lpo_step *step = lpo_pipeline_stage_add_tool(ctx, steps, table->label, table->log);
    struct lpo_words words = { 0 };

    lpo_run_words_add(a, &words, ncu);
    lpo_run_words_add_flag(a, &words, "--import", report);
    lpo_run_words_add_flag(a, &words, "--page", table->page);
    lpo_run_words_add_flag(a, &words, "--print-units", "base");
    lpo_run_words_add_flag(a, &words, "--section", table->section);
    if (table->csv)
        lpo_run_words_add(a, &words, "--csv");
    lpo_run_step_args(a, step, words.at);
    step->stdout_path = lpo_path_join(a, ctx->dir, table->file);
    step->optional = true;
    return step;
}
