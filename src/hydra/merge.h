/* SPDX-License-Identifier: Apache-2.0 */
/* hydra/merge.h - one config over another, and changes by path, by OmegaConf's rules.
 *
 * Maps merge key by key, lists are replaced, ??? never overwrites a value, a map and a list do not
 * mix. A reference (${…}) to a container becomes a copy of it before something is merged over it.
 */
#pragma once

#include <stdbool.h>

struct lpo_err;
struct lpo_node;
struct lpo_interp_scope;
struct lpo_spot;

/* Merges `src` into the container at `dest`. `closed`: no new keys (Hydra's struct mode). */
int lpo_merge(struct lpo_interp_scope *s, const struct lpo_spot *dest, const struct lpo_node *src,
              bool closed, struct lpo_err *err);

/* Adds the keys of `from` that the map does not have, at every level. */
struct lpo_arena;
void lpo_merge_missing(struct lpo_arena *a, struct lpo_node *into, const struct lpo_node *from);

/* Sets the value at a dotted path below root; maps and lists are merged into what is there. With
 * `force`, what is missing on the way is made; without, a new key is LPO_E_NOTFOUND. */
int lpo_merge_update(struct lpo_interp_scope *s, struct lpo_node *root, const char *path,
                     const struct lpo_node *value, bool force, struct lpo_err *err);

/* An override of a single value: key=1, +key=1, ++key=1, ~key. */
struct lpo_override;
int lpo_merge_override(struct lpo_interp_scope *s, struct lpo_node *root,
                       const struct lpo_override *ov, struct lpo_err *err);
