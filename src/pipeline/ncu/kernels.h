/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/ncu/kernels.h - which kernels `lpo kernels` is asked for, and the plan for one of them.
 *
 * Each kernel is a capture of its own, in a folder of its own, so that the count of launches is
 * per kernel and one that fails does not take the others with it. */
#pragma once

#include "util/base.h"

struct lpo_node;
struct lpo_stage_ctx;
struct lpo_steps;

struct lpo_wanted_kernel {
    const char *name; /* for people; NULL: the regex */
    const char *regex;
    const char *base; /* what it is compared with (ncu's --kernel-name-base); NULL: as the config
                         says, else the bare function name */
    bool shaped;      /* only launches of this grid and block */
    uint32_t grid[3], block[3];
    unsigned merged; /* rows of the file that were equal to it, besides the first */
};

struct lpo_wanted_kernels {
    struct lpo_wanted_kernel *at;
    size_t len, cap;
    const char *base; /* of rows that say none; NULL: what their regex can fit */
};

/* A regex that cannot be compiled is an error. One that is already there is counted as merged.
 * Without a base it is compared with demangled names where it cannot fit anything else. */
int lpo_pipeline_ncu_wanted_add(struct lpo_arena *a, struct lpo_wanted_kernels *wanted,
                                const struct lpo_wanted_kernel *kernel, struct lpo_err *err);
/* The first `most` rows (0: all) of the file that `lpo top -o` writes: a list, below `kernels:` or
 * bare, of maps with `regex`, `name` or both, and perhaps `name_base`, `grid` and `block`; a bare
 * text is a regex. */
int lpo_pipeline_ncu_wanted_read(struct lpo_arena *a, struct lpo_wanted_kernels *wanted,
                                 const char *path, size_t most, struct lpo_err *err);

/* "kernel_0001_flash_fwd_kernel", or as ncu-profile-kernels named it: "kernel_0001_<MD5 of the
 * name>" */
const char *lpo_pipeline_ncu_kernel_folder(struct lpo_arena *a, size_t number,
                                           const struct lpo_wanted_kernel *kernel, bool md5);

/* What a look at a few kernels does otherwise than the presets, as overrides; NULL-terminated. */
const char *const *lpo_pipeline_ncu_kernel_overrides(void);
/* The node with the flags of ncu, made where a config of the user's own does not have it. */
struct lpo_node *lpo_pipeline_ncu_kernel_flags(struct lpo_arena *a, struct lpo_node *config);

#define LPO_KERNEL_REPORT  "ncu.ncu-rep"
#define LPO_KERNEL_LOG     "ncu.log"
#define LPO_KERNEL_DETAILS "ncu.details.csv"

/* The capture into ctx->dir, whose settings are those of the stage ncu. */
int lpo_pipeline_ncu_kernel_plan(struct lpo_stage_ctx *ctx, const char *ncu, bool per_config,
                                 const struct lpo_wanted_kernel *kernel, struct lpo_steps *steps,
                                 struct lpo_err *err);
/* Keeps what was asked for: the launches of that grid and block, of that instance of a template.
 * *said is what else was measured in its place, or NULL. */
struct lpo_kernel_profiles;
void lpo_pipeline_ncu_kernel_keep(struct lpo_arena *a, const struct lpo_wanted_kernel *kernel,
                                  struct lpo_kernel_profiles *measured, const char **said);
/* The tables of its report: details, and one per section that was asked for by name. */
void lpo_pipeline_ncu_kernel_plan_tables(struct lpo_stage_ctx *ctx, const char *ncu,
                                         struct lpo_steps *steps);
