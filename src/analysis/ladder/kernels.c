/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that could be fewer or shorter by what their order and their names show: attention in
 * pieces, runs of element-wise kernels, products without tensor cores, one of N equal layers
 * slower, copies that only change a layout, forward work done again. */

#include "analysis/analysis.h"
#include "analysis/fusion/fusion.h"
#include "analysis/ladder/private.h"
#include "analysis/operators/cost.h"
#include "trace/host.h"

/* A name, and what was counted of it. */
struct named {
    int64_t ns;
    uint64_t slow, other;
    uint32_t name;
};

typedef LPO_VEC(struct named) named_vec;

static struct named *named_row(named_vec *v, struct lpo_map_pair *rows, uint32_t name)
{
    bool fresh;
    uint32_t row = lpo_map_pair_put(rows, name, 0, &fresh);

    if (fresh)
        lpo_vec_push(v, (struct named){ .name = name });
    return &v->at[row];
}

static const struct named *most_time(const named_vec *v)
{
    const struct named *best = NULL;

    for (size_t i = 0; i < v->len; i++)
        best = !best || v->at[i].ns > best->ns ? &v->at[i] : best;
    return best;
}

enum { SHORT_NS = 10000, LEAST_RUN = 3, MOST_BETWEEN = 16 };

static enum lpo_region_kernel_class class_of(const struct ladder_work *w, uint32_t op)
{
    return lpo_region_tree_class(w->tree, lpo_critical_gpu_op(&w->g, op)->name);
}

static const char *name_of(const struct ladder_work *w, uint32_t op)
{
    return lpo_trace_text(w->t, lpo_critical_gpu_op(&w->g, op)->name);
}

static bool is_plain_kernel(const struct ladder_work *w, uint32_t op)
{
    const struct lpo_gpu_op *k = lpo_critical_gpu_op(&w->g, op);

    return k->kind == LPO_KERNEL && !(k->flags & (LPO_GPU_OP_WHOLE | LPO_GPU_OP_SHARE));
}

static bool same_stream(const struct ladder_work *w, uint32_t a, uint32_t b)
{
    const struct lpo_gpu_op *x = lpo_critical_gpu_op(&w->g, a), *y = lpo_critical_gpu_op(&w->g, b);

    return x->device == y->device && x->stream == y->stream;
}

void lpo_ladder_describe(const struct ladder_work *w, struct lpo_rung *r, const bool *in)
{
    LPO_FREED struct lpo_map_pair rows = { 0 };
    LPO_FREED named_vec names = { 0 };
    const struct named *best;
    int64_t ns = 0;
    uint64_t n = 0;

    for (uint32_t i = 0; i < w->g.ops.len; i++) {
        if (!in[i])
            continue;
        named_row(&names, &rows, lpo_critical_gpu_op(&w->g, i)->name)->ns += lpo_ladder_op_ns(w, i);
        ns += lpo_ladder_op_ns(w, i);
        n++;
    }
    best = most_time(&names);
    lpo_ladder_fact(r, LPO_FACT_KERNELS, LPO_NONE, (double)n, (double)ns,
                    (double)ns / (double)w->out->window.wall_ns);
    if (best)
        lpo_ladder_fact(r, LPO_FACT_KERNEL, best->name, (double)best->ns, 0, 0);
}

/* --- attention: product, something with a softmax in it, product --- */

enum role { PRODUCT, BESIDE, SOFTMAX, EXP, REDUCE, FOREIGN };

static enum role role_of(const struct ladder_work *w, uint32_t op)
{
    const char *name = name_of(w, op);

    if (!is_plain_kernel(w, op))
        return lpo_critical_gpu_op(&w->g, op)->kind == LPO_MEMSET ? BESIDE : FOREIGN;
    switch (class_of(w, op)) {
    case LPO_CLASS_GEMM:
        return PRODUCT;
    case LPO_CLASS_SOFTMAX: /* the logarithm is that of a loss */
        return strstr(name, "LogSoftMax") ? FOREIGN : SOFTMAX;
    case LPO_CLASS_REDUCTION:
        return REDUCE;
    case LPO_CLASS_ELEMENTWISE:
        return strstr(name, "exp_kernel") || strstr(name, "exp_") ? EXP : BESIDE;
    case LPO_CLASS_COPY:
    case LPO_CLASS_RANDOM:
        return BESIDE;
    default:
        return FOREIGN;
    }
}

