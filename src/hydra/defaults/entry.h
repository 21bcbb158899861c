/* SPDX-License-Identifier: Apache-2.0 */
/* hydra/defaults/entry.h - one entry of a defaults list, and the names that follow from it.
 *
 *     - db: mysql            a group entry: group `db`, option `mysql`
 *     - db@backup: mysql     the same, placed at package `backup`
 *     - optional db: x       - override db: x       - db: [a, b]
 *     - other                a config entry: the file other.yaml
 *     - _self_               the place of the file's own content
 *
 * Paths and packages of an entry depend on the file that holds it, which is set by
 * lpo_defaults_entry_adopt(). */
#pragma once

#include "hydra/node.h"

struct lpo_interp_scope;
struct lpo_override;
struct lpo_repo;
struct lpo_tree;

struct lpo_entry {
    bool is_group;
    const char *group;    /* of a group entry, as written */
    const char *path;     /* of a config entry, as written */
    const char *package;  /* after '@', or NULL */
    const char *option;   /* the choice; NULL is none */
    const char **options; /* a list of choices, then `option` means nothing */
    size_t noptions;
    bool is_list;
    bool optional, override;

    bool primary;  /* the config named by --config-name */
    bool external; /* +group=option on the command line */
    bool deleted;
    const char *base_dir;       /* group of the file that holds the entry; NULL: not adopted yet */
    const char *parent_package; /* package of that file */
    const char *header;         /* @package of the entry's own file, absolute, or NULL */
    struct lpo_where where;
};

/* Reads `defaults:` of a file; `config` is the name for messages. */
int lpo_defaults_entries_read(struct lpo_arena *a, const struct lpo_node *list, const char *config,
                              struct lpo_entry **out, size_t *count, struct lpo_err *err);

void lpo_defaults_entry_adopt(struct lpo_arena *a, struct lpo_entry *e, const char *base_dir,
                              const char *parent_package);
/* `package` as in the file's header, or NULL. */
void lpo_defaults_entry_set_header(struct lpo_arena *a, struct lpo_entry *e, const char *package);

bool lpo_defaults_entry_is_self(const struct lpo_entry *e);
bool lpo_defaults_entry_is_missing(const struct lpo_entry *e);
bool lpo_defaults_entry_is_interpolation(struct lpo_arena *a, const struct lpo_entry *e);
const char *lpo_defaults_entry_name(
    const struct lpo_entry *e); /* the option or file name; may be NULL */
const char *lpo_defaults_entry_group_path(struct lpo_arena *a, const struct lpo_entry *e);
const char *lpo_defaults_entry_config_path(struct lpo_arena *a, const struct lpo_entry *e);
/* Where its content goes; with `header`, the file's @package counts. */
const char *lpo_defaults_entry_final_package(struct lpo_arena *a, const struct lpo_entry *e,
                                             bool header);
/* The package or header as given, before the parent's is put before it; may be NULL. */
const char *lpo_defaults_entry_package(const struct lpo_entry *e);
/* "db" or "db@backup": what an override must say to mean this entry. */
const char *lpo_defaults_entry_key(struct lpo_arena *a, const struct lpo_entry *e);

/* --- what the command line and `override` entries say about groups ------------------------------
 */

/* Keys are those of lpo_defaults_entry_key(). Everything said must be used by some entry of the
 * defaults lists, else it is an error that names what could have been meant. */
/* A choice of an option (or list) for a key, from outside or from an `override` entry. */
struct lpo_choice {
    const char *key;
    const char *option; /* NULL: none */
    const char **options;
    size_t noptions;
    bool is_list;
    const char *from; /* the config that said so; NULL: the command line */
    bool used;
};

struct lpo_deletion {
    const char *key;
    const char *option; /* NULL: whatever it is */
    bool used;
};

struct lpo_choices {
    struct lpo_arena *arena;
    struct lpo_choice *choice;
    size_t nchoices, choices_cap;
    struct lpo_deletion *deletion;
    size_t ndeletions;
    struct lpo_entry *append; /* +group=option, in order */
    size_t nappend;
    const struct lpo_override **config; /* overrides of values, in order */
    size_t nconfig;
    struct lpo_node *known;  /* key to the option it got, in order of discovery */
    struct lpo_node *groups; /* group to a map of its keys */
};

