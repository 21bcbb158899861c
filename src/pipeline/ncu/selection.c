/* SPDX-License-Identifier: Apache-2.0 */
/* Which launches a capture is limited to: by their number, and by the names that regions.kernels
 * allows or that took most GPU time in the stages before. */

#include "analysis/analysis.h"
#include "analysis/run.h"
#include "pipeline/ncu/command.h"
#include "pipeline/ncu/nvtx_expr.h"
#include "pipeline/stage.h"
#include "region/pattern/pattern.h"
#include "region/select.h"
#include "report/top_yaml.h"
#include "rundir/rundir.h"

bool lpo_pipeline_ncu_selection_limits(const struct lpo_ncu_selection *s)
{
    return s->nvtx_include.len || s->nvtx_exclude.len || s->kernel_name || s->launch_skip;
}

void lpo_pipeline_ncu_selection_drop(struct lpo_ncu_selection *s)
{
    s->nvtx = false;
    s->nvtx_include = s->nvtx_exclude = (struct lpo_words){ 0 };
    s->kernel_name = s->launch_skip = s->range_filter = NULL;
}

void lpo_pipeline_ncu_select(struct lpo_stage_ctx *ctx, struct lpo_ncu_selection *s,
                             bool representatives)
{
    const struct lpo_ncu_settings *settings = ctx->settings;

    if (!settings->gating_nvtx && s->kernel_name) {
        if (ctx->manifest)
            lpo_run_manifest_note(ctx->manifest, ctx->record,
                                  "gating_nvtx=false: ncu_cli.kernel_name=%s is not applied either",
                                  s->kernel_name);
        s->kernel_name = NULL;
    }
    if (!representatives)
        return;
    /* One launch of each configuration stands for the others. ncu tells configurations apart by
     * its own short names, in which all instances of a template are one kernel; linker names keep
     * them apart. Not where a filter compares the short ones. */
    s->per_config = true;
    s->per_config_count = settings->per_config;
    s->mangled_names = !s->kernel_name && !s->kernel_name_base;
}

/* --- names as ncu compares them -------------------------------------------------------------- */

/* Alternatives of names: "|a|b|" while they are put together. */
struct any_of {
    struct lpo_arena *arena;
    struct lpo_str text;
    const char *base; /* --kernel-name-base; NULL: the function's name */
};

static struct any_of any_of(struct lpo_stage_ctx *ctx, const struct lpo_ncu_selection *s)
{
    return (struct any_of){ .arena = ctx->arena, .base = s->kernel_name_base };
}

/* One more kernel; false: it is there already, or cannot be said in names of this base. "void
 * ns::gemm<float>(int)" is the function gemm. */
static bool add_kernel(struct any_of *any, const char *kernel, const char *linker)
{
    LPO_STR regex = { 0 };
    const char *name, *bounded;

    if (lpo_streq(any->base, "mangled")) {
        name = linker; /* letters, digits and underscores */
    } else {
        lpo_report_kernel_regex(&regex, kernel);
        name = regex.len > 2 ? lpo_arena_strndup(any->arena, regex.at + 1, regex.len - 2) : NULL;
    }
    if (!name || !*name)
        return false;
    bounded = lpo_arena_printf(any->arena, "|%s|", name);
    if (strstr(lpo_str_text(&any->text), bounded))
        return false;
    lpo_str_add(&any->text, any->text.len ? bounded + 1 : bounded);
    return true;
}

static bool add_name(struct any_of *any, const struct lpo_analysis *x, uint32_t name)
{
    return add_kernel(any, lpo_trace_text(x->trace, name),
                      lpo_trace_text(x->trace, lpo_region_cells_linker(x->cells, name)));
}

/* As ncu takes them, and the end of the list; NULL: none, or too many for a command line. In a
 * demangled name blanks, colons and brackets stand around the function's. */
static const char *end_of(struct any_of *any)
{
    bool demangled = lpo_streq(any->base, "demangled");
    const char *regex = NULL;

    if (any->text.len && any->text.len < LPO_MAX_EXPR_BYTES)
        regex = lpo_arena_printf(any->arena, demangled ? "regex:\\b(%.*s)[<(]" : "regex:^(%.*s)$",
                                 (int)any->text.len - 2, any->text.at + 1);
    lpo_str_free(&any->text);
    return regex;
}

/* --- the most expensive --------------------------------------------------------------------- */

/* Kernels of some place, most expensive first. */
struct seen {
    const struct lpo_analysis *in; /* NULL: none was */
    const char *where;             /* for people */
    lpo_top_rows rows;
    uint64_t chosen; /* launches of those that are measured */
};

LPO_COMPARE(most_first, struct lpo_top_row, LPO_DOWN(sum.ns) ?: LPO_UP(name));

