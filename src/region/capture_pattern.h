/* SPDX-License-Identifier: Apache-2.0 */
/* region/capture_pattern.h - patterns of a capture and paths of regions, taken apart into levels.
 *
 * A level is a name in an NVTX domain. Every domain has a stack of its own: that is how NVTX and
 * ncu see it, and so do patterns. Of a path through several domains the levels of the last one's
 * count. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct lpo_arena;
struct lpo_str;

enum { LPO_MAX_LEVELS = 64 };

struct lpo_level {
    const char *domain; /* "" is the default one */
    const char *name;   /* of a glob as written, with its backslashes; else the name itself */
    bool glob;
    bool any_depth; /* "**" or "...": any number of levels */
};

struct lpo_levels {
    struct lpo_level at[LPO_MAX_LEVELS];
    size_t len;
};

/* Is it an expression in ncu's own grammar: a trailing '/', '[', ']', ',', "/+/" or "regex:"?
 * Behind a backslash such a mark is part of a name. */
bool lpo_region_levels_ncu_grammar(const char *pattern);

/* "LLM@decode/attn" as a user writes it: "::" separates as '/' does, a domain holds for the levels
 * behind it as well, a backslash takes the next character as it is. -1: too many levels. */
int lpo_region_levels_of_pattern(struct lpo_arena *a, const char *text, struct lpo_levels *out);
/* "outer/LLM@inner" as reports print it: nothing but "\/" is special, every level names its domain.
 * A level "m@n" is in domain m if that is one of `domains`, or if those are not known (NULL). */
int lpo_region_levels_of_path(struct lpo_arena *a, const char *path, const char *const *domains,
                              size_t count, struct lpo_levels *out);

/* Only the levels in the domain of the last one. */
void lpo_region_levels_of_last_domain(struct lpo_levels *levels);

/* Without the "**" that say nothing: at either end, since a run may begin anywhere and holds all
 * below it, and beside another. Of "**" alone "*" is left. */
void lpo_region_levels_tidy(struct lpo_levels *pattern);

/* The outermost run of the path's levels, in its last domain, that fits the pattern: the pattern
 * with the path's own names for its globs. A "**" that stands for no level here is left out.
 * `pattern` is tidy. */
bool lpo_region_levels_instance(const struct lpo_levels *pattern, const struct lpo_levels *path,
                                struct lpo_levels *out);

/* The same as a pattern of region/select.h, for the report of what was captured. */
void lpo_region_levels_add_selection(const struct lpo_levels *pattern, struct lpo_str *out);
