/* SPDX-License-Identifier: Apache-2.0 */
/* Our own collector in the workload: every NVTX range, and every kernel where there is a GPU. */
#include <dlfcn.h>
#include <string.h>

#include "analysis/analysis.h"
#include "analysis/run.h"
#include "gpu/nvml.h"
#include "pipeline/native/capture.h"
#include "pipeline/native/ranks.h"
#include "pipeline/native/refusals.h"
#include "pipeline/native/regions.h"
#include "pipeline/stage.h"
#include "run/install.h"
#include "run/manifest.h"
#include "run/ranks.h"
#include "run/secrets/secrets.h"
#include "rundir/rundir.h"
#include "trace/reader.h"
#include "trace/trace.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/path.h"
#include "util/str.h"

static const char regions_file[] = "regions.json";

struct native_settings {
    const char *library, *graphs;
    bool gpu;
    int64_t buffer_kb, flush_ms;
    struct lpo_native_capture capture;
};

static const struct lpo_settings_field fields[] = {
    LPO_SETTING(native_settings, library, LPO_S_TEXT, "pipeline.native.library"),
    LPO_SETTING(native_settings, gpu, LPO_S_BOOL, "pipeline.native.gpu"),
    LPO_SETTING(native_settings, graphs, LPO_S_TEXT, "pipeline.native.graphs"),
    LPO_SETTING(native_settings, buffer_kb, LPO_S_INT, "pipeline.native.buffer_kb"),
    LPO_SETTING(native_settings, flush_ms, LPO_S_INT, "pipeline.native.flush_ms"),
    LPO_SETTING(native_settings, capture.range, LPO_S_TEXT, "pipeline.native.capture.range"),
    LPO_SETTING(native_settings, capture.calls, LPO_S_TEXT, "pipeline.native.capture.calls"),
    LPO_SETTING(native_settings, capture.every, LPO_S_INT, "pipeline.native.capture.every"),
    LPO_SETTING(native_settings, capture.count, LPO_S_BOOL, "pipeline.native.capture.count"),
    LPO_SETTING(native_settings, capture.after_ns, LPO_S_DURATION, "pipeline.native.capture.after"),
    LPO_SETTING(native_settings, capture.for_ns, LPO_S_DURATION, "pipeline.native.capture.for"),
    LPO_SETTING(native_settings, capture.ring_ns, LPO_S_DURATION, "pipeline.native.capture.ring"),
    LPO_SETTING(native_settings, capture.ring_mb, LPO_S_INT, "pipeline.native.capture.ring_mb"),
    LPO_SETTING(native_settings, capture.slow_ns, LPO_S_DURATION, "pipeline.native.capture.slow"),
    LPO_SETTING(native_settings, capture.signal, LPO_S_TEXT, "pipeline.native.capture.signal"),
    LPO_SETTING(native_settings, capture.control, LPO_S_BOOL, "pipeline.native.capture.control"),
    LPO_SETTING(native_settings, capture.wait, LPO_S_BOOL, "pipeline.native.capture.wait"),
    LPO_SETTING(native_settings, capture.in_a_row, LPO_S_INT, "pipeline.native.capture.in_a_row"),
    LPO_SETTING(native_settings, capture.attach, LPO_S_TEXT, "pipeline.native.capture.attach"),
};

static const char *const trace_files[] = { "*.lpot", NULL };

static const char *const formats[] = { "native", NULL };

static const struct lpo_rundir_kind results = {
    .stage = "native",
    .what = "the trace of lpo's own collector",
    .patterns = trace_files,
    .formats = formats,
    .trust = 1,
    .skip = LPO_SKIP_OPS,
};

static const char *const from_start[] = { "pipeline.native.capture.after",
                                          "pipeline.native.capture.for",
                                          "pipeline.native.capture.ring", NULL };

/* --- what it needs -------------------------------------------------------------------------- */

static bool look_for_collector(struct lpo_arena *a, const char **detail, const char **remedy)
{
    const char *path = lpo_run_install_find(a, "liblpo-collect.so");

    (void)remedy;
    *detail = path ? path : "liblpo-collect.so is not beside lpo";
    return path != NULL;
}

static bool look_for_gpu(struct lpo_arena *a, const char **detail, const char **remedy)
{
    struct lpo_gpus gpus;

    (void)remedy;
    lpo_gpu_list(a, &gpus);
    if (gpus.len == 0) {
        *detail = gpus.why ? gpus.why : "no GPU";
        return false;
    }
    *detail =
        lpo_arena_printf(a, "%zu x %s, driver %s", gpus.len,
                         gpus.at[0].name ? gpus.at[0].name : "?", gpus.driver ? gpus.driver : "?");
    return true;
}

/* The collector loads the CUPTI that the program has already loaded, if there is one. */
static bool look_for_cupti(struct lpo_arena *a, const char **detail, const char **remedy)
{
    static const char *const names[] = { "libcupti.so.13", "libcupti.so.12", "libcupti.so",
                                         "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so" };

    (void)a;
    (void)remedy;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        void *lib = dlopen(names[i], RTLD_LAZY | RTLD_LOCAL);

        if (lib) {
            dlclose(lib);
            *detail = names[i];
            return true;
        }
    }
    *detail = "libcupti is not on the library path (PyTorch brings its own: then this is fine)";
    return false;
}

