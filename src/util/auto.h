/* SPDX-License-Identifier: Apache-2.0 */
/* util/auto.h - destroy at scope end.
 *
 * LPO_AUTO(lpo_trace) t = NULL;  runs lpo_trace_destroy(t) when the scope is left. The type is
 * `struct lpo_trace`; every _destroy takes NULL. Set the variable to NULL to hand ownership on. */
#pragma once

#define LPO_AUTO(type) __attribute__((cleanup(type##_autofree))) struct type *

/* Put once in the header that declares `name##_destroy`. */
#define LPO_AUTO_DEFINE(name)                                                                      \
    static inline void name##_autofree(struct name **p)                                            \
    {                                                                                              \
        name##_destroy(*p);                                                                        \
    }                                                                                              \
    struct name
