/* SPDX-License-Identifier: Apache-2.0 */
/* trace/counters/counters.h - sampled hardware counters (lpo/counters_format.h), one at a time.
 *
 *     lpo_counters_open(path, &c, err);
 *     about = lpo_counters_about(c);
 *     while (lpo_counters_next(c, &s))
 *         use(s.start_ns, s.end_ns, s.values);
 *     lpo_counters_file_destroy(c);
 *
 * Memory is one block, however long the file. A damaged or cut file gives what stands before the
 * damage. */
#pragma once

#include "lpo/counters_format.h"
#include "util/base.h"

struct lpo_counters_file;

struct lpo_counters_metric {
    const char *name; /* CUPTI's: "dram__bytes_read.sum" */
    const char *unit; /* "byte", "%", "cycle" */
    enum lpo_counters_meaning meaning;
    enum lpo_counters_kind kind;
    uint32_t scale; /* the value is exact to 1 / scale */
};

/* What the file says about itself. Texts are "" and numbers -1 where it does not say. */
struct lpo_counters_about {
    const char *chip, *gpu_name, *host, *trigger, *sampler;
    const char *beside;   /* the stage whose program ran at the same time: "native" */
    const char *gpu_uuid; /* 32 hex digits, as fact "device.N.uuid" of a trace */
    int64_t gpu_index;    /* as CUDA numbers the GPUs that the program may see */
    int64_t interval_ns;  /* of the first samples: it may become longer */
    int64_t pid;
    const struct lpo_counters_metric *metrics;
    size_t nmetrics; /* at most LPO_COUNTERS_METRICS_MAX; 0: the file has no samples */
};

/* A sample, or a stretch of time whose samples were lost. end_ns > start_ns, both in Unix ns below
 * 2^62, and start_ns never decreases. A sample may begin up to a microsecond before the last one
 * ended: CUPTI's clocks drift. */
struct lpo_counters_sample {
    int64_t start_ns, end_ns;
    const double *values;      /* by metric, NAN where unknown; NULL: a loss. Good until next() */
    uint64_t lost;             /* of a loss: samples, 0 where unknown */
    enum lpo_counters_why why; /* of a loss */
    int64_t interval_ns;       /* as asked for at that time; -1 unknown */
};

/* After next() has returned false. */
struct lpo_counters_totals {
    uint64_t samples, losses; /* given by next() */
    uint64_t lost;            /* samples, as far as losses know it */
    int64_t lost_ns;          /* sum of the losses' time */
    uint64_t skipped;         /* samples and losses out of order or without time, not given */
    uint64_t ignored_bytes;   /* after the last whole block: the writer was killed */
    bool ended;               /* it has an END block */
    unsigned ended_by;        /* enum lpo_counters_ended; 0: unknown */
    int64_t cpu_ns;           /* of the sampler; -1 unknown */
    int64_t wall_ns;          /* that sampling took; -1 unknown */
    const char *const *notes; /* for people */
    size_t nnotes;            /* at most 64 are kept */
};

/* Refuses other formats and later major versions, and a file without metrics before its samples. */
int lpo_counters_open(const char *path, struct lpo_counters_file **out, struct lpo_err *err);
/* The same from memory, which must outlive it. */
int lpo_counters_over(const void *bytes, size_t len, struct lpo_counters_file **out,
                      struct lpo_err *err);
void lpo_counters_file_destroy(struct lpo_counters_file *c); /* NULL is fine */
LPO_AUTO_DEFINE(lpo_counters_file);

const struct lpo_counters_about *lpo_counters_about(const struct lpo_counters_file *c);
bool lpo_counters_next(struct lpo_counters_file *c,
                       struct lpo_counters_sample *out); /* false: end */
void lpo_counters_rewind(struct lpo_counters_file *c);   /* next() gives the first again */
const struct lpo_counters_totals *lpo_counters_totals(const struct lpo_counters_file *c);

/* Do these first bytes begin such a file? */
bool lpo_counters_sniff(const unsigned char *head, size_t len);
/* The place of the first metric that means this, or -1. */
int lpo_counters_find(const struct lpo_counters_about *about, enum lpo_counters_meaning meaning);
