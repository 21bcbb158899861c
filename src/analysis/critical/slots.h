/* SPDX-License-Identifier: Apache-2.0 */
/* analysis/critical/slots.h - the numbers of points while others need them. Private to simulate.c.
 *
 * A point gets a slot when it is run and loses it when its last reader has run; then its end counts
 * for the end of all. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/vec.h"

/* The state of a point: until it is run, how many others will read it; then its slot. */
#define CRITICAL_HAS_SLOT (1u << 31)

struct critical_slot {
    int64_t end_ns; /* as measured */
    uint32_t readers;
    bool followed; /* a later point ends later in every lane */
};

struct critical_slots {
    size_t lanes, width; /* numbers in a slot: the last `lanes` of them are of its end */
    int64_t *numbers;
    LPO_VEC(struct critical_slot) slots;
    LPO_VEC(uint32_t) idle;
    int64_t *end_ns; /* per lane: the latest end of points that have left; borrowed */
};

static inline int64_t *lpo_critical_slot_numbers(const struct critical_slots *s, uint32_t slot)
{
    return s->numbers + slot * s->width;
}

/* May move the numbers of all slots. */
uint32_t lpo_critical_slot_take(struct critical_slots *s, uint32_t readers, int64_t end_ns);
/* Its numbers are filled: the state of its point changes, and without readers it leaves. */
void lpo_critical_slot_ready(struct critical_slots *s, uint32_t slot, uint32_t *state);
/* One reader of a point less. */
void lpo_critical_slot_read(struct critical_slots *s, uint32_t *state);
/* A point that ends later in every lane follows: this one's end need not be looked at. */
void lpo_critical_slot_follow(struct critical_slots *s, uint32_t state);
size_t lpo_critical_slots_bytes(const struct critical_slots *s);
void lpo_critical_slots_free(struct critical_slots *s);
