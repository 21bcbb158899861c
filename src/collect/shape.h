/* SPDX-License-Identifier: Apache-2.0 */
/* collect/shape.h - numbers for launch shapes and for places (device, context, stream).
 *
 * A shape or a place is written once, with a number; records then use the number. */
#pragma once

#include <stdint.h>

struct lpoc;

/* Without padding, so that shapes compare as bytes. */
struct lpoc_shape {
    const char *name; /* CUPTI's copy: the same address for the same kernel */
    uint32_t grid[3], block[3];
    uint32_t registers, static_shared, dynamic_shared, local, place, zero;
};

struct lpoc_shape_slot;
struct lpoc_place_slot;

struct lpoc_shapes {
    struct lpoc *owner;
    struct lpoc_shape_slot *shapes;
    uint32_t nshapes, shape_ids;
    struct lpoc_place_slot *places;
    uint32_t nplaces, place_ids;
};

int lpoc_shapes_start(struct lpoc_shapes *s, struct lpoc *owner); /* -1: no memory */

/* Numbers start from 0 again. */
void lpoc_shapes_forget(struct lpoc_shapes *s);

/* The number of this place or shape; a new one is defined at *p, which moves on by at most 128
 * bytes. */
uint32_t lpoc_place_id(struct lpoc_shapes *s, uint32_t device, uint32_t context, uint32_t stream,
                       uint8_t **p);
uint32_t lpoc_shape_id(struct lpoc_shapes *s, const struct lpoc_shape *shape, uint8_t **p);
