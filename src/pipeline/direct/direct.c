/* SPDX-License-Identifier: Apache-2.0 */
/* The workload with no profiler at all: its timings are the truth that profiled runs are compared
 * with. */
#include "pipeline/stage.h"
#include "rundir/rundir.h"

struct direct_settings {
    bool predictions;
};

static const struct lpo_settings_field fields[] = {
    LPO_SETTING(direct_settings, predictions, LPO_S_BOOL, "pipeline.direct_inference.predictions"),
};

static const struct lpo_rundir_kind results = {
    .stage = "direct_inference",
    .what = "the workload alone",
    .roles = LPO_ROLE_UNDISTURBED,
};

static int direct_plan(struct lpo_stage_ctx *ctx, struct lpo_steps *steps, struct lpo_err *err)
{
    const struct direct_settings *settings = ctx->settings;
    struct lpo_workload_opts opts = { .predictions = settings->predictions };
    struct lpo_step *step;

    return lpo_pipeline_stage_add_workload(ctx, steps, "direct inference", &opts, &step, err);
}

const struct lpo_stage lpo_pipeline_direct_inference = {
    .name = "direct_inference",
    .summary = "the workload without any profiler",
    .light = true,
    LPO_STAGE_SETTINGS(direct_settings, fields),
    .results = &results,
    .no_checks = "the workload itself says what it lacks",
    .plan = direct_plan,
};