/* Sorts the overrides into those of groups and those of values. Sweeps are passed over. */
int lpo_defaults_choices_init(struct lpo_choices *c, struct lpo_arena *a,
                              const struct lpo_repo *repo, const struct lpo_override *overrides,
                              size_t count, struct lpo_err *err);

void lpo_defaults_choices_add(struct lpo_choices *c, const char *from,
                              const struct lpo_entry *entry);
/* Gives the entry the option that was chosen for it, if any. */
void lpo_defaults_choices_apply(struct lpo_choices *c, struct lpo_entry *entry);
/* Remembers what the entry's key got; a second, different option is an error. */
int lpo_defaults_choices_know(struct lpo_choices *c, const struct lpo_entry *entry,
                              struct lpo_err *err);
/* Was the entry deleted by ~group? Then it is marked. */
bool lpo_defaults_choices_delete(struct lpo_choices *c, struct lpo_entry *entry);
int lpo_defaults_choices_check_used(const struct lpo_choices *c, struct lpo_err *err);

/* The defaults list: which configs, in which order, placed where.
 *
 * Hydra 1.3's algorithm: lists are followed from the primary config down, later entries first, so
 * that an `override` is known before the entry it changes; interpolated choices come last. */

/* One config to merge. */
struct lpo_default_row {
    const char *config;  /* "db/mysql" */
    const char *package; /* "db"; "" is the root */
    const char *parent;  /* the config whose list names it */
    const char *key;     /* lpo_defaults_entry_key() of a group entry, else NULL */
    bool is_self, primary;
};

struct lpo_defaults {
    struct lpo_default_row *rows;
    size_t count;
    struct lpo_tree *tree; /* for `--info defaults-tree` */
};

/* `skip_missing`: an option that is ??? is passed over (while sweeping). `scope` is what an
 * interpolated choice may ask for, and where warnings go. */
int lpo_defaults_list(const struct lpo_interp_scope *scope, struct lpo_repo *repo,
                      const char *config_name, struct lpo_choices *choices, bool skip_missing,
                      struct lpo_defaults *out, struct lpo_err *err);

/* The tree as text, two blanks per level. */

void lpo_defaults_add_tree(struct lpo_arena *a, const struct lpo_tree *tree, struct lpo_str *s);

/* The search path: which file a config name means.
 *
 * Folders are searched in order and the first that has the file wins; before them comes a built-in
 * source with Hydra's own settings (run folder, job name, sweeper), so that `hydra.run.dir=…` and
 * `hydra/…` groups work as users know them. Files are read once. */
struct lpo_loaded {
    struct lpo_node *config;   /* without its defaults list */
    const char *package;       /* "# @package x", or NULL */
    struct lpo_entry *entries; /* the defaults list */
    size_t count;
    const char *file; /* where it was read from */
};

struct lpo_repo *lpo_defaults_repo_new(struct lpo_arena *a);
/* `provider` says who asked for the folder, for messages. */
void lpo_defaults_repo_add(struct lpo_repo *r, const char *provider, const char *dir);

/* For configs that the folders before do not have; glob() over a group of theirs does not see it.
 */
void lpo_defaults_repo_add_behind(struct lpo_repo *r, const char *provider, const char *dir);
/* Accepts a description with a colon in it, which YAML does not, with a text in `warnings`. */
void lpo_defaults_repo_mend(struct lpo_repo *r, struct lpo_node *warnings);

/* *out NULL: no such config. The result is shared: clone before changing it. */
int lpo_defaults_repo_load(struct lpo_repo *r, const char *path, struct lpo_loaded **out,
                           struct lpo_err *err);
bool lpo_defaults_repo_has_config(const struct lpo_repo *r, const char *path);
bool lpo_defaults_repo_has_group(const struct lpo_repo *r, const char *path);
/* Names of the configs in a group, sorted; in the arena. */
size_t lpo_defaults_repo_options(const struct lpo_repo *r, const char *group, const char ***out);

/* "\tprovider=main, path=file://conf" lines. */
void lpo_defaults_repo_add_sources(const struct lpo_repo *r, struct lpo_str *s);
size_t lpo_defaults_repo_source_count(const struct lpo_repo *r);
/* Of source i: scheme "file" or "pkg", path and provider. */
void lpo_defaults_repo_source(const struct lpo_repo *r, size_t i, const char **scheme,
                              const char **path, const char **provider);
