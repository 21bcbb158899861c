/* SPDX-License-Identifier: Apache-2.0 */
/* hydra/unlisted.h - groups that a primary config need not list (struct lpo_unlisted, compose.h).
 *
 * Hydra refuses group=option for a group that no defaults list names. Old configs name neither
 * `workload` nor `dataset/sampling`, and their users choose them on the command line. */
#pragma once

#include <stddef.h>

struct lpo_composed;
struct lpo_err;
struct lpo_interp_scope;
struct lpo_override;
struct lpo_unlisted;

/* Overrides of groups that are listed after all lose a package that is the group's own, and a `+`
 * with it; overrides of groups that are not listed are taken out of *overrides. */
void lpo_unlisted_take(struct lpo_composed *c, const struct lpo_unlisted *table, const char *config,
                       struct lpo_override **overrides, size_t *count);
/* Places the content of groups that are not listed. After the defaults list is merged. */
int lpo_unlisted_place(struct lpo_composed *c, struct lpo_interp_scope *scope,
                       const struct lpo_unlisted *table, const char *config, struct lpo_err *err);
