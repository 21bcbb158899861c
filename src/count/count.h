/* SPDX-License-Identifier: Apache-2.0 */
/* count/count.h - the driver's functions that are counted, and who looks them up.
 *
 * calls.c has the functions that stand in front of the driver's; lookup.c gives them to a program
 * that asks the loader for the driver's. */
#pragma once

#include <stdbool.h>

#include "lpo/count.h"

/* A driver may give several functions of one name: of another version, or for the other kind of
 * default stream. Each has a place of its own, so that a call reaches the one that was asked for.
 */
enum { LPOH_PLACES = 4 };

struct lpoh_call {
    const char *name;
    void *linked;              /* ours, for programs that are linked with the driver */
    void **linked_real;        /* what it stands in front of; atomic; NULL: not looked up yet */
    void *places[LPOH_PLACES]; /* ours, for those that look functions up */
    void **reals;              /* by place; atomic */
};

/* What the collector finds. */
extern struct lpo_count lpo_count __attribute__((visibility("default")));

/* The row of this name, or NULL: it is not counted. */
const struct lpoh_call *lpoh_find(const char *name);
/* Ours in front of `real`. `real` itself where it is ours already, or where no place is left. */
void *lpoh_front(const struct lpoh_call *call, void *real);
bool lpoh_is_ours(const void *function);

/* The function that the linked one stands in front of; NULL: there is no driver. */
void *lpoh_behind(const struct lpoh_call *call);
