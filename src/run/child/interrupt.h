/* SPDX-License-Identifier: Apache-2.0 */
/* run/child/interrupt.h - Ctrl-C while lpo itself works: reads traces, builds reports.
 *
 * While a program runs, signals are read from a descriptor (supervise.c) and passed on to it. At
 * all other times a handler ends lpo at once (exit code 130): no reader, analysis or writer has to
 * ask now and then whether it should stop. Nothing is lost, since every file is replaced whole; and
 * run.json, which says what is done, was prepared beforehand, so that the handler only has to write
 * bytes. */
#pragma once

#include <signal.h>

#include "util/base.h"

/* After lpo_run_supervise_begin(), from the main thread. `dir` is the run folder, or NULL where
 * there is nothing to write. May be called again with another folder. */
void lpo_run_interrupt_arm(const char *dir);
void lpo_run_interrupt_disarm(void);
bool lpo_run_interrupt_armed(void);
/* What run.json says if lpo is interrupted from now on. Copies the text. */
void lpo_run_interrupt_prepare(const void *bytes, size_t len);

/* For supervise.c: between these two the signals are its own. */
void lpo_run_interrupt_hold(void);
void lpo_run_interrupt_release(void);

/* The signals by which people, shells and job managers end a program: INT,
 * TERM and HUP.
 *
 * Who watches a child reads them from a descriptor, so that one poll() waits for signals and output
 * alike and no handler can interrupt it half-way. */

/* At the start of the program: who started us may have ignored or blocked signals, and passed that
 * on. Without SIGCHLD no child is ever seen to end. What a shell or nohup ignores stays ignored. */
void lpo_run_signals_start(void);
void lpo_run_signals_ending(sigset_t *set);

/* From now on they, SIGCHLD and `also` (0: none) are read from the descriptor that is returned, and
 * a closed pipe is an error of write(). -1: there is no descriptor. `before`: the mask as it was;
 * NULL for who does not ask. */
int lpo_run_signals_open(int also, sigset_t *before);
