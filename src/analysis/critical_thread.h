/* SPDX-License-Identifier: Apache-2.0 */
/* analysis/critical_thread.h - the critical path, computed by a second thread before it is asked
 * for.
 *
 * Reading is over by then, so its thread is gone and a second core has nothing to do. The trace and
 * its tree must not change until the result is taken. */
#pragma once

struct lpo_analysis_critical_thread;
struct lpo_critical;
struct lpo_program_steps;
struct lpo_region_tree;

/* NULL: it is not worth a thread, or none can be started. */
struct lpo_analysis_critical_thread *lpo_analysis_critical_thread_start(
    const struct lpo_region_tree *tree, const struct lpo_program_steps *steps);
/* Waits for the result, which is the caller's, and ends the thread. */
struct lpo_critical *lpo_analysis_critical_thread_take(
    struct lpo_analysis_critical_thread *running);
