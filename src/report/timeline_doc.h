/* report/timeline_doc.h - the timeline of a trace as a document with one figure of lanes.
 *
 * GPU lanes show the work of every stream, and above them the regions it was launched from, one
 * lane per level; process lanes show the ranges of every thread on the host's clock. */
#pragma once

struct lpo_analysis;
struct lpo_doc;

/* The document borrows names from the analysis, which must outlive it. */
struct lpo_doc *lpo_report_timeline_doc(const struct lpo_analysis *a);
