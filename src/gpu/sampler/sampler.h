/* SPDX-License-Identifier: Apache-2.0 */
/* gpu/sampler/sampler.h - counters of one GPU into a file, until somebody says stop.
 *
 * Runs in a process of its own (`lpo sample-counters`), beside the program that is studied: it
 * sees the whole GPU and needs nothing in that program. Or as a thread inside it (gpu/inside). */
#pragma once

#include "gpu/sampler/session.h"

struct pollfd;

/* The clocks of the sampler; a test has its own. */
struct lpo_sampler_clock {
    int64_t (*wall_ns)(void *ctx); /* never goes back */
    /* User and system time of this process, or of this thread alone. */
    int64_t (*cpu_ns)(void *ctx, bool thread);
    /* As poll(), until this time of wall_ns. */
    int (*wait)(void *ctx, struct pollfd *fds, unsigned count, int64_t until_ns);
    void *ctx;
};

struct lpo_sampler_options {
    struct lpo_sampler_ask ask;
    const char *path;   /* of the file */
    uint64_t max_bytes; /* of the file; 0: no limit */
    const char *version;
    const char *beside; /* the stage whose program runs at the same time; "" */
    int stop_fd;        /* end of file: stop; the process that started us holds the other end */
    int signal_fd;      /* a signalfd: anything to read there means stop; -1: none */
    /* Not NULL: a thread of another program, which is about to end when sampling stops. Only this
     * thread's CPU time is the sampler's, and the session is left here as it is: CUPTI 13.0 may
     * wait for ever in its disable call then. */
    struct lpo_sampler_session **left;
    /* Sampling has begun. */
    void (*ready)(void *ctx, const struct lpo_sampler_gpu *gpu);
    void *ctx;
    const struct lpo_sampler_clock *clock; /* NULL: the real ones */
};

struct lpo_sampler_result {
    uint64_t samples, lost, rounds;
    int64_t lost_ns;
    int64_t cpu_ns, wall_ns; /* from the start of sampling */
    int64_t interval_ns;     /* at the end */
    unsigned lengthened;     /* times that it became longer */
    struct lpo_sampler_costs costs;
    enum lpo_counters_ended ended_by;
};

/* 0 also when the file reached its limit: `ended_by` says so. A failure after the start is an error
 * and a note in the file. */
int lpo_sampler_run(struct lpo_arena *a, const struct lpo_sampler_options *o,
                    struct lpo_sampler_result *out, struct lpo_err *err);

/* The lines by which a sampler tells lpo how it goes; pipeline/counters reads them. */
void lpo_sampler_say_ready(FILE *out, const struct lpo_sampler_gpu *gpu);
void lpo_sampler_say_result(FILE *out, const struct lpo_sampler_result *r);
