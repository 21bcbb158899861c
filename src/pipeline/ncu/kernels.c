/* SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/ncu/kernels.h"

#include <string.h>

#include "hydra/compose.h"
#include "pipeline/ncu/command.h"
#include "pipeline/ncu/ncu.h"
#include "pipeline/stage.h"
#include "region/top_kernels.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/file.h"
#include "util/path.h"
#include "util/pattern.h"
#include "util/str.h"
#include "writer/top_yaml.h"

enum { MAX_KERNELS = 9999 }; /* four digits in the folder's name; each is a run of the program */

/* --- which ---------------------------------------------------------------------------------- */

static int check_regex(struct lpo_arena *a, const char *regex, struct lpo_err *err)
{
    LPO_AUTO(lpo_pattern) pattern = NULL;

    if (!*regex)
        return lpo_fail(err, LPO_E_USAGE,
                        "an empty kernel regex would match every kernel; '.' "
                        "says so");
    return lpo_pattern_create(lpo_arena_printf(a, "regex:%s", regex), &pattern, err);
}

int lpo_pipeline_ncu_wanted_add(struct lpo_arena *a, struct lpo_wanted_kernels *wanted,
                                const char *name, const char *regex, struct lpo_err *err)
{
    if (lpo_str_starts(regex, "regex:")) /* as ncu itself wants it */
        regex += strlen("regex:");
    if (check_regex(a, regex, err) < 0)
        return err->code;
    for (size_t i = 0; i < wanted->len; i++) {
        if (strcmp(wanted->at[i].regex, regex) == 0) {
            wanted->at[i].merged++;
            return 0;
        }
    }
    if (wanted->len == MAX_KERNELS)
        return lpo_fail(err, LPO_E_LIMIT, "more than %d kernels; --topk takes the first",
                        MAX_KERNELS);
    if (wanted->len == wanted->cap) {
        struct lpo_wanted_kernel *old = wanted->at;

        wanted->cap = wanted->cap ? wanted->cap * 2 : 16;
        wanted->at = lpo_arena_array(a, wanted->cap, sizeof *wanted->at);
        if (wanted->len)
            memcpy(wanted->at, old, wanted->len * sizeof *old);
    }
    wanted->at[wanted->len++] = (struct lpo_wanted_kernel){
        .name = lpo_arena_strdup(a, name ? name : regex),
        .regex = lpo_arena_strdup(a, regex),
    };
    return 0;
}

static const char *text_at(const struct lpo_node *map, const char *key)
{
    const struct lpo_node *n = lpo_node_get(map, key);

    return n && n->kind == LPO_NODE_STRING ? n->text : NULL;
}

static int add_row(struct lpo_arena *a, struct lpo_wanted_kernels *wanted,
                   const struct lpo_node *row, struct lpo_err *err)
{
    const char *name = NULL, *regex = NULL;
    LPO_STR made = { 0 };

    if (row->kind == LPO_NODE_STRING) {
        regex = row->text;
    } else if (row->kind == LPO_NODE_MAP) {
        name = text_at(row, "name");
        regex = text_at(row, "regex");
    }
    if (!regex && name) {
        lpo_writer_kernel_regex(&made, name);
        regex = lpo_str_text(&made);
    }
    if (!regex)
        return lpo_fail(err, LPO_E_CONFIG, "a kernel is a map with 'regex' or 'name', or a text");
    return lpo_pipeline_ncu_wanted_add(a, wanted, name, regex, err);
}

int lpo_pipeline_ncu_wanted_read(struct lpo_arena *a, struct lpo_wanted_kernels *wanted,
                                 const char *path, size_t most, struct lpo_err *err)
{
    LPO_AUTO(lpo_file_text) text = NULL;
    const struct lpo_node *list;
    struct lpo_node *root = NULL;

    if (lpo_file_text_read_limit(path, LPO_YAML_MAX_BYTES, &text, err) < 0 ||
        lpo_yaml_parse(a, text->at, text->len, path, &root, err) < 0) {
        err->code = LPO_E_CONFIG; /* the user's file, not a tool's */
        return lpo_ctx(err, "cannot read the list of kernels");
    }
    list = root->kind == LPO_NODE_MAP ? lpo_node_get(root, "kernels") : root;
    if (!list || list->kind != LPO_NODE_LIST)
        return lpo_fail(err, LPO_E_CONFIG,
                        "'%s' holds no list 'kernels:'; 'lpo top FILE -o %s' writes one", path,
                        lpo_path_base(path));
    if (list->count == 0)
        return lpo_fail(err, LPO_E_CONFIG, "the list of kernels in '%s' is empty", path);
    for (size_t i = 0; i < list->count && (most == 0 || i < most); i++)
        if (add_row(a, wanted, list->items[i], err) < 0)
            return lpo_ctx(err, "%s:%u: kernel %zu", path, list->items[i]->where.line, i + 1);
    return 0;
}

