/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/counters/helper.h - one `lpo sample-counters`, from its start to its last line.
 *
 * It runs beside the program, as a child of lpo. Its standard input is a pipe from lpo: when that
 * ends, because lpo closes it or dies, it stops. So nothing is left running. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct lpo_arena;
struct lpo_step;

struct lpo_sampling {
    pid_t pid; /* 0: not started, or over */
    int stop_fd, said_fd;
    const char *failed; /* why there are no samples, or not all; NULL */
    bool ready;         /* sampling has begun */
    const char *about;  /* what it says about the GPU: "GH100, 9 metrics, CUPTI 130000" */
    /* after the stop */
    bool done;
    uint64_t samples, lost;
    int64_t lost_ns, cpu_ns, wall_ns;
    unsigned ended_by;   /* enum lpo_counters_ended */
    int64_t interval_ns; /* at the end; 0: unknown */
    unsigned lengthened; /* times that it became longer */
};

/* Starts it with these words after "sample-counters". `step` is the program that it runs beside:
 * the same GPUs are visible to both. NULL: as lpo sees them. */
void lpo_counters_helper_start(struct lpo_arena *a, const char *const *words,
                               const struct lpo_step *step, struct lpo_sampling *out);
/* Waits for its first line, until `deadline_ns` (lpo_run_clock_ns) at most. */
void lpo_counters_helper_wait_ready(struct lpo_arena *a, struct lpo_sampling *s,
                                    int64_t deadline_ns);
/* One that was inside the program `FILE.said` is of: what it said there. The file is removed. */
void lpo_counters_helper_read_said(struct lpo_arena *a, const char *file, struct lpo_sampling *s);
/* Tells it to stop, reads its last line and waits for its end; kills it when it takes too long. */
void lpo_counters_helper_stop(struct lpo_arena *a, struct lpo_sampling *s);
