/* pipeline/ncu/sections.h - sections that this ncu does not have stop the stage before its capture.
 *
 * What ncu itself says of an unknown section differs between versions, and it says so only after it
 * has started the program. */
#pragma once

struct lpo_err;
struct lpo_stage_ctx;
struct lpo_node;

/* The configured sections against `list`, the file with the output of --list-sections: LPO_E_CONFIG
 * with the nearest name where one is not in it. Fine when the list is none that we can read, when
 * the user has a folder of sections of their own, and for a name by "regex:". */
int lpo_pipeline_ncu_sections_check(struct lpo_stage_ctx *ctx, const struct lpo_node *ncu_cli,
                                    const char *list, struct lpo_err *err);
