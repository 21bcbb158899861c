/* SPDX-License-Identifier: Apache-2.0 */
/* util/json.h - small JSON documents as a tree. Big ones are streamed: see util/json_pull.h.
 *
 * Nodes live in the arena and point into it. Integers that fit int64_t stay exact; all other
 * numbers are doubles, with the digits as written kept in `text`. Duplicate keys: the last wins
 * in lpo_json_get(), all are kept in order. */
#pragma once

#include "util/base.h"

enum lpo_json_kind {
    LPO_JSON_NULL,
    LPO_JSON_BOOL,
    LPO_JSON_INT,
    LPO_JSON_REAL,
    LPO_JSON_STRING,
    LPO_JSON_ARRAY,
    LPO_JSON_OBJECT,
};

struct lpo_json {
    enum lpo_json_kind kind;
    const char *key; /* name in the object around it, NUL-terminated; else NULL */
    size_t key_len;
    struct lpo_json *next;  /* next member or item */
    struct lpo_json *first; /* arrays and objects */
    size_t count;           /* arrays and objects */
    bool boolean;
    int64_t integer;  /* LPO_JSON_INT */
    double real;      /* LPO_JSON_INT and LPO_JSON_REAL */
    const char *text; /* strings: decoded, NUL-terminated; numbers: the digits as written */
    size_t len;
};

/* The whole text must be one value. Errors give line and column. Depth is limited to 256. */
int lpo_json_parse(struct lpo_arena *a, const char *text, size_t len, const struct lpo_json **out,
                   struct lpo_err *err);
/* The same with NaN and infinities, which Python's json writes: they are null. */
int lpo_json_parse_python(struct lpo_arena *a, const char *text, size_t len,
                          const struct lpo_json **out, struct lpo_err *err);
int lpo_json_read_file(struct lpo_arena *a, const char *path, const struct lpo_json **out,
                       struct lpo_err *err);

/* NULL-tolerant: `v` may be NULL or of another kind, which gives the fallback. */
const struct lpo_json *lpo_json_get(const struct lpo_json *v, const char *key);
const struct lpo_json *lpo_json_at(const struct lpo_json *v, const char *dotted); /* "a.b.c" */
const char *lpo_json_text(const struct lpo_json *v, const char *fallback);
int64_t lpo_json_int(const struct lpo_json *v, int64_t fallback); /* reals that are whole too */
double lpo_json_real(const struct lpo_json *v, double fallback);
bool lpo_json_bool(const struct lpo_json *v, bool fallback);

#define LPO_JSON_EACH(item, parent)                                                                \
    for (const struct lpo_json *item = (parent) ? (parent)->first : NULL; item; item = item->next)
