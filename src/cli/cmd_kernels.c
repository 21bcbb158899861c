/* SPDX-License-Identifier: Apache-2.0 */
/* lpo kernels: the hardware counters of a few kernels of any program, and what holds each back. */
#include <string.h>

#include "cli/app.h"
#include "cli/command.h"
#include "cli/kernels_run.h"
#include "cli/run/job.h"
#include "cli/run/progress.h"
#include "cli/trace_options.h"
#include "hydra/compose.h"
#include "pipeline/ncu/ncu.h"
#include "pipeline/stage.h"
#include "settings/settings.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/path.h"
#include "util/str.h"

static const struct lpo_option options[] = {
    { "kernel-regex", 'k', LPO_OPT_LIST, "REGEX", "kernels whose function name fits; repeatable" },
    { "kernel-config", 'c', LPO_OPT_TEXT, "FILE", "the list that `lpo top -o FILE` writes" },
    { "topk", 'n', LPO_OPT_TEXT, "N", "only the first N of that list (default, and 0: all)" },
    { "set", 0, LPO_OPT_TEXT, "NAME", "a set of ncu instead of the preset's sections" },
    { "section", 0, LPO_OPT_LIST, "NAME", "these sections instead of the preset's; repeatable" },
    { "extra-section", 0, LPO_OPT_LIST, "NAME", "a section besides; repeatable" },
    { "metrics", 0, LPO_OPT_TEXT, "LIST", "metrics besides, joined by commas; default: none" },
    { "kernel-name-base", 0, LPO_OPT_TEXT, "BASE",
      "compare with function, demangled or mangled names; default: what the regex can fit" },
    { "launch-skip", 0, LPO_OPT_TEXT, "N", "matching launches to let pass first; default: 0" },
    { "launch-count", 0, LPO_OPT_TEXT, "N", "matching launches to measure; default: 1" },
    { "per-config", 0, LPO_OPT_FLAG, NULL, "count launches per (kernel, grid, block)" },
    { "output", 'o', LPO_OPT_TEXT, "DIR", "the folder to write; default: tmp/kernels/<time>" },
    { "old-layout", 0, LPO_OPT_FLAG, NULL,
      "folders kernel_NNNN_<MD5> and a command.yaml, as ncu-profile-kernels" },
    { "ncu", 0, LPO_OPT_TEXT, "PROGRAM", "Nsight Compute, by name or path; default: ncu" },
    { "json", 0, LPO_OPT_FLAG, NULL, "the summary as JSON on stdout" },
    { "dry-run", 0, LPO_OPT_FLAG, NULL, "print each command that would be started; run nothing" },
    { "quiet", 'q', LPO_OPT_FLAG, NULL, "no progress on stderr" },
    LPO_CONFIG_OPTIONS,
    { NULL, 0, LPO_OPT_FLAG, NULL, NULL },
};

static int check_usage(const struct lpo_args *args, struct lpo_err *err)
{
    bool workload = false;

    for (size_t i = 0; i < args->nwords; i++)
        workload |= lpo_str_starts(args->words[i], "workload");
    if (args->rest ? args->nrest == 0 : !workload)
        return lpo_fail(err, LPO_E_USAGE,
                        "which program? usage: lpo kernels --kernel-regex R -- program args…");
    if (!*lpo_cli_args_list(args, "kernel-regex") && !lpo_cli_args_has(args, "kernel-config"))
        return lpo_fail(err, LPO_E_USAGE,
                        "which kernels? --kernel-regex R, or --kernel-config FILE as 'lpo top -o "
                        "FILE' writes it");
    if (lpo_cli_args_has(args, "topk") && !lpo_cli_args_has(args, "kernel-config"))
        return lpo_fail(err, LPO_E_USAGE, "--topk takes the first of --kernel-config");
    return 0;
}

static int read_wanted(struct lpo_app *app, const struct lpo_args *args, struct lpo_kernels_job *k,
                       struct lpo_err *err)
{
    struct lpo_wanted_kernels *out = &k->wanted;
    const char *file = lpo_cli_args_text(args, "kernel-config", NULL);

    out->base = lpo_cli_args_text(args, "kernel-name-base", NULL);
    if (out->base && strcmp(out->base, "function") != 0 && strcmp(out->base, "demangled") != 0 &&
        strcmp(out->base, "mangled") != 0)
        return lpo_fail(err, LPO_E_USAGE,
                        "--kernel-name-base is function, demangled or mangled, not '%s'",
                        out->base);
    for (const char *const *r = lpo_cli_args_list(args, "kernel-regex"); *r; r++)
        if (lpo_pipeline_ncu_wanted_add(app->arena, out, &(struct lpo_wanted_kernel){ .regex = *r },
                                        err) < 0)
            return lpo_ctx(err, "--kernel-regex");
    if (lpo_cli_count_from_args(args, "topk", 0, &k->most, err) < 0)
        return err->code;
    if (file && lpo_pipeline_ncu_wanted_read(app->arena, out, file, k->most, err) < 0)
        return lpo_ctx(err, "--kernel-config");
    return 0;
}

/* The preset decides, except for what a standalone look does otherwise. First in the list, so that
 * what the user writes has the last word. */
static const char **overrides_of(struct lpo_arena *a, const struct lpo_args *args)
{
    const char *const *own = lpo_pipeline_ncu_kernel_overrides();
    const char **all;
    size_t n = 0;

    while (own[n])
        n++;
    all = lpo_arena_array(a, 1 + n + args->nwords + 1, sizeof *all);
    all[0] = "hydra.run.dir=tmp/kernels/${now:%Y%m%d-%H%M%S}";
    for (size_t i = 0; i < n; i++)
        all[1 + i] = own[i];
    for (size_t i = 0; i < args->nwords; i++)
        all[1 + n + i] = args->words[i];
    return all;
}

