/* hydra/compose_scope.h - what interpolations of a composed config may ask for. Between compose.c,
 * which makes the config, and composed.c, which reads it. */
#pragma once

#include "hydra/interp/interp.h"

struct lpo_composed;
struct lpo_err;

struct lpo_interp_scope lpo_compose_scope(struct lpo_composed *c);
void lpo_compose_warn(void *composed, const char *text);
/* Whatever it was below, for the caller the config is wrong: LPO_E_CONFIG. */
int lpo_compose_fault(int rc, struct lpo_err *err);
