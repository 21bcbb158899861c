/* SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/ncu/kernels.h"

#include "analysis/counters/kernel_profile.h"
#include "hydra/compose.h"
#include "pipeline/ncu/command.h"
#include "pipeline/stage.h"
#include "region/cells.h"
#include "report/top_yaml.h"
#include "util/file.h"
#include "util/md5.h"
#include "util/path.h"
#include "util/pattern.h"

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

static bool fits(struct lpo_arena *a, const char *regex, const char *text, size_t len)
{
    LPO_AUTO(lpo_pattern) pattern = NULL;

    return lpo_pattern_create(lpo_arena_printf(a, "regex:%s", regex), &pattern, NULL) == 0 &&
           lpo_pattern_matches(pattern, text, len);
}

/* A function's name has no template arguments, parameters, blanks or namespaces. */
static const char *base_of(struct lpo_arena *a, const char *name, const char *regex)
{
    static const char *const demangled[] = { "::", "<", "\\(", " " };
    const char *function;
    size_t len;

    if (name) {
        function = lpo_region_kernel_function(name, &len);
        return !fits(a, regex, function, len) && fits(a, regex, name, strlen(name)) ? "demangled"
                                                                                    : NULL;
    }
    for (size_t i = 0; i < sizeof demangled / sizeof *demangled; i++)
        if (strstr(regex, demangled[i]))
            return "demangled";
    return NULL;
}

static bool is_same(const struct lpo_wanted_kernel *x, const struct lpo_wanted_kernel *y)
{
    return strcmp(x->regex, y->regex) == 0 && lpo_streq(x->base, y->base) &&
           x->shaped == y->shaped && memcmp(x->grid, y->grid, sizeof x->grid) == 0 &&
           memcmp(x->block, y->block, sizeof x->block) == 0;
}

