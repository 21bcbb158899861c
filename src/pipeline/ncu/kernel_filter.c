/* SPDX-License-Identifier: Apache-2.0 */
/* Which kernels a capture is limited to, by their names: those that regions.kernels allows, or
 * those that took most GPU time in the stages before. */
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"
#include "analysis/run.h"
#include "pipeline/ncu/command.h"
#include "pipeline/ncu/nvtx_expr.h"
#include "pipeline/stage.h"
#include "region/classes.h"
#include "region/select.h"
#include "run/manifest.h"
#include "rundir/rundir.h"
#include "trace/trace.h"
#include "util/arena.h"
#include "util/str.h"
#include "writer/top_yaml.h"

/* "void ns::gemm<float>(int)" is the function gemm to ncu's --kernel-name; as a regular expression,
 * without its anchors. */
static const char *function_regex(struct lpo_arena *a, const char *full)
{
    LPO_STR regex = { 0 };

    lpo_writer_kernel_regex(&regex, full);
    return regex.len > 2 ? lpo_arena_strndup(a, regex.at + 1, regex.len - 2) : "";
}

/* "|a|b|" grows by the name of one more function; false: it is there already. */
static bool add_function(struct lpo_arena *a, struct lpo_str *text, const char *kernel)
{
    const char *name = function_regex(a, kernel);
    const char *bounded = lpo_arena_printf(a, "|%s|", name);

    if (!*name || strstr(lpo_str_text(text), bounded))
        return false;
    lpo_str_add(text, text->len ? bounded + 1 : bounded);
    return true;
}

/* "|a|b|" as ncu takes it. */
static const char *any_of(struct lpo_arena *a, const struct lpo_str *text)
{
    return lpo_arena_printf(a, "regex:^(%.*s)$", (int)text->len - 2, text->at + 1);
}

/* --- the most expensive --------------------------------------------------------------------- */

static bool is_collective(const struct lpo_analysis *x, uint32_t name)
{
    return lpo_region_tree_class(x->tree, name) == LPO_CLASS_COLLECTIVE;
}

static const char *top_of(struct lpo_arena *a, const struct lpo_analysis *x, size_t n, bool ranks)
{
    const lpo_top_rows *rows = lpo_analysis_top(x, LPO_KERNEL);
    size_t used = 0;
    LPO_STR text = { 0 };

    for (size_t i = 0; i < rows->len && rows->at[i].sum.ns > 0 && used < n; i++)
        if (!ranks || !is_collective(x, rows->at[i].name))
            used += add_function(a, &text, lpo_trace_text(x->trace, rows->at[i].name));
    return used ? any_of(a, &text) : NULL;
}

/* The earlier stage that is asked about kernels: the most trusted one that saw any. What this tool
 * itself left before a rerun is not asked: it saw only what it was told to measure. */
static const struct lpo_analysis *witness(struct lpo_analysis_run *run, const char *stage)
{
    for (size_t i = 0; run && i < run->dir->sources.len; i++) {
        const struct lpo_source *s = &run->dir->sources.at[i];
        const struct lpo_analysis *x;

        if ((s->kind->roles & LPO_ROLE_COUNTERS) || (stage && strcmp(s->stage, stage) != 0))
            continue;
        x = lpo_analysis_run_stage(run, s->stage);
        if (x && lpo_analysis_top(x, LPO_KERNEL)->len)
            return x;
    }
    return NULL;
}

/* --- the patterns of region mode ------------------------------------------------------------ */

static void add_patterns(struct lpo_region_selection *to, enum lpo_select_list list,
                         const struct lpo_settings_words *patterns)
{
    for (size_t i = 0; i < patterns->len; i++)
        lpo_region_selection_add(to, list, patterns->at[i], NULL);
}

/* By the functions of the kernels that the program was seen to launch. NULL: all are allowed, or
 * none is, which the reports say. */
static const char *allowed_of(struct lpo_stage_ctx *ctx, const struct lpo_analysis *x)
{
    const struct lpo_ncu_settings *s = ctx->settings;
    const lpo_top_rows *rows = lpo_analysis_top(x, LPO_KERNEL);
    LPO_AUTO(lpo_region_selection) select = lpo_region_selection_create();
    bool *in, left_out = false;
    LPO_STR text = { 0 };

    add_patterns(select, LPO_KERNELS_INCLUDE, &s->kernels_include);
    add_patterns(select, LPO_KERNELS_EXCLUDE, &s->kernels_exclude);
    in = lpo_region_selection_kernels(select, x->trace);
    for (size_t i = 0; in && i < rows->len; i++) {
        if (in[rows->at[i].name])
            add_function(ctx->arena, &text, lpo_trace_text(x->trace, rows->at[i].name));
        else
            left_out = true;
    }
    free(in);
    return left_out && text.len && text.len < LPO_MAX_EXPR_BYTES ? any_of(ctx->arena, &text) : NULL;
}

