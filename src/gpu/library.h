/* SPDX-License-Identifier: Apache-2.0 */
/* gpu/library.h - a vendor's shared library, opened at run time and never linked.
 *
 * lpo runs on machines without a driver, so every NVIDIA library is optional: it is looked for when
 * it is needed, and its absence is a fact to report, not an error of the loader. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* One entry point: where its address goes, and whether the rest is of use without it. */
struct lpo_gpu_entry {
    void *slot; /* of a function pointer */
    const char *symbol;
    bool optional; /* *slot is NULL when an older library does not have it */
};

/* The library that the environment variable names; when that is not set, the first of `names`
 * (NULL-terminated) that can be loaded. NULL: there is none. A variable that names a missing file
 * gives NULL too: tests rely on it to hide the driver of the machine they run on. */
void *lpo_gpu_library_open(const char *variable, const char *const *names);
void lpo_gpu_library_close(void *library); /* NULL is fine */

/* False when an entry point that is not optional is missing. */
bool lpo_gpu_library_load(void *library, const struct lpo_gpu_entry *entries, size_t count);
