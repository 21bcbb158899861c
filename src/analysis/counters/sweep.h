/* SPDX-License-Identifier: Apache-2.0 */
/* analysis/counters/sweep.h - which operations of one GPU ran during a sample, and how long.
 *
 * Samples come in the order of time and so do operations: one walk over both. */
#pragma once

#include "util/base.h"

/* When an operation ran; end > start. */
struct lpo_sweep_time {
    int64_t start_ns, end_ns;
};

/* Operations of one GPU, in the order of their start. */
struct lpo_sweep_ops {
    const struct lpo_sweep_time *times; /* on the clock of the trace */
    size_t count;
    int64_t first_ns, last_ns; /* first start, last end; on the clock of the samples */
    int64_t clock_ns;          /* what is added to times of the trace to get that of the samples */
};

struct lpo_overlap {
    uint32_t entry; /* of `times` */
    int64_t ns;     /* of the operation inside the sample */
};

/* One walk. `shift_ns` moves all operations. */
struct lpo_sample_sweep {
    const struct lpo_sweep_ops *ops;
    int64_t shift_ns;
    size_t next;
    LPO_VEC(uint32_t) running;
    LPO_VEC(struct lpo_overlap) found; /* of the last sample */
    int64_t busy_ns;                   /* of the last sample: with at least one operation */
    uint64_t left_out;                 /* operations, because too many ran at one time */
};

struct lpo_sample_sweep lpo_counters_sweep(const struct lpo_sweep_ops *ops, int64_t shift_ns);
/* Fills `found` for the next sample. Starts must not decrease. */
void lpo_counters_sweep_to(struct lpo_sample_sweep *s, int64_t start_ns, int64_t end_ns);
void lpo_counters_sweep_rewind(struct lpo_sample_sweep *s);
void lpo_counters_sweep_free(struct lpo_sample_sweep *s);
