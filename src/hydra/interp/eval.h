/* SPDX-License-Identifier: Apache-2.0 */
/* hydra/interp/eval.h - the value of a parsed ${…}; and what interp.c gives for it. */
#pragma once

#include "hydra/interp/interp.h"

/* The value of an expression in container `parent`, as the value of `self`. */
int lpo_interp_eval(struct lpo_interp_scope *s, const struct lpo_iexpr *e,
                    const struct lpo_spot *parent, const struct lpo_spot *self,
                    struct lpo_found *out, struct lpo_err *err);

/* interp.c: counts one step and the bytes that it made; LPO_E_LIMIT when they are too many. */
int lpo_interp_charge(struct lpo_interp_scope *s, uint64_t bytes, struct lpo_err *err);
/* interp.c: what ${path} refers to. */
int lpo_interp_node_at(struct lpo_interp_scope *s, const struct lpo_spot *from, const char *path,
                       struct lpo_found *out, struct lpo_err *err);
