/* SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/nsys/command.h"

#include <fnmatch.h>

#include "pipeline/stage.h"
#include "region/pattern/pattern.h"
#include "run/switched.h"
#include "run/workload/workload.h"
#include "util/path.h"

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

/* pipeline.nsys.capture in nsys's own words: what capture_range and nvtx_capture would say is not
 * asked then. */
struct window {
    const char *capture, *end; /* NULL: no range is chosen */
    int64_t first_call;
    bool switched;
    const char *delay, *duration;
    const char *recorded; /* a sentence about it; NULL: nothing was chosen */
};

/* nsys begins at once or after whole seconds. */
static int seconds(struct lpo_arena *a, const char *key, int64_t ns, const char **out,
                   struct lpo_err *err)
{
    enum { SECOND = 1000000000 };

    *out = ns ? lpo_arena_printf(a, "%lld", (long long)(ns / SECOND)) : NULL;
    if (ns % SECOND == 0)
        return 0;
    return lpo_fail(err, LPO_E_CONFIG,
                    "pipeline.nsys.capture.%s must be whole seconds for nsys; "
                    "pipeline.native.capture.%s takes any time",
                    key, key);
}

/* Which calls: each is a report of its own. nsys begins with the first and leaves none out; the
 * stage removes the reports that were not asked for. */
static int calls(struct lpo_arena *a, const struct lpo_capture_words *c, struct window *out,
                 struct lpo_err *err)
{
    int64_t last;

    if (lpo_pipeline_capture_calls("nsys", c->calls, &out->first_call, &last, err) < 0)
        return err->code;
    out->end = last == 1 ? "stop"
               : last    ? lpo_arena_printf(a, "repeat:%lld", (long long)last)
                         : "repeat";
    if (c->calls)
        out->recorded =
            lpo_arena_printf(a, "only these calls of '%s' were recorded: %s", c->range, c->calls);
    else if (c->range)
        out->recorded = lpo_arena_printf(a, "only calls of '%s' were recorded", c->range);
    if (c->range && c->every > 1)
        out->recorded =
            lpo_arena_printf(a, "%s, one in %lld of them", out->recorded, (long long)c->every);
    return 0;
}

/* lpo ctl or a signal: all else that could choose is left out. */
static int choose_switch(struct lpo_stage_ctx *ctx, const struct lpo_capture_words *c,
                         struct window *out, struct lpo_err *err)
{
    out->switched = c->control || c->signal;
    if (c->wait && !out->switched)
        return lpo_fail(err, LPO_E_CONFIG,
                        "pipeline.nsys.capture.wait=true waits for nothing: set signal or control "
                        "beside it");
    if (!out->switched)
        return 0;
    if (c->range || c->after_ns || c->for_ns)
        return lpo_fail(err, LPO_E_CONFIG,
                        "pipeline.nsys.capture has signal or control beside a range or a time, and "
                        "nsys takes one of them; pipeline.native.capture combines all");
    if (lpo_workload_server_under_load(ctx->config))
        return lpo_fail(err, LPO_E_CONFIG,
                        "pipeline.nsys.capture has signal or control, but this server is recorded "
                        "while it is under load: set workload.server.window.over=all to switch by "
                        "hand");
    out->recorded = "only the windows that were opened from outside were recorded";
    return 0;
}

static int choose_window(struct lpo_stage_ctx *ctx, const struct lpo_capture_words *c,
                         struct window *out, struct lpo_err *err)
{
    struct lpo_arena *a = ctx->arena;
    LPO_STR name = { 0 };

    if (lpo_pipeline_capture_check("nsys", c, err) < 0 || choose_switch(ctx, c, out, err) < 0 ||
        seconds(a, "after", c->after_ns, &out->delay, err) < 0 ||
        seconds(a, "for", c->for_ns, &out->duration, err) < 0 || calls(a, c, out, err) < 0)
        return err->code;
    if (out->delay || out->duration)
        out->recorded = lpo_arena_printf(
            a, "only a part was recorded: from %s s after the start, %s%s",
            out->delay ? out->delay : "0", out->duration ? out->duration : "to the end",
            out->duration ? " s long" : "");
    if (!c->range)
        return 0;
    if (out->delay || out->duration)
        return lpo_fail(err, LPO_E_CONFIG,
                        "pipeline.nsys.capture has a range and a time, and nsys takes one of them; "
                        "pipeline.native.capture combines both");
    if (strpbrk(c->range, "*?"))
        return lpo_fail(err, LPO_E_CONFIG,
                        "pipeline.nsys.capture.range is '%s', and nsys knows no wildcards: write "
                        "the whole name; pipeline.native.capture.range and "
                        "pipeline.ncu.capture.range take them",
                        c->range);
    for (const char *p = c->range; *p; p++)
        lpo_str_addf(&name, "%s%c", *p == '@' ? "\\" : "", *p);
    lpo_str_add(&name, "@*"); /* in any domain, as the collector looks for it */
    out->capture = lpo_arena_strdup(a, lpo_str_text(&name));
    return 0;
}

