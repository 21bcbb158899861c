/* SPDX-License-Identifier: Apache-2.0 */
/* Runs of kernels that could be one, short ones and long ones.
 * Of short kernels, a fused one takes at least as long as the longest of them, so what could be
 * saved is the others. Those of CUDA graphs are launched together already, and their order may be
 * the framework's fusion.
 * Long ones pass each result through memory. One with two inputs and one output moves three
 * tensors, of which a fused kernel moves one: what could be saved is two thirds of all but the
 * longest. */
#include <stdlib.h>

#include "analysis/analysis.h"
#include "analysis/findings/private.h"
#include "analysis/fusion/fusion.h"
#include "region/cells.h"
#include "region/classes.h"
#include "util/checked.h"
#include "util/map.h"
#include "util/str.h"
#include "util/vec.h"

enum { LEAST_RUN = 3 };

struct run {
    LPO_VEC(uint32_t) rows; /* of slack */
    uint32_t longest;       /* entry of them */
    size_t long_ones;
};

/* Runs of the same kernels in the same order. */
struct alike {
    uint64_t times, kernels; /* kernels in each */
    int64_t gpu_ns, saving_ns;
    uint32_t name; /* of the first kernel */
};

struct totals {
    bool are_long; /* which runs are looked for */
    LPO_VEC(struct alike) alike;
    struct lpo_map_pair alike_rows; /* by a hash of the names */
    uint64_t runs, kernels;
    int64_t gpu_ns, *want; /* per row of slack */
};

/* By its own duration, never by the mean of its name. */
static bool is_short(const struct lpo_gpu_op *op)
{
    return lpo_trace_gpu_op_ns(op) < LPO_FINDINGS_SHORT_KERNEL_NS;
}

static bool counts(const struct lpo_findings_work *w, const struct lpo_gpu_op *op, bool are_long)
{
    enum lpo_region_kernel_class class = lpo_region_cells_class(w->a->cells, op->name);

    if (op->kind != LPO_KERNEL || op->flags & (LPO_GPU_OP_WHOLE | LPO_GPU_OP_SHARE) ||
        !lpo_fusion_class(class))
        return false;
    if (are_long) /* rows of a table come from memory in any case; what a compiler fused is done */
        return class != LPO_CLASS_INDEXING &&
               !lpo_str_starts(lpo_trace_text(w->trace, op->name), "triton_");
    return is_short(op) && !(op->flags & LPO_GPU_OP_GRAPH);
}

static int64_t length(const struct lpo_findings_work *w, uint32_t row)
{
    return lpo_trace_gpu_op_ns(&w->trace->gpu_ops.at[w->slack.rows[row]]);
}

/* FNV-1a over the ids of the names. */
static uint64_t hash_of(const struct lpo_findings_work *w, const struct run *r)
{
    uint64_t h = 0xcbf29ce484222325ull;

    for (size_t i = 0; i < r->rows.len; i++)
        h = (h ^ w->trace->gpu_ops.at[w->slack.rows[r->rows.at[i]]].name) * 0x100000001b3ull;
    return h;
}

static void add_alike(const struct lpo_findings_work *w, const struct run *r, struct totals *t)
{
    bool fresh;
    uint32_t row = lpo_map_pair_put(&t->alike_rows, hash_of(w, r), r->rows.len, &fresh);
    struct alike *a;

    if (fresh)
        lpo_vec_push(
            &t->alike,
            ((struct alike){ .kernels = r->rows.len,
                             .name = w->trace->gpu_ops.at[w->slack.rows[r->rows.at[0]]].name }));
    a = &t->alike.at[row];
    a->times++;
    for (size_t i = 0; i < r->rows.len; i++) {
        uint32_t k = r->rows.at[i];
        int64_t want = t->want[k], slack = w->slack.ns[k];

        a->gpu_ns = lpo_ns_add(a->gpu_ns, length(w, k));
        a->saving_ns += want < slack ? want : slack;
    }
}

static void close_run(const struct lpo_findings_work *w, struct run *r, struct totals *t)
{
    if ((t->are_long ? r->long_ones : r->rows.len) >= LEAST_RUN) {
        t->runs++;
        t->kernels += r->rows.len;
        for (size_t i = 0; i < r->rows.len; i++) {
            int64_t ns = length(w, r->rows.at[i]);

            t->gpu_ns = lpo_ns_add(t->gpu_ns, ns);
            t->want[r->rows.at[i]] = i == r->longest ? 0 : t->are_long ? ns - ns / 3 : ns;
        }
        if (t->are_long)
            add_alike(w, r, t);
    }
    r->rows.len = r->longest = r->long_ones = 0;
}

