/* SPDX-License-Identifier: Apache-2.0 */
/* Operators far below what such operators reach of their roof, and why, where their shapes say it.
 *
 * An operator with a known need (analysis/operators) is compared with the larger of its two roofs.
 * It is worth a rung from 5 % of the window on, below half of what its kind usually reaches. */

#include "analysis/analysis.h"
#include "analysis/ladder/private.h"
#include "analysis/operators/args.h"
#include "analysis/operators/cost.h"
#include "analysis/operators/rules.h"
#include "trace/host.h"

enum { MOST_UP = 4, MOST_RUNGS = 8, TILE = 128, SHORT_KERNEL_NS = 5000 };

static const double least_share = 0.05;
/* Within a tenth of the best measured time, and its error, there is nothing to look at. */
static const double not_worth_it = 0.9;

/* What such operators usually reach of their roof: shares of the rates that are measured, dense.
 * Products: cuBLAS and hipBLASLt reach 70 to 85 % at large sizes (vendors' own figures); attention:
 * FlashAttention 2 and 3 report 40 to 75 % forward; convolutions: cuDNN's figures for ResNet;
 * memory: STREAM and BabelStream reach 85 to 92 %, element-wise kernels of PyTorch 70 to 90 %;
 * experts: grouped products of vLLM and SGLang with enough tokens. docs/findings.md. */
enum kind { PRODUCT, ATTENTION, CONVOLUTION, EXPERTS, MEMORY, KINDS };

static const struct {
    double compute[2], memory[2];
} usual[KINDS] = {
    [PRODUCT] = { { 0.60, 0.85 }, { 0.60, 0.85 } },
    [ATTENTION] = { { 0.40, 0.70 }, { 0.50, 0.80 } },
    [CONVOLUTION] = { { 0.40, 0.75 }, { 0.50, 0.80 } },
    [EXPERTS] = { { 0.35, 0.70 }, { 0.50, 0.80 } },
    [MEMORY] = { { 0.40, 0.70 }, { 0.70, 0.90 } },
};

struct row {
    uint32_t name, args, call;     /* a call of it: row of ops */
    struct lpo_operator_cost cost; /* of all calls */
    int64_t ns, path_ns;
    uint64_t calls, kernels;
    bool unknown;
};

struct rows {
    struct ladder_work *w;
    LPO_VEC(struct row) all;
    struct lpo_map_pair by_args;
    struct lpo_map_u64 *calls; /* row of ops to a row here */
    uint32_t *row_of;          /* per operation of the graph */
};

static enum kind kind_of(const struct lpo_operators_rule *r)
{
    if (!r)
        return MEMORY;
    if (r->cost == lpo_operators_experts || r->cost == lpo_operators_experts_up ||
        r->cost == lpo_operators_experts_down || r->cost == lpo_operators_experts_into)
        return EXPERTS;
    if (r->cost == lpo_operators_attention || r->cost == lpo_operators_sparse_attention ||
        r->by_step == lpo_operators_paged_attention)
        return ATTENTION;
    if (r->cost == lpo_operators_convolution || r->cost == lpo_operators_causal_convolution)
        return CONVOLUTION;
    return MEMORY;
}

static const struct lpo_operators_rule *rule_of(const struct ladder_work *w, uint32_t name)
{
    const char *text = lpo_trace_text(w->t, name);

    return lpo_operators_rule_find(text, strlen(text));
}

/* The innermost operator around a launch whose need is known. */
static bool find_call(const struct ladder_work *w, uint32_t op, uint32_t *row,
                      struct lpo_operator_cost *cost)
{
    struct lpo_slice s, outer;

    if (!lpo_ladder_around(w, op, &s))
        return false;
    for (int up = 0; up < MOST_UP; up++, s = outer) {
        *cost = lpo_operators_cost(w->t, &w->t->ops.at[s.row], w->a->rules, NULL);
        *row = s.row;
        if (!isnan(cost->flops) || !isnan(cost->bytes))
            return true;
        if (!lpo_host_parent(w->t, &s, LPO_HOST_OP, &outer))
            break;
    }
    return false;
}

int64_t lpo_ladder_fused_ns(const struct ladder_work *w, uint32_t op)
{
    int64_t own = lpo_ladder_op_ns(w, op), fused;
    struct lpo_operator_cost cost;
    uint32_t call;
    double peak;

    if (!w->hw || lpo_ladder_lacks_tensor_cores(w, op) || !find_call(w, op, &call, &cost))
        return own;
    peak = lpo_gpu_hardware_peak(w->hw, cost.math, NULL);
    if (!(cost.flops > 0) || !(peak > 0))
        return own;
    fused = (int64_t)(cost.flops / (usual[ATTENTION].compute[0] * peak) * 1e9);
    return fused < own ? fused : own;
}

