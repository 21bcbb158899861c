/* SPDX-License-Identifier: Apache-2.0 */
/* collect/control.h - windows by time, by a signal, and by `lpo ctl`.
 *
 * One thread of ours, made only where one of these was asked for. It waits for what comes next, and
 * opens and closes the gate (window.h). Its signals are blocked. The signal's handler only sets a
 * flag: a descriptor to wake the thread by might belong to the program by then. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct lpoc;

struct lpoc_control {
    int fd; /* of the socket; -1: none */
    dev_t dev;
    ino_t ino;
    uint32_t signals; /* atomic: that came since the thread looked last */
    char name[32];    /* of the socket in the folder; "" when there is none */
};

/* Under the collector's lock, with its file open. A forked child is asked by itself, if by a socket
 * at all; what time and a ring decide goes on as it was at the fork. */
void lpoc_control_start(struct lpoc *c, bool forked);
/* Removes the socket; at the end of the process. */
void lpoc_control_end(struct lpoc *c);
