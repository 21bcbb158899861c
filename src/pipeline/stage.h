/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/stage.h - one profiler (or none) run over the workload: a row of the stage table.
 *
 * A stage plans processes as data, prepares what they need, may look at the end of each one and add
 * further steps, and collects what they left. All that the rest of the program knows about a stage
 * is its row; its settings are below pipeline.<name> and nowhere else. README.md says how to add
 * one. */
#pragma once

#include "run/step.h"
#include "run/workload/workload.h"
#include "settings/settings.h"

struct lpo_analysis_run;
struct lpo_manifest;
struct lpo_node;
struct lpo_result;
struct lpo_rundir_kind;
struct lpo_stage_record;

/* A stage that is limited to regions checks their names here before it starts its tool: a name that
 * does not exist would cost a whole run of the program and leave nothing. Such a limit is dropped
 * with one line: lpo_pipeline_stage_drop_gate(). */
/* One region; docs/run.md describes the file, native/regions.json. */
struct lpo_known_region {
    const char *path; /* "decode/LLM@step": '/' inside a name as "\/", other domains "domain@" */
    bool start_end, prepares; /* `prepares`: loading, warming up (conf/rules/steps.yaml) */
    uint64_t visits;
};

struct lpo_known_regions {
    struct lpo_known_region *at; /* NULL: nothing is known */
    size_t len;
    const char **domains; /* those besides the default one; NULL: every '@' ends a domain */
    size_t ndomains;
    bool complete; /* the program was recorded to its end: a region that is not here does not exist,
                    * and with `len` 0 there is none at all */
};

/* From the file of that kind at `path`; leaves `out` empty where there is none. */
void lpo_pipeline_known_regions_read(struct lpo_arena *a, const char *path,
                                     struct lpo_known_regions *out);

struct lpo_stage;

struct lpo_stage_ctx {
    struct lpo_arena *arena;
    const struct lpo_stage *stage;
    const struct lpo_node *config; /* the whole, resolved and checked */
    const void *settings;          /* the stage's own, as its row describes them */
    const char *run_dir;           /* absolute */
    const char *dir;               /* run_dir/<name>; it exists unless this is a dry run */
    const char *workload_dir;      /* run_dir/workload/<name>; the same */
    const char *call_dir; /* where lpo was called, or the run folder with hydra.job.chdir */
    bool light;           /* run.mode=light */
    bool in_job;          /* other ranks run the program once beside this one: start it once */
    bool dry_run;         /* only plan: the commands are printed, nothing is started or written */
    struct lpo_known_regions known; /* what an earlier stage of this run recorded */
    bool regions_will_be_known;     /* a dry run, in which an earlier stage would record them */
    struct lpo_manifest *manifest;  /* for notes */
    struct lpo_stage_record *record;
    struct lpo_workload_request request; /* of the workload that was planned last */
    bool has_workload;                   /* one was */
    struct lpo_analysis_run *analysis;   /* of what earlier stages left; NULL in a dry run */
    const char *nothing_to_do; /* set by plan, with no step: why this workload has no use for it */
    void *private;             /* the stage's own, from plan to collect */
};

/* Something that a stage needs on this machine, for `lpo doctor`. */
struct lpo_stage_check {
    const char *name;
    const char *cost;   /* what does not work without it */
    const char *remedy; /* how to get it */
    /* Is it here? `detail` becomes its version or path, or what is missing; `remedy` may be
     * replaced where the usual one would not help. */
    bool (*look)(struct lpo_arena *a, const char **detail, const char **remedy);
};

struct lpo_stage {
    const char *name; /* config key and folder under the run */
    const char *summary;
    bool light;    /* cheap: also in run.mode=light */
    bool one_rank; /* of a job, rank 0 alone does it; the program runs in the others as it is */
    const char *program;                       /* config key of the tool that it starts, or NULL */
    const struct lpo_settings_field *settings; /* what it reads of the config, and where to */
    size_t nsettings, settings_size;
    const struct lpo_rundir_kind *results; /* what reports find in its folder; or NULL */
    const struct lpo_stage_check *checks;  /* ends with a row without a name; or NULL, and then */
    const char *no_checks;                 /* why it needs none */
    const char *regions_file;              /* in its folder: the regions it recorded; or NULL */
    const char *const *from_start;         /* config keys of times that count from the start of each
                                              process, NULL-terminated; or NULL: it has none */
    /* Refuses settings that no machine could do, before the first stage of a run begins. Only the
     * arena, the config and the settings of ctx are there. NULL: the schema says all. */
    int (*check_settings)(struct lpo_stage_ctx *ctx, struct lpo_err *err);
    /* Pure: config and ctx in, steps out. It writes nothing and starts nothing; it may look whether
     * a program exists. LPO_E_MISSING when a tool it needs is not here. NULL: no process. */
    int (*plan)(struct lpo_stage_ctx *ctx, struct lpo_steps *steps, struct lpo_err *err);
    /* After plan and before the first step: folders, files for the tool, what only this machine can
     * answer. May change the steps. Not called in a dry run. NULL: nothing to do. */
    int (*prepare)(struct lpo_stage_ctx *ctx, struct lpo_steps *steps, struct lpo_err *err);
    /* After step i ended: may add steps and change later ones. Returns 0 when the end is fine, a
     * negative code with the explanation in err when it is a failure. NULL: exit code 0 is fine,
     * all else fails. */
    int (*after)(struct lpo_stage_ctx *ctx, struct lpo_steps *steps, size_t i,
                 const struct lpo_result *r, struct lpo_err *err);
    /* After the last step: turn the tool's files into ours; where there is none although nothing
     * failed, record->message says why. NULL: nothing to do. */
    int (*collect)(struct lpo_stage_ctx *ctx, struct lpo_err *err);
    /* A stage with `begin` has no process of its own: it starts before the first stage, runs beside
     * all of them, and its `collect` ends it after the last. Either may set ctx->nothing_to_do: it
     * is skipped. */
    int (*begin)(struct lpo_stage_ctx *ctx, struct lpo_err *err);
    /* For a stage with `begin`: before each program that stage `other` starts in place of the
     * workload, and after it has ended. May be NULL. */
    void (*plan_along)(struct lpo_stage_ctx *ctx, const struct lpo_stage *other,
                       struct lpo_step *step); /* before that: what the program is to be given */
    void (*start_along)(struct lpo_stage_ctx *ctx, const struct lpo_stage *other,
                        const struct lpo_step *step);
    void (*stop_along)(struct lpo_stage_ctx *ctx);
};

