/* SPDX-License-Identifier: Apache-2.0 */
/* Forward work that the backward pass does again (activation checkpointing). Which kernels did it
 * is known with the regions (region/backward.h). */
#include <stdlib.h>

#include "analysis/analysis.h"
#include "analysis/findings/private.h"
#include "region/tree.h"
#include "util/xmalloc.h"

void lpo_findings_recomputation(struct lpo_findings_work *w)
{
    const struct lpo_region_tree *tree = w->a->tree;
    int64_t *want, *sums, gpu_ns = 0; /* sums: by the region of the first pass */
    struct lpo_finding *f;
    uint64_t kernels = 0;

    if (!tree->launch_links)
        return;
    want = lpo_findings_wants(w);
    sums = lpo_xcalloc(tree->nodes.len + 1, sizeof *sums);
    for (size_t i = 0; i < w->slack.count; i++) {
        const struct lpo_gpu_op *op = &w->trace->gpu_ops.at[w->slack.rows[i]];

        const struct lpo_region_links *links = &tree->links.at[lpo_region_links_of(tree, op)];

        if (op->kind != LPO_KERNEL || !links->recomputed)
            continue;
        want[i] = lpo_trace_gpu_op_ns(op);
        kernels++;
        gpu_ns += want[i];
        if (links->forward != LPO_NONE)
            sums[links->forward] += want[i];
    }
    f = kernels ? lpo_findings_claim(w, LPO_FINDING_RECOMPUTATION, want) : NULL;
    free(want);
    if (f) {
        f->node = lpo_findings_main_region(tree, sums, gpu_ns);
        lpo_findings_fact(f, LPO_FACT_LAUNCHES, (double)kernels);
        lpo_findings_fact(f, LPO_FACT_GPU_NS, (double)gpu_ns);
    }
    free(sums);
}
