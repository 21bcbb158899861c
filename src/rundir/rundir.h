/* SPDX-License-Identifier: Apache-2.0 */
/* rundir/rundir.h - what belongs to a run, found and read once: manifest, environment, config,
 * traces, speeds.
 *
 * A run folder and a list of trace files are the same thing to everyone above: sources with
 * traces. Which files are traces, and whose they are, is not known here: the caller passes a row
 * (struct lpo_rundir_kind) for every stage that leaves any.
 *
 * A file that cannot be read is a problem, which reports show; it is not an error. */
#pragma once

#include "run/manifest.h"
#include "rundir/needs.h"

struct lpo_analysis;
struct lpo_counters_file;
struct lpo_file_text;
struct lpo_hardware;
struct lpo_json;
struct lpo_node;
struct lpo_region_own_rules;
struct lpo_region_selection;
struct lpo_trace;

/* What reports ask for without knowing a stage by its name. */
enum lpo_rundir_role {
    LPO_ROLE_UNDISTURBED = 1, /* no profiler: how fast the workload really is */
    LPO_ROLE_OPERATORS = 2,   /* records the operators of a framework */
    LPO_ROLE_COUNTERS = 4,    /* measures hardware counters of single kernels */
    LPO_ROLE_POWER = 8,       /* samples power and clocks: samples.csv in its folder */
    LPO_ROLE_SAMPLES = 16,    /* samples hardware counters: *.lpoc in its folder */
    LPO_ROLE_MODEL = 32,      /* what the model must compute: static_compute.json in its folder */
};

/* What one stage leaves in a run folder. */
struct lpo_rundir_kind {
    const char *stage;            /* its name, and its folder under the run */
    const char *what;             /* "the trace of lpo's own collector", for reports */
    unsigned roles;               /* enum lpo_rundir_role */
    const char *const *patterns;  /* of file names (fnmatch), NULL-terminated; NULL: no traces */
    const char *const *otherwise; /* files to try when those hold no kernel; may be NULL */
    const char *const *formats;   /* what its traces are wherever they lie: names of readers
                                     (trace/reader.h), the most complete first; NULL-terminated */
    const char *const *beside;    /* formats that say more about the run of such a trace and are
                                     read after it, into the same one; may be NULL */
    const char *const *whats;     /* instead of `what` where files were given: one for each of
                                     `formats`, then of `beside`; may be NULL */
    const char *below;            /* a folder inside its own counts where it has this file, and none
                                     of its own folder matches; NULL: every file below counts */
    int trust;                    /* who is asked first where time goes: the smallest number */
    unsigned skip;                /* what nobody reads of these traces: enum lpo_skip */
    /* Config keys of the stage whose values reports need; NULL: it has no such setting. */
    const char *const *selection; /* patterns of its own, by enum lpo_select_list */
    const char *program;          /* the tool that converts what lpo alone cannot read */
    const char *metrics;          /* the metrics asked for: tables have them in this order */
    const char *sections;         /* the sections of metrics asked for */
    const char *hardware;         /* the entry whose peaks the run is compared with */
    const char *by_region;        /* has it reports by region? NULL: yes */
    const char *aggregate;        /* a scope over all processes in its region reports; NULL: as
                                     report.aggregate says */
    /* Did the stage measure a few launches only, whose counters stand for all the others? NULL:
     * never. */
    bool (*representatives)(const struct lpo_node *config);
};

/* The traces of one stage, or the files that were given. */
struct lpo_source {
    const struct lpo_rundir_kind *kind; /* NULL: a list of files */
    const char *stage;                  /* "native" */
    const char *what;                   /* "the trace of lpo's own collector" */
    const char **files;                 /* relative to the run folder, sorted; or as given */
    size_t nfiles;
    struct lpo_trace *trace;             /* NULL: not read, or unreadable: `problem` says why */
    struct lpo_region_selection *select; /* after lpo_rundir_load() */
    const char *problem;
    struct lpo_analysis *analysis; /* made and owned by analysis/run.c */
};

/* workload/<stage>/metrics.json */
struct lpo_speed {
    const char *stage;
    const struct lpo_json *metrics;
};

/* workload/<stage>/server.json, and what its client measured. */
struct lpo_served {
    const char *stage;
    const struct lpo_json *server;
    const struct lpo_json *client; /* NULL: it left nothing that can be read */
};

/* Counters that were sampled beside the program: one GPU, open to be read. */
struct lpo_sampled_file {
    const char *name; /* relative to the run folder, or as given */
    struct lpo_counters_file *file;
};

/* How the counters of representatives were applied to a trace; stage NULL: they were not. */
struct lpo_overlay_facts {
    const char *stage; /* whose trace they were applied to */
    unsigned long long launches, by_shape, by_name, uncovered, configs, measured;
};

struct lpo_rundir {
    struct lpo_arena *arena;
    const char *dir; /* absolute; NULL: a list of files */
    struct lpo_manifest manifest;
    bool has_manifest;
    bool ranks_too;             /* what other ranks left in ranks/ is read, too: the run is over */
    const struct lpo_json *env; /* NULL: absent */
    const struct lpo_node *config; /* with the overrides; an empty map without a config */
    const char *fingerprint;       /* of the config; NULL without one */
    const struct lpo_rundir_kind *const *kinds; /* as given; NULL: a list of files */
    LPO_VEC(struct lpo_source) sources;         /* most trusted first */
    LPO_VEC(struct lpo_speed) speeds;
    LPO_VEC(struct lpo_served) served;
    LPO_VEC(struct lpo_sampled_file) counters; /* by name */
    LPO_VEC(const char *) left;                /* files of a folder that are no traces */
    LPO_VEC(const char *) problems;            /* files that could not be read, a sentence each */
    size_t files_read;                         /* trace files that were opened, each time */
    unsigned skip; /* of every trace, besides its kind's: enum lpo_skip */
    struct lpo_overlay_facts overlay;
    /* report.* and the patterns of the stage that measured counters: what its region reports show
     * of another stage's trace that the counters were applied to. NULL: that stage has none. */
    struct lpo_region_selection *counters_select;

