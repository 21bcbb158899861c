/* SPDX-License-Identifier: Apache-2.0 */
/* util/measure.h - a number that may be unknown, which is not 0.
 *
 * Every figure that reaches a report travels as a measure, so that a missing metric prints as
 * "n/a" (Markdown) or null (JSON), and an estimate can never pass for a measurement. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum lpo_how {
    LPO_UNKNOWN = 0, /* the value field means nothing */
    LPO_MEASURED,    /* read from a counter or a clock */
    LPO_COMPUTED,    /* exact arithmetic on measured or given values */
    LPO_ESTIMATED,   /* extrapolated: from representatives, from a model */
};

struct lpo_measure {
    double value;
    enum lpo_how how;
};

static inline struct lpo_measure lpo_measure_measured(double v)
{
    return (struct lpo_measure){ v, LPO_MEASURED };
}

static inline struct lpo_measure lpo_measure_computed(double v)
{
    return (struct lpo_measure){ v, LPO_COMPUTED };
}

static inline struct lpo_measure lpo_measure_estimated(double v)
{
    return (struct lpo_measure){ v, LPO_ESTIMATED };
}

static inline struct lpo_measure lpo_measure_unknown(void)
{
    return (struct lpo_measure){ 0, LPO_UNKNOWN };
}

static inline bool lpo_measure_known(struct lpo_measure m)
{
    return m.how != LPO_UNKNOWN;
}
