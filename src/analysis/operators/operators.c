/* SPDX-License-Identifier: Apache-2.0 */
/* One sweep per thread: operators and launches in order of time, the open operators on a stack.
 * What an operator cost is known when it leaves the stack and goes to the one below. */
#include "analysis/operators/operators.h"

#include "analysis/steps/steps.h"
#include "region/tree.h"
#include "trace/host.h"

/* A step whose name says how long its sequences are. */
struct step {
    int64_t start_ns, end_ns;
    uint32_t thread;
    struct lpo_step_lengths lengths;
};

/* Of the steps around all launches of one graph: what a call in it computes is linear in them. */
struct graph_lengths {
    struct lpo_step_lengths sum;
    uint64_t launches, in_steps;
};

/* An operator on the stack. */
struct open {
    const struct lpo_op *op;
    int64_t start_ns, end_ns;
    int64_t covered_ns;  /* time inside operators inside */
    int64_t covered_end; /* up to where it is covered */
    struct lpo_operator_sum gpu;
    uint32_t row;
    struct lpo_operator_cost cost;
    struct lpo_replayed replayed; /* as many times as the launch of it that was replayed most */
    bool recomputed;              /* something launched in it did forward work again */
};

struct sweep {
    const struct lpo_trace *t;
    struct lpo_operators *out;
    bool by_shapes;
    const struct lpo_operators_rules *rules;
    const struct lpo_region_tree *tree; /* may be NULL */
    LPO_VEC(struct open) stack;
    struct lpo_operator_sum *launched;     /* per launch: its GPU operations */
    struct lpo_replayed_launches replayed; /* what graphs replayed of launches */
    uint32_t *owner;                       /* per launch: the row it lies in, or LPO_NONE */
    struct lpo_map_pair rows, kernels, costs_of;
    LPO_VEC(struct lpo_operator_cost) costs;
    LPO_VEC(struct step) steps;   /* by thread and start */
    struct graph_lengths *graphs; /* by number, as in struct lpo_replayed; NULL: no steps say it */
};

static void add(struct lpo_operator_sum *to, const struct lpo_operator_sum *from)
{
    to->gpu_ops += from->gpu_ops;
    to->ns += from->ns;
}

static void add_replayed(struct lpo_replayed *to, const struct lpo_replayed *from)
{
    if (from->times)
        to->graph = !to->times || to->graph == from->graph ? from->graph : LPO_NONE;
    to->times = from->times > to->times ? from->times : to->times;
    to->ns += from->ns;
}

static uint32_t row_of(struct sweep *s, const struct lpo_op *op)
{
    struct lpo_op_args args = { LPO_NONE, LPO_NONE, LPO_NONE };
    bool fresh;
    uint32_t row;

    if (s->by_shapes && op->args != LPO_NONE)
        args = s->t->op_args.at[op->args];
    /* dims and types are dense name ids: one number for both */
    row = lpo_map_pair_put(&s->rows, op->name, (uint64_t)args.dims << 32 | args.types, &fresh);
    if (fresh)
        lpo_vec_push(&s->out->rows, (struct lpo_operator){ .name = op->name,
                                                           .shapes = args.dims,
                                                           .types = args.types,
                                                           .cpu_min_ns = INT64_MAX });
    return row;
}

LPO_COMPARE(step_order, struct step, LPO_UP(thread) ?: LPO_UP(start_ns));

static void find_steps(struct sweep *s)
{
    for (size_t i = 0; i < s->t->ranges.len; i++) {
        const struct lpo_range *r = &s->t->ranges.at[i];
        struct step step = { r->start_ns, r->end_ns, r->thread, { { 0 }, { 0 } } };

        if (lpo_steps_read_lengths(lpo_trace_text(s->t, r->name), &step.lengths))
            lpo_vec_push(&s->steps, step);
    }
    lpo_vec_sort(&s->steps, step_order);
}

/* Of the step that began last on the thread, when the whole call lies in it. Steps do not nest. */
static const struct lpo_step_lengths *lengths_around(const struct sweep *s, uint32_t thread,
                                                     int64_t start_ns, int64_t end_ns)
{
    struct step key = { .start_ns = start_ns, .thread = thread };
    size_t from = 0, to = s->steps.len;

    lpo_search(from, to, middle, step_order(&s->steps.at[middle], &key) <= 0);
    if (!from || s->steps.at[from - 1].thread != thread || s->steps.at[from - 1].end_ns < end_ns)
        return NULL;
    return &s->steps.at[from - 1].lengths;
}

