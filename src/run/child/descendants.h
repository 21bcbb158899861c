/* SPDX-License-Identifier: Apache-2.0 */
/* run/child/descendants.h - what a child leaves running is ended. */
#pragma once

#include <sys/types.h>

/* Kills (SIGKILL) and reaps every descendant of this process, again and again until none is left
 * or a second has passed. `spare` is left alone (-1: nobody). Returns how many were ended. */
int lpo_run_descendants_kill(pid_t spare);
