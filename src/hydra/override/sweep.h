/* SPDX-License-Identifier: Apache-2.0 */
/* hydra/override/sweep.h - values to try, and the jobs they make.
 *
 * An override such as x=1,2 or x=range(3) is a sweep. `lpo run --multirun` makes the product of
 * all sweeps of a command line: the last one varies fastest, as with Hydra's basic sweeper. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "hydra/override/override.h"

struct lpo_arena;
struct lpo_err;
struct lpo_node;

#define LPO_SWEEP_MAX_VALUES 100000 /* of one sweep */
#define LPO_SWEEP_MAX_JOBS   100000 /* of one command line */

struct lpo_sweep {
    enum lpo_value_type type;
    bool shuffle;
    const char **tags; /* sorted, each once */
    size_t ntags;
    struct lpo_node *values;              /* choices: a list */
    struct lpo_node *start, *stop, *step; /* range; an interval has start and stop */
    struct lpo_node *include, *exclude;   /* glob: lists of patterns */
};

/* The options of a config group, for glob(): a list of names in Hydra's order (sorted), put in the
 * arena. A group that does not exist has none. */
struct lpo_sweep_options {
    void *with;
    int (*list)(void *with, struct lpo_arena *a, const char *group, const char ***names,
                size_t *count, struct lpo_err *err);
};

/* One job: its overrides as Hydra rewrites them ("x=1", "s=a\ b", "~db=null"). */
struct lpo_sweep_job {
    size_t num; /* from 0 */
    const char **overrides;
    size_t count;
};

struct lpo_override_sweep_jobs {
    struct lpo_sweep_job *at;
    size_t count;
    struct lpo_override *hydra; /* the overrides of hydra's own settings, the same for all jobs */
    size_t nhydra;
};

/* `overrides` of the command line and `params` (hydra.sweeper.params: a map of key to the text of
 * a value; NULL when there are none). A later override of the same key replaces an earlier one in
 * its place; the command line wins over params. */
int lpo_override_sweep_jobs(struct lpo_arena *a, const struct lpo_override *overrides, size_t count,
                            const struct lpo_node *params, const struct lpo_sweep_options *from,
                            struct lpo_override_sweep_jobs *out, struct lpo_err *err);

/* Why a range gives no numbers; type is the name of the Python error Hydra ends with, and NULL
 * where Hydra would never end. */
struct lpo_range_fault {
    const char *type, *message;
};

/* Integers while all three are; else floats, stepped in decimals. Returns 0, or -1 with *fault. */
int lpo_override_range_values(struct lpo_arena *a, const struct lpo_sweep *range,
                              struct lpo_node **out, struct lpo_range_fault *fault);

/* As Python's fnmatch: * ? [a-z] [!a-z]. Characters are code points. A '[' without its ']' matches
 * itself. */
bool lpo_override_glob_match(const char *pattern, const char *name);
