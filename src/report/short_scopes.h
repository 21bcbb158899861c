/* SPDX-License-Identifier: Apache-2.0 */
/* report/short_scopes.h - what trace_records.c and short_scopes.c share: parts of one scope. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "region/scope.h"

struct lpo_analysis;
struct lpo_record;

/* How many of a region's kernels are listed. */
uint32_t lpo_report_listed_kernels(const struct lpo_region_row *row);
/* A scope in the list `to`, without its regions. */
struct lpo_record *lpo_report_put_scope_head(struct lpo_record *to, const struct lpo_analysis *a,
                                             struct lpo_scope_id id);
/* "regions": these rows of the scope, `count` of them; NULL: all. */
void lpo_report_put_regions(struct lpo_record *r, const struct lpo_analysis *a,
                            struct lpo_scope_id id, const uint32_t *rows, size_t count);