struct scores {
    LPO_VEC(uint32_t) between; /* operations since the product */
    uint32_t product;          /* LPO_NONE: none */
    bool softmax, exp, reduce;
    int64_t between_ns, products_ns, fused_ns;
    uint64_t times;
};

/* Queries times keys, or scores times values: in one kernel it costs its FLOPs, not its bytes. */
static void take_product(struct ladder_work *w, struct scores *s, uint32_t op, int64_t *less)
{
    int64_t fused = lpo_ladder_fused_ns(w, op), own = lpo_ladder_op_ns(w, op);

    if (w->attends[op])
        return;
    w->attends[op] = true;
    less[op] = own - fused;
    s->products_ns += own;
    s->fused_ns += fused;
}

static void take_scores(struct ladder_work *w, struct scores *s, uint32_t second, int64_t *less,
                        bool *in)
{
    s->times++;
    take_product(w, s, s->product, less);
    take_product(w, s, second, less);
    for (size_t i = 0; i < s->between.len; i++) {
        less[s->between.at[i]] = lpo_ladder_op_ns(w, s->between.at[i]);
        in[s->between.at[i]] = true;
        s->between_ns += less[s->between.at[i]];
    }
}

/* A tensor of more than 2^31 elements is worked on in several equal launches. */
static bool repeats(const struct ladder_work *w, uint32_t before, uint32_t op)
{
    const struct lpo_gpu_op *a = lpo_critical_gpu_op(&w->g, before),
                            *b = lpo_critical_gpu_op(&w->g, op);

    return a->name == b->name && a->shape == b->shape;
}

void lpo_ladder_attention(struct ladder_work *w)
{
    struct scores s = { .product = LPO_NONE };
    size_t distinct = 0;
    int64_t *less = lpo_ladder_wants(w);
    LPO_FREED bool *in = lpo_xcalloc(w->g.ops.len + 1, sizeof *in);
    struct lpo_rung *r;

    for (size_t i = 0; i < w->g.ops.len; i++) {
        uint32_t op = w->by_stream[i];
        enum role role = role_of(w, op);

        if (i && !same_stream(w, w->by_stream[i - 1], op))
            s.product = LPO_NONE;
        if (role == PRODUCT && s.product != LPO_NONE && (s.softmax || (s.exp && s.reduce)))
            take_scores(w, &s, op, less, in);
        distinct += i == 0 || !repeats(w, w->by_stream[i - 1], op);
        if (role == PRODUCT || role == FOREIGN || distinct > MOST_BETWEEN) {
            s.product = role == PRODUCT ? op : LPO_NONE;
            s.between.len = 0;
            s.softmax = s.exp = s.reduce = false;
            distinct = 0;
            continue;
        }
        s.softmax |= role == SOFTMAX;
        s.exp |= role == EXP;
        s.reduce |= role == REDUCE;
        lpo_vec_push(&s.between, op);
    }
    r = lpo_ladder_add_ops(w, LPO_RUNG_ATTENTION, less);
    if (r) {
        lpo_ladder_fact(r, LPO_FACT_ATTENTIONS, LPO_NONE, (double)s.times, (double)s.between_ns,
                        (double)s.products_ns);
        if (s.fused_ns < s.products_ns) {
            r->basis = LPO_BASIS_REFERENCE;
            lpo_ladder_fact(r, LPO_FACT_FUSED, LPO_NONE, (double)s.fused_ns, 0, 0);
        }
        lpo_ladder_describe(w, r, in);
    }
    lpo_vec_free(&s.between);
}

/* --- runs of kernels that a compiler would fuse --- */

static bool can_fuse(const struct ladder_work *w, uint32_t op)
{
    return is_plain_kernel(w, op) && lpo_fusion_class(class_of(w, op)) &&
           class_of(w, op) != LPO_CLASS_INDEXING && !lpo_str_starts(name_of(w, op), "triton_");
}

bool lpo_ladder_is_compiled(const struct ladder_work *w)
{
    return lpo_any(i, w->g.ops.len, lpo_str_starts(name_of(w, i), "triton_"));
}

