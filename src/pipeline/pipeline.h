/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/pipeline.h - the stages of one run, in order, with everything written down.
 *
 * The manifest is saved at every change of state. A failed stage does not stop the others unless
 * run.fail_fast is set; an interrupt stops all. */
#pragma once

#include "util/base.h"

struct lpo_analysis_run;
struct lpo_manifest;
struct lpo_node;
struct lpo_stage;
struct lpo_stage_record;
struct lpo_step;

/* What the caller hears about while the stages run; any may be NULL. */
struct lpo_pipeline_events {
    void *ctx;
    void (*begin)(void *ctx, const struct lpo_stage *stage);
    void (*tick)(void *ctx, const struct lpo_step *step, int64_t elapsed_ns, const char *line);
    void (*end)(void *ctx, const struct lpo_stage_record *record);
    /* What the user's own program prints, as it comes. */
    void (*output)(void *ctx, bool is_stderr, const char *bytes, size_t len);
};

struct lpo_pipeline {
    struct lpo_arena *arena;
    const struct lpo_node *config;     /* resolved and checked */
    const char *run_dir;               /* absolute; in a dry run it is never made */
    const char *call_dir;              /* absolute */
    struct lpo_manifest *manifest;     /* with a record for every stage */
    struct lpo_analysis_run *analysis; /* shared with the reports of the run; NULL in a dry run */
    struct lpo_pipeline_events events;
    bool passes_input; /* lpo's standard input is the program's, which runs once */
    bool in_job;       /* there is one lpo in each task of a job (run/shared_job.h) */
    bool follows;      /* a rank of a job other than 0, in a run of its own beside that of rank 0 */
    bool beside_another;       /* and another rank looks after this machine */
    struct lpo_beside *beside; /* private to lpo_pipeline_run() */
};

/* Is the stage switched on, and does run.mode let it run? */
#define LPO_NOT_LIGHT "not part of run.mode=light" /* the message of a stage that it leaves out */
#define LPO_FAILED_ALONE                                                                           \
    "the program failed without any profiler; --keep-going runs it all the same"
bool lpo_pipeline_wants(const struct lpo_node *config, const struct lpo_stage *stage);

/* Refuses what a wanted stage would refuse when its turn comes, whatever ran before it. */
int lpo_pipeline_check_settings(struct lpo_arena *a, const struct lpo_node *config,
                                struct lpo_err *err);

/* Fills manifest->stages: pending for those wanted, skipped with a reason for the others. */
void lpo_pipeline_fill_manifest(struct lpo_pipeline *p);

/* Runs every stage that is not done. Returns 0, or the exit code of the design: 1 a stage failed,
 * 3 only tools were missing, 130 interrupted. Negative when the run folder itself cannot be
 * written. */
int lpo_pipeline_run(struct lpo_pipeline *p, struct lpo_err *err);

/* How often the stages that are pending in the manifest start the program, as far as that can be
 * planned, and which they are: "direct_inference, native". Starts and writes nothing. */
size_t lpo_pipeline_program_runs(const struct lpo_pipeline *p, struct lpo_str *stages);

/* Every command of every wanted stage, as it would be started: "# stage: label\ncommand". */
int lpo_pipeline_dry_run(struct lpo_pipeline *p, struct lpo_str *out, struct lpo_err *err);
