/* SPDX-License-Identifier: Apache-2.0 */
/* report/findings/findings.h - the ladder in words: title, place, saving, evidence, advice.
 *
 * The numbers are analysis/ladder; each kind of rung has a row of words in words.c and a paragraph
 * in docs/findings.md; each fact has a sentence in facts.c, filled with numbers of this run. */
#pragma once

#include "analysis/ladder/ladder.h"

struct lpo_doc;
struct lpo_record;
struct lpo_rundir;
struct lpo_source;

/* What the words are made from. */
struct lpo_ladder_words {
    struct lpo_arena *arena;
    const struct lpo_rundir *d;
    const struct lpo_source *s;
    const struct lpo_ladders *all;
    const struct lpo_ladder *ladder; /* NULL: there is none */
};

struct lpo_ladder_words lpo_report_ladder_words(struct lpo_arena *arena, const struct lpo_rundir *d,
                                                const struct lpo_source *s);
const char *lpo_report_rung_title(const struct lpo_ladder_words *w, const struct lpo_rung *r);
const char *lpo_report_rung_advice(const struct lpo_ladder_words *w, const struct lpo_rung *r);
/* File and line or operator, and the path of the region; else the device. */
const char *lpo_report_rung_where(const struct lpo_ladder_words *w, const struct lpo_rung *r);
/* "12.3 ms (4.5 %)"; of memory "12.7 GiB". */
const char *lpo_report_rung_saving(const struct lpo_ladder_words *w, const struct lpo_rung *r);
/* "rank:0/device:0" or a line of the program, in brackets with a space before; "" where the title
 * says it or there is only one GPU. */
const char *lpo_report_rung_place(const struct lpo_ladder_words *w, const struct lpo_rung *r);
/* NULL: the rung does not have it. */
const struct lpo_evidence *lpo_report_find_fact(const struct lpo_rung *r, enum lpo_fact fact);
/* The role that holds most of the peak; NULL: none is known. */
const struct lpo_evidence *lpo_report_main_role(const struct lpo_rung *r);
/* As a person writes it: without the version that nsys puts behind a call, without addresses. */
const char *lpo_report_plain_name(const struct lpo_ladder_words *w, uint32_t name);
/* A sentence. */
const char *lpo_report_rung_fact(const struct lpo_ladder_words *w, const struct lpo_evidence *e);
const char *lpo_report_ladder_caution(const struct lpo_ladder_words *w,
                                      const struct lpo_caution *c);
/* What the time of the window was, in one or two sentences; NULL: no wall time is known. */
const char *lpo_report_ladder_verdict(const struct lpo_ladder_words *w);
/* What is left where there is no rung, or why none can be. */
const char *lpo_report_ladder_rest(const struct lpo_ladder_words *w);
/* Of the ladder, then verdicts on what has no wall time. NULL past the last. */
const struct lpo_rung *lpo_report_rung_at(const struct lpo_ladder_words *w, size_t i);
/* Is it a rung of the ladder, with a saving of wall time? */
bool lpo_report_rung_has_time(const struct lpo_ladder_words *w, const struct lpo_rung *r);
/* Is a saving larger than what repeats of the same run differ by? */
bool lpo_report_rung_counts(const struct lpo_ladder_words *w, const struct lpo_rung *r);
/* A bar that gets shorter from today to the floor, a row for each rung; nothing where there is
 * none.
 */
void lpo_report_add_ladder(struct lpo_doc *doc, const struct lpo_ladder_words *w);

/* The chapter at the head of the report: cautions, verdict, picture, rungs. */
void lpo_report_chapter_findings(struct lpo_doc *doc, const struct lpo_rundir *d,
                                 const struct lpo_source *s, size_t most);
/* After lpo run and lpo report: the verdict and the first rungs, three lines beside cautions. */
void lpo_report_findings_lines(struct lpo_arena *arena, const struct lpo_rundir *d,
                               const struct lpo_source *s, struct lpo_str *out);
/* lpo report --findings: the same, for people in a hurry, with all rungs. */
struct lpo_doc *lpo_report_findings_doc(const struct lpo_rundir *d, const struct lpo_source *s);
/* "verdict", "window", "ladder", "ladders", "cautions" and "findings". */
void lpo_report_put_findings(struct lpo_record *to, const struct lpo_rundir *d,
                             const struct lpo_source *s);
/* First calls of ranges and operators that take much longer than later ones; nothing where there
 * are none. */
void lpo_report_add_first_calls(struct lpo_doc *doc, const struct lpo_source *s);
