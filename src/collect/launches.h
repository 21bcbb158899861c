/* SPDX-License-Identifier: Apache-2.0 */
/* collect/launches.h - kernels launched outside windows, counted (CAPTURE_COUNT).
 *
 * Where CUPTI is there from the start, its callbacks count. Where it comes later or goes, they miss
 * launches: then liblpo-count.so (lpo/count.h) says that a launch comes, and it is counted at once.
 * A callback follows for it, or none; one that takes the launch into a window takes it out of the
 * count. So CUPTI may come and go at any moment, and no launch is counted twice or not at all. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct lpo_count;
struct lpoc;
struct lpoc_thread;

struct lpoc_launches {
    bool asked;             /* CUDA was initialised, and launches are to be counted */
    struct lpo_count *hook; /* that library, where it counts; NULL: callbacks do, or nobody */
    uint64_t past;          /* atomic: launches that a callback saw and the library did not */
};

/* CUDA is being initialised. */
void lpoc_launches_start(struct lpoc *c);
/* In a child of fork. */
void lpoc_launches_forked(struct lpoc *c);
/* By the callback of a launch: of what (enum lpoc_about), and is it recorded? */
void lpoc_launches_seen(struct lpoc_thread *t, unsigned about, bool recorded);
/* At the end: who counted, or that nobody did. */
void lpoc_launches_finish(struct lpoc *c);
/* Is this total (enum lpot_counter) not certain yet? */
bool lpoc_launches_open(const struct lpoc *c, unsigned counter);
