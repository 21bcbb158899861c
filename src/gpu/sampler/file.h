/* SPDX-License-Identifier: Apache-2.0 */
/* gpu/sampler/file.h - the file of sampled counters (lpo/counters_format.h), written.
 *
 * Whole blocks are appended; a block that does not fit is cut off again. So the file is good
 * whenever its writer is killed. */
#pragma once

#include "lpo/counters_format.h"
#include "util/base.h"

struct lpo_sampler_file;

struct lpo_sampler_metric {
    const char *name, *unit;
    enum lpo_counters_meaning meaning;
    enum lpo_counters_kind kind;
    uint32_t scale;
};

/* Replaces a file of that name. `limit_bytes` 0: no limit. */
int lpo_sampler_file_create(const char *path, uint64_t limit_bytes, struct lpo_sampler_file **out,
                            struct lpo_err *err);
void lpo_sampler_file_destroy(struct lpo_sampler_file *f); /* NULL is fine; writes nothing more */
LPO_AUTO_DEFINE(lpo_sampler_file);

/* Each returns 0; LPO_E_LIMIT when the file has reached its limit; LPO_E_IO. After either nothing
 * but notes, losses and the end is taken. */
int lpo_sampler_file_facts(struct lpo_sampler_file *f, const char *const (*pairs)[2], size_t count,
                           struct lpo_err *err);
int lpo_sampler_file_metrics(struct lpo_sampler_file *f, const struct lpo_sampler_metric *metrics,
                             size_t count, struct lpo_err *err);
/* Gathers samples; flush() makes them a block. Values by metric, NAN where unknown. */
int lpo_sampler_file_sample(struct lpo_sampler_file *f, uint64_t start_ns, uint64_t end_ns,
                            const double *values, struct lpo_err *err);
int lpo_sampler_file_flush(struct lpo_sampler_file *f, struct lpo_err *err);
/* What was gathered is written first, so that blocks stay in the order of time. */
int lpo_sampler_file_loss(struct lpo_sampler_file *f, uint64_t from_ns, uint64_t to_ns,
                          uint64_t samples, enum lpo_counters_why why, const char *text,
                          struct lpo_err *err);
/* Samples from `from_ns` on are of this interval, decoded in rounds of that time. */
int lpo_sampler_file_interval(struct lpo_sampler_file *f, uint64_t from_ns, uint64_t interval_ns,
                              uint64_t round_ns, struct lpo_err *err);
int lpo_sampler_file_note(struct lpo_sampler_file *f, const char *text, struct lpo_err *err);
/* How it went, for the end of the file. */
struct lpo_sampler_file_totals {
    enum lpo_counters_ended ended_by;
    int64_t cpu_ns, wall_ns; /* from the start of sampling */
    uint64_t rounds;
};
int lpo_sampler_file_end(struct lpo_sampler_file *f, const struct lpo_sampler_file_totals *totals,
                         struct lpo_err *err);

uint64_t lpo_sampler_file_samples(const struct lpo_sampler_file *f); /* taken so far */
/* The end of the last sample that is in a block; 0: none. */
uint64_t lpo_sampler_file_written_until(const struct lpo_sampler_file *f);
uint64_t lpo_sampler_file_lost(const struct lpo_sampler_file *f); /* counted by losses */
