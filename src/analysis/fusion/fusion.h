/* SPDX-License-Identifier: Apache-2.0 */
/* analysis/fusion/fusion.h - sequences of short kernels that come again and again: each could be
 * one kernel.
 *
 * A run is kernels of one stream that follow each other, each shorter than 10 us, of a class that
 * compilers fuse (elementwise, norm, softmax, rotary, reduction, copy, indexing, quantize), not
 * from CUDA graphs, less than 1 ms apart. A sequence is two or more kernel names that stand next to
 * each other in runs three times or more. Sequences are made as long as they can be: from the most
 * frequent pair, a neighbour is added while nine of ten places have it. No kernel is in two of
 * them. */
#pragma once

#include "region/classes.h"

struct lpo_region_tree;

enum {
    LPO_FUSION_LONGEST = 32, /* kernels of one sequence */
    LPO_FUSION_SHORT_NS = 10000,
};

struct lpo_fusion_sequence {
    uint32_t names[LPO_FUSION_LONGEST];
    uint32_t length; /* kernels */
    uint32_t node;   /* the innermost region that has all of them; LPO_NONE: none */
    uint64_t count;  /* how often it comes */
    int64_t gpu_ns;  /* all of its kernels */
    int64_t rest_ns; /* without the longest kernel of each time: what one kernel might save */
    int64_t gap_ns;  /* between its kernels */
};

struct lpo_fusion {
    uint64_t kernels; /* short ones that could be fused, in runs of two and more */
    int64_t gpu_ns;
    LPO_VEC(struct lpo_fusion_sequence) sequences; /* most time with gaps first */
};

/* Is it a class that compilers fuse? */
bool lpo_fusion_class(enum lpo_region_kernel_class class);

struct lpo_fusion *lpo_fusion_create(const struct lpo_region_tree *tree);
void lpo_fusion_destroy(struct lpo_fusion *f); /* NULL is fine */
LPO_AUTO_DEFINE(lpo_fusion);
