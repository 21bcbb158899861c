/* SPDX-License-Identifier: Apache-2.0 */
/* util/auto.h - destroy at scope end.
 *
 * LPO_AUTO(lpo_trace) t = NULL;  runs lpo_trace_destroy(t) when the scope is left. The type is
 * `struct lpo_trace`; every _destroy takes NULL. Set the variable to NULL to hand ownership on.
 *
 *     LPO_FREED uint32_t *order = lpo_xcalloc(n, sizeof *order);
 *     LPO_FREED LPO_VEC(int) rows = { 0 };
 *
 * are freed when the scope is left: memory that belongs to nobody else. */
#pragma once

#include <stdlib.h>
#include <string.h>

#define LPO_AUTO(type) __attribute__((cleanup(type##_autofree))) struct type *

/* Put once in the header that declares `name##_destroy`. */
#define LPO_AUTO_DEFINE(name)                                                                      \
    static inline void name##_autofree(struct name **p)                                            \
    {                                                                                              \
        name##_destroy(*p);                                                                        \
    }                                                                                              \
    struct name

#define LPO_FREED __attribute__((cleanup(lpo_freed)))

/* Of a pointer, or of a struct that begins with the pointer to its memory, as every LPO_VEC and
 * struct lpo_map_pair does. */
static inline void lpo_freed(void *variable)
{
    void *memory;

    memcpy(&memory, variable, sizeof memory);
    free(memory);
}