static void add_kernels(lpo_top_rows *rows, const struct lpo_kernel_row *kernels, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t k = 0;

        while (k < rows->len && rows->at[k].name != kernels[i].name)
            k++;
        if (k == rows->len)
            lpo_vec_push(rows, (struct lpo_top_row){ .name = kernels[i].name });
        lpo_region_sum_add(&rows->at[k].sum, &kernels[i].all);
    }
}

/* The kernels inside the ranges that ncu is gated on. */
static void look_inside(const struct lpo_analysis *x, const struct lpo_settings_words *gate,
                        lpo_top_rows *out)
{
    static const struct lpo_scope_id all = { LPO_SCOPE_ALL, 0 };
    LPO_AUTO(lpo_region_selection) select = lpo_region_selection_create();
    LPO_AUTO(lpo_region_scope) scope = NULL;

    for (size_t i = 0; i < gate->len; i++)
        if (!lpo_region_pattern_in_ncu_grammar(gate->at[i]))
            lpo_region_selection_add(select, LPO_REGIONS_INCLUDE, gate->at[i], NULL);
    if (!lpo_region_selection_has(select, LPO_REGIONS_INCLUDE))
        return;
    scope = lpo_region_scope_create(x->cells, all, select);
    for (size_t i = 0; i < scope->rows.len; i++) {
        const struct lpo_region_row *row = &scope->rows.at[i];

        if (row->parent_row == LPO_NONE && row->node != LPO_NODE_OUTSIDE)
            add_kernels(out, &scope->kernels.at[row->kernels], row->nkernels);
    }
    lpo_vec_sort(out, most_first);
}

static bool is_collective(const struct lpo_analysis *x, uint32_t name)
{
    return lpo_region_tree_class(x->tree, name) == LPO_CLASS_COLLECTIVE;
}

static void say_collectives_left_out(struct lpo_stage_ctx *ctx)
{
    lpo_run_manifest_note(ctx->manifest, ctx->record,
                          "collectives are not measured: replayed in one rank alone they would "
                          "wait for the other ranks for ever");
}

static const char *top_of(struct lpo_stage_ctx *ctx, struct any_of any, struct seen *seen, size_t n,
                          bool ranks)
{
    bool left_out = false;

    for (size_t i = 0; i < seen->rows.len && seen->rows.at[i].sum.ns > 0 && n > 0; i++) {
        if (ranks && is_collective(seen->in, seen->rows.at[i].name)) {
            left_out = true;
            continue;
        }
        n -= add_name(&any, seen->in, seen->rows.at[i].name);
        seen->chosen += seen->rows.at[i].sum.launches;
    }
    if (left_out)
        say_collectives_left_out(ctx);
    return end_of(&any);
}

/* The earlier stage that is asked about kernels: of those that saw any, the most trusted one that
 * saw some inside the gate. What this tool itself left before a rerun is not asked: it saw only
 * what it was told to measure. */
static const struct lpo_analysis *witness(struct lpo_analysis_run *run,
                                          const struct lpo_settings_words *gate, struct seen *seen)
{
    const struct lpo_analysis *first = NULL;

    for (size_t i = 0; run && i < run->dir->sources.len; i++) {
        const struct lpo_source *s = &run->dir->sources.at[i];
        const struct lpo_analysis *x;

        if (s->kind->roles & LPO_ROLE_COUNTERS)
            continue;
        x = lpo_analysis_run_stage(run, s->stage);
        if (!x || !lpo_analysis_top(x, LPO_KERNEL)->len)
            continue;
        if (!first && seen)
            seen->where = s->stage;
        first = first ? first : x;
        if (!gate || !gate->len)
            break;
        look_inside(x, gate, &seen->rows);
        if (seen->rows.len) {
            seen->where = s->stage;
            return x;
        }
    }
    return first;
}

/* The most expensive kernels inside the gate, as far as any stage saw what is inside it. */
static void look_before(struct lpo_stage_ctx *ctx, const struct lpo_ncu_selection *s,
                        struct seen *seen)
{
    const struct lpo_ncu_settings *settings = ctx->settings;
    const lpo_top_rows *all;
    const struct lpo_settings_words *gate = s->nvtx_include.len ? &settings->nvtx_include : NULL;
    LPO_STR names = { 0 };