/* The same thing again and again is a loop, not a chain of results. */
static bool is_loop(const struct ladder_work *w, const uint32_t *ops, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (lpo_critical_gpu_op(&w->g, ops[i])->name != lpo_critical_gpu_op(&w->g, ops[0])->name ||
            lpo_critical_gpu_op(&w->g, ops[i])->shape != lpo_critical_gpu_op(&w->g, ops[0])->shape)
            return false;
    return true;
}

/* A fused kernel takes at least as long as the longest of them, and norms and reductions stay what
 * they are. Of what the others move, half need not be moved. */
static bool melts(const struct ladder_work *w, uint32_t op)
{
    enum lpo_region_kernel_class c = class_of(w, op);

    return lpo_ladder_op_ns(w, op) < SHORT_NS ||
           (c != LPO_CLASS_NORM && c != LPO_CLASS_REDUCTION && c != LPO_CLASS_SOFTMAX);
}

static int64_t fuse(const struct ladder_work *w, const uint32_t *ops, size_t n, int64_t *less,
                    bool *in)
{
    size_t longest = 0;
    int64_t ns = 0;

    for (size_t i = 0; i < n; i++) {
        longest = lpo_ladder_op_ns(w, ops[i]) > lpo_ladder_op_ns(w, ops[longest]) ? i : longest;
        ns += lpo_ladder_op_ns(w, ops[i]);
    }
    for (size_t i = 0; i < n; i++) {
        int64_t own = lpo_ladder_op_ns(w, ops[i]);

        in[ops[i]] = true;
        if (i != longest && melts(w, ops[i]))
            less[ops[i]] = own < SHORT_NS ? own : own / 2;
    }
    return ns;
}

void lpo_ladder_fusion(struct ladder_work *w)
{
    int64_t *less = lpo_ladder_wants(w), ns = 0;
    LPO_FREED bool *in = lpo_xcalloc(w->g.ops.len + 1, sizeof *in);
    uint64_t runs = 0, kernels = 0;
    struct lpo_rung *r;
    size_t first = 0;

    for (size_t i = 0; i <= w->g.ops.len; i++) {
        if (i < w->g.ops.len && can_fuse(w, w->by_stream[i]) &&
            (i == first || same_stream(w, w->by_stream[i - 1], w->by_stream[i])))
            continue;
        if (i - first >= LEAST_RUN && !is_loop(w, w->by_stream + first, i - first)) {
            ns += fuse(w, w->by_stream + first, i - first, less, in);
            runs++;
            kernels += i - first;
        }
        first = i < w->g.ops.len && can_fuse(w, w->by_stream[i]) ? i : i + 1;
    }
    r = lpo_ladder_add_ops(w, LPO_RUNG_FUSE, less);
    if (r) {
        r->basis = LPO_BASIS_ESTIMATED;
        lpo_ladder_describe(w, r, in);
        lpo_ladder_fact(r, LPO_FACT_RUNS, LPO_NONE, (double)runs, (double)kernels, (double)ns);
        if (lpo_ladder_is_compiled(w))
            lpo_ladder_fact(r, LPO_FACT_COMPILED, LPO_NONE, 0, 0, 0);
    }
}

/* --- products without tensor cores --- */

/* How many times faster products on tensor cores are, where the trace has none: a cautious guess,
 * as the layers around them are rarely large enough for the whole ratio. */
static const double usual_gain = 2.5;

static bool is_product(const struct ladder_work *w, uint32_t op)
{
    enum lpo_region_kernel_class c = class_of(w, op);

    return is_plain_kernel(w, op) && (c == LPO_CLASS_GEMM || c == LPO_CLASS_CONVOLUTION);
}

/* By the names that the libraries give to kernels of the ordinary units. */
static bool has_no_tensor_cores(const char *name)
{
    static const char *const parts[] = {
        "sgemm",     "scudnn", "_simt_", "gemmSN", "dgemm", "fp32_nhwc", "implicit_convolve_sgemm",
        "volta_s884"
    };

    for (size_t i = 0; i < sizeof parts / sizeof *parts - 1; i++)
        if (strstr(name, parts[i]))
            return !strstr(name, "tf32") && !strstr(name, "tensorop");
    return false;
}

