/* SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/python.h"

#include <stdlib.h>
#include <string.h>

#include "pipeline/stage.h"
#include "run/install.h"
#include "util/arena.h"
#include "util/err.h"
#include "util/str.h"

int lpo_pipeline_python_inject(struct lpo_stage_ctx *ctx, struct lpo_step *step,
                               struct lpo_err *err)
{
    struct lpo_arena *a = ctx->arena;
    const char *folder = lpo_run_install_find(a, "lpo_sitecustomize");
    const char *path = getenv("PYTHONPATH");

    if (!folder)
        return lpo_fail(err, LPO_E_MISSING,
                        "the folder lpo_sitecustomize is not beside lpo; install lpo whole");
    for (size_t i = 0; i < step->nenv; i++) /* the workload may bring its own */
        if (strcmp(step->env[i].name, "PYTHONPATH") == 0)
            path = step->env[i].value;
    if (path && lpo_str_starts(path, folder)) /* two of the stage's wishes */
        return 0;
    lpo_run_step_env(a, step, "PYTHONPATH",
                     path && *path ? lpo_arena_printf(a, "%s:%s", folder, path) : folder);
    return 0;
}

int lpo_pipeline_python_modules(struct lpo_stage_ctx *ctx, struct lpo_step *step,
                                struct lpo_err *err)
{
    long long depth = lpo_settings_int(ctx->config, "pipeline.native.modules_depth");

    if (!lpo_settings_bool(ctx->config, "pipeline.native.modules") ||
        !lpo_workload_may_be_python(ctx->arena, ctx->config, ctx->call_dir))
        return 0;
    lpo_run_step_env(ctx->arena, step, "LPO_TORCH_MODULES",
                     lpo_arena_printf(ctx->arena, "%lld", depth));
    return lpo_pipeline_python_inject(ctx, step, err);
}
