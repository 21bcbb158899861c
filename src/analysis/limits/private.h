/* SPDX-License-Identifier: Apache-2.0 */
/* analysis/limits/private.h - the parts of lpo_limits_create(). */
#pragma once

#include "analysis/limits/limits.h"
#include "rundir/needs.h"

struct lpo_hardware;
struct lpo_json;

/* --- regions.c: what a region stands for --- */

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
                                             const struct lpo_stated_mappings *mappings);

/* Does this mapping do nothing: no region begins so, or it names no part of the model? Then *out
 * says which. */
bool lpo_limits_mapping_fault(struct lpo_arena *a, const struct lpo_stated_mapping *mapping,
                              const struct lpo_limits_region *regions, size_t nregions,
                              struct lpo_limits_note *out);

#define LPO_NOT_STATED UINT32_MAX

/* For each region the entry that states its need, or LPO_NOT_STATED: its own path before any
 * pattern, a longer pattern before a shorter one. Regions inside it need a part of it that nobody
 * stated. */
uint32_t *lpo_limits_stated_match(struct lpo_arena *a, const struct lpo_stated_needs *s,
                                  const struct lpo_limits_region *regions, size_t nregions);

/* Of an entry that fits no region, with the nearest there is. Copies into the arena. */
struct lpo_limits_note lpo_limits_region_unmatched(struct lpo_arena *a, bool mapping,
                                                   const char *region,
                                                   const struct lpo_limits_region *regions,
                                                   size_t nregions);

/* --- needed.c: what it needs, from the model (static_compute.json) or from the user --- */

/* The ceilings that a need is set against; a rate of 0 is not known. */
struct lpo_roof {
    const char *dtype; /* whose rate it is; NULL: not known */
    double peak, sheet_peak, bandwidth;
};

/* Figures that are not known are NAN, and so is every sum with one of them. */
struct lpo_need {
    double flops, bytes, seconds;
    double compute_seconds, memory_seconds, sheet_seconds; /* at the roofs, and at the sheet's */
    double best_seconds;                                   /* as such kernels were measured best */
    size_t modules; /* that were added up; 0: nothing is known of it */
};

/* One module of the analysis, with its need in each phase. */
struct lpo_need_module {
    const char *part, *block;
    int layer;
    struct lpo_need need[3]; /* by enum lpo_phase_kind; modules 0: runs not in that phase */
};

struct lpo_needed {
    struct lpo_need_module *modules;
    size_t count;
    struct lpo_roof roof;
    const char *hardware, *source; /* NULL: the analysis names none */
};

/* Borrows `root`; NULL gives an analysis of nothing. */
int lpo_limits_needed_read(struct lpo_arena *a, const struct lpo_json *root, struct lpo_needed *out,
                           struct lpo_err *err);
/* `to` grows by `times` the other. */
void lpo_limits_need_add(struct lpo_need *to, const struct lpo_need *more, double times);

/* One pass of the phase: one prefill, one decode step, one image. */
struct lpo_need lpo_limits_needed_of(const struct lpo_needed *n, const struct lpo_meaning *m);

/* The roof for products in this format: the analysis' own where it is of the same format, else the
 * entry's (NULL: there is none). */
struct lpo_roof lpo_limits_roof_of(const struct lpo_hardware *hw, const struct lpo_needed *n,
                                   enum lpo_dtype dtype);
/* One visit, as stated. The least time is known when every figure stated has a roof. */
struct lpo_need lpo_limits_need_stated(const struct lpo_stated_need *s,
                                       const struct lpo_roof *roof);

/* --- first_calls.c --- */

/* Once all rows are there: leaves first calls out of those where they take longer. */
void lpo_limits_first_calls(struct lpo_limits *l, const struct lpo_limits_region *regions);

/* --- rows.c --- */

/* Once all rows are there: `model`, `by_saving`, `ranked`. */
void lpo_limits_sum(struct lpo_limits *l);
