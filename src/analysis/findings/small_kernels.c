/* SPDX-License-Identifier: Apache-2.0 */
/* Runs of short kernels that could be one. A fused kernel takes at least as long as the longest of
 * them, so what could be saved is the others, and no more than their slack.
 * Kernels of CUDA graphs are launched together already, and their order may be the framework's
 * fusion. */
#include <stdlib.h>

#include "analysis/analysis.h"
#include "analysis/findings/private.h"
#include "analysis/fusion/fusion.h"
#include "region/cells.h"
#include "region/classes.h"
#include "util/map.h"
#include "util/str.h"
#include "util/vec.h"

enum { LEAST_RUN = 3 };

struct run {
    LPO_VEC(uint32_t) rows; /* of slack */
    uint32_t longest;       /* entry of them */
};

struct totals {
    uint64_t runs, kernels;
    int64_t gpu_ns, *want; /* per row of slack */
};

static bool counts(const struct lpo_findings_work *w, const struct lpo_gpu_op *op)
{
    return op->kind == LPO_KERNEL &&
           !(op->flags & (LPO_GPU_OP_GRAPH | LPO_GPU_OP_WHOLE | LPO_GPU_OP_SHARE)) &&
           /* by its own duration, never by the mean of its name */
           lpo_trace_gpu_op_ns(op) < LPO_FINDINGS_SHORT_KERNEL_NS &&
           lpo_fusion_class(lpo_region_cells_class(w->a->cells, op->name));
}

static int64_t length(const struct lpo_findings_work *w, uint32_t row)
{
    return lpo_trace_gpu_op_ns(&w->trace->gpu_ops.at[w->slack.rows[row]]);
}

static void close_run(const struct lpo_findings_work *w, struct run *r, struct totals *t)
{
    if (r->rows.len >= LEAST_RUN) {
        t->runs++;
        t->kernels += r->rows.len;
        for (size_t i = 0; i < r->rows.len; i++) {
            t->gpu_ns += length(w, r->rows.at[i]);
            t->want[r->rows.at[i]] = i == r->longest ? 0 : length(w, r->rows.at[i]);
        }
    }
    r->rows.len = 0;
    r->longest = 0;
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
        lpo_vec_push(&all->list, ((struct run){ 0 }));
    return &all->list.at[row];
}

void lpo_findings_add_compiled(const struct lpo_trace *t, struct lpo_finding *f)
{
    /* ranges of the runtime, operators of autograd, kernels of the compiler */
    static const char *const signs[] = { "Torch-Compiled Region", "CompiledFunction",
                                         "triton_poi_fused", "triton_red_fused",
                                         "triton_per_fused" };

    for (uint32_t i = 0; i < lpo_trace_name_count(t); i++)
        for (size_t k = 0; k < sizeof signs / sizeof *signs; k++)
            if (lpo_str_starts(lpo_trace_text(t, i), signs[k])) {
                lpo_findings_fact(f, LPO_FACT_COMPILED, 0);
                return;
            }
}

static void find_runs(const struct lpo_findings_work *w, struct totals *total)
{
    struct runs all = { 0 };

    for (uint32_t i = 0; i < w->slack.count; i++) {
        const struct lpo_gpu_op *op = &w->trace->gpu_ops.at[w->slack.rows[i]];
        struct run *r = run_of(&all, op->stream);

        if (!counts(w, op)) {
            close_run(w, r, total);
            continue;
        }
        lpo_vec_push(&r->rows, i);
        if (length(w, i) > length(w, r->rows.at[r->longest]))
            r->longest = (uint32_t)r->rows.len - 1;
    }
    for (size_t i = 0; i < all.list.len; i++) {
        close_run(w, &all.list.at[i], total);
        lpo_vec_free(&all.list.at[i].rows);
    }
    lpo_vec_free(&all.list);
    lpo_map_pair_free(&all.rows);
}

/* The sequence with the most time, by its first kernel. */
static void add_sequence(const struct lpo_findings_work *w, struct lpo_finding *f)
{
    const struct lpo_fusion *all = lpo_analysis_fusion(w->a);

    if (!all->sequences.len)
        return;
    lpo_findings_fact(f, LPO_FACT_SEQUENCE, (double)all->sequences.at[0].count);
    f->evidence[f->nevidence - 1].name = all->sequences.at[0].names[0];
    lpo_findings_fact(f, LPO_FACT_SEQUENCE_NS,
                      (double)(all->sequences.at[0].gpu_ns + all->sequences.at[0].gap_ns));
}

void lpo_findings_small_kernels(struct lpo_findings_work *w)
{
    struct totals total = { .want = lpo_findings_wants(w) };
    struct lpo_finding *f;

    find_runs(w, &total);
    f = lpo_findings_claim(w, LPO_FINDING_SMALL_KERNELS, total.want);
    if (f) {
        lpo_findings_fact(f, LPO_FACT_LAUNCHES, (double)total.kernels);
        lpo_findings_fact(f, LPO_FACT_RUNS, (double)total.runs);
        lpo_findings_fact(f, LPO_FACT_GPU_NS, (double)total.gpu_ns);
        add_sequence(w, f);
        lpo_findings_add_compiled(w->trace, f);
    }
    free(total.want);
}
