/* SPDX-License-Identifier: Apache-2.0 */
/* util/base.h - what every file of the house is written in: C's own types and text, errors, memory,
 * text, arrays (sorted, searched), maps, numbers that may be unknown. A header includes this, or
 * another of ours that does; a file includes what else it uses by name. Not for src/collect, a
 * guest in other programs. */
#pragma once

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/arena.h"
#include "util/auto.h"
#include "util/err.h"
#include "util/map.h"
#include "util/measure.h"
#include "util/order.h"
#include "util/search.h"
#include "util/str.h"
#include "util/vec.h"
#include "util/xmalloc.h"

/* A function that names the values of an enum:
 *
 *     LPO_NAMES(lpo_wall_cause_name, enum lpo_idle_cause, [LPO_IDLE_HOST] = "host"); */
#define LPO_NAMES(function, type, ...)                                                             \
    const char *function(type of)                                                                  \
    {                                                                                              \
        static const char *const names[] = { __VA_ARGS__ };                                        \
                                                                                                   \
        return names[of];                                                                          \
    }                                                                                              \
    _Static_assert(true, #function)
