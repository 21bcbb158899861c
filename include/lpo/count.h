/* SPDX-License-Identifier: Apache-2.0 */
/* lpo/count.h - between liblpo-count.so and the collector, two guests of one program.
 *
 * The library stands in front of the driver's launch functions and says that one is called; the
 * collector finds the library by the name of its one variable and says whom to tell. Each of them
 * also works without the other. */
#pragma once

#include <stdint.h>

enum { LPO_COUNT_VERSION = 1 };

enum lpo_count_kind {
    LPO_COUNT_KERNEL = 1,
    LPO_COUNT_GRAPH = 2, /* a launch of a whole CUDA graph */
};

/* Exported as `lpo_count`. All but the version is atomic. */
struct lpo_count {
    uint32_t version;
    uint32_t given;  /* launch functions that went through the library, found or called */
    uint32_t missed; /* those that were found and could not be counted: there was no place left */
    /* Called before each launch, on its thread, also in a signal handler; NULL: nobody listens. */
    void (*launched)(unsigned kind);
};
