/* SPDX-License-Identifier: Apache-2.0 */
/* run/child/descendants.h - what a child leaves running is ended. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* Kills (SIGKILL) and reaps every descendant of this process, which must be their reaper
 * (PR_SET_CHILD_SUBREAPER), again and again until none is left or two seconds have passed. `group`
 * (0: none) is the process group of the program: it is killed where /proc cannot be read. Returns
 * false when a process is still there, or may be. */
bool lpo_run_descendants_kill(pid_t group);
