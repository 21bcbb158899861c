/* report/chapters.h - the chapters of a run's reports, each a function into a document. */
#pragma once

struct lpo_doc;
struct lpo_operators;
struct lpo_rundir;
struct lpo_source;

/* What ran, on what, how it went, how fast it was. */
void lpo_report_chapter_run(struct lpo_doc *doc, const struct lpo_rundir *d);
/* Time by region: aggregate, then every process and device. */
void lpo_report_chapter_regions(struct lpo_doc *doc, const struct lpo_rundir *d,
                                const struct lpo_source *s);
/* Kernels, classes, copies, busy and idle. */
void lpo_report_chapter_gpu(struct lpo_doc *doc, const struct lpo_rundir *d,
                            const struct lpo_source *s);
/* What the numbers cover, and every warning. */
void lpo_report_chapter_coverage(struct lpo_doc *doc, const struct lpo_rundir *d,
                                 const struct lpo_source *s);
/* Machine data: scopes, devices, kernels. */
void lpo_report_put_analysis(struct lpo_doc *doc, const struct lpo_rundir *d,
                             const struct lpo_source *s);

struct lpo_doc *lpo_report_kernels_doc(const struct lpo_rundir *d, const struct lpo_source *s);
struct lpo_doc *lpo_report_operators_doc(const struct lpo_rundir *d, const struct lpo_source *s);
/* Half a page for someone who does not know what a kernel is. `s` may be NULL. */
struct lpo_doc *lpo_summary_doc(const struct lpo_rundir *d, const struct lpo_source *s);
