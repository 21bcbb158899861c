/* SPDX-License-Identifier: Apache-2.0 */
/* util/table.h - the one hash table, as a pattern: open addressing, nothing is ever removed.
 *
 * Take map.h where its keys fit; this is for a key of another kind, or for slots that live
 * elsewhere. Each kind gets its code from the pattern rather than through pointers to functions,
 * since a join asks it once for every kernel. The owner holds the slots, their number less one
 * (`mask`; a power of two less one) and how many are used. A slot of zeros is free.
 *
 *     LPO_TABLE_DEFINE(name, SLOT, KEY, USED, PLACE, SAME, PLACE_OF)
 *
 *     SLOT          type of a slot
 *     KEY           what is looked for
 *     USED(s)       does the slot *s hold something?
 *     PLACE(key)    where the search begins, before the mask
 *     SAME(s, key)  does the used slot *s hold the key?
 *     PLACE_OF(s)   PLACE of what the used slot *s holds
 *
 * name_probe() gives the slot of a key, or the free one where it belongs: so one slot must be free,
 * which lpo_table_has_room() sees to. name_move() fills larger slots, all free, from the old ones.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define LPO_TABLE_DEFINE(name, SLOT, KEY, USED, PLACE, SAME, PLACE_OF)                             \
    static inline SLOT *name##_probe(SLOT *slots, size_t mask, KEY key)                            \
    {                                                                                              \
        size_t i = PLACE(key) & mask;                                                              \
                                                                                                   \
        while (USED(&slots[i]) && !SAME(&slots[i], key))                                           \
            i = (i + 1) & mask;                                                                    \
        return &slots[i];                                                                          \
    }                                                                                              \
                                                                                                   \
    static void name##_move(const SLOT *from, size_t count, SLOT *to, size_t mask)                 \
    {                                                                                              \
        for (size_t n = 0; n < count; n++) {                                                       \
            size_t i;                                                                              \
                                                                                                   \
            if (!USED(&from[n]))                                                                   \
                continue;                                                                          \
            i = PLACE_OF(&from[n]) & mask;                                                         \
            while (USED(&to[i]))                                                                   \
                i = (i + 1) & mask;                                                                \
            to[i] = from[n];                                                                       \
        }                                                                                          \
    }

/* For one more, so that the table stays at most three quarters full. */
static inline bool lpo_table_has_room(size_t count, size_t mask)
{
    return (count + 1) * 4 <= mask * 3;
}
