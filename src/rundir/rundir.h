/* rundir/rundir.h - what a run folder holds, read for its reports. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "analysis/limits/stated.h"
#include "run/manifest.h"
#include "util/auto.h"
#include "util/vec.h"

struct lpo_analysis;
struct lpo_arena;
struct lpo_err;
struct lpo_json;
struct lpo_node;
struct lpo_report_options;
struct lpo_region_selection;
struct lpo_writer;

/* The traces of one stage. */
struct lpo_source {
    const char *stage;  /* "native" */
    const char *what;   /* "lpo's own trace" */
    const char **files; /* relative to the run folder, sorted */
    size_t nfiles;
    struct lpo_analysis *analysis; /* NULL when it could not be read: `problem` says why */
    struct lpo_region_selection *select;
    const char *problem;
};

/* workload/<stage>/metrics.json */
struct lpo_speed {
    const char *stage;
    const struct lpo_json *metrics;
};

/* How the run's counters were laid over its trace; stage NULL: they were not. */
struct lpo_overlay_facts {
    const char *stage; /* whose trace they were laid over */
    unsigned long long launches, by_shape, by_name, uncovered, configs, measured;
};

struct lpo_rundir {
    struct lpo_arena *arena;
    const char *dir;
    struct lpo_manifest manifest;
    bool has_manifest;
    const struct lpo_json *env;    /* NULL: absent */
    const struct lpo_node *config; /* NULL: absent */
    const char *fingerprint;       /* of the config; NULL without one */
    LPO_VEC(struct lpo_source) sources;
    LPO_VEC(struct lpo_speed) speeds;
    LPO_VEC(const char *) problems; /* artifacts that could not be read */
    struct lpo_overlay_facts overlay;

    /* report.* of the config, then of the overrides */
    bool private_too, aggregate;
    size_t fold_over, top;
    LPO_VEC(const struct lpo_writer *) formats; /* of the main report, each once */
    struct lpo_stated_needs stated;
};

int lpo_rundir_create(const char *dir, const struct lpo_report_options *options,
                      struct lpo_rundir **out, struct lpo_err *err);
void lpo_rundir_destroy(struct lpo_rundir *d); /* NULL is fine */
LPO_AUTO_DEFINE(lpo_rundir);

/* Does ncu measure representatives alone under this config? The stage and the reports of what it
 * left must say the same. */
bool lpo_rundir_representatives(const struct lpo_node *config);

/* The trace files of the `kind`th stage that records any, in the order in which they are trusted
 * with the question where time goes. False: there are no more stages. */
bool lpo_rundir_trace_files(struct lpo_arena *a, const char *dir, size_t kind, const char ***out,
                            size_t *count);

/* The readable source of this stage, or NULL. */
const struct lpo_source *lpo_rundir_source(const struct lpo_rundir *d, const char *stage);
/* The source that tells most of where time goes: native, else nsys, else torch, else ncu. */
const struct lpo_source *lpo_rundir_main(const struct lpo_rundir *d);

/* A file of the folder that could not be read, for `problems`: one line that would be the same
 * wherever the folder lay. */
const char *lpo_rundir_problem(struct lpo_rundir *d, const char *file, const struct lpo_err *err);

/* Part of lpo_rundir_create(): what the run's config and the overrides say of report.*. An
 * override is checked by the schema, as before a run; a recorded config is taken as it is. */
int lpo_rundir_options_read(struct lpo_rundir *d, const struct lpo_report_options *options,
                            struct lpo_err *err);
/* Part of lpo_rundir_create(): fills `sources`, `problems` and `overlay`. */
int lpo_rundir_sources_read(struct lpo_rundir *d, struct lpo_err *err);
