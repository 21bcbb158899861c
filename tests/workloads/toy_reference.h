/* SPDX-License-Identifier: Apache-2.0 */
/* The toy model written a second time, from the formulas: double precision, no cache, every
 * position from scratch. Shares only the weights with workloads/toy/model.c. */
#pragma once

#include "toy/weights.h"

/* Logits after the last of `count` tokens of one sequence. */
void reference_logits(const struct toy_weights *w, const int *tokens, int count, double *logits);
