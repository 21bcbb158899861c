/* SPDX-License-Identifier: Apache-2.0 */
/* run/manifest.h - run.json: what this run is doing and has done.
 *
 * Saved whole at every change of state, by rename, so that a run killed at any moment leaves a
 * manifest that says what was running. The schema is documented in docs/run.md. */
#pragma once

#include "util/base.h"

struct lpo_result;

#define LPO_MANIFEST_SCHEMA "lpo.run/1"
#define LPO_MANIFEST_NUMBER 1

enum lpo_state {
    LPO_PENDING,
    LPO_RUNNING,
    LPO_DONE,
    LPO_FAILED,
    LPO_SKIPPED,     /* not asked for, or nothing to do; `message` says why */
    LPO_MISSING,     /* a tool or permission it needs is not here */
    LPO_INTERRUPTED, /* the user stopped it */
};

struct lpo_step_record {
    const char *label, *outcome; /* "exit code 0" */
    int exit_code;               /* -1 when it did not exit by itself */
    int64_t wall_ns, user_ns, system_ns;
    uint64_t peak_rss_bytes, lost_bytes;
};

struct lpo_stage_record {
    const char *name;
    enum lpo_state state;
    const char *message; /* one line: why it failed, was skipped or recorded nothing; NULL */
    int64_t started_ns;  /* unix; 0: never */
    int64_t wall_ns;
    struct lpo_step_record *steps;
    size_t nsteps;
    const char **notes; /* what the user should know */
    size_t nnotes;
    const char **files; /* relative to the run folder */
    size_t nfiles;
};

struct lpo_manifest {
    struct lpo_arena *arena; /* everything below lives here */
    const char *dir;         /* the run folder, absolute; not written */
    const char *version;     /* of lpo */
    enum lpo_state state;
    int64_t started_ns, ended_ns;
    long pid;
    const char *fingerprint; /* of config.yaml */
    const char *call_dir;    /* where lpo was called: a resumed workload starts there again */
    bool chdir;              /* hydra.job.chdir: it starts in the run folder instead */
    struct lpo_stage_record *stages;
    size_t nstages;
};

struct lpo_stage_record *lpo_run_manifest_stage(struct lpo_manifest *m,
                                                const char *name); /* or NULL */
struct lpo_stage_record *lpo_run_manifest_add(struct lpo_manifest *m, const char *name);
void lpo_run_manifest_note(struct lpo_manifest *m, struct lpo_stage_record *s, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void lpo_run_manifest_step(struct lpo_manifest *m, struct lpo_stage_record *s, const char *label,
                           const char *outcome, const struct lpo_result *r);

int lpo_run_manifest_save(const struct lpo_manifest *m, struct lpo_err *err);
/* Into `m`, whose arena and dir are set. */
int lpo_run_manifest_load(struct lpo_manifest *m, struct lpo_err *err);

const char *lpo_run_state_name(enum lpo_state state); /* "pending", "running", … */
