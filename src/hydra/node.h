/* SPDX-License-Identifier: Apache-2.0 */
/* hydra/node.h - a config value: what YAML, overrides and interpolation all produce.
 *
 * Nodes live in an arena and are never freed singly. Maps keep the order of their keys; keys are
 * nodes too, because Hydra allows int, float, bool and null keys. The string "???" is Hydra's
 * "missing"; a string holding ${…} is an interpolation until interp.c resolves it. */
#pragma once

#include "util/base.h"

struct lpo_composed;
struct lpo_interp_scope;
struct lpo_json_writer;
struct lpo_override;
struct lpo_repo;
struct lpo_spelling;
struct lpo_spot;
struct lpo_unlisted;

enum lpo_node_kind {
    LPO_NODE_NULL,
    LPO_NODE_BOOL,
    LPO_NODE_INT,    /* fits int64_t; larger ones are LPO_NODE_BIGINT */
    LPO_NODE_BIGINT, /* decimal digits in `text`, sign first */
    LPO_NODE_FLOAT,
    LPO_NODE_STRING,
    LPO_NODE_BYTES, /* !!binary */
    LPO_NODE_LIST,
    LPO_NODE_MAP,
};

/* Where a value was written; line and column count from 1; file NULL means "not from a file"
 * (then `file` of an override is the override's own text, with line 0). */
struct lpo_where {
    const char *file;
    unsigned line, column;
};

struct lpo_pair;

struct lpo_node {
    enum lpo_node_kind kind;
    char quote; /* strings: '\'' or '"' as written, else 0 */
    struct lpo_where where;
    union {
        bool boolean;
        int64_t integer;
        double real;
        struct {
            const char *text; /* NUL-terminated; may hold NUL inside, `len` counts */
            size_t len;
        };
        struct {
            struct lpo_node **items; /* list */
            size_t count, cap;
        };
        struct {
            struct lpo_pair *pairs; /* map */
            size_t npairs, pairs_cap;
            struct lpo_node_index *index; /* large maps only: node.c */
        };
    };
};

struct lpo_pair {
    struct lpo_node *key;
    struct lpo_node *value;
};

struct lpo_node *lpo_node_null(struct lpo_arena *a);
struct lpo_node *lpo_node_bool(struct lpo_arena *a, bool b);
struct lpo_node *lpo_node_int(struct lpo_arena *a, int64_t i);
/* Decimal digits, sign first; becomes LPO_NODE_INT when it fits. */
struct lpo_node *lpo_node_bigint(struct lpo_arena *a, const char *digits, size_t len);
struct lpo_node *lpo_node_float(struct lpo_arena *a, double d);
struct lpo_node *lpo_node_string(struct lpo_arena *a, const char *text);
struct lpo_node *lpo_node_stringn(struct lpo_arena *a, const char *text, size_t len);
struct lpo_node *lpo_node_bytes(struct lpo_arena *a, const void *bytes, size_t len);
struct lpo_node *lpo_node_list(struct lpo_arena *a);
struct lpo_node *lpo_node_map(struct lpo_arena *a);

void lpo_node_push(struct lpo_arena *a, struct lpo_node *list, struct lpo_node *item);
/* Replaces in place when the key is there (order kept), else appends. */
void lpo_node_set(struct lpo_arena *a, struct lpo_node *map, const char *key,
                  struct lpo_node *value);
void lpo_node_set_key(struct lpo_arena *a, struct lpo_node *map, struct lpo_node *key,
                      struct lpo_node *value);
struct lpo_node *lpo_node_get(const struct lpo_node *map, const char *key); /* NULL: absent */
/* Keys are equal as in Python: 1, 1.0 and true are one key. */
struct lpo_node *lpo_node_get_key(const struct lpo_node *map, const struct lpo_node *key);
/* The index of a key, or -1. */
ptrdiff_t lpo_node_find(const struct lpo_node *map, const struct lpo_node *key);
bool lpo_node_remove(struct lpo_node *map, const struct lpo_node *key);
struct lpo_node *lpo_node_clone(struct lpo_arena *a, const struct lpo_node *node); /* deep */
bool lpo_node_equal(const struct lpo_node *x,
                    const struct lpo_node *y); /* deep; 1 != 1.0 != true */

/* Dotted lookup ("pipeline.ncu.enable"), list indices allowed; NULL when absent. */
struct lpo_node *lpo_node_at(const struct lpo_node *root, const char *path);

bool lpo_node_is_missing(const struct lpo_node *n);       /* the string ??? */
bool lpo_node_is_interpolation(const struct lpo_node *n); /* a string with ${ in it */
bool lpo_node_is_container(const struct lpo_node *n);     /* a map or a list */
bool lpo_node_is_text(const struct lpo_node *n, const char *text);
/* As Python's ==, deep: 1 == 1.0 == true, and maps in any order. */
bool lpo_node_alike(const struct lpo_node *x, const struct lpo_node *y);
const char *lpo_node_kind_name(enum lpo_node_kind kind); /* "a map", "an integer", … */

