/* report/numbers.h - the figures people ask a run for first: speed and its spread, what a profiler
 * added, memory, power. Everything is read from the run folder; what is not there is n/a. */
#pragma once

#include <stddef.h>

#include "util/measure.h"

struct lpo_doc;
struct lpo_json;
struct lpo_rundir;
struct lpo_source;

/* aggregate.<figure>.<what> of a metrics.json, times `scale`. */
struct lpo_measure lpo_report_speed_figure(const struct lpo_json *metrics, const char *figure,
                                           const char *what, double scale);

/* How much one figure varies between repeats of the same sample. */
struct lpo_variation {
    const char *stage, *figure; /* "native", "prefill_ms" */
    double cv;                  /* std / mean, of the sample that varies most */
    size_t repeats;             /* of that sample */
};

/* The figure of this stage that varies most; repeats is 0 when nothing was repeated. Samples are
 * never compared with each other: they may be of different lengths. */
struct lpo_variation lpo_speed_variation(const struct lpo_json *metrics, const char *stage);
/* Of all stages of the run. */
struct lpo_variation lpo_speed_run_variation(const struct lpo_rundir *d);
double lpo_speed_max_cv(const struct lpo_rundir *d); /* run.max_cv */

/* Speed with its spread, whether it can be trusted, profiler overhead, peak memory. */
void lpo_report_chapter_speed(struct lpo_doc *doc, const struct lpo_rundir *d);
/* The same in two or three sentences. */
void lpo_report_summary_speed(struct lpo_doc *doc, const struct lpo_rundir *d);

/* Power, energy, clocks and throttling from nvml/samples.csv; nothing where there is none. `s` may
 * be NULL: then no energy by region. */
void lpo_report_chapter_power(struct lpo_doc *doc, const struct lpo_rundir *d,
                              const struct lpo_source *s);
