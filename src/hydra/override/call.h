/* SPDX-License-Identifier: Apache-2.0 */
/* hydra/override/call.h - the functions of the override grammar: casts, sweeps, sort, shuffle.
 *
 * Arguments are checked as Hydra checks them, because an override that
 * fails there has to fail here. To add a function: one row in call.c. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct lpo_arena;
struct lpo_err;
struct lpo_node;
struct lpo_sweep;

/* What an element of the grammar gives: exactly one of the two. */
struct lpo_override_value {
    struct lpo_node *node;
    struct lpo_sweep *sweep;
};

struct lpo_ov_arg {
    const char *name; /* NULL: positional */
    struct lpo_override_value value;
};

#define LPO_OV_MAX_PARAMS 4

/* A call with its arguments in place. */
struct lpo_override_call {
    struct lpo_arena *arena;
    const struct lpo_override_value *args; /* *args of the function */
    size_t count;
    struct lpo_override_value
        params[LPO_OV_MAX_PARAMS]; /* in the order of the row; both NULL: not given */
};

typedef int lpo_ov_fn(struct lpo_override_call *call, struct lpo_override_value *out,
                      struct lpo_err *err);

/* `name` (len bytes) applied to the arguments. LPO_E_CONFIG when the function refuses. */
int lpo_override_call(struct lpo_arena *a, const char *name, size_t len,
                      const struct lpo_ov_arg *args, size_t count, struct lpo_override_value *out,
                      struct lpo_err *err);

/* sort.c */
lpo_ov_fn lpo_override_sort, lpo_override_shuffle;

/* A list with one item per value; a sweep among them is refused. */
int lpo_override_list(struct lpo_arena *a, const struct lpo_override_value *values, size_t count,
                      struct lpo_node **out, struct lpo_err *err);
/* Changes the order of a list's items, differently each time. */
void lpo_override_shuffle_items(struct lpo_node *list);
