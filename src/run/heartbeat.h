/* SPDX-License-Identifier: Apache-2.0 */
/* run/heartbeat.h - a rank of a job says every few seconds, in its folder, that it is alive.
 *
 * A lock alone does not say so to another machine: many network disks have locks that hold on one
 * machine only, or none, and one that keeps the locks of a machine that vanished. The clocks of two
 * machines differ, so what counts is that the file changes, not its time. */
#pragma once

#include "util/base.h"

struct lpo_heartbeat;

/* `locked`: this process holds the lock of the folder (run/folder.h). NULL where there is no thread
 * to be had: then nothing is written. */
struct lpo_heartbeat *lpo_run_heartbeat_start(const char *dir, bool locked);
void lpo_run_heartbeat_stop(struct lpo_heartbeat *h); /* NULL is fine */

/* What somebody who waits has seen so far of one folder; zeroed at first. */
struct lpo_heartbeat_watch {
    char text[160];     /* of the last look */
    int64_t changed_ns; /* when it was another one, by our own clock; 0: not looked yet */
};

/* Has the process that wrote there ended? Where it ran on this machine its lock says so at once;
 * on another one, silence does, after 20 s. */
bool lpo_run_heartbeat_is_over(struct lpo_heartbeat_watch *w, const char *dir);
