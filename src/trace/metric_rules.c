/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/metric_rules.h"

#include <string.h>

#include "util/str.h"

struct rule {
    const char *part;
    bool at_end; /* the name must end with it; else holding it is enough */
    enum lpo_combine combine;
};

/* The first row that fits decides. */
static const struct rule rules[] = {
    { "device__attribute", false, LPO_FIRST },
    { "launch__", false, LPO_MAX },
    { "per_second", false, LPO_TIME_WEIGHTED },
    { "pct_of_peak", false, LPO_TIME_WEIGHTED },
    { ".pct", false, LPO_TIME_WEIGHTED },
    { "_pct", false, LPO_TIME_WEIGHTED },
    { ".ratio", false, LPO_TIME_WEIGHTED },
    { "_ratio", false, LPO_TIME_WEIGHTED },
    { "per_cycle", false, LPO_TIME_WEIGHTED },
    { "peak_sustained", false, LPO_MAX },
    { "__time_duration", true, LPO_SUM },
    { ".sum", false, LPO_SUM },
    { ".max", true, LPO_MAX },
    { ".min", true, LPO_MIN },
    { ".avg", false, LPO_TIME_WEIGHTED },
};

enum lpo_combine lpo_trace_metric_combine(const char *name)
{
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        const struct rule *r = &rules[i];

        if (r->at_end ? lpo_str_ends(name, r->part) : strstr(name, r->part) != NULL)
            return r->combine;
    }
    return LPO_TIME_WEIGHTED;
}

const char *lpo_trace_combine_name(enum lpo_combine rule)
{
    static const char *const names[] = { "sum", "time-weighted mean", "maximum", "minimum",
                                         "first" };

    return names[rule];
}
