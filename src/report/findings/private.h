/* SPDX-License-Identifier: Apache-2.0 */
/* report/findings/private.h - numbers as words, for those who write sentences here. */
#pragma once

#include "report/findings/findings.h"
#include "util/arena.h"
#include "util/str.h"
#include "util/units.h"

static inline const char *lpo_report_findings_keep(const struct lpo_finding_words *w,
                                                   const struct lpo_str *s)
{
    return lpo_arena_strdup(w->arena, lpo_str_text(s));
}

static inline const char *lpo_report_findings_duration(const struct lpo_finding_words *w, double ns)
{
    LPO_STR s = { 0 };

    lpo_units_add_duration(&s, (int64_t)ns);
    return lpo_report_findings_keep(w, &s);
}

static inline const char *lpo_report_findings_percent(const struct lpo_finding_words *w,
                                                      double share)
{
    LPO_STR s = { 0 };

    lpo_units_add_percent(&s, 100 * share);
    return lpo_report_findings_keep(w, &s);
}
