/* SPDX-License-Identifier: Apache-2.0 */
/* sweep/watch.h - what a user sees of a sweep while it runs: a line when a job ends, and one line
 * with the counts. */
#pragma once

#include <stddef.h>

struct lpo_sweep_run;

/* "job 3 (2 of 8): done in 12.3 s" */
void lpo_sweep_watch_say_end(struct lpo_sweep_run *s, size_t job);
/* "2 of 8 done, 1 failed, 2 running, 3 waiting"; `why` they wait, or NULL. */
void lpo_sweep_watch_show(struct lpo_sweep_run *s, const char *why);
