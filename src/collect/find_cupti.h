/* SPDX-License-Identifier: Apache-2.0 */
/* collect/find_cupti.h - find libcupti, and functions by name in it and in the driver. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "collect/cupti_abi.h"

/* A function of a library: its name, and where its address is stored in a table of pointers. */
struct lpoc_entry {
    const char *name;
    size_t at;
    bool needed;
};

#define LPOC_ENTRIES(table) (table), sizeof(table) / sizeof *(table)

/* Fills the table `out`; what is not there is NULL. Names the first that was needed, or NULL. */
const char *lpoc_entries_find(void *lib, const struct lpoc_entry *entries, size_t count, void *out);
void *lpoc_driver(void); /* libcuda as the process has it, for lpoc_entries_find() */

/* The copy already in the process first: a second one would not see the first one's contexts.
 * Then, or instead when `only` is not "", by name and in the usual folders. On failure `why` says
 * what is missing. */
bool lpoc_cupti_load(struct cupti *api, const char *only, char *why, unsigned long room);
