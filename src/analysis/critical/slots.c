/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/critical/slots.h"

#include <stdlib.h>

uint32_t lpo_critical_slot_take(struct critical_slots *s, uint32_t readers, int64_t end_ns)
{
    uint32_t slot;

    if (s->idle.len) {
        slot = s->idle.at[--s->idle.len];
    } else {
        size_t cap = s->slots.cap;

        slot = (uint32_t)s->slots.len;
        lpo_vec_push(&s->slots, (struct critical_slot){ 0 });
        if (s->slots.cap != cap)
            s->numbers = lpo_xrealloc(s->numbers, s->slots.cap * s->width, sizeof *s->numbers);
    }
    s->slots.at[slot] = (struct critical_slot){ .end_ns = end_ns, .readers = readers };
    return slot;
}

static void let_go(struct critical_slots *s, uint32_t slot)
{
    const int64_t *gain = lpo_critical_slot_numbers(s, slot) + s->width - s->lanes;
    int64_t end_ns = s->slots.at[slot].end_ns;

    for (size_t i = 0; !s->slots.at[slot].followed && i < s->lanes; i++)
        if (end_ns - gain[i] > s->end_ns[i])
            s->end_ns[i] = end_ns - gain[i];
    lpo_vec_push(&s->idle, slot);
}

void lpo_critical_slot_ready(struct critical_slots *s, uint32_t slot, uint32_t *state)
{
    *state = CRITICAL_HAS_SLOT | slot;
    if (!s->slots.at[slot].readers)
        let_go(s, slot);
}

void lpo_critical_slot_read(struct critical_slots *s, uint32_t *state)
{
    if (!(*state & CRITICAL_HAS_SLOT))
        --*state;
    else if (--s->slots.at[*state & ~CRITICAL_HAS_SLOT].readers == 0)
        let_go(s, *state & ~CRITICAL_HAS_SLOT);
}

void lpo_critical_slot_follow(struct critical_slots *s, uint32_t state)
{
    if (state & CRITICAL_HAS_SLOT)
        s->slots.at[state & ~CRITICAL_HAS_SLOT].followed = true;
}

size_t lpo_critical_slots_bytes(const struct critical_slots *s)
{
    return s->slots.len * s->width * sizeof *s->numbers;
}

void lpo_critical_slots_free(struct critical_slots *s)
{
    free(s->numbers);
    lpo_vec_free(&s->slots);
    lpo_vec_free(&s->idle);
}
