/* SPDX-License-Identifier: Apache-2.0 */
/* gpu/sampler/session.h - one GPU's counters through CUPTI's PM sampling: the order of the calls.
 *
 *     open   driver, libcupti, the chip, its metrics, the buffer: everything but the start
 *     start  the hardware writes a record each interval
 *     decode what it wrote so far, sample by sample; every few ms
 *     stop   then decode once more
 *
 * One session per process: CUPTI keeps its state there. */
#pragma once

#include "gpu/sampler/budget.h"
#include "gpu/sampler/metrics.h"

struct lpo_sampler_session;

struct lpo_sampler_ask {
    int device;                 /* as CUDA numbers the GPUs that this process may see */
    int64_t interval_ns;        /* 0: the shortest that can be kept up */
    int64_t least_ns;           /* of an interval that is chosen */
    int64_t period_ns;          /* between two rounds of decoding */
    int64_t core_millionths;    /* of a core: what sampling may take; 0, or a whole one: no limit */
    const char *const *metrics; /* CUPTI's names; none: the usual ones */
    size_t nmetrics;
    uint32_t image_samples; /* room for decoded samples; 0: those of one round */
    size_t buffer_bytes;    /* the hardware's buffer; 0: the usual */
};

/* What was found. Texts live as long as the arena. */
struct lpo_sampler_gpu {
    const char *chip, *name, *uuid, *cupti_path;
    int driver; /* 13000 */
    unsigned cupti_version;
    bool counts_clocks;       /* the interval was given in clocks … */
    uint64_t interval_clocks; /* … so many */
    int64_t interval_ns;      /* as asked for, or as chosen; now */
    int64_t round_ns;         /* between two rounds of decoding; now */
    size_t sample_bytes;      /* what CUPTI keeps of a sample; 0: unknown */
    double share;             /* of one core, estimated; 0: unknown */
    bool has_context;         /* CUPTI wanted a CUDA context, which takes GPU memory */
    struct lpo_sampler_choice metrics;
};

/* CPU time so far, by what it went into: CUPTI's decoding of the hardware's records, the values of
 * samples with their writing, and making images empty again. */
struct lpo_sampler_costs {
    int64_t decode_ns, evaluate_ns, empty_ns;
};

/* LPO_E_MISSING with one line that says what helps. */
int lpo_sampler_session_open(struct lpo_arena *a, const struct lpo_sampler_ask *ask,
                             struct lpo_sampler_session **out, struct lpo_err *err);
void lpo_sampler_session_destroy(struct lpo_sampler_session *s); /* NULL is fine; stops it */
LPO_AUTO_DEFINE(lpo_sampler_session);

/* The share of a core that sampling may take; 0: no limit. */
double lpo_sampler_ask_core(const struct lpo_sampler_ask *ask);

const struct lpo_sampler_gpu *lpo_sampler_session_gpu(const struct lpo_sampler_session *s);

const struct lpo_sampler_costs *lpo_sampler_session_costs(const struct lpo_sampler_session *s);

int lpo_sampler_session_start(struct lpo_sampler_session *s, struct lpo_err *err);
int lpo_sampler_session_stop(struct lpo_sampler_session *s, struct lpo_err *err);
/* After an overflow: CUPTI 13.0 refuses a mere stop and start then (CUPTI_ERROR_UNKNOWN), so
 * sampling is disabled, enabled and set up again. What was not decoded yet is lost. After a failure
 * only destroy may follow. `pace`: another one from now on; NULL: as before. */
int lpo_sampler_session_restart(struct lpo_sampler_session *s, const struct lpo_sampler_pace *pace,
                                struct lpo_err *err);

/* Gets each sample; a negative code ends the decoding. NAN: CUPTI gave no value. */
typedef int (*lpo_sampler_sink)(void *ctx, uint64_t start_ns, uint64_t end_ns, const double *values,
                                struct lpo_err *err);
/* 1: there is more, and the caller may look at the clock before it goes on.
 * *overflow: the hardware's buffer was full, and records are lost; restart. */
int lpo_sampler_session_decode(struct lpo_sampler_session *s, lpo_sampler_sink sink, void *ctx,
                               bool *overflow, struct lpo_err *err);
