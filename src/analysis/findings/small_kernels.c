/* SPDX-License-Identifier: Apache-2.0 */
/* Runs of short kernels that could be one. A fused kernel takes at least as long as the longest of
 * them, so what could be saved is the sum without it, and no more than the slack of the run.
 * Kernels of CUDA graphs are launched together already, and their order may be the framework's
 * fusion. */
#include "analysis/analysis.h"
#include "analysis/findings/private.h"
#include "region/cells.h"
#include "region/classes.h"
#include "util/map.h"
#include "util/vec.h"

enum {
    SHORT_KERNEL_NS = 10000, /* each by its own duration, never by the mean of its name */
    LEAST_RUN = 3,
};

struct run {
    uint32_t stream;
    uint64_t kernels;
    int64_t sum_ns, longest_ns, slack_ns;
};

struct totals {
    uint64_t runs, kernels;
    int64_t gpu_ns, saving_ns;
};

static bool can_fuse(enum lpo_region_kernel_class class)
{
    switch (class) {
    case LPO_CLASS_ELEMENTWISE:
    case LPO_CLASS_NORM:
    case LPO_CLASS_SOFTMAX:
    case LPO_CLASS_ROTARY:
    case LPO_CLASS_REDUCTION:
    case LPO_CLASS_COPY:
    case LPO_CLASS_INDEXING:
    case LPO_CLASS_QUANTIZE:
        return true;
    default:
        return false;
    }
}

static bool counts(const struct lpo_findings_work *w, const struct lpo_gpu_op *op)
{
    return op->kind == LPO_KERNEL &&
           !(op->flags & (LPO_GPU_OP_GRAPH | LPO_GPU_OP_WHOLE | LPO_GPU_OP_SHARE)) &&
           lpo_trace_gpu_op_ns(op) < SHORT_KERNEL_NS &&
           can_fuse(lpo_region_cells_class(w->a->cells, op->name));
}

static void close_run(struct run *r, struct totals *t)
{
    int64_t could = r->sum_ns - r->longest_ns;

    if (r->kernels >= LEAST_RUN) {
        t->runs++;
        t->kernels += r->kernels;
        t->gpu_ns += r->sum_ns;
        t->saving_ns += could < r->slack_ns ? could : r->slack_ns;
    }
    *r = (struct run){ .stream = r->stream };
}

struct runs {
    LPO_VEC(struct run) list;
    struct lpo_map_pair rows; /* by stream: a trace may have one for each kernel */
};

static struct run *run_of(struct runs *all, uint32_t stream)
{
    bool fresh;
    uint32_t row = lpo_map_pair_put(&all->rows, stream, 0, &fresh);

    if (fresh)
        lpo_vec_push(&all->list, ((struct run){ .stream = stream }));
    return &all->list.at[row];
}

void lpo_findings_small_kernels(struct lpo_findings_work *w)
{
    const struct lpo_findings_slack *slack = &w->slack;
    struct totals total = { 0 };
    struct lpo_finding *f;
    struct runs all = { 0 };

    for (size_t i = 0; i < slack->count; i++) {
        const struct lpo_gpu_op *op = &w->trace->gpu_ops.at[slack->rows[i]];
        struct run *r = run_of(&all, op->stream);
        int64_t ns = lpo_trace_gpu_op_ns(op);

        if (!counts(w, op)) {
            close_run(r, &total);
            continue;
        }
        r->kernels++;
        r->sum_ns += ns;
        r->longest_ns = ns > r->longest_ns ? ns : r->longest_ns;
        r->slack_ns += slack->ns[i];
    }
    for (size_t i = 0; i < all.list.len; i++)
        close_run(&all.list.at[i], &total);
    f = lpo_findings_claim(w, LPO_FINDING_SMALL_KERNELS, total.saving_ns);
    if (f) {
        lpo_findings_fact(f, LPO_FACT_LAUNCHES, (double)total.kernels);
        lpo_findings_fact(f, LPO_FACT_RUNS, (double)total.runs);
        lpo_findings_fact(f, LPO_FACT_GPU_NS, (double)total.gpu_ns);
    }
    lpo_vec_free(&all.list);
    lpo_map_pair_free(&all.rows);
}