static void add_sums(struct lpo_step_sums *to, const struct lpo_step_sums *from)
{
    to->queries += from->queries;
    to->keys += from->keys;
    to->queries_squared += from->queries_squared;
    to->queries_by_keys += from->queries_by_keys;
}

static void find_graph_lengths(struct sweep *s)
{
    uint32_t most = 0;

    for (size_t i = 0; i < s->replayed.graphs.len; i++)
        if (s->replayed.graphs.at[i].graph > most)
            most = s->replayed.graphs.at[i].graph;
    if (!most || !s->steps.len)
        return;
    s->graphs = lpo_xcalloc(most + 1, sizeof *s->graphs);
    for (size_t i = 0; i < s->replayed.graphs.len; i++) {
        const struct lpo_launch *l = &s->t->launches.at[s->replayed.graphs.at[i].launch];
        struct graph_lengths *g = &s->graphs[s->replayed.graphs.at[i].graph];
        const struct lpo_step_lengths *lengths =
            lengths_around(s, l->thread, l->start_ns, l->end_ns);

        g->launches++;
        if (!lengths)
            continue;
        g->in_steps++;
        add_sums(&g->sum.context, &lengths->context);
        add_sums(&g->sum.generation, &lengths->generation);
    }
}

/* What one call computes and moves. Calls repeat by the thousand: worked out once for each name and
 * arguments, but for those that depend on the step. */
static struct lpo_operator_cost cost_of(struct sweep *s, const struct lpo_op *op)
{
    bool fresh;
    uint32_t at = lpo_map_pair_put(&s->costs_of, op->name, op->args, &fresh);

    if (fresh)
        lpo_vec_push(&s->costs, lpo_operators_cost(s->t, op, s->rules, NULL));
    if (s->costs.at[at].by_step && s->steps.len)
        return lpo_operators_cost(s->t, op, s->rules,
                                  lengths_around(s, op->thread, op->start_ns, op->end_ns));
    return s->costs.at[at];
}

/* What the replays of a call computed and moved. Where that depends on the step, on those around
 * the launches of its graph: the call itself ran in none, or in another. */
static struct lpo_operator_cost replayed_cost(const struct sweep *s, const struct open *o)
{
    struct lpo_operator_cost cost = o->cost;
    const struct graph_lengths *g = NULL;

    if (!cost.by_step) {
        cost.flops *= o->replayed.times;
        cost.bytes *= o->replayed.times;
        return cost;
    }
    if (s->graphs && o->replayed.graph && o->replayed.graph != LPO_NONE)
        g = &s->graphs[o->replayed.graph];
    if (g && g->launches == o->replayed.times && g->in_steps == g->launches)
        return lpo_operators_cost(s->t, o->op, s->rules, &g->sum);
    cost.flops = cost.bytes = NAN;
    return cost;
}

static void leave(struct sweep *s)
{
    const struct open *o = &s->stack.at[--s->stack.len];
    struct lpo_operator *row = &s->out->rows.at[o->row];
    int64_t ns = o->end_ns - o->start_ns;

    row->calls++;
    row->recomputed += o->recomputed;
    row->cpu_total_ns += ns;
    row->cpu_self_ns += ns - o->covered_ns;
    row->cpu_min_ns = ns < row->cpu_min_ns ? ns : row->cpu_min_ns;
    row->cpu_max_ns = ns > row->cpu_max_ns ? ns : row->cpu_max_ns;
    row->gpu_total_ns += o->gpu.ns;
    row->gpu_ops_total += o->gpu.gpu_ops;
    row->cost.flops += o->cost.flops; /* one call of unknown work makes the sum unknown */
    row->cost.bytes += o->cost.bytes;
    row->cost.math = o->cost.math;
    row->cost.like = o->cost.like;
    row->replayed += o->replayed.times;
    row->replayed_total_ns += o->replayed.ns;
    if (o->replayed.times && s->by_shapes) {
        struct lpo_operator_cost cost = replayed_cost(s, o);

        row->replayed_cost.flops += cost.flops;
        row->replayed_cost.bytes += cost.bytes;
        row->replayed_cost.math = cost.math;
        row->replayed_cost.like = cost.like;
    }
    if (s->stack.len) {
        add(&s->stack.at[s->stack.len - 1].gpu, &o->gpu);
        add_replayed(&s->stack.at[s->stack.len - 1].replayed, &o->replayed);
    }
}

static bool is_recomputed(const struct sweep *s, uint32_t launch)
{
    return s->tree && s->tree->launch_links &&
           s->tree->links.at[s->tree->launch_links[launch]].recomputed;
}

/* Those around the one that launched it did the work again too, but for the backward operator in
 * which all of this happens: that has a number of its forward. */
