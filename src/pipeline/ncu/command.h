/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/ncu/command.h - a capture with ncu as data, and the one place that makes words of it.
 *
 * The stage and `lpo kernels` fill the struct from pipeline.ncu.ncu_cli, limit it (regions, the
 * most expensive kernels, metrics that exist) and render it last. A second try is a copy with
 * another value, not a command line that is taken apart. Private to this folder. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "run/step.h"
#include "settings/settings.h"

struct lpo_analysis_run;
struct lpo_arena;
struct lpo_err;
struct lpo_stage_ctx;

/* What the stage and `lpo kernels` read of pipeline.ncu, besides the flags of one word. */
struct lpo_ncu_settings {
    bool gating_nvtx, seed_from_nsys, top_kernels, region_mode, export_csv, force_overwrite;
    int64_t per_config, max_new_tokens; /* pipeline.ncu.sampling */
    struct lpo_settings_words nvtx_include, nvtx_exclude, regions_include, regions_exclude;
    struct lpo_settings_words sections, metrics, extra_args;
};

struct lpo_ncu_command {
    const char *program;
    /* ncu_cli.*: one word each; NULL: not passed */
    const char *target_processes, *replay_mode, *set, *kernel_name, *kernel_name_base;
    const char *launch_skip, *launch_count, *clock_control, *cache_control, *graph_profiling;
    struct lpo_settings_words sections;
    struct lpo_words metrics;
    struct lpo_settings_words extra; /* the user's own, passed as they are */
    bool nvtx;                       /* record ranges, so that kernels can be assigned to regions */
    struct lpo_words nvtx_include, nvtx_exclude; /* in ncu's grammar */
    bool per_config;          /* launches are counted for each (kernel, grid, block) */
    int64_t per_config_count; /* how many of each; 0: launch_count */
    bool mangled_names;       /* tell configurations apart by linker names */
    bool overwrite;
    const char *output; /* `output`.ncu-rep and `output`.log */
};

/* What pipeline.ncu.ncu_cli says; nothing about NVTX or outputs, which depend on the run. */
struct lpo_ncu_command lpo_pipeline_ncu_command(const struct lpo_stage_ctx *ctx,
                                                const char *program);
/* All words before the program. */
struct lpo_words lpo_pipeline_ncu_command_words(struct lpo_arena *a,
                                                const struct lpo_ncu_command *c);

/* The NVTX filter that ncu_cli.nvtx and region mode ask for, in ncu's grammar; nothing when gating
 * is off. A pattern that fits no known region is an error that names the nearest. */
int lpo_pipeline_ncu_nvtx_filter(struct lpo_stage_ctx *ctx, struct lpo_ncu_command *command,
                                 struct lpo_err *err);
/* "regex:^(a|b|c)$" over the function names of the n kernels with the most GPU time, from that
 * stage, or with NULL from native, else from nsys; NULL where it recorded no kernel. */
const char *lpo_pipeline_ncu_top_kernels(struct lpo_arena *a, struct lpo_analysis_run *run,
                                         const char *stage, size_t n);
