/* SPDX-License-Identifier: Apache-2.0 */
/* Which ranges a capture is limited to. */
#include "pipeline/ncu/command.h"

#include "pipeline/ncu/nvtx_expr.h"
#include "pipeline/stage.h"
#include "run/manifest.h"

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

static bool is_pattern(struct lpo_stage_ctx *ctx, const char *text, struct lpo_err *err)
{
    struct lpo_exprs scratch = { 0 };

    return lpo_pipeline_ncu_expr_add(ctx->arena, text, NULL, &scratch, err) == 0;
}

/* Appends the expressions of the patterns that fit a region, as far as is known. Of those that fit
 * none *missing becomes the first, with the reason in `why`; each further one gets a note. What is
 * no pattern at all is an error. */
static int translate(struct lpo_stage_ctx *ctx, const char *key,
                     const struct lpo_settings_words *patterns, struct lpo_exprs *out,
                     const char **missing, struct lpo_err *why, struct lpo_err *err)
{
    bool none = ctx->known.complete && !ctx->known.len;
    /* of a program whose recording broke off, later regions may be missing */
    const struct lpo_known_regions *known = ctx->known.complete ? &ctx->known : NULL;

    for (size_t i = 0; i < patterns->len; i++) {
        struct lpo_err reason = { 0 };

        if (!is_pattern(ctx, patterns->at[i], err))
            return lpo_ctx(err, "%s", key);
        if (none)
            lpo_fail(&reason, LPO_E_CONFIG, "the program enters no NVTX range");
        else if (lpo_pipeline_ncu_expr_add(ctx->arena, patterns->at[i], known ? known : &ctx->known,
                                           out, &reason) == 0)
            continue;
        if (!known && lpo_pipeline_ncu_expr_add(ctx->arena, patterns->at[i], NULL, out, err) == 0)
            continue;
        if (!*missing) {
            *missing = patterns->at[i];
            *why = reason;
        } else {
            note(ctx, key, lpo_err_cause(&reason));
        }
    }
    return 0;
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

/* Several globs become one expression, or it is an error: ncu would pass over one. */
static int join(struct lpo_stage_ctx *ctx, const char *key, struct lpo_exprs *out,
                struct lpo_err *err)
{
    const char *remark;

    if (lpo_pipeline_ncu_exprs_join(ctx->arena, out, &remark, err) < 0) {
        if (!ctx->regions_will_be_known) /* else names will stand for the globs */
            return lpo_ctx(err, "%s", key);
        *err = (struct lpo_err){ 0 };
    }
    note(ctx, key, remark);
    note_wider(ctx, key, out);
    return 0;
}

/* The numbers from `low` to `high`, which have equally many digits and differ, in a whole number of
 * tens, hundreds, …, only in digits that run from 0 to 9 behind the first one that differs:
 * "4[0-9]", "1[2-7]". */
static void add_numbers(struct lpo_str *out, int64_t low, int64_t high)
{
    char from[24], to[24];

    snprintf(from, sizeof from, "%lld", (long long)low);
    snprintf(to, sizeof to, "%lld", (long long)high);
    lpo_str_add(out, lpo_str_text(out)[0] ? "|" : "");
    for (size_t i = 0; from[i]; i++)
        lpo_str_addf(out, from[i] == to[i] ? "%c" : "[%c-%c]", from[i], to[i]);
}

/* The last number of the block of `low` that is not beyond `high`: of 40 and 57 it is 49, of 40 and
 * 47 it is 47. A block ends with nines where `low` ends with zeros. */
static int64_t end_of_block(int64_t low, int64_t high)
{
    int64_t size = 1, end = low;

    while (low % (size * 10) == 0 && low + size * 10 - 1 <= high && size < INT64_MAX / 100)
        size *= 10;
    /* as many blocks of that size as the digit before them leaves */
    while (end + 2 * size - 1 <= high && (end / size) % 10 != 9)
        end += size;
    return end + size - 1;
}

/* Every so many of them: each number by itself. */
static int add_every(struct lpo_str *out, int64_t first, int64_t last, int64_t every,
                     struct lpo_err *err)
{
    enum { MOST = 1000 };

    if (!last || (last - first) / every >= MOST)
        return lpo_fail(err, LPO_E_CONFIG,
                        "pipeline.ncu.capture.every needs pipeline.ncu.capture.calls with an end, "
                        "as 1-64, and at most %d calls: ncu takes the number of each; "
                        "pipeline.native.capture.every takes any",
                        (int)MOST);
    for (int64_t n = first; n <= last; n += every)
        add_numbers(out, n, n);
    return 0;
}

static void add_all(struct lpo_str *out, int64_t first, int64_t last)
{
    int64_t tens = 10, high = last;

    while (!last && tens <= first)
        tens *= 10;
    if (!last)
        high = tens - 1;
    for (int64_t low = first, end; low <= high; low = end + 1) {
        end = end_of_block(low, high);
        add_numbers(out, low, end);
    }
    if (!last) { /* and all with more digits */
        lpo_str_add(out, "|[1-9]");
        for (; tens > 1; tens /= 10)
            lpo_str_add(out, "[0-9]");
        lpo_str_add(out, "[0-9]*");
    }
}

/* Which calls, as ncu wants them: a regular expression over their numbers. It is closed on both
 * sides, so that 3 is not found in 13. */
static int instances(struct lpo_arena *a, int64_t first, int64_t last, int64_t every,
                     const char **range_filter, struct lpo_err *err)
{
    LPO_STR out = { 0 };

    if (every > 1 && add_every(&out, first, last, every, err) < 0)
        return err->code;
    if (every <= 1 && first != last)
        add_all(&out, first, last);
    *range_filter = first == last ? lpo_arena_printf(a, "::%lld", (long long)first)
                                  : lpo_arena_printf(a, "::^(%s)$", lpo_str_text(&out));
    return 0;
}

/* pipeline.ncu.capture in ncu's own words; *patterns stay as they are where no range is chosen. */
static int choose_window(struct lpo_stage_ctx *ctx, struct lpo_settings_words *patterns,
                         const char **range_filter, struct lpo_err *err)
{
    const struct lpo_ncu_settings *s = ctx->settings;
    const struct lpo_capture_words *c = &s->capture;
    const char **at;
    int64_t first, last;

    if (lpo_pipeline_capture_check("ncu", c, err) < 0 ||
        lpo_pipeline_capture_calls("ncu", c->calls, &first, &last, err) < 0)
        return err->code;
    if (c->signal || c->control || c->wait)
        return lpo_fail(err, LPO_E_CONFIG,
                        "pipeline.ncu.capture has signal, control or wait, and ncu cannot be "
                        "switched while the program runs: choose a range; pipeline.native.capture "
                        "and pipeline.nsys.capture can be");
    if (c->after_ns || c->for_ns)
        return lpo_fail(err, LPO_E_CONFIG,
                        "pipeline.ncu.capture has after or for, and ncu knows no time: choose a "
                        "range; pipeline.native.capture and pipeline.nsys.capture take times");
    if (!c->range)
        return 0;
    if (s->region_mode)
        return lpo_fail(err, LPO_E_CONFIG,
                        "pipeline.ncu.capture.range is not for region mode, where "
                        "pipeline.ncu.regions.include names the regions");
    if ((first > 1 || last || c->every > 1) &&
        instances(ctx->arena, first, last, c->every, range_filter, err) < 0)
        return err->code;
    at = lpo_arena_array(ctx->arena, 1, sizeof *at);
    at[0] =
        strcmp(c->range, LPO_WINDOW_RANGE) == 0 ? LPO_WINDOW_DOMAIN "@" LPO_WINDOW_RANGE : c->range;
    *patterns = (struct lpo_settings_words){ .at = at, .len = 1 };
    return 0;
}

/* ncu_cli.nvtx.include, or the range of a capture. Of several gates one that fits no region is a
 * note; where none fits, the gate would cost a whole run of the program and leave nothing: ncu runs
 * without it. */
static int gates(struct lpo_stage_ctx *ctx, const struct lpo_settings_words *patterns,
                 struct lpo_exprs *out, struct lpo_err *err)
{
    const struct lpo_ncu_settings *s = ctx->settings;
    const char *key =
        s->capture.range ? "pipeline.ncu.capture.range" : "pipeline.ncu.ncu_cli.nvtx.include";
    const char *missing = NULL;
    struct lpo_err why = { 0 };

    if (translate(ctx, key, patterns, out, &missing, &why, err) < 0)
        return err->code;
    if (missing && out->len)
        note(ctx, key, lpo_err_cause(&why));
    else if (missing)
        note(ctx, key,
             lpo_arena_printf(ctx->arena,
                              "'%s' was dropped, and ncu captures kernels of the whole program: %s",
                              missing, lpo_err_cause(&why)));
    return join(ctx, key, out, err);
}

/* Region mode names its regions itself; with none named, every known outermost region. */
static int regions(struct lpo_stage_ctx *ctx, struct lpo_exprs *out, const char **nothing,
                   struct lpo_err *err)
{
    static const char key[] = "pipeline.ncu.regions.include";
    const struct lpo_ncu_settings *s = ctx->settings;
    const char *missing = NULL;
    struct lpo_err why = { 0 };

    if (translate(ctx, key, &s->regions_include, out, &missing, &why, err) < 0)
        return err->code;
    if (missing)
        note(ctx, key, lpo_err_cause(&why));
    if (s->regions_include.len == 0) {
        if (s->nvtx_include.len)
            note(
                ctx, "pipeline.ncu.ncu_cli.nvtx.include",
                "not applied in region mode, where pipeline.ncu.regions.include names the regions");
        if (!lpo_pipeline_ncu_expr_add_outermost(ctx->arena, &ctx->known, out))
            note(ctx, key, "too many regions to name: the capture takes every kernel");
        else if (!out->len && !ctx->regions_will_be_known)
            *nothing = ctx->known.complete
                           ? "the program enters no NVTX range"
                           : "no region is known; enable pipeline.native, which records them, or "
                             "name them in pipeline.ncu.regions.include";
    } else if (!out->len) {
        *nothing = lpo_arena_printf(ctx->arena, "%s fits no region of the program", key);
    }
    /* each region has a capture of its own then, and globs do not meet */
    return strcmp(s->regions_capture, "separate") == 0 ? 0 : join(ctx, key, out, err);
}

int lpo_pipeline_ncu_check(struct lpo_stage_ctx *ctx, struct lpo_err *err)
{
    struct lpo_settings_words patterns;
    const char *range_filter;

    return choose_window(ctx, &patterns, &range_filter, err);
}

int lpo_pipeline_ncu_nvtx_filter(struct lpo_stage_ctx *ctx, struct lpo_ncu_selection *select,
                                 const char **nothing, struct lpo_err *err)
{
    const struct lpo_ncu_settings *s = ctx->settings;
    struct lpo_exprs include = { 0 }, exclude = { 0 };
    struct lpo_settings_words patterns = s->nvtx_include;
    bool by_region = s->region_mode && nothing;

    if (choose_window(ctx, &patterns, &select->range_filter, err) < 0)
        return err->code;
    if (!s->gating_nvtx) {
        select->range_filter = NULL;
        return 0;
    }
    if ((by_region ? regions(ctx, &include, nothing, err) : gates(ctx, &patterns, &include, err)) <
        0)
        return err->code;
    if (!include.len)
        select->range_filter = NULL; /* the range was dropped: there are no calls to count */
    translate_excludes(ctx, &exclude);
    select->nvtx = include.len || exclude.len || s->region_mode;
    select->nvtx_include = words_of(ctx->arena, &include);
    select->nvtx_exclude = words_of(ctx->arena, &exclude);
    return 0;
}