static bool has_tensor_cores(const char *name)
{
    static const char *const parts[] = { "tensorop", "s16816", "s1688", "h1688",
                                         "h16816",   "884",    "hmma",  "wgmma",
                                         "_tf32",    "bf16",   "nvjet", "xmma_gemm_f16" };

    return lpo_any(i, sizeof parts / sizeof *parts, strstr(name, parts[i]));
}

static bool gpu_has_them(const struct ladder_work *w)
{
    const struct lpo_device *d =
        w->g.ops.len ? &w->t->devices.at[lpo_critical_gpu_op(&w->g, 0)->device] : NULL;

    if (w->hw)
        return w->hw->flops[LPO_FP16] > 3 * w->hw->flops[LPO_FP32];
    return d && d->cc_major >= 7;
}

bool lpo_ladder_lacks_tensor_cores(const struct ladder_work *w, uint32_t op)
{
    return is_product(w, op) && has_no_tensor_cores(name_of(w, op)) && gpu_has_them(w);
}

/* A matrix product: what the operator around it computes in one call, and how fast. */
struct product {
    double flops, ns;  /* flops 0: not known */
    uint32_t op, args; /* of the operator: its name, its shapes; LPO_NONE */
};

/* The innermost operator around the launch whose need is known: this kernel is its product. */
static struct product read_product(const struct ladder_work *w, uint32_t op)
{
    struct product p = { 0, (double)lpo_ladder_op_ns(w, op), LPO_NONE, LPO_NONE };
    struct lpo_slice s, outer;

    if (!lpo_ladder_around(w, op, &s))
        return p;
    for (int up = 0; up < 5; up++, s = outer) {
        double flops = lpo_operators_cost(w->t, &w->t->ops.at[s.row], w->a->rules, NULL).flops;

        if (flops > 0)
            return (struct product){ flops, p.ns, s.name, w->t->ops.at[s.row].args };
        if (!lpo_host_parent(w->t, &s, LPO_HOST_OP, &outer))
            break;
    }
    return p;
}

/* Products on tensor cores: those of one operator and its shapes are one row. */
struct products {
    LPO_VEC(struct product) rows; /* flops and ns of all of them */
    LPO_VEC(int) size;            /* power of two of the FLOPs of one */
    struct lpo_map_pair by_args;
};

static void add_product(struct products *all, const struct product *p)
{
    bool fresh;
    uint32_t row = lpo_map_pair_put(&all->by_args, p->op, p->args, &fresh);

    if (fresh) {
        lpo_vec_push(&all->rows, (struct product){ .op = p->op, .args = p->args });
        lpo_vec_push(&all->size, ilogb(p->flops));
    }
    all->rows.at[row].flops += p->flops;
    all->rows.at[row].ns += p->ns;
}

/* FLOPs a nanosecond that products on tensor cores reach in this trace: the same one, else those of
 * the same operator and of about the same size, else any of that size, else all; 0: there is none.
 */
static double tensor_rate(const struct products *all, const struct product *p)
{
    for (int any = 0; any < 4; any++) {
        double flops = 0, ns = 0;

        for (size_t i = 0; i < all->rows.len; i++)
            if ((any >= 1 || all->rows.at[i].args == p->args) &&
                (any >= 2 || all->rows.at[i].op == p->op) &&
                (any >= 3 || abs(all->size.at[i] - ilogb(p->flops)) <= 1)) {
                flops += all->rows.at[i].flops;
                ns += all->rows.at[i].ns;
            }
        if (ns > 0)
            return flops / ns;
    }
    return 0;
}

