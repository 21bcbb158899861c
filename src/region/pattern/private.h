/* SPDX-License-Identifier: Apache-2.0 */
/* region/pattern/private.h - a parsed pattern, between the files of this folder. */
#pragma once

#include "region/pattern/pattern.h"

struct lpo_pattern;

enum { MAX_READINGS = 3 }; /* "::" split, as it is, and with stars that cross levels */

/* One level of a pattern, compiled. */
struct matcher {
    struct lpo_pattern *name;
    struct lpo_pattern *domain; /* NULL: none is written here or before */
    struct lpo_pattern *whole;  /* with "domain@" where that is written here: it may be a name */
    const char *domain_text;    /* as written; NULL: none */
};

/* One way to read a pattern: "A::A1" is one level or two. */
struct reading {
    struct lpo_levels levels;
    struct matcher at[LPO_MAX_LEVELS];
    bool crossing; /* of stars inside a level that stand for several levels */
};

struct lpo_region_pattern {
    struct lpo_arena *arena;
    const char *text;
    struct lpo_pattern *regex; /* then there are no readings */
    bool whole_path;           /* of a regular expression: it is compared with the path */
    bool outermost;            /* a leading '/' */
    struct reading *readings[MAX_READINGS];
    size_t count;
};

/* The levels of a path that count, outermost first. */
struct walk {
    size_t index[LPO_MAX_LEVELS];
    size_t len;
};

/* Do the first `levels` levels of this reading fit a run that ends with level `len` of the path?
 * `where` gets the place in `w` of each of them, "**" aside. */
bool lpo_region_pattern_reading_fits(const struct lpo_region_pattern *p, const struct reading *r,
                                     size_t levels, const struct lpo_levels *path, size_t len,
                                     struct walk *w, size_t *where);
/* Copies with each backslash taken away; of a path only those before a slash are marks. */
const char *lpo_region_pattern_unescape(struct lpo_arena *a, const char *from, const char *end,
                                        bool path);
