/* SPDX-License-Identifier: Apache-2.0 */
/* analysis/counters/rules.h - what ncu's rules say about the kernels that it profiled, by kernel.
 *
 * ncu says it for each launch, often a hundred times the same. A row is one message of one rule
 * about one kernel; the text is that of the launch where it would save most. */
#pragma once

#include "util/base.h"

struct lpo_trace;

struct lpo_counters_rule {
    uint32_t kernel;        /* name ids */
    uint32_t section, rule; /* may be LPO_NONE */
    uint32_t title, text;
    uint8_t kind, speedup; /* enum lpo_rule_kind, enum lpo_rule_speedup */
    double percent;        /* most of its launches; NaN: ncu does not say */
    uint64_t launches;     /* that it was said about */
    int64_t gpu_ns;        /* of those, as ncu measured them */
    double saving_ns;      /* of those, where the speed-up is of the whole kernel; else NaN */
};

struct lpo_counters_rules {
    LPO_VEC(struct lpo_counters_rule) rows; /* what saves most first; then by GPU time */
};

const char *lpo_counters_rule_kind(unsigned kind); /* "advice", "info", …; enum lpo_rule_kind */
const char *lpo_counters_rule_speedup(unsigned speedup); /* "local", "global"; NULL: none */

/* Never NULL; a trace without rules has no rows. */
struct lpo_counters_rules *lpo_counters_rules_create(const struct lpo_trace *t);
void lpo_counters_rules_destroy(struct lpo_counters_rules *r); /* NULL is fine */
