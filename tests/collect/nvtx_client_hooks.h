/* SPDX-License-Identifier: Apache-2.0 */
/* tests/collect/nvtx_client_hooks.h - a system that fails when a scenario wants it to.
 *
 * The client defines clock_gettime() and syscall(), which the dynamic linker then takes for the
 * collector too: a wall clock that is set, a disk that is full, a signal in the middle of a write,
 * without root and without waiting for chance. */
#pragma once

#include <stdint.h>

extern int64_t hook_wall_step_ns;   /* added to CLOCK_REALTIME */
extern int64_t hook_disk_bytes;     /* writev() may write so many more; -1: any number */
extern int hook_failing_writes;     /* so many of the next ones */
extern unsigned hook_failing_every; /* each third, say; 0: none */
extern int hook_signal_in_write;    /* raised inside the next writev(); 0: none */