static const struct lpo_stage_check checks[] = {
    { "collector", "no region times (stage native)", "build or install lpo whole",
      look_for_collector },
    { "gpu", "no GPU operation is traced; CPU regions and all reports still work",
      "run on a machine with an NVIDIA GPU and driver", look_for_gpu },
    { "cupti", "the collector records NVTX ranges but no kernels",
      "install the CUDA toolkit's CUPTI, or put its folder on LD_LIBRARY_PATH", look_for_cupti },
    { NULL, NULL, NULL, NULL },
};

/* --- the stage ------------------------------------------------------------------------------ */

static int find_library(struct lpo_stage_ctx *ctx, const char **out, struct lpo_err *err)
{
    const struct native_settings *settings = ctx->settings;
    const char *given = settings->library;

    *out = given ? lpo_path_absolute(ctx->arena, given)
                 : lpo_run_install_find(ctx->arena, "liblpo-collect.so");
    if (*out && lpo_path_exists(*out))
        return 0;
    return lpo_fail(err, LPO_E_MISSING,
                    "the collector %s is not here; set pipeline.native.library to its path",
                    given ? given : "liblpo-collect.so");
}

static int native_check(struct lpo_stage_ctx *ctx, struct lpo_err *err)
{
    const struct native_settings *settings = ctx->settings;

    return lpo_pipeline_native_capture_check(&settings->capture, err);
}

static int native_plan(struct lpo_stage_ctx *ctx, struct lpo_steps *steps, struct lpo_err *err)
{
    const struct native_settings *settings = ctx->settings;
    struct lpo_workload_opts opts = { .profiled = true };
    struct lpo_arena *a = ctx->arena;
    const char *library = NULL;
    struct lpo_step *step;

    if (find_library(ctx, &library, err) < 0 ||
        lpo_pipeline_stage_add_workload(ctx, steps, "native", &opts, &step, err) < 0)
        return err->code;
    lpo_run_step_env(a, step, "NVTX_INJECTION64_PATH", library);
    if (settings->gpu)
        lpo_run_step_env(a, step, "CUDA_INJECTION64_PATH", library);
    lpo_run_step_env(a, step, "LPO_COLLECT_DIR", ctx->dir);
    if (strcmp(lpo_run_ranks_word(a, ctx->config), "all") != 0)
        lpo_run_step_env(a, step, "LPO_COLLECT_RANKS", lpo_run_ranks_word(a, ctx->config));
    if (lpo_secrets_any()) /* the collector sees the command line as it is */
        lpo_run_step_env(a, step, "LPO_COLLECT_COMMAND", "0");
    lpo_run_step_env(a, step, "LPO_COLLECT_GRAPH_NODES",
                     strcmp(settings->graphs, "nodes") == 0 ? "1" : "0");
    lpo_run_step_env(a, step, "LPO_COLLECT_BUFFER_KB",
                     lpo_arena_printf(a, "%lld", (long long)settings->buffer_kb));
    lpo_run_step_env(a, step, "LPO_COLLECT_FLUSH_MS",
                     lpo_arena_printf(a, "%lld", (long long)settings->flush_ms));
    return lpo_pipeline_native_capture_env(a, &settings->capture, step, err);
}

/* From prepare to collect. */
struct native_run {
    struct lpo_refusals *refusals;
    unsigned refused; /* processes that could not make their trace */
};

static int native_prepare(struct lpo_stage_ctx *ctx, struct lpo_steps *steps, struct lpo_err *err)
{
    struct native_run *run = LPO_NEW(ctx->arena, struct native_run);

    (void)steps;
    (void)err;
    run->refusals = lpo_pipeline_native_refusals_listen(ctx->arena, ctx->dir);
    ctx->private = run;
    return 0;
}

static int native_after(struct lpo_stage_ctx *ctx, struct lpo_steps *steps, size_t i,
                        const struct lpo_result *r, struct lpo_err *err)
{
    struct native_run *run = ctx->private;

    const struct lpo_analysis *a;
    int rc = lpo_pipeline_stage_judge(&steps->at[i], r, err);

    lpo_trace_finish(ctx->dir);
    run->refused = lpo_pipeline_native_refusals_note(run->refusals, ctx);
    a = rc < 0 ? lpo_analysis_run_stage(ctx->analysis, ctx->stage->name) : NULL;
    if (a) /* a job fails when one of its ranks does: the others are there */
        lpo_pipeline_native_ranks_note(ctx, a->trace);
    return rc;
}

static int native_collect(struct lpo_stage_ctx *ctx, struct lpo_err *err)
{
    const struct lpo_analysis *a = lpo_analysis_run_stage(ctx->analysis, ctx->stage->name);
    const struct lpo_source *s = lpo_rundir_find(ctx->analysis->dir, ctx->stage->name);
    const struct native_run *run = ctx->private;
    size_t regions = 0;

    if (s->problem)
        return lpo_fail(err, LPO_E_FORMAT, "cannot list the regions of the traces: %s", s->problem);
    if (!a && run->refused) {
        ctx->record->message = "no trace: the workload could not write into the run folder";
        return 0;
    }
    if (!a) {
        ctx->record->message = "no trace: the workload called neither NVTX nor CUDA";
        return 0;
    }
    lpo_pipeline_native_ranks_note(ctx, a->trace);
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
    .summary = "NVTX ranges and GPU operations with lpo's own collector",
    .light = true,
    LPO_STAGE_SETTINGS(native_settings, fields),
    .results = &results,
    .checks = checks,
    .regions_file = regions_file,
    .from_start = from_start,
    .check_settings = native_check,
    .plan = native_plan,
    .prepare = native_prepare,
    .after = native_after,
    .collect = native_collect,
};
