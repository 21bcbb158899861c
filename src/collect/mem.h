/* SPDX-License-Identifier: Apache-2.0 */
/* collect/mem.h - memory of our own, straight from the kernel.
 *
 * The collector never calls malloc: the host program may have replaced it, may be inside it, or
 * may have forked while another thread held its lock. */
#pragma once

#include <stddef.h>

/* Zeroed pages that cost nothing until touched, or NULL. */
void *lpoc_map(size_t bytes);
/* As above, halving down to `least` where the address space or overcommit is tight; *bytes is
 * then the size. */
void *lpoc_map_most(size_t *bytes, size_t least);
void lpoc_unmap(void *at, size_t bytes);
