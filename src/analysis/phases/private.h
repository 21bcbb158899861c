/* SPDX-License-Identifier: Apache-2.0 */
/* analysis/phases/private.h - between the files of this folder. */
#pragma once

#include "analysis/phases/phases.h"

struct lpo_trace;

/* Those that cost at least `least_ns` more than later ones, longest first (first_calls.c). */
void lpo_phases_find_first_calls(const struct lpo_trace *t, int64_t least_ns, lpo_first_calls *out);

/* One visit of a range or operator. `key` numbers what is compared with each other. */
struct lpo_phases_visit {
    int64_t start_ns, end_ns;
    uint32_t key, name;
    uint32_t family; /* of ranges whose paths differ in numbers only; LPO_NONE: none */
    uint16_t process;
    bool unlike; /* visits of its key may do different work */
};

typedef LPO_VEC(struct lpo_phases_visit) lpo_phases_visits;

/* When the first call of something took long: as long as the median of at least so many later ones,
 * this many times; and where two calls may do different work. */
enum { LPO_PHASES_LEAST_LATER = 3, LPO_PHASES_FIRST_TIMES = 2, LPO_PHASES_UNLIKE_TIMES = 10 };

/* First visits of families, of ranges whose own path has too few later visits (numbered.c). Uses
 * `all` up. */
void lpo_phases_find_numbered(const struct lpo_trace *t, int64_t least_ns, lpo_phases_visits *all,
                              lpo_first_calls *out);

/* From steps and stretches (windows.c). */
void lpo_phases_find_windows(const struct lpo_trace *t, const struct lpo_program_steps *steps,
                             struct lpo_phases *out);
