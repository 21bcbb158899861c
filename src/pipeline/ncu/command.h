/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/ncu/command.h - a capture with ncu as data, and the one place that makes words of it.
 *
 * The stage and `lpo kernels` fill the struct from pipeline.ncu.ncu_cli, limit it (regions, the
 * most expensive kernels, metrics that exist) and render it last. A second try is a copy with
 * another value, not a command line that is taken apart. Private to this folder. */
#pragma once

#include "pipeline/capture_words.h"
#include "run/one_rank.h"

struct lpo_result;
struct lpo_stage;
struct lpo_stage_ctx;

#define LPO_NCU_NO_STEP ((size_t)-1)
#define LPO_NCU_TEMP    "tmp" /* in the stage's folder, while it runs */

/* What the stage and `lpo kernels` read of pipeline.ncu, besides the flags of one word. */
struct lpo_ncu_settings {
    bool gating_nvtx, top_kernels, seed_from_nsys, region_mode, export_csv, force_overwrite;
    const char *regions_capture;
    struct lpo_capture_words capture;
    int64_t per_config, max_new_tokens; /* pipeline.ncu.sampling */
    struct lpo_settings_words nvtx_include, nvtx_exclude, regions_include, regions_exclude;
    struct lpo_settings_words kernels_include, kernels_exclude; /* pipeline.ncu.regions.kernels */
    struct lpo_settings_words sections, metrics, extra_args;
};

/* Which launches are measured, whoever asked for it: flags of ncu_cli, the regions, the lists of
 * regions.kernels, the most expensive kernels of an earlier stage, representatives, `lpo kernels`.
 */
struct lpo_ncu_selection {
    bool nvtx; /* record ranges, so that kernels can be assigned to regions */
    struct lpo_words nvtx_include, nvtx_exclude; /* in ncu's grammar */
    const char *range_filter;                    /* which call of the included ranges; NULL: all */
    const char *kernel_name, *kernel_name_base;  /* NULL: every kernel; functions */
    const char *launch_skip, *launch_count;      /* NULL: none; all */
    bool per_config;          /* launches are counted for each (kernel, grid, block) */
    int64_t per_config_count; /* how many of each; 0: launch_count */
    bool mangled_names;       /* tell configurations apart by linker names */
};

struct lpo_ncu_command {
    const char *program;
    /* ncu_cli.*: one word each; NULL: not passed */
    const char *target_processes, *replay_mode, *set;
    const char *clock_control, *cache_control, *graph_profiling;
    struct lpo_settings_words extra; /* the user's own, passed as they are */
    struct lpo_words sections, metrics;
    struct lpo_ncu_selection select;
    bool overwrite;
    const char *output; /* `output`.ncu-rep and `output`.log */
    const char *temp;   /* folder of ncu's own temporary files; NULL: the user's */
};

/* What pipeline.ncu.ncu_cli says; nothing about NVTX or outputs, which depend on the run. */
struct lpo_ncu_command lpo_pipeline_ncu_command(const struct lpo_stage_ctx *ctx,
                                                const char *program);
/* All words before the program. */
struct lpo_words lpo_pipeline_ncu_command_words(struct lpo_arena *a,
                                                const struct lpo_ncu_command *c);

/* --- which launches (selection.c, nvtx_filter.c) -------------------------------------------- */

/* Is the capture limited to some kernels, by range, name or number? */
bool lpo_pipeline_ncu_selection_limits(const struct lpo_ncu_selection *s);
/* The same capture of every kernel. How many are measured stays: launch_count, per_config. */
void lpo_pipeline_ncu_selection_drop(struct lpo_ncu_selection *s);
/* What the config alone decides: no name where gating is off, one launch of each configuration
 * where representatives are measured. */
void lpo_pipeline_ncu_select(struct lpo_stage_ctx *ctx, struct lpo_ncu_selection *s,
                             bool representatives);
/* By name, where the user set none: what regions.kernels allows, or the most expensive kernels that
 * an earlier stage of this run saw; in one rank of several, none that are collectives. */
void lpo_pipeline_ncu_select_seen(struct lpo_stage_ctx *ctx, struct lpo_ncu_selection *s,
                                  bool ranks);
/* Fails where pipeline.ncu.capture asks for what ncu cannot do. */
int lpo_pipeline_ncu_check(struct lpo_stage_ctx *ctx, struct lpo_err *err);
/* The NVTX filter that ncu_cli.nvtx or region mode asks for, in ncu's grammar; nothing when gating
 * is off. A gate on ranges that do not exist is dropped with a note. *nothing says why region mode
 * has no region to capture, else it is untouched; NULL: a region is not asked for. */
int lpo_pipeline_ncu_nvtx_filter(struct lpo_stage_ctx *ctx, struct lpo_ncu_selection *s,
                                 const char **nothing, struct lpo_err *err);

/* --- what this ncu has (questions.c) --------------------------------------------------------- */

enum lpo_ncu_question { LPO_ASK_SECTIONS, LPO_ASK_SETS, LPO_ASK_METRICS, LPO_NCU_QUESTIONS };

/* Appends a step for each question about what the command names; its index in `asked`, or
 * LPO_NCU_NO_STEP. What ncu prints about an unknown name differs between versions, and it does so
 * only after it has started the program. */
void lpo_pipeline_ncu_ask(struct lpo_stage_ctx *ctx, const struct lpo_ncu_command *command,
                          struct lpo_steps *steps, size_t asked[LPO_NCU_QUESTIONS]);
/* After the step of a question ended: what this ncu does not have is taken out of the command, with
 * a note that names the nearest. LPO_E_CONFIG where nothing to collect is left. */
int lpo_pipeline_ncu_answer(struct lpo_stage_ctx *ctx, enum lpo_ncu_question question,
                            const struct lpo_step *step, const struct lpo_result *r,
                            struct lpo_ncu_command *command, struct lpo_err *err);

/* --- the captures of one run of the stage: one, or one for each region (capture.c) ------------ */

/* With regions.capture=separate every region has a capture in ncu/regions/<name>/ and a folder of
 * its own for the workload's files. A region inside another one that is captured too is measured
 * twice; its report has another name, because reports count every launch once. */
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

/* Nsight Compute as a stage; shared with `lpo kernels`. */

extern const struct lpo_stage lpo_pipeline_ncu;

/* A table that ncu itself makes of a report, beside our own. */
struct lpo_ncu_table {
    const char *label, *page, *file, *log;
    const char *section; /* only this one; NULL: all */
    bool csv;
};
/* An optional step: a table that cannot be made is no failure. */
struct lpo_step *lpo_pipeline_ncu_add_table(struct lpo_stage_ctx *ctx, struct lpo_steps *steps,
                                            const char *ncu, const char *report,
                                            const struct lpo_ncu_table *table);

struct lpo_result;
struct lpo_tool_message;

/* What the capture's log and its end mean together, in plain words; NULL when all is well.
 * *message is the known line of the log, or NULL. */
const char *lpo_pipeline_ncu_problem(struct lpo_arena *a, const char *log,
                                     const struct lpo_step *step, const struct lpo_result *r,
                                     const struct lpo_tool_message **message);
