/* SPDX-License-Identifier: Apache-2.0 */
/* report/findings/findings.h - findings in words: title, saving, evidence, advice.
 *
 * The numbers are analysis/findings; each kind has a row of words in words.c and a paragraph in
 * docs/findings.md. Every sentence is filled with numbers of this run. */
#pragma once

#include <stddef.h>

struct lpo_arena;
struct lpo_caution;
struct lpo_doc;
struct lpo_finding;
struct lpo_findings;
struct lpo_record;
struct lpo_rundir;
struct lpo_source;
struct lpo_str;
struct lpo_trace;

/* What the words are made from. */
struct lpo_finding_words {
    struct lpo_arena *arena;
    const struct lpo_source *s;
    const struct lpo_findings *findings;
};

const char *lpo_report_finding_title(const struct lpo_finding_words *w,
                                     const struct lpo_finding *f);
const char *lpo_report_finding_advice(const struct lpo_finding_words *w,
                                      const struct lpo_finding *f);
/* The region and the device: "decode/step, device:0". */
const char *lpo_report_finding_where(const struct lpo_finding_words *w,
                                     const struct lpo_finding *f);
/* "at most 12.3 ms (4.5 %)" or "about …". */
const char *lpo_report_finding_saving(const struct lpo_finding_words *w,
                                      const struct lpo_finding *f);
/* One sentence for each fact that is worth one; NULL past the last. */
const char *lpo_report_finding_evidence(const struct lpo_finding_words *w,
                                        const struct lpo_finding *f, size_t i);
const char *lpo_report_finding_caution(const struct lpo_finding_words *w,
                                       const struct lpo_caution *c);
/* What the critical GPU did with its time, in one sentence; NULL: no GPU time was recorded. */
const char *lpo_report_finding_verdict(const struct lpo_finding_words *w);

/* The chapter at the head of the report: verdict, cautions, findings. `most` findings are shown. */
void lpo_report_chapter_findings(struct lpo_doc *doc, const struct lpo_rundir *d,
                                 const struct lpo_source *s, size_t most);
/* "verdict", "cautions" and "findings". */
void lpo_report_put_findings(struct lpo_record *to, const struct lpo_rundir *d,
                             const struct lpo_source *s);
