/* SPDX-License-Identifier: Apache-2.0 */
/* report/limits/chapter_limits.h - the chapter "How far from the limit".
 *
 * What each region needs, what it took, and the least time that the hardware allows. */
#pragma once

#include "analysis/limits/limits.h"

struct lpo_analysis;
struct lpo_doc;
struct lpo_record;

/* Tables, figures and notes. */
void lpo_report_chapter_limits(struct lpo_doc *doc, const struct lpo_limits *l);
/* Its first sentences: ceilings, the whole, notes. */
void lpo_report_limits_words(struct lpo_doc *doc, const struct lpo_limits *l);
/* The measured roofline of the `most` most expensive kernels; nothing where ncu counted nothing. */
void lpo_report_chapter_kernel_roofline(struct lpo_doc *doc, const struct lpo_limits *l,
                                        const struct lpo_analysis *analysis, size_t most);
/* One or two sentences for people who do not know what a roofline is. */
void lpo_report_limits_in_words(struct lpo_doc *doc, const struct lpo_limits *l);
/* --- words.c: what the limits found, in words --- */

const char *lpo_report_limits_bound(enum lpo_held held);            /* "launch gaps", … */
const char *lpo_report_limits_means(const struct lpo_limit_row *r); /* NULL: nothing */
/* What the bound rests on; nothing where there is no bound. */
void lpo_report_limits_add_evidence(const struct lpo_limit_row *r, struct lpo_str *out);
void lpo_report_limits_add_note(const struct lpo_limits *l, const struct lpo_limits_note *n,
                                struct lpo_str *out);

/* "limits": every row, unfolded. */
void lpo_report_put_limits(struct lpo_record *to, const struct lpo_limits *l);