/* A value by its dotted path; NULL or 0 when it is absent or of another kind. For files that are
 * not configs (hardware sheets); settings/settings.h has the defaults of config keys. */
const char *lpo_node_text_at(const struct lpo_node *root, const char *path);
int64_t lpo_node_int_at(const struct lpo_node *root, const char *path);
double lpo_node_real_at(const struct lpo_node *root, const char *path); /* integers too */

/* As JSON. Floats keep a '.' or an exponent so that they differ from integers; what JSON cannot say
 * is written as {"$float": "nan"}, {"$bytes": base64} and {"$map": [[key, value], …]} (a map with
 * keys that are not text). */
void lpo_node_write_json(struct lpo_json_writer *w, const char *key, const struct lpo_node *node);

/* Hydra's own part of the config: its types, and what composing fills in. */

/* Checks the types of `hydra` and converts what Hydra would ("5" for a name of 5). With `closed`,
 * a key that Hydra does not have is an error too. */
int lpo_hydra_check(struct lpo_arena *a, struct lpo_node *hydra, bool closed, struct lpo_err *err);

/* A member of one of Hydra's structs cannot be deleted. `path` begins with "hydra.". */
int lpo_hydra_check_delete(struct lpo_arena *a, const char *path, struct lpo_err *err);

struct lpo_hydra_facts {
    const struct lpo_override *overrides;
    size_t noverrides;
    const struct lpo_node *choices; /* key to option */
    const struct lpo_repo *repo;
    const char *job_name, *config_name, *cwd;
    const char *const *env; /* NULL: the process's */
};

/* hydra.overrides, hydra.runtime, hydra.job: what is known only after composing. */
int lpo_hydra_fill(struct lpo_arena *a, struct lpo_node *hydra, const struct lpo_hydra_facts *f,
                   struct lpo_err *err);

/* One config over another, and changes by path, by OmegaConf's rules.
 *
 * Maps merge key by key, lists are replaced, ??? never overwrites a value, a map and a list do not
 * mix. A reference (${…}) to a container becomes a copy of it before something is merged over it.
 */

/* Merges `src` into the container at `dest`. `closed`: no new keys (Hydra's struct mode). */
int lpo_merge(struct lpo_interp_scope *s, const struct lpo_spot *dest, const struct lpo_node *src,
              bool closed, struct lpo_err *err);

/* Adds the keys of `from` that the map does not have, at every level. */

void lpo_merge_missing(struct lpo_arena *a, struct lpo_node *into, const struct lpo_node *from);

/* Sets the value at a dotted path below root; maps and lists are merged into what is there. With
 * `force`, what is missing on the way is made; without, a new key is LPO_E_NOTFOUND. */
int lpo_merge_update(struct lpo_interp_scope *s, struct lpo_node *root, const char *path,
                     const struct lpo_node *value, bool force, struct lpo_err *err);

/* An override of a single value: key=1, +key=1, ++key=1, ~key. */
struct lpo_override;

int lpo_merge_override(struct lpo_interp_scope *s, struct lpo_node *root,
                       const struct lpo_override *ov, struct lpo_err *err);

/* Groups that a primary config need not list (struct lpo_unlisted, compose.h).
 *
 * Hydra refuses group=option for a group that no defaults list names. Old configs name neither
 * `workload` nor `dataset/sampling`, and their users choose them on the command line. */

/* Overrides of groups that are listed after all lose a package that is the group's own, and a `+`
 * with it; overrides of groups that are not listed are taken out of *overrides. */
void lpo_unlisted_take(struct lpo_composed *c, const struct lpo_unlisted *table, const char *config,
                       struct lpo_override **overrides, size_t *count);
/* Places the content of groups that are not listed. After the defaults list is merged. */
int lpo_unlisted_place(struct lpo_composed *c, struct lpo_interp_scope *scope,
                       const struct lpo_unlisted *table, const char *config, struct lpo_err *err);

/* Older names of keys, moved to where the keys are today.
 *
 * The table (struct lpo_spelling, compose.h) comes from the caller: this room has no key of its
 * own. Each renaming appends a text to `warnings`. */

/* Moves old keys of a config to where they are now. */
void lpo_spelling_move(struct lpo_arena *a, const struct lpo_spelling *table, struct lpo_node *root,
                       struct lpo_node *warnings);
/* Gives overrides their new keys; those of keys that do nothing any more are left out. Returns how
 * many there are then. */
size_t lpo_spelling_rename(struct lpo_arena *a, const struct lpo_spelling *table,
                           struct lpo_override *overrides, size_t count, struct lpo_node *warnings);
