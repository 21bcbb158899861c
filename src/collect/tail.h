/* SPDX-License-Identifier: Apache-2.0 */
/* collect/tail.h - what is not in the trace yet, where it outlives the process.
 *
 * The buffers of the first threads and the newest definitions lie in a file beside the trace that
 * is mapped and shared (lpo/trace_format.h): after _exit(), SIGKILL or a crash somebody else writes
 * them. A store into it costs what a store into private memory costs.
 *
 * A mapping of a full disk ends in SIGBUS, so its bytes are written before they are stored to, and
 * only file systems that keep the space of written bytes are taken. Elsewhere, and for the threads
 * beyond the last slot, buffers are private memory, as under a kernel that cannot empty pages in
 * the copies of a process (Linux before 4.14): a copy by a raw clone would write into its parent's
 * stream. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct lpoc;
struct lpot_tail_head;
struct lpot_tail_slot;

struct lpoc_tail {
    struct lpot_tail_head *head; /* the mapping; NULL: there is none */
    size_t bytes, slots;         /* mapped; given away */
    int fd;
    dev_t dev;
    ino_t ino;
};

/* All take the collector's lock as held. */
void lpoc_tail_open(struct lpoc *c, bool forked);
/* A buffer of `*bytes`, or NULL. It is never given back. */
struct lpot_tail_slot *lpoc_tail_slot(struct lpoc *c, size_t *bytes);
/* In a child of fork: it is the parent's. */
void lpoc_tail_forked(struct lpoc *c);
/* All is in the trace. Threads may go on writing into the mapping. */
void lpoc_tail_remove(struct lpoc *c);
