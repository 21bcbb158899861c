/* SPDX-License-Identifier: Apache-2.0 */
/* hydra/compose.h - from config files and overrides to the config of one run. The door of hydra/:
 * what other rooms use is here or in the headers included here; all other headers are private.
 *
 * Hydra 1.3's rules: defaults lists, packages, overrides. Composing leaves interpolations as they
 * are written; lpo_compose_resolve() replaces them by their values. Everything lives in the arena.
 *
 *     struct lpo_compose_in in = { .dirs = dirs, .config_name = "config", .overrides = words };
 *     struct lpo_composed c;
 *     if (lpo_compose(arena, &in, &c, err) < 0 || lpo_compose_resolve(&c, err) < 0) … */
#pragma once

#include <time.h>

#include "hydra/defaults/entry.h"    /* the defaults list that was followed */
#include "hydra/node.h"              /* the value type; JSON out */
#include "hydra/override/override.h" /* one override, and what it means (--explain) */
#include "hydra/override/override.h" /* the jobs of --multirun */
#include "hydra/yaml/yaml.h"         /* a value as text, as Python writes it */
#include "hydra/yaml/yaml.h"         /* YAML in and out */

struct lpo_repo;

/* An older name of a key, and its name now; what is below the old path moves with it. */
struct lpo_spelling {
    const char *old, *now; /* NULL ends the table; an empty `now`: the key is dropped */
    bool not_map;          /* only where the value is not a map: today's key of that name is one */
};

/* The path a key has today; the same pointer when it is not an old one. */
const char *lpo_spelling_path(struct lpo_arena *a, const struct lpo_spelling *table,
                              const char *path);

/* A group that a primary config need not list. Where the defaults list has it, group=option works
 * as always; where not, the content of the chosen file is placed at the group's own package.
 * `option` chooses when no override does; NULL: nothing is placed then. */
struct lpo_unlisted {
    const char *group;   /* NULL ends the table */
    const char *package; /* NULL: the group's own; else the override has to name it */
    const char *key;     /* a config that has this key needs no option; NULL: the package */
    const char *(*option)(const struct lpo_node *root);
    /* Where it is listed and no override chooses: another option than the listed one, or NULL. */
    const char *(*instead)(const struct lpo_node *root);
    bool merge; /* over what is there, instead of in its place */
};

struct lpo_compose_in {
    const char *const *dirs; /* search path, NULL-terminated; the first must exist */
    size_t
        own; /* folders of `dirs` before the shipped ones, which stand behind; 0: all are alike */
    const char *config_name; /* NULL: "config" */
    const char *second;      /* a config laid over that one, as if it stood beside it; NULL: none */
    const char *const *overrides;         /* NULL-terminated; NULL: none */
    const char *job_name;                 /* NULL: "lpo" */
    const char *cwd;                      /* hydra.runtime.cwd; NULL: the working folder */
    const char *const *env;               /* "NAME=value", NULL-terminated; NULL: the process's */
    time_t now;                           /* for ${now:…}; 0: the present */
    const struct lpo_spelling *spellings; /* older names that still work; NULL: none */
    const struct lpo_unlisted *unlisted;  /* groups a config need not list; NULL: none */
    struct lpo_node *defaults; /* values of keys that no config states; NULL: none. Overrides may
                                  name them as if a config stated them, with + too */
    bool multirun;             /* sweeps are allowed, and a choice may still be missing */
};

struct lpo_composed {
    struct lpo_arena *arena;
    struct lpo_node *root;    /* the config of the job */
    struct lpo_node *hydra;   /* hydra.run.dir, hydra.job, … */
    struct lpo_node *choices; /* group key to option, Hydra's own groups too */
    struct lpo_defaults defaults;
    struct lpo_override *overrides; /* as read, sweeps too */
    size_t noverrides;
    struct lpo_node *warnings;               /* a list of texts for stderr */
    const struct lpo_sweep_options *options; /* for lpo_override_sweep_jobs() */
    struct lpo_repo *repo;
    const char *const *env;
    time_t now;
};

int lpo_compose(struct lpo_arena *a, const struct lpo_compose_in *in, struct lpo_composed *out,
                struct lpo_err *err);

/* Replaces every interpolation of c->root in place. `${hydra:…}` sees hydra's node; ${hydra.x} does
 * not exist for the job, as in Hydra. */
int lpo_compose_resolve(struct lpo_composed *c, struct lpo_err *err);

/* One value of hydra's node, interpolations resolved against the whole config: "run.dir",
 * "sweep.subdir". *out is NULL when it is not there or missing. */
int lpo_compose_hydra(struct lpo_composed *c, const char *path, struct lpo_node **out,
                      struct lpo_err *err);

/* A part of the result as one tree: "job", "hydra" (below the key hydra) or "all". */
int lpo_compose_view(struct lpo_composed *c, const char *part, struct lpo_node **out,
                     struct lpo_err *err);
/* In a view: OmegaConf.select(), and resolving everything below a node of it in place. */
int lpo_compose_pick(struct lpo_composed *c, struct lpo_node *root, const char *path,
                     struct lpo_node **out, struct lpo_err *err);
int lpo_compose_resolve_in(struct lpo_composed *c, struct lpo_node *root, struct lpo_node *node,
                           struct lpo_err *err);
/* A value that is in no config yet, with its ${…} resolved against `config`. */
int lpo_compose_resolve_value(struct lpo_arena *a, struct lpo_node *config, struct lpo_node *value,
                              struct lpo_node **out, struct lpo_err *err);

/* Says which job this is (`num` from 0 in a multirun, -1 for a single run) and finds its folder:
 * hydra.run.dir, or hydra.sweep.dir with hydra.sweep.subdir below it. Only the one who starts the
 * jobs knows their numbers; hydra.job.num, hydra.job.id and hydra.runtime.output_dir have values
 * from here on, so call it before lpo_compose_resolve(). *dir is absolute. */
int lpo_hydra_job_dir(struct lpo_composed *c, int num, const char **dir, struct lpo_err *err);
/* The folder is made under another name than that: one without a secret in it. */
void lpo_hydra_set_output_dir(struct lpo_composed *c, const char *dir);

/* Is it a multirun because the config says so (hydra.mode)? */
int lpo_hydra_is_multirun(struct lpo_composed *c, bool *out, struct lpo_err *err);
