/* SPDX-License-Identifier: Apache-2.0 */
/* util/xmalloc.h - the malloc family for objects with a _create/_destroy pair.
 *
 * Out of memory ends the program with one line on stderr (exit 1), as in util/arena.h. */
#pragma once

#include <stddef.h>

void *lpo_xmalloc(size_t size);
void *lpo_xcalloc(size_t count, size_t size);
void *lpo_xrealloc(void *p, size_t count, size_t size); /* count * size, overflow-checked */
char *lpo_xstrdup(const char *s);

/* Ends the program: there was no memory of `size` bytes. An attribute, not _Noreturn, because the
 * toy model's CUDA program includes this header as C++. */
__attribute__((noreturn)) void lpo_xmalloc_failed(size_t size);
