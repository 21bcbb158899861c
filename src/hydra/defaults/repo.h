/* SPDX-License-Identifier: Apache-2.0 */
/* hydra/defaults/repo.h - the search path: which file a config name means.
 *
 * Folders are searched in order and the first that has the file wins; before them comes a built-in
 * source with Hydra's own settings (run folder, job name, sweeper), so that `hydra.run.dir=…` and
 * `hydra/…` groups work as users know them. Files are read once. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct lpo_arena;
struct lpo_entry;
struct lpo_err;
struct lpo_node;
struct lpo_repo;
struct lpo_str;

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