void lpo_ladder_products(struct ladder_work *w)
{
    int64_t *less = lpo_ladder_wants(w);
    LPO_FREED bool *in = lpo_xcalloc(w->g.ops.len + 1, sizeof *in);
    double flops = 0, known_ns = 0, ns = 0, fast_ns = 0;
    struct products fast = { 0 };
    bool seen = false;
    struct lpo_rung *r;

    for (uint32_t i = 0; gpu_has_them(w) && i < w->g.ops.len; i++)
        if (!(in[i] = lpo_ladder_lacks_tensor_cores(w, i)) && is_product(w, i) &&
            has_tensor_cores(name_of(w, i))) {
            struct product p = read_product(w, i);

            if (p.flops > 0)
                add_product(&fast, &p);
        }
    for (uint32_t i = 0; i < w->g.ops.len; i++) {
        struct product p;
        double rate, own;

        if (!in[i])
            continue;
        p = read_product(w, i);
        rate = p.flops > 0 ? tensor_rate(&fast, &p) : 0;
        seen |= rate * p.ns > p.flops;
        own = rate * p.ns > p.flops ? p.flops / rate : p.ns / usual_gain;
        less[i] = (int64_t)(p.ns - own);
        flops += p.flops;
        known_ns += p.flops > 0 ? p.ns : 0;
        ns += p.ns;
        fast_ns += own;
    }
    r = lpo_ladder_add_ops(w, LPO_RUNG_FP32, less);
    if (r) {
        r->basis = seen ? LPO_BASIS_SIMULATED : LPO_BASIS_ESTIMATED;
        lpo_ladder_describe(w, r, in);
        lpo_ladder_fact(r, LPO_FACT_FP32, LPO_NONE, known_ns > 0 ? flops / known_ns * 1e9 : 0,
                        w->hw ? w->hw->flops[LPO_FP16] : 0, ns / fast_ns);
    }
    lpo_vec_free(&fast.rows);
    lpo_vec_free(&fast.size);
    lpo_map_pair_free(&fast.by_args);
}

/* --- one of N equal ones --- */

enum { LEAST_EQUAL = 6 };

static const double slower = 1.3, spread = 1.2;

struct equal {
    const struct ladder_work *w;
    struct lpo_map_pair rows;
    LPO_VEC(uint64_t) count;
    uint32_t *row_of; /* per operation; LPO_NONE */
};

/* Equal are kernels of one name and grid that were launched by one operator with equal shapes. */
static void group_equal(struct equal *e)
{
    for (uint32_t i = 0; i < e->w->g.ops.len; i++) {
        const struct lpo_gpu_op *k = lpo_critical_gpu_op(&e->w->g, i);
        uint32_t op = LPO_NONE, args = LPO_NONE;
        bool fresh;

        e->row_of[i] = LPO_NONE;
        if (!is_plain_kernel(e->w, i) || class_of(e->w, i) == LPO_CLASS_COLLECTIVE)
            continue;
        op = e->w->around[i];
        args = op == LPO_NONE ? LPO_NONE : e->w->t->ops.at[op].args;
        e->row_of[i] = lpo_map_pair_put(&e->rows, (uint64_t)k->name << 32 | k->shape, args, &fresh);
        if (fresh)
            lpo_vec_push(&e->count, 0);
        e->count.at[e->row_of[i]]++;
    }
}

/* Times of each group, group after group, sorted; then its median where it is narrow, else 0. */
static int64_t *medians(const struct equal *e)
{
    size_t groups = e->count.len, sum = 0, n = e->w->g.ops.len;
    LPO_FREED size_t *at = lpo_xcalloc(groups + 1, sizeof *at);
    int64_t *ns = lpo_xrealloc(NULL, n + 1, sizeof *ns),
            *out = lpo_xcalloc(groups + 1, sizeof *out);

    for (size_t i = 0; i < groups; i++) {
        at[i] = sum;
        sum += e->count.at[i];
    }
    for (uint32_t i = 0; i < n; i++)
        if (e->row_of[i] != LPO_NONE)
            ns[at[e->row_of[i]]++] = lpo_ladder_op_ns(e->w, i);
    for (size_t i = 0; i < groups; i++) {
        size_t count = e->count.at[i];
        int64_t *first = ns + at[i] - count;

        if (count < LEAST_EQUAL)
            continue;
        lpo_order_sort_ns(first, count);
        if ((double)first[count - 1 - count / 4] <= spread * (double)first[count / 8])
            out[i] = first[count / 2];
    }
    free(ns);
    return out;
}

