/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/ncu/capture.h - the captures of one run of the stage: one, or one for each region.
 *
 * With regions.capture=separate every region has a capture in ncu/regions/<name>/ and a folder of
 * its own for the workload's files. A region inside another one that is captured too is measured
 * twice; its report has another name, because reports count every launch once. Private to this
 * folder. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "run/one_rank.h"
#include "run/step.h"

struct lpo_err;
struct lpo_ncu_command;
struct lpo_stage_ctx;

enum { LPO_MAX_NCU_CAPTURES = 64 }; /* each one runs the program again */

struct lpo_ncu_capture {
    const char *region;        /* its path or pattern; NULL: all kernels that the command names */
    const char *name;          /* of its files: "run", "rerun", "nested" */
    struct lpo_stage_ctx *ctx; /* the stage's own, or one with folders of its own */
    struct lpo_words nvtx_include, nvtx_exclude; /* of the region, in ncu's grammar */
    struct lpo_one_rank job;  /* where the program is a launcher: one rank is measured */
    struct lpo_words program; /* of its step, without ncu */
    size_t step;              /* index; LPO_NCU_NO_STEP: not planned yet */
    const char *problem;      /* why it failed, in plain words */
    bool missing;             /* a permission is missing */
    bool empty;               /* no kernel passed the filters */
};

struct lpo_ncu_captures {
    struct lpo_ncu_capture at[LPO_MAX_NCU_CAPTURES + 1]; /* and a second try */
    size_t len;
};

/* Appends a capture into the stage's own folder. */
struct lpo_ncu_capture *lpo_pipeline_ncu_captures_add(struct lpo_stage_ctx *ctx,
                                                      struct lpo_ncu_captures *out,
                                                      const char *name);
/* One for each region that regions.include and regions.exclude name; none named: for each outermost
 * one. */
int lpo_pipeline_ncu_captures_each(struct lpo_stage_ctx *ctx, struct lpo_ncu_captures *out,
                                   struct lpo_err *err);

/* <dir>/<name><ending> */
const char *lpo_pipeline_ncu_capture_file(const struct lpo_ncu_capture *c, const char *ending);
/* Appends its step, with `command` before the workload. */
int lpo_pipeline_ncu_capture_plan(struct lpo_ncu_capture *c, const struct lpo_ncu_command *command,
                                  int64_t most_tokens, struct lpo_steps *steps,
                                  struct lpo_err *err);
/* The words of its step again, from a command that has changed. */
void lpo_pipeline_ncu_capture_render(const struct lpo_ncu_capture *c,
                                     const struct lpo_ncu_command *command,
                                     struct lpo_steps *steps);
/* Its folders, and the files that its workload reads; nothing for the stage's own. */
int lpo_pipeline_ncu_capture_prepare(struct lpo_ncu_capture *c, struct lpo_err *err);
/* Appends the tables that ncu makes of its report. */
void lpo_pipeline_ncu_capture_plan_tables(const struct lpo_ncu_capture *c, const char *ncu,
                                          struct lpo_steps *steps);
