/* analysis/limits/needed.h - what a region needs, from one of two sources: the model
 * (static_compute.json), or the user (limits_stated.h). */
#pragma once

#include <stddef.h>

#include "util/dtype.h"

struct lpo_arena;
struct lpo_err;
struct lpo_hardware;
struct lpo_json;
struct lpo_meaning;
struct lpo_stated_need;

/* The ceilings that a need is set against; a rate of 0 is not known. */
struct lpo_roof {
    const char *dtype; /* whose rate it is; NULL: not known */
    double peak, sheet_peak, bandwidth;
};

/* Figures that are not known are NAN, and so is every sum with one of them. */
struct lpo_need {
    double flops, bytes, seconds;
    double compute_seconds, memory_seconds, sheet_seconds; /* at the roofs, and at the sheet's */
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