/* Groups in which there is a slow one. */
static bool *groups_with_slow(const struct equal *e, const bool *slow)
{
    bool *out = lpo_xcalloc(e->count.len + 1, sizeof *out);

    for (uint32_t i = 0; i < e->w->g.ops.len; i++)
        if (slow[i])
            out[e->row_of[i]] = true;
    return out;
}

/* The name of a module or range that holds slow ones and hardly an equal one that is not. */
static uint32_t find_member(const struct ladder_work *w, const bool *slow, const struct equal *e,
                            const bool *has_slow, double *share)
{
    LPO_FREED struct lpo_map_pair rows = { 0 };
    LPO_FREED named_vec names = { 0 };
    uint64_t all = 0;
    uint32_t best = LPO_NONE;

    for (uint32_t i = 0; i < w->g.ops.len; i++) {
        const struct lpo_gpu_op *k = lpo_critical_gpu_op(&w->g, i);
        struct lpo_slice open[64];
        size_t n;

        if (e->row_of[i] == LPO_NONE || !has_slow[e->row_of[i]] || k->launch == LPO_NONE)
            continue;
        n = lpo_host_open(w->t, w->t->launches.at[k->launch].thread,
                          w->t->launches.at[k->launch].start_ns, LPO_HOST_MODULE | LPO_HOST_RANGE,
                          open, 64);
        all += slow[i];
        for (size_t d = 0; d < n; d++) {
            struct named *x = named_row(&names, &rows, open[d].name);

            x->slow += slow[i];
            x->other += !slow[i];
        }
    }
    for (size_t i = 0; i < names.len; i++)
        if (names.at[i].slow > names.at[i].other &&
            (best == LPO_NONE || names.at[i].slow > names.at[best].slow))
            best = (uint32_t)i;
    *share = best == LPO_NONE || !all ? 0 : (double)names.at[best].slow / (double)all;
    return best == LPO_NONE ? LPO_NONE : names.at[best].name;
}

/* Without names: do they stand in one row of their equals, in each step anew? */
static bool stand_together(const struct ladder_work *w, const bool *slow, const struct equal *e,
                           const bool *has_slow)
{
    uint64_t slow_ones = 0, rows = 0, steps = w->out->window.steps;
    bool last = false;

    for (uint32_t i = 0; i < w->g.ops.len; i++) {
        if (e->row_of[i] == LPO_NONE || !has_slow[e->row_of[i]])
            continue;
        rows += slow[i] && !last;
        slow_ones += slow[i];
        last = slow[i];
    }
    return slow_ones >= 3 &&
           (rows * 3 <= slow_ones || (rows <= steps + 1 && rows * 2 <= slow_ones));
}

void lpo_ladder_siblings(struct ladder_work *w)
{
    struct equal e = { .w = w, .row_of = lpo_xrealloc(NULL, w->g.ops.len + 1, sizeof *e.row_of) };
    int64_t *less = lpo_ladder_wants(w), *median, ns = 0, equal_ns = 0;
    bool *slow = lpo_xcalloc(w->g.ops.len + 1, sizeof *slow), *has_slow;
    uint64_t n = 0;
    struct lpo_rung *r;
    uint32_t member;
    double share;

    group_equal(&e);
    median = medians(&e);
    for (uint32_t i = 0; i < w->g.ops.len; i++) {
        int64_t usual = e.row_of[i] == LPO_NONE ? 0 : median[e.row_of[i]];

        if (usual <= 0 || (double)lpo_ladder_op_ns(w, i) < slower * (double)usual)
            continue;
        slow[i] = true;
        less[i] = lpo_ladder_op_ns(w, i) - usual;
    }
    has_slow = groups_with_slow(&e, slow);
    member = find_member(w, slow, &e, has_slow, &share);
    if (share < 0.6 && !stand_together(w, slow, &e, has_slow))
        memset(less, 0, w->g.ops.len * sizeof *less);
    for (uint32_t i = 0; i < w->g.ops.len; i++)
        if (less[i]) {
            n++;
            ns += lpo_ladder_op_ns(w, i);
            equal_ns += lpo_ladder_op_ns(w, i) - less[i];
        }
    memcpy(w->excess_ns, less, w->g.ops.len * sizeof *less);
    r = lpo_ladder_add_ops(w, LPO_RUNG_SIBLING, less);
    if (!r)
        memset(w->excess_ns, 0, w->g.ops.len * sizeof *less);
    if (r) {
        r->name = share >= 0.6 ? member : LPO_NONE;
        lpo_ladder_describe(w, r, slow);
        lpo_ladder_fact(r, LPO_FACT_SIBLINGS, LPO_NONE, (double)n, (double)ns, (double)equal_ns);
    }
    free(slow);
    free(has_slow);
    free(median);
    free(e.row_of);
    lpo_vec_free(&e.count);
    lpo_map_pair_free(&e.rows);
}