static int set_count(struct lpo_arena *a, struct lpo_node *cli, const struct lpo_args *args,
                     const char *option, const char *key, struct lpo_err *err)
{
    size_t n = 0;

    if (!lpo_cli_args_has(args, option))
        return 0;
    if (lpo_cli_count_from_args(args, option, 0, &n, err) < 0)
        return err->code;
    lpo_node_set(a, cli, key, lpo_node_int(a, (int64_t)n));
    return 0;
}

static void add_sections(struct lpo_arena *a, struct lpo_node *cli, const struct lpo_args *args)
{
    struct lpo_node *there = lpo_node_get(cli, "sections");

    for (const char *const *s = lpo_cli_args_list(args, "extra-section"); *s; s++) {
        if (!there || there->kind != LPO_NODE_LIST) {
            there = lpo_node_list(a);
            lpo_node_set(a, cli, "sections", there);
        }
        lpo_node_push(a, there, lpo_node_string(a, *s));
    }
}

static int set_options(struct lpo_arena *a, struct lpo_node *cli, const struct lpo_args *args,
                       struct lpo_err *err)
{
    const char *const *sections = lpo_cli_args_list(args, "section");
    const char *set = lpo_cli_args_text(args, "set", NULL);
    const char *metrics = lpo_cli_args_text(args, "metrics", NULL);
    struct lpo_node *list = lpo_node_list(a);

    for (; *sections; sections++)
        lpo_node_push(a, list, lpo_node_string(a, *sections));
    if (list->count || set) /* what is asked for, and not the preset's choice besides */
        lpo_node_set(a, cli, "sections", list);
    add_sections(a, cli, args);
    if (set)
        lpo_node_set(a, cli, "set", lpo_node_string(a, set));
    if (metrics)
        lpo_node_set(a, cli, "metrics", lpo_node_string(a, metrics));
    if (set_count(a, cli, args, "launch-skip", "launch_skip", err) < 0 ||
        set_count(a, cli, args, "launch-count", "launch_count", err) < 0)
        return err->code;
    return 0;
}

static int find_ncu(struct lpo_app *app, const struct lpo_args *args, const struct lpo_job *job,
                    const char **out, struct lpo_err *err)
{
    const char *name = lpo_cli_args_text(args, "ncu", NULL);

    if (!name)
        name = lpo_settings_text(job->config, lpo_pipeline_ncu.program);
    *out = lpo_path_which(app->arena, name);
    if (!*out && lpo_cli_args_has(args, "dry-run"))
        *out = name; /* the command is shown even where the tool is not */
    if (!*out)
        return lpo_fail(err, LPO_E_MISSING,
                        "'%s' is not on PATH; give its path with --ncu. 'lpo doctor' says how to "
                        "get it",
                        name);
    return 0;
}

static int make_job(struct lpo_app *app, const struct lpo_args *args, struct lpo_job *job,
                    struct lpo_kernels_job *k, struct lpo_err *err)
{
    const char *const *program = (const char *const *)args->rest;
    struct lpo_node *config;

    if (check_usage(args, err) < 0 || read_wanted(app, args, k, err) < 0 ||
        lpo_cli_job_compose(app, args, overrides_of(app->arena, args), program, -1, job, err) < 0 ||
        find_ncu(app, args, job, &k->ncu, err) < 0)
        return err->code;
    job->run_dir = lpo_cli_args_text(args, "output", job->run_dir);
    config = lpo_node_clone(app->arena, job->config);
    job->config = config;
    k->job = job;
    k->list = lpo_cli_args_text(args, "kernel-config", NULL);
    k->old_layout = lpo_cli_args_has(args, "old-layout");
    k->per_config = lpo_cli_args_has(args, "per-config");
    k->flags = lpo_pipeline_ncu_kernel_flags(app->arena, config);
    return set_options(app->arena, k->flags, args, err);
}

static int run(struct lpo_app *app, const struct lpo_args *args, struct lpo_err *err)
{
    struct lpo_kernels_job k = { 0 };
    struct lpo_progress progress;
    struct lpo_job job = { 0 };
    LPO_STR plan = { 0 };

    if (make_job(app, args, &job, &k, err) < 0)
        return err->code;
    if (lpo_cli_args_has(args, "dry-run")) {
        if (lpo_cli_kernels_dry_run(app, &k, &plan, err) < 0)
            return err->code;
        fwrite(lpo_str_text(&plan), 1, plan.len, app->out);
        return 0;
    }
    lpo_cli_progress_init(&progress, app->screen, lpo_cli_args_has(args, "quiet"));
    return lpo_cli_kernels_run(app, &k, &progress, lpo_cli_args_has(args, "json"), err);
}

const struct lpo_command lpo_cli_cmd_kernels = {
    .name = "kernels",
    .summary = "hardware counters of chosen kernels of any program, and what holds each back",
    .usage = "[--kernel-regex R | --kernel-config FILE [--topk N]] [override…] -- program args…",
    .about = "  lpo kernels --kernel-regex 'flash_fwd.*' -- ./bench --size 2048\n"
             "  lpo top trace.json.gz -o top.yaml\n"
             "  lpo kernels --kernel-config top.yaml --topk 5 -- python generate.py",
    .options = options,
    .run = run,
};
