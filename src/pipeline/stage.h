/* pipeline/stage.h - one profiler (or none) run over the workload: a row of the stage table.
 *
 * A stage plans processes as data, may look at each one's end and add further steps, and collects
 * what they left. All that the rest of the program knows of it is this row; its knobs live under
 * pipeline.<name> and nowhere else. To add one: a folder with a `const struct lpo_stage`, a line
 * in registry.c, a preset in conf/profiling, rows in config/schema. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "run/step.h"

struct lpo_analysis_run;
struct lpo_arena;
struct lpo_err;
struct lpo_manifest;
struct lpo_node;
struct lpo_result;
struct lpo_rundir_kind;
struct lpo_stage_record;

struct lpo_stage_ctx {
    struct lpo_arena *arena;
    const struct lpo_node *config; /* the whole, resolved and checked */
    const struct lpo_node *knobs;  /* pipeline.<name> */
    const char *run_dir;           /* absolute */
    const char *dir;               /* run_dir/<name>, made */
    const char *workload_dir;      /* run_dir/workload/<name>, made */
    const char *call_dir; /* where lpo was called, or the run folder with hydra.job.chdir */
    bool light;           /* run.mode=light */
    bool dry_run;         /* plan, but write nothing */
    struct lpo_manifest *manifest; /* for notes */
    struct lpo_stage_record *record;
    struct lpo_analysis_run *analysis; /* of what earlier stages left; NULL in a dry run */
    void *private;                     /* the stage's own, from plan to collect */
};

struct lpo_stage {
    const char *name; /* config key and folder under the run */
    const char *summary;
    bool light;            /* cheap: also in run.mode=light */
    const char *tool;      /* config key (below knobs) of the tool's name, or NULL */
    const char *tool_name; /* its default; for doctor and env.json */
    /* Pure: config in, steps out. LPO_E_MISSING when a tool it needs is not here. NULL: no process.
     */
    int (*plan)(struct lpo_stage_ctx *ctx, struct lpo_steps *steps, struct lpo_err *err);
    /* After step i ended: may add steps. Returns 0 when the end is fine, a negative code with the
     * explanation in err when it is a failure. NULL: exit code 0 is fine, all else fails. */
    int (*after)(struct lpo_stage_ctx *ctx, struct lpo_steps *steps, size_t i,
                 const struct lpo_result *r, struct lpo_err *err);
    /* After the last step: turn the tool's files into ours; where there is none although nothing
     * failed, record->message says why. NULL: nothing to do. */
    int (*collect)(struct lpo_stage_ctx *ctx, struct lpo_err *err);
    /* A stage with `begin` has no process: it starts before the first stage, works beside all of
     * them, and its `collect` ends it after the last. */
    int (*begin)(struct lpo_stage_ctx *ctx, struct lpo_err *err);
};

/* The table, in the order of a run; NULL-terminated. */
const struct lpo_stage *const *lpo_pipeline_stages(void);
const struct lpo_stage *lpo_pipeline_stage_find(const char *name); /* or NULL */
/* The traces that the stages leave (rundir/rundir.h); NULL-terminated. */
const struct lpo_rundir_kind *const *lpo_pipeline_trace_kinds(void);

/* Adds a step that runs the workload bare, its logs under workload/<stage>; a wrapping stage puts
 * its own words first (argv of the returned step is complete up to the program when `prefix` is
 * given). `profiled` says whether run.representative_max_new_tokens applies. */
struct lpo_workload_opts {
    bool profiled, predictions;
    int64_t most_tokens;       /* fewer than the other stages generate; 0: as many */
    const char *const *prefix; /* words before the program, NULL-terminated; or NULL */
};
int lpo_pipeline_stage_add_workload(struct lpo_stage_ctx *ctx, struct lpo_steps *steps,
                                    const char *label, const struct lpo_workload_opts *opts,
                                    struct lpo_step **out, struct lpo_err *err);

/* A step for a tool's own work (export, stats): logs to <dir>/<log>.log. */
struct lpo_step *lpo_pipeline_stage_add_tool(struct lpo_stage_ctx *ctx, struct lpo_steps *steps,
                                             const char *label, const char *log);

/* The tool's program by its config key, or LPO_E_MISSING with how to get it. */
int lpo_pipeline_stage_tool(struct lpo_stage_ctx *ctx, const struct lpo_stage *stage,
                            const char **out, struct lpo_err *err);

/* The default judgement of a step: 0, or LPO_E_CHILD with what happened and where to look. */
int lpo_pipeline_stage_judge(const struct lpo_step *step, const struct lpo_result *r,
                             struct lpo_err *err);

/* Notes for what the workload's metrics.json says went wrong, where it wrote one. */
void lpo_pipeline_stage_note_workload(struct lpo_stage_ctx *ctx);
