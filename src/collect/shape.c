/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/shape.h"

#include <string.h>

#include "collect/collect.h"
#include "collect/encode.h"
#include "collect/mem.h"
#include "lpo/trace_format.h"

/* A table that is three quarters full is emptied, and its numbers go on: memory stays bounded, and
 * a program with so many shapes has some of them written again. */
enum { SHAPES = 1 << 15, PLACES = 1 << 10 };

struct lpoc_shape_slot {
    struct lpoc_shape key;
    uint32_t id;     /* + 1; 0: empty */
    uint32_t string; /* CUPTI may use the memory of a name again for another kernel's: compared with
                        this */
};

struct lpoc_place_slot {
    uint32_t device, context, stream;
    uint32_t id; /* + 1; 0: empty */
};

int lpoc_shapes_start(struct lpoc_shapes *s, struct lpoc *owner)
{
    s->owner = owner;
    s->shapes = lpoc_map(SHAPES * sizeof *s->shapes);
    s->places = lpoc_map(PLACES * sizeof *s->places);
    return s->shapes && s->places ? 0 : -1;
}

void lpoc_shapes_forget(struct lpoc_shapes *s)
{
    memset(s->shapes, 0, SHAPES * sizeof *s->shapes);
    memset(s->places, 0, PLACES * sizeof *s->places);
    s->nshapes = s->shape_ids = s->nplaces = s->place_ids = 0;
}

static uint64_t mix(uint64_t h, uint64_t v)
{
    h = (h ^ v) * 0xff51afd7ed558ccdu;
    return h ^ (h >> 31);
}

uint32_t lpoc_place_id(struct lpoc_shapes *s, uint32_t device, uint32_t context, uint32_t stream,
                       uint8_t **p)
{
    struct lpoc_place_slot *slot;

    if (s->nplaces > PLACES / 4 * 3) {
        memset(s->places, 0, PLACES * sizeof *s->places);
        s->nplaces = 0;
    }
    for (uint64_t h = mix(mix(mix(1, device), context), stream);; h++) {
        slot = &s->places[h % PLACES];
        if (!slot->id)
            break;
        if (slot->device == device && slot->context == context && slot->stream == stream)
            return slot->id - 1;
    }
    *slot = (struct lpoc_place_slot){ device, context, stream, ++s->place_ids };
    s->nplaces++;
    *(*p)++ = LPOT_GPU_PLACE;
    *p = lpoc_put_v(*p, device);
    *p = lpoc_put_v(*p, context);
    *p = lpoc_put_v(*p, stream);
    return s->place_ids - 1;
}

static bool same_name(const struct lpoc *c, const struct lpoc_shape_slot *slot)
{
    const struct lpoc_string *s = &c->defs.strings[slot->string];

    return !slot->string ||
           (strncmp(slot->key.name, lpoc_defs_text(&c->defs, slot->string), s->len) == 0 &&
            (s->len == LPOC_KERNEL_NAME_MAX || !slot->key.name[s->len]));
}

static uint64_t shape_hash(const struct lpoc_shape *shape)
{
    uint64_t h = 7, word;

    for (size_t i = 0; i < sizeof *shape; i += 8) {
        memcpy(&word, (const char *)shape + i, 8);
        h = mix(h, word);
    }
    return h;
}

static uint8_t *put_shape(uint8_t *p, const struct lpoc_shape *shape, uint32_t string)
{
    *p++ = LPOT_GPU_SHAPE;
    p = lpoc_put_v(p, string);
    for (int i = 0; i < 3; i++)
        p = lpoc_put_v(p, shape->grid[i]);
    for (int i = 0; i < 3; i++)
        p = lpoc_put_v(p, shape->block[i]);
    p = lpoc_put_v(p, shape->registers);
    p = lpoc_put_v(p, shape->static_shared);
    p = lpoc_put_v(p, shape->dynamic_shared);
    p = lpoc_put_v(p, shape->local);
    return lpoc_put_v(p, shape->place);
}

uint32_t lpoc_shape_id(struct lpoc_shapes *s, const struct lpoc_shape *shape, uint8_t **p)
{
    struct lpoc_shape_slot *slot;

    if (s->nshapes > SHAPES / 4 * 3) {
        memset(s->shapes, 0, SHAPES * sizeof *s->shapes);
        s->nshapes = 0;
    }
    for (uint64_t h = shape_hash(shape);; h++) {
        slot = &s->shapes[h % SHAPES];
        if (!slot->id) {
            s->nshapes++;
            break;
        }
        if (memcmp(&slot->key, shape, sizeof *shape) != 0)
            continue;
        if (same_name(s->owner, slot))
            return slot->id - 1;
        break;
    }
    slot->key = *shape;
    slot->string = lpoc_kernel_name(s->owner, shape->name);
    slot->id = ++s->shape_ids;
    *p = put_shape(*p, shape, slot->string);
    return slot->id - 1;
}
