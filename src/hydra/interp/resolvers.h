/* SPDX-License-Identifier: Apache-2.0 */
/* hydra/interp/resolvers.h - the functions of ${name:…}. To add one: a row in resolvers.c. */
#pragma once

#include "hydra/interp/interp.h"

/* ${name:args} in container `parent`, as the value of `self`. */
int lpo_interp_resolver_call(struct lpo_interp_scope *s, const char *name, struct lpo_found *args,
                             size_t nargs, const struct lpo_spot *parent,
                             const struct lpo_spot *self, struct lpo_found *out,
                             struct lpo_err *err);
