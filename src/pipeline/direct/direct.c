/* The workload with no profiler at all: its timings are the truth that profiled runs are held
 * against. */
#include "hydra/compose.h"
#include "pipeline/stage.h"

static int direct_plan(struct lpo_stage_ctx *ctx, struct lpo_steps *steps, struct lpo_err *err)
{
    struct lpo_workload_opts opts = {
        .predictions = lpo_node_conf_bool(ctx->knobs, "predictions", true),
    };
    struct lpo_step *step;

    return lpo_pipeline_stage_add_workload(ctx, steps, "direct inference", &opts, &step, err);
}

const struct lpo_stage lpo_pipeline_direct_inference = {
    .name = "direct_inference",
    .summary = "the workload without any profiler",
    .light = true,
    .plan = direct_plan,
};
