/* SPDX-License-Identifier: Apache-2.0 */
/* analysis/wall/hiding.h - behind which computing kernels the time of collectives is hidden.
 *
 * Each moment in which a collective runs beside computing kernels of its GPU belongs to one of
 * them: the one that began first. So the rows of one kind add up to its time less its exposed time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "util/vec.h"

struct lpo_region_tree;

struct lpo_wall_hiding_row {
    const char *kind; /* of the collective; static */
    uint32_t kernel;  /* name of the one that computes */
    uint32_t region;  /* node that it was launched in; LPO_NONE: none */
    bool backward;    /* it was launched in none: `region` is that of its forward */
    int64_t ns;
    uint64_t overlaps; /* times that one of these kernels hid a part of one collective */
};

struct lpo_wall_hiding {
    LPO_VEC(struct lpo_wall_hiding_row) rows; /* most time first */
    uint64_t left_out; /* collectives that were not looked at: too much work */
};

/* Kernels of one GPU in order of time, a few calls for each GPU. */
struct lpo_wall_hiding_builder;

struct lpo_wall_hiding_builder *lpo_wall_hiding_begin(const struct lpo_region_tree *tree);
/* A new GPU begins: what computed so far is forgotten. */
void lpo_wall_hiding_device(struct lpo_wall_hiding_builder *b);
void lpo_wall_hiding_compute(struct lpo_wall_hiding_builder *b, uint32_t op);
/* After all that compute. */
void lpo_wall_hiding_collective(struct lpo_wall_hiding_builder *b, uint32_t op, const char *kind);
/* Frees the builder. */
void lpo_wall_hiding_end(struct lpo_wall_hiding_builder *b, struct lpo_wall_hiding *out);
