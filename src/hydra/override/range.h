/* SPDX-License-Identifier: Apache-2.0 */
/* hydra/override/range.h - the numbers of a range sweep. */
#pragma once

#include <stddef.h>

struct lpo_arena;
struct lpo_node;
struct lpo_sweep;

/* Why a range gives no numbers; type is the name of the Python error Hydra ends with, and NULL
 * where Hydra would never end. */
struct lpo_range_fault {
    const char *type, *message;
};

/* Integers while all three are; else floats, stepped in decimals. Returns 0, or -1 with *fault. */
int lpo_override_range_values(struct lpo_arena *a, const struct lpo_sweep *range,
                              struct lpo_node **out, struct lpo_range_fault *fault);