/* --- kernels that compute nothing --- */

/* The operator that a copy was made for: of those around the launch the outermost of these. */
static uint32_t copying_operator(const struct ladder_work *w, uint32_t op)
{
    static const char *const names[] = { "aten::contiguous", "aten::clone",
                                         "aten::to",         "aten::_to_copy",
                                         "aten::copy_",      "aten::reshape",
                                         "aten::cat",        "aten::repeat_interleave",
                                         "aten::expand_copy" };
    uint32_t best = LPO_NONE;
    struct lpo_slice s, outer;

    if (!lpo_ladder_around(w, op, &s))
        return LPO_NONE;
    for (;;) {
        bool copies = false;

        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            copies |= lpo_streq(lpo_trace_text(w->t, s.name), names[i]);
        if (!copies)
            return best;
        best = s.name;
        if (!lpo_host_parent(w->t, &s, LPO_HOST_OP, &outer))
            return best;
        s = outer;
    }
}

void lpo_ladder_layout(struct ladder_work *w)
{
    static const char *const transposes[] = { "nchwToNhwc", "nhwcToNchw", "transpose_readWrite" };
    int64_t *less = lpo_ladder_wants(w);
    LPO_FREED bool *in = lpo_xcalloc(w->g.ops.len + 1, sizeof *in);
    LPO_FREED struct lpo_map_pair rows = { 0 };
    LPO_FREED named_vec names = { 0 };
    const struct named *best;
    struct lpo_rung *r;

    for (uint32_t i = 0; i < w->g.ops.len; i++) {
        bool within = lpo_ladder_copies_within(w, i);
        uint32_t by = within || lpo_critical_gpu_op(&w->g, i)->kind == LPO_KERNEL
                          ? copying_operator(w, i)
                          : LPO_NONE;

        if (within && by == LPO_NONE)
            by = lpo_critical_gpu_op(&w->g, i)->name;

        for (size_t k = 0; k < sizeof transposes / sizeof *transposes; k++)
            if (strstr(name_of(w, i), transposes[k]))
                by = lpo_critical_gpu_op(&w->g, i)->name;
        if (by == LPO_NONE)
            continue;
        in[i] = true;
        less[i] = lpo_ladder_op_ns(w, i);
        named_row(&names, &rows, by)->ns += less[i];
    }
    best = most_time(&names);
    r = lpo_ladder_add_ops(w, LPO_RUNG_LAYOUT, less);
    if (r) {
        r->basis = LPO_BASIS_ESTIMATED;
        r->name = best->name;
        lpo_ladder_describe(w, r, in);
        lpo_ladder_fact(r, LPO_FACT_INSIDE, best->name, (double)best->ns, 0, 0);
    }
}

/* --- forward work that the backward pass does again --- */

void lpo_ladder_recomputation(struct ladder_work *w)
{
    int64_t *less = lpo_ladder_wants(w), ns = 0;
    uint64_t kernels = 0;
    struct lpo_rung *r;

    for (uint32_t i = 0; w->tree->launch_links && i < w->g.ops.len; i++) {
        const struct lpo_gpu_op *op = lpo_critical_gpu_op(&w->g, i);

        if (op->kind != LPO_KERNEL ||
            !w->tree->links.at[lpo_region_links_of(w->tree, op)].recomputed)
            continue;
        less[i] = lpo_trace_gpu_op_ns(op);
        kernels++;
        ns += less[i];
    }
    r = lpo_ladder_add_ops(w, LPO_RUNG_RECOMPUTATION, less);
    if (r)
        lpo_ladder_fact(r, LPO_FACT_AGAIN, LPO_NONE, (double)kernels, (double)ns, 0);
}
