/* SPDX-License-Identifier: Apache-2.0 */
/* report/counter_records.h - the record of sampled counters: how they were taken, how sure they
 * are, and each kernel by one launch. */
#pragma once

struct lpo_analysis;
struct lpo_record;

/* "counters"; nothing where none were sampled. */
void lpo_report_put_counters(struct lpo_record *to, const struct lpo_analysis *a);
