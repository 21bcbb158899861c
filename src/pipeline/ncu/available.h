/* pipeline/ncu/available.h - metrics and sections that this ncu does not have, found before the
 * capture.
 *
 * What ncu itself prints about an unknown name differs between versions, and it does so only after
 * it has started the program. An unknown metric is left out with a note; an unknown section stops
 * the stage. */
#pragma once

#include <stdbool.h>

struct lpo_err;
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

/* The configured sections against `list`, the file with the output of --list-sections: LPO_E_CONFIG
 * with the nearest name where one is not in it. Fine when we cannot read the list, when the user
 * has a folder of sections of their own, and for a name by "regex:". */
int lpo_pipeline_ncu_sections_check(struct lpo_stage_ctx *ctx, const struct lpo_node *ncu_cli,
                                    const char *list, struct lpo_err *err);
