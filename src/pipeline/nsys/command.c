/* SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/nsys/command.h"

#include <fnmatch.h>
#include <string.h>

#include "pipeline/stage.h"
#include "region/pattern/pattern.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/str.h"

/* --- the range that a capture is limited to ------------------------------------------------- */

/* "Message@Domain" taken apart: the last '@' not behind a backslash separates. */
struct gate {
    const char *name, *domain; /* "*": any domain */
};

static struct gate gate_of(struct lpo_arena *a, const char *capture)
{
    struct gate g = { .domain = "" };
    LPO_STR name = { 0 };
    const char *at = NULL;

    for (const char *p = capture; *p; p++) {
        if (*p == '\\' && p[1] == '@')
            p++;
        else if (*p == '@')
            at = p;
    }
    for (const char *p = capture; *p && p != at; p++)
        if (*p != '\\' || p[1] != '@')
            lpo_str_addc(&name, *p);
    g.name = lpo_arena_strdup(a, lpo_str_text(&name));
    if (at)
        g.domain = at + 1;
    return g;
}

/* Whether the program enters the range, as far as is known; else `near` becomes the name that was
 * probably meant, or NULL. Compared with the last range of each region: nsys looks at ranges one by
 * one, wherever they nest. */
static bool may_exist(struct lpo_stage_ctx *ctx, const char *capture, const char **near)
{
    struct gate want = gate_of(ctx->arena, capture);
    const struct lpo_known_regions *known = &ctx->known;
    const char **names = lpo_arena_array(ctx->arena, known->len, sizeof *names);

    for (size_t i = 0; i < known->len; i++) {
        const struct lpo_level *last;
        struct lpo_levels levels;

        names[i] = known->at[i].path;
        if (lpo_region_path_parse(ctx->arena, known->at[i].path, known->domains, known->ndomains,
                                  &levels) < 0)
            return true;
        last = &levels.at[levels.len - 1];
        names[i] = *last->domain ? lpo_arena_printf(ctx->arena, "%s@%s", last->name, last->domain)
                                 : last->name;
        if (strcmp(last->name, want.name) == 0 && fnmatch(want.domain, last->domain, 0) == 0)
            return true;
    }
    *near = lpo_str_nearest(capture, names, known->len);
    if (!*near) /* perhaps only the domain is wrong */
        *near = lpo_str_nearest(want.name, names, known->len);
    return !known->complete;
}

/* A range that is never entered costs a whole run of the program and leaves nothing, so a gate on
 * one that does not exist is dropped before nsys starts. */
static void set_gate(struct lpo_stage_ctx *ctx, struct lpo_nsys_command *c)
{
    const struct lpo_nsys_settings *s = ctx->settings;
    const char *capture = s->nvtx_capture ? s->nvtx_capture : "", *near = NULL;
    const char *range = s->capture_range ? s->capture_range : *capture ? "nvtx" : "none";
    bool nvtx = strcmp(range, "nvtx") == 0;

    if (strcmp(range, "none") == 0 || (nvtx && !s->gating_nvtx))
        return;
    if (nvtx && !may_exist(ctx, capture, &near)) {
        lpo_pipeline_stage_drop_gate(ctx, "pipeline.nsys.nvtx_capture", capture, near);
        return;
    }
    c->capture_range = range;
    c->capture_range_end = s->capture_range_end;
    c->nvtx_capture = nvtx ? capture : NULL;
}

/* --- from settings to words ----------------------------------------------------------------- */

static const char *joined(struct lpo_arena *a, const struct lpo_settings_words *words)
{
    LPO_STR out = { 0 };

    for (size_t i = 0; i < words->len; i++)
        lpo_str_addf(&out, "%s%s", i ? "," : "", words->at[i]);
    return lpo_arena_strdup(a, lpo_str_text(&out));
}

void lpo_pipeline_nsys_command(struct lpo_stage_ctx *ctx, const char *program,
                               struct lpo_nsys_command *out)
{
    const struct lpo_nsys_settings *s = ctx->settings;
    struct lpo_arena *a = ctx->arena;

    *out = (struct lpo_nsys_command){
        .program = program,
        .trace = joined(a, &s->trace),
        .sample = s->sample,
        .cpuctxsw = s->cpuctxsw,
        .nvtx_domain_include = joined(a, &s->nvtx_domain_include),
        .nvtx_domain_exclude = joined(a, &s->nvtx_domain_exclude),
        .extra = s->extra_args,
        .output = lpo_arena_printf(a, "%s/run", ctx->dir),
    };
    /* nsys refuses the flag where CUDA is not traced */
    if (strstr(out->trace, "cuda"))
        out->cuda_graph_trace = s->cuda_graph_trace;
    set_gate(ctx, out);
}

/* nsys takes its values behind '='. */
static void add(struct lpo_arena *a, struct lpo_words *out, const char *flag, const char *value)
{
    if (value && *value)
        lpo_run_words_addf(a, out, "--%s=%s", flag, value);
}

struct lpo_words lpo_pipeline_nsys_command_words(struct lpo_arena *a,
                                                 const struct lpo_nsys_command *c)
{
    struct lpo_words out = { 0 };

    lpo_run_words_add(a, &out, c->program);
    lpo_run_words_add(a, &out, "profile");
    add(a, &out, "trace", c->trace);
    add(a, &out, "sample", c->sample);
    add(a, &out, "cpuctxsw", c->cpuctxsw);
    add(a, &out, "cuda-graph-trace", c->cuda_graph_trace);
    if (c->capture_range) {
        add(a, &out, "capture-range", c->capture_range);
        add(a, &out, "capture-range-end", c->capture_range_end);
        /* the default end, stop-shutdown, would end the program with the capture */
        add(a, &out, "kill", "none");
    }
    if (c->nvtx_capture) {
        lpo_run_words_addf(a, &out, "--nvtx-capture=%s", c->nvtx_capture);
        /* names pushed as plain text count too, not only registered strings */
        add(a, &out, "env-var", "NSYS_NVTX_PROFILER_REGISTER_ONLY=0");
    }
    add(a, &out, "nvtx-domain-include", c->nvtx_domain_include);
    add(a, &out, "nvtx-domain-exclude", c->nvtx_domain_exclude);
    for (size_t i = 0; i < c->extra.len; i++)
        lpo_run_words_add(a, &out, c->extra.at[i]);
    add(a, &out, "force-overwrite", "true");
    add(a, &out, "output", c->output);
    return out;
}