/* The table, in the order of a run; NULL-terminated. */
const struct lpo_stage *const *lpo_pipeline_stages(void);
const struct lpo_stage *lpo_pipeline_stage_find(const char *name); /* or NULL */
/* The stage with this role (enum lpo_rundir_role), or NULL. */
const struct lpo_stage *lpo_pipeline_stage_with(unsigned role);
/* The traces that the stages leave (rundir/rundir.h), from their rows; NULL-terminated. */
const struct lpo_rundir_kind *const *lpo_pipeline_trace_kinds(struct lpo_arena *a);

/* For a row: .settings of `owner`, a struct, by a table of LPO_SETTING()s. */
#define LPO_STAGE_SETTINGS(owner, table)                                                           \
    .settings = table, .nsettings = sizeof table / sizeof *table,                                  \
    .settings_size = sizeof(struct owner)
/* Fills ctx->settings from ctx->config. */
void lpo_pipeline_stage_read_settings(const struct lpo_stage *stage, struct lpo_stage_ctx *ctx);

/* Adds a step that runs the workload, its logs under workload/<stage>. A stage whose tool starts
 * the program puts the tool's words before it with lpo_run_step_wrap(). */
struct lpo_workload_opts {
    bool profiled; /* run.representative_max_new_tokens applies */
    bool predictions;
    int64_t most_tokens; /* fewer than the other stages generate; 0: as many */
    bool own_warmup;     /* `warmup` repeats, not run.warmup */
    int64_t warmup;
};
int lpo_pipeline_stage_add_workload(struct lpo_stage_ctx *ctx, struct lpo_steps *steps,
                                    const char *label, const struct lpo_workload_opts *opts,
                                    struct lpo_step **out, struct lpo_err *err);
/* One rank of a job is slow, and the others wait for it: what would end them is switched off for
 * this step, unless the user has set it. */
void lpo_pipeline_stage_wait_long(struct lpo_stage_ctx *ctx, struct lpo_step *step);
/* Writes the files that the planned workload reads; not in a dry run. */
int lpo_pipeline_stage_prepare_workload(struct lpo_stage_ctx *ctx, struct lpo_err *err);

/* A step for what a tool does with its own files (export, stats): logs to <dir>/<log>.log. */
struct lpo_step *lpo_pipeline_stage_add_tool(struct lpo_stage_ctx *ctx, struct lpo_steps *steps,
                                             const char *label, const char *log);

/* The path of the tool that the row names, or LPO_E_MISSING with how to get it. */
int lpo_pipeline_stage_tool(struct lpo_stage_ctx *ctx, const struct lpo_stage *stage,
                            const char **out, struct lpo_err *err);

/* The key limits the stage to a range that the program does not enter (above): one line
 * that the tool runs without the limit. `near`: the range that was probably meant, or NULL. */
void lpo_pipeline_stage_drop_gate(struct lpo_stage_ctx *ctx, const char *key, const char *gate,
                                  const char *near);

/* For a check: is the tool on PATH? Its version is the detail. */
bool lpo_pipeline_stage_look_for_tool(struct lpo_arena *a, const char *tool, const char **detail);

/* The default judgement of a step: 0, or LPO_E_CHILD with what happened and where to look. */
int lpo_pipeline_stage_judge(const struct lpo_step *step, const struct lpo_result *r,
                             struct lpo_err *err);

/* Notes for what the workload's metrics.json says went wrong, where it wrote one. */
void lpo_pipeline_stage_note_workload(struct lpo_stage_ctx *ctx);

/* --- Python workloads, by a `sitecustomize` folder
 * ------------------------------------------------- */

/* Puts the folder first on the program's PYTHONPATH, once: the interpreter imports `sitecustomize`
 * at its start, and ours then imports the one that it hides. */
int lpo_pipeline_python_inject(struct lpo_stage_ctx *ctx, struct lpo_step *step,
                               struct lpo_err *err);

/* What Nsight's tools print when something is wrong, in plain words.
 *
 * Both tools print long logs in which one line matters. Each known line is a row: a piece of its
 * text, what it means, what to do, and what follows from it. */
enum lpo_tool_what {
    LPO_TOOL_FILTERED = 1, /* a filter may be at fault: trying again without it can help */
    LPO_TOOL_FATAL = 2,    /* no usable result can be expected, of this or of the next try */
    LPO_TOOL_MISSING = 4,  /* a permission is missing: exit code 3 */
    LPO_TOOL_ADVICE = 8,   /* worth a note; not a failure where the tool ended well */
};

struct lpo_tool_message {
    const char *text;    /* stands in the tool's output */
    const char *meaning; /* one line for people */
    const char *remedy;
    unsigned what; /* enum lpo_tool_what */
};

/* The first row whose text stands in `log`, by the order of the table; NULL: none. */
const struct lpo_tool_message *lpo_pipeline_tool_message_find(const char *log);
