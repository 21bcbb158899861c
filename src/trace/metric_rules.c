/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/metric_rules.h"

#include <string.h>

#include "rules/rules.h"
#include "util/err.h"

struct search {
    const char *name;
    enum lpo_combine found;
    bool done;
};

static int compare_rule(void *ctx, const char *value, const char *part, size_t len,
                        struct lpo_err *err)
{
    struct search *s = ctx;
    const size_t n = strlen(s->name);
    bool at_end = part[len - 1] == '$';

    (void)err;
    len -= at_end;
    if (s->done || (at_end ? n < len || memcmp(s->name + n - len, part, len) != 0
                           : !memmem(s->name, n, part, len)))
        return 0;
    s->done = true;
    while (strcmp(lpo_trace_combine_name(s->found), value) != 0)
        s->found++; /* a test asks for each of them */
    return 0;
}

enum lpo_combine lpo_trace_metric_combine(const char *name)
{
    struct search s = { name, LPO_SUM, false };
    struct lpo_err err = { 0 };

    lpo_rules_each(lpo_rules("metrics"), "combine", compare_rule, &s, &err);
    return s.done ? s.found : LPO_TIME_WEIGHTED;
}

const char *lpo_trace_combine_name(enum lpo_combine rule)
{
    static const char *const names[] = { "sum", "time-weighted mean", "maximum", "minimum",
                                         "first" };

    return names[rule];
}
