/* SPDX-License-Identifier: Apache-2.0 */
/* gpu/sampler/problem.h - what a result of CUPTI means for the user, and what helps. */
#pragma once

#include "gpu/sampler/cupti_pm_abi.h"

struct lpo_err;

/* Fails with LPO_E_MISSING and one line. `call` is the function that gave `result`; `device` is
 * asked for reasons (a virtual GPU, confidential computing) where the result has none. */
int lpo_sampler_problem(const struct pm_cupti *c, const char *call, int result, int device,
                        struct lpo_err *err);