/* A range that is never entered costs a whole run of the program and leaves nothing, so a gate on
 * one that does not exist is dropped before nsys starts. */
static void set_gate(struct lpo_stage_ctx *ctx, const struct window *w, struct lpo_nsys_command *c)
{
    const struct lpo_nsys_settings *s = ctx->settings;
    const char *key = w->capture ? "pipeline.nsys.capture.range" : "pipeline.nsys.nvtx_capture";
    const char *capture = w->capture ? w->capture : s->nvtx_capture ? s->nvtx_capture : "";
    const char *range = s->capture_range ? s->capture_range : *capture ? "nvtx" : "none";
    const char *near = NULL;
    bool nvtx = w->capture || strcmp(range, "nvtx") == 0;

    if (w->capture)
        range = "nvtx";
    c->delay = w->delay;
    c->duration = w->duration;
    c->recorded = w->recorded;
    c->switched = w->switched;
    if (w->delay || w->duration || w->switched)
        return;

    if (strcmp(range, "none") == 0 || (nvtx && !s->gating_nvtx))
        return;
    if (nvtx && !may_exist(ctx, capture, &near)) {
        lpo_pipeline_stage_drop_gate(ctx, key, capture, near);
        c->recorded = NULL;
        return;
    }
    c->capture_range = range;
    c->capture_range_end = w->capture ? w->end : s->capture_range_end;
    c->first_call = w->capture ? w->first_call : 1;
    c->every = w->capture ? s->capture.every : 1;
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

int lpo_pipeline_nsys_check(struct lpo_stage_ctx *ctx, struct lpo_err *err)
{
    const struct lpo_nsys_settings *s = ctx->settings;
    struct window window = { 0 };

    return choose_window(ctx, &s->capture, &window, err);
}

int lpo_pipeline_nsys_command(struct lpo_stage_ctx *ctx, const char *program,
                              struct lpo_nsys_command *out, struct lpo_err *err)
{
    const struct lpo_nsys_settings *s = ctx->settings;
    struct lpo_arena *a = ctx->arena;
    struct window window = { 0 };

    if (choose_window(ctx, &s->capture, &window, err) < 0)
        return err->code;

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
    set_gate(ctx, &window, out);
    if (out->switched || lpo_workload_server_under_load(ctx->config))
        out->session = lpo_arena_printf(
            a, "lpo-%016llx", (unsigned long long)lpo_str_hash(out->output, strlen(out->output)));
    return 0;
}

/* nsys takes its values behind '='. */
static void add(struct lpo_arena *a, struct lpo_words *out, const char *flag, const char *value)
{
    if (value && *value)
        lpo_run_words_addf(a, out, "--%s=%s", flag, value);
}

/* nsys has two commands where it is switched from outside: `launch` takes what is said to the
 * program, `start` what is said to the collection; `profile` takes both. */
enum part { LAUNCH = 1, START = 2, PROFILE = LAUNCH | START };

/* The user's own words: those of `nsys start`, by how they begin; all others go to the program. */
static bool is_of_start(const char *word)
{
    static const char *const names[] = { "--gpu-metrics-", "--gpuctxsw",    "--backtrace",
                                         "--samples-per",  "--sampling-",   "--event-sampl",
                                         "--cpu-core-",    "--os-events",   "--ftrace",
                                         "--nic-metrics",  "--soc-metrics", "--stats",
                                         "--export",       "--isr",         "--xhv-" };

    return lpo_any(i, sizeof names / sizeof *names, lpo_str_starts(word, names[i]));
}

static void add_extra(struct lpo_arena *a, struct lpo_words *out, const struct lpo_nsys_command *c,
                      enum part part)
{
    for (size_t i = 0; i < c->extra.len; i++)
        if (part & (is_of_start(c->extra.at[i]) ? START : LAUNCH))
            lpo_run_words_add(a, out, c->extra.at[i]);
}

static void add_nvtx(struct lpo_arena *a, struct lpo_words *out, const struct lpo_nsys_command *c)
{
    if (c->nvtx_capture) {
        lpo_run_words_addf(a, out, "--nvtx-capture=%s", c->nvtx_capture);
        /* names pushed as plain text count too, not only registered strings */
        add(a, out, "env-var", "NSYS_NVTX_PROFILER_REGISTER_ONLY=0");
    }
    add(a, out, "nvtx-domain-include", c->nvtx_domain_include);
    add(a, out, "nvtx-domain-exclude", c->nvtx_domain_exclude);
}

static void add_sampling(struct lpo_arena *a, struct lpo_words *out,
                         const struct lpo_nsys_command *c)
{
    add(a, out, "sample", c->sample);
    add(a, out, "cpuctxsw", c->cpuctxsw);
}

static void add_range(struct lpo_arena *a, struct lpo_words *out, const struct lpo_nsys_command *c)
{
    add(a, out, "capture-range", c->capture_range);
    if (c->capture_range)
        add(a, out, "capture-range-end", c->capture_range_end);
}

static struct lpo_words begin_words(struct lpo_arena *a, const struct lpo_nsys_command *c,
                                    const char *what)
{
    struct lpo_words out = { 0 };

    lpo_run_words_add(a, &out, c->program);
    lpo_run_words_add(a, &out, what);
    return out;
}

struct lpo_words lpo_pipeline_nsys_start_words(struct lpo_arena *a,
                                               const struct lpo_nsys_command *c)
{
    struct lpo_words out = begin_words(a, c, "start");

    add(a, &out, "session", c->session);
    add_sampling(a, &out, c);
    add_range(a, &out, c);
    add_extra(a, &out, c, START);
    add(a, &out, "force-overwrite", "true");
    add(a, &out, "output",
        c->switched ? lpo_arena_printf(a, "%s." LPO_SWITCHED_WINDOW, c->output) : c->output);
    return out;
}

void lpo_pipeline_nsys_add_switch(struct lpo_arena *a, const struct lpo_capture_words *w,
                                  const char *dir, struct lpo_words *out)
{
    const char *self = lpo_path_program(a);

    lpo_run_words_add(a, out, self ? self : "lpo");
    lpo_run_words_add(a, out, "__switched");
    lpo_run_words_add_flag(a, out, "--dir", dir);
    if (w->signal)
        lpo_run_words_add_flag(a, out, "--signal",
                               lpo_arena_printf(a, "%d", lpo_pipeline_capture_signal(w->signal)));
    if (w->wait)
        lpo_run_words_add(a, out, "--wait");
    lpo_run_words_add(a, out, "--");
}

struct lpo_words lpo_pipeline_nsys_stop_words(struct lpo_arena *a, const struct lpo_nsys_command *c)
{
    struct lpo_words out = begin_words(a, c, "stop");

    add(a, &out, "session", c->session);
    return out;
}

static struct lpo_words launch_words(struct lpo_arena *a, const struct lpo_nsys_command *c)
{
    struct lpo_words out = begin_words(a, c, "launch");

    add(a, &out, "session-new", c->session);
    add(a, &out, "trace", c->trace);
    add(a, &out, "cuda-graph-trace", c->cuda_graph_trace);
    add_nvtx(a, &out, c);
    add_extra(a, &out, c, LAUNCH);
    return out;
}

static struct lpo_words profile_words(struct lpo_arena *a, const struct lpo_nsys_command *c)
{
    struct lpo_words out = begin_words(a, c, "profile");

    add(a, &out, "trace", c->trace);
    add_sampling(a, &out, c);
    add(a, &out, "cuda-graph-trace", c->cuda_graph_trace);
    add(a, &out, "delay", c->delay);
    add(a, &out, "duration", c->duration);
    add_range(a, &out, c);
    if (c->capture_range || c->duration) /* else the program ends with the capture */
        add(a, &out, "kill", "none");
    add_nvtx(a, &out, c);
    add_extra(a, &out, c, PROFILE);
    add(a, &out, "force-overwrite", "true");
    add(a, &out, "output", c->output);
    return out;
}

struct lpo_words lpo_pipeline_nsys_command_words(struct lpo_arena *a,
                                                 const struct lpo_nsys_command *c)
{
    return c->session ? launch_words(a, c) : profile_words(a, c);
}