const char *lpo_pipeline_ncu_kernel_folder(struct lpo_arena *a, size_t number,
                                           const struct lpo_wanted_kernel *kernel)
{
    LPO_STR out = { 0 };
    size_t len;
    const char *function = lpo_region_kernel_function(kernel->name, &len);

    if (strcmp(kernel->name, kernel->regex) == 0) { /* no name but the regex itself */
        function = kernel->name;
        len = strlen(function);
    }
    lpo_str_addf(&out, "kernel_%04zu_", number);
    lpo_path_add_safe(&out, function, len);
    return lpo_arena_strdup(a, lpo_str_text(&out));
}

/* --- the plan ------------------------------------------------------------------------------- */

int lpo_pipeline_ncu_kernel_plan(struct lpo_stage_ctx *ctx, const char *ncu, bool per_config,
                                 const struct lpo_wanted_kernel *kernel, struct lpo_steps *steps,
                                 struct lpo_err *err)
{
    struct lpo_arena *a = ctx->arena;
    struct lpo_ncu_command command = lpo_pipeline_ncu_command(ctx, ncu);
    struct lpo_workload_opts opts = { .profiled = true };
    struct lpo_words words;
    struct lpo_step *step;

    command.kernel_name = lpo_arena_printf(a, "regex:%s", kernel->regex);
    command.per_config = per_config;
    command.output = lpo_path_join(a, ctx->dir, "ncu");
    if (lpo_pipeline_ncu_nvtx_filter(ctx, &command, NULL, err) < 0 ||
        lpo_pipeline_stage_add_workload(ctx, steps, kernel->name, &opts, &step, err) < 0)
        return err->code;
    words = lpo_pipeline_ncu_command_words(a, &command);
    lpo_run_step_wrap(a, step, &words);
    return 0;
}

const char *const *lpo_pipeline_ncu_kernel_overrides(void)
{
    static const char *const overrides[] = {
        "pipeline.ncu.ncu_cli.nvtx.include=null",
        "pipeline.ncu.ncu_cli.set=null",
        "pipeline.ncu.ncu_cli.metrics=null",
        "pipeline.ncu.ncu_cli.launch_count=1",
        NULL,
    };

    return overrides;
}

struct lpo_node *lpo_pipeline_ncu_kernel_flags(struct lpo_arena *a, struct lpo_node *config)
{
    static const char *const path[] = { "pipeline", "ncu", "ncu_cli" };

    for (size_t i = 0; i < sizeof path / sizeof *path; i++) {
        struct lpo_node *below = lpo_node_get(config, path[i]);

        if (!below || below->kind != LPO_NODE_MAP) {
            below = lpo_node_map(a);
            lpo_node_set(a, config, path[i], below);
        }
        config = below;
    }
    return config;
}

static void add_table(struct lpo_stage_ctx *ctx, const char *ncu, const char *section,
                      const char *file, struct lpo_steps *steps)
{
    struct lpo_ncu_table table = { .label = lpo_arena_printf(ctx->arena, "table %s", file),
                                   .page = "details",
                                   .file = file,
                                   .log = file,
                                   .section = section,
                                   .csv = true };
    struct lpo_step *step = lpo_pipeline_ncu_add_table(
        ctx, steps, ncu, lpo_path_join(ctx->arena, ctx->dir, LPO_KERNEL_REPORT), &table);

    /* five tables would leave ten files that say nothing; dry-run shows their commands */
    step->cmd_path = NULL;
    step->stderr_path = NULL;
}

void lpo_pipeline_ncu_kernel_plan_tables(struct lpo_stage_ctx *ctx, const char *ncu,
                                         struct lpo_steps *steps)
{
    const struct lpo_ncu_settings *settings = ctx->settings;

    add_table(ctx, ncu, NULL, LPO_KERNEL_DETAILS, steps);
    for (size_t i = 0; i < settings->sections.len; i++) {
        const char *section = settings->sections.at[i];
        LPO_STR file = { 0 };

        lpo_str_add(&file, "ncu.section_");
        lpo_path_add_safe(&file, section, strlen(section));
        lpo_str_add(&file, ".csv");
        add_table(ctx, ncu, section, lpo_arena_strdup(ctx->arena, lpo_str_text(&file)), steps);
    }
}
