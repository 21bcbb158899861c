/* report/limits_needed.h - the need of any part of the model, from static_compute.json. */
#pragma once

#include <stddef.h>

struct lpo_arena;
struct lpo_err;
struct lpo_json;
struct lpo_meaning;

struct lpo_need {
    double flops, bytes, seconds; /* seconds 0: no hardware */
    double compute_seconds, memory_seconds;
    size_t modules; /* that were added up; 0: the model has no such part */
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
    double peak, sheet_peak, bandwidth;
    const char *hardware, *source, *dtype;
};

/* Borrows `root`. */
int lpo_needed_read(struct lpo_arena *a, const struct lpo_json *root, struct lpo_needed *out,
                    struct lpo_err *err);
/* `to` grows by `times` the other. */
void lpo_need_add(struct lpo_need *to, const struct lpo_need *more, double times);

/* One pass of the phase: one prefill, one decode step, one image. */
struct lpo_need lpo_needed_of(const struct lpo_needed *n, const struct lpo_meaning *m);
