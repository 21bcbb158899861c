/* SPDX-License-Identifier: Apache-2.0 */
/* analysis/memory/categories.h - what the blocks of a snapshot are for: parameters, gradients,
 * states of an optimizer, activations, or for the moment only. Private to memory/.
 *
 * A snapshot has no tensors, so this is an estimate: by the part of the program that asked for a
 * block (its stack), by what gave it back and when, and by sizes that parameters, gradients and
 * states have in common. */
#pragma once

#include "util/base.h"

struct lpo_memory_event;
struct lpo_trace;

/* Events of one allocator in order of time. */
struct lpo_memory_events {
    const struct lpo_memory_event **at;
    size_t len;
};

/* A block that is in use after the first `upto` events. */
struct lpo_memory_block {
    size_t event;     /* that gave it out */
    size_t freed;     /* the event that gave it back; SIZE_MAX: none */
    uint8_t category; /* found: enum lpo_memory_category */
};

void lpo_memory_categories(const struct lpo_trace *t, const struct lpo_memory_events *events,
                           size_t upto, struct lpo_memory_block *blocks, size_t count);
