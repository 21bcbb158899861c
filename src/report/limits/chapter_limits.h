/* SPDX-License-Identifier: Apache-2.0 */
/* report/limits/limits_chapter.h - the chapter "How far from the limit".
 *
 * What each region needs, what it took, and the least time that the hardware allows. */
#pragma once

#include <stddef.h>

struct lpo_analysis;
struct lpo_doc;
struct lpo_limits;
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
/* "limits": every row, unfolded. */
void lpo_report_put_limits(struct lpo_record *to, const struct lpo_limits *l);
