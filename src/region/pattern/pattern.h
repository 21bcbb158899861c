/* SPDX-License-Identifier: Apache-2.0 */
/* region/pattern/pattern.h - the patterns by which users name regions, in reports and in captures
 * alike.
 *
 *     attn              a region of that name, at any depth
 *     layer*, layer?    names that fit a glob; layer[0-3] has a set
 *     decode/attn       attn directly inside decode, at any depth
 *     /decode/attn      the same, decode being an outermost region
 *     decode/.../attn   attn anywhere inside decode; "**" may be written for "..."
 *     LLM@decode/attn   ranges of NVTX domain LLM; a domain holds for the levels behind it as well
 *     A::A1             a region named A::A1, or A1 directly inside A
 *     a\/b              a backslash takes the next character as it is
 *     regex:^layer      a regular expression over the name, or over the path if it holds a '/'
 *
 * A path exactly as reports print it fits that region, whatever characters are in it. Levels are
 * compared along the whole path, and also along the ranges of the region's own domain alone: that
 * is the stack as NVTX and ncu see it, so "a/c" fits "a/LLM@b/c". */
#pragma once

#include "util/base.h"

struct lpo_region_pattern;

enum { LPO_MAX_LEVELS = 256 }; /* not less than LPO_REGION_DEPTH: every region has a path */

struct lpo_level {
    const char *domain; /* "" is the default one */
    const char *name;   /* of a glob as written, with its backslashes; else the name itself */
    size_t name_len;    /* names of traces may hold NUL bytes */
    bool glob;
    bool any_depth; /* "**" or "...": any number of levels */
};

struct lpo_levels {
    struct lpo_level at[LPO_MAX_LEVELS];
    size_t len;
};

int lpo_region_pattern_create(const char *text, struct lpo_region_pattern **out,
                              struct lpo_err *err);
void lpo_region_pattern_destroy(struct lpo_region_pattern *p); /* NULL is fine */
LPO_AUTO_DEFINE(lpo_region_pattern);

const char *lpo_region_pattern_text(const struct lpo_region_pattern *p); /* as the user wrote it */
bool lpo_region_pattern_gave_up(const struct lpo_region_pattern *p);     /* a match took too long */
/* Has it several levels? Then a suggestion is a path, else a name. */
bool lpo_region_pattern_is_path(const struct lpo_region_pattern *p);

/* Does the region at the end of `path` fit? A region inside one that fits does not: callers go
 * from the outside in. */
bool lpo_region_pattern_fits(const struct lpo_region_pattern *p, const struct lpo_levels *path);

/* --- for captures: a tool's own expressions are made from the levels -------------------------- */

/* Is it an expression in ncu's own grammar: a trailing '/', ',', "/+/", "regex:", or a bracket that
 * is not part of a set? A set has two or more characters and does not begin its level
 * ("layer[0-3]"). Behind a backslash such a mark is part of a name. */
bool lpo_region_pattern_in_ncu_grammar(const char *pattern);

/* How a pattern is written for a tool that finds a run of levels anywhere in the stack of one
 * domain and takes all that is inside. */
struct lpo_region_run {
    struct lpo_levels levels; /* all of one domain; no "**" at either end or beside another */
    bool wider;               /* more fits these levels than the pattern means */
};

/* The outermost region of `path` that fits, as names. That a pattern with a leading '/' means less
 * than these names is not `wider` here: the caller sees whether they are anywhere else. `exact`: a
 * "**" at the end of the pattern stays, so that the region before it is not taken as a whole. */
bool lpo_region_pattern_run_in(const struct lpo_region_pattern *p, const struct lpo_levels *path,
                               bool exact, struct lpo_region_run *out);
/* The pattern itself, where regions are not known: `i` counts its readings ("A::A1" has two).
 * False: there are no more. Of readings with globs only the first is given. */
bool lpo_region_pattern_run(const struct lpo_region_pattern *p, size_t i,
                            struct lpo_region_run *out);

/* "outer/LLM@inner" as reports print it: nothing but "\/" is special, every level names its domain.
 * A level "m@n" is in domain m if that is one of `domains`, or if those are not known (NULL).
 * -1: too many levels. */
int lpo_region_path_parse(struct lpo_arena *a, const char *path, const char *const *domains,
                          size_t count, struct lpo_levels *out);
/* Only the levels in the domain of the last one. */
void lpo_region_levels_of_last_domain(struct lpo_levels *levels);
