/* SPDX-License-Identifier: Apache-2.0 */
/* analysis/diff/budgets.h - how much worse B may be before it fails: diff.budgets of a config.
 *
 *     diff:
 *       budgets:
 *         wall: 3%                     # of a step
 *         region:decode/layer*: 5%     # GPU time of a step, of every region that matches
 *         operator:aten::mm: 10%
 *         kernel:*flash*: 200us        # of one call
 *         class:GEMM: 5%
 *         part:idle.host: 20%          # a part of the wall time
 *         memory: 40GiB
 *         tokens_per_s: 2%             # may fall by so much
 *         ttft: 120ms
 *         energy: 5%
 *         metric:dram__bytes_read.sum: 5%          # of the whole run, may grow by so much
 *         metric:mfu@decode/layer*: -5%            # of every region that matches, may fall
 *         metric:tensor_percent@prefill: at least 40
 *
 * A percentage is compared with A, and fails only beyond chance. Anything else is a limit of its
 * own that B must keep, whatever A has: a time of one call (kernels, regions, operators), of a step
 * (wall, part), bytes, joules, or tokens a second, of which more is better. Whether more of a
 * counter is better is not known here, so its limit says so. Counters have no spread that could be
 * tested: their percentages are compared as they are, of the run that stands for its side. */
#pragma once

#include "analysis/diff/diff.h"

struct lpo_node;

enum { LPO_DIFF_MOST_BUDGETS = 1000 };

struct lpo_diff_budget {
    const char *what;  /* "region:decode/layer*" */
    const char *limit; /* "3%", as written */
    int subject;       /* private: row of a table */
    const char *rest;  /* behind the ':'; "" */
    const char *where; /* metrics: the regions, behind '@'; NULL: the whole run */
    bool falls;        /* less is worse */
    double share;      /* 0.03; NAN: the limit is absolute */
    double most;       /* ns, bytes, joules, tokens a second; NAN: a share */
};

typedef LPO_VEC(struct lpo_diff_budget) lpo_diff_budgets;

/* Of a map as above; NULL is empty. Text lives in the arena. LPO_E_CONFIG names the key that is
 * wrong. */
int lpo_diff_budgets_read(struct lpo_arena *a, const struct lpo_node *map, lpo_diff_budgets *out,
                          struct lpo_err *err);
/* One budget, as if it stood in a map. */
int lpo_diff_budgets_add(struct lpo_arena *a, const char *what, const char *limit,
                         lpo_diff_budgets *out, struct lpo_err *err);

enum lpo_diff_state {
    LPO_DIFF_PASSED,
    LPO_DIFF_FAILED,
    LPO_DIFF_BY_CHANCE, /* beyond the limit, but chance can explain it: passed */
    LPO_DIFF_NO_MATCH,  /* nothing of that name: passed, and said */
};

const char *lpo_diff_state_name(enum lpo_diff_state state); /* "passed", "failed", … */

enum lpo_diff_unit { LPO_DIFF_NS, LPO_DIFF_MS, LPO_DIFF_BYTES, LPO_DIFF_NUMBER };

/* What became of one budget: its worst row. */
struct lpo_diff_check {
    const struct lpo_diff_budget *budget;
    const char *name; /* of that row: the region's path; the budget's own text where there is one */
    enum lpo_diff_state state;
    enum lpo_diff_unit unit;
    double a, b;   /* NAN: not known */
    double change; /* for the worse, as a share; NAN: not known */
};

typedef LPO_VEC(struct lpo_diff_check) lpo_diff_checks;

/* One check for each budget, in their order. Borrows both. */
void lpo_diff_check_all(const struct lpo_diff *d, const lpo_diff_budgets *budgets,
                        lpo_diff_checks *out);
