/* SPDX-License-Identifier: Apache-2.0 */
/* report/findings/findings.h - findings in words: title, saving, evidence, advice.
 *
 * The numbers are analysis/findings; each kind has a row of words in words.c and a paragraph in
 * docs/findings.md; each fact has a row in facts.c. Every sentence is filled with numbers of this
 * run. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct lpo_arena;
struct lpo_caution;
struct lpo_doc;
struct lpo_evidence;
struct lpo_finding;
struct lpo_findings;
struct lpo_record;
struct lpo_rundir;
struct lpo_source;
struct lpo_str;
struct lpo_trace;
struct lpo_wall_device;

/* What the words are made from. */
struct lpo_finding_words {
    struct lpo_arena *arena;
    const struct lpo_source *s;
    const struct lpo_findings *findings;
};

struct lpo_finding_fact {
    const char *text;
    double value;
    const char *unit; /* "ns", "bytes", "count" …; NULL: the value is a code */
};

const char *lpo_report_finding_title(const struct lpo_finding_words *w,
                                     const struct lpo_finding *f);
const char *lpo_report_finding_advice(const struct lpo_finding_words *w,
                                      const struct lpo_finding *f);
/* "device:0", "rank:3/device:0": the device that all findings are about. */
const char *lpo_report_finding_device(const struct lpo_finding_words *w);
/* The path of the region; where there is no single one, the device. */
const char *lpo_report_finding_where(const struct lpo_finding_words *w,
                                     const struct lpo_finding *f);
/* "at most 12.3 ms (4.5 %)" or "about …". */
const char *lpo_report_finding_saving(const struct lpo_finding_words *w,
                                      const struct lpo_finding *f);
/* Fact `i` of those that are worth saying; false past the last. */
bool lpo_report_finding_evidence(const struct lpo_finding_words *w, const struct lpo_finding *f,
                                 size_t i, struct lpo_finding_fact *out);
/* The value with its unit. */
const char *lpo_report_finding_value(const struct lpo_finding_words *w,
                                     const struct lpo_evidence *e);
/* The same as a whole sentence part. */
const char *lpo_report_finding_fact(const struct lpo_finding_words *w,
                                    const struct lpo_evidence *e);
/* The same, as evidence of a finding: a number that has been said is not said again. NULL: nothing
 * is to be said. */
const char *lpo_report_finding_part(const struct lpo_finding_words *w, const struct lpo_finding *f,
                                    const struct lpo_evidence *e);
const char *lpo_report_finding_caution(const struct lpo_finding_words *w,
                                       const struct lpo_caution *c);
/* What the critical GPU did with its time, in one sentence; NULL: no GPU time was recorded. */
const char *lpo_report_finding_verdict(const struct lpo_finding_words *w);

/* What faster kernels could save at most; NULL where that is more than half of their time, or not
 * known. */
const char *lpo_report_finding_kernels(const struct lpo_finding_words *w);
/* Idle time although the next work had been launched; NULL where that is under 5 %. */
const char *lpo_report_finding_queued(const struct lpo_finding_words *w);
/* Is the idle time before work that had been launched so short, gap by gap, that it is what a GPU
 * needs between two operations? */
bool lpo_report_finding_between(const struct lpo_findings *f, const struct lpo_wall_device *d);
/* Of communication (0) or copies (1) that run alone and save next to nothing; NULL: there is no
 * such time. */
const char *lpo_report_finding_masked(const struct lpo_finding_words *w, size_t i);
/* All of these that there are, in the order in which they are said; how many. */
enum { LPO_FINDING_REMARKS = 4 };
size_t lpo_report_finding_remarks(const struct lpo_finding_words *w,
                                  const char *out[LPO_FINDING_REMARKS]);
/* Where to look first when no finding is possible, because nothing says when kernels ran: the most
 * expensive kernel, and what holds it back where ncu measured that. NULL: findings are possible, or
 * no kernel has a time. */
const char *lpo_report_finding_begin(const struct lpo_finding_words *w);
/* Why there is no finding to show. */
const char *lpo_report_finding_none(const struct lpo_source *s, const struct lpo_findings *f);

/* The chapter at the head of the report: verdict, cautions, findings. `most` findings are shown. */
void lpo_report_chapter_findings(struct lpo_doc *doc, const struct lpo_rundir *d,
                                 const struct lpo_source *s, size_t most);
/* First calls of ranges and operators that take much longer than later ones; nothing where there
 * are none. */
void lpo_report_add_first_calls(struct lpo_doc *doc, const struct lpo_rundir *d,
                                const struct lpo_source *s);
/* After lpo run: the verdict and the three largest findings, a line each. */
void lpo_report_findings_lines(struct lpo_arena *arena, const struct lpo_rundir *d,
                               const struct lpo_source *s, struct lpo_str *out);
/* lpo report --findings: the same, for people in a hurry, with all findings. */
struct lpo_doc *lpo_report_findings_doc(const struct lpo_rundir *d, const struct lpo_source *s);
/* "verdict", "cautions" and "findings". */
void lpo_report_put_findings(struct lpo_record *to, const struct lpo_rundir *d,
                             const struct lpo_source *s);
