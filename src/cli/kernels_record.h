/* SPDX-License-Identifier: Apache-2.0 */
/* cli/kernels_record.h - command.yaml of one kernel: enough to know what was measured, on what, and
 * to do it again. */
#pragma once

struct lpo_arena;
struct lpo_err;
struct lpo_gpus;
struct lpo_wanted_kernel;
struct lpo_kernel_outcome;
struct lpo_kernels_job;
struct lpo_result;
struct lpo_step;

/* The same for every kernel of one call. */
struct lpo_kernels_facts {
    const struct lpo_kernels_job *k;
    const struct lpo_gpus *gpus;
    const char *ncu_version; /* NULL unknown */
};

/* What became of one. */
struct lpo_kernels_end {
    const struct lpo_wanted_kernel *kernel;
    const struct lpo_step *step;
    const struct lpo_result *result;
    const struct lpo_kernel_outcome *outcome;
};

/* command.yaml of the whole call, with the keys of ncu-profile-kernels. */
int lpo_cli_kernels_record_call(struct lpo_arena *a, const struct lpo_kernels_facts *facts,
                                const char *dir, struct lpo_err *err);
int lpo_cli_kernels_record(struct lpo_arena *a, const struct lpo_kernels_facts *facts,
                           const struct lpo_kernels_end *end, const char *dir, struct lpo_err *err);
