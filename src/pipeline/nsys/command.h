/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/nsys/command.h - `nsys profile` as data, and the one place that makes words of it.
 *
 * Private to this folder. */
#pragma once

#include "pipeline/capture_words.h"
#include "run/step.h"

struct lpo_stage;
struct lpo_stage_ctx;

/* What the stage reads of pipeline.nsys. */
struct lpo_nsys_settings {
    struct lpo_settings_words trace, nvtx_domain_include, nvtx_domain_exclude;
    const char *sample, *cpuctxsw, *cuda_graph_trace;
    const char *capture_range, *capture_range_end, *nvtx_capture;
    struct lpo_settings_words stats, extra_args;
    struct lpo_capture_words capture;
    bool gating_nvtx, export_sqlite;
};

struct lpo_nsys_command {
    const char *program;
    /* NULL or empty: not passed */
    const char *trace, *sample, *cpuctxsw, *cuda_graph_trace;
    const char *capture_range;     /* NULL: the whole program */
    const char *capture_range_end; /* NULL or empty: the tool's own default */
    const char *nvtx_capture;      /* "Range@Domain", where capture_range is nvtx */
    const char *session;           /* switched from outside under this name; NULL: it is not */
    int64_t first_call, every;     /* which calls' reports are kept; 0, 1: all */
    bool switched;                 /* lpo ctl or a signal begins and ends it (run/switched.h) */
    const char *delay, *duration;  /* seconds */
    const char *recorded;          /* what pipeline.nsys.capture chose, for people; NULL: nothing */
    const char *nvtx_domain_include, *nvtx_domain_exclude;
    struct lpo_settings_words extra; /* the user's own, passed as they are */
    const char *output;              /* `output`.nsys-rep */
};

/* Fails where pipeline.nsys.capture asks for what nsys cannot do. */
int lpo_pipeline_nsys_check(struct lpo_stage_ctx *ctx, struct lpo_err *err);
/* From pipeline.nsys, checked first. A gate on a range that does not exist is left out, with a
 * note. */
int lpo_pipeline_nsys_command(struct lpo_stage_ctx *ctx, const char *program,
                              struct lpo_nsys_command *out, struct lpo_err *err);
/* All words before the program: `nsys profile`, or `nsys launch` where the command has a session.
 */
struct lpo_words lpo_pipeline_nsys_command_words(struct lpo_arena *a,
                                                 const struct lpo_nsys_command *c);
/* Appended to them for a switched one: `lpo __switched`, with its socket in `dir`. */
void lpo_pipeline_nsys_add_switch(struct lpo_arena *a, const struct lpo_capture_words *w,
                                  const char *dir, struct lpo_words *out);
/* The commands that begin and end the collection of a session. A switched one has a report for each
 * window. */
struct lpo_words lpo_pipeline_nsys_start_words(struct lpo_arena *a,
                                               const struct lpo_nsys_command *c);
struct lpo_words lpo_pipeline_nsys_stop_words(struct lpo_arena *a,
                                              const struct lpo_nsys_command *c);

/* What differs between installations of Nsight Systems. */

extern const struct lpo_stage lpo_pipeline_nsys;

/* QdstrmImporter of this installation, or NULL. */
const char *lpo_pipeline_nsys_importer(struct lpo_arena *a, const char *nsys);
