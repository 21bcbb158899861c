/* pipeline/ncu/metrics.h - metrics this device does not know are dropped, with a note.
 *
 * ncu is asked once per tool and device which metrics exist; the answer is kept in the user's
 * cache folder. */
#pragma once

#include <stdbool.h>

struct lpo_node;
struct lpo_stage_ctx;
struct lpo_step;
struct lpo_steps;

/* Adds the question as a step when metrics are configured; true when it did. When the answer is
 * cached the step only prints it again (cat), so that the flow is one. */
bool lpo_pipeline_ncu_metrics_plan(struct lpo_stage_ctx *ctx, const char *ncu,
                                   const struct lpo_node *cli, struct lpo_steps *steps,
                                   const char **cache);
/* Takes unknown metrics out of the capture's --metrics; notes each. Saves the answer as `cache`. */
void lpo_pipeline_ncu_metrics_filter(struct lpo_stage_ctx *ctx, const char *answer,
                                     const char *cache, struct lpo_step *capture);
