/* SPDX-License-Identifier: Apache-2.0 */
/* hydra/hydra_node.h - Hydra's own part of the config: its types, and what composing fills in. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct lpo_arena;
struct lpo_choices;
struct lpo_err;
struct lpo_node;
struct lpo_override;
struct lpo_repo;

/* Checks the types of `hydra` and converts what Hydra would ("5" for a name of 5). With `closed`,
 * a key that Hydra does not have is an error too. */
int lpo_hydra_check(struct lpo_arena *a, struct lpo_node *hydra, bool closed, struct lpo_err *err);

/* A member of one of Hydra's structs cannot be deleted. `path` begins with "hydra.". */
int lpo_hydra_check_delete(struct lpo_arena *a, const char *path, struct lpo_err *err);

struct lpo_hydra_facts {
    const struct lpo_override *overrides;
    size_t noverrides;
    const struct lpo_node *choices; /* key to option */
    const struct lpo_repo *repo;
    const char *job_name, *config_name, *cwd;
    const char *const *env; /* NULL: the process's */
};

/* hydra.overrides, hydra.runtime, hydra.job: what is known only after composing. */
int lpo_hydra_fill(struct lpo_arena *a, struct lpo_node *hydra, const struct lpo_hydra_facts *f,
                   struct lpo_err *err);
