/* SPDX-License-Identifier: Apache-2.0 */
/* run/child/signals.h - the signals by which people, shells and job managers end a program: INT,
 * TERM and HUP.
 *
 * Who watches a child reads them from a descriptor, so that one poll() waits for signals and output
 * alike and no handler can interrupt it half-way. */
#pragma once

#include <signal.h>

/* At the start of the program: who started us may have ignored or blocked signals, and passed that
 * on. Without SIGCHLD no child is ever seen to end. What a shell or nohup ignores stays ignored. */
void lpo_run_signals_start(void);
void lpo_run_signals_ending(sigset_t *set);

/* From now on they, SIGCHLD and `also` (0: none) are read from the descriptor that is returned, and
 * a closed pipe is an error of write(). -1: there is no descriptor. `before`: the mask as it was;
 * NULL for who does not ask. */
int lpo_run_signals_open(int also, sigset_t *before);
