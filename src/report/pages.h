/* SPDX-License-Identifier: Apache-2.0 */
/* report/pages.h - which documents a run has, and where each of its pages goes.
 *
 *     kernels.md  operators.md  stakeholder_summary.md
 *     torch_profiler/{operators.md,report.md,metrics.json}
 *     ncu/regions/report.{md,json} and a folder for each region, where ncu ran in region mode
 *
 * beside the main report, which is made in every format that was asked for. Nothing in them comes
 * from the clock, the machine or the place of the folder: building twice gives the same bytes. */
#pragma once

#include "util/base.h"

struct lpo_doc;
struct lpo_rundir;

enum { LPO_REPORT_DOCUMENTS = 2 };

/* The documents of the main report, each made once, when it is first asked for. */
struct lpo_report_documents {
    const struct lpo_rundir *d;
    const char *dir;            /* the run's own folder; NULL: a list of files */
    const char *const *formats; /* that were asked for: names of writers */
    size_t nformats;
    struct lpo_doc *docs[LPO_REPORT_DOCUMENTS]; /* by kind */
    bool tried[LPO_REPORT_DOCUMENTS];
};

struct lpo_report_documents *lpo_report_documents_create(const struct lpo_rundir *d);
void lpo_report_documents_destroy(struct lpo_report_documents *r); /* NULL is fine */
LPO_AUTO_DEFINE(lpo_report_documents);
/* By the `kind` of a writer: "run", "page" (the same with the data of its views), "timeline"; NULL:
 * this run has nothing for it. */
const struct lpo_doc *lpo_report_documents_get(struct lpo_report_documents *r, const char *kind);

/* Who writes the pages. The ending of a path says its format; its folder is there. */
struct lpo_report_printer {
    void *ctx;
    void (*page)(void *ctx, const struct lpo_doc *doc, const char *path);
    void (*text)(void *ctx, const char *path, struct lpo_str *text); /* taken and emptied */
};

/* The other pages of a run that was loaded and analysed; below `dir`. */
int lpo_report_pages_print(const struct lpo_rundir *d, const char *dir,
                           const struct lpo_report_printer *to, struct lpo_err *err);