    struct lpo_region_own_rules *own_rules; /* report.classes; NULL: none */

    /* report.* of the config, then of the overrides */
    bool private_too, aggregate;
    size_t fold_over, top;
    LPO_VEC(const char *) formats; /* names of the main report's, each once */
    struct lpo_stated_needs stated;
    struct lpo_stated_mappings mappings;
    enum lpo_dtype dtype;  /* of the run's products, as its config has it */
    uint64_t decode_steps; /* of one generation, as its config has it; 0: not known */
    double max_cv;         /* run.max_cv */
};

struct lpo_rundir_options {
    const struct lpo_rundir_kind *const *kinds; /* NULL-terminated */
    const char *const *overrides; /* "report.private=true", NULL-terminated; may be NULL */
    unsigned skip;                /* what the caller can do without: enum lpo_skip */
    const char *const *only;      /* of folders these files alone, NULL-terminated; NULL: all */
    struct lpo_region_selection *select; /* of the main source, instead of report.*; taken over,
                                            also on failure. NULL: report.* */
};

/* Lists the traces of a folder and reads none of them. The folder may still be growing: a run
 * opens it when it starts. `kinds` must outlive it. */
struct lpo_rundir *lpo_rundir_open(const char *dir, const struct lpo_rundir_kind *const *kinds);
/* The rest, once the run is over: config, manifest, environment, speeds, and every trace that was
 * not read yet. LPO_E_NOTFOUND when the folder holds nothing that lpo made; LPO_E_CONFIG for an
 * override that `lpo run` would refuse too. */
int lpo_rundir_load(struct lpo_rundir *d, const char *const *overrides, struct lpo_err *err);
/* Both. */
int lpo_rundir_create(const char *dir, const struct lpo_rundir_options *options,
                      struct lpo_rundir **out, struct lpo_err *err);
/* Whatever a user gives: one run folder, or traces that belong together (ranks, processes, tools),
 * as files, folders of them, or "-" for standard input. The contents of a file say which tool wrote
 * it, and so whose source it is; `dir` is NULL then. A file that was given and cannot be read is an
 * error; one that was found in a folder is a problem. */
int lpo_rundir_of_paths(const char *const *paths, size_t count,
                        const struct lpo_rundir_options *options, struct lpo_rundir **out,
                        struct lpo_err *err);
/* Is this the folder of a run, or of one stage's traces? A folder with any other traces is not. */
bool lpo_rundir_is_run(const char *dir, const struct lpo_rundir_kind *const *kinds);
void lpo_rundir_destroy(struct lpo_rundir *d); /* NULL is fine */
LPO_AUTO_DEFINE(lpo_rundir);

/* The readable source of this stage, or NULL. Reads its trace if nobody did. */
struct lpo_source *lpo_rundir_read_source(struct lpo_rundir *d, const char *stage);
/* A stage starts again: what was read of its files is no longer true. */
void lpo_rundir_forget(struct lpo_rundir *d, const char *stage);

/* The source of this stage, whether it can be read or not; NULL: no such kind. */
const struct lpo_source *lpo_rundir_find(const struct lpo_rundir *d, const char *stage);
/* The readable source of this stage, or NULL. */
const struct lpo_source *lpo_rundir_source(const struct lpo_rundir *d, const char *stage);
/* The kind that has this role, its stage, and its readable source; NULL: none. */
const struct lpo_rundir_kind *lpo_rundir_kind_with(const struct lpo_rundir *d,
                                                   enum lpo_rundir_role role);
const char *lpo_rundir_stage_with(const struct lpo_rundir *d, enum lpo_rundir_role role);
const struct lpo_source *lpo_rundir_source_with(const struct lpo_rundir *d,
                                                enum lpo_rundir_role role);
/* The source that says most about where time goes: the most trusted one with GPU operations, else
 * the most trusted one. NULL: there is no trace. */
const struct lpo_source *lpo_rundir_main(const struct lpo_rundir *d);
/* static_compute.json; *out is NULL where the run has none. Lives as long as `d`. */
int lpo_rundir_static_analysis(const struct lpo_rundir *d, const struct lpo_json **out,
                               struct lpo_err *err);
/* The hardware that the run used: hardware.json, else what config and trace say (ceilings.c).
 * *out is NULL when nothing says. Lives as long as `d`. */
int lpo_rundir_hardware(const struct lpo_rundir *d, const struct lpo_source *s,
                        const struct lpo_hardware **out, struct lpo_err *err);
/* A text file of the folder; one of more than 512 MiB is refused. */
int lpo_rundir_text(const struct lpo_rundir *d, const char *file, struct lpo_file_text **out,
                    struct lpo_err *err);
/* Does the trace hold any kernel? A trace of ranges, or of copies alone, does not. */
bool lpo_rundir_has_kernels(const struct lpo_trace *t);
/* The path of a file of the run, in its arena. */
const char *lpo_rundir_path(const struct lpo_rundir *d, const char *file);
/* Is this file in the run folder? A list of files has none. */
bool lpo_rundir_has(const struct lpo_rundir *d, const char *file);