    seen->in = witness(ctx->analysis, gate, seen);
    if (!seen->in)
        return;
    for (size_t i = 0; seen->rows.len && i < gate->len; i++)
        lpo_str_addf(&names, "%s'%s'", i ? ", " : "", gate->at[i]);
    if (seen->rows.len) {
        seen->where = lpo_arena_printf(ctx->arena, "in %s under %s", names.at, seen->where);
        return;
    }
    all = lpo_analysis_top(seen->in, LPO_KERNEL);
    for (size_t i = 0; i < all->len; i++)
        lpo_vec_push(&seen->rows, all->at[i]);
    seen->where = lpo_arena_printf(ctx->arena, "in all that %s recorded%s", seen->where,
                                   gate ? ", which is not of ncu's own range" : "");
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
    struct any_of any = { .arena = ctx->arena };
    bool *in, left_out = false;
    const char *regex;

    add_patterns(select, LPO_KERNELS_INCLUDE, &s->kernels_include);
    add_patterns(select, LPO_KERNELS_EXCLUDE, &s->kernels_exclude);
    in = lpo_region_selection_kernels(select, x->trace);
    for (size_t i = 0; in && i < rows->len; i++) {
        if (in[rows->at[i].name])
            add_name(&any, x, rows->at[i].name);
        else
            left_out = true;
    }
    free(in);
    regex = end_of(&any);
    return left_out ? regex : NULL;
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

static void limit_to_allowed(struct lpo_stage_ctx *ctx, struct lpo_ncu_selection *c)
{
    const struct lpo_ncu_settings *s = ctx->settings;
    const struct lpo_analysis *seen = witness(ctx->analysis, NULL, NULL);

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
static void leave_out_collectives(struct lpo_stage_ctx *ctx, struct lpo_ncu_selection *c)
{
    const struct lpo_analysis *seen = witness(ctx->analysis, NULL, NULL);
    const lpo_top_rows *rows = seen ? lpo_analysis_top(seen, LPO_KERNEL) : NULL;
    struct any_of any = any_of(ctx, c);
    const char *others;
    bool left_out = false;

    for (size_t i = 0; rows && i < rows->len; i++) {
        if (is_collective(seen, rows->at[i].name))
            left_out = true;
        else
            add_name(&any, seen, rows->at[i].name);
    }
    others = end_of(&any);
    if (rows && !left_out)
        return;
    if (others) {
        c->kernel_name = others;
        say_collectives_left_out(ctx);
        return;
    }
    lpo_run_manifest_note(ctx->manifest, ctx->record,
                          "one rank of several is measured, and which of its kernels are "
                          "collectives is not known: if the stage does not end, name kernels in "
                          "pipeline.ncu.ncu_cli.kernel_name");
}

/* ncu runs each launch once for every few counters, which takes about half a second. */
static void warn_of_many(struct lpo_stage_ctx *ctx, const struct lpo_ncu_selection *s,
                         const struct seen *seen)
{
    enum { MANY = 200 };

    if (seen->chosen <= MANY || s->per_config || s->launch_count)
        return;
    lpo_run_manifest_note(ctx->manifest, ctx->record,
                          "these kernels have %llu launches, and ncu replays each of them: "
                          "pipeline.ncu.sampling.mode=representative measures one launch of each "
                          "configuration, which takes minutes instead of hours",
                          (unsigned long long)seen->chosen);
}

/* --- which of them -------------------------------------------------------------------------- */

void lpo_pipeline_ncu_select_seen(struct lpo_stage_ctx *ctx, struct lpo_ncu_selection *select,
                                  bool ranks)
{
    const struct lpo_ncu_settings *s = ctx->settings;
    size_t most = (size_t)lpo_settings_int(ctx->config, "run.top_n_kernels");
    struct seen seen = { 0 };

    if (!s->gating_nvtx || select->kernel_name)
        return;
    if (s->region_mode && (s->kernels_include.len || s->kernels_exclude.len))
        limit_to_allowed(ctx, select);
    else if (s->top_kernels || (s->seed_from_nsys && !s->region_mode && !select->per_config))
        look_before(ctx, select, &seen);
    if (seen.in)
        select->kernel_name = top_of(ctx, any_of(ctx, select), &seen, most, ranks);
    if (select->kernel_name && seen.in)
        lpo_run_manifest_note(ctx->manifest, ctx->record,
                              "only the kernels that took most time %s are measured, at most %zu "
                              "(run.top_n_kernels); %s=false measures all",
                              seen.where, most,
                              s->top_kernels ? "pipeline.ncu.top_kernels"
                                             : "pipeline.ncu.seed_from_nsys");
    else if (seen.in)
        lpo_run_manifest_note(ctx->manifest, ctx->record,
                              "all kernels are measured: %s knows no %s names of those that took "
                              "most time",
                              seen.where, select->kernel_name_base);
    warn_of_many(ctx, select, &seen);
    lpo_vec_free(&seen.rows);
    if (!select->kernel_name && ranks)
        leave_out_collectives(ctx, select);
    if (select->kernel_name)
        select->mangled_names = false;
}
