/* SPDX-License-Identifier: Apache-2.0 */
/* analysis/early.h - what takes long and is asked for later, computed by a second thread meanwhile.
 *
 * Reading is over by then, so its thread is gone and a second core has nothing to do. The trace and
 * its tree must not change until the result is taken. */
#pragma once

struct lpo_analysis_early;
struct lpo_critical;
struct lpo_program_steps;
struct lpo_region_tree;

/* NULL: it is not worth a thread, or none can be started. */
struct lpo_analysis_early *lpo_analysis_early_start(const struct lpo_region_tree *tree,
                                                    const struct lpo_program_steps *steps);
/* Waits for the result, which is the caller's, and ends the thread. */
struct lpo_critical *lpo_analysis_early_take(struct lpo_analysis_early *early);
