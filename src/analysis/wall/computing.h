/* SPDX-License-Identifier: Apache-2.0 */
/* analysis/wall/computing.h - the time in which a device computed, as stretches that can be asked.
 */
#pragma once

#include "util/base.h"

struct lpo_gpu_op;

/* They neither overlap nor touch. */
struct lpo_wall_stretch {
    int64_t start_ns, end_ns;
    int64_t before_ns; /* of all stretches before it */
};

struct lpo_wall_computing {
    LPO_VEC(struct lpo_wall_stretch) all;
};

/* Kernels come in order of their starts. */
void lpo_wall_computing_add(struct lpo_wall_computing *c, const struct lpo_gpu_op *op);
/* Time in which the device computed before `ns`. */
int64_t lpo_wall_computed_before(const struct lpo_wall_computing *c, int64_t ns);
void lpo_wall_computing_free(struct lpo_wall_computing *c);
