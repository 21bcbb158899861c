/* stage/ncu/ncu.h - Nsight Compute as a stage; shared with `lpo kernels`. */
#pragma once

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
