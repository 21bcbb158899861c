/* SPDX-License-Identifier: Apache-2.0 */
/* report/ncu_rules.h - what ncu's rules advise, for report.md (the first rows), kernels.md (all)
 * and report.json. Nothing is added where no source has rules. */
#pragma once

#include "util/base.h"

struct lpo_doc;
struct lpo_record;
struct lpo_rundir;

/* At most `most` rows, and in them only advice unless `all`. Begins a section of that level. */
void lpo_report_ncu_rules(struct lpo_doc *doc, const struct lpo_rundir *d, int level, size_t most,
                          bool all);
/* "ncu_rules": see docs/report-json.md. */
void lpo_report_put_ncu_rules(struct lpo_record *to, const struct lpo_rundir *d);
