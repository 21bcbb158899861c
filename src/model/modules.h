/* model/modules.h - needs told per block of the model: "decoder/layer3/attn", "sam/neck".
 *
 * Rows follow the model's order; a block that has no tensors and runs nothing has no row. */
#pragma once

#include "model/needs.h"
#include "util/vec.h"

struct lpo_module {
    const char *name;
    struct lpo_model_place at;
    uint64_t params, active_params;
    struct lpo_sums sums[LPO_PHASES]; /* of the whole model */
    struct lpo_sums rank[LPO_PHASES]; /* of the busiest rank; the same when tp is 1 */
};

typedef LPO_VEC(struct lpo_module) lpo_module_vec;

/* Names live in the arena; free the rows with lpo_vec_free(). */
void lpo_model_modules_list(struct lpo_arena *a, const struct lpo_model_needs *needs,
                            lpo_module_vec *out);
