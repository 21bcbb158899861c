/* SPDX-License-Identifier: Apache-2.0 */
/* hydra/interp/interp.h - finding values by path and resolving ${…}.
 *
 * A spot is a value with its place in the tree, because ${..x} is relative to it. The
 * scope holds what an interpolation may ask for besides the config itself: the environment, the
 * clock, Hydra's own node. Errors name the key that was looked for. */
#pragma once

#include <time.h>

#include "util/base.h"

struct lpo_node;

struct lpo_spot {
    struct lpo_node *node;
    const struct lpo_spot *up;  /* the container it is in; NULL for a root */
    const struct lpo_node *key; /* in a map */
    size_t index;               /* in a list */
};

struct lpo_interp_scope {
    struct lpo_arena *arena;
    struct lpo_node *hydra;      /* for ${hydra:…}; NULL: not there yet */
    struct lpo_node *hydra_root; /* the root that hydra's own interpolations are resolved in */
    const char *const *env;      /* "NAME=value", NULL-terminated; NULL: the process's */
    time_t now;
    /* oc.deprecated and the like; may be NULL */
    void (*warn)(void *with, const char *text);
    void *with;

    /* interp.c: how deep in a chain of interpolations, and in the tree */
    unsigned depth, level;
    /* interp.c: text made and parts evaluated so far; 12 lines of nested ${…} can ask for 2^100 */
    uint64_t made_bytes, steps;
    const struct lpo_memo *memo; /* interp.c: nodes being resolved, to find circles */
};

/* What an interpolation gives: a place in a config (then `spot` is set and may be walked on) or a
 * value that is nowhere. */
struct lpo_found {
    struct lpo_node *node;
    const struct lpo_spot *spot;
};

/* Return codes beside LPO_E_CONFIG:
 *   LPO_E_NOTFOUND  no such key
 *   LPO_E_MISSING   leads to ???
 *   LPO_E_RANGE     the path goes on below a value that has nothing below it */

/* Is the text well-formed? Only texts with "${" in them need this check. */
int lpo_interp_check(struct lpo_arena *a, const char *text, size_t len, struct lpo_err *err);

/* A value with its interpolation resolved; other values are returned as they are. */
int lpo_interp_deref(struct lpo_interp_scope *s, const struct lpo_spot *at, struct lpo_found *out,
                     struct lpo_err *err);

/* OmegaConf.select(): out->node is NULL when there is no such key or it is ???. A path that begins
 * with dots is relative to `from`; else it starts there too, or at the root if `absolute`. */
int lpo_interp_select(struct lpo_interp_scope *s, const struct lpo_spot *from, const char *path,
                      bool absolute, struct lpo_found *out, struct lpo_err *err);

/* Resolves everything below `at` in place, in order; what leads to ??? becomes ???. */
int lpo_interp_resolve(struct lpo_interp_scope *s, const struct lpo_spot *at, struct lpo_err *err);

const struct lpo_spot *lpo_interp_spot_child(struct lpo_arena *a, const struct lpo_spot *at,
                                             const struct lpo_node *key, size_t index,
                                             struct lpo_node *node);
/* "a.b[0].c" */
void lpo_interp_spot_add_key(struct lpo_str *s, const struct lpo_spot *at);

/* Splits "a.b[c]" into its keys; *out is in the arena. */
size_t lpo_interp_key_split(struct lpo_arena *a, const char *path, const char ***out);