static void mark_recomputed(struct sweep *s, size_t depth, uint32_t launch)
{
    s->out->rows.at[s->owner[launch]].recomputed_self_ns += s->launched[launch].ns;
    for (size_t i = depth; i-- > 0 && !s->stack.at[i].op->forward_thread;)
        s->stack.at[i].recomputed = true;
}

static void enter(struct sweep *s, const struct lpo_op *op)
{
    struct open o = {
        .op = op, .start_ns = op->start_ns, .end_ns = op->end_ns, .covered_end = INT64_MIN
    };

    /* what ends before this one cannot hold it, nor anything that is still to come inside it */
    while (s->stack.len && s->stack.at[s->stack.len - 1].end_ns < op->end_ns)
        leave(s);
    if (s->stack.len) {
        struct open *below = &s->stack.at[s->stack.len - 1];
        int64_t from = op->start_ns > below->covered_end ? op->start_ns : below->covered_end;

        if (op->end_ns > from) {
            below->covered_ns += op->end_ns - from;
            below->covered_end = op->end_ns;
        }
    }
    o.row = row_of(s, op);
    o.cost = s->by_shapes ? cost_of(s, op) : lpo_operators_no_cost();
    lpo_vec_push(&s->stack, o);
    s->out->calls++;
}

/* The innermost open operator that holds the whole call. */
static void launch(struct sweep *s, uint32_t row)
{
    const struct lpo_launch *l = &s->t->launches.at[row];
    size_t i = s->stack.len;

    while (i && s->stack.at[i - 1].end_ns < l->end_ns)
        i--;
    if (!i)
        return;
    s->owner[row] = s->stack.at[i - 1].row;
    add(&s->stack.at[i - 1].gpu, &s->launched[row]);
    if (is_recomputed(s, row))
        mark_recomputed(s, i, row);
    if (s->replayed.launched) {
        add_replayed(&s->stack.at[i - 1].replayed, &s->replayed.launched[row]);
        s->out->rows.at[s->owner[row]].replayed_self_ns += s->replayed.launched[row].ns;
    }
}

/* The same of one that only became a node of a graph. */
static void captured(struct sweep *s, uint32_t row)
{
    size_t i = s->stack.len;

    while (i && s->stack.at[i - 1].end_ns < s->t->captured_launches.at[row].end_ns)
        i--;
    if (!i)
        return;
    add_replayed(&s->stack.at[i - 1].replayed, &s->replayed.captured[row]);
    s->out->rows.at[s->stack.at[i - 1].row].replayed_self_ns += s->replayed.captured[row].ns;
}

static void sweep_thread(struct sweep *s, uint32_t thread)
{
    struct lpo_host_walk walk = lpo_host_walk(s->t, thread,
                                              LPO_HOST_OP | LPO_HOST_LAUNCH |
                                                  (s->replayed.captured ? LPO_HOST_CAPTURED : 0));
    struct lpo_slice next;

    while (lpo_host_next(&walk, &next))
        if (next.kind == LPO_HOST_OP)
            enter(s, &s->t->ops.at[next.row]);
        else if (next.kind == LPO_HOST_LAUNCH)
            launch(s, next.row);
        else
            captured(s, next.row);
    while (s->stack.len)
        leave(s);
}

static void sum_launches(struct sweep *s)
{
    const struct lpo_trace *t = s->t;

    if (t->ops.len)
        s->launched = lpo_xcalloc(t->launches.len, sizeof *s->launched);
    s->owner = lpo_xmalloc(t->launches.len * sizeof *s->owner);
    for (size_t i = 0; i < t->launches.len; i++)
        s->owner[i] = LPO_NONE;
    for (size_t i = 0; i < t->gpu_ops.len; i++) {
        const struct lpo_gpu_op *w = &t->gpu_ops.at[i];
        struct lpo_operator_sum one = { 1, lpo_trace_gpu_op_ns(w) };

        add(&s->out->all, &one);
        if (w->launch == LPO_NONE)
            add(&s->out->no_launch, &one);
        else if (s->launched)
            add(&s->launched[w->launch], &one);
    }
}

