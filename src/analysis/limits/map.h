/* analysis/limits/map.h - from the name of a region to a part of the model. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct lpo_arena;
struct lpo_limits_mapping;
struct lpo_limits_region;

/* What one path stands for. */
struct lpo_meaning {
    int phase;         /* enum lpo_phase_kind; -1: none */
    const char *part;  /* "decoder", "sam", "vision" (all of it); NULL: every part of the phase */
    int layer;         /* -1: all */
    const char *block; /* "attn", "mlp", "lm_head", …; NULL: all */
    bool step;         /* the last name is one decode step */
    bool is_phase;     /* the last name is the phase itself, or the vision part itself */
};

/* `text` lives where the caller puts it: parts and blocks point to static text. */
struct lpo_meaning lpo_limits_region_meaning(const char *path,
                                             const struct lpo_limits_mapping *mappings,
                                             size_t nmappings);

/* A sentence about a mapping that does nothing: no region begins so, or it names no part of the
 * model. NULL when there is nothing to say. */
const char *lpo_limits_mapping_fault(struct lpo_arena *a, const struct lpo_limits_mapping *mapping,
                                     const struct lpo_limits_region *regions, size_t nregions);