static void add_operation(struct rows *all, uint32_t op)
{
    struct ladder_work *w = all->w;
    struct lpo_operator_cost cost;
    bool fresh_call, fresh;
    uint32_t call, *at;
    struct row *r;

    all->row_of[op] = LPO_NONE;
    if (lpo_critical_gpu_op(&w->g, op)->kind != LPO_KERNEL ||
        lpo_ladder_lacks_tensor_cores(w, op) || w->attends[op] || !find_call(w, op, &call, &cost))
        return;
    at = lpo_map_u64_put(all->calls, call, &fresh_call);
    if (fresh_call) {
        const struct lpo_op *o = &w->t->ops.at[call];

        *at = lpo_map_pair_put(&all->by_args, o->name, o->args, &fresh);
        if (fresh)
            lpo_vec_push(&all->all,
                         (struct row){ .name = o->name,
                                       .args = o->args,
                                       .call = call,
                                       .cost = { .math = cost.math, .like = cost.like } });
        r = &all->all.at[*at];
        r->calls++;
        r->cost.flops += isnan(cost.flops) ? 0 : cost.flops;
        r->cost.bytes += isnan(cost.bytes) ? 0 : cost.bytes;
        r->unknown |= isnan(cost.bytes) && isnan(cost.flops);
    }
    all->row_of[op] = *at;
    r = &all->all.at[*at];
    r->kernels++;
    r->ns += lpo_ladder_op_ns(w, op);
    r->path_ns += w->path_ns[op];
}

/* --- why --- */

static double side(const struct lpo_op_tensor *t, int from_end)
{
    return (int)t->rank >= from_end ? (double)t->dims[t->rank - (unsigned)from_end] : 0;
}

static void explain_product(const struct ladder_work *w, const struct lpo_op_call *call,
                            const struct row *r, struct lpo_rung *out)
{
    const struct lpo_operators_rule *rule = rule_of(w, r->name);
    const struct lpo_op_tensor *a = lpo_operators_arg(call, rule ? rule->a : 0),
                               *b = lpo_operators_arg(call, rule ? rule->b : 1);
    double k = side(a, 1), n = rule && rule->how & TURNED ? side(b, 2) : side(b, 1);
    double batch = b->rank == 3 ? side(b, 3) : 1;
    double m = k > 0 ? a->elements / k / batch : 0, low, high, tiles;

    if (!(m > 0) || !(n > 0) || !(k > 0))
        return;
    low = fmin(m, n);
    high = fmax(m, n);
    tiles = ceil(m / TILE) * ceil(n / TILE) * batch;
    if (low <= 64 && high >= 32 * low)
        lpo_ladder_fact(out, LPO_FACT_SKINNY, LPO_NONE, m, n, k);
    else if (w->hw && w->hw->sms && tiles < w->hw->sms && k > 1024)
        lpo_ladder_fact(out, LPO_FACT_FEW_TILES, LPO_NONE, tiles, w->hw->sms, k);
    else if (k <= 64)
        lpo_ladder_fact(out, LPO_FACT_SHORT_SIDE, LPO_NONE, k, 0, 0);
    else if (fmod(m, 8) != 0 || fmod(n, 8) != 0 || fmod(k, 8) != 0)
        lpo_ladder_fact(out, LPO_FACT_ODD_SIDE, LPO_NONE,
                        fmod(m, 8) != 0   ? m
                        : fmod(n, 8) != 0 ? n
                                          : k,
                        TILE, 0);
    else if (w->hw && w->hw->sms && tiles < w->hw->sms)
        lpo_ladder_fact(out, LPO_FACT_FEW_TILES, LPO_NONE, tiles, w->hw->sms, k);
}

/* Input [N, C, ...], weight [K, C / groups, ...]. */
static void explain_convolution(const struct lpo_op_call *call, struct lpo_rung *out)
{
    const struct lpo_op_tensor *in = lpo_operators_arg(call, 0), *weight = NULL;
    double groups;

    for (int i = 1; i < 3 && !weight; i++)
        if (lpo_operators_arg(call, i)->rank == in->rank && in->rank >= 3)
            weight = lpo_operators_arg(call, i);
    if (!weight || weight->dims[1] <= 0)
        return;
    groups = (double)in->dims[1] / (double)weight->dims[1];
    if (groups >= 8)
        lpo_ladder_fact(out, LPO_FACT_DEPTHWISE, LPO_NONE, groups, (double)weight->dims[1], 0);
    else if (in->dims[1] < 16)
        lpo_ladder_fact(out, LPO_FACT_SHORT_SIDE, LPO_NONE, (double)in->dims[1], 0, 0);
}

