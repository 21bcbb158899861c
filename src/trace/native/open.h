/* trace/native/open.h - the push/pop ranges open in one thread.
 *
 * Each domain has a stack of its own, and all of them together are nested by time: both orders are
 * kept, and a pop in either costs the same however many ranges are open. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "util/vec.h"

struct lpo_frame;

struct native_open {
    uint32_t range; /* into trace->ranges, or LPO_NONE */
    uint32_t name;
    uint16_t domain;
    bool inherited;        /* from the parent of a fork */
    uint32_t below, above; /* neighbours by time; NATIVE_NO_OPEN at the ends */
    uint32_t under;        /* the next older one of its domain */
};

#define NATIVE_NO_OPEN UINT32_MAX

struct native_opens {
    LPO_VEC(struct native_open) at;
    LPO_VEC(uint32_t) tops; /* by domain */
    uint32_t bottom, top, unused;
    bool started;
};

void lpo_native_opens_push(struct native_opens *o, struct native_open open);
/* The youngest of `domain`, taken out; false when none is open. */
bool lpo_native_opens_pop(struct native_opens *o, uint16_t domain, struct native_open *out);
/* Outermost first, at most `most`; *more tells whether some are left out. */
size_t lpo_native_opens_frames(const struct native_opens *o, struct lpo_frame *frames, size_t most,
                               bool *more);
void lpo_native_opens_free(struct native_opens *o);