int lpo_pipeline_ncu_wanted_add(struct lpo_arena *a, struct lpo_wanted_kernels *wanted,
                                const struct lpo_wanted_kernel *kernel, struct lpo_err *err)
{
    struct lpo_wanted_kernel k = *kernel;

    if (lpo_str_starts(k.regex, "regex:")) /* as ncu itself wants it */
        k.regex += strlen("regex:");
    if (check_regex(a, k.regex, err) < 0)
        return err->code;
    if (!k.base)
        k.base = wanted->base ? wanted->base : base_of(a, k.name, k.regex);
    for (size_t i = 0; i < wanted->len; i++) {
        if (is_same(&wanted->at[i], &k)) {
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
    k.regex = lpo_arena_strdup(a, k.regex);
    k.name = k.name ? lpo_arena_strdup(a, k.name) : k.regex;
    wanted->at[wanted->len++] = k;
    return 0;
}

static const char *text_at(const struct lpo_node *map, const char *key)
{
    const struct lpo_node *n = lpo_node_get(map, key);

    return n && n->kind == LPO_NODE_STRING ? n->text : NULL;
}

/* [x, y, z], or fewer: the others are 1. */
static bool read_size(const struct lpo_node *map, const char *key, uint32_t out[3])
{
    const struct lpo_node *n = lpo_node_get(map, key);

    if (!n || n->kind != LPO_NODE_LIST || n->count < 1 || n->count > 3)
        return false;
    for (size_t i = 0; i < 3; i++) {
        const struct lpo_node *item = i < n->count ? n->items[i] : NULL;

        if (item && (item->kind != LPO_NODE_INT || item->integer < 1 || item->integer > INT32_MAX))
            return false;
        out[i] = item ? (uint32_t)item->integer : 1;
    }
    return true;
}

static int add_row(struct lpo_arena *a, struct lpo_wanted_kernels *wanted,
                   const struct lpo_node *row, struct lpo_err *err)
{
    struct lpo_wanted_kernel k = { 0 };
    LPO_STR made = { 0 };

    if (row->kind == LPO_NODE_STRING) {
        k.regex = row->text;
    } else if (row->kind == LPO_NODE_MAP) {
        k.name = text_at(row, "name");
        k.regex = text_at(row, "regex");
        k.base = text_at(row, "name_base");
        k.shaped = read_size(row, "grid", k.grid) && read_size(row, "block", k.block);
    }
    if (!k.regex && k.name) {
        k.base = lpo_report_kernel_pattern(&made, k.name, NULL);
        k.regex = lpo_str_text(&made);
    }
    if (!k.regex)
        return lpo_fail(err, LPO_E_CONFIG, "a kernel is a map with 'regex' or 'name', or a text");
    return lpo_pipeline_ncu_wanted_add(a, wanted, &k, err);
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
                                           const struct lpo_wanted_kernel *kernel, bool md5)
{
    LPO_STR out = { 0 };
    size_t len;
    const char *function = lpo_region_kernel_function(kernel->name, &len);

    if (md5) {
        lpo_str_addf(&out, "kernel_%04zu_", number);
        lpo_md5_add(&out, kernel->name, strlen(kernel->name));
        return lpo_arena_strdup(a, lpo_str_text(&out));
    }
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

    command.select.kernel_name = lpo_arena_printf(a, "regex:%s", kernel->regex);
    if (kernel->base)
        command.select.kernel_name_base = kernel->base;
    command.select.per_config = per_config || kernel->shaped; /* ncu has no flag for one grid */
    command.output = lpo_path_join(a, ctx->dir, "ncu");
    if (lpo_pipeline_ncu_nvtx_filter(ctx, &command.select, NULL, err) < 0 ||
        lpo_pipeline_stage_add_workload(ctx, steps, kernel->name, &opts, &step, err) < 0)
        return err->code;
    words = lpo_pipeline_ncu_command_words(a, &command);
    lpo_run_step_wrap(a, step, &words);
    return 0;
}

/* --- what was measured ---------------------------------------------------------------------- */

/* Not where the name is only the regex, or has no template of which there may be other instances.
 */
static bool is_instance(struct lpo_arena *a, const struct lpo_wanted_kernel *k,
                        const char *measured)
{
    LPO_STR regex = { 0 };

    if (strcmp(k->name, k->regex) == 0 || lpo_streq(k->base, "mangled") || !strchr(k->name, '<') ||
        !strchr(measured, '<'))
        return true;
    lpo_report_kernel_pattern(&regex, k->name, NULL);
    return fits(a, lpo_str_text(&regex), measured, strlen(measured));
}

static bool has_shape(const struct lpo_wanted_kernel *k, const struct lpo_kernel_profile *p)
{
    return !k->shaped || !p->shaped ||
           (memcmp(k->grid, p->grid, sizeof k->grid) == 0 &&
            memcmp(k->block, p->block, sizeof k->block) == 0);
}

static void add_shape(struct lpo_str *out, const uint32_t grid[3], const uint32_t block[3])
{
    lpo_str_addf(out, "grid %u,%u,%u block %u,%u,%u", grid[0], grid[1], grid[2], block[0], block[1],
                 block[2]);
}

void lpo_pipeline_ncu_kernel_keep(struct lpo_arena *a, const struct lpo_wanted_kernel *kernel,
                                  struct lpo_kernel_profiles *measured, const char **said)
{
    LPO_STR others = { 0 }, text = { 0 };
    size_t kept = 0, named = 0;

    for (size_t i = 0; i < measured->len; i++) {
        const struct lpo_kernel_profile *p = &measured->at[i];

        if (is_instance(a, kernel, p->kernel) && has_shape(kernel, p)) {
            measured->at[kept++] = *p;
        } else if (named++ < 4) {
            lpo_str_add(&others, others.len ? "; " : "");
            if (!is_instance(a, kernel, p->kernel))
                lpo_str_addf(&others, "%s ", p->kernel);
            add_shape(&others, p->grid, p->block);
        }
    }
    *said = NULL;
    if (kept == 0 && measured->len) {
        lpo_str_add(&text, "the launch that was meant was not measured");
        if (kernel->shaped) {
            lpo_str_add(&text, " (");
            add_shape(&text, kernel->grid, kernel->block);
            lpo_str_addc(&text, ')');
        }
        lpo_str_addf(&text, "; measured were %s%s", lpo_str_text(&others), named > 4 ? "; …" : "");
        *said = lpo_arena_strdup(a, lpo_str_text(&text));
    }
    measured->len = kept;
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
