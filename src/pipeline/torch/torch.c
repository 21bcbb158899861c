/* PyTorch's profiler, injected into any Python workload by a sitecustomize folder on PYTHONPATH. */
#include <stdlib.h>
#include <string.h>

#include "hydra/compose.h"
#include "pipeline/stage.h"
#include "run/folder.h"
#include "run/install.h"
#include "run/manifest.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/file.h"
#include "util/json.h"
#include "util/json_write.h"
#include "util/path.h"
#include "util/str.h"

static const char *settings_path(const struct lpo_stage_ctx *ctx)
{
    return lpo_path_join(ctx->arena, ctx->dir, "settings.json");
}

/* The settings of the injected profiler, which reads them when the program imports torch. */
static int torch_prepare(struct lpo_stage_ctx *ctx, struct lpo_steps *steps, struct lpo_err *err)
{
    static const char *const keys[] = { "activities", "record_shapes", "profile_memory",
                                        "with_stack", "schedule",      "step" };
    LPO_STR text = { 0 };
    struct lpo_json_writer w = lpo_json_writer(&text, 2);

    (void)steps;
    lpo_jw_object(&w, NULL);
    lpo_jw_text(&w, "out_dir", ctx->dir);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const struct lpo_node *n = lpo_node_get(ctx->knobs, keys[i]);

        if (n)
            lpo_node_write_json(&w, keys[i], n);
    }
    lpo_jw_end(&w);
    return lpo_file_write(settings_path(ctx), text.at, text.len, err);
}

static int torch_plan(struct lpo_stage_ctx *ctx, struct lpo_steps *steps, struct lpo_err *err)
{
    struct lpo_workload_opts opts = { .profiled = true };
    struct lpo_arena *a = ctx->arena;
    const char *folder = lpo_run_install_find(a, "lpo_sitecustomize");
    const char *path = getenv("PYTHONPATH");
    struct lpo_step *step;

    if (!folder)
        return lpo_fail(err, LPO_E_MISSING,
                        "the folder lpo_sitecustomize is not beside lpo; install lpo whole");
    if (lpo_pipeline_stage_add_workload(ctx, steps, "torch profiler", &opts, &step, err) < 0)
        return err->code;
    for (size_t i = 0; i < step->nenv; i++) /* the workload may bring its own */
        if (strcmp(step->env[i].name, "PYTHONPATH") == 0)
            path = step->env[i].value;
    lpo_run_step_env(a, step, "PYTHONPATH",
                     path && *path ? lpo_arena_printf(a, "%s:%s", folder, path) : folder);
    lpo_run_step_env(a, step, "LPO_TORCH_PROFILE", settings_path(ctx));
    return 0;
}

/* Every process says beside its traces how it went; one that failed is worth a note. */
static bool note_status(struct lpo_stage_ctx *ctx, const char *file)
{
    const struct lpo_json *status = NULL;
    const char *state, *error;

    if (lpo_json_read_file(ctx->arena, lpo_path_join(ctx->arena, ctx->run_dir, file), &status,
                           NULL) < 0)
        return false;
    state = lpo_json_text(lpo_json_get(status, "state"), "written");
    error = lpo_json_text(lpo_json_get(status, "error"), NULL);
    if (lpo_streq(state, "written"))
        return false;
    lpo_run_manifest_note(ctx->manifest, ctx->record, "process %lld: %s%s%s",
                          (long long)lpo_json_int(lpo_json_get(status, "pid"), 0), state,
                          error ? ": " : "", error ? error : "");
    return true;
}

static int torch_collect(struct lpo_stage_ctx *ctx, struct lpo_err *err)
{
    struct lpo_paths files = { 0 };
    size_t traces = 0, noted = 0;

    (void)err;
    lpo_run_folder_list(ctx->arena, ctx->run_dir, "torch_profiler", &files);
    for (size_t i = 0; i < files.len; i++) {
        traces += lpo_str_ends(files.at[i], ".json.gz");
        noted += lpo_str_ends(files.at[i], ".status.json") && note_status(ctx, files.at[i]);
    }
    if (traces == 0)
        ctx->record->message =
            noted ? "no trace: none of its processes wrote one, see the notes"
                  : "no trace: the workload is not a Python program that imports torch, or ended "
                    "before it could";
    return 0;
}

const struct lpo_stage lpo_pipeline_torch_profiler = {
    .name = "torch_profiler",
    .summary = "operators and kernels with PyTorch's profiler",
    .plan = torch_plan,
    .prepare = torch_prepare,
    .collect = torch_collect,
};
