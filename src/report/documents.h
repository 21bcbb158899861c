/* SPDX-License-Identifier: Apache-2.0 */
/* report/documents.h - the documents of a run. pages.h says which file each becomes.
 *
 * `s` is the source that says most about where time goes; it may be NULL. Documents borrow names
 * from its trace, which must outlive them. */
#pragma once

struct lpo_analysis;
struct lpo_doc;
struct lpo_rundir;
struct lpo_source;

/* report.{md,json,csv,txt} */
struct lpo_doc *lpo_report_run_doc(const struct lpo_rundir *d, const struct lpo_source *s);
/* report.html: the same document, and the data of its views (report/page/page.h). */
void lpo_report_add_page(struct lpo_doc *doc, const struct lpo_rundir *d,
                         const struct lpo_source *s);
/* kernels.md: every kernel. */
struct lpo_doc *lpo_report_kernels_doc(const struct lpo_rundir *d, const struct lpo_source *s);
/* operators.md: `s` is the source of the PyTorch profiler. */
struct lpo_doc *lpo_report_operators_doc(const struct lpo_rundir *d, const struct lpo_source *s);
/* stakeholder_summary.md: half a page for someone who does not know what a kernel is. */
struct lpo_doc *lpo_summary_doc(const struct lpo_rundir *d, const struct lpo_source *s);
/* torch_profiler/{report.md,metrics.json}; NULL where that stage left no trace. */
struct lpo_doc *lpo_report_torch_doc(const struct lpo_rundir *d);
/* timeline.perfetto.json: one figure of lanes. GPU lanes show the operations of every stream, and
 * above them the regions from which they were launched, one lane per level; process lanes show the
 * ranges of every thread on the host's clock. */
struct lpo_doc *lpo_report_timeline_doc(const struct lpo_analysis *a, const struct lpo_rundir *d,
                                        const struct lpo_source *s);
