/* SPDX-License-Identifier: Apache-2.0 */
/* run/child/cgroup.h - a cgroup (version 2) for a program and all that it starts.
 *
 * One write to cgroup.kill ends everything in it at once: daemons, processes that fork on and on,
 * programs of another user. It is made below lpo's own cgroup, which is allowed where that was
 * delegated (a systemd user session, root, many containers) and needs Linux 5.14. Where it is not
 * allowed, the two guards (guard.c) have to do.
 *
 * lpo and its guards each hold a shared flock on the folder. Where nobody does, all of them were
 * killed, and the next lpo in the same cgroup ends what they left. */
#pragma once

#include <sys/types.h>

#include "util/base.h"

enum { LPO_CGROUP_PATH = 512 };

struct lpo_cgroup {
    char path[LPO_CGROUP_PATH]; /* "": there is none */
    int fd;                     /* of the folder, locked; -1 */
    const char *why;            /* where there is none: why */
};

/* Makes one. Failing is not an error: `why` says what is missing. */
void lpo_run_cgroup_make(struct lpo_cgroup *c);
/* Takes part in one that lpo made, for as long as this process lives. "" is fine. */
void lpo_run_cgroup_hold(struct lpo_cgroup *c, const char *path);
/* fork(), with the child in it, and with all that the child starts. A process with one thread only:
 * the child must exec. */
pid_t lpo_run_cgroup_fork(const struct lpo_cgroup *c);
/* Ends everything in it. */
void lpo_run_cgroup_kill(const struct lpo_cgroup *c);
/* Ends everything in it and removes it. False: something in it is still there after two seconds. */
bool lpo_run_cgroup_remove(struct lpo_cgroup *c);
/* Ends what is in cgroups that nobody holds. */
void lpo_run_cgroup_sweep(void);

/* What a child leaves running is ended. */

/* Kills (SIGKILL) and reaps every descendant of this process, which must be their reaper
 * (PR_SET_CHILD_SUBREAPER), again and again until none is left or two seconds have passed. `group`
 * (0: none) is the process group of the program: it is killed where /proc cannot be read. Returns
 * false when a process is still there, or may be. */
bool lpo_run_descendants_kill(pid_t group);
