/* Our own collector in the workload: every NVTX range, and every kernel where there is a GPU. */
#include <string.h>

#include "analysis/run.h"
#include "hydra/compose.h"
#include "pipeline/native/regions.h"
#include "pipeline/stage.h"
#include "run/install.h"
#include "run/manifest.h"
#include "rundir/rundir.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/path.h"
#include "util/str.h"

static const char regions_file[] = "regions.json";

static int find_library(struct lpo_stage_ctx *ctx, const char **out, struct lpo_err *err)
{
    const char *given = lpo_node_conf_text(ctx->knobs, "library", NULL);

    *out = given ? lpo_path_absolute(ctx->arena, given)
                 : lpo_run_install_find(ctx->arena, "liblpo-collect.so");
    if (*out && lpo_path_exists(*out))
        return 0;
    return lpo_fail(err, LPO_E_MISSING,
                    "the collector %s is not here; set pipeline.native.library to its path",
                    given ? given : "liblpo-collect.so");
}

static int native_plan(struct lpo_stage_ctx *ctx, struct lpo_steps *steps, struct lpo_err *err)
{
    struct lpo_workload_opts opts = { .profiled = true };
    struct lpo_arena *a = ctx->arena;
    const char *library = NULL;
    struct lpo_step *step;

    if (find_library(ctx, &library, err) < 0 ||
        lpo_pipeline_stage_add_workload(ctx, steps, "native", &opts, &step, err) < 0)
        return err->code;
    lpo_run_step_env(a, step, "NVTX_INJECTION64_PATH", library);
    if (lpo_node_conf_bool(ctx->knobs, "gpu", true))
        lpo_run_step_env(a, step, "CUDA_INJECTION64_PATH", library);
    lpo_run_step_env(a, step, "LPO_COLLECT_DIR", ctx->dir);
    lpo_run_step_env(a, step, "LPO_COLLECT_GRAPH_NODES",
                     strcmp(lpo_node_conf_text(ctx->knobs, "graphs", "whole"), "nodes") == 0 ? "1"
                                                                                             : "0");
    lpo_run_step_env(
        a, step, "LPO_COLLECT_BUFFER_KB",
        lpo_arena_printf(a, "%lld", (long long)lpo_node_conf_int(ctx->knobs, "buffer_kb", 64)));
    lpo_run_step_env(
        a, step, "LPO_COLLECT_FLUSH_MS",
        lpo_arena_printf(a, "%lld", (long long)lpo_node_conf_int(ctx->knobs, "flush_ms", 100)));
    return 0;
}

static int native_collect(struct lpo_stage_ctx *ctx, struct lpo_err *err)
{
    const struct lpo_analysis *a = lpo_analysis_run_stage(ctx->analysis, "native");
    const struct lpo_source *s = lpo_rundir_find(ctx->analysis->dir, "native");
    size_t regions = 0;

    if (s->problem)
        return lpo_fail(err, LPO_E_FORMAT, "cannot list the regions of the traces: %s", s->problem);
    if (!a) {
        ctx->record->message = "no trace: the workload called neither NVTX nor CUDA";
        return 0;
    }
    if (lpo_pipeline_native_regions_write(a, lpo_path_join(ctx->arena, ctx->dir, regions_file),
                                          &regions, err) < 0)
        return lpo_ctx(err, "cannot list the regions of the traces");
    if (regions == 0)
        lpo_run_manifest_note(ctx->manifest, ctx->record,
                              "the workload entered no NVTX range: everything is (outside)");
    return 0;
}

const struct lpo_stage lpo_pipeline_native = {
    .name = "native",
    .summary = "NVTX ranges and CUDA work by lpo's own collector",
    .light = true,
    .regions_file = regions_file,
    .plan = native_plan,
    .collect = native_collect,
};