static bool any_starts(const struct lpo_trace *t, const char *const *signs)
{
    for (uint32_t i = 0; i < lpo_trace_name_count(t); i++)
        for (size_t k = 0; signs[k]; k++)
            if (lpo_str_starts(lpo_trace_text(t, i), signs[k]))
                return true;
    return false;
}

void lpo_findings_add_compiled(const struct lpo_trace *t, struct lpo_finding *f)
{
    /* ranges of the runtime and operators of autograd come from backends too that make no kernels
     * and run the operators one by one */
    static const char *const graphs[] = { "Torch-Compiled Region", "CompiledFunction", NULL };
    static const char *const kernels[] = { "triton_poi_fused", "triton_red_fused",
                                           "triton_per_fused", NULL };
    /* a program may have such kernels of its own; beside compiled graphs they are the compiler's */
    static const char *const likely[] = { "triton_", "nvfuser", "CudaCodeGen", NULL };
    bool compiled = any_starts(t, graphs);

    if (any_starts(t, kernels) || (compiled && any_starts(t, likely)))
        lpo_findings_fact(f, LPO_FACT_COMPILED, 0);
    else if (compiled)
        lpo_findings_fact(f, LPO_FACT_NOT_FUSED, 0);
}

/* The same long kernel again works on another tensor, as in updates of one parameter after the
 * other: no result passes from one to the next. */
static bool goes_on(const struct lpo_gpu_op *before, const struct lpo_gpu_op *op, bool are_long)
{
    return lpo_findings_same_stream(before, op) && !(are_long && before->name == op->name);
}

static void find_runs(const struct lpo_findings_work *w, struct totals *total)
{
    const uint32_t *rows = w->slack.by_stream;
    const struct lpo_gpu_op *before = NULL;
    struct run r = { 0 };

    for (size_t i = 0; i < w->slack.count; i++) {
        const struct lpo_gpu_op *op = &w->trace->gpu_ops.at[w->slack.rows[rows[i]]];
        bool in = counts(w, op, total->are_long);

        if (!in || (before && !goes_on(before, op, total->are_long)))
            close_run(w, &r, total);
        before = op;
        if (!in)
            continue;
        lpo_vec_push(&r.rows, rows[i]);
        r.long_ones += !is_short(op);
        if (length(w, rows[i]) > length(w, r.rows.at[r.longest]))
            r.longest = (uint32_t)r.rows.len - 1;
    }
    close_run(w, &r, total);
    lpo_vec_free(&r.rows);
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

/* Of many runs, the ones to look at first. */
static void add_main_run(const struct totals *t, struct lpo_finding *f)
{
    const struct alike *best = NULL;

    for (size_t i = 0; i < t->alike.len; i++)
        if (!best || t->alike.at[i].saving_ns > best->saving_ns)
            best = &t->alike.at[i];
    if (!best || t->alike.len < 2)
        return;
    lpo_findings_fact_name(f, LPO_FACT_MAIN_RUN, (double)best->times, best->name);
    lpo_findings_fact(f, LPO_FACT_MAIN_RUN_LENGTH, (double)best->kernels);
    lpo_findings_fact(f, LPO_FACT_MAIN_RUN_NS, (double)best->gpu_ns);
}

static struct lpo_finding *find(struct lpo_findings_work *w, enum lpo_finding_kind kind,
                                bool are_long)
{
    struct totals total = { .are_long = are_long, .want = lpo_findings_wants(w) };
    struct lpo_finding *f;

    find_runs(w, &total);
    f = lpo_findings_claim(w, kind, total.want);
    if (f) {
        lpo_findings_fact(f, LPO_FACT_LAUNCHES, (double)total.kernels);
        lpo_findings_fact(f, LPO_FACT_RUNS, (double)total.runs);
        lpo_findings_fact(f, LPO_FACT_GPU_NS, (double)total.gpu_ns);
        add_main_run(&total, f);
    }
    lpo_vec_free(&total.alike);
    lpo_map_pair_free(&total.alike_rows);
    free(total.want);
    return f;
}

void lpo_findings_small_kernels(struct lpo_findings_work *w)
{
    struct lpo_finding *f = find(w, LPO_FINDING_SMALL_KERNELS, false);

    if (f) {
        add_sequence(w, f);
        lpo_findings_add_compiled(w->trace, f);
    }
}

void lpo_findings_unfused(struct lpo_findings_work *w)
{
    struct lpo_finding *f = find(w, LPO_FINDING_UNFUSED, true);

    if (f)
        lpo_findings_add_compiled(w->trace, f);
}
