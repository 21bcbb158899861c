/* SPDX-License-Identifier: Apache-2.0 */
/* pipeline/ncu/nvtx_expr.h - region patterns of users, written in ncu's own grammar.
 *
 * The patterns are those of region/pattern/pattern.h. ncu asks for push/pop and start/end ranges in
 * different ways, so a bare name becomes two expressions where the kind is not known. What is
 * already written in ncu's grammar passes through. Several expressions are OR-ed by ncu, so one
 * capture serves them all.
 *
 * ncu finds a run of levels anywhere in the stack of one domain. A pattern that means less (an
 * outermost region, levels of two domains) is captured wider, and the reports leave the rest out.
 *
 * Regular expressions do not add up in ncu 2025.3.1 (docs/benchmarks.md): of two for push/pop
 * ranges the first alone counts, and beside one for start/end ranges other names of that kind do
 * not. So globs become the names that fit where the regions are known, and where they are not, one
 * regular expression for each kind of range; what that cannot say is an error. */
#pragma once

#include "util/base.h"

struct lpo_known_regions;

enum {
    LPO_MAX_EXPRS = 256,           /* names that a capture's globs may become */
    LPO_MAX_EXPR_BYTES = 64 * 1024 /* of all together: they stand on a command line */
};

/* The part that stands for any number of levels. No name is written so: its stars are ".*" or
 * behind a backslash. */
#define LPO_EXPR_ANY_DEPTH "*"

struct lpo_expr {
    const char *text;    /* for --nvtx-include */
    const char *pattern; /* that it is of */
    const char **parts;  /* domain and levels, each a regular expression; NULL: ncu's own grammar */
    size_t nparts;
    bool start_end, regex;
};

struct lpo_exprs {
    struct lpo_expr *at;
    size_t len, cap, bytes;
    bool exact;        /* set by the caller: a pattern that would be wider is refused */
    const char *wider; /* a pattern whose expressions take more than it means; NULL: none */
};

/* Appends the expressions of one pattern. When regions are known, a pattern that fits none is an
 * error that names the nearest, and only the kinds that exist are asked for. */
int lpo_pipeline_ncu_expr_add(struct lpo_arena *a, const char *pattern,
                              const struct lpo_known_regions *seen, struct lpo_exprs *out,
                              struct lpo_err *err);

/* Is the region captured where the user names none? It has no parent; loading and warming up are,
 * only where there is nothing else. */
bool lpo_pipeline_ncu_is_default(const struct lpo_known_regions *known, size_t i);
/* An expression for each of those. False, and none, where they are too many for
 * one command. */
bool lpo_pipeline_ncu_expr_add_outermost(struct lpo_arena *a, const struct lpo_known_regions *known,
                                         struct lpo_exprs *out);

/* The parts of an expression as one regular expression of ncu's. */
const char *lpo_pipeline_ncu_expr_regex(struct lpo_arena *a, const struct lpo_expr *e);

/* After the last pattern: makes one regular expression of several where it says the
 * same. LPO_E_CONFIG where ncu would pass over one of ours; *note where it will pass over one that
 * was written in its own grammar, else NULL. */
int lpo_pipeline_ncu_exprs_join(struct lpo_arena *a, struct lpo_exprs *exprs, const char **note,
                                struct lpo_err *err);
