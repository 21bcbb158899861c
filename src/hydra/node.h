/* SPDX-License-Identifier: Apache-2.0 */
/* hydra/node.h - a config value: what YAML, overrides and interpolation all produce.
 *
 * Nodes live in an arena and are never freed singly. Maps keep the order of their keys; keys are
 * nodes too, because Hydra allows int, float, bool and null keys. The string "???" is Hydra's
 * "missing"; a string holding ${…} is an interpolation until interp.c resolves it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lpo_arena;
struct lpo_json_writer;

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