/* A glob over the whole name as a regular expression. False: it has a set, which stays a glob. */
static bool add_glob(struct lpo_str *out, const char *glob)
{
    for (; *glob; glob++) {
        if (*glob == '[')
            return false;
        if (*glob == '*')
            lpo_str_add(out, ".*");
        else if (*glob == '?')
            lpo_str_addc(out, '.');
        else {
            if (*glob == '\\' && glob[1])
                glob++;
            if (strchr("\\^$.[]|()?*+{}", *glob))
                lpo_str_addc(out, '\\');
            lpo_str_addc(out, *glob);
        }
    }
    return true;
}

/* By the patterns themselves, over demangled names, where no kernel was seen before. ncu has no
 * flag to leave kernels out: what is excluded is measured, and not reported. */
static const char *allowed_by_pattern(struct lpo_arena *a, const struct lpo_settings_words *include)
{
    LPO_STR text = { 0 };

    for (size_t i = 0; i < include->len; i++) {
        const char *pattern = include->at[i];

        lpo_str_add(&text, i ? "|" : "regex:");
        if (lpo_str_starts(pattern, "regex:")) {
            lpo_str_addf(&text, "(%s)", pattern + strlen("regex:"));
            continue;
        }
        lpo_str_add(&text, "^");
        if (!add_glob(&text, pattern))
            return NULL;
        lpo_str_add(&text, "$");
    }
    return text.len && text.len < LPO_MAX_EXPR_BYTES ? lpo_arena_strdup(a, lpo_str_text(&text))
                                                     : NULL;
}

static void limit_to_allowed(struct lpo_stage_ctx *ctx, struct lpo_ncu_command *c)
{
    const struct lpo_ncu_settings *s = ctx->settings;
    const struct lpo_analysis *seen = witness(ctx->analysis, NULL);

    if (seen) {
        c->kernel_name = allowed_of(ctx, seen);
        return;
    }
    c->kernel_name = allowed_by_pattern(ctx->arena, &s->kernels_include);
    if (c->kernel_name)
        c->kernel_name_base = "demangled";
}

/* --- the ranks of a job --------------------------------------------------------------------- */

/* A collective that is replayed in one rank alone waits for the others for ever. */
static void leave_out_collectives(struct lpo_stage_ctx *ctx, struct lpo_ncu_command *c)
{
    const struct lpo_analysis *seen = witness(ctx->analysis, NULL);
    const lpo_top_rows *rows = seen ? lpo_analysis_top(seen, LPO_KERNEL) : NULL;
    bool left_out = false;
    LPO_STR text = { 0 };

    for (size_t i = 0; rows && i < rows->len; i++) {
        if (is_collective(seen, rows->at[i].name))
            left_out = true;
        else
            add_function(ctx->arena, &text, lpo_trace_text(seen->trace, rows->at[i].name));
    }
    if (rows && !left_out)
        return;
    if (rows && text.len && text.len < LPO_MAX_EXPR_BYTES) {
        c->kernel_name = any_of(ctx->arena, &text);
        lpo_run_manifest_note(ctx->manifest, ctx->record,
                              "collectives are not measured: replayed in one rank alone they would "
                              "wait for the other ranks for ever");
        return;
    }
    lpo_run_manifest_note(ctx->manifest, ctx->record,
                          "one rank of several is measured, and which of its kernels are "
                          "collectives is not known: if the stage does not end, name kernels in "
                          "pipeline.ncu.ncu_cli.kernel_name");
}

/* --- which of them -------------------------------------------------------------------------- */

void lpo_pipeline_ncu_kernel_filter(struct lpo_stage_ctx *ctx, struct lpo_ncu_command *c,
                                    bool ranks)
{
    const struct lpo_ncu_settings *s = ctx->settings;
    size_t most = (size_t)lpo_settings_int(ctx->config, "run.top_n_kernels");
    const struct lpo_analysis *seen = NULL;

    /* names of another kind than the user's base would fit nothing */
    if (!s->gating_nvtx || c->kernel_name || c->kernel_name_base)
        return;
    if (s->region_mode && (s->kernels_include.len || s->kernels_exclude.len))
        limit_to_allowed(ctx, c);
    else if (s->top_kernels)
        seen = witness(ctx->analysis, NULL);
    else if (s->seed_from_nsys && !s->region_mode && !c->per_config)
        seen = witness(ctx->analysis, "nsys");
    if (seen)
        c->kernel_name = top_of(ctx->arena, seen, most, ranks);
    if (c->kernel_name && seen && !s->top_kernels)
        lpo_run_manifest_note(ctx->manifest, ctx->record,
                              "only the kernels that took most time under nsys are measured, at "
                              "most %zu (run.top_n_kernels); pipeline.ncu.seed_from_nsys=false "
                              "measures all",
                              most);
    if (!c->kernel_name && ranks)
        leave_out_collectives(ctx, c);
    if (c->kernel_name)
        c->mangled_names = false;
}
