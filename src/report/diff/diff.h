/* SPDX-License-Identifier: Apache-2.0 */
/* report/diff/diff.h - a comparison as a document: the verdict first, then what it rests on.
 *
 * The numbers are analysis/diff; here are words, tables and the record for machines
 * (docs/diff.md lists its members). */
#pragma once

#include "analysis/diff/budgets.h"

struct lpo_doc;
struct lpo_record;

#define LPO_DIFF_SCHEMA "lpo.diff/1"

struct lpo_report_diff_options {
    size_t rows;      /* of each table for people; 0: all */
    bool all;         /* rows that did not change, too */
    bool full_names;  /* of kernels */
    double fail_over; /* a share, 0.03; below 0: no limit was given */
    bool gated;       /* some limit was given: the checks below are shown, and may fail */
    lpo_diff_checks checks;
};

/* Borrows the diff, which must outlive it. */
struct lpo_doc *lpo_report_diff_doc(const struct lpo_diff *d,
                                    const struct lpo_report_diff_options *o);

/* Part of it: every member of the record. */
void lpo_report_diff_put(struct lpo_record *to, const struct lpo_diff *d,
                         const struct lpo_report_diff_options *o);
/* "the GPU differs: NVIDIA H100 in A, NVIDIA A100 in B" */
const char *lpo_report_diff_reason(struct lpo_arena *a, const struct lpo_diff_difference *x);
/* "slower", "faster", "no change", "not comparable": the one word for scripts and titles. */
const char *lpo_report_diff_verdict(const struct lpo_diff *d);
/* What one cause is: who, where, from what to what. */
const char *lpo_report_diff_cause(struct lpo_arena *a, const struct lpo_diff *d,
                                  const struct lpo_diff_cause *c);
/* The sentences that stand first. */
const char *lpo_report_diff_sentence(struct lpo_arena *a, const struct lpo_diff *d);
/* The section and the record of the checks. */
void lpo_report_diff_checks(struct lpo_doc *doc, const struct lpo_diff *d,
                            const struct lpo_report_diff_options *o);
void lpo_report_diff_put_checks(struct lpo_record *to, const struct lpo_report_diff_options *o);
/* Pictures, in the section at hand: only writers that draw lanes show them. */
void lpo_report_diff_figures(struct lpo_doc *doc, const struct lpo_diff *d);
/* Did any check fail? */
bool lpo_report_diff_failed(const struct lpo_report_diff_options *o);
/* "compute: GEMM", "idle: the host came too late" */
const char *lpo_report_diff_part(size_t part);
/* "+1.234 ms", "-56 ns" */
void lpo_report_diff_add_change(struct lpo_str *s, double ns);
