/* SPDX-License-Identifier: Apache-2.0 */
/* gpu/sampler/host.h - CUPTI's host object: which metrics a chip has, and in how many passes.
 *
 * It needs no GPU, only the chip's name; so every chip is asked about on any machine. */
#pragma once

#include "gpu/sampler/cupti_pm_abi.h"

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
