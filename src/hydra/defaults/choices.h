/* SPDX-License-Identifier: Apache-2.0 */
/* hydra/defaults/choices.h - what the command line and `override` entries say about config groups.
 *
 * Keys are those of lpo_defaults_entry_key(). Everything said must be used by some entry of the
 * defaults lists, else it is an error that names what could have been meant. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct lpo_arena;
struct lpo_entry;
struct lpo_err;
struct lpo_node;
struct lpo_override;
struct lpo_repo;

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
