/* SPDX-License-Identifier: Apache-2.0 */
/* gpu/sampler/find.h - a libcupti that can sample, wherever this machine has one.
 *
 * LPO_LIBCUPTI names one and no other is tried (tests use one of ours). Else, in this order: the
 * loader's path, CUDA_HOME and CUDA_PATH, the usual folders of the toolkit, and the packages of
 * Python installations (nvidia/cuda_cupti, nvidia/cu13), which is where PyTorch has it from. */
#pragma once

#include "gpu/sampler/cupti_pm_abi.h"
#include "util/base.h"

/* `driver`: its CUDA version as cuDriverGetVersion() gives it (13000); a libcupti of that major
 * version comes first. LPO_E_MISSING says what is missing and how to get it. The library stays
 * loaded: CUPTI cannot be unloaded. */
int lpo_sampler_cupti_open(struct lpo_arena *a, int driver, struct pm_cupti *out,
                           struct lpo_err *err);
/* Where that libcupti is, and whether libnvperf_host.so, which it needs, lies beside it. */
const char *lpo_sampler_cupti_path(struct lpo_arena *a, const struct pm_cupti *c, bool *has_host);

/* CUPTI's host object: which metrics a chip has, and in how many passes.
 *
 * It needs no GPU, only the chip's name; so every chip is asked about on any machine. */

/* A host object with these metrics, and the image that configures the hardware for them. Returns
 * the number of passes, or minus CUPTI's result. `availability` may be NULL. The caller closes the
 * host and frees the image, also after a failure. */
int lpo_sampler_host_configure(const struct pm_cupti *c, const char *chip,
                               const uint8_t *availability, const char **names, size_t count,
                               void **host, uint8_t **image, size_t *bytes);
void lpo_sampler_host_close(const struct pm_cupti *c, void *host); /* NULL is fine */
/* The number of passes alone. */
int lpo_sampler_host_passes(const struct pm_cupti *c, const char *chip, const uint8_t *availability,
                            const char **names, size_t count);