/* Works by the operator that launched them: its own time, and the names in it. */
static void share_gpu_ops(struct sweep *s)
{
    const struct lpo_trace *t = s->t;

    for (size_t i = 0; i < t->gpu_ops.len; i++) {
        const struct lpo_gpu_op *w = &t->gpu_ops.at[i];
        uint32_t row = w->launch == LPO_NONE ? LPO_NONE : s->owner[w->launch];
        struct lpo_operator_kernel *k;
        uint32_t at;
        bool fresh;

        if (row == LPO_NONE) {
            if (w->launch != LPO_NONE)
                add(&s->out->outside, &(struct lpo_operator_sum){ 1, lpo_trace_gpu_op_ns(w) });
            continue;
        }
        s->out->rows.at[row].gpu_self_ns += lpo_trace_gpu_op_ns(w);
        s->out->rows.at[row].gpu_ops_self++;
        s->out->rows.at[row].copies += w->kind == LPO_COPY;
        at = lpo_map_pair_put(&s->kernels, row, w->name, &fresh);
        if (fresh)
            lpo_vec_push(&s->out->kernels, (struct lpo_operator_kernel){ row, w->name, 0, 0 });
        k = &s->out->kernels.at[at];
        k->count++;
        k->ns += lpo_trace_gpu_op_ns(w);
    }
}

static int by_cost(const void *a, const void *b, void *trace)
{
    const struct lpo_operator *x = a, *y = b;
    int by_name;

    if (x->gpu_total_ns != y->gpu_total_ns)
        return x->gpu_total_ns < y->gpu_total_ns ? 1 : -1;
    if (x->cpu_self_ns != y->cpu_self_ns)
        return x->cpu_self_ns < y->cpu_self_ns ? 1 : -1;
    by_name = strcmp(lpo_trace_text(trace, x->name), lpo_trace_text(trace, y->name));
    return by_name ? by_name
                   : strcmp(lpo_trace_text(trace, x->shapes), lpo_trace_text(trace, y->shapes));
}

static int by_operator(const void *a, const void *b, void *trace)
{
    const struct lpo_operator_kernel *x = a, *y = b;

    if (x->operator_row != y->operator_row)
        return x->operator_row < y->operator_row ? -1 : 1;
    if (x->ns != y->ns)
        return x->ns < y->ns ? 1 : -1;
    return strcmp(lpo_trace_text(trace, x->name), lpo_trace_text(trace, y->name));
}

/* Rows with the most expensive first, their kernels behind them in the same order. */
static void put_in_order(struct sweep *s)
{
    struct lpo_operators *out = s->out;
    void *t = (void *)(uintptr_t)s->t; /* qsort_r knows no const */
    uint32_t *moved = lpo_xmalloc(out->rows.len * sizeof *moved);

    for (size_t i = 0; i < out->rows.len; i++)
        out->rows.at[i].kernels = (uint32_t)i; /* its number so far */
    if (out->rows.len)
        qsort_r(out->rows.at, out->rows.len, sizeof *out->rows.at, by_cost, t);
    for (size_t i = 0; i < out->rows.len; i++)
        moved[out->rows.at[i].kernels] = (uint32_t)i;
    for (size_t i = 0; i < out->kernels.len; i++) {
        struct lpo_operator_kernel *k = &out->kernels.at[i];

        k->operator_row = moved[k->operator_row];
        out->rows.at[k->operator_row].nkernels++;
    }
    free(moved);
    if (out->kernels.len)
        qsort_r(out->kernels.at, out->kernels.len, sizeof *out->kernels.at, by_operator, t);
    for (size_t i = 0, first = 0; i < out->rows.len; i++) {
        out->rows.at[i].kernels = (uint32_t)first;
        first += out->rows.at[i].nkernels;
    }
}

struct lpo_operators *lpo_operators_create(const struct lpo_trace *trace, bool by_shapes,
                                           const struct lpo_operators_rules *rules,
                                           const struct lpo_region_tree *tree)
{
    struct sweep s = { .t = trace, .by_shapes = by_shapes, .rules = rules, .tree = tree };

    s.out = lpo_xcalloc(1, sizeof *s.out);
    sum_launches(&s);
    if (by_shapes)
        find_steps(&s);
    s.replayed = lpo_operators_replays_find(trace, &s.out->replays);
    find_graph_lengths(&s);
    for (uint32_t i = 0; i < trace->threads.len; i++)
        sweep_thread(&s, i);
    share_gpu_ops(&s);
    put_in_order(&s);
    free(s.launched);
    lpo_operators_replays_free(&s.replayed);
    free(s.graphs);
    free(s.owner);
    lpo_vec_free(&s.stack);
    lpo_map_pair_free(&s.rows);
    lpo_map_pair_free(&s.kernels);
    lpo_map_pair_free(&s.costs_of);
    lpo_vec_free(&s.costs);
    lpo_vec_free(&s.steps);
    return s.out;
}

void lpo_operators_destroy(struct lpo_operators *o)
{
    if (!o)
        return;
    lpo_vec_free(&o->rows);
    lpo_vec_free(&o->kernels);
    free(o);
}
