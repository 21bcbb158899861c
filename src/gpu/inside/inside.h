/* SPDX-License-Identifier: Apache-2.0 */
/* gpu/inside/inside.h - liblpo-sample.so: the sampler as threads of the program that is studied.
 *
 * For pipeline.counters.where=inside: where no process may stand beside the program. The collector
 * loads it (LPO_COLLECT_SAMPLER) and calls these two; LPO_SAMPLE says what to sample: the words of
 * `lpo sample-counters`, one a line, an empty line between two GPUs. A guest: it prints nothing,
 * and where it cannot go on it ends itself alone. What it has to say goes to FILE.said, in the
 * lines that `lpo sample-counters` prints. */
#pragma once

/* Returns at once: sampling begins a second later, when CUDA and CUPTI are ready. */
int lpo_inside_start(void);
/* Before the program ends; waits for the last samples, a few seconds at most. */
void lpo_inside_stop(void);
