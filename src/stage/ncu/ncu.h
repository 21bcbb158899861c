/* stage/ncu/ncu.h - Nsight Compute as a stage; shared with `lpo kernels`. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct lpo_arena;
struct lpo_err;
struct lpo_node;
struct lpo_stage;
struct lpo_stage_ctx;
struct lpo_step;
struct lpo_steps;

extern const struct lpo_stage lpo_stage_ncu;

/* The flags that ncu_cli.* stand for, one to one, appended to the step. Nothing about NVTX, kernel
 * focus or outputs: those depend on the run. */
void lpo_ncu_add_flags(struct lpo_arena *a, const struct lpo_node *ncu_cli, struct lpo_step *step);

/* Is each region to be reported by itself? */
bool lpo_ncu_region_mode(const struct lpo_stage_ctx *ctx);
/* The NVTX filter that ncu_cli.nvtx and region mode ask for, in ncu's grammar; nothing when gating
 * is off. A pattern that fits no region that was seen is an error that names the nearest. */
int lpo_ncu_add_nvtx(struct lpo_stage_ctx *ctx, const struct lpo_node *ncu_cli,
                     struct lpo_step *step, struct lpo_err *err);
