/* SPDX-License-Identifier: Apache-2.0 */
/* report/profiled_kernels.h - what `lpo kernels` found as a document. */
#pragma once

#include "analysis/counters/kernel_profile.h"

struct lpo_doc;

enum lpo_kernel_state {
    LPO_KERNEL_NOT_TRIED, /* something before it made going on pointless */
    LPO_KERNEL_DONE,
    LPO_KERNEL_NO_MATCH, /* the program launched nothing of that name */
    LPO_KERNEL_FAILED,
};

const char *lpo_report_kernel_state_name(enum lpo_kernel_state state); /* "done", "no match", … */

/* One kernel that was asked for. */
struct lpo_kernel_outcome {
    const char *name;   /* as the user or `lpo top` names it */
    const char *regex;  /* over the bare function name */
    const char *folder; /* under the output folder */
    enum lpo_kernel_state state;
    const char *message; /* why not done, or what else to know; NULL */
    struct lpo_kernel_profiles profiles;
};

struct lpo_kernel_summary {
    const char *folder;  /* the output folder */
    const char *program; /* for people: quoted for a shell */
    const char *ncu;     /* its version; NULL unknown */
    const char *gpu;     /* NULL unknown */
    const struct lpo_kernel_outcome *at;
    size_t len;
};

/* Its data: {"folder", "program", "ncu", "gpu", "kernels": [{… "launches": [{… "class"}]}]} */
struct lpo_doc *lpo_report_kernel_summary_doc(const struct lpo_kernel_summary *s);
