/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/ncu/available.h - metrics and sections that this ncu does not have, found before the
 * capture.
 *
 * What ncu itself prints about an unknown name differs between versions, and it does so only after
 * it has started the program. An unknown metric is left out with a note; an unknown section stops
 * the stage. */
#pragma once

#include <stdbool.h>

struct lpo_err;
struct lpo_ncu_command;
struct lpo_stage_ctx;
struct lpo_steps;

/* Adds the step that asks ncu which metrics exist, its answer in available_metrics.txt. */
void lpo_pipeline_ncu_metrics_plan(struct lpo_stage_ctx *ctx, const char *ncu,
                                   struct lpo_steps *steps);
/* ncu takes seconds to answer, so its answer is kept in the user's cache folder, for each tool and
 * device: true when it is there and was copied to `answer`. */
bool lpo_pipeline_ncu_metrics_recall(struct lpo_stage_ctx *ctx, const char *ncu,
                                     const char *answer);
/* Takes the metrics that are not in `answer` out of the command, with a note each, and keeps the
 * answer in the cache folder. */
void lpo_pipeline_ncu_metrics_filter(struct lpo_stage_ctx *ctx, const char *answer,
                                     struct lpo_ncu_command *command);

/* The configured sections against `list`, the file with the output of --list-sections: LPO_E_CONFIG
 * with the nearest name where one is not in it. Fine when we cannot read the list, when the user
 * has a folder of sections of their own, and for a name by "regex:". */
int lpo_pipeline_ncu_sections_check(struct lpo_stage_ctx *ctx,
                                    const struct lpo_ncu_command *command, const char *list,
                                    struct lpo_err *err);
