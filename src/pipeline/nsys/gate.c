/* Capture only inside a range: checked before nsys starts, because a range that never comes costs a
 * whole run and leaves nothing. */
#include <fnmatch.h>
#include <string.h>

#include "hydra/compose.h"
#include "pipeline/known_regions.h"
#include "pipeline/nsys/nsys.h"
#include "pipeline/stage.h"
#include "region/levels.h"
#include "run/conf.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/str.h"

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

/* The range that each region ends with: nsys looks at ranges one by one, wherever they nest. */
static int check_seen(struct lpo_stage_ctx *ctx, const char *capture, struct lpo_err *err)
{
    struct gate want = gate_of(ctx->arena, capture);
    struct lpo_known_regions seen = { 0 };
    const char **names, *near;

    lpo_pipeline_known_regions_read(ctx->arena, ctx->run_dir, &seen);
    if (seen.len == 0)
        return 0; /* nothing is known */
    names = lpo_arena_array(ctx->arena, seen.len, sizeof *names);
    for (size_t i = 0; i < seen.len; i++) {
        const struct lpo_level *last;
        struct lpo_levels levels;

        names[i] = seen.at[i].path;
        if (lpo_region_levels_of_path(ctx->arena, seen.at[i].path, seen.domains, seen.ndomains,
                                      &levels) < 0)
            return 0;
        last = &levels.at[levels.len - 1];
        names[i] = *last->domain ? lpo_arena_printf(ctx->arena, "%s@%s", last->name, last->domain)
                                 : last->name;
        if (strcmp(last->name, want.name) == 0 && fnmatch(want.domain, last->domain, 0) == 0)
            return 0;
    }
    near = lpo_str_nearest(capture, names, seen.len);
    if (!near) /* perhaps only the domain is wrong */
        near = lpo_str_nearest(want.name, names, seen.len);
    return lpo_fail(err, LPO_E_CONFIG,
                    "pipeline.nsys.nvtx_capture: the program enters no range '%s'%s%s%s; "
                    "native/regions.json lists those that it enters",
                    capture, near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

/* `stop-shutdown`, the tool's default end, would end the program with the capture: --kill=none lets
 * it finish. */
int lpo_pipeline_nsys_add_gate(struct lpo_stage_ctx *ctx, struct lpo_step *step,
                               struct lpo_err *err)
{
    const char *capture = lpo_node_conf_text(ctx->knobs, "nvtx_capture", "");
    const char *range = lpo_node_conf_text(ctx->knobs, "capture_range", *capture ? "nvtx" : "none");
    const char *end = lpo_node_conf_text(ctx->knobs, "capture_range_end", "");

    if (!lpo_node_conf_bool(ctx->knobs, "gating_nvtx", false) || strcmp(range, "none") == 0)
        return 0;
    lpo_run_step_argf(ctx->arena, step, "--capture-range=%s", range);
    if (*end)
        lpo_run_step_argf(ctx->arena, step, "--capture-range-end=%s", end);
    lpo_run_step_arg(ctx->arena, step, "--kill=none");
    if (strcmp(range, "nvtx") != 0)
        return 0;
    if (check_seen(ctx, capture, err) < 0)
        return err->code;
    lpo_run_step_argf(ctx->arena, step, "--nvtx-capture=%s", capture);
    /* names pushed as plain text count too, not only registered strings */
    lpo_run_step_arg(ctx->arena, step, "--env-var=NSYS_NVTX_PROFILER_REGISTER_ONLY=0");
    return 0;
}
