/* stage/ncu/expr.h - region patterns that mean what people think, in ncu's own grammar.
 *
 *     decode*           ranges whose names start with decode; in ncu a regular expression
 *     prefill           the range prefill, push/pop or start/end: two expressions
 *     A::A1 or A/A1     A1 directly inside A
 *     decode/.../attn   attn anywhere inside decode; "**" may be written for "..."
 *     LLM@decode/attn   ranges of domain LLM
 *     x\[0\]            a mark behind a backslash is part of the name
 *
 * What is already written in ncu's grammar (a trailing '/', '[' or ']', "regex:", '+' levels, ','
 * lists) passes through. Several expressions are OR-ed by ncu, so one capture serves them all. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct lpo_arena;
struct lpo_err;

/* A region that is known to exist, from native/regions.json. */
struct lpo_seen_region {
    const char *path; /* "decode/LLM@step": '/' inside a name as "\/", other domains "domain@" */
    bool start_end;
};

struct lpo_seen_regions {
    struct lpo_seen_region *at; /* NULL: nothing is known */
    size_t len;
    const char **domains; /* those besides the default one; NULL: every '@' ends a domain */
    size_t ndomains;
};

struct lpo_exprs {
    const char **at;
    size_t len, cap;
};

/* Appends the expressions of one pattern. When regions are known, a pattern that fits none is an
 * error that names the nearest, and only the kinds that exist are asked for. */
int lpo_ncu_expr_add(struct lpo_arena *a, const char *pattern, const struct lpo_seen_regions *seen,
                     struct lpo_exprs *out, struct lpo_err *err);

/* Does the region at `path` lie in a range that fits the pattern? Used for the check above and to
 * choose regions in reports the same way. */
bool lpo_region_pattern_fits(struct lpo_arena *a, const char *pattern, const char *path);
