/* SPDX-License-Identifier: Apache-2.0 */
/* hydra/apply.h - overrides of single values: key=1, +key=1, ++key=1, ~key. */
#pragma once

struct lpo_err;
struct lpo_node;
struct lpo_override;
struct lpo_interp_scope;

int lpo_apply(struct lpo_interp_scope *s, struct lpo_node *root, const struct lpo_override *ov,
              struct lpo_err *err);
