/* SPDX-License-Identifier: Apache-2.0 */
/* analysis/diff/private.h - what the files that make a digest share. */
#pragma once

#include "analysis/diff/digest.h"

struct lpo_analysis;
struct lpo_rundir;
struct lpo_source;

/* A digest while it is made. */
struct lpo_diff_builder {
    struct lpo_diff_digest *out;
    const struct lpo_rundir *dir;
    const struct lpo_source *source;
    const struct lpo_analysis *a;
    uint32_t *kernel_of; /* per name of the trace: row of kernels, or LPO_NONE */
    uint32_t *region_of; /* per node of the tree, then `(outside)`: row of regions, or LPO_NONE */
    size_t kept;         /* calls that were kept so far, in all samples */
};

/* How many calls one more sample may keep. */
size_t lpo_diff_room(const struct lpo_diff_builder *b);
void lpo_diff_keep(struct lpo_diff_builder *b, struct lpo_diff_sample *s, int64_t ns);

void lpo_diff_digest_kernels(struct lpo_diff_builder *b);
void lpo_diff_digest_regions(struct lpo_diff_builder *b);   /* after kernels */
void lpo_diff_digest_operators(struct lpo_diff_builder *b); /* any time */
void lpo_diff_digest_calls(struct lpo_diff_builder *b);     /* after regions and operators */
void lpo_diff_digest_measures(struct lpo_diff_builder *b);  /* after regions */
void lpo_diff_digest_strip(struct lpo_diff_builder *b);
void lpo_diff_digest_facts(struct lpo_diff_builder *b); /* after regions */
/* What the GPUs were like under load. Returns the energy of the run, NAN where it is not known. */
double lpo_diff_digest_power(struct lpo_diff_builder *b);
void lpo_diff_digest_figures(struct lpo_diff_builder *b);