/* The experts' weights have three dimensions: experts, out, in. Tokens: the first argument's rows;
 * choices of each: the last side of a small matrix with as many rows. */
static void explain_experts(const struct lpo_op_call *call, struct lpo_rung *out)
{
    double experts = 0, tokens = 0, choices = 1;

    for (int i = 0; i < (int)call->count; i++) {
        const struct lpo_op_tensor *t = lpo_operators_arg(call, i);

        if (t->rank == 3 && (double)t->dims[0] > experts)
            experts = (double)t->dims[0];
        else if (t->rank == 2 && !(tokens > 0))
            tokens = (double)t->dims[0];
        else if (t->rank == 2 && (double)t->dims[0] == tokens && t->dims[1] <= 16)
            choices = (double)t->dims[1];
    }
    if (experts > 0 && tokens > 0 && tokens * choices / experts < 64)
        lpo_ladder_fact(out, LPO_FACT_FEW_TOKENS, LPO_NONE, tokens, experts,
                        tokens * choices / experts);
}

/* Query, key and value [B, H, L, D] or [B, L, H, D], or rows of tokens [L, H, D]: blocks of TILE
 * queries of each head are what the SMs share. */
static void explain_attention(const struct ladder_work *w, const struct lpo_op_call *call,
                              const struct row *r, struct lpo_rung *out)
{
    const struct lpo_operators_rule *rule = rule_of(w, r->name);
    const struct lpo_op_tensor *q = lpo_operators_arg(call, rule && rule->a > 0 ? rule->a : 0);
    bool tokens = rule && rule->how & TOKENS;
    double heads = side(q, tokens ? 2 : 3), length = side(q, tokens ? 3 : 2), head = side(q, 1);
    double blocks = q->rank == 4 ? (double)q->dims[0] * heads * ceil(length / TILE) : 0;

    if (head > 128 && head <= 1024)
        lpo_ladder_fact(out, LPO_FACT_LARGE_HEADS, LPO_NONE, head, 0, 0);
    else if (blocks > 0 && w->hw && blocks < w->hw->sms)
        lpo_ladder_fact(out, LPO_FACT_FEW_BLOCKS, LPO_NONE, blocks, w->hw->sms, length);
}

static void explain(const struct ladder_work *w, const struct row *r, struct lpo_rung *out)
{
    struct lpo_op_call call;
    enum kind kind = kind_of(rule_of(w, r->name));

    if (!lpo_operators_read_args(w->t, &w->t->ops.at[r->call], &call))
        return;
    if (kind == CONVOLUTION)
        explain_convolution(&call, out);
    else if (kind == EXPERTS)
        explain_experts(&call, out);
    else if (kind == ATTENTION)
        explain_attention(w, &call, r, out);
    else if (r->cost.math != LPO_DTYPE_NONE)
        explain_product(w, &call, r, out);
}

/* --- which of them --- */

struct judged {
    double share, low, high, roof_ns;
    bool by_memory, impossible;
};

/* A need that the hardware could not have met in that time was counted too high: where experts read
 * only the weights of those that were chosen, computing is the roof that is left. */
static struct judged judge(const struct ladder_work *w, const struct row *r)
{
    enum kind kind = kind_of(rule_of(w, r->name));
    double peak = lpo_gpu_hardware_peak(w->hw, r->cost.math, NULL), bandwidth = w->hw->bandwidth;
    double compute = r->cost.flops > 0 && peak > 0 ? r->cost.flops / peak * 1e9 : 0;
    double memory = r->cost.bytes > 0 && bandwidth > 0 ? r->cost.bytes / bandwidth * 1e9 : 0;
    struct judged j = { 0 };

    if (r->cost.math != LPO_DTYPE_NONE && kind == MEMORY)
        kind = PRODUCT;
    if (memory > 1.1 * (double)r->ns) {
        j.impossible = true;
        memory = kind == EXPERTS ? 0 : memory;
    }
    j.by_memory = memory > compute;
    j.roof_ns = fmax(memory, compute);
    j.share = j.roof_ns / (double)r->ns;
    j.low = j.by_memory ? usual[kind].memory[0] : usual[kind].compute[0];
    j.high = j.by_memory ? usual[kind].memory[1] : usual[kind].compute[1];
    return j;
}

