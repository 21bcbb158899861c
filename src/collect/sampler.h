/* SPDX-License-Identifier: Apache-2.0 */
/* collect/sampler.h - hardware counters sampled inside the program (LPO_COLLECT_SAMPLER).
 *
 * The sampler is a library of its own (src/gpu/inside): it needs malloc, files and threads, which
 * this one does without. It is loaded only where the user asks for it. */
#pragma once

struct lpoc;

void lpoc_sampler_start(struct lpoc *c); /* once CUDA is being initialised */
void lpoc_sampler_stop(struct lpoc *c);  /* before the program ends */