/* The same experiment for both: every kernel of these calls takes this part of its time. */
static struct lpo_rung *add_faster(struct rows *all, uint32_t at, enum lpo_rung_kind kind,
                                   double part)
{
    int64_t *less = lpo_ladder_wants(all->w);
    struct lpo_rung *out;

    for (uint32_t i = 0; i < all->w->g.ops.len; i++)
        if (all->row_of[i] == at)
            less[i] = (int64_t)((double)lpo_ladder_op_ns(all->w, i) * (1 - part));
    out = lpo_ladder_add_ops(all->w, kind, less);
    if (!out)
        return NULL;
    out->name = all->all.at[at].name;
    out->basis = LPO_BASIS_REFERENCE;
    return out;
}

static void add_shape(const struct ladder_work *w, const struct row *r, struct lpo_rung *out)
{
    if (r->args != LPO_NONE)
        lpo_ladder_fact(out, LPO_FACT_SHAPE, w->t->op_args.at[r->args].dims, 0, 0, 0);
    lpo_ladder_fact(out, LPO_FACT_ROOF_CALLS, LPO_NONE, (double)r->calls, (double)r->ns,
                    (double)r->ns / (double)w->out->window.wall_ns);
}

/* Where such kernels were measured, that says how near one can come, not the roof. False: they were
 * not. */
static bool add_best(struct rows *all, uint32_t at)
{
    const struct row *r = &all->all.at[at];
    struct ladder_work *w = all->w;
    struct lpo_operator_rates rates =
        lpo_operators_rates(&r->cost, r->calls, r->ns, w->hw, lpo_analysis_reference(w->a, w->hw));
    struct lpo_rung *out;

    if (!lpo_measure_known(rates.to_best))
        return false;
    if (rates.to_best.value * (1 + rates.best_error) > not_worth_it)
        return true;
    out = add_faster(all, at, LPO_RUNG_BEST, rates.to_best.value);
    if (!out)
        return true;
    lpo_ladder_fact(out, LPO_FACT_BEST, LPO_NONE, rates.best_us.value * 1000, rates.best_error,
                    (double)r->ns / (double)r->calls);
    explain(w, r, out);
    add_shape(w, r, out);
    return true;
}

static void add_row(struct rows *all, uint32_t at)
{
    struct ladder_work *w = all->w;
    const struct row *r = &all->all.at[at];
    struct judged j = judge(w, r);
    struct lpo_rung *out;

    if (add_best(all, at))
        return;
    if (!(j.share > 0) || j.share > 1.1 || j.share >= j.high / 2 || j.share >= j.low ||
        r->ns < (int64_t)r->kernels * SHORT_KERNEL_NS)
        return;
    out = add_faster(all, at, LPO_RUNG_ROOF, j.share / j.low);
    if (!out)
        return;
    lpo_ladder_fact(out, LPO_FACT_ROOF, j.by_memory, j.share, j.low, j.high);
    explain(w, r, out);
    add_shape(w, r, out);
    if (r->cost.flops > 0)
        lpo_ladder_fact(out, LPO_FACT_COMPUTES, LPO_NONE, r->cost.flops / (double)r->calls,
                        r->cost.bytes > 0 && !j.impossible ? r->cost.flops / r->cost.bytes : 0, 0);
    if (r->cost.bytes > 0 && !j.impossible)
        lpo_ladder_fact(out, LPO_FACT_MOVES, LPO_NONE, r->cost.bytes / (double)r->calls, 0, 0);
}

void lpo_ladder_roof(struct ladder_work *w)
{
    struct rows all = { .w = w };
    size_t added = 0;

    if (!w->hw || !w->t->op_args.len)
        return;
    all.calls = lpo_map_u64_create(0);
    all.row_of = lpo_xrealloc(NULL, w->g.ops.len + 1, sizeof *all.row_of);
    for (uint32_t i = 0; i < w->g.ops.len; i++)
        add_operation(&all, i);
    for (uint32_t i = 0; i < all.all.len && added < MOST_RUNGS; i++)
        if ((double)all.all.at[i].path_ns >= least_share * (double)w->out->window.wall_ns) {
            add_row(&all, i);
            added++;
        }
    lpo_map_u64_destroy(all.calls);
    lpo_map_pair_free(&all.by_args);
    lpo_vec_free(&all.all);
    free(all.row_of);
}
